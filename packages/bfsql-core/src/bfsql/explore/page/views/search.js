// @ts-check
/** Search while typing: the field in the header with its list, and the page of all hits. */

import { call, isAbort, latest } from "../api.js";
import { combobox } from "../combobox.js";
import { announce, count, fill, h, link, name, plural } from "../dom.js";
import { forPeople } from "../notes.js";
import { pickButton } from "../picked.js";
import { schema, schemaOrNull } from "../schema.js";
import { suggestPatterns, suggestSets, suggestTexts } from "../steps.js";
import { go, href } from "../state.js";
import { show } from "../shown.js";
import { isPattern } from "../sets.js";
import { failure, notesList, typeName } from "./parts.js";

const WAIT_MS = 120;

/** The labels of matches that the name itself does not explain. @type {Record<string, string>} */
const MATCHES = { alias: "another name", similar: "spelt alike", meaning: "by meaning", other: "by other text" };

/** @param {any} hit */
const walkFrom = (hit) => ({ view: "walk", seeds: [hit.id] });

/** The field in the header. @param {HTMLElement} container */
export function searchField(container) {
  const one = latest();
  const { element, input } = combobox({
    label: "Search the graph",
    labelHidden: true,
    placeholder: "A name, an id, a type or a value",
    clears: true,
    wait: WAIT_MS,
    suggest: async (typed) => {
      const text = typed.trim();
      if (!text) {
        one.stop();
        return [];
      }
      if (text.includes("[")) return suggestPatterns(text, await schema());
      const { answer, notes } = await one.run((signal) => call("search_entities", { query: text }, signal));
      const known = await schemaOrNull();
      const named = answer.some((/** @type {any} */ hit) => !MATCHES[hit.match]);
      const hits = answer.map((/** @type {any} */ hit) => ({ text: hit.name ?? hit.id, of: hit, shown: hitParts(hit) }));
      const suggestions = known ? [...suggestSets(text, known), ...hits, ...(named ? [] : await one.run((signal) => textsOf(text, known, signal)))] : hits;
      return { suggestions, note: (notes[0] && forPeople(notes[0]).text) ?? (suggestions.length ? "" : `No entity is named “${text.slice(0, 60)}”.`) };
    },
    onChange: (text, chosen) => {
      if (chosen || isPattern(text)) {
        input.blur();
        return go(chosen?.of ? walkFrom(chosen.of) : { view: "walk", seeds: [text.trim()], hops: 0 });
      }
      input.value = text; // to be refined
      if (text.trim()) go({ view: "search", q: text.trim() });
    },
  });
  Object.assign(input, { type: "search", maxLength: 16_000, enterKeyHint: "search" });
  container.append(element, h("kbd", { "aria-hidden": "true" }, "/"));

  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog, [contenteditable]")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
}

/** Sets of entities with a text in a property, for a search that finds no name; those without any are left out. @param {string} text @param
 * {import("../schema.js").Schema} known @param {AbortSignal} signal */
async function textsOf(text, known, signal) {
  const found = await Promise.all(suggestTexts(text, known).map(async (one) => {
    const n = await call("bfs_query", { seeds: [one.text], limit: 0 }, signal).then(({ answer }) => answer.node_count, () => 0);
    return n ? [{ ...one, hint: `${count(n)} ${one.hint}` }] : [];
  }));
  return found.flat();
}

/** A description of a hit, and what distinguishes it from its namesakes. @param {any} hit */
function hitParts(hit) {
  return [
    h("span", { class: "hit-name" }, name(hit.name ?? hit.id)),
    typeName(hit.entity_type),
    h("span", { class: "hit-about" },
      hit.context?.length ? hit.context.map((/** @type {string} */ fact) => h("bdi", { class: "fact", dir: "auto" }, fact)) : name(hit.id, "id"),
      MATCHES[hit.match] && h("span", { class: "tag" }, MATCHES[hit.match])),
  ];
}

/** All hits for a text. @param {HTMLElement} container @param {import("../state.js").State} state */
export function search(container, state) {
  const one = latest();
  const hits = h("div", { class: "hits", "aria-busy": "true" });
  container.append(h("h1", null, "Hits for ", h("q", { dir: "auto" }, state.q.slice(0, 200))), hits);

  async function look() {
    hits.setAttribute("aria-busy", "true");
    try {
      const made = await one.run((signal) => call("search_entities", { query: state.q, node_types: state.types }, signal));
      await schemaOrNull();
      draw(made);
    } catch (error) {
      if (isAbort(error)) return;
      fill(hits, failure(error, look));
    }
    hits.removeAttribute("aria-busy");
  }

  /** @param {import("../api.js").Call} made */
  function draw(made) {
    show({ calls: [made], title: state.q.slice(0, 80) });
    const rows = made.answer.map((/** @type {any} */ hit) =>
      h("li", null, pickButton(hit.id, hit.name ?? hit.id), link(href(walkFrom(hit)), { class: "hit" }, hitParts(hit)), link(href({ view: "entity", id: hit.id }), { class: "small" }, "Record")));
    const nothing = h("p", { class: "empty" }, state.types.length ? "No entity of these types has this name." : "No entity has this name.");
    fill(hits, notesList(made.notes), rows.length ? [h("ul", { class: "hit-list" }, rows)] : nothing);
    announce(rows.length ? plural(rows.length, "hit") : "No hit");
  }

  look();
  return () => one.stop();
}

