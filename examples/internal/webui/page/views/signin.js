// Signing in: by a code, at an OAuth 2 server, or by a name on servers for development.

import { account, request, signOutKey } from "../api.js";
import { button, explain, fields, form, h, t, write } from "../dom.js";

/** @param {string} name */
const byName = (name) => account.signIn({ "X-Development-User": name });

/** Tells the server of a sign-out that it does not know of. Later that would end another session. */
async function tellSignOut() {
	const problem = localStorage.getItem(signOutKey) && await account.logout();
	if (problem) throw problem;
	localStorage.removeItem(signOutKey);
}

/** Signs in as the address says: by a name, or by the cookie that an OAuth 2 server's answer has set. Returns why not. */
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

/** Appends the ways to sign in that the server has. @type {View} */
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

/** Shows a code until it is confirmed, it expires, or the view is left. @type {View} */
async function codeView(root) {
	const card = h("div", {});
	root.append(h("section.card.sign-in", { "aria-labelledby": "code-title" }, h("h2", { id: "code-title" }, t("codeTitle")), card));
	let left = false;

	const start = async () => {
		const { body } = await request("POST", "auth/device", { anonymous: true });
		const state = h("p", { role: "status" }, t("codeWaiting"));
		card.replaceChildren(h("p", {}, t("codeHint")),
			h("img", { src: body.qr, alt: t("codeImage"), width: 200, height: 200 }),
			h("p.code", { translate: "no" }, body.code), state);
		void wait(body, state);
	};

	/** @param {any} started @param {HTMLElement} state */
	const wait = async (started, state) => {
		let confirmed = false;
		// By this device's clock: the server's may be another.
		for (const end = Date.now() + 120_000; Date.now() < end;) {
			await new Promise((resolve) => setTimeout(resolve, started.interval_seconds * 1000));
			if (left || !root.isConnected) return;
			try {
				confirmed ||= (await request("POST", "auth/device/session",
					{ body: { device_code: started.device_code }, anonymous: true })).response.status === 200;
				if (confirmed) return await account.signIn({});
				write(state, t("codeWaiting"));
			} catch (/** @type {any} */ problem) {
				if (!problem.temporary || problem.status === 401) break;
				write(state, explain(problem));
			}
		}
		card.replaceChildren(h("p", { role: "status" }, t("codeOver")), button(t("codeAgain"), start, { class: "primary" }));
	};

	await start().catch((problem) => card.append(h("p.error", {}, explain(problem)), button(t("tryAgain"), start)));
	return async () => { left = true; };
}
