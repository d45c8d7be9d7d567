// Saved feedback: by student and date.

import { all, messageOf, request } from "../api.js";
import { ask, button, byId, copy, field, h, once, say, t } from "../dom.js";

/** @type {View} */
export async function recordsView(root) {
	const profiles = await all("profiles");
	const names = new Map(profiles.map((p) => [p.profile_id, p.name]));
	const student = h("select", {}, h("option", { value: "" }, t("any")),
		...profiles.map((p) => h("option", { value: p.profile_id }, p.name)));
	const date = h("input", { type: "date" });
	const list = h("div", {});
	const draw = async () => {
		const records = await all("feedback-records", student.value ? { profile_id: student.value } : {});
		const wanted = records.filter((r) => !date.value || r.feedback_date === date.value);
		list.replaceChildren(recordList(wanted, (r) => names.get(r.profile_id) ?? "", "h2", draw));
	};
	for (const control of [student, date]) control.addEventListener("change", () => once(list, draw));
	root.append(h("h1", {}, t("records")),
		h("div.row.filters", {}, field(t("student"), student), field(t("date"), date)), list);
	await draw();
}

/** @type {RecordList} */
export function recordList(records, name, heading, deleted) {
	if (records.length === 0) return h("p.hint", {}, t("noRecords"));
	return h("ul.list.records", {}, ...records.map((r) => {
		const title = [r.feedback_date, name(r)].filter(Boolean).join(" · ");
		const path = "feedback-records/" + r.record_id;
		const content = h("p.text", {}, r.content);
		const message = h("p.text.notice", { hidden: true });
		const item = h("li.card", {}, h(heading, {}, title), content,
			h("div.row", {},
				button(t("copy"), () => copy(Promise.resolve(r.content), content), { of: title }),
				button(t("copyForGuardian"), () => copy(messageOf(path), message), { of: title }),
				button(t("print"), () => {
					item.classList.add("printed");
					print();
					item.classList.remove("printed");
				}, { of: title }),
				button(t("delete"), async () => {
					if (!await ask(t("deleteRecordQuestion", { title }), t("delete"))) return;
					await request("DELETE", path);
					await deleted();
					byId("main").focus();
					say(t("deleted"));
				}, { class: "danger", of: title })), message);
		return item;
	}));
}
