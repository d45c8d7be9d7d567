// The voice session of a student, as the server has it.

import { all, request } from "./api.js";
import { today } from "./dom.js";
import { follow } from "./events.js";

/** @param {Segment} segment */
export const isWaiting = ({ state }) => state === "queued" || state === "transcribing";

export class Work extends EventTarget {
	/** @type {Session | null} */
	session = null;
	etag = "";
	isKnown = false; // whether there is a session
	end = new AbortController();
	changes = 0; // that events told

	/** @param {Profile} profile */
	constructor(profile) {
		super();
		this.profile = profile;
	}

	/** Reads the session, if there is one. Its text and their version remain those of the editor. @returns {Promise<void>} */
	refresh() {
		return this.read("feedback-sessions/" + (this.session?.session_id
			?? "active?optional=true&profile_id=" + this.profile.profile_id));
	}

	/** Opens a session if there is none. */
	async ensure() {
		if (!this.session) {
			await this.read("feedback-sessions", { profile_id: this.profile.profile_id, feedback_date: today() });
		}
		return /** @type {Session} */ (this.session);
	}

	/** @param {string} path @param {object} [body] of a POST @returns {Promise<void>} */
	async read(path, body) {
		const { changes, end } = this;
		const answer = await request(body ? "POST" : "GET", path, { body });
		/** @type {Session | null} */
		const session = answer.body;
		for (const lesson of session?.lessons ?? []) {
			if (!lesson.truncated) continue;
			const known = this.lesson(lesson.lesson_id)?.segments ?? [];
			const complete = lesson.state === "finished" && known.length > 0 && !known.some(isWaiting);
			lesson.segments = complete ? known : await all(`feedback-lessons/${lesson.lesson_id}/segments`);
		}
		if (end.signal.aborted) return; // completed meanwhile
		if (changes !== this.changes) return this.refresh(); // the answer may be older than an event
		const isNew = !this.session;
		this.session = session;
		this.etag ||= answer.etag;
		this.isKnown = true;
		if (isNew) this.follow();
		this.dispatchEvent(new Event("session"));
		if (isNew && session) this.dispatchEvent(new Event("opened"));
	}

	openLesson() {
		return this.session?.lessons.find((l) => l.state === "recording");
	}

	/** @param {string | undefined} id */
	lesson(id) {
		return this.session?.lessons.find((l) => l.lesson_id === id);
	}

	/** Takes a segment as it is now, and reports whether it is known. @param {Segment} segment */
	replace(segment) {
		for (const { segments } of this.session?.lessons ?? []) {
			const index = segments.findIndex((s) => s.segment_id === segment.segment_id);
			const old = segments[index];
			if (!old) continue;
			this.changes++;
			const { ahead, estimated_wait_seconds } = old; // which events do not tell
			segments[index] = { ...segment, ahead, estimated_wait_seconds };
			this.dispatchEvent(new Event("session"));
			return true;
		}
		return false;
	}

	follow() {
		if (!this.session) return;
		const refresh = () => void this.refresh().catch(() => {});
		const received = (/** @type {SessionEvent} */ { segment }) => {
			if (!segment || !this.replace(segment)) return refresh();
			this.dispatchEvent(new CustomEvent("segment", { detail: segment }));
		};
		void follow(this.session.session_id, { opened: refresh, received }, this.end.signal);
	}

	completed() {
		this.end.abort();
		this.end = new AbortController();
		this.session = null;
		this.etag = "";
		this.dispatchEvent(new Event("session"));
		this.dispatchEvent(new Event("replaced"));
	}
}
