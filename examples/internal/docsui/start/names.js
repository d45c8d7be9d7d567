"use strict";
// Screen readers cannot name or reach some of what the references draw: buttons with only a picture,
// a selection without a label, links inside buttons, a page without a main part and a title.
const repairs = {
  "button.scalar-code-copy": (e) => e.setAttribute("aria-label", "Copy"),
  "#servers": (e) => e.setAttribute("aria-label", "Server"),
  ".swagger-ui button a[href]": (e) => e.removeAttribute("href"), // the button does the same
  ".swagger-ui .info .title": (e) => {
    e.setAttribute("role", "heading");
    e.setAttribute("aria-level", "1");
  },
  ".swagger-ui h3.opblock-tag": (e) => e.setAttribute("aria-level", "2"),
  ".swagger-ui .models h4": (e) => e.setAttribute("aria-level", "2"),
  "#reference:has(.swagger-ui)": (e) => e.setAttribute("role", "main"),
};
new MutationObserver(() => {
  for (const [selector, repair] of Object.entries(repairs)) {
    document.querySelectorAll(selector).forEach(repair);
  }
}).observe(document, { childList: true, subtree: true });
