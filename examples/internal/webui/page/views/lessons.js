// Recordings and their text.

import { account, request } from "../api.js";
import { button, explain, h, minutes, once, say, t } from "../dom.js";
import { delay } from "../events.js";
import { append, audio, changed, hold, list, outbox, put, remove } from "../outbox.js";
import { keepAwake, microphone, Recorder } from "../recorder.js";

/** @param {import("./student.js").Work} work */
export function lessonsSection(work) {
	const meter = h("meter", { min: 0, max: 60, low: 15, optimum: 30, "aria-label": t("level") });
	const words = h("span", { class: "hint words" });
	const time = h("span", { class: "time", role: "timer" }, "0:00");
	const record = button(t("record"), toggle, { class: "record" });
	const lessonNote = h("p", { class: "hint" });
	const spoken = h("p", { class: "hidden", role: "status" });
	const waiting = h("p", { class: "hint waiting" });
	const finish = button(t("finishLesson"), finishLesson);
	const text = h("div", { class: "transcript", tabindex: 0, role: "region", "aria-label": t("textRegion") });
	const files = h("input", { type: "file", accept: "audio/*,video/mp4,video/webm", multiple: true, class: "file" });
	files.addEventListener("change", () => once(files, () => addFiles(files.files)));
	const drop = h("label", { class: "drop" }, t("dropFiles"), files);
	const element = h("section", { class: "card", "aria-labelledby": "lessons" },
		h("h2", { id: "lessons" }, t("lessons")), lessonNote, record,
		h("div", { class: "row levels" }, meter, words, time),
		h("div", { class: "row" }, finish, drop), waiting, text, spoken);

	/** @type {Recorder | null} */
	let recorder = null;
	/** @type {() => void} */
	let release = () => {};
	let awake = new AbortController();
	/** @type {Recording[]} */
	let unsent = [];
	/** @type {Map<string, HTMLElement>} */
	const rows = new Map();
	/** @type {string[]} */
	const players = [];

	const openLesson = () => work.session?.lessons.find((l) => l.state === "recording");

	/** Returns the lesson that is recording. It starts the next one if there is none. */
	async function ensureLesson() {
		const session = await work.ensure();
		const open = openLesson();
		if (open) return open.lesson_id;
		let id = "";
		try {
			id = (await request("POST", `feedback-sessions/${session.session_id}/lessons`)).body.lesson_id;
		} catch (error) {
			id = /** @type {any} */ (error).lessonID; // of another device
			if (!id) throw error;
		}
		await work.refresh();
		return id;
	}

	/** The number of the lesson's next recording. @param {string} lesson */
	async function nextSequence(lesson) {
		const sent = work.session?.lessons.find((l) => l.lesson_id === lesson)?.segments ?? [];
		const kept = (await list()).filter((r) => r.lesson === lesson);
		return Math.max(-1, ...sent.map((s) => s.sequence), ...kept.map((r) => r.sequence)) + 1;
	}

	async function toggle() {
		await (recorder ? stop() : start());
	}

	async function start() {
		const stream = await microphone();
		try {
			const lesson = await ensureLesson();
			let sequence = await nextSequence(lesson);
			// Other tabs leave this one's recordings alone until it has stopped.
			const held = await hold("recording");
			if (!held) throw new Error(t("otherTab"));
			release = held;
			const next = new Recorder(stream, (type) => sink(lesson, sequence++, type), drawLevel, () => void stop());
			await next.start();
			recorder = next;
		} catch (error) {
			stream.getTracks().forEach((track) => track.stop());
			release();
			throw error;
		}
		void navigator.storage?.persist?.(); // Firefox asks its user: no need to wait
		awake = new AbortController();
		keepAwake(awake.signal);
		record.textContent = t("stop");
		record.classList.add("on");
		document.title = "● " + t("recording") + " – " + work.profile.name;
		drawSession();
		say(t("recordingStarted"));
	}

	async function stop() {
		const stopping = recorder;
		if (!stopping) return;
		recorder = null;
		record.textContent = t("record");
		record.classList.remove("on");
		document.title = work.profile.name + " – " + t("title");
		meter.value = 0;
		words.textContent = "";
		drawSession();
		await stopping.stop();
		release();
		awake.abort();
		say(t("recordingStopped"));
	}

	/**
	 * Stores a segment as it is recorded.
	 * @param {string} lesson @param {number} sequence @param {string} type
	 * @returns {Sink}
	 */
	function sink(lesson, sequence, type) {
		const recording = newRecording(lesson, sequence, type);
		let n = 0;
		let stored = keep(() => put(recording));
		void stored.then(changed);
		return {
			chunk(data) {
				const number = n++;
				stored = stored.then(async () => {
					const bytes = await data.arrayBuffer();
					await keep(() => append(recording, number, bytes));
				});
			},
			async end(duration) {
				await stored;
				await keep(() => put({ ...recording, complete: true, duration }));
				void changed();
			},
		};
	}

	/**
	 * Stores until it succeeds. While the device has no space, recording stops; what was recorded
	 * stays in memory, and sending what is stored makes space.
	 * @param {() => Promise<unknown>} store
	 */
	async function keep(store) {
		for (let told = false;; told = true) {
			try {
				await store();
				return;
			} catch (error) {
				void stop();
				if (!told) say(t("deviceFull", { detail: explain(error) }), true);
				await delay(2000);
			}
		}
	}

	/** @param {string} lesson @param {number} sequence @param {string} type @returns {Recording} */
	function newRecording(lesson, sequence, type) {
		const { teacher } = account;
		return { lesson, sequence, type, teacher, duration: 0, complete: false, refused: "", name: "" };
	}

	/** @param {FileList | null | undefined} chosen */
	async function addFiles(chosen) {
		const picked = [...(chosen ?? [])];
		if (picked.length === 0) return;
		const lesson = await ensureLesson();
		for (const file of picked) {
			// The server looks at the content; the name decides what the browser calls it.
			const type = file.type.startsWith("audio/") ? file.type : "audio/mpeg";
			const recording = { ...newRecording(lesson, await nextSequence(lesson), type), name: file.name };
			await put(recording);
			await append(recording, 0, await file.arrayBuffer());
			await put({ ...recording, complete: true });
		}
		files.value = "";
		say(t("filesAdded", { n: picked.length }));
		void changed();
	}

	async function finishLesson() {
		await stop();
		const open = openLesson();
		if (!open) return;
		await request("POST", `feedback-lessons/${open.lesson_id}/finish`);
		await work.refresh();
		say(t("lessonFinished", { n: open.number }));
	}

	/** @param {number} level in dBFS @param {number} seconds */
	function drawLevel(level, seconds) {
		meter.value = Math.max(0, level + 60);
		const label = level < -45 ? t("tooQuiet") : level > -6 ? t("tooLoud") : t("levelGood");
		if (words.textContent !== label) words.textContent = label;
		const elapsed = minutes(Math.floor(seconds));
		if (time.textContent !== elapsed) time.textContent = elapsed;
	}

	function drawSession() {
		const lessons = work.session?.lessons ?? [];
		const open = openLesson();
		lessonNote.textContent = open ? t(recorder ? "lessonRecording" : "lessonOpen", { n: open.number })
			: t("lessonNext", { n: lessons.length + 1 });
		finish.disabled = !open;
		rows.clear();
		const none = h("p", { class: "hint" }, t("noText"));
		text.replaceChildren(...(lessons.length ? lessons.map(drawLesson) : [none]));
		drawWaiting();
		text.scrollTop = text.scrollHeight;
	}

	/** @param {Lesson} lesson */
	function drawLesson(lesson) {
		const state = lesson.applied ? t("applied") : lesson.state === "recording" ? t("open") : t("finished");
		const apply = !lesson.applied && lesson.state === "finished" && button(t("markApplied"), async () => {
			await request("POST", `feedback-lessons/${lesson.lesson_id}/mark-applied`);
			await work.refresh();
		}, { class: "quiet", title: t("markAppliedHint") });
		const kept = unsent.filter((r) => r.lesson === lesson.lesson_id
			&& !lesson.segments.some((s) => s.sequence === r.sequence && !r.refused));
		const name = t("lesson", { n: lesson.number });
		return h("section", { "aria-label": name },
			h("div", { class: "row" }, h("h3", { class: "grow" }, `${name} · ${state}`), apply),
			h("ol", { class: "segments" }, ...lesson.segments.map(drawSegment), ...kept.map(drawKept)));
	}

	/** @param {Segment} segment */
	function drawSegment(segment) {
		const seconds = segment.duration_ms ? " · " + minutes(segment.duration_ms / 1000) : "";
		const label = t("part", { n: segment.sequence + 1 }) + seconds;
		const player = h("span", {});
		const row = h("li", { tabindex: -1, class: segment.state },
			h("p", { class: "text" }, segment.state === "transcribed" ? segment.text || t("nothingSaid")
				: t(segment.state) + (segment.error ? ": " + segment.error : "")),
			h("div", { class: "row" }, h("span", { class: "hint grow" }, label),
				segment.state === "failed" && button(t("retry"), () => retry(segment), { of: label }),
				button(t("listen"), () => listen(`audio-segments/${segment.segment_id}/audio`, player),
					{ class: "quiet", of: label }), player));
		rows.set(segment.segment_id, row);
		return row;
	}

	/** @param {Recording} recording */
	function drawKept(recording) {
		const label = recording.name || t("part", { n: recording.sequence + 1 });
		const row = h("li", { class: recording.refused ? "failed" : "unsent" },
			h("p", { class: "text" }, !recording.complete ? t("beingRecorded")
				: recording.refused ? t("refused") + ": " + recording.refused : t("notSent")),
			h("div", { class: "row" }, h("span", { class: "hint grow" }, label),
				recording.refused && button(t("download"), async () => {
					const url = URL.createObjectURL(await audio(recording));
					const download = recording.name || "recording." + recording.type.split("/")[1];
					h("a", { href: url, download }).click();
					setTimeout(() => URL.revokeObjectURL(url), 60_000);
				}),
				recording.refused && button(t("discard"), () => remove(recording), { class: "danger" })));
		return row;
	}

	/** @param {Segment} segment */
	async function retry(segment) {
		const { body } = await request("POST", `audio-segments/${segment.segment_id}/retry`);
		replaceRow(body);
	}

	/** @param {string} path @param {HTMLElement} place */
	async function listen(path, place) {
		const { response } = await request("GET", path, { seconds: 600 });
		const url = URL.createObjectURL(await response.blob());
		players.push(url);
		const player = h("audio", { controls: true, src: url });
		place.replaceChildren(player);
		player.focus();
		await player.play().catch(() => {});
	}

	/** @param {Segment} segment */
	function replaceRow(segment) {
		const old = rows.get(segment.segment_id);
		if (!old) return;
		const focused = old.contains(document.activeElement);
		const row = drawSegment(segment);
		old.replaceWith(row);
		if (focused) row.focus();
		drawWaiting();
	}

	/** Says how much waits, and how long. The answers to changes do not know that, so it is read. */
	function drawWaiting(session = work.session) {
		const left = (session?.lessons ?? []).flatMap((l) => l.segments)
			.filter((s) => s.state === "queued" || s.state === "transcribing");
		const ahead = Math.min(...left.map((s) => s.ahead ?? Infinity));
		const wait = Math.max(...left.map((s) => s.estimated_wait_seconds ?? 0));
		waiting.textContent = left.length ? [t("waiting", { n: left.length }),
			ahead < Infinity && t("ahead", { n: ahead }), wait > 0 && t("estimate", { time: minutes(wait) })]
			.filter(Boolean).join(" ") : "";
	}
	const progress = setInterval(() => once(waiting, async () => {
		if (!waiting.textContent || !work.session || document.hidden) return;
		const path = "feedback-sessions/" + work.session.session_id;
		await request("GET", path).then((answer) => drawWaiting(answer.body), () => {});
	}), 3000);

	const onOutbox = async () => {
		const before = JSON.stringify(unsent);
		unsent = (await list()).filter((r) => r.teacher === account.teacher);
		if (JSON.stringify(unsent) !== before) drawSession();
	};
	const onSent = () => void work.refresh().catch(() => {});
	/** @param {KeyboardEvent} event */
	const onKey = (event) => {
		const target = /** @type {HTMLElement} */ (event.target);
		if (event.code !== "Space" || event.repeat
			|| target.closest("button, a, input, select, textarea, audio, summary, dialog")) return;
		event.preventDefault();
		void once(record, toggle);
	};
	/** @param {DragEvent} event */
	const onDrop = (event) => {
		event.preventDefault();
		void once(files, () => addFiles(event.dataTransfer?.files));
	};
	const onSegment = (/** @type {Event} */ e) => {
		const segment = /** @type {CustomEvent<Segment>} */ (e).detail;
		replaceRow(segment);
		if (segment.state === "transcribed" || segment.state === "failed") {
			const n = segment.sequence + 1;
			spoken.textContent = t("textOf", { n }) + " " + (segment.state === "failed" ? t("failed") : segment.text);
		}
	};
	work.addEventListener("session", drawSession);
	work.addEventListener("segment", onSegment);
	outbox.addEventListener("change", onOutbox);
	outbox.addEventListener("sent", onSent);
	document.addEventListener("keydown", onKey);
	element.addEventListener("dragover", (event) => event.preventDefault());
	element.addEventListener("drop", onDrop);
	void onOutbox();

	return {
		element,
		async leave() {
			clearInterval(progress);
			outbox.removeEventListener("change", onOutbox);
			outbox.removeEventListener("sent", onSent);
			document.removeEventListener("keydown", onKey);
			await stop();
			players.forEach((url) => URL.revokeObjectURL(url));
		},
	};
}
