// The page of a teacher: sign in, students, recordings that become text, feedback records.

import { account, storageKey } from "./api.js";
import { announce, arrange, button, byId, delay, explain, h, once, t, useLanguage } from "./dom.js";
import { audio, nameOf, outbox, remove, retryNow, wake } from "./outbox.js";
import { languageButton, languageKey, save, settingsView, signInByAddress, signInView, signInWays, signOut }
	from "./views/account.js";
import { recordsView } from "./views/records.js";
import { editView, studentView, todayView } from "./views/students.js";

/** @type {Record<string, View>} */
const views = { student: studentView, edit: editView, records: recordsView, settings: settingsView };
const main = byId("main");
/** @type {Leave} */
let leave;
let shown = 0;
let failed = false;

/** Views and the student in the address. What else it says leads home. */
const address = /^#\/(records|settings|student(?=\/.)|edit(?=\/))\/?([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})?$/;

async function end() {
	const ending = leave;
	leave = undefined;
	return ending?.();
}

async function show() {
	const number = ++shown;
	failed = false;
	const stopped = end();
	await Promise.race([stopped, delay(1000)]); // the server may be slow: what it lacks is on this device
	announce("");
	document.querySelector("dialog")?.close();
	const refused = await signInByAddress();
	if (number !== shown) return;
	const [, name = "", student] = address.exec(location.hash) ?? [];
	if (!name) history.replaceState(null, "", "#/");
	drawFrame();
	const root = h("div.view", {});
	const slow = setTimeout(() => {
		if (number === shown) main.replaceChildren(root, h("p.hint", { role: "status" }, t("loading")));
	}, 300);
	try {
		const view = account.teacher ? views[name] ?? todayView : signInView;
		const ending = await view(root, student);
		if (number === shown) leave = ending;
		else await ending?.();
	} catch (error) {
		failed ||= number === shown; // else it was left
		root.replaceChildren();
		if (!account.expired) root.append(h("p.error", {}, explain(error)), button(t("tryAgain"), show));
	}
	clearTimeout(slow);
	if (number !== shown) return;
	arrange(main, [root]); // which keeps the focus
	if (refused) announce(refused, true);
	else void stopped.then((told) => { if (told && number === shown) announce(told, true); });
	document.title = (root.querySelector("h1")?.textContent ?? "") + " – " + t("title");
	if (document.activeElement === document.body) main.focus({ preventScroll: true });
}

/** So that nothing more is typed. */
async function leaveAll() {
	await end();
	main.replaceChildren();
}

function drawFrame() {
	const links = [["#/", t("today")], ["#/records", t("records")], ["#/settings", t("settings")]]
		.map(([href, label]) => h("a", { href, "aria-current": location.hash === href && "page" }, label));
	byId("header").replaceChildren(...h("div", {},
		h("p.brand", {}, t("title")),
		account.teacher && h("nav", { "aria-label": t("navigation") }, ...links),
		languageButton(),
		account.teacher && button(t("signOut"), () => signOut(leaveAll), { class: "quiet" })).children);
	drawBanner();
}

/** Shows what is not sent or, in the same view, how to sign in when that has expired. */
function drawBanner() {
	const banner = byId("banner");
	if (account.expired) {
		if (banner.querySelector("section")) return; // nothing that is filled in is replaced
		const section = h("section.notice", { "aria-label": t("signIn") }, h("p", { role: "alert" }, t("expired")));
		banner.replaceChildren(section);
		signInWays(section).catch((error) => section.append(h("p.error", {}, explain(error)), button(t("tryAgain"), () => {
			section.remove();
			drawBanner();
		})));
		return;
	}
	const { unsent, refused, others, problem } = outbox.state;
	const wanted = h("div", {},
		problem && h("div.notice.row", {},
			h("p.grow", {}, t("unsent", { n: unsent }) + " " + explain(problem)), button(t("sendNow"), retryNow)),
		account.offline && account.teacher && !problem && h("p.notice", { role: "status" }, t("offline")),
		refused.length > 0 && h("div.notice", {}, t("refusedParts", { n: refused.length }), ...refused.map(refusedRow)),
		others > 0 && account.teacher && h("p.notice", {}, t("othersUnsent", { n: others })));
	if (banner.textContent === wanted.textContent) return; // a button keeps the focus
	banner.replaceChildren(...wanted.children);
}

/** @param {Recording} r */
function refusedRow(r) {
	const of = [r.student, nameOf(r)].filter(Boolean).join(" · ");
	return h("div.row", {}, h("p", {}, of + " – " + explain(r.refused)), h("span.row", {},
		button(t("download"), async () => save(await audio(r), r.name || "recording." + r.type.split("/")[1]), { of }),
		button(t("discard"), () => remove(r), { class: "danger", of })));
}

addEventListener("hashchange", show);
addEventListener("online", () => failed && show());
addEventListener("language", show);
addEventListener("storage", async ({ key }) => {
	if (key !== storageKey) return; // another tab has signed in or out
	if (account.teacher) history.replaceState(null, "", "#/"); // another's student
	account.teacher = ""; // nothing is sent
	await Promise.race([end(), delay(1000)]);
	outbox.state.unsent = 0; // nothing is asked
	location.reload();
});
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
		drawBanner();
		if (failed && !account.expired && !account.offline) void show();
	}
});

/** Starts the page while the server is away. Trusted Types let the page name this one script. */
function keepPage() {
	const address = String(new URL("worker.js", import.meta.url));
	const policy = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("worker", { createScriptURL: () => address });
	navigator.serviceWorker?.register(policy?.createScriptURL("") ?? address, { scope: "./" }).catch(() => {});
}

await useLanguage(localStorage.getItem(languageKey) ?? navigator.language);
void once(main, wake);
await show();
keepPage();
