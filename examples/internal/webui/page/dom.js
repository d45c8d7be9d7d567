// Elements, texts in the reader's language, messages, questions and waiting.

/** @type {Record<Key, string>} */
let texts;
export let language = "en";

/** @type {UseLanguage} */
export async function useLanguage(wanted) {
	const chosen = wanted.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
	texts = await (await fetch(new URL(`i18n/${chosen.slice(0, 2)}.json`, import.meta.url))).json();
	document.documentElement.lang = language = chosen;
}

/** @type {Translate} */
export function t(key, values = {}) {
	return texts[key].replace(/\{(\w+)\}/g, (all, name) => String(values[name] ?? all));
}

/** @type {OfCode} */
export const words = (key, other) => texts[/** @type {Key} */ (key)] ?? other;

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {CreateElement} */
export function h(tag, props = {}, ...children) {
	const [name = "", ...classes] = tag.split(".");
	/** @type {any} */
	const element = document.createElement(name);
	element.classList.add(...classes);
	for (const [key, value] of Object.entries(props)) {
		if (value !== false && value !== undefined) element.setAttribute(key, value === true ? "" : String(value));
	}
	for (const child of children) if (child || child === "") element.append(child);
	return element;
}

/** @type {Write} */
export function write(element, text) {
	if (element.textContent !== text) element.textContent = text;
}

/** @type {Tell} */
export const tell = (target, name, detail) => target.dispatchEvent(new CustomEvent(name, { detail }));

/** @type {Stored} */
export const stored = (key) => JSON.parse(localStorage.getItem(key) ?? "null");

/** @param {string} key @param {any} value */
export const store = (key, value) => localStorage.setItem(key, JSON.stringify(value));

/** @type {Arrange} */
export function arrange(parent, children) {
	const wanted = new Set(children);
	for (const old of [...parent.children]) if (!wanted.has(old)) old.remove();
	children.forEach((child, i) => {
		if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
	});
}

/** @type {CreateButton} */
export function button(label, action, { of, ...props } = {}) {
	const b = h("button", { type: "button", "aria-label": of && `${label}: ${of}`, ...props }, label);
	b.addEventListener("click", () => once(b, action));
	return b;
}

/** @type {Once} */
export async function once(element, action) {
	if (element.getAttribute("aria-busy") === "true") return;
	element.setAttribute("aria-busy", "true");
	quiet(element);
	try {
		const told = await action();
		if (told && typeof told === "string") say(told, element);
	} catch (error) {
		say(explain(error), element, true);
	} finally {
		element.removeAttribute("aria-busy");
	}
}

/** @type {CreateField} */
export const field = (label, control) => h("label.field", {}, h("span", {}, label), control);

/** @type {CreateFields} */
export const fields = (id, data = {}) => [.../** @type {any} */ (byId(id)).content.cloneNode(true).children].map((e) => {
	if (!e.name) write(e, t(e.dataset.text));
	else if (data[e.name] instanceof Element) e = data[e.name];
	else e.value = data[e.name] ?? "";
	return e.name ? field(t(e.name), e) : e;
});

/** @type {CreateForm} */
export function form(action, { draft, ...props }, ...children) {
	const f = h("form", props, ...children);
	/** @returns {Fields} */
	const read = () => Object.fromEntries([...new FormData(f)].map(([name, v]) => [name, String(v).trim()]));
	let saved = read();
	const changes = (values = read()) => Object.fromEntries(Object.entries(values).filter(([name, v]) => v !== saved[name]));
	const unsaved = h("p.hint", {}, t("unsaved"));
	function keep() {
		if (!draft) return;
		const typed = JSON.stringify(changes());
		if (typed !== "{}") return localStorage.setItem(draft, typed);
		localStorage.removeItem(draft);
		unsaved.remove();
	}
	const kept = Object.entries(stored(draft) ?? {});
	for (const [name, v] of kept) Object.assign(f.elements.namedItem(name) ?? {}, { value: v }); // a field may be gone
	if (kept.length > 0) f.append(unsaved);
	f.addEventListener("input", keep);
	f.addEventListener("submit", (event) => {
		event.preventDefault();
		for (const old of f.querySelectorAll(".error")) old.remove();
		const values = read();
		void once(f, () => action(values, changes(values)).then((told) => {
			saved = values;
			keep();
			return told;
		}, (error) => {
			for (const [name, { code, limit, line, message }] of Object.entries(error.fields ?? {})) {
				const key = /** @type {Key} */ ("error_" + code);
				const what = key in texts ? t(key, { limit }) : message;
				/** @type {any} */ (f.elements.namedItem(name))?.after(h("span.error", {}, line ? t("atLine", { line, what }) : what));
			}
			throw error;
		}));
	});
	return f;
}

/** @type {Copy} */
export async function copy(text, shown) {
	// Safari writes at once or not at all, but what is written may arrive later.
	const writing = (async () => navigator.clipboard.write([
		new ClipboardItem({ "text/plain": text.then((s) => new Blob([s], { type: "text/plain" })) }),
	]))().then(() => true, () => false);
	write(shown, await text);
	shown.hidden = false;
	if (await writing) return t("copied");
	getSelection()?.selectAllChildren(shown);
	throw Object.assign(new Error(), { name: "copy_refused" });
}

/** @type {WeakMap<Element, Element>} */
const messages = new WeakMap();

/** What the message of an element follows. @param {Element} element */
const place = (element) => element.closest("form, .row") ?? element;

/** @param {Element} element */
export function quiet(element) {
	messages.get(place(element))?.remove();
	announce("");
}

/** @type {Say} */
export function say(text, near, error = false) {
	quiet(near);
	if (!near.isConnected) return announce(text, true);
	const message = h(error ? "p.error" : "p.done", error ? { role: "alert" } : {}, text);
	messages.set(place(near), message);
	if (place(near).matches("form")) place(near).append(message);
	else place(near).after(message);
	if (!error) announce(text);
}

/** @type {Announce} */
export function announce(text, visible = false) {
	const status = byId("status");
	write(status, text);
	status.classList.toggle("hidden", !visible);
}

/** @type {Explain} */
export function explain({ name, code, status = 0, message, retryAfter = 0, fields = {} }) {
	const known = [code, name, Math.min(status, 500), "other"].find((key) => "error_" + key in texts);
	return t(/** @type {Key} */ ("error_" + known), {
		time: new Date(Date.now() + retryAfter * 1000).toLocaleTimeString(language, { timeStyle: "short" }),
		detail: message,
		fields: Object.keys(fields).map((f) => words(f, f)).join(", "),
	});
}

/** Of names, Chinese ones by pinyin. */
export const collator = new Intl.Collator("zh-u-co-pinyin");

/** @type {OfDay} */
export const dayName = (day, parts = { month: "short", day: "numeric", weekday: "short" }) =>
	new Date(day + "T12:00").toLocaleDateString(language, parts);

/** @type {OfSeconds} */
export const minutes = (seconds) =>
	Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");

/** @type {OfSeconds} */
export function duration(seconds) {
	const [n, unit] = seconds < 90 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
	return n.toLocaleString(language, { style: "unit", unit, unitDisplay: "long" });
}

/** YYYY-MM-DD, as Swedes write it, so many days ago. */
export const today = (ago = 0) => new Date(Date.now() - ago * 864e5).toLocaleDateString("sv");

/** @type {Ask} */
export function ask(question, yes, no = t("cancel")) {
	return new Promise((resolve) => {
		const text = h("p", { id: "question" }, question);
		/** @type {HTMLDialogElement} */
		const dialog = h("dialog", { "aria-labelledby": "question" }, text, h("div.row", {},
			button(no, () => dialog.close()),
			button(yes, () => dialog.close("yes"), { class: "danger" })));
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve(dialog.returnValue === "yes");
		});
		document.body.append(dialog);
		dialog.showModal();
	});
}

/** @param {number} ms */
export const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @type {WaitForEvent} */
export async function happens(target, name, end) {
	if (end?.aborted) return;
	const listening = new AbortController();
	const { signal } = listening;
	const event = await new Promise((resolve) => {
		target.addEventListener(name, resolve, { signal });
		end?.addEventListener("abort", resolve, { signal });
	});
	listening.abort();
	return event;
}
