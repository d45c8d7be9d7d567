// One student: record lessons, read their text, write the feedback, see what was saved.

import { all, request } from "../api.js";
import { h, once, t } from "../dom.js";
import { follow } from "../events.js";
import { feedbackSection } from "./feedback.js";
import { lessonsSection } from "./lessons.js";
import { recordList } from "./records.js";
import { describe } from "./students.js";

/** Work is the student's voice session. Its events: "session" when lessons may have changed,
 * "segment" with the changed segment in detail, "replaced" when it is another session. */
export class Work extends EventTarget {
	/** @param {Profile} profile */
	constructor(profile) {
		super();
		this.profile = profile;
		/** @type {Session | null} */
		this.session = null;
		this.etag = "";
		this.end = new AbortController();
	}

	/** Reads the active session, if there is one. */
	async load() {
		await this.read("feedback-sessions/active?profile_id=" + this.profile.profile_id);
		if (this.session) this.follow();
	}

	/** @param {string} path */
	async read(path) {
		try {
			const { body, etag } = await request("GET", path);
			this.session = body;
			this.etag ||= etag;
		} catch (error) {
			if (/** @type {any} */ (error).code !== "no_active_session") throw error;
			this.session = null;
		}
		this.dispatchEvent(new Event("session"));
	}

	/** Reads the session again. Its text and their version remain those of the editor. */
	async refresh() {
		if (this.session) await this.read("feedback-sessions/" + this.session.session_id);
	}

	/** Returns the active session, which it opens if there is none. */
	async ensure() {
		if (!this.session) {
			const { profile_id } = this.profile;
			const { body, etag } = await request("POST", "feedback-sessions", { body: { profile_id } });
			this.session = body;
			this.etag = etag;
			this.follow();
			this.dispatchEvent(new Event("session"));
		}
		return /** @type {Session} */ (this.session);
	}

	/** Forgets the session, which was completed. */
	completed() {
		this.session = null;
		this.etag = "";
		this.stop();
		this.end = new AbortController();
		this.dispatchEvent(new Event("session"));
		this.dispatchEvent(new Event("replaced"));
	}

	follow() {
		if (!this.session) return;
		const id = this.session.session_id;
		void follow(id, {
			opened: () => void this.refresh().catch(() => {}),
			event: ({ segment, lesson_id }) => {
				const lesson = this.session?.lessons.find((l) => l.lesson_id === lesson_id);
				const index = lesson?.segments.findIndex((s) => s.segment_id === segment?.segment_id) ?? -1;
				if (!lesson || !segment || index < 0) {
					void this.refresh().catch(() => {});
					return;
				}
				lesson.segments[index] = segment;
				this.dispatchEvent(new CustomEvent("segment", { detail: segment }));
			},
		}, this.end.signal);
	}

	stop() {
		this.end.abort();
	}
}

/** @param {HTMLElement} root @param {string} [id] */
export async function studentView(root, id = "") {
	const { body: profile } = await request("GET", "profiles/" + id);
	const work = new Work(profile);
	const records = h("div", {});
	const drawRecords = async () => records.replaceChildren(
		recordList(await all("feedback-records", { profile_id: id }), () => "", "h3", drawRecords));
	const lessons = lessonsSection(work);
	const feedback = feedbackSection(work, () => once(records, drawRecords));
	root.append(
		h("div", { class: "row" },
			h("div", { class: "grow" }, h("h1", {}, profile.name), h("p", { class: "hint" }, describe(profile))),
			h("a", { class: "button", href: "#/edit/" + id }, t("edit"))),
		h("div", { class: "columns" }, lessons.element, feedback.element),
		h("section", { "aria-labelledby": "records" }, h("h2", { id: "records" }, t("records")), records));
	await work.load();
	await drawRecords();
	return async () => {
		work.stop();
		await Promise.all([lessons.leave(), feedback.leave()]);
	};
}
