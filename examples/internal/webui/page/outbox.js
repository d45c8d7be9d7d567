// Recordings wait in IndexedDB until the server has stored them. They are written while they are
// made, so that a reload or a crash loses less than a second.

import { account, all, Problem, request } from "./api.js";
import { t, tell } from "./dom.js";

/** @type {Promise<IDBDatabase> | undefined} */
let opening;

function database() {
	opening ??= new Promise((resolve, reject) => {
		const open = indexedDB.open("lessonkit-outbox", 1);
		open.onupgradeneeded = () => {
			open.result.createObjectStore("recordings", { keyPath: ["lesson", "sequence"] });
			open.result.createObjectStore("chunks", { keyPath: ["lesson", "sequence", "n"] });
		};
		const forget = () => { opening = undefined; };
		open.onsuccess = () => {
			open.result.onclose = forget; // the browser may close it
			resolve(open.result);
		};
		open.onerror = () => {
			forget();
			reject(open.error);
		};
	});
	return opening;
}

/** @type {Transact} */
async function transact(mode, work) {
	const db = await database();
	return new Promise((resolve, reject) => {
		const tx = db.transaction(["recordings", "chunks"], mode, { durability: "strict" });
		const last = work(tx.objectStore("recordings"), tx.objectStore("chunks"));
		tx.oncomplete = () => resolve(last.result);
		tx.onabort = () => reject(tx.error ?? new Error("the transaction was aborted"));
	});
}

/** @param {...(string | number)} key */
const below = (...key) => IDBKeyRange.bound(key, [...key, []]);

/** @type {Create} */
export async function create({ ...recording }, data) {
	const { lesson } = recording;
	await transact("readwrite", (recordings, chunks) => {
		const keys = recordings.getAllKeys(below(lesson));
		keys.onsuccess = () => {
			const taken = /** @type {[string, number][]} */ (keys.result).map(([, sequence]) => sequence + 1);
			recording.sequence = Math.max(recording.sequence, ...taken);
			if (recording.to) recording.to.sequence = recording.sequence;
			recordings.add(recording);
			if (data) chunks.add({ lesson, sequence: recording.sequence, n: 0, data });
		};
		return keys;
	});
	return recording;
}

/** @param {Recording} recording */
export const put = (recording) => transact("readwrite", (recordings) => recordings.put(recording));

/** @type {Append} */
export async function append({ lesson, sequence }, n, blob) {
	const data = await blob.arrayBuffer(); // Safari does not store Blobs reliably
	await transact("readwrite", (_, chunks) => chunks.put({ lesson, sequence, n, data }));
}

/** @param {Recording} recording */
export async function remove({ lesson, sequence }) {
	await transact("readwrite", (recordings, chunks) => {
		chunks.delete(below(lesson, sequence));
		return recordings.delete([lesson, sequence]);
	});
	changed();
}

/** @param {Recording} r */
export const nameOf = (r) => r.name || t("part", { n: r.sequence + 1 });

/** The key of a student's text that the server does not have yet. @param {string} student */
export const draftKey = (student) => `lessonkit-draft-${account.teacher}-${student}`;

/** The key of a student's work that is in no record yet: "said" until there is a text of it. @param {string} student */
export const openKey = (student) => `lessonkit-open-${account.teacher}-${student}`;

export const draftKeys = () => Object.keys(localStorage).filter((key) => key.startsWith(draftKey("")));

/** @returns {Promise<Recording[]>} */
export const list = () => transact("readonly", (recordings) => recordings.getAll());

/** The lesson of recordings that have no place at the server yet. @param {string} student @param {string} day */
export const newLesson = (student, day) => `new ${student} ${day}`;

export const own = async () => (await list()).filter((r) => r.teacher === account.teacher);

/** @param {Recording} recording */
export async function audio({ lesson, sequence, type }) {
	const chunks = await transact("readonly", (_, c) => c.getAll(below(lesson, sequence)));
	return new Blob(chunks.map((c) => c.data), { type });
}

/** @type {Hold} */
export function hold(work, ms) {
	return new Promise((resolve) => {
		if (!navigator.locks) return resolve(() => {}); // not a secure context, where nothing is recorded
		navigator.locks.request("lessonkit-" + work, ms ? { signal: AbortSignal.timeout(ms) } : { ifAvailable: true },
			(lock) => lock ? new Promise((release) => resolve(() => release(null))) : resolve(null),
		).catch(() => resolve(null));
	});
}

/** Its events: "change" of the state, and "sent" with each recording that was sent in detail. */
export const outbox = Object.assign(new EventTarget(), {
	/** @type {OutboxState} */
	state: { unsent: 0, refused: [], others: 0, problem: null },
});

const channel = new BroadcastChannel("lessonkit-outbox");
channel.onmessage = (/** @type {MessageEvent} */ { data }) => data ? sent(data) : wake();

export function changed() {
	channel.postMessage("");
	return wake();
}

/** @param {Recording} detail */
const sent = (detail) => tell(outbox, "sent", detail);

let retryAt = 0;
let failures = 0;
let timer = 0;

export async function wake() {
	await report();
	if (Date.now() >= retryAt) {
		const release = await hold("sender");
		if (release) await drain().finally(release);
		await report();
	}
	clearTimeout(timer);
	// Another tab may be sending, or have crashed.
	if (outbox.state.unsent > 0) timer = setTimeout(wake, Math.max(retryAt - Date.now(), 0) || 5000);
}

export function retryNow() {
	retryAt = 0;
	return wake();
}
addEventListener("online", retryNow);
account.addEventListener("change", retryNow);

async function report(problem = outbox.state.problem) {
	const recordings = await list();
	const mine = recordings.filter((r) => r.teacher === account.teacher);
	const unsent = mine.filter((r) => !r.refused).length;
	outbox.state = {
		unsent, refused: mine.filter((r) => r.refused), others: recordings.length - mine.length,
		problem: unsent > 0 ? problem : null,
	};
	tell(outbox, "change");
}

/** Completes recordings that a reload or a crash interrupted, unless a tab is recording. */
async function recover() {
	const interrupted = (await list()).filter((r) => !r.complete);
	const release = interrupted.length > 0 && await hold("recording");
	if (!release) return;
	try {
		for (const recording of interrupted) {
			const { size } = await audio(recording);
			await (size > 0 ? put({ ...recording, complete: true }) : remove(recording));
		}
	} finally {
		release();
	}
}

async function drain() {
	await recover().catch(() => {}); // what is complete is sent, which makes space
	while (account.teacher && !account.expired) {
		const next = (await own()).find((r) => r.complete && !r.refused);
		if (!next) return;
		try {
			next.to ??= await place(next);
			await send(next, next.to);
			failures = 0;
			sent(next); // before it is gone: the next recording takes the place after it
			channel.postMessage(next);
			await remove(next);
			await report(null);
		} catch (error) {
			const { temporary = true, retryAfter = 0, code, status, message, fields = {} } = /** @type {any} */ (error);
			if (account.teacher !== next.teacher) return; // signed out: it is gone
			if (code === "sequence_taken" || code === "session_completed") { // by another device
				await put({ ...next, to: undefined });
				continue;
			}
			// A proxy has no code. Another device begins a lesson just now.
			if (!temporary && (code || status === 413) && code !== "lesson_in_progress") {
				await put({ ...next, refused: { code: fields.profile_id ? "not_found" : code, status, message, fields } });
				continue;
			}
			failures++;
			retryAt = Date.now() + 1000 * (retryAfter || Math.min(2 ** failures, 30));
			await report(error);
			return;
		}
	}
}

/** A place in the open lesson, or in a new one. It is kept: the recording is sent once. @param {Recording} recording */
async function place(recording) {
	const [, profile_id, feedback_date] = recording.lesson.split(" ");
	const { body: session } = await request("POST", "feedback-sessions", { body: { profile_id, feedback_date } });
	const open = session.lessons.find((/** @type {Lesson} */ l) => l.state === "recording")
		?? (await request("POST", `feedback-sessions/${session.session_id}/lessons`)).body;
	const lesson = open.lesson_id;
	const taken = [...await all(`feedback-lessons/${lesson}/segments`), ...(await list()).map((r) => r.to)
		.filter((to) => to?.lesson === lesson)].map((s) => s.sequence);
	const to = { lesson, sequence: Math.max(-1, ...taken) + 1 };
	await put({ ...recording, to }).catch(() => {});
	return to;
}

/** @param {Recording} recording @param {Place} to */
async function send(recording, { lesson, sequence }) {
	const query = new URLSearchParams({ sequence: String(sequence) });
	if (recording.duration > 0) query.set("duration_ms", String(Math.round(recording.duration)));
	const { body } = await request("POST", `feedback-lessons/${lesson}/segments?${query}`,
		{ body: await audio(recording), seconds: 600 });
	if (!body?.segment_id) throw new Problem(0, { code: "offline" }); // a proxy has answered
}
