// The HTTP interface. All addresses are relative to the page, which may be below any path.

import { collator, language, store, stored, tell } from "./dom.js";

/** An unsuccessful answer, or with status 0 none at all. */
export class Problem extends Error {
	/** @param {number} status @param {ProblemBody} body @param {number} [retryAfter] in seconds */
	constructor(status, body, retryAfter = 0) {
		super(body.detail || body.title || "HTTP " + status);
		this.fields = Object.fromEntries((body.errors ?? []).map((e) => [e.location.replace(/^\w+\.|\W.*/g, ""), e]));
		this.status = status;
		/** Whether the same request may succeed later. */
		this.temporary = [0, 401, 408, 425, 429].includes(status) || status >= 500;
		this.refused = status > 0 && status < 500; // by the server
		this.code = body.code ?? "";
		this.retryAfter = retryAfter || body.retry_after_seconds || 0;
	}
}

export const storageKey = "lessonkit-sign-in";
const studentsKey = "lessonkit-students";
/** Is set while the server has not been told of a sign-out. */
export const signOutKey = "lessonkit-sign-out";

/** Its event "change" tells of signing in and out. */
class Account extends EventTarget {
	teacher = "";
	/** @type {Fields} */
	headers = {};
	expired = false;
	offline = false;

	/** Signs in with these headers, or without any by the cookie, if the server accepts them. @param {Fields} headers */
	async signIn(headers) {
		const { body } = await request("GET", "auth/me", { headers, anonymous: true });
		this.#set(body.teacher_id, headers);
	}

	/** Returns why the session lives on, or null. */
	async logout() {
		if (this.headers["X-Development-User"]) return null;
		return request("POST", "auth/logout").then(() => null, (problem) => problem.status === 401 ? null : problem);
	}

	forget() {
		this.#set("", {});
	}

	/** @param {string} teacher @param {Fields} headers */
	#set(teacher, headers) {
		if (teacher !== this.teacher) localStorage.removeItem(studentsKey);
		if (teacher) store(storageKey, { teacher, headers }); // nothing of it is secret
		else localStorage.removeItem(storageKey);
		Object.assign(this, { teacher, headers, expired: false });
		tell(this, "change");
	}

	/** @param {boolean} offline */
	reach(offline) {
		if (offline === this.offline) return;
		this.offline = offline;
		tell(this, "change");
	}

	/** What is being recorded continues. */
	expire() {
		if (this.expired || !this.teacher) return;
		this.expired = true;
		tell(this, "change");
	}
}

/** @type {Account} */
export const account = Object.assign(new Account(), stored(storageKey));

/** A name is for one teacher and the cookie may be for another. @param {Fields} headers @returns {RequestCredentials} */
export const credentials = (headers) => headers["X-Development-User"] ? "omit" : "same-origin";

/** @type {SendRequest} */
export async function request(method, path, { body, headers, seconds = 30, anonymous } = {}) {
	const blob = body instanceof Blob;
	/** @type {Fields} */
	const sent = { "Accept-Language": language, ...(anonymous ? {} : account.headers), ...headers };
	if (body !== undefined) sent["Content-Type"] = blob ? body.type : "application/json";
	/** @type {Response} */
	let response;
	let answer = null;
	try {
		response = await fetch("api/v1/" + path, {
			method, headers: sent, cache: "no-store",
			credentials: credentials(sent),
			keepalive: method === "DELETE", // also when the page is being left
			body: body === undefined || blob ? body : JSON.stringify(body),
			signal: AbortSignal.timeout(seconds * 1000),
		});
		const type = response.headers.get("Content-Type") ?? "";
		if (type.includes("json") && response.status !== 204) answer = await response.json();
		// A proxy has answered, or a network where one signs in.
		else if (response.ok ? type.startsWith("text/html") : response.status > 501) throw 0;
	} catch {
		account.reach(true);
		throw new Problem(0, { code: "offline" });
	}
	account.reach(false);
	if (!response.ok) {
		if (response.status === 401 && !anonymous) account.expire();
		throw new Problem(response.status, answer ?? {}, Number(response.headers.get("Retry-After")) || 0);
	}
	const etag = (response.headers.get("ETag") ?? "").replace("W/", ""); // of a proxy
	return { etag, body: answer, response };
}

/** @type {ReadAll} */
export async function all(path, query, seconds) {
	/** @type {any} */
	const items = [];
	let cursor = "";
	do {
		const search = new URLSearchParams({ ...query, limit: "200", cursor });
		const { body } = await request("GET", path + "?" + search, { seconds });
		items.push(...body.items);
		cursor = body.next_cursor;
	} while (cursor);
	return items;
}

/** Those of the last visit, which go with the sign-in. @returns {Profile[]} */
export const keptStudents = () => stored(studentsKey) ?? [];

/** Those of the server, or with the problem those that are kept. @returns {Promise<Profile[] & { problem?: any }>} */
export async function students() {
	const kept = studentsKey in localStorage;
	const { teacher } = account;
	try {
		const found = (await all("profiles", {}, kept ? 5 : 30)).sort((a, b) => collator.compare(a.name, b.name));
		try {
			if (account.teacher === teacher) store(studentsKey, found);
		} catch {
			localStorage.removeItem(studentsKey); // there is no space
		}
		return found;
	} catch (/** @type {any} */ error) {
		if (!kept || error.refused) throw error;
		return Object.assign(keptStudents(), { problem: error });
	}
}

/** @param {string} path */
export const messageOf = async (path) => (await request("GET", path + "/message")).body.text;

export const requestKey = () => crypto.getRandomValues(new Uint32Array(4)).join("-");
