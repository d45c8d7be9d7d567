// One student: record lessons, read their text, write the feedback, see what was saved.

import { request, students } from "../api.js";
import { explain, h, once, t } from "../dom.js";
import { Work } from "../work.js";
import { feedbackSection } from "./feedback.js";
import { lessonsSection } from "./lessons.js";
import { recordList, savedCard } from "./records.js";
import { describe } from "./students.js";

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
		h("div.bar", {}, lessons.levels, h("div.row", {}, lessons.record, feedback.save)),
		h("section.past", { "aria-labelledby": "records" }, h("h2", { id: "records" }, t("records")), records.element));
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
