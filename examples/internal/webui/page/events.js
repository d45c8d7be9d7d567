// The events of a session, read with fetch because EventSource cannot send a token.

import { account } from "./api.js";

/**
 * Follows a session until the signal is aborted. Lost connections are resumed after the last event.
 * While the page is hidden there is no connection, because browsers allow few of them.
 * @param {string} session
 * @param {{opened: () => void, event: (e: SessionEvent) => void}} handlers opened is called for each
 *   connection that may have missed events
 * @param {AbortSignal} signal
 */
export async function follow(session, handlers, signal) {
	let last = "";
	let pause = 1000;
	while (!signal.aborted) {
		if (document.hidden) {
			await happens(document, "visibilitychange", signal);
			continue;
		}
		const hidden = new AbortController();
		const onHide = () => document.hidden && hidden.abort();
		document.addEventListener("visibilitychange", onHide);
		try {
			const response = await fetch(`api/v1/feedback-sessions/${session}/events`, {
				headers: { ...account.headers, ...(last && { "Last-Event-ID": last }) },
				cache: "no-store", credentials: "omit", signal: AbortSignal.any([signal, hidden.signal]),
			});
			if (response.status === 401) account.expire();
			if (!response.ok || !response.body) throw new Error("HTTP " + response.status);
			if (!last) handlers.opened();
			pause = 1000;
			for await (const { id, data } of messages(response.body)) {
				last = id || last;
				if (data) handlers.event(JSON.parse(data));
			}
		} catch {
			// The connection ended: make another.
			pause = Math.min(2 * pause, 30_000);
		} finally {
			document.removeEventListener("visibilitychange", onHide);
		}
		if (!signal.aborted && !document.hidden) {
			await Promise.race([happens(globalThis, "online", signal), delay(pause)]);
			if (pause > 2000 && !signal.aborted) handlers.opened(); // without a stream, read the session
		}
	}
}

/** Parses a stream of server-sent events. @param {ReadableStream<Uint8Array>} body */
async function* messages(body) {
	const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
	let rest = "";
	for (;;) {
		const { value, done } = await reader.read();
		if (done) return;
		const blocks = (rest + value).split("\n\n");
		rest = blocks.pop() ?? "";
		for (const block of blocks) {
			const message = { id: "", data: "" };
			for (const line of block.split("\n")) {
				if (line.startsWith("id: ")) message.id = line.slice(4);
				if (line.startsWith("data: ")) message.data += line.slice(6);
			}
			yield message;
		}
	}
}

/** @param {number} ms */
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Waits for an event, or the end of the signal.
 * @param {EventTarget} target
 * @param {string} name
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function happens(target, name, signal) {
	return new Promise((resolve) => {
		target.addEventListener(name, () => resolve(), { once: true, signal });
		signal?.addEventListener("abort", () => resolve(), { once: true });
	});
}
