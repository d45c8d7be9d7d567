// Today, with all students; one student; and the form of a student.

import { all, keptStudents, request, requestKey, students } from "../api.js";
import { announce, ask, button, collator, dayName, delay, explain, field, fields, form, h, once, t, today, write } from "../dom.js";
import { draftKey, openKey } from "../outbox.js";
import { Work } from "../work.js";
import { feedbackSection, warningsOf } from "./feedback.js";
import { lessonsSection } from "./lessons.js";
import { fullName, recordList, savedCard, sendButton } from "./records.js";

// The first character of each letter, by pinyin. None begins with I, U or V.
const letters = "ABCDEFGHJKLMNOPQRSTWXYZ";
const firsts = [..."阿八嚓哒妸发旮哈讥咔垃痳拏噢妑七呥扨它穵夕丫帀"];

/** Surnames that are read otherwise than the character mostly is. @type {Fields} */
const surnames = { 曾: "Z", 单: "S", 解: "X", 仇: "Q", 查: "Z", 区: "O", 翟: "Z", 乐: "Y" };

/** The letter under which a name is listed, of a Chinese one that of its pinyin. @param {string} name */
export function letterOf(name) {
	const [first = ""] = name.normalize("NFKD").toUpperCase();
	if (!/\p{Script=Han}/u.test(first)) return /[A-Z]/.test(first) ? first : "#";
	return surnames[first] ?? letters[Math.max(firsts.filter((f) => collator.compare(f, first) <= 0).length - 1, 0)] ?? "#";
}

const shownAtOnce = 8; // students of today
const unfolded = 12; // students that need no letters
const lately = 28; // days

/** @type {View} */
export async function todayView(root) {
	const profiles = await students();
	const { problem } = profiles;
	let now = "";
	/** @param {Profile} p */
	const isOver = (p) => (p.end_time || p.start_time) <= now;
	const order = (/** @type {Profile} */ p) => Number(isOver(p)) + p.start_time;
	const timed = profiles.filter((p) => p.start_time);
	/** @param {Profile} p */
	const isNow = (p) => p.start_time <= now && !isOver(p);

	/** @param {Profile} p */
	function stateOf({ profile_id, last_feedback_date: day = "" }) {
		if (openKey(profile_id) in localStorage) return h("span.hint.state.open", {}, t("draft"));
		if (problem) return h("span.hint.state", {}); // the kept day may be an older one
		if (day === today()) return h("span.hint.state.done", {}, t("doneToday"));
		return h("span.hint.state", {}, day < today(lately) ? t("noneLately")
			: t("lastRecord", { date: dayName(day, { month: "short", day: "numeric" }) }));
	}

	/** @param {Profile} p @param {boolean} ofToday */
	function row(p, ofToday) {
		return h(ofToday && isNow(p) ? "li.now" : "li", {},
			ofToday && h("span.when", {}, p.start_time, isNow(p) && h("span.badge", {}, t("now"))),
			h("a", { href: "#/student/" + p.profile_id }, h("strong", {}, p.name),
				h("span.hint", {}, [p.grade, p.subject].filter(Boolean).join(" · ")), stateOf(p)),
			button(t("record"), () => recordAtOnce(p), { class: "start", of: fullName(p) }));
	}

	const search = h("input", { type: "search", name: "query" });
	const count = h("p.hint", { role: "status" });
	const found = h("div", {});
	/** @param {Profile[]} some */
	const list = (some) => h("ul.list", {}, ...some.map((p) => row(p, false)));
	function draw() {
		const wanted = search.value.trim().normalize("NFKC").toLowerCase();
		const some = profiles.filter((p) => (p.name + " " + describe(p)).normalize("NFKC").toLowerCase().includes(wanted));
		write(count, profiles.length === 0 ? t("noStudents") : wanted ? t("found", { n: some.length }) : "");
		if (wanted || some.length <= unfolded) return found.replaceChildren(list(some));
		const used = [...new Set(some.map((p) => letterOf(p.name)))].sort();
		found.replaceChildren(...used.map((letter) => {
			const those = some.filter((p) => letterOf(p.name) === letter);
			return h("details", {}, h("summary", {}, letter, h("span.hint", {}, " " + those.length)), list(those));
		}));
	}
	search.addEventListener("input", draw);

	const day = h("span.hint", {});
	const times = h("div", {});
	let drawn = "";
	function drawTimes() {
		now = new Date().toTimeString().slice(0, 5);
		const wanted = [today(), ...timed.map((p) => Number(isNow(p)) + order(p)).sort()].join();
		if (drawn === wanted) return;
		if (!drawn.startsWith(today())) draw();
		drawn = wanted;
		timed.sort((a, b) => order(a) < order(b) ? -1 : 1);
		write(day, dayName(today()));
		times.replaceChildren(
			...timed.length === 0 ? [] : [h("ul.list.times", {}, ...timed.slice(0, shownAtOnce).map((p) => row(p, true)))],
			...timed.length <= shownAtOnce ? [] : [h("details", {},
				h("summary", {}, t("otherTimes", { n: timed.length - shownAtOnce })),
				h("ul.list.times", {}, ...timed.slice(shownAtOnce).map((p) => row(p, true))))]);
	}

	root.append(
		h("div.row", {}, h("h1.grow", {}, t("today") + " ", day),
			h(profiles.length === 0 ? "a.button.primary" : "a.button", { href: "#/edit/" }, t("addStudent"))),
		times,
		h("section", { "aria-labelledby": "all" },
			h(timed.length > 0 ? "h2" : "h2.hidden", { id: "all" }, t("allStudents")),
			profiles.length > 0 && field(t("search"), search), count, found));
	drawTimes();
	if (profiles.length === 0) return;
	if (problem && problem.code !== "offline") void once(count, async () => { throw problem; });
	const clock = setInterval(drawTimes, 5000); // the page may stay open for days
	return async () => clearInterval(clock);
}

/** The student whose recording begins with the view. @type {Profile | null} */
let recorded = null;

/** Shows a student and begins to record. An address cannot: a foreign page may have written it. @param {Profile} p */
function recordAtOnce(p) {
	recorded = p;
	location.hash = "#/student/" + p.profile_id;
}

/** @type {View} */
export async function studentView(root, id = "") {
	const begins = recorded?.profile_id === id && recorded;
	recorded = null;
	const known = begins || keptStudents().find((p) => p.profile_id === id);
	const name = h("h1", {}, known?.name);
	root.append(name);
	const profile = begins || await request("GET", "profiles/" + id, { seconds: known ? 3 : 30 }).then(({ body }) => body, (error) => {
		if (!known || error.refused) throw error;
		return known;
	});
	write(name, profile.name);
	const work = new Work(profile);
	const records = recordList({ profile_id: id }, () => profile.name, "h3");
	const saved = h("div", {});
	const lessons = lessonsSection(work);
	const feedback = feedbackSection(work, async (record) => {
		saved.replaceChildren(savedCard(record));
		saved.scrollIntoView({ block: "nearest" });
	});
	work.addEventListener("replaced", () => once(records.element, records.draw));
	for (const next of ["opened", "recording"]) work.addEventListener(next, () => saved.replaceChildren());
	const end = async () => {
		work.end.abort();
		return (await Promise.all([lessons.leave(), feedback.leave(), records.leave()]))[0];
	};
	let drawn = false;
	const reading = work.refresh().then(records.draw).catch(async (error) => {
		if (!drawn && (!known || error.refused)) {
			await end();
			throw error;
		}
		records.element.append(h("p.hint", {}, explain(error)));
		work.addEventListener("session", () => once(records.element, records.draw), { once: true });
	});
	if (!begins) await Promise.race(known ? [reading, delay(3000)] : [reading]);
	if (work.end.signal.aborted) await reading; // it is failing
	drawn = true;
	root.append(
		h("div.row", {},
			h("div.grow", {}, name, h("p.hint", {}, describe(profile))),
			h("a.button", { href: "#/edit/" + id }, t("edit"))),
		saved,
		h("div.columns", {}, feedback.element, lessons.element),
		h("div.bar", {}, lessons.behind, lessons.levels, h("div.row", {}, lessons.record, feedback.save)),
		h("section.past", { "aria-labelledby": "records" }, h("h2", { id: "records" }, t("records")), termReport(profile), records.element));
	if (begins) lessons.record.click();
	return end;
}

/** @param {Profile} p */
function termReport({ profile_id, academic_year, term }) {
	const text = h("textarea", { rows: 10, lang: "", "aria-label": t("report") });
	const draft = draftKey("report-" + profile_id); // what was rewritten
	text.value = localStorage[draft] ?? "";
	text.addEventListener("input", () => { localStorage[draft] = text.value; });
	const unsaid = h("p.text.error", {});
	const result = h("div.feedback", { hidden: !text.value }, text, unsaid,
		h("div.row", {}, sendButton(async () => text.value, t("report"))));
	return h("div", {}, button(t("report"), async () => {
		if (localStorage[draft] && !await ask(t("replaceQuestion"), t("replace"))) return;
		const { body } = await request("POST", `profiles/${profile_id}/report`,
			{ body: { academic_year, ...(term && { term }) }, seconds: 180 });
		text.value = body.text;
		localStorage.removeItem(draft);
		const those = body.sentences.flatMap((/** @type {Source} */ s) => s.supported ? [] : s.text);
		write(unsaid, [warningsOf(body), those.length > 0 && t("check", { n: those.length }), ...those]
			.filter(Boolean).join("\n"));
		result.hidden = false;
		return t("reportMade", { n: body.records });
	}, { class: "quiet" }), result);
}

/** @param {Profile} p */
const describe = (p) =>
	[p.grade, p.subject, p.academic_year, p.term, p.start_time && `${p.start_time}–${p.end_time}`].filter(Boolean)
		.join(" · ");

/** @type {View} */
export async function editView(root, id = "") {
	/** @type {Profile} */
	const p = id ? (await request("GET", "profiles/" + id)).body : {};
	const key = requestKey();
	const draft = draftKey("edit-" + id);
	const cancel = h("a.button", { href: id ? "#/student/" + id : "#/" }, t("cancel"));
	cancel.addEventListener("click", () => localStorage.removeItem(draft));
	root.append(h("h1", {}, t(id ? "editStudent" : "addStudent")), form(async (_, changed) => {
		// What another device has changed meanwhile stays.
		const now = id ? (await request("GET", "profiles/" + id)).body : {};
		/** @type {Props} */
		const body = { ...now, ...changed };
		body.academic_year = Number(body.academic_year);
		// What is left empty takes the teacher's default.
		for (const name of ["grade", "subject", "academic_year", "end_time"]) if (!body[name]) delete body[name];
		const answer = await (id ? request("PUT", "profiles/" + id, { body })
			: request("POST", "profiles", { body, headers: { "Idempotency-Key": key } }));
		location.replace("#/student/" + answer.body.profile_id); // not back to the form
	}, { class: "card", draft }, ...fields("profile", p), h("div.row", {}, h("button.primary", {}, t("save")), cancel)));
	if (id) root.append(button(t("deleteStudent"), () => remove(p), { class: "danger" }));
}

/** @param {Profile} p */
async function remove(p) {
	const { profile_id } = p;
	const records = await all("feedback-records", { profile_id });
	if (!await ask(t("deleteStudentQuestion", { name: fullName(p), n: records.length }), t("delete"))) return;
	await request("DELETE", "profiles/" + profile_id);
	for (const key of Object.keys(localStorage)) if (key.endsWith(profile_id)) localStorage.removeItem(key);
	addEventListener("hashchange", () => announce(t("deleted"), true), { once: true });
	location.hash = "#/";
}
