// One student: record lessons, read their text, write the feedback, see what was saved.

import { all, request } from "../api.js";
import { h, once, t } from "../dom.js";
import { Work } from "../work.js";
import { feedbackSection } from "./feedback.js";
import { lessonsSection } from "./lessons.js";
import { recordList } from "./records.js";
import { describe } from "./students.js";

/** @type {View} */
export async function studentView(root, id = "") {
	const { body: profile } = await request("GET", "profiles/" + id);
	const work = new Work(profile);
	const records = h("div", {});
	const drawRecords = async () => records.replaceChildren(
		recordList(await all("feedback-records", { profile_id: id }), () => "", "h3", drawRecords));
	const lessons = lessonsSection(work);
	const feedback = feedbackSection(work, () => once(records, drawRecords));
	root.append(
		h("div.row", {},
			h("div.grow", {}, h("h1", {}, profile.name), h("p.hint", {}, describe(profile))),
			h("a.button", { href: "#/edit/" + id }, t("edit"))),
		h("div.columns", {}, lessons.element, feedback.element),
		h("section", { "aria-labelledby": "records" }, h("h2", { id: "records" }, t("records")), records));
	const end = async () => {
		work.end.abort();
		await Promise.all([lessons.leave(), feedback.leave()]);
	};
	try {
		await work.load();
		await drawRecords();
	} catch (error) {
		await end();
		throw error;
	}
	return end;
}
