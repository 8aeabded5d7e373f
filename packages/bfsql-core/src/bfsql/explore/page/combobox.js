// @ts-check
/** A text field with suggestions: the combobox with a list of the ARIA practices. */

import { announce, fill, h, name, plural } from "./dom.js";

/** The text is the field's value when the suggestion is chosen, or only its beginning (`partial`); `of` is what it stands for, and `shown` elements in place of the text.
 * @typedef {{text: string, hint?: string, of?: any, partial?: boolean, shown?: any}} Suggestion */

/** @typedef {Suggestion[] | {suggestions: Suggestion[], note: string}} Offer Suggestions, and a sentence about them, which is shown above them. */

/** `onChange` is called when a suggestion is chosen, and when the field is left or Enter is pressed with another text. With `clears`, a choice, Enter and a second Escape
 * clear the field, and leaving it has no effect. `wait` is in milliseconds without a further character before suggestions are fetched.
 * @typedef {{label: string, value?: string, placeholder?: string, suggest: (text: string) => Offer | Promise<Offer>,
 * onChange: (text: string, suggestion?: Suggestion) => void, labelHidden?: boolean, clears?: boolean, wait?: number}} How */

let boxes = 0;

/** @param {How} how @returns {{element: HTMLElement, input: HTMLInputElement, problem: (sentence: string) => void}} `problem` shows a message at the field; an empty text removes it. */
export function combobox({ label, value = "", placeholder = "", suggest, onChange, labelHidden = false, clears = false, wait = 0 }) {
  boxes += 1;
  const id = `combobox-${boxes}`;
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": label, hidden: true });
  const note = h("p", { class: "suggestions-note", hidden: true });
  const panel = h("div", { class: "suggestions", hidden: true }, note, list);
  const sentence = h("p", { id: `${id}-problem`, class: "problem", dir: "auto", hidden: true });
  const input = h("input", {
    id, value, placeholder, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", autocapitalize: "none",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": `${id}-list`, "aria-describedby": `${id}-problem`,
    oninput: typed, onkeydown: keys, onblur: left, onclick: () => panel.hidden && seek(),
  });
  const element = h("div", { class: "combobox" },
    h("label", { for: id, class: labelHidden ? "unseen" : "" }, label), input, panel, sentence);

  /** @type {Suggestion[]} */
  let offered = [];
  let active = -1;
  let waiting = 0;
  let searches = 0;
  let committed = value;
  /** Keys pressed while suggestions are fetched, to be applied to them; null at other times. @type {string[] | null} */
  let held = null;

  function typed() {
    discard();
    held = [];
    waiting = window.setTimeout(seek, input.value.trim() ? wait : 0);
  }

  /** Discard the choice, the suggestions that are still to come, and the keys held for them. */
  function discard() {
    searches += 1;
    clearTimeout(waiting);
    held = null;
    move(-1);
  }

  async function seek() {
    const own = (searches += 1);
    held ??= [];
    /** @type {Offer} */
    let offer;
    try {
      offer = await suggest(input.value);
    } catch (error) {
      offer = { suggestions: [], note: /** @type {Error} */ (error).message };
    }
    if (own !== searches) return;
    show(Array.isArray(offer) ? { suggestions: offer, note: "" } : offer);
    const pressed = held ?? [];
    held = null;
    pressed.forEach((key) => own === searches && press(key)); // none after a choice
  }

  /** @param {{suggestions: Suggestion[], note: string}} offer */
  function show(offer) {
    move(-1);
    offered = offer.suggestions.filter(({ text, of }) => of !== undefined || text !== input.value);
    fill(note, offer.note);
    fill(list, offered.map((one, at) =>
      h("li", { id: `${id}-${at}`, role: "option", "aria-selected": "false",
        onmousedown: (/** @type {Event} */ event) => { event.preventDefault(); choose(one); } },
        one.shown ?? name(one.text, "suggestion"), one.hint && h("span", { class: "hint" }, one.hint))));
    note.hidden = !offer.note;
    list.hidden = !offered.length;
    panel.hidden = note.hidden && list.hidden;
    input.setAttribute("aria-expanded", String(!list.hidden));
    if (offered.length) announce(`${plural(offered.length, "suggestion")}. Use the arrow keys.`);
    else if (offer.note) announce(offer.note);
  }

  function close() {
    discard();
    panel.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }

  /** @param {number} to -1, or where there is no suggestion, for none. */
  function move(to) {
    const items = list.children;
    items[active]?.setAttribute("aria-selected", "false");
    active = items[to] ? to : -1;
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
    const arrow = key === "ArrowDown" || key === "ArrowUp";
    if (arrow || key === "Enter") {
      event.preventDefault();
      if (arrow && panel.hidden && !held) void seek();
      if (held && (arrow || held.length)) held.push(key);
      else press(key);
    } else if (key === "Escape" && (held || !panel.hidden)) {
      event.preventDefault();
      event.stopPropagation();
      close();
    } else if (key === "Escape" && clears) input.value = "";
  }

  /** @param {string} key */
  function press(key) {
    const last = offered.length - 1;
    if (key === "ArrowDown") move(active < last ? active + 1 : 0);
    else if (key === "ArrowUp") move(active > 0 ? active - 1 : last);
    else if (active >= 0) choose(offered[active]);
    else commit();
  }

  /** @param {Suggestion} one */
  function choose(one) {
    if (one.partial) {
      input.value = one.text;
      return void seek();
    }
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
