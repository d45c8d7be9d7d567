// Recordings wait in IndexedDB until the server has confirmed that it stored them. A recording is
// written while it is made, chunk by chunk, so that a reload or a crash loses less than a second.

import { account, request } from "./api.js";
import { explain } from "./dom.js";

/** @type {Promise<IDBDatabase> | undefined} */
let opening;

function database() {
	opening ??= new Promise((resolve, reject) => {
		const open = indexedDB.open("lessonkit-outbox", 1);
		open.onupgradeneeded = () => {
			open.result.createObjectStore("recordings", { keyPath: ["lesson", "sequence"] });
			open.result.createObjectStore("chunks", { keyPath: ["lesson", "sequence", "n"] });
		};
		open.onsuccess = () => resolve(open.result);
		open.onerror = () => {
			opening = undefined;
			reject(open.error);
		};
	});
	return opening;
}

/**
 * Runs a transaction and returns the result of its last request, when it is on the disk.
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(recordings: IDBObjectStore, chunks: IDBObjectStore) => IDBRequest<T>} work
 * @returns {Promise<T>}
 */
async function transact(mode, work) {
	const db = await database();
	return new Promise((resolve, reject) => {
		const tx = db.transaction(["recordings", "chunks"], mode, { durability: "strict" });
		const last = work(tx.objectStore("recordings"), tx.objectStore("chunks"));
		tx.oncomplete = () => resolve(last.result);
		tx.onabort = tx.onerror = () => reject(tx.error ?? new Error("the transaction was aborted"));
	});
}

/** @param {string} lesson @param {number} sequence */
const chunksOf = (lesson, sequence) =>
	IDBKeyRange.bound([lesson, sequence, 0], [lesson, sequence, Number.MAX_SAFE_INTEGER]);

/** @param {Recording} recording */
export const put = (recording) => transact("readwrite", (recordings) => recordings.put(recording));

/**
 * Adds a chunk to a recording.
 * @param {Recording} recording
 * @param {number} n
 * @param {ArrayBuffer} data an ArrayBuffer, because Safari does not store Blobs reliably
 */
export const append = ({ lesson, sequence }, n, data) =>
	transact("readwrite", (_, chunks) => chunks.put({ lesson, sequence, n, data }));

/** @param {Recording} recording */
export async function remove({ lesson, sequence }) {
	await transact("readwrite", (recordings, chunks) => {
		chunks.delete(chunksOf(lesson, sequence));
		return recordings.delete([lesson, sequence]);
	});
	changed();
}

/** @returns {Promise<Recording[]>} */
export const list = () => transact("readonly", (recordings) => recordings.getAll());

/** @param {Recording} recording */
export async function audio({ lesson, sequence, type }) {
	const chunks = await transact("readonly", (_, c) => c.getAll(chunksOf(lesson, sequence)));
	return new Blob(chunks.map((c) => c.data), { type });
}

/**
 * Keeps other tabs, and this one, from doing the same work. Returns the function that ends this, or
 * null if the work is being done.
 * @param {string} work
 * @returns {Promise<(() => void) | null>}
 */
export function hold(work) {
	return new Promise((resolve) => {
		if (!navigator.locks) resolve(() => {}); // not a secure context, where nothing is recorded
		else void navigator.locks.request("lessonkit-" + work, { ifAvailable: true },
			(lock) => lock ? new Promise((release) => resolve(() => release(null))) : resolve(null));
	});
}

/** Completes recordings that were interrupted by a reload or a crash, unless a tab is recording. */
export async function recover() {
	const release = await hold("recording");
	if (!release) return;
	for (const recording of await list()) {
		if (recording.complete) continue;
		const { size } = await audio(recording);
		await (size > 0 ? put({ ...recording, complete: true }) : remove(recording));
	}
	release();
	await changed();
}

/** outbox tells of each change by the event "change". */
class Outbox extends EventTarget {
	/** @type {OutboxState} */
	state = { unsent: 0, refused: [], others: 0, problem: "" };
}
export const outbox = new Outbox();

const channel = new BroadcastChannel("lessonkit-outbox");
channel.onmessage = () => void wake();

/** Tells all tabs of a change. */
export function changed() {
	channel.postMessage("");
	return wake();
}

let retryAt = 0;
let failures = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** Sends what can be sent, and tells of the state. */
export async function wake() {
	await report();
	clearTimeout(timer);
	const left = retryAt - Date.now();
	if (left > 0) {
		timer = setTimeout(wake, left);
		return;
	}
	const release = await hold("sender");
	if (release) await drain().finally(release);
	await report();
	if (retryAt > Date.now()) timer = setTimeout(wake, retryAt - Date.now());
	else if (outbox.state.unsent > 0) timer = setTimeout(wake, 5000); // another tab may be sending them
}

export function retryNow() {
	retryAt = 0;
	return wake();
}
addEventListener("online", retryNow);
account.addEventListener("change", retryNow);

async function report(problem = outbox.state.problem) {
	const recordings = await list();
	const own = recordings.filter((r) => r.teacher === account.teacher);
	const unsent = own.filter((r) => !r.refused).length;
	outbox.state = {
		unsent, refused: own.filter((r) => r.refused),
		others: recordings.length - own.length, problem: unsent > 0 ? problem : "",
	};
	outbox.dispatchEvent(new Event("change"));
}

async function drain() {
	while (account.teacher && !account.expired) {
		const next = (await list()).find((r) => r.complete && !r.refused && r.teacher === account.teacher);
		if (!next) return;
		try {
			await send(next);
			failures = 0;
			await remove(next);
			await report("");
			outbox.dispatchEvent(new Event("sent"));
		} catch (error) {
			const { status, retryAfter = 0 } = /** @type {any} */ (error);
			if (!isTemporary(status)) {
				await put({ ...next, refused: explain(error) });
				continue;
			}
			failures++;
			retryAt = Date.now() + 1000 * (retryAfter || Math.min(2 ** failures, 30));
			await report(explain(error));
			return;
		}
	}
}

/**
 * Reports whether a request may succeed later that had this answer, or none.
 * @param {number | undefined} status
 */
const isTemporary = (status) => !status || [401, 408, 425, 429].includes(status) || status >= 500;

/** @param {Recording} recording */
async function send(recording) {
	const query = new URLSearchParams({ sequence: String(recording.sequence) });
	if (recording.duration > 0) query.set("duration_ms", String(Math.round(recording.duration)));
	const body = await audio(recording);
	await request("POST", `feedback-lessons/${recording.lesson}/segments?${query}`, { body, seconds: 600 });
}
