// The page of a teacher: sign in, students, recordings that become text, feedback records.

import { account } from "./api.js";
import { ask, button, byId, explain, h, language, once, t, useLanguage, write } from "./dom.js";
import { draftKeys, outbox, own, remove, retryNow, wake } from "./outbox.js";
import { recordsView } from "./views/records.js";
import { settingsView } from "./views/settings.js";
import { signInByAddress, signInForm, signInView } from "./views/signin.js";
import { studentView } from "./views/student.js";
import { editView, studentsView } from "./views/students.js";

/** @type {Record<string, View>} */
const views = { student: studentView, edit: editView, records: recordsView, settings: settingsView };
const main = byId("main");
const languageKey = "lessonkit-language";
/** @type {Leave} */
let leave;
let shown = 0;

/** Views and the student in the address. What else it says leads home. */
const address = /^#\/(records|settings|student(?=\/.)|edit(?=\/))\/?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})?$/;

async function end() {
	const ending = leave;
	leave = undefined;
	await ending?.();
}

async function show() {
	const number = ++shown;
	await end();
	await signInByAddress();
	if (number !== shown) return;
	const [, name = "", student] = address.exec(location.hash) ?? [];
	if (!name) history.replaceState(null, "", "#/");
	drawFrame();
	const root = h("div.view", {});
	try {
		const view = account.teacher ? views[name] ?? studentsView : signInView;
		const ending = await view(root, student);
		if (number === shown) leave = ending;
		else await ending?.();
	} catch (error) {
		root.replaceChildren(h("p.error", {}, explain(error)), button(t("tryAgain"), show));
	}
	if (number !== shown) return;
	main.replaceChildren(root);
	document.title = (root.querySelector("h1")?.textContent ?? "") + " – " + t("title");
	if (document.activeElement === document.body) main.focus({ preventScroll: true });
}

/** Ends the session, and forgets what this device keeps of the teacher. */
async function signOut() {
	const recordings = () => own().catch(() => []);
	const [n, texts] = [(await recordings()).length, draftKeys().length];
	if (n + texts > 0 && !await ask(t("signOutQuestion", { n, texts }), t("signOut"))) return;
	await end();
	main.replaceChildren(); // nothing more is typed
	let problem = await account.logout();
	while (problem && !await ask(t("notTold", { reason: explain(problem) }), t("signOutHere"), t("tryAgain"))) {
		problem = await account.logout();
	}
	// What is incomplete now is being recorded by another tab.
	for (const recording of await recordings()) if (recording.complete) await remove(recording);
	for (const key of draftKeys()) localStorage.removeItem(key);
	account.forget();
}

function drawFrame() {
	const links = [["#/", t("students")], ["#/records", t("records")], ["#/settings", t("settings")]]
		.map(([href, label]) => h("a", { href, "aria-current": location.hash === href && "page" }, label));
	const [name, lang] = language === "zh" ? ["English", "en"] : ["中文", "zh-CN"];
	byId("header").replaceChildren(...h("div", {},
		h("p.brand", {}, t("title")),
		account.teacher && h("nav", { "aria-label": t("navigation") }, ...links),
		button(name, async () => {
			localStorage.setItem(languageKey, lang);
			await useLanguage(lang);
			await show();
		}, { class: "quiet", lang }),
		account.teacher && button(t("signOut"), signOut, { class: "quiet" })).children);
	write(byId("reference"), t("reference"));
	write(byId("health"), t("health"));
	drawBanner();
}

/** Shows what is not sent and, in the same view, the form for an expired sign-in. */
function drawBanner() {
	const banner = byId("banner");
	const { unsent, refused, others, problem } = outbox.state;
	const wanted = h("div", {},
		account.expired && h("section.notice", { "aria-label": t("signIn") },
			h("p", {}, t("expired")), signInForm()),
		problem && h("div.notice.row", {},
			h("p.grow", {}, t("unsent", { n: unsent }) + " " + explain(problem)), button(t("sendNow"), retryNow)),
		refused.length > 0 && h("p.notice", {}, t("refusedParts", { n: refused.length })),
		others > 0 && account.teacher && h("p.notice", {}, t("othersUnsent", { n: others })));
	// Neither a form that is filled in nor a button that is focused is replaced.
	if (account.expired && banner.querySelector("form") || banner.textContent === wanted.textContent) return;
	banner.replaceChildren(...wanted.children);
}

addEventListener("hashchange", show);
outbox.addEventListener("change", drawBanner);
addEventListener("beforeunload", (event) => {
	if (outbox.state.unsent > 0) event.preventDefault();
});

let { teacher } = account;
account.addEventListener("change", () => {
	if (account.teacher !== teacher) {
		teacher = account.teacher;
		void show();
	} else {
		byId("banner").replaceChildren();
		drawBanner();
	}
});

await useLanguage(localStorage.getItem(languageKey) ?? navigator.language);
await show();
await once(main, wake);
