// The events of a session, read with fetch because EventSource cannot send a token.

import { account, credentials } from "./api.js";

/** @type {Follow} */
export async function follow(session, on, signal) {
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
			yield { id: /^id: (.*)$/m.exec(block)?.[1], data: /^data: (.*)$/m.exec(block)?.[1] };
		}
	}
}

/** @param {number} ms */
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @type {WaitForEvent} */
export async function happens(target, name, end) {
	if (end?.aborted) return;
	const listening = new AbortController();
	const { signal } = listening;
	await new Promise((resolve) => {
		target.addEventListener(name, resolve, { signal });
		end?.addEventListener("abort", resolve, { signal });
	});
	listening.abort();
}
