// The voice session of a student, as the server has it.

import { account, all, credentials, request } from "./api.js";
import { happens, tell, today } from "./dom.js";
import { newLesson } from "./outbox.js";

/** @param {Segment} segment */
export const isWaiting = ({ state }) => state === "queued" || state === "transcribing";

/** As the teacher mended it. @param {Segment} segment */
export const textOf = ({ edited_text, text }) => edited_text ?? text;

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

	async ensure() {
		if (!this.session) {
			await this.read("feedback-sessions", { profile_id: this.profile.profile_id, feedback_date: today() });
		}
		return /** @type {Session} */ (this.session);
	}

	/** @param {string} path @param {object} [body] of a POST @returns {Promise<void>} */
	async read(path, body) {
		const { changes, end, session: before } = this;
		const answer = await request(body ? "POST" : "GET", path, { body });
		/** @type {Session | null} */
		const session = answer.body;
		for (const lesson of session?.lessons ?? []) {
			if (!lesson.truncated) continue;
			const known = this.lesson(lesson.lesson_id)?.segments ?? [];
			const complete = lesson.state === "finished" && known.length > 0 && !known.some(isWaiting);
			lesson.segments = complete ? known : await all(`feedback-lessons/${lesson.lesson_id}/segments`);
		}
		if (end.signal.aborted && (!body || end !== this.end)) return; // completed, or left with nothing to save
		if (session?.state === "completed") { // elsewhere
			this.completed();
			return this.refresh();
		}
		// The answer may be older than an event, or than a session that was opened meanwhile.
		if (changes !== this.changes || !session && before !== this.session) return this.refresh();
		const isNew = !this.session;
		this.session = session;
		this.etag ||= answer.etag;
		this.isKnown = true;
		if (isNew) this.follow();
		tell(this, "session");
		if (isNew && session) tell(this, "opened");
	}

	openLesson() {
		return this.session?.lessons.find((l) => l.state === "recording");
	}

	/** @param {string | undefined} id */
	lesson(id) {
		return this.session?.lessons.find((l) => l.lesson_id === id);
	}

	/** Whether a recording of this device belongs to the session, or will. @param {Recording} r */
	has(r) {
		return r.lesson.startsWith(newLesson(this.profile.profile_id, ""));
	}

	/** @param {Segment} segment */
	replace(segment) {
		for (const { segments } of this.session?.lessons ?? []) {
			const index = segments.findIndex((s) => s.segment_id === segment.segment_id);
			const old = segments[index];
			if (!old) continue;
			this.changes++;
			const { ahead, estimated_wait_seconds, paused } = old; // which events do not tell
			segments[index] = { ...segment, ahead, estimated_wait_seconds, paused };
			tell(this, "session");
			return true;
		}
		return false;
	}

	follow() {
		if (!this.session) return;
		const refresh = () => void this.refresh().catch(() => {});
		const received = (/** @type {SessionEvent} */ { segment }) => {
			if (!segment || !this.replace(segment)) return refresh();
			tell(this, "segment", segment);
		};
		void follow(this.session.session_id, { opened: refresh, received }, this.end.signal);
	}

	completed() {
		this.end.abort();
		this.end = new AbortController();
		this.session = null;
		this.etag = "";
		tell(this, "session");
		tell(this, "replaced");
	}
}

// Events are read with fetch because EventSource cannot send a token.

/** @type {Follow} */
async function follow(session, on, signal) {
	let last = "";
	let pause = 1000; // before the next connection
	while (!signal.aborted) {
		if (document.hidden) {
			await happens(document, "visibilitychange", signal);
			continue;
		}
		const end = new AbortController(); // of the connection
		const signals = AbortSignal.any([signal, end.signal]);
		document.addEventListener("visibilitychange", () => end.abort(), { signal: signals });
		try {
			const response = await fetch(`api/v1/feedback-sessions/${session}/events`, {
				headers: { ...account.headers, ...(last && { "Last-Event-ID": last }) },
				cache: "no-store", credentials: credentials(account.headers), signal: signals,
			});
			if (response.status === 401) account.expire();
			if (!response.ok || !response.body) throw new Error();
			if (!last) on.opened();
			pause = 1000;
			for await (const { id, data } of messages(response.body)) {
				last = id || last;
				if (data) on.received(JSON.parse(data));
			}
		} catch {
			// The connection ended: make another.
			pause = Math.min(2 * pause, 30_000);
		}
		end.abort();
		if (!document.hidden) await happens(globalThis, "online", AbortSignal.any([signal, AbortSignal.timeout(pause)]));
	}
}

/** @param {ReadableStream<Uint8Array>} body */
async function* messages(body) {
	const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
	let rest = "";
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const blocks = (rest + value).split("\n\n");
		rest = blocks.pop() ?? "";
		for (const block of blocks) {
			yield { id: /^id: (.*)$/m.exec(block)?.[1], data: /^data: (.*)$/m.exec(block)?.[1] };
		}
	}
}
