// Recording lessons, and what of them waits.

import { account, Problem, request } from "../api.js";
import { announce, button, delay, duration, explain, h, minutes, once, say, t, tell, today, write } from "../dom.js";
import { append, changed, create, draftKey, hold, newLesson, openKey, outbox, own, put, wake } from "../outbox.js";
import { keepAwake, microphone, recordStream } from "../recorder.js";
import { isWaiting, textOf } from "../work.js";
import { transcript } from "./transcript.js";

/** @param {Work} work */
export function lessonsSection(work) {
	const meter = h("meter", { min: 0, max: 60, low: 15, optimum: 30, "aria-label": t("level") });
	const words = h("span.hint.words", {});
	const time = h("span.time", { role: "timer" }, "0:00");
	const record = button(t("record"), () => recorder ? stop() : start(), { class: "record", title: t("spaceBar") });
	const levels = h("div.row.levels", { hidden: true }, meter, words, time);
	const behind = h("p.notice", { hidden: true, role: "status" });
	const note = h("p.hint", {});
	const finish = button(t("finishLesson"), finishLesson);
	const text = transcript(work);
	const files = h("input", { type: "file", accept: "audio/*,video/mp4,video/webm", multiple: true, hidden: true });
	const choose = button(t("addFiles"), () => files.click(), { class: "quiet" });
	const element = h("section.card.lessons", { "aria-labelledby": "lessons" },
		h("h2", { id: "lessons" }, t("lessons")), note, text.element,
		h("div.row", {}, finish, choose, files));

	/** @type {(() => Promise<void>) | null} */
	let recorder = null;
	/** @type {() => void} */
	let release = () => {};
	let awake = new AbortController();
	let isWaited = false; // for text
	/** @type {Recording[]} */
	let unsent = [];
	/** The last sequence of each lesson that was given to a recording. @type {Map<string, number>} */
	const last = new Map();
	/** What was recorded here and is no text yet, as lesson and sequence. @type {Set<string>} */
	const awaited = new Set();
	/** What an earlier visit left open. @type {string | null | undefined} */
	let left = null;

	const student = work.profile.profile_id;
	const mark = openKey(student);

	/** Where the next recording belongs, if that is known. It follows those that have no place. */
	const place = () => unsent.some((r) => work.has(r) && !r.to) ? undefined : work.openLesson();

	async function start() {
		const check = () => end.signal.throwIfAborted(); // the page shows something else by now
		const stream = await microphone();
		try {
			check();
			// Other tabs leave this one's recordings alone until it has stopped.
			const held = await hold("recording", 2000);
			if (!held) throw new Problem(409, { code: "other_tab" });
			release = held;
			check();
			recorder = await recordStream(stream,
				{ segment: (type) => (check(), sink(type)), level: drawLevel, ended: () => {
					void stop();
					write(behind, t("recordingStopped"));
					behind.hidden = false;
				} });
		} catch (error) {
			for (const track of stream.getTracks()) track.stop();
			release();
			if (end.signal.aborted) return;
			throw error;
		}
		void navigator.storage?.persist?.(); // Firefox asks its user: no need to wait
		tell(work, "recording");
		awake = new AbortController();
		keepAwake(awake.signal);
		document.title = "● " + t("recording") + " – " + work.profile.name;
		draw();
		announce(t("recordingStarted"));
		await delay(600); // the second tap of two is not Stop
	}

	async function stop() {
		const stopping = recorder;
		if (!stopping) return;
		recorder = null;
		document.title = work.profile.name + " – " + t("title");
		meter.value = 0;
		words.textContent = "";
		draw();
		await stopping();
		release();
		awake.abort();
		announce(t("recordingStopped"));
		draw();
	}

	/** @type {AddPart} */
	const add = (type, name = "", data) => keep(async () => {
		const lesson = newLesson(student, today());
		const open = place();
		const to = open && { lesson: open.lesson_id, sequence: 0 };
		const sent = open?.segments.map((s) => s.sequence) ?? [];
		const sequence = Math.max(last.get(open?.lesson_id ?? lesson) ?? -1, ...sent) + 1;
		const { teacher } = account;
		const created = await create({
			lesson, sequence, to, type, name, student: work.profile.name, teacher, duration: 0, complete: !!data, refused: null,
		}, data);
		last.set(open?.lesson_id ?? lesson, created.sequence);
		awaited.add(lesson + " " + created.sequence);
		localStorage.removeItem(openKey("sent-" + student)); // this is not in it
		try { localStorage[mark] = "said"; } catch {} // no space
		void changed();
		return created;
	});

	/** @type {OpenSink} */
	function sink(type) {
		let n = 0;
		/** @type {Blob[]} */
		const waiting = [];
		let stored = add(type);
		return {
			chunk(data) {
				waiting.push(data);
				stored = stored.then(async (recording) => {
					const blob = new Blob(waiting.splice(0)); // a device may be slow
					if (blob.size > 0) await keep(() => append(recording, n, blob));
					n++;
					return recording;
				});
			},
			async end(duration) {
				const recording = await stored;
				await keep(() => put({ ...recording, complete: true, duration }));
				void changed();
			},
		};
	}

	/** @type {Keep} */
	async function keep(store) {
		for (let told = false;; told = true) {
			try {
				return await store();
			} catch (error) {
				void stop();
				if (!told) say(t("deviceFull", { detail: explain(error) }), record, true);
				await delay(2000);
			}
		}
	}

	const addFiles = () => once(files, async () => {
		const picked = [...files.files ?? []];
		files.value = ""; // the same may be chosen again
		if (picked.length === 0) return;
		for (const file of picked) {
			const data = await file.arrayBuffer();
			// The browser goes by the name, the server by the content.
			await add(file.type.startsWith("audio/") ? file.type : "audio/mpeg", file.name, data);
		}
		return t("filesAdded", { n: picked.length });
	});

	async function finishLesson() {
		await stop();
		await wake(); // what is sent later begins the next lesson
		const open = work.openLesson();
		if (!open) return;
		await request("POST", `feedback-lessons/${open.lesson_id}/finish`);
		await work.refresh();
		return t("lessonFinished", { n: open.number });
	}

	/** @param {number} level in dBFS @param {number} seconds @param {number} lost */
	function drawLevel(level, seconds, lost) {
		meter.value = Math.max(0, level + 60);
		write(words, t(level < -45 ? "tooQuiet" : level > -6 ? "tooLoud" : "levelGood"));
		write(time, minutes(seconds));
		behind.hidden = lost < 2;
		if (lost >= 2) write(behind, t("behind", { time: duration(Math.round(lost)) }));
	}

	function draw() {
		const lessons = work.session?.lessons ?? [];
		const open = work.openLesson();
		write(record, t(recorder ? "stop" : "record"));
		record.classList.toggle("on", !!recorder);
		levels.hidden = !recorder;
		finish.hidden = !open;
		text.draw(unsent);
		const queue = lessons.flatMap((l) => l.segments).filter(isWaiting);
		const ahead = Math.min(...queue.map((s) => s.ahead ?? 0));
		const wait = Math.max(...queue.map((s) => s.estimated_wait_seconds ?? 0));
		isWaited = queue.length > 0;
		hear(lessons);
		write(note, isWaited ? [t("waiting", { n: queue.length }), ahead > 0 && t("ahead", { n: ahead }),
			wait > 0 && t("estimate", { time: duration(wait) }), queue.some((s) => s.paused) && t("paused")]
			.filter(Boolean).join(" ")
			: t(recorder ? "lessonRecording" : open ? "lessonOpen" : "lessonNext", { n: open?.number ?? lessons.length + 1 }));
	}

	/** @param {Lesson[]} lessons */
	function hear(lessons) {
		if (left && work.isKnown && !work.session && !awaited.size && !(draftKey(student) in localStorage)) { // saved elsewhere
			localStorage.removeItem(mark);
			left = null;
		}
		if (recorder || !awaited.size && !(left === "said" && work.session && !isWaited)) return;
		for (const r of unsent) if (r.refused) awaited.delete(r.lesson + " " + r.sequence);
		for (const l of lessons) for (const s of l.segments) if (!isWaiting(s)) awaited.delete(l.lesson_id + " " + s.sequence);
		const said = lessons.flatMap((l) => l.applied ? [] : l.segments);
		if (awaited.size > 0 || said.some((s) => s.state === "failed") && !said.some(textOf)) return;
		left = null;
		tell(work, said.some(textOf) ? "heard" : "silent");
	}

	const refresh = () => work.refresh().catch(() => {});
	const end = new AbortController();
	void (async () => { // events do not tell how long it takes
		while (await delay(3000), !end.signal.aborted) if ((isWaited || !work.isKnown) && !document.hidden) await refresh();
	})();
	/** @type {Listen} */
	const on = (target, name, listener) => target.addEventListener(name, listener, { signal: end.signal });
	const readOutbox = async () => {
		unsent = await own();
		draw();
	};
	on(work, "session", draw);
	on(work, "chosen", () => { // until then it is offered again
		if (!recorder && !awaited.size && left !== "said") localStorage[mark] = "text";
	});
	on(work, "segment", ({ detail: { state, sequence, text } }) => {
		const news = state === "transcribed" ? text : state === "failed" ? t("failed") : "";
		if (news) announce(t("textOf", { n: sequence + 1 }) + " " + news);
	});
	on(outbox, "change", readOutbox);
	on(outbox, "sent", ({ detail: { lesson, sequence, to } }) => {
		last.set(to.lesson, Math.max(last.get(to.lesson) ?? -1, to.sequence));
		if (awaited.delete(lesson + " " + sequence)) awaited.add(to.lesson + " " + to.sequence);
		void refresh();
	});
	on(document, "visibilitychange", () => document.hidden || refresh()); // saved elsewhere?
	on(document, "keydown", (event) => {
		if (event.code !== "Space" || event.repeat || event.ctrlKey
			|| event.target.closest("button, a, input, select, textarea, audio, summary, dialog")) return;
		event.preventDefault();
		record.click();
	});
	on(files, "change", addFiles);
	void readOutbox().then(() => {
		left = localStorage[mark];
		for (const r of unsent) if (left === "said" && work.has(r)) awaited.add(r.lesson + " " + r.sequence);
		draw();
	});

	return {
		element, levels, behind, record,
		async leave() {
			end.abort();
			text.silence();
			const told = recorder && t("recordingStopped");
			await stop();
			return told;
		},
	};
}
