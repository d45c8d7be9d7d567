// Students: the list, the form of one, and the defaults of new ones.

import { all, request } from "../api.js";
import { ask, button, field, form, h, once, say, t } from "../dom.js";

/** @param {HTMLElement} root */
export async function studentsView(root) {
	const search = h("input", { type: "search", name: "query" });
	const grade = h("select", { name: "grade" });
	const subject = h("select", { name: "subject" });
	const list = h("ul", { class: "list" });
	const count = h("p", { class: "hint", role: "status" });

	/** @type {Profile[]} */
	const profiles = await all("profiles");
	/** @param {HTMLSelectElement} select @param {"grade" | "subject"} name */
	const fill = (select, name) => select.replaceChildren(h("option", { value: "" }, t("any")),
		...[...new Set(profiles.map((p) => p[name]))].filter(Boolean).sort().map((v) => h("option", {}, v)));
	fill(grade, "grade");
	fill(subject, "subject");

	const draw = async () => {
		/** @type {Record<string, string>} */
		const query = {};
		for (const control of [search, grade, subject]) if (control.value) query[control.name] = control.value;
		const wanted = JSON.stringify(query);
		const found = wanted === "{}" ? profiles : /** @type {Profile[]} */ (await all("profiles", query));
		count.textContent = profiles.length === 0 ? t("noStudents") : t("found", { n: found.length });
		list.replaceChildren(...found.map((p) => h("li", {},
			h("a", { href: "#/student/" + p.profile_id }, h("strong", {}, p.name),
				h("span", { class: "hint" }, describe(p))))));
	};
	/** @type {ReturnType<typeof setTimeout> | undefined} */
	let typing;
	search.addEventListener("input", () => {
		clearTimeout(typing);
		typing = setTimeout(() => once(list, draw), 250);
	});
	for (const select of [grade, subject]) select.addEventListener("change", () => once(list, draw));

	root.append(
		h("div", { class: "row" }, h("h1", { class: "grow" }, t("students")),
			h("a", { class: "button primary", href: "#/edit/" }, t("addStudent"))),
		h("div", { class: "row filters" }, field(t("search"), search), field(t("grade"), grade),
			field(t("subject"), subject)),
		count, list, await defaultsForm());
	await draw();
}

/** @param {Profile} p */
export const describe = (p) =>
	[p.grade, p.subject, p.academic_year, p.term, p.start_time && `${p.start_time}–${p.end_time}`].filter(Boolean)
		.join(" · ");

async function defaultsForm() {
	const { body } = await request("GET", "profile-defaults");
	return h("details", {}, h("summary", {}, t("defaults")), form(async (v) => {
		await request("PUT", "profile-defaults", {
			body: { ...v, lesson_duration_minutes: Number(v.lesson_duration_minutes) },
		});
		say(t("saved"));
	}, { class: "card" },
	h("p", { class: "hint" }, t("defaultsHint")),
	field(t("grade"), h("input", { name: "grade", value: body.grade, maxlength: 100 })),
	field(t("subject"), h("input", { name: "subject", value: body.subject, maxlength: 100 })),
	field(t("lessonMinutes"), h("input", {
		name: "lesson_duration_minutes", type: "number", min: 1, max: 600, value: body.lesson_duration_minutes,
		required: true,
	})),
	h("button", {}, t("save"))));
}

/**
 * The form of a student, of a new one if id is "".
 * @param {HTMLElement} root
 * @param {string} [id]
 */
export async function editView(root, id = "") {
	/** @type {Partial<Profile>} */
	const p = id ? (await request("GET", "profiles/" + id)).body : {};
	/** @param {keyof Profile} name @param {string} label @param {Record<string, any>} [props] */
	const input = (name, label, props = {}) =>
		field(label, h("input", { name, value: p[name], maxlength: 100, ...props }));
	const save = form(async (v) => {
		/** @type {Record<string, any>} */
		const body = { ...v, academic_year: Number(v.academic_year) };
		// What is left empty takes the teacher's default.
		for (const name of ["grade", "subject", "academic_year", "end_time"]) if (!v[name]) delete body[name];
		const answer = await request(id ? "PUT" : "POST", id ? "profiles/" + id : "profiles", { body });
		location.hash = "#/student/" + answer.body.profile_id;
	}, { class: "card" },
	input("name", t("name"), { required: true }),
	input("grade", t("grade")), input("subject", t("subject")),
	input("academic_year", t("year"), { type: "number", min: 1900, max: 2200 }),
	input("term", t("term")), input("guardian_title", t("guardian")),
	input("start_time", t("startTime"), { type: "time" }), input("end_time", t("endTime"), { type: "time" }),
	h("p", { class: "hint" }, t("emptyFields")),
	h("div", { class: "row" }, h("button", { class: "primary" }, t("save")),
		h("a", { class: "button", href: id ? "#/student/" + id : "#/" }, t("cancel"))));
	root.append(h("h1", {}, id ? t("editStudent") : t("addStudent")), save);
	if (id) root.append(button(t("deleteStudent"), () => remove(/** @type {Profile} */ (p)), { class: "danger" }));
}

/** @param {Profile} p */
async function remove(p) {
	const records = await all("feedback-records", { profile_id: p.profile_id });
	if (!await ask(t("deleteStudentQuestion", { name: p.name, n: records.length }), t("delete"))) return;
	await request("DELETE", "profiles/" + p.profile_id);
	say(t("deleted"));
	location.hash = "#/";
}
