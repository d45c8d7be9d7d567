// What holds for all students.

import { request } from "../api.js";
import { fields, form, h, say, t } from "../dom.js";

/** @type {View} */
export async function settingsView(root) {
	const [defaults, { words }] = await Promise.all(["profile-defaults", "words"].map(
		async (path) => (await request("GET", path)).body));
	/** @param {string} path @param {object} body */
	const save = async (path, body) => {
		await request("PUT", path, { body });
		say(t("saved"));
	};
	root.append(h("h1", {}, t("settings")),
		form((v) => save("profile-defaults", { ...v, lesson_duration_minutes: Number(v.lesson_duration_minutes) }),
			{ class: "card" }, ...fields("defaults", defaults)),
		form(({ words = "" }) => save("words", { words: words.split(/\s*\n\s*/).filter(Boolean) }),
			{ class: "card" }, ...fields("words", { words: words.join("\n") })));
}
