// The text of the lessons. What is unchanged keeps its element: its focus, selection and playback.

import { account, credentials, request } from "../api.js";
import { arrange, button, byId, explain, h, minutes, store, stored, t, tell, words, write } from "../dom.js";
import { draftKey, nameOf } from "../outbox.js";
import { isWaiting, textOf } from "../work.js";
import { languages } from "./account.js";

/** @param {Work} work */
export function transcript(work) {
	const element = h("div.transcript", { tabindex: 0, role: "region", "aria-label": t("textRegion") });
	const player = h("audio", { controls: true });
	/** @type {Map<string, Draw<any>>} */
	const shown = new Map();

	/** @type {Show} */
	function show(key, create, data, kept = []) {
		const draw = shown.get(key) ?? create(data);
		shown.set(key, draw);
		return draw(data, kept);
	}

	/** @param {Recording[]} unsent */
	function draw(unsent) {
		const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < 8;
		const lessons = [...work.session?.lessons ?? []];
		/** The lesson of a recording, "" for one that the server does not have yet. @param {Recording} r */
		const lessonOf = (r) => r.to?.lesson ?? work.openLesson()?.lesson_id ?? "";
		const mine = unsent.filter((r) => work.has(r));
		if (mine.some((r) => !work.lesson(lessonOf(r)))) {
			lessons.push({ lesson_id: "", number: lessons.length + 1, state: "recording", applied: false, truncated: false, segments: [] });
		}
		element.hidden = lessons.length === 0;
		arrange(element, lessons.map((l) => show(l.lesson_id || "new " + l.number, lessonView, l,
			mine.filter((r) => l.lesson_id === (work.lesson(lessonOf(r))?.lesson_id ?? "")))));
		if (atEnd) element.scrollTop = element.scrollHeight;
	}

	/** @type {(l: Lesson) => Draw<Lesson>} */
	function lessonView({ lesson_id, number }) {
		const name = t("lesson", { n: number });
		const heading = h("h3", {});
		const list = h("ol.segments", {});
		const spoken = languages(t("usual"));
		let again = false; // it is being recognised
		const recognised = () => {
			if (!again || work.lesson(lesson_id)?.segments.some(isWaiting)) return;
			again = false;
			tell(work, "mended");
		};
		const more = h("details", {}, h("summary", {}, t("recogniseAgain")), h("div.row", {}, spoken, button(t("recogniseAgain"), async () => {
			await request("POST", `feedback-lessons/${lesson_id}/retry`, { body: spoken.value ? { language: spoken.value } : {} });
			more.open = false;
			await work.refresh();
			again = true;
			recognised();
		}, { of: name })));
		const section = h("section", { "aria-label": name }, heading, list, more);
		return ({ applied, state, segments }, kept) => {
			write(heading, `${name} · ${t(applied ? "applied" : state === "recording" ? "open" : "finished")}`);
			more.hidden = !segments.some((s) => s.state === "transcribed");
			recognised();
			const sent = new Set(segments.map((s) => s.sequence));
			arrange(list, [...segments.map((s) => show(s.segment_id, segmentView, s)),
				...kept.filter((r) => r.refused || !r.to || !sent.has(r.to.sequence))
					.map((r) => show(`${r.lesson} ${r.sequence}`, keptView, r))]);
			return section;
		};
	}

	/** @type {(s: Segment) => Draw<Segment>} */
	function segmentView({ segment_id: id, sequence, duration_ms }) {
		const label = t("part", { n: sequence + 1 }) + (duration_ms ? " · " + minutes(duration_ms / 1000) : "");
		const text = h("p.text", {});
		const warning = h("p.notice", {});
		const listen = button(t("listen"), () => play(id, row), { class: "quiet", of: label });
		const mend = button(t("edit"), async () => {
			text.hidden = actions.hidden = true;
			await mendText(id, row, label).finally(() => { text.hidden = actions.hidden = false; });
			mend.focus();
		}, { class: "quiet", of: label });
		const retry = button(t("retry"), async () => {
			await request("POST", `audio-segments/${id}/retry`);
			row.focus();
			await work.refresh();
		}, { of: label });
		const actions = h("div.row", {}, h("span.hint.grow", {}, label), retry, listen, mend);
		let drawn = "";
		const row = h("li", { id, tabindex: -1 }, text, warning, actions);
		sounds.set(row, async () => {
			const { body } = await request("GET", "audio-segments/" + id);
			if (textOf(body) === drawn) text.replaceChildren(...parts(drawn, body.sentences, id, row));
		});
		return (s) => {
			const { state, edited_text, error, error_code: code, warning_code, audio_deleted_at } = s;
			const said = textOf(s);
			row.className = state;
			const wrong = error && explain({ code, message: error });
			const told = state === "transcribed" && wrong || said && edited_text === null && words("warning_" + warning_code, "");
			warning.hidden = !told;
			write(warning, told || "");
			listen.hidden = !!audio_deleted_at;
			mend.hidden = state !== "transcribed";
			retry.hidden = state !== "failed";
			const shownText = state === "transcribed" ? said || (edited_text ?? t("warning_no_speech"))
				: t(state) + (wrong ? " – " + wrong : "");
			if (shownText === drawn) return row;
			write(text, drawn = shownText);
			seen.unobserve(row);
			if (state === "transcribed" && said && !audio_deleted_at) seen.observe(row);
			return row;
		};
	}

	/** Reads a part's sentences when it comes into view. @type {WeakMap<Element, () => Promise<void>>} */
	const sounds = new WeakMap();
	const seen = new IntersectionObserver((entries) => {
		for (const { isIntersecting, target } of entries) {
			if (!isIntersecting) continue;
			seen.unobserve(target);
			void sounds.get(target)?.().catch(() => {});
		}
	});

	/** @type {Parts} */
	function parts(text, sentences, id, row) {
		let at = 0;
		const found = sentences.flatMap((s) => {
			const start = text.indexOf(s.text, at);
			if (start < 0) return [];
			const before = text.slice(at, start);
			at = start + s.text.length;
			return [before, button(s.text, async () => {
				if (player.parentElement !== row) await play(id, row);
				player.currentTime = s.start_ms / 1000;
				await player.play().catch(() => {});
			}, { class: "sentence", "data-start": s.start_ms, "data-end": s.end_ms })];
		});
		return [...found, text.slice(at)];
	}

	work.addEventListener("listen", (/** @type {any} */ { detail: { segment, text } }) => {
		const row = byId(segment);
		const sentence = [...row.querySelectorAll("button.sentence")].find((s) => text.includes((s.textContent ?? "").slice(0, -1)));
		if (sentence instanceof HTMLElement) sentence.click();
		else void play(segment, row).catch(() => {});
		row.scrollIntoView({ block: "nearest" });
	});
	player.addEventListener("timeupdate", () => {
		const at = player.currentTime * 1000;
		for (const s of element.querySelectorAll(".sentence")) {
			const { start, end } = /** @type {HTMLElement} */ (s).dataset;
			const isSpoken = player.parentElement?.contains(s) && Number(start) <= at && at < Number(end);
			if (isSpoken) s.setAttribute("aria-current", "true");
			else s.removeAttribute("aria-current");
		}
	});

	/** @type {MendText} */
	async function mendText(id, row, label) {
		const path = "audio-segments/" + id;
		const key = draftKey(id);
		let { etag, body } = await request("GET", path);
		const before = textOf(body);
		const kept = { etag, text: before, ...stored(key) };
		etag = kept.etag;
		let unsaved = key in localStorage;
		const keep = () => {
			unsaved = true;
			try { store(key, { etag, text: editor.value }); } catch {} // no space
		};
		const editor = h("textarea", { rows: 4, maxlength: 100000, lang: "", "aria-label": label });
		editor.value = kept.text;
		const state = h("p.hint", { role: "status" });
		let timer = 0;
		let saving = Promise.resolve();
		/** @param {string | null} text */
		const save = (text) => saving = saving.then(async () => {
			try {
				({ etag, body } = await request("PUT", path + "/text", { body: { text }, headers: { "If-Match": etag } }));
				work.replace(body);
				if (text !== null && editor.value !== text) return keep();
				unsaved = false;
				localStorage.removeItem(key);
				write(state, t("saved"));
			} catch (/** @type {any} */ error) {
				write(state, t("notSaved") + " " + explain(error));
				if (error.temporary && account.teacher) timer = setTimeout(() => save(text === null ? text : editor.value), 5000);
				if (error.status !== 412) return;
				({ etag, body } = await request("GET", path)); // what is typed next replaces it
				write(state, t("error_record_changed", { detail: textOf(body) }));
			}
		});
		editor.addEventListener("input", () => {
			keep();
			write(state, t("unsaved"));
			clearTimeout(timer);
			timer = setTimeout(() => save(editor.value), 800);
		});
		return new Promise((/** @type {(value: void) => void} */ resolve) => {
			const done = async (/** @type {string | null} */ text) => {
				clearTimeout(timer);
				unsaved ||= text === null;
				if (unsaved) await save(text);
				if (unsaved) return;
				box.remove();
				resolve();
				if (textOf(body) !== before) tell(work, "mended");
			};
			const box = h("div", {}, editor, state, h("div.row", {}, button(t("done"), () => done(editor.value), { class: "primary" }),
				button(t("asRecognised"), () => done(null))));
			row.prepend(box);
			editor.focus();
		});
	}

	/** @type {(r: Recording) => Draw<Recording>} */
	function keptView(recording) {
		const text = h("p.text", {});
		const row = h("li", {}, text, h("span.hint", {}, nameOf(recording)));
		return ({ refused, complete }) => {
			row.className = refused ? "failed" : "unsent";
			write(text, refused ? t("refused") + " – " + explain(refused) : t(complete ? "notSent" : "beingRecorded"));
			return row;
		};
	}

	/** @param {string} id @param {HTMLElement} row */
	async function play(id, row) {
		const path = `audio-segments/${id}/audio`;
		silence();
		// It sends the cookie, and asks for what it plays only, but no token.
		player.src = credentials(account.headers) === "omit"
			? URL.createObjectURL(await (await request("GET", path, { seconds: 600 })).response.blob()) : "api/v1/" + path;
		if (player.parentElement !== row) row.append(player);
		player.focus();
		await player.play().catch(async ({ name }) => { // it does not say why
			if (name === "NotSupportedError") await request("GET", path, { headers: { Range: "bytes=0-0" } });
		});
	}

	function silence() {
		player.pause();
		URL.revokeObjectURL(player.src);
	}

	return { element, draw, silence };
}
