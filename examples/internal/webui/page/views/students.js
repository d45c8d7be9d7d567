// The form of a student.

import { all, request } from "../api.js";
import { announce, ask, button, fields, form, h, t } from "../dom.js";

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
