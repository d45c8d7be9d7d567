// What holds for all students, and for the teacher.

import { account, request, signOutKey } from "../api.js";
import { ask, button, byId, explain, fields, form, h, language, t, today, useLanguage } from "../dom.js";
import { draftKeys, own, remove } from "../outbox.js";

export const languageKey = "lessonkit-language";

/** The button that changes to the other language. */
export function languageButton() {
	const [name, lang] = language === "en" ? ["中文", "zh-CN"] : ["English", "en"];
	return button(name ?? "", async () => {
		localStorage.setItem(languageKey, lang ?? "");
		await useLanguage(lang ?? "");
		dispatchEvent(new Event("language"));
	}, { class: "quiet", lang });
}

/** @type {View} */
export async function settingsView(root) {
	const [defaults, { words }, { items: sessions }] = await Promise.all(["profile-defaults", "words", "auth/sessions"].map(
		async (path) => (await request("GET", path)).body));
	/** @param {string} path @param {object} body */
	const save = async (path, body) => {
		await request("PUT", path, { body });
		return t("saved");
	};
	/** @param {Fields} v */
	const saveDefaults = (v) => save("profile-defaults",
		{ ...defaults, ...v, lesson_duration_minutes: Number(v.lesson_duration_minutes || defaults.lesson_duration_minutes) })
		.then((told) => (Object.assign(defaults, v), told));
	root.append(h("h1", {}, t("settings")), h("div.columns", {}, h("div", {},
		form(saveDefaults, { class: "card" }, ...fields("defaults", defaults)),
		form(async ({ words = "", language: spoken = "" }) => {
			await saveDefaults({ language: spoken });
			return save("words", { words: words.split(/\s*\n\s*/).filter(Boolean) });
		}, { class: "card" }, ...fields("words", { words: words.join("\n"), language: languages(t("anyLanguage"), defaults.language) }))), h("div", {},
		form(saveDefaults, { class: "card" }, ...fields("texts", defaults)),
		h("section.card", {}, h("h2", {}, t("account")), ...sessions.map(sessionRow), h("p.hint", {}, t("exportHint")),
			h("div.row", {}, button(t("export"), exportAll), button(t("deleteAccount"), deleteAccount, { class: "danger" }))))));
}

/** A device where the teacher is signed in. @param {any} session */
function sessionRow({ session_id, device, created_at, current }) {
	const name = device || t("miniProgram");
	const day = new Date(created_at).toLocaleDateString(language, { dateStyle: "medium" });
	const row = h("div.row", {}, h("span.grow", {}, name, h("span.hint", {}, " · " + t(current ? "thisDevice" : "since", { day }))),
		!current && button(t("signOut"), async () => {
			await request("DELETE", "auth/sessions/" + session_id);
			row.remove();
			return t("deviceSignedOut", { name });
		}, { of: name }));
	return row;
}

/** A choice of the language that is spoken. @param {string} none @param {string} [chosen] */
export function languages(none, chosen = "") {
	const names = new Intl.DisplayNames(language, { type: "language" });
	const tags = new Set(["zh", "yue", "en", "ja", "ko", "fr", "de", "es", "ru", chosen].filter(Boolean));
	const choice = h("select", { name: "language", "aria-label": t("language") }, h("option", { value: "" }, none),
		...[...tags].map((tag) => h("option", { value: tag }, names.of(tag) ?? tag)));
	choice.value = chosen;
	return choice;
}

async function exportAll() {
	const { response } = await request("GET", "export", { seconds: 3600 });
	save(await response.blob(), `feedback-${today()}.zip`);
}

/** Lets the reader keep a file. @param {Blob} file @param {string} download its name */
export function save(file, download) {
	const href = URL.createObjectURL(file);
	h("a", { href, download }).click();
	setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

const recordings = () => own().catch(() => []);

/** Forgets what this device keeps of the teacher. */
async function forget() {
	// What is incomplete now is being recorded by another tab.
	for (const recording of await recordings()) if (recording.complete) await remove(recording);
	for (const key of draftKeys()) localStorage.removeItem(key);
	account.forget();
}

async function deleteAccount() {
	if (!await ask(t("deleteAccountQuestion"), t("deleteAccount"))) return;
	await request("DELETE", "auth/me");
	byId("main").replaceChildren();
	await forget();
}

/** Ends the session, and forgets the teacher here. @param {() => Promise<void>} leave ends the view */
export async function signOut(leave) {
	const [n, texts] = [(await recordings()).length, draftKeys().length];
	if (n + texts > 0 && !await ask(t("signOutQuestion", { n, texts }), t("signOut"))) return;
	await leave();
	let problem = await account.logout();
	while (problem && !await ask(t("notTold", { reason: explain(problem) }), t("signOutHere"), t("tryAgain"))) {
		problem = await account.logout();
	}
	if (problem) localStorage.setItem(signOutKey, "later");
	await forget();
}
