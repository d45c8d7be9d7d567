// One student: lessons, their text, the feedback, what was saved. And the form of a student.

import { all, request, students } from "../api.js";
import { announce, ask, button, explain, fields, form, h, once, t, write } from "../dom.js";
import { Work } from "../work.js";
import { feedbackSection, warningsOf } from "./feedback.js";
import { lessonsSection } from "./lessons.js";
import { recordList, savedCard, sendButton } from "./records.js";

let recorded = ""; // the student whose recording begins with the view

/** Shows a student and begins to record. An address cannot: a foreign page may have written it. @param {string} id */
export function recordAtOnce(id) {
	recorded = id;
	location.hash = "#/student/" + id;
}

/** @type {View} */
export async function studentView(root, id = "") {
	const begins = recorded === id;
	recorded = "";
	const profile = await request("GET", "profiles/" + id, { seconds: 10 }).then(({ body }) => body, async (error) => {
		const kept = error.code === "offline" && (await students()).find((p) => p.profile_id === id);
		if (!kept) throw error;
		return kept;
	});
	const work = new Work(profile);
	const records = recordList({ profile_id: id }, () => profile.name, "h3");
	const saved = h("div", {});
	const lessons = lessonsSection(work);
	const feedback = feedbackSection(work, async (record) => {
		saved.replaceChildren(savedCard(record));
		saved.scrollIntoView({ block: "nearest" });
		await once(records.element, records.draw);
	});
	for (const next of ["opened", "recording"]) work.addEventListener(next, () => saved.replaceChildren());
	root.append(
		h("div.row", {},
			h("div.grow", {}, h("h1", {}, profile.name), h("p.hint", {}, describe(profile))),
			h("a.button", { href: "#/edit/" + id }, t("edit"))),
		saved,
		h("div.columns", {}, feedback.element, lessons.element),
		h("div.bar", {}, lessons.behind, lessons.levels, h("div.row", {}, lessons.record, feedback.save)),
		h("section.past", { "aria-labelledby": "records" }, h("h2", { id: "records" }, t("records")), termReport(profile), records.element));
	const end = async () => {
		work.end.abort();
		await Promise.all([lessons.leave(), feedback.leave(), records.leave()]);
	};
	try {
		await work.refresh();
		await records.draw();
	} catch (/** @type {any} */ error) {
		if (error.code !== "offline") {
			await end();
			throw error;
		}
		records.element.append(h("p.hint", {}, explain(error)));
		work.addEventListener("session", () => once(records.element, records.draw), { once: true });
	}
	if (begins) lessons.record.click();
	return end;
}

/** A text over the records of a term, changed before it is sent. @param {Profile} p */
function termReport({ profile_id, academic_year, term }) {
	const text = h("textarea", { rows: 10, lang: "", "aria-label": t("report") });
	const unsaid = h("p.text.error", {});
	const result = h("div.feedback", { hidden: true }, text, unsaid,
		h("div.row", {}, sendButton(async () => text.value, t("report"))));
	return h("div", {}, button(t("report"), async () => {
		const { body } = await request("POST", `profiles/${profile_id}/report`,
			{ body: { academic_year, ...(term && { term }) }, seconds: 180 });
		text.value = body.text;
		const those = body.sentences.filter((/** @type {Source} */ s) => !s.supported).map((/** @type {Source} */ s) => s.text);
		write(unsaid, [warningsOf(body), those.length > 0 && t("unsaid", { n: those.length }), ...those]
			.filter(Boolean).join("\n"));
		result.hidden = false;
		return t("reportMade", { n: body.records });
	}, { class: "quiet" }), result);
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
	addEventListener("hashchange", () => announce(t("deleted"), true), { once: true });
	location.hash = "#/";
}
