// The text of the lessons, part by part. What is unchanged keeps its element, and so its focus,
// selection and playback.

import { request } from "../api.js";
import { arrange, button, explain, h, minutes, t, words, write } from "../dom.js";
import { audio, newLesson, remove } from "../outbox.js";
import { save } from "./settings.js";

/** @param {Work} work */
export function transcript(work) {
	const element = h("div.transcript", { tabindex: 0, role: "region", "aria-label": t("textRegion") });
	const player = h("audio", { controls: true });
	/** The lessons and parts that are shown. @type {Map<string, Draw<any>>} */
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
		const lessonOf = (r) => r.to?.lesson ?? (r.lesson.startsWith("new ") ? work.openLesson()?.lesson_id ?? "" : r.lesson);
		const mine = unsent.filter((r) => work.lesson(lessonOf(r)) || r.lesson.startsWith(newLesson(work.profile.profile_id, "")));
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
		const heading = h("h3.grow", {});
		const apply = button(t("markApplied"), async () => {
			await request("POST", `feedback-lessons/${lesson_id}/mark-applied`);
			section.focus();
			await work.refresh();
		}, { class: "quiet", title: t("markAppliedHint"), of: name });
		const list = h("ol.segments", {});
		const section = h("section", { "aria-label": name, tabindex: -1 },
			h("div.row", {}, heading, apply), list);
		return ({ applied, state, segments }, kept) => {
			write(heading, `${name} · ${t(applied ? "applied" : state === "recording" ? "open" : "finished")}`);
			apply.hidden = applied || state === "recording";
			const sent = new Set(segments.map((s) => s.sequence));
			arrange(list, [...segments.map((s) => show(s.segment_id, segmentView, s)),
				...kept.filter((r) => r.refused || !sent.has((r.to ?? r).sequence) || r.lesson.startsWith("new ") && !r.to)
					.map((r) => show(`${r.lesson} ${r.sequence}`, keptView, r))]);
			return section;
		};
	}

	/** @type {(s: Segment) => Draw<Segment>} */
	function segmentView({ segment_id, sequence, duration_ms }) {
		const label = t("part", { n: sequence + 1 }) + (duration_ms ? " · " + minutes(duration_ms / 1000) : "");
		const text = h("p.text", {});
		const warning = h("p.notice", {});
		const retry = button(t("retry"), async () => {
			await request("POST", `audio-segments/${segment_id}/retry`);
			row.focus();
			await work.refresh();
		}, { of: label });
		const listen = button(t("listen"), async () => {
			await play(segment_id, row);
			const { body } = await request("GET", "audio-segments/" + segment_id);
			if (body.sentences?.length > 0 && body.text === drawn) text.replaceChildren(...body.sentences.map(sentence));
		}, { class: "quiet", of: label });
		let drawn = "";
		const row = h("li", { tabindex: -1 }, text, warning,
			h("div.row", {}, h("span.hint.grow", {}, label), retry, listen));
		return ({ state, text: said, error, error_code: code, warning_code, audio_deleted_at }) => {
			row.className = state;
			warning.hidden = !said || !warning_code;
			write(warning, words("warning_" + warning_code, ""));
			listen.hidden = !!audio_deleted_at;
			retry.hidden = state !== "failed";
			const shownText = state === "transcribed" ? said || t("warning_no_speech")
				: t(state) + (error ? " – " + explain({ code, message: error }) : "");
			if (shownText !== drawn) write(text, drawn = shownText);
			return row;
		};
	}

	/** @type {(r: Recording) => Draw<Recording>} */
	function keptView(recording) {
		const text = h("p.text", {});
		const label = recording.name || t("part", { n: recording.sequence + 1 });
		const choice = h("span.row", {}, button(t("download"), async () =>
			save(await audio(recording), recording.name || "recording." + recording.type.split("/")[1]), { of: label }), button(t("discard"), () => remove(recording), { class: "danger", of: label }));
		const row = h("li", {}, text, h("div.row", {}, h("span.hint.grow", {}, label), choice));
		return ({ refused, complete }) => {
			row.className = refused ? "failed" : "unsent";
			choice.hidden = !refused;
			const reason = typeof refused === "string" ? refused : refused && explain(refused);
			write(text, reason ? t("refused") + " – " + reason : t(complete ? "notSent" : "beingRecorded"));
			return row;
		};
	}

	/** @param {string} id @param {HTMLElement} row */
	async function play(id, row) {
		const { response } = await request("GET", `audio-segments/${id}/audio`, { seconds: 600 });
		const src = URL.createObjectURL(await response.blob());
		silence();
		player.src = src;
		if (player.parentElement !== row) row.append(player);
		player.focus();
		await player.play().catch(() => {});
	}

	/** A sentence that plays from its start, and is marked while it is spoken. @param {Sentence} s */
	function sentence({ text, start_ms, end_ms }) {
		const b = button(text, () => {
			if (!b.closest("li")?.contains(player)) return; // another part is being played
			player.currentTime = start_ms / 1000;
			return player.play().catch(() => {});
		}, { class: "sentence" });
		player.addEventListener("timeupdate", () => {
			const at = player.currentTime * 1000;
			const spoken = start_ms <= at && at < end_ms && !!b.closest("li")?.contains(player);
			if (spoken) b.setAttribute("aria-current", "true");
			else b.removeAttribute("aria-current");
		});
		return b;
	}

	function silence() {
		player.pause();
		URL.revokeObjectURL(player.src);
	}

	return { element, draw, silence };
}
