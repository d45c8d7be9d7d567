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

/**
 * Returns a text; {name} is replaced by values.name.
 * @param {Key} key
 * @param {Record<string, string | number>} [values]
 */
export function t(key, values = {}) {
	return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/**
 * Creates an element. Properties that begin with "on" are event listeners, false and undefined are
 * left out, everything else is an attribute.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
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

/**
 * Creates a button. While its action runs, further clicks do nothing; an error is shown. The
 * property "of" completes the label for those who do not see what is around the button.
 * @param {string} label
 * @param {() => unknown} action
 * @param {Record<string, any>} [props]
 */
export function button(label, action, { of, ...props } = {}) {
	const b = h("button", { type: "button", "aria-label": of && `${label}: ${of}`, ...props }, label);
	b.addEventListener("click", () => once(b, action));
	return b;
}

/**
 * Runs an action unless it is running already. Its error is shown.
 * @param {HTMLElement} element
 * @param {() => unknown} action
 */
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

/**
 * Creates a labelled field.
 * @param {string} label
 * @param {HTMLElement} control
 */
export function field(label, control) {
	return h("label", { class: "field" }, h("span", {}, label), control);
}

/**
 * Creates a form. Its action receives the fields by name, trimmed.
 * @param {(values: Record<string, string>) => unknown} action
 * @param {Record<string, any>} props
 * @param {...Child} children
 */
export function form(action, props, ...children) {
	const f = h("form", props, ...children);
	f.addEventListener("submit", (event) => {
		event.preventDefault();
		/** @type {Record<string, string>} */
		const values = {};
		for (const [name, value] of new FormData(f)) values[name] = String(value).trim();
		void once(f, () => action(values));
	});
	return f;
}

/** @type {ReturnType<typeof setTimeout> | undefined} */
let clearing;

/**
 * Shows a message, which screen readers read when they have finished. Errors stay until the next
 * message.
 * @param {string} text
 * @param {boolean} [error]
 */
export function say(text, error = false) {
	const status = /** @type {HTMLElement} */ (document.getElementById("status"));
	clearTimeout(clearing);
	status.className = error ? "error" : "";
	status.replaceChildren(text);
	if (error) status.append(button(t("close"), () => status.replaceChildren(), { class: "quiet" }));
	else clearing = setTimeout(() => status.replaceChildren(), 8000);
}

/**
 * Returns what an error means for the reader.
 * @param {unknown} error
 * @returns {string}
 */
export function explain(error) {
	const { name, code, status = 0, message, retryAfter = 0 } = /** @type {any} */ (error);
	const known = ["error_" + code, "error_" + name, "error_" + Math.min(status, 500)].find((key) => key in texts);
	const values = { time: clock(Date.now() + retryAfter * 1000), detail: message };
	return known ? t(/** @type {Key} */ (known), values) : message || String(error);
}

/** @param {number} time in milliseconds */
export function clock(time) {
	return new Date(time).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit" });
}

/** Returns a number of seconds as m:ss. @param {number} seconds */
export function minutes(seconds) {
	const whole = Math.round(seconds);
	return Math.floor(whole / 60) + ":" + String(whole % 60).padStart(2, "0");
}

/** Today as YYYY-MM-DD, where the reader is. Swedes write dates so. */
export const today = () => new Date().toLocaleDateString("sv");

/**
 * Asks a question in a dialog.
 * @param {string} question
 * @param {string} action the label of the button that means yes
 * @returns {Promise<boolean>}
 */
export function ask(question, action) {
	return new Promise((resolve) => {
		const text = h("p", { id: "question" }, question);
		const dialog = h("dialog", { "aria-labelledby": "question" }, text, h("div", { class: "row" },
			h("button", { type: "button", onclick: () => dialog.close() }, t("cancel")),
			h("button", { type: "button", class: "danger", onclick: () => dialog.close("yes") }, action)));
		dialog.addEventListener("close", () => {
			dialog.remove();
			resolve(dialog.returnValue === "yes");
		});
		document.body.append(dialog);
		dialog.showModal();
	});
}
