// Saved feedback: by month, found by student and words, sent, edited, printed.

import { messageOf, request, students } from "../api.js";
import { button, byId, copy, dayName, delay, explain, field, form, h, quiet, say, store, stored, t } from "../dom.js";
import { draftKey } from "../outbox.js";

/** A student's name, with what tells apart those of one name. @param {Profile} p */
export const fullName = (p) => [p.name, p.grade, p.subject].filter(Boolean).join(" · ");

/** @type {View} */
export async function recordsView(root) {
	const profiles = await students();
	const names = new Map(profiles.map((p) => [p.profile_id,
		profiles.some((other) => other !== p && other.name === p.name) ? fullName(p) : p.name]));
	const student = h("select", {}, h("option", { value: "" }, t("any")),
		...profiles.map((p) => h("option", { value: p.profile_id }, names.get(p.profile_id))));
	const search = h("input", { type: "search", maxlength: 100 });
	const from = h("input", { type: "date" });
	const to = h("input", { type: "date" });
	/** @type {Fields} */
	const query = {};
	const list = recordList(query, (r) => names.get(r.profile_id) ?? "", "h2");
	const draw = () => {
		Object.assign(query, { profile_id: student.value, query: search.value.trim(), from: from.value, to: to.value });
		for (const name of Object.keys(query)) if (!query[name]) delete query[name];
		quiet(list.element);
		list.draw().catch((error) => say(explain(error), list.element, true));
	};
	for (const control of [student, search, from, to]) control.addEventListener("input", draw);
	/** @param {Key} label @param {number} ago in months */
	const month = (label, ago) => button(t(label), () => {
		const now = new Date();
		const day = (/** @type {number} */ months, /** @type {number} */ d) =>
			new Date(now.getFullYear(), now.getMonth() - ago + months, d).toLocaleDateString("sv");
		from.value = day(0, 1);
		to.value = day(1, 0);
		draw();
	});
	root.append(h("h1", {}, t("records")),
		field(t("searchRecords"), search),
		h("div.filters", {}, month("thisMonth", 0), month("lastMonth", 1), button(t("any"), () => {
			student.value = from.value = to.value = "";
			draw();
		}),
			h("details", {}, h("summary", {}, t("otherFilters")),
				field(t("student"), student), field(t("from"), from), field(t("to"), to))), list.element);
	await list.draw();
	return list.leave;
}

const undoTime = 10_000; // ms

/** @param {FeedbackRecord} r */
const pathOf = (r) => "feedback-records/" + r.record_id;

/** @type {RecordList} */
export function recordList(query, name, heading) {
	const element = h("div.records", {});
	let cursor = "";
	/** What can still be brought back, by its path. @type {Map<string, Removed>} */
	const removed = new Map();
	let month = "";
	let list = h("ul.list", {});
	const more = button(t("more"), () => read(cursor));
	const settle = () => Promise.all([...removed.values()].map(({ deletes }) => deletes()));
	addEventListener("pagehide", settle);
	let turn = 0;
	let reading = Promise.resolve();
	// What is being read does not replace what was chosen from the list.
	element.addEventListener("click", ({ target }) => {
		if (/** @type {Element} */ (target).closest("summary, button")) turn++;
	}, true);

	/** Reads the list, after the one that is being read, unless something else is wanted by then. */
	function draw() {
		const wanted = ++turn;
		return reading = reading.catch(() => {}).then(() => wanted === turn ? read("") : undefined);
	}

	/** @param {string} from */
	async function read(from) {
		const wanted = turn;
		const { body } = await request("GET", "feedback-records?" + new URLSearchParams({ ...query, cursor: from }));
		if (wanted !== turn) return;
		if (!from) {
			month = "";
			element.replaceChildren();
			if (removed.size > 0) element.append(h("ul.list", {}, ...[...removed.values()].map(({ undo }) => undo)));
		}
		cursor = body.next_cursor ?? "";
		for (const r of body.items) {
			if (month !== r.feedback_date.slice(0, 7)) {
				month = r.feedback_date.slice(0, 7);
				list = h("ul.list", {});
				element.append(h(heading, {}, dayName(r.feedback_date, { year: "numeric", month: "long" })), list);
			}
			list.append(removed.get(pathOf(r))?.undo ?? entry(r));
		}
		if (!from && body.items.length === 0) element.append(h("p.hint", {}, t("noRecords")));
		more.remove();
		if (cursor) element.append(more);
	}

	/** @param {FeedbackRecord} r @param {boolean} [open] */
	function entry(r, open = false) {
		const title = [dayName(r.feedback_date), name(r)].join(" · ");
		const path = pathOf(r);
		const item = h("li.entry", {});
		item.append(h("details", { open }, h("summary", {}, h("span.title", {}, title),
			draftKey(r.record_id) in localStorage && h("span.hint", {}, t("unsaved")), h("span.text", {}, r.content))),
			h("div.row", {}, sendButton(() => messageOf(path), title),
				button(t("edit"), () => edit(item, path), { of: title }),
				button(t("print"), () => {
					item.classList.add("printed");
					print();
					item.classList.remove("printed");
				}, { of: title }),
				button(t("delete"), () => remove(item, path, title), { class: "danger", of: title })));
		return item;
	}

	/** @type {RemoveRecord} */
	async function remove(item, path, title) {
		const undo = h("li.notice.row", { tabindex: -1 }, h("span.grow", {}, t("deletedRecord", { title })),
			button(t("undo"), () => {
				removed.delete(path);
				undo.replaceWith(item);
				item.querySelector("summary")?.focus();
			}));
		const deletes = async () => {
			if (removed.get(path)?.undo !== undo || undo.inert) return; // undone, or done
			undo.inert = true;
			await request("DELETE", path).then(() => {
				localStorage.removeItem(draftKey(path.slice(-36)));
				if (undo.contains(document.activeElement)) byId("main").focus();
				const of = undo.parentElement;
				undo.remove();
				if (of?.firstChild) return;
				of?.previousElementSibling?.remove(); // the month
				of?.remove();
			}, (error) => {
				undo.replaceWith(item);
				say(explain(error), item, true);
			});
			removed.delete(path);
		};
		removed.set(path, { undo, deletes });
		item.replaceWith(undo);
		undo.querySelector("button")?.focus();
		void delay(undoTime).then(deletes);
	}

	/** @type {EditRecord} */
	async function edit(item, path) {
		const { body: record, etag } = await request("GET", path);
		const key = draftKey(record.record_id);
		const draft = { etag, ...record, ...stored(key) };
		const content = h("textarea", { name: "content", rows: 8, maxlength: 20000, required: true, lang: "" });
		content.value = draft.content;
		const date = h("input", { name: "feedback_date", type: "date", required: true, value: draft.feedback_date });
		const changing = form(async (values) => {
			/** @type {Answer} */
			const { body } = await request("PUT", path, { body: values, headers: { "If-Match": draft.etag } })
				.catch(async (error) => {
					if (error.status !== 412) throw error;
					const other = await request("GET", path);
					draft.etag = other.etag; // saving again replaces it
					throw Object.assign(new Error(other.body.content), { name: "record_changed" });
				});
			close(body);
		}, {}, field(t("feedbackText"), content), field(t("date"), date), h("div.row", {},
			h("button.primary", {}, t("save")), button(t("cancel"), () => close(record))));
		changing.addEventListener("input", () =>
			store(key, { etag: draft.etag, content: content.value, feedback_date: date.value }));
		/** @param {FeedbackRecord} r */
		const close = (r) => {
			localStorage.removeItem(key);
			const now = entry(r, true);
			item.replaceWith(now);
			now.querySelector("summary")?.focus();
		};
		item.replaceChildren(changing);
		content.focus();
	}

	return {
		element, draw,
		async leave() {
			removeEventListener("pagehide", settle);
			await settle();
		},
	};
}

/** @type {SavedCard} */
export const savedCard = (record) => h("section.card.saved", { "aria-label": t("recordSaved") },
	h("p.done", { role: "status" }, t("recordSaved")), h("p.text.folded", {}, record.content),
	h("div.row", {}, sendButton(() => messageOf("feedback-records/" + record.record_id))));

/** @type {SendButton} */
export function sendButton(read, of) {
	const message = h("p.text.notice", { hidden: true });
	const canShare = "share" in navigator;
	const b = button(t(canShare ? "send" : "copyForGuardian"), async () => {
		if (!message.isConnected) b.closest(".row")?.after(message);
		const text = read();
		const refused = canShare && await navigator.share({ text: await text }).then(() => "", ({ name }) => name);
		// The teacher may think better of it.
		return refused === false || refused && refused !== "AbortError" ? copy(text, message) : "";
	}, { class: "primary", of });
	return b;
}
