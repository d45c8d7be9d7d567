// Students: the list, and the form of one.

import { all, request } from "../api.js";
import { ask, button, field, fields, form, h, say, t, write } from "../dom.js";

/** @type {View} */
export async function studentsView(root) {
	const profiles = await all("profiles");
	const search = h("input", { type: "search", name: "query" });
	const filters = ["grade", "subject"].map((name) => h("select", { name }, h("option", { value: "" }, t("any")),
		...[...new Set(profiles.map((p) => p[name]))].filter(Boolean).sort().map((v) => h("option", {}, v))));
	const list = h("ul.list", {});
	const count = h("p.hint", { role: "status" });

	const draw = () => {
		const found = profiles.filter((p) => p.name.toLowerCase().includes(search.value.trim().toLowerCase())
			&& filters.every(({ name, value }) => !value || p[name] === value));
		write(count, profiles.length === 0 ? t("noStudents") : t("found", { n: found.length }));
		list.replaceChildren(...found.map((p) => h("li", {}, h("a", { href: "#/student/" + p.profile_id },
			h("strong", {}, p.name), h("span.hint", {}, describe(p))))));
	};
	for (const control of [search, ...filters]) control.addEventListener("input", draw);

	root.append(
		h("div.row", {}, h("h1.grow", {}, t("students")),
			h("a.button.primary", { href: "#/edit/" }, t("addStudent"))),
		h("div.row.filters", {}, field(t("search"), search),
			...filters.map((f) => field(t(/** @type {Key} */ (f.name)), f))),
		count, list);
	draw();
}

/** @param {Profile} p */
export const describe = (p) =>
	[p.grade, p.subject, p.academic_year, p.term, p.start_time && `${p.start_time}–${p.end_time}`].filter(Boolean)
		.join(" · ");

/** @type {View} */
export async function editView(root, id = "") {
	/** @type {Profile} */
	const p = id ? (await request("GET", "profiles/" + id)).body : {};
	root.append(h("h1", {}, t(id ? "editStudent" : "addStudent")), form(async (v) => {
		/** @type {Props} */
		const body = { ...v, academic_year: Number(v.academic_year) };
		// What is left empty takes the teacher's default.
		for (const name of ["grade", "subject", "academic_year", "end_time"]) if (!v[name]) delete body[name];
		const answer = await request(id ? "PUT" : "POST", id ? "profiles/" + id : "profiles", { body });
		location.hash = "#/student/" + answer.body.profile_id;
	}, { class: "card" },
	...fields("profile", p),
	h("div.row", {}, h("button.primary", {}, t("save")),
		h("a.button", { href: id ? "#/student/" + id : "#/" }, t("cancel")))));
	if (id) root.append(button(t("deleteStudent"), () => remove(p), { class: "danger" }));
}

/** @param {Profile} p */
async function remove({ profile_id, name }) {
	const records = await all("feedback-records", { profile_id });
	if (!await ask(t("deleteStudentQuestion", { name, n: records.length }), t("delete"))) return;
	await request("DELETE", "profiles/" + profile_id);
	say(t("deleted"));
	location.hash = "#/";
}
