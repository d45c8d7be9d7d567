// Writing the feedback: generate, edit with autosave, save as a record.

import { account, messageOf, request, requestKey } from "../api.js";
import { announce, ask, button, copy, explain, field, h, once, quiet, say, store, stored, t, tell, today, words, write }
	from "../dom.js";
import { draftKey, openKey, own } from "../outbox.js";
import { isWaiting, textOf } from "../work.js";

/** What saves a draft later, also when its section was left. @type {Record<string, number>} */
const timers = {};

/** The sentence of each code, and behind it what the server names. @param {Generated} made */
export function warningsOf({ warning = "", warning_codes }) {
	return warning.split(/\n(?!- )/).map((block, i) => // the server's sentence is its first line
		block.replace(/^.*/, (said) => words("warning_" + warning_codes[i], said))).join("\n");
}

/** @type {FeedbackSection} */
export function feedbackSection(work, saved) {
	const editor = h("textarea", { rows: 8, maxlength: 20000, lang: "", "aria-label": t("feedbackText") });
	const date = h("input", { type: "date", required: true, value: today() });
	const state = h("p.hint.saving", { role: "status" });
	const choice = h("div.notice", { hidden: true });
	const message = h("p.text.notice", { hidden: true });
	const warned = h("p.text.notice", { hidden: true });
	const check = h("div.notice", { hidden: true });
	const sources = h("details", { hidden: true });
	const generate = button(t("generate"), () => make(false), { class: "quiet", hidden: true });
	const save = button(t("save"), saveRecord, { class: "primary" });
	const guardian = button(t("copyForGuardian"), () => copy(readMessage(), message), { class: "quiet away" });
	const element = h("section.card.feedback", { "aria-labelledby": "feedback" },
		h("h2", { id: "feedback" }, t("feedback")), choice, editor, state,
		h("div.row.end", {}, field(t("date"), date), guardian, generate), warned, check, sources, message);

	const { profile_id } = work.profile;
	/** What was sent and had no answer: session, day and text. @type {Set<string>} */
	const tried = new Set();
	const draft = draftKey(profile_id);
	const open = openKey(profile_id);
	const early = openKey("sent-" + profile_id); // a record that may have had no answer
	const { teacher } = account;
	let dirty = false; // not saved
	let chosen = false; // the date
	let old = false; // the date, of a kept text
	let recorded = false; // something, today
	let conflict = false;
	let later = false; // a text is to be made, once another one is made, or chosen
	let key = requestKey(); // of the record, until it is saved
	let made = ""; // the text that was generated last
	let saving = Promise.resolve();
	let sending = saving;
	let kept = stored(draft);

	editor.addEventListener("input", edited);
	date.addEventListener("change", () => {
		chosen = true;
		edited();
	});

	/** @param {Event} [typed] */
	function edited(typed) {
		// The page, or a session without a text, may be of another day.
		if (!chosen && (!work.session && !old || typed && guardian.classList.contains("away"))) date.value = today();
		guardian.classList.toggle("away", !editor.value.trim());
		dirty = true;
		message.hidden = true;
		key = requestKey();
		state.textContent = t("unsaved");
		schedule(800);
		store(draft, { text: editor.value, date: date.value, chosen, etag: work.etag || kept?.etag,
			session: work.session?.session_id ?? kept?.session });
		note();
	}

	/** @type {HasPart} */
	const hasPart = (is) => work.session?.lessons.some((l) => !l.applied && l.segments.some(is));

	/** Notes whether something is in no record. */
	function note() {
		if (editor.value.trim() || hasPart(textOf)) localStorage[open] ??= "text";
		else if (localStorage[open] === "text" && work.isKnown && !hasPart((s) => s.state === "failed")) localStorage.removeItem(open);
	}

	/** Gives what was recorded today the date of today, also in a session of before. */
	function redate() {
		if (!recorded || chosen || date.value >= today()) return;
		date.value = today();
		if (work.session || dirty) edited();
	}

	function forgetDraft() {
		dirty = conflict = false;
		// One that was left while it was saved ends late: by now there may be another text.
		if (stored(draft)?.text === editor.value) localStorage.removeItem(draft);
	}

	/** @param {number} ms */
	function schedule(ms) {
		clearTimeout(timers[draft]);
		timers[draft] = setTimeout(() => {
			saving = saving.then(autosave);
		}, ms);
	}

	async function autosave() {
		if (!dirty || conflict || account.teacher !== teacher) return;
		if (account.expired) return schedule(3000);
		try {
			const session = await work.ensure();
			dirty = false;
			tried.add(session.session_id + date.value + editor.value);
			const { etag } = await request("PUT", "feedback-sessions/" + session.session_id, {
				body: { feedback_text: editor.value, ...(date.value && { feedback_date: date.value }) },
				headers: work.etag ? { "If-Match": work.etag } : {},
			});
			work.etag = etag;
			tried.clear();
			if (dirty) return;
			forgetDraft();
			state.textContent = t("saved");
		} catch (error) {
			dirty = true;
			const { code, status, temporary, retryAfter } = /** @type {any} */ (error);
			if (code === "session_completed") return work.refresh().catch(() => schedule(5000));
			state.textContent = t("notSaved") + (status === 412 ? "" : " " + explain(error));
			if (status === 412) await resolveConflict().catch(() => schedule(5000));
			else if (temporary) schedule(1000 * (retryAfter || 5));
		}
	}

	async function readMessage() {
		await (saving = saving.then(autosave));
		if (dirty) throw new Error(t("notSaved"));
		return messageOf("feedback-sessions/" + (await work.ensure()).session_id);
	}

	async function resolveConflict() {
		const session = await work.ensure();
		const { body, etag } = await request("GET", "feedback-sessions/" + session.session_id);
		if (tried.delete(session.session_id + body.feedback_date + body.feedback_text)) { // by this device
			work.etag = etag;
			if (body.feedback_text !== editor.value || body.feedback_date !== date.value) return autosave();
			forgetDraft();
			state.textContent = t("saved");
			return;
		}
		conflict = true;
		tried.clear();
		/** @param {boolean} mine */
		const choose = (mine) => {
			forgetDraft();
			work.etag = etag;
			chose();
			if (mine) edited();
			else show(body.feedback_text, body.feedback_date);
			editor.focus();
		};
		offer(t("conflict"), body.feedback_text,
			button(t("keepMine"), () => choose(true)), button(t("takeOther"), () => choose(false)));
	}

	/** @type {Offer} */
	function offer(question, text, ...buttons) {
		choice.replaceChildren(h("p", {}, question), h("p.text", {}, text),
			h("div.row", {}, ...buttons));
		choice.hidden = false;
		announce(question);
	}

	function chose() {
		choice.hidden = true;
		quiet(save); // may have asked to choose
		if (later) hear();
		else tell(work, "chosen");
	}

	/** Makes a text of what was said, once nothing is to be chosen. */
	function hear() {
		later = true;
		if (choice.hidden) void once(generate, () => make(true));
	}

	/** @param {boolean} byItself because what was said has become text */
	async function make(byItself) {
		do {
			later = false;
			await generateText(byItself).catch((error) => { if (!later) throw error; });
		} while (later && choice.hidden); // more was said meanwhile
	}

	/** @param {boolean} byItself */
	async function generateText(byItself) {
		const session = await work.ensure();
		await settle();
		/** @type {{ body: Generated }} */
		const { body } = await request("POST", `feedback-sessions/${session.session_id}/generate`, { seconds: 180 });
		if (work.session?.session_id !== session.session_id) return; // saved meanwhile
		if (conflict) { // its question stays
			later = true;
			return;
		}
		write(warned, warningsOf(body));
		warned.hidden = !warned.textContent;
		drawSources(body.sentences);
		announce(t("generated", { lessons: body.lessons, n: body.segments.transcribed }));
		const untouched = [made, ""].includes(editor.value.trim());
		made = body.text.trim();
		if (untouched) return use(body.text, byItself);
		offer(t("replaceQuestion"), body.text, button(t("replace"), () => use(body.text)),
			button(t("append"), () => use(editor.value.trimEnd() + "\n\n" + body.text)),
			button(t("cancel"), chose));
		if (!byItself && document.activeElement === generate) choice.querySelector("button")?.focus(); // not while typing
	}

	/** Each sentence of a generated text leads to its sound; those to check come first. @param {Source[]} sentences */
	function drawSources(sentences) {
		/** @param {Source} s */
		const row = ({ text, segments: [segment], supported }) => h(supported ? "li" : "li.failed", {},
			segment ? button(text, () => { tell(work, "listen", { segment, text }); },
				{ class: "sentence" }) : text, !supported && h("p.error", {}, t("nobodySaid")));
		const doubtful = sentences.filter((s) => s.unsure || !s.supported);
		check.hidden = doubtful.length === 0;
		check.replaceChildren(h("div", {}, t("check", { n: doubtful.length }),
			h("ul.segments", {}, ...doubtful.map(row)), doubtful.some((s) => s.unsure) && h("p.hint", {}, t("checkWhy"))));
		sources.hidden = sentences.length === 0;
		sources.replaceChildren(h("summary", {}, t("sources")), h("ul.segments", {}, ...sentences.map(row)));
	}

	/** @param {string} text */
	function use(text, byItself = false) {
		chose();
		editor.value = text;
		edited();
		if (!byItself) editor.focus();
	}

	async function saveRecord() {
		if (!editor.value.trim() || !date.value) return say(t("nothingToSave"), save, true);
		if ((await own().catch(() => [])).some((r) => !r.refused && work.has(r))) return say(t("lessonNotSent"), save, true);
		clearTimeout(timers[draft]);
		await work.refresh();
		if (work.session && work.session.feedback_text !== editor.value) dirty = true; // here, or elsewhere
		await (saving = saving.then(autosave));
		if (!choice.hidden) {
			choice.scrollIntoView({ block: "nearest" });
			return say(t("chooseFirst"), save, true);
		}
		if (await settle() || !editor.value.trim()) return; // it was saved, before or elsewhere
		const { session } = work;
		const lessons = session?.lessons ?? [];
		const waits = (/** @type {Lesson} */ l) => l.segments.some(isWaiting);
		const isEarly = lessons.some(waits);
		if (isEarly && !await ask(t("lessonNotText"), t("saveWithout"), t("wait"))) return;
		const done = lessons.filter((l) => isEarly && !waits(l)).map((l) => l.lesson_id);
		await (sending = send({ key: key + isEarly, done, day: today(), body: {
			profile_id, feedback_date: date.value, content: editor.value,
			feedback_session_id: isEarly ? null : session?.session_id ?? null,
		} }, isEarly));
	}

	/** Of an early record the session stays, for what becomes text later. @param {any} sent @param {boolean} isEarly */
	async function send(sent, isEarly) {
		if (isEarly) store(early, sent);
		editor.readOnly = date.readOnly = true; // what is typed now would be in no record
		const { body: record } = await request("POST", "feedback-records", {
			headers: { "Idempotency-Key": sent.key }, body: sent.body,
		}).catch((error) => {
			if (!error.temporary) localStorage.removeItem(early);
			throw error;
		}).finally(() => { editor.readOnly = date.readOnly = false; });
		forgetDraft();
		localStorage.removeItem(open);
		for (const id of sent.done) { // finished: else what is recorded next is in it
			for (const step of ["finish", "mark-applied"]) await request("POST", `feedback-lessons/${id}/${step}`);
		}
		localStorage.removeItem(early);
		if (isEarly) {
			tell(work, "replaced");
			localStorage[open] = "said";
			edited();
		} else work.completed();
		quiet(state); // it was saved here
		await saved(record);
	}

	/** Ends an early save of this text whose answer was lost: sent again today, it is the same record. */
	async function settle() {
		await sending.catch(() => {});
		const sent = stored(early);
		const isThis = sent?.day === today() && sent.body.content === editor.value && sent.body.feedback_date === date.value;
		if (isThis) await (sending = send(sent, true));
		return isThis;
	}

	/** @param {string} text @param {string} day */
	function show(text, day) {
		editor.value = text;
		date.value = day;
		guardian.classList.toggle("away", !text.trim());
		chosen = old = false;
		message.hidden = warned.hidden = check.hidden = sources.hidden = choice.hidden = true;
		state.textContent = "";
	}

	if (stored(early)?.day !== today()) localStorage.removeItem(early);
	if (kept) {
		[editor.value, date.value] = [kept.text, kept.date ?? today()];
		chosen = kept.chosen;
		old = kept.text.trim() !== "";
		edited();
	}
	work.addEventListener("opened", () => {
		if (!work.session) return;
		const { session_id, feedback_text, feedback_date, generated_text } = work.session;
		made = generated_text.trim();
		if (!dirty) {
			show(feedback_text, feedback_date);
			return redate();
		}
		if (!chosen && !old && feedback_text) date.value = recorded ? today() : feedback_date;
		// The draft's version tells of changes elsewhere. One that was begun without the server, or
		// in another session, has none: a conflict.
		if (kept?.session === session_id) work.etag = kept.etag;
		else if (feedback_text && feedback_text !== editor.value) work.etag = '"-1"';
	});
	work.addEventListener("recording", () => {
		recorded = true;
		old = false;
		redate();
	});
	work.addEventListener("session", () => {
		generate.hidden = !hasPart(textOf);
	});
	work.addEventListener("heard", hear);
	work.addEventListener("silent", () => {
		localStorage[open] = "text";
		note();
	});
	work.addEventListener("mended", () => {
		note();
		if (made && editor.value.trim() === made && !generate.hidden) hear();
		else if (made && editor.value.trim()) say(t("notMended"), generate);
	});
	work.addEventListener("replaced", () => {
		made = "";
		kept = null;
		recorded = false;
		key = requestKey();
		conflict = later = false;
		show(dirty ? editor.value : "", today()); // what is not saved begins the next record
		note();
		if (dirty) edited();
		say(t("savedElsewhere"), state);
	});

	return {
		element, save,
		async leave() {
			clearTimeout(timers[draft]);
			await saving;
			await once(element, autosave);
		},
	};
}
