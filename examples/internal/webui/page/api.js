// The HTTP interface. All addresses are relative to the page, which may be below any path.

/** Problem is an answer that is not a success. A request without an answer has status 0. */
export class Problem extends Error {
	/**
	 * @param {number} status
	 * @param {ProblemBody} body
	 * @param {number} [retryAfter] in seconds
	 */
	constructor(status, body, retryAfter = 0) {
		const fields = (body.errors ?? []).map((e) => e.location.replace(/^\w+\./, "") + ": " + e.message);
		super(fields.join("; ") || body.detail || body.title || "HTTP " + status);
		this.status = status;
		this.code = body.code ?? "";
		this.retryAfter = retryAfter || body.retry_after_seconds || 0;
		this.lessonID = body.lesson_id ?? "";
	}
}

const storageKey = "lessonkit-sign-in";

/** account is who is signed in. Its event "change" tells of signing in and out. */
class Account extends EventTarget {
	/** @type {{teacher: string, headers: Record<string, string>}} */
	#stored = JSON.parse(sessionStorage.getItem(storageKey) ?? '{"teacher": "", "headers": {}}');
	teacher = this.#stored.teacher;
	headers = this.#stored.headers;
	expired = false;

	/**
	 * Signs in with the headers of a request, if the server accepts them.
	 * @param {Record<string, string>} headers
	 */
	async signIn(headers) {
		const { body } = await request("GET", "auth/me", { headers, anonymous: true });
		this.headers = headers;
		this.teacher = body.teacher_id;
		this.expired = false;
		sessionStorage.setItem(storageKey, JSON.stringify({ teacher: this.teacher, headers }));
		this.dispatchEvent(new Event("change"));
	}

	/** Ends the session, at the server too if it can be reached. */
	async signOut() {
		if (this.headers.Authorization) await request("POST", "auth/logout").catch(() => {});
		this.headers = {};
		this.teacher = "";
		this.expired = false;
		sessionStorage.removeItem(storageKey);
		this.dispatchEvent(new Event("change"));
	}

	/** Notes that the server no longer accepts the credentials. What is being recorded continues. */
	expire() {
		if (this.expired || !this.teacher) return;
		this.expired = true;
		this.dispatchEvent(new Event("change"));
	}
}

export const account = new Account();

/** @param {string} name */
export const developmentHeaders = (name) => ({ "X-Development-User": name });
/** @param {string} token */
export const tokenHeaders = (token) => ({ Authorization: "Bearer " + token });

/**
 * Sends a request. JSON bodies are objects; others are Blobs.
 * @param {string} method
 * @param {string} path below api/v1
 * @param {RequestOptions} [options]
 * @returns {Promise<{status: number, etag: string, body: any, response: Response}>}
 */
export async function request(method, path, options = {}) {
	const { body, headers = {}, seconds = 30, anonymous = false } = options;
	const blob = body instanceof Blob;
	const sent = { ...(anonymous ? {} : account.headers), ...headers };
	if (body !== undefined) sent["Content-Type"] = blob ? body.type : "application/json";
	/** @type {Response} */
	let response;
	try {
		response = await fetch("api/v1/" + path, {
			method, headers: sent, cache: "no-store", credentials: "omit",
			body: body === undefined || blob ? body : JSON.stringify(body),
			signal: AbortSignal.timeout(seconds * 1000),
		});
	} catch (error) {
		throw new Problem(0, { code: "offline", detail: String(error) });
	}
	if (!response.ok) {
		if (response.status === 401 && !anonymous) account.expire();
		const problem = await response.json().catch(() => ({}));
		throw new Problem(response.status, problem, Number(response.headers.get("Retry-After")) || 0);
	}
	const json = response.headers.get("Content-Type")?.startsWith("application/json");
	const etag = response.headers.get("ETag") ?? "";
	return { status: response.status, etag, body: json ? await response.json() : null, response };
}

/**
 * Reads all pages of a list.
 * @param {string} path
 * @param {Record<string, string>} query
 * @returns {Promise<any[]>}
 */
export async function all(path, query = {}) {
	const items = [];
	for (let cursor = "", more = true; more;) {
		const search = new URLSearchParams({ ...query, limit: "200", ...(cursor && { cursor }) });
		const { body } = await request("GET", path + "?" + search);
		items.push(...body.items);
		cursor = body.next_cursor ?? "";
		more = cursor !== "";
	}
	return items;
}

/** A random name of a request. */
export function requestKey() {
	return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
