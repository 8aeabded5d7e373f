// @ts-check
/** Copies text, and confirms it visibly and to screen readers. */

import { announce, h } from "./dom.js";

const SHOWN_MS = 2000;

/** A button that copies a text. @param {string} what What is copied, for the button's name: "the command". @param {() => string} text @param {() => Element | null}
 * [shown] The element with the text; it is selected if the browser does not allow scripts to copy. @param {string} [label] */
export function copyButton(what, text, shown = () => null, label = "Copy") {
  let waiting = 0;
  const button = h("button", { type: "button", class: "copy", "aria-label": label === "Copy" ? `Copy ${what}` : null, onclick: copy }, label);

  async function copy() {
    const done = await copied(text(), shown());
    button.textContent = done ? "Copied" : "Press Ctrl+C";
    button.classList.toggle("done", done);
    announce(done ? `Copied ${what}.` : `The browser does not let this page copy. The text is selected: press Ctrl+C or Command+C.`);
    clearTimeout(waiting);
    waiting = window.setTimeout(() => {
      button.textContent = label;
      button.classList.remove("done");
    }, SHOWN_MS);
  }
  return button;
}

/** Copy a text; where the browser does not let the page, select an element that shows it. @param {string} text @param {Element | null} [shown] @returns {Promise<boolean>} */
export async function copied(text, shown = null) {
  try {
    await navigator.clipboard.writeText(text); // requires https or localhost
    return true;
  } catch {
    const area = h("textarea", { class: "unseen", "aria-hidden": "true", tabindex: "-1" });
    area.value = text;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement);
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    focused?.focus();
    if (!done && shown) getSelection()?.selectAllChildren(shown);
    return done;
  }
}
