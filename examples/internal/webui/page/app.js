// The page of a teacher: sign in, students, recordings that become text, feedback records.

import { account } from "./api.js";
import { button, byId, explain, h, language, once, t, useLanguage, write } from "./dom.js";
import { outbox, retryNow, wake } from "./outbox.js";
import { recordsView } from "./views/records.js";
import { signInByAddress, signInForm, signInView } from "./views/signin.js";
import { studentView } from "./views/student.js";
import { editView, studentsView } from "./views/students.js";

/** @type {Record<string, View>} */
const views = { student: studentView, edit: editView, records: recordsView };
const main = byId("main");
const languageKey = "lessonkit-language";
/** @type {void | (() => Promise<void>)} */
let leave;
let shown = 0;

const here = () => location.hash.replace(/^#\/?/, "");

async function show() {
	const number = ++shown;
	const ending = leave;
	leave = undefined;
	await ending?.();
	await signInByAddress();
	if (number !== shown) return;
	drawFrame();
	const [name = "", ...args] = here().split("/");
	const root = h("div", { class: "view" });
	try {
		const view = account.teacher ? views[name] ?? studentsView : signInView;
		const end = await view(root, ...args);
		if (number === shown) leave = end;
		else await end?.();
	} catch (error) {
		root.replaceChildren(h("p", { class: "error" }, explain(error)), button(t("tryAgain"), show));
	}
	if (number !== shown) return;
	main.replaceChildren(root);
	document.title = (root.querySelector("h1")?.textContent ?? "") + " – " + t("title");
	if (document.activeElement === document.body) main.focus({ preventScroll: true });
}

function drawFrame() {
	const path = here();
	/** @param {string} to @param {string} label */
	const link = (to, label) => h("a", { href: "#/" + to, "aria-current": path === to && "page" }, label);
	const [name, lang] = language === "zh" ? ["English", "en"] : ["中文", "zh-CN"];
	byId("header").replaceChildren(...h("div", {},
		h("p", { class: "brand" }, t("title")),
		account.teacher && h("nav", { "aria-label": t("navigation") }, link("", t("students")), link("records", t("records"))),
		button(name, async () => {
			localStorage.setItem(languageKey, lang);
			await useLanguage(lang);
			await show();
		}, { class: "quiet", lang }),
		account.teacher && button(t("signOut"), () => account.signOut(), { class: "quiet" })).children);
	write(byId("reference"), t("reference"));
	write(byId("health"), t("health"));
	drawBanner();
}

/** Shows what is not sent and, in the same view, the form for an expired sign-in. */
function drawBanner() {
	const banner = byId("banner");
	const { unsent, refused, others, problem } = outbox.state;
	const wanted = h("div", {},
		account.expired && h("section", { class: "notice", "aria-label": t("signIn") },
			h("p", {}, t("expired")), signInForm()),
		problem && h("div", { class: "notice row" },
			h("p", { class: "grow" }, t("unsent", { n: unsent }) + " " + explain(problem)), button(t("sendNow"), retryNow)),
		refused.length > 0 && h("p", { class: "notice" }, t("refusedParts", { n: refused.length })),
		others > 0 && account.teacher && h("p", { class: "notice" }, t("othersUnsent", { n: others })));
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
