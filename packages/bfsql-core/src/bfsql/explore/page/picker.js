// @ts-check
/** Fields with several values, shown as chips: entities found by search, and lists of texts. */

import { call, latest } from "./api.js";
import { combobox } from "./combobox.js";
import { fill, h } from "./dom.js";
import { schema } from "./schema.js";
import { suggestPatterns } from "./steps.js";

const HITS = 8;

/** Suggestions of entities, from a search. @returns {(text: string) => Promise<import("./combobox.js").Suggestion[]>} */
export function entitySuggestions() {
  const one = latest();
  return async (text) => {
    if (!text.trim()) return [];
    const made = await one.run((signal) => call("search_entities", { query: text.trim() }, signal));
    return made.answer.slice(0, HITS).map((/** @type {any} */ hit) => ({
      text: hit.name ?? hit.id,
      hint: [hit.entity_type, ...(hit.context ?? [hit.id])].join(" · "),
      of: hit,
    }));
  };
}

/** Suggestions of patterns and of entities, with examples of patterns. @returns {(text: string) => Promise<import("./combobox.js").Offer>} */
function patternSuggestions() {
  const entities = entitySuggestions();
  return async (text) => {
    const { suggestions, note } = suggestPatterns(text, await schema());
    return { suggestions: [...(text.includes("[") ? [] : await entities(text)), ...suggestions], note };
  };
}

/** Entities as chips, and a field that adds one: from the suggestions, or an id or exact name as typed, which the tool resolves. @param {{label: string, placeholder?:
 * string, patterns?: boolean, nameOf: (id: string) => string, onChange: (ids: string[]) => void}} how */
export function entityPicker({ label, placeholder = "", patterns = false, nameOf, onChange }) {
  /** @type {Map<string, string>} */
  const names = new Map();
  return chipList({
    legend: label, item: () => label, placeholder, onChange, edits: false,
    words: (id) => names.get(id) ?? nameOf(id),
    suggest: patterns ? patternSuggestions() : entitySuggestions(),
    textOf: (text, suggestion) => {
      const id = suggestion?.of?.id ?? text.trim();
      if (suggestion?.of) names.set(id, suggestion.text);
      return id;
    },
  });
}

/** @param {string} words @param {() => void} onRemove @param {{title?: string, hint?: string, act?: (() => void) | null}} [how] The exact text, what it is about, and what a click on it does. */
export function chip(words, onRemove, { title = words, hint = "", act = null } = {}) {
  const text = h("bdi", { class: "name", dir: "auto", title: title.slice(0, 500) }, words);
  return h("span", { class: "chip" }, act ? h("button", { type: "button", onclick: act }, text) : text, hint && h("span", { class: "hint" }, hint),
    h("button", { type: "button", class: "remove", "aria-label": `Remove ${words.slice(0, 80)}`, onclick: onRemove }, "×"));
}

/** Texts as chips with their words, and a field that adds one. A click on a chip puts its text into the field. `numbered` says that messages call the texts steps. @param
 * {{legend: string, item: (nth: number) => string, placeholder: string, suggest: (text: string, before: string[]) => import("./combobox.js").Offer |
 * Promise<import("./combobox.js").Offer>, words?: (text: string) => string, textOf?: (text: string, suggestion?: import("./combobox.js").Suggestion) => string, edits?:
 * boolean, numbered?: boolean, most?: number, hint?: (text: string) => string, onChange: (texts: string[]) => void}} how */
export function chipList({ legend, item, placeholder, suggest, words = (text) => text, textOf = (text) => text.trim(), edits = true, most = Infinity, hint, numbered = false, onChange }) {
  /** @type {string[]} */
  let texts = [];
  let editing = -1;
  let drawn = "";
  const chips = h("span", { class: "chips" });
  const sentence = h("p", { class: "problem", dir: "auto", hidden: true });
  const field = combobox({
    label: item(0), labelHidden: true, placeholder, clears: true,
    suggest: (text) => suggest(text, editing < 0 ? texts : texts.slice(0, editing)),
    onChange: (text, suggestion) => {
      const at = editing < 0 ? texts.length : editing;
      change(at, textOf(text, suggestion));
    },
  });
  const element = h("div", { class: "chip-list", role: "group", "aria-label": legend }, chips, field.element, sentence);
  field.input.addEventListener("blur", () => editing >= 0 && edit(-1));

  /** @param {string[]} now */
  function update(now) {
    texts = now;
    const next = JSON.stringify([texts, texts.map(words), texts.map((text) => hint?.(text))]);
    if (next === drawn) return;
    drawn = next;
    const inside = chips.contains(document.activeElement);
    fill(chips, texts.map((text, at) => chip(words(text), () => change(at, ""), { title: text, hint: hint?.(text), act: edits ? () => edit(at) : null })));
    field.element.hidden = texts.length >= most;
    edit(-1);
    if (inside) field.input.focus();
  }

  /** Put a text into the field, or empty it. @param {number} at */
  function edit(at) {
    if (editing >= 0) chips.children[editing]?.classList.remove("edited");
    if (editing >= 0 || at >= 0) field.input.value = texts[at] ?? "";
    editing = at;
    /** @type {Element} */ (field.element.firstElementChild).textContent = item(at < 0 ? texts.length : at);
    if (at < 0) return;
    chips.children[at].classList.add("edited");
    field.element.hidden = false;
    field.input.focus();
  }

  /** @param {number} at @param {string} text */
  function change(at, text) {
    const now = [...texts.slice(0, at), text, ...texts.slice(at + 1)].filter((one) => one);
    edit(-1);
    if (JSON.stringify(now) === JSON.stringify(texts)) return;
    field.input.focus();
    onChange(now);
  }

  return {
    element,
    input: field.input,
    update,
    /** Show a message, and the chip that it is about, or else the last one. @param {string} text */
    problem: (text) => {
      const named = numbered ? Number(/\bstep (\d+)/.exec(text)?.[1] ?? NaN) - 1 : -1;
      const repeated = texts.findIndex((one) => text.includes(JSON.stringify(one)));
      const part = texts.findIndex((one) => one.includes(/"((?:[^"\\]|\\.)+)"/.exec(text)?.[1] ?? one + text));
      const at = [named, repeated, part, texts.length - 1].find((one) => one >= 0 && one < texts.length) ?? 0;
      [...chips.children].forEach((one, nth) => one.classList.toggle("invalid", Boolean(text) && nth === at));
      sentence.textContent = text;
      sentence.hidden = !text;
    },
  };
}
