// Signing in, the settings, and signing out.

import { account, request, signOutKey } from "../api.js";
import { ask, button, byId, delay, explain, fields, form, h, language, t, tell, today, useLanguage, write } from "../dom.js";
import { draftKey, draftKeys, openKey, own, remove } from "../outbox.js";

/** @param {string} name */
const byName = (name) => account.signIn({ "X-Development-User": name });

/** Tells the server of a sign-out that it does not know of. Later that would end another session. */
async function tellSignOut() {
	const problem = localStorage[signOutKey] && await account.logout();
	if (problem) throw problem;
	localStorage.removeItem(signOutKey);
}

/** Signs in as the address says: by a name, or by the cookie of an OAuth 2 server's answer. Returns why not. */
export async function signInByAddress() {
	const [wanted, code, name, path = "/"] = /^#sign-in(?:-failed=(\w+)|=([\w.@+-]+))?(\/.*)?$/.exec(location.hash) ?? [];
	if (!wanted) return;
	history.replaceState(null, "", "#" + path);
	return (code ? Promise.reject({ code, retryAfter: 60 }) : name ? byName(name) : tellSignOut().then(() => account.signIn({}))).catch(explain);
}

/** @type {View} */
export async function signInView(root) {
	await tellSignOut();
	root.append(h("h1", {}, t("signIn")));
	return signInWays(root);
}

/** @type {View} */
export async function signInWays(root) {
	const { development_auth_enabled, device_auth_enabled, oauth_name: name } =
		(await request("GET", "../../health", { anonymous: true })).body;
	if (development_auth_enabled) {
		root.append(form(({ name = "" }) => byName(name), { class: "card" }, ...fields("teacher")));
	}
	if (name) root.append(h("section.card.sign-in", {}, h("a.button.primary", { href: "api/v1/auth/oauth" }, t("signInAt", { name }))));
	if (device_auth_enabled) return codeView(root);
	if (!name && !development_auth_enabled) root.append(h("p", {}, t("noSignIn")));
}

/** The last code, with its end by this device's clock. It is shown again: somebody may be about to confirm it. @type {any} */
let code = { end: 0 };

/** @type {View} */
async function codeView(root) {
	const card = h("div", {});
	root.append(h("section.card.sign-in", { "aria-labelledby": "code-title" }, h("h2", { id: "code-title" }, t("codeTitle")), card));
	let left = false;

	const start = async () => {
		if (Date.now() > code.end - 60_000) {
			const { body } = await request("POST", "auth/device", { anonymous: true });
			code = { ...body, end: Date.now() + 120_000 };
		}
		const state = h("p", { role: "status" }, t("codeWaiting"));
		card.replaceChildren(h("p", {}, t("codeHint")),
			h("img", { src: code.qr, alt: t("codeImage"), width: 200, height: 200 }),
			h("p.code", { translate: "no" }, code.code), state);
		void wait(code, state);
	};

	/** @param {any} started @param {HTMLElement} state */
	const wait = async (started, state) => {
		let confirmed = false;
		while (Date.now() < started.end) {
			await delay(started.interval_seconds * 1000);
			if (left || !root.isConnected) return;
			try {
				confirmed ||= (await request("POST", "auth/device/session",
					{ body: { device_code: started.device_code }, anonymous: true })).response.status === 200;
				if (confirmed) {
					await account.signIn({});
					started.end = 0;
					return;
				}
				write(state, t("codeWaiting"));
			} catch (/** @type {any} */ problem) {
				if (!problem.temporary || problem.status === 401) break;
				write(state, explain(problem));
			}
		}
		started.end = 0;
		card.replaceChildren(h("p", { role: "status" }, t("codeOver")), button(t("codeAgain"), start, { class: "primary" }));
	};

	await start().catch((problem) => card.append(h("p.error", {}, explain(problem)), button(t("tryAgain"), start)));
	return async () => { left = true; };
}

export const languageKey = "lessonkit-language";

export function languageButton() {
	const [name, lang] = language === "en" ? ["中文", "zh-CN"] : ["English", "en"];
	return button(name ?? "", async () => {
		localStorage.setItem(languageKey, lang ?? "");
		await useLanguage(lang ?? "");
		tell(globalThis, "language");
	}, { class: "quiet", lang });
}

/** @type {View} */
export async function settingsView(root) {
	/** @param {string} path */
	const get = async (path) => (await request("GET", path)).body;
	const [defaults, { words }, { items: sessions }] = await Promise.all(["profile-defaults", "words", "auth/sessions"].map(get));
	/** What another device has changed meanwhile stays. @param {Fields} _ @param {Fields} changed */
	const saveDefaults = async (_, changed) => {
		/** @type {Props} */
		const body = { ...await get("profile-defaults"), ...changed };
		body.lesson_duration_minutes = Number(body.lesson_duration_minutes);
		await request("PUT", "profile-defaults", { body });
		return t("saved");
	};
	let shown = words;
	/** @param {string} text */
	const saveWords = async (text) => {
		const typed = text.split(/\s*\n\s*/).filter(Boolean);
		/** @type {string[]} */
		const now = (await get("words")).words;
		const kept = typed.filter((w) => now.includes(w) || !shown.includes(w)); // first, as a problem tells the line
		const others = now.filter((w) => !typed.includes(w) && !shown.includes(w));
		await request("PUT", "words", { body: { words: [...kept, ...others] } });
		shown = typed;
	};
	root.append(h("h1", {}, t("settings")), h("div.columns", {}, h("div", {},
		form(saveDefaults, { class: "card", draft: draftKey("defaults") }, ...fields("defaults", defaults)),
		form(async (_, { words: typed, ...spoken }) => {
			if (typed !== undefined) await saveWords(typed);
			return saveDefaults(_, spoken);
		}, { class: "card", draft: draftKey("words") }, ...fields("words", { words: words.join("\n"), language: languages(t("anyLanguage"), defaults.language) }))), h("div", {},
		form(saveDefaults, { class: "card", draft: draftKey("texts") }, ...fields("texts", defaults)),
		h("section.card", {}, h("h2", {}, t("account")), ...sessions.map(sessionRow), h("p.hint", {}, t("exportHint")),
			h("div.row", {}, button(t("export"), exportAll), button(t("deleteAccount"), deleteAccount, { class: "danger" }))))));
}

/** @param {any} session */
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

/** @param {string} none @param {string} [chosen] */
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

/** @param {Blob} file @param {string} download its name */
export function save(file, download) {
	const href = URL.createObjectURL(file);
	h("a", { href, download }).click();
	setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

const recordings = () => own().catch(() => []);

async function forget() {
	// What is incomplete now is being recorded by another tab.
	for (const recording of await recordings()) if (recording.complete) await remove(recording);
	for (const key of Object.keys(localStorage)) if (key.startsWith(openKey(""))) localStorage.removeItem(key);
	for (const key of draftKeys()) localStorage.removeItem(key);
	history.replaceState(null, "", "#/"); // it may name a student
	account.forget();
}

async function deleteAccount() {
	if (!await ask(t("deleteAccountQuestion"), t("deleteAccount"))) return;
	await request("DELETE", "auth/me");
	byId("main").replaceChildren();
	await forget();
}

/** @param {() => Promise<void>} leave ends the view */
export async function signOut(leave) {
	const [n, texts] = [(await recordings()).length, draftKeys().length];
	if (n + texts > 0 && !await ask(t("signOutQuestion", { n, texts }), t("signOut"))) return;
	await leave();
	let problem = await account.logout();
	while (problem && !await ask(t("notTold", { reason: explain(problem) }), t("signOutHere"), t("tryAgain"))) {
		problem = await account.logout();
	}
	if (problem) localStorage[signOutKey] = "later";
	await forget();
}
