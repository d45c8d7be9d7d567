// Today: whose lesson is now, and what is done. Below, all students.

import { account, all, students } from "../api.js";
import { button, dayName, field, h, once, t, today, write } from "../dom.js";
import { describe, recordAtOnce } from "./student.js";

const collator = new Intl.Collator("zh-u-co-pinyin");

// The first character of each letter, by pinyin. None begins with I, U or V.
const letters = "ABCDEFGHJKLMNOPQRSTWXYZ";
const firsts = [..."阿八嚓哒妸发旮哈讥咔垃痳拏噢妑七呥扨它穵夕丫帀"];

/** The letter under which a name is listed, of a Chinese one that of its pinyin. @param {string} name */
export function letterOf(name) {
	const [first = ""] = name.normalize("NFKD").toUpperCase();
	if (!/\p{Script=Han}/u.test(first)) return /[A-Z]/.test(first) ? first : "#";
	return letters[Math.max(firsts.filter((f) => collator.compare(f, first) <= 0).length - 1, 0)] ?? "#";
}

const shownAtOnce = 8; // students of today
const unfolded = 12; // students that need no letters
const lately = 28; // days

/** @type {View} */
export async function todayView(root) {
	const profiles = (await students()).sort((a, b) => collator.compare(a.name, b.name));
	const now = new Date().toTimeString().slice(0, 5);
	/** @param {Profile} p */
	const isOver = (p) => (p.end_time || p.start_time) <= now;
	const order = (/** @type {Profile} */ p) => Number(isOver(p)) + p.start_time;
	const timed = profiles.filter((p) => p.start_time).sort((a, b) => order(a) < order(b) ? -1 : 1);
	/** The day of the last record, by student. @type {Map<string, string> | null} */
	let last = null;
	/** What is written when the days are known. @type {(() => void)[]} */
	const states = [];

	/** @param {Profile} p @param {boolean} ofToday */
	function row(p, ofToday) {
		const isNow = ofToday && p.start_time <= now && !isOver(p);
		const state = h("span.hint.state", {});
		const draw = () => {
			if (!last) return;
			const day = last.get(p.profile_id);
			state.classList.toggle("done", day === today());
			write(state, day === today() ? t("doneToday") : day ? t("lastRecord", { date: dayName(day, { month: "short", day: "numeric" }) }) : t("noneLately"));
		};
		states.push(draw);
		draw();
		return h(isNow ? "li.now" : "li", {},
			ofToday && h("span.when", {}, p.start_time, isNow && h("span.badge", {}, t("now"))),
			h("a", { href: "#/student/" + p.profile_id }, h("strong", {}, p.name),
				h("span.hint", {}, [p.grade, p.subject].filter(Boolean).join(" · ")), state),
			button(t("record"), () => recordAtOnce(p.profile_id), { class: "start", of: p.name }));
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

	root.append(
		h("div.row", {}, h("h1.grow", {}, t("today") + " ", h("span.hint", {}, dayName(today()))),
			h(profiles.length === 0 ? "a.button.primary" : "a.button", { href: "#/edit/" }, t("addStudent"))),
		...timed.length === 0 ? [] : [h("ul.list.times", {}, ...timed.slice(0, shownAtOnce).map((p) => row(p, true)))],
		...timed.length <= shownAtOnce ? [] : [h("details", {},
			h("summary", {}, t("otherTimes", { n: timed.length - shownAtOnce })),
			h("ul.list.times", {}, ...timed.slice(shownAtOnce).map((p) => row(p, true))))],
		h("section", { "aria-labelledby": "all" },
			h(timed.length > 0 ? "h2" : "h2.hidden", { id: "all" }, t("allStudents")),
			profiles.length > 0 && field(t("search"), search), count, found));
	draw();
	if (profiles.length === 0) return;
	if (!account.offline) void once(count, async () => {
		const records = await all("feedback-records", { from: today(lately) });
		last = new Map(records.reverse().map((r) => [r.profile_id, r.feedback_date])); // the newest are first
		for (const state of states) state();
	});
}
