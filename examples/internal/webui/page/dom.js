// Elements, texts in the reader's language, messages and questions.

/** @type {Record<Key, string>} */
let texts;
export let language = "en";

/** Loads the texts of a language. English is the fallback. @param {string} wanted a language tag */
export async function useLanguage(wanted) {
	const chosen = wanted.toLowerCase().startsWith("zh") ? "zh" : "en";
	texts = await (await fetch(new URL(`i18n/${chosen}.json`, import.meta.url))).json();
	language = chosen;
	document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/** Returns a text; {name} is replaced by values.name. @type {Translate} */
export function t(key, values = {}) {
	return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Returns a text whose key is made of a code, or else the other. @param {string} key @param {string} other */
export const words = (key, other) => texts[/** @type {Key} */ (key)] ?? other;

/** @param {string} id */
export const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Creates an element. Properties that begin with "on" are event listeners, false and undefined are
 * left out, everything else is an attribute. @type {CreateElement}
 */
export function h(tag, props = {}, ...children) {
	const element = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (value === false || value === undefined) continue;
		if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
		else element.setAttribute(name, value === true ? "" : String(value));
	}
	for (const child of children) if (child || child === "") element.append(child);
	return element;
}

/** Changes the text of an element, unless it has it: a selection stays. @param {Element} element @param {string} text */
export function write(element, text) {
	if (element.textContent !== text) element.textContent = text;
}

/**
 * Makes these the children of an element. Those already there, in the
 * same order, stay in place and keep focus and playback.
 * @param {Element} parent @param {Element[]} children
 */
export function arrange(parent, children) {
	const wanted = new Set(children);
	for (const old of [...parent.children]) if (!wanted.has(old)) old.remove();
	children.forEach((child, i) => {
		if (parent.children[i] !== child) parent.insertBefore(child, parent.children[i] ?? null);
	});
}

/**
 * Creates a button. While its action runs, further clicks do nothing; an error is shown. The
 * property "of" completes the label for those who do not see what is around the button.
 * @type {CreateButton}
 */
export function button(label, action, { of, ...props } = {}) {
	const b = h("button", { type: "button", "aria-label": of && `${label}: ${of}`, ...props }, label);
	b.addEventListener("click", () => once(b, action));
	return b;
}

/** Runs an action unless it is running already. @param {HTMLElement} element @param {Action} action */
export async function once(element, action) {
	if (element.getAttribute("aria-busy") === "true") return;
	element.setAttribute("aria-busy", "true");
	try {
		await action();
	} catch (error) {
		say(explain(error), true);
	} finally {
		element.removeAttribute("aria-busy");
	}
}

/** Creates a labelled field. @type {CreateField} */
export const field = (label, control) => h("label", { class: "field" }, h("span", {}, label), control);

/** Creates a form. Its action receives the fields by name, trimmed. @type {CreateForm} */
export function form(action, props, ...children) {
	const f = h("form", props, ...children);
	f.addEventListener("submit", (event) => {
		event.preventDefault();
		const values = Object.fromEntries([...new FormData(f)].map(([name, v]) => [name, String(v).trim()]));
		void once(f, () => action(values));
	});
	return f;
}

let clearing = 0;

/**
 * Shows a message, which screen readers read when they have finished. Errors stay until the next.
 * @param {string} text @param {boolean} [error]
 */
export function say(text, error = false) {
	const status = byId("status");
	clearTimeout(clearing);
	status.className = error ? "error" : "";
	status.replaceChildren(text);
	if (error) status.append(button(t("close"), () => status.replaceChildren(), { class: "quiet" }));
	else clearing = setTimeout(() => status.replaceChildren(), 8000);
}

/** Returns what an error means for the reader. @param {any} error */
export function explain({ name, code, status = 0, message, retryAfter = 0, fields = [] }) {
	const known = [code, name, Math.min(status, 500), "other"].find((key) => "error_" + key in texts);
	return t(/** @type {Key} */ ("error_" + known), {
		time: new Date(Date.now() + retryAfter * 1000).toLocaleTimeString(language, { timeStyle: "short" }),
		detail: message,
		fields: fields.map((/** @type {string} */ f) => words(f, f)).join(", "),
	});
}

/** Returns seconds as m:ss. @param {number} seconds */
export const minutes = (seconds) =>
	Math.floor(seconds / 60) + ":" + String(Math.floor(seconds % 60)).padStart(2, "0");

/** Returns about how long seconds are, in words. @param {number} seconds */
export function duration(seconds) {
	const [n, unit] = seconds < 90 ? [seconds, "second"] : [Math.ceil(seconds / 60), "minute"];
	return n.toLocaleString(language, { style: "unit", unit, unitDisplay: "long" });
}

/** YYYY-MM-DD, as Swedes write it. */
export const today = () => new Date().toLocaleDateString("sv");

/** Asks a question in a dialog. @type {Ask} */
export function ask(question, yes) {
	return new Promise((resolve) => {
		const text = h("p", { id: "question" }, question);
		/** @type {HTMLDialogElement} */
		const dialog = h("dialog", { "aria-labelledby": "question" }, text, h("div", { class: "row" },
			button(t("cancel"), () => { dialog.close(); }),
			button(yes, () => { dialog.close("yes"); }, { class: "danger" })));
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve(dialog.returnValue === "yes");
		});
		document.body.append(dialog);
		dialog.showModal();
	});
}
