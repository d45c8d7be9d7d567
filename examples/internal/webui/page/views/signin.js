// Signing in: by a code, by a name on servers for development, or with a session token.

import { account } from "../api.js";
import { announce, explain, fields, form, h, t } from "../dom.js";
import { codeView } from "./code.js";

/** @param {string} name */
const byName = (name) => account.signIn({ "X-Development-User": name });

/** Signs in by the name in the address, if there is one. */
export async function signInByAddress() {
	const [, name, path = "/"] = /^#sign-in=([\w.@+-]+)(\/.*)?$/.exec(location.hash) ?? [];
	if (!name) return;
	history.replaceState(null, "", "#" + path);
	await byName(name).catch((error) => announce(explain(error), true));
}

/** @type {View} */
export async function signInView(root) {
	root.append(h("h1", {}, t("signIn")), h("p.hint", {}, t("signInHint")));
	return signInWays(root);
}

/** Appends the ways to sign in that the server has. @type {View} */
export async function signInWays(root) {
	const health = await fetch("health", { cache: "no-store" }).then((r) => r.json()).catch(() => ({}));
	if (health.development_auth_enabled) {
		root.append(form(({ name = "" }) => byName(name), { class: "card" }, ...fields("teacher")));
	}
	const leave = health.miniapp_auth_configured ? await codeView(root) : undefined;
	root.append(h("details.card", { open: !leave }, h("summary", {}, t("token")), h("p.hint", {}, t("tokenHint")),
		form(({ token }) => account.signIn({ Authorization: "Bearer " + token }), {}, ...fields("token"))));
	return leave;
}
