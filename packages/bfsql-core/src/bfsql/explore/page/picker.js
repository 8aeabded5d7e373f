// @ts-check
/** Fields with several values: entities found by search, and lists of texts. */

import { call, latest } from "./api.js";
import { combobox } from "./combobox.js";
import { fill, h, name } from "./dom.js";
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

/**
 * Entities as chips, and a field that adds one: from the suggestions, or an id or exact name as
 * typed, which the tool resolves.
 *
 * @param {{label: string, placeholder?: string, patterns?: boolean, nameOf?: (id: string) => string, onChange: (ids: string[]) => void}} how
 */
export function entityPicker({ label, placeholder = "", patterns = false, nameOf = (id) => id, onChange }) {
  /** @type {string[]} */
  let ids = [];
  /** @type {Map<string, string>} */
  const names = new Map();
  const chips = h("div", { class: "chips" });
  const field = combobox({
    label,
    placeholder,
    clears: true,
    suggest: patterns ? patternSuggestions() : entitySuggestions(),
    onChange: (text, suggestion) => {
      const id = suggestion?.of?.id ?? text.trim();
      if (suggestion?.of) names.set(id, suggestion.text);
      if (id && !ids.includes(id)) onChange([...ids, id]);
    },
  });

  /** @param {string[]} now */
  function update(now) {
    ids = now;
    fill(chips, ids.map((id) => chip(names.get(id) ?? nameOf(id), () => {
      onChange(ids.filter((other) => other !== id));
      field.input.focus();
    })));
  }
  return { element: h("div", { class: "picker" }, field.element, chips), update, problem: field.problem, input: field.input };
}

/** @param {string} text @param {() => void} onRemove */
export function chip(text, onRemove) {
  return h("span", { class: "chip" }, name(text),
    h("button", { type: "button", "aria-label": `Remove ${text.slice(0, 80)}`, onclick: onRemove }, "×"));
}

/**
 * A list of text fields with suggestions, followed by an empty one. `numbered` says that messages
 * call the texts steps.
 *
 * @param {{legend: string, item: (nth: number) => string, placeholder: string, suggest: (text: string, before: string[]) => import("./combobox.js").Offer | Promise<import("./combobox.js").Offer>, numbered?: boolean, most: number, hint?: (text: string) => string, onChange: (texts: string[]) => void}} how
 */
export function textList({ legend, item, placeholder, suggest, most, hint, numbered = false, onChange }) {
  /** @type {string[]} */
  let texts = [];
  /** @type {ReturnType<typeof combobox>[]} */
  let fields = [];
  let wanted = -1;
  const list = h("ol", { class: "text-list" });
  const element = h("fieldset", { class: "list-field" }, h("legend", null, legend), list);

  /** @param {string[]} now */
  function update(now) {
    if (fields.length && JSON.stringify(now) === JSON.stringify(texts)) return explain();
    const focused = fields.findIndex(({ input }) => input === document.activeElement);
    texts = now;
    fields = [...now, ...(now.length < most ? [""] : [])].map(row);
    fill(list, fields.map(({ element: field }, at) =>
      h("li", null, field, at < texts.length && h("button", { type: "button", class: "icon", "aria-label": `Remove ${item(at)}`, onclick: () => change(at, "", at) }, "×"), hint && h("p", { class: "hint" }))));
    explain();
    const at = wanted >= 0 ? wanted : focused;
    wanted = -1;
    if (at >= 0) fields[Math.min(at, fields.length - 1)].input.focus();
  }

  function explain() {
    for (const [at, place] of [...list.querySelectorAll("p.hint")].entries()) place.textContent = hint && at < texts.length ? hint(texts[at]) : "";
  }

  /** @param {string} value @param {number} at */
  function row(value, at) {
    return combobox({
      label: item(at),
      labelHidden: true,
      value,
      placeholder,
      suggest: (text) => suggest(text, texts.slice(0, at)),
      onChange: (text, suggestion) => change(at, text, suggestion || document.activeElement === fields[at].input ? at + 1 : -1),
    });
  }

  /** @param {number} at @param {string} text @param {number} next The field that gets the focus afterwards. */
  function change(at, text, next) {
    const now = [...texts.slice(0, at), text.trim(), ...texts.slice(at + 1)].filter((one) => one);
    if (JSON.stringify(now) === JSON.stringify(texts)) return;
    wanted = next;
    onChange(now);
  }

  return {
    element,
    update,
    /** Show a message at the field that it is about, or else at the last field. @param {string} sentence */
    problem: (sentence) => {
      const named = numbered ? Number(/\bstep (\d+)/.exec(sentence)?.[1] ?? NaN) - 1 : -1;
      const repeated = texts.findIndex((text) => sentence.includes(JSON.stringify(text)));
      const part = texts.findIndex((text) => text.includes(/"((?:[^"\\]|\\.)+)"/.exec(sentence)?.[1] ?? text + sentence));
      const at = [named, repeated, part, texts.length - 1].find((one) => one >= 0 && one < texts.length) ?? 0;
      fields.forEach((field, nth) => field.problem(nth === at ? sentence : ""));
    },
  };
}
