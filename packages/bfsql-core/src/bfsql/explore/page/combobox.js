// @ts-check
/**
 * A text field with suggestions: the combobox with a list of the ARIA practices.
 */

import { announce, fill, h, name, plural } from "./dom.js";

/**
 * @typedef {object} Suggestion
 * @property {string} text The field's value when the suggestion is chosen.
 * @property {string} [hint]
 * @property {any} [of] The object that the suggestion stands for.
 * @property {any} [shown] An element to show in place of the text.
 */

/**
 * @typedef {object} How
 * @property {string} label
 * @property {string} [value]
 * @property {string} [placeholder]
 * @property {(text: string) => Suggestion[] | Promise<Suggestion[]>} suggest
 * @property {(text: string, suggestion?: Suggestion) => void} onChange Called when a suggestion
 *   is chosen, and when the field is left or Enter is pressed with another text.
 * @property {boolean} [labelHidden]
 * @property {boolean} [clears] Whether the field is cleared after a choice.
 */

let boxes = 0;

/**
 * @param {How} how
 * @returns {{element: HTMLElement, input: HTMLInputElement, problem: (sentence: string) => void}}
 *   `problem` shows a message at the field; an empty text removes it.
 */
export function combobox({ label, value = "", placeholder = "", suggest, onChange, labelHidden = false, clears = false }) {
  boxes += 1;
  const id = `combobox-${boxes}`;
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, class: "suggestions", hidden: true });
  const sentence = h("p", { id: `${id}-problem`, class: "problem", dir: "auto", hidden: true });
  const input = h("input", {
    id, value, placeholder, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", autocapitalize: "none",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-describedby": `${id}-problem`,
    oninput: () => { move(-1); open(); }, onkeydown: keys, onblur: left, onclick: () => list.hidden && open(),
  });
  const element = h("div", { class: "combobox" },
    h("label", { for: id, class: labelHidden ? "unseen" : "" }, label), input, list, sentence);

  /** @type {Suggestion[]} */
  let offered = [];
  let active = -1;
  let asked = 0;
  let committed = value;

  async function open() {
    const own = (asked += 1);
    let found;
    try {
      found = await suggest(input.value);
    } catch {
      found = []; // a field without suggestions still accepts text
    }
    if (own !== asked || document.activeElement !== input) return;
    const before = keyOf(offered[active]);
    offered = found.filter(({ text, of }) => of !== undefined || text !== input.value);
    fill(list, offered.map((one, at) =>
      h("li", { id: `${id}-${at}`, role: "option", "aria-selected": "false",
        onmousedown: (/** @type {Event} */ event) => { event.preventDefault(); choose(one); } },
        one.shown ?? name(one.text, "suggestion"), one.hint && h("span", { class: "hint" }, one.hint))));
    setOpen(offered.length > 0);
    if (before !== null) move(offered.findIndex((one) => keyOf(one) === before));
    if (offered.length) announce(plural(offered.length, "suggestion"));
  }

  /** @param {boolean} is */
  function setOpen(is) {
    list.hidden = !is;
    input.setAttribute("aria-expanded", String(is));
    if (!is) move(-1);
  }

  function close() {
    asked += 1;
    setOpen(false);
  }

  /** @param {number} to */
  function move(to) {
    const items = list.children;
    items[active]?.setAttribute("aria-selected", "false");
    active = to;
    if (items[active]) {
      items[active].setAttribute("aria-selected", "true");
      items[active].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", items[active].id);
    } else input.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  function keys(event) {
    if (event.isComposing) return;
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden) return void open();
      const last = offered.length - 1;
      move(key === "ArrowDown" ? (active < last ? active + 1 : 0) : active > 0 ? active - 1 : last);
    } else if (key === "Enter") {
      event.preventDefault();
      if (!list.hidden && active >= 0) choose(offered[active]);
      else commit();
    } else if (key === "Escape" && !list.hidden) {
      event.preventDefault();
      event.stopPropagation();
      close();
    }
  }

  /** @param {Suggestion} one */
  function choose(one) {
    input.value = clears ? "" : one.text;
    committed = input.value;
    close();
    onChange(one.text, one);
  }

  function commit() {
    close();
    if (input.value === committed) return;
    const text = input.value;
    if (clears) input.value = "";
    committed = input.value;
    onChange(text);
  }

  function left() {
    if (clears) close();
    else commit();
  }

  /** @param {string} text */
  function problem(text) {
    sentence.textContent = text;
    sentence.hidden = !text;
    input.setAttribute("aria-invalid", String(Boolean(text)));
  }
  return { element, input, problem };
}

/** The key by which a suggestion is found again among newer ones. @param {Suggestion} [one] */
function keyOf(one) {
  return one ? one.of?.id ?? one.text : null;
}
