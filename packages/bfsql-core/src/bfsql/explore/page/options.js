// @ts-check
/** The menu "Options" of a walk: how far, in which direction and how much, what is counted and in which order. */

import { combobox } from "./combobox.js";
import { count, fill, h, name, plural } from "./dom.js";
import { chipList, entityPicker } from "./picker.js";
import { schema, takesTime } from "./schema.js";
import { fromSet, isSet, seedTypes } from "./sets.js";
import { get, set } from "./state.js";
import { suggestFacets, suggestMeasures, suggestOrder, suggestSteps } from "./steps.js";
import { mark } from "./views/parts.js";

/** @typedef {import("./state.js").State} State */

const HOPS = ["1", "2", "3", "4", "5"];
const DIRECTIONS = [["both", "either way"], ["out", "leaving"], ["in", "entering"]];
const DETAILS = [["name", "names"], ["all", "whole records"], ["none", "ids alone"]];
const LIMITS = [["50", "50"], ["100", "100"], ["300", "300"], ["1000", "1,000"], ["5000", "5,000"]];
const BUDGETS = [["", "the server's"], ["5000", "5,000 tokens"], ["20000", "20,000 tokens"], ["100000", "100,000 tokens"], ["0", "as much as allowed"]];

/** The number of types or predicates above which they can be searched. */
const MANY = 12;

/** @param {(id: string) => string} nameOf */
export function options(nameOf) {
  const ends = (/** @type {string} */ key, /** @type {string} */ label, /** @type {string} */ placeholder) =>
    entityPicker({ label, placeholder, patterns: true, nameOf, onChange: (ids) => set(fromSet(get(), { [key]: ids, ...(key === "seeds" ? { facets: [] } : {}) })) });
  const list = (/** @type {string} */ key, /** @type {string} */ legend, /** @type {string} */ word, /** @type {string} */ placeholder, /** @type {number} */ most, /** @type {(text: string, known: import("./schema.js").Schema) => import("./combobox.js").Offer} */ suggest) =>
    chipList({ legend, item: (at) => `${word} ${at + 1}`, placeholder, most, suggest: async (text) => suggest(text, await schema()), onChange: (texts) => set({ [key]: texts }) });
  /** @type {Record<string, ReturnType<typeof chipList>>} */
  const lists = {
    seeds: ends("seeds", "Starts at", "A name, or Type[property=value]"),
    to: ends("to", "Ends at", "Any node"),
    along: list("along", "Only these relations, in any order", "Relation", "-PREDICATE-", 8, (text, known) => suggestSteps(text, null, known)),
    measure: list("measure", "Measures of the shown nodes", "Measure", "count 1", 5, (text, known) => suggestMeasures(text, get().path, seedTypes(get()), known)),
    facets: list("facets", "Groups by the values of properties", "Group", "year", 20, suggestFacets),
  };
  const choices = h("div", { class: "row" });
  const order = h("div");
  const filters = h("div", { class: "filters-body" });
  const fieldsets = Object.fromEntries(Object.entries(lists).map(([key, { element: field }]) => [key, h("div", { class: "option" }, h("span", null, field.getAttribute("aria-label")), field)]));
  const used = h("span", { class: "tag" });
  const element = h("details", { class: "options", ontoggle: () => element.open && drawFilters() },
    h("summary", { class: "button" }, "Options", used),
    h("div", { class: "options-body" }, choices, Object.values(fieldsets), order, filters));
  element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") element.open = false;
  });
  let sort = orderField("");
  fill(order, sort.element);

  /** @param {string} value */
  function orderField(value) {
    return combobox({ label: "Sort by", value, placeholder: "-degree", suggest: async (text) => suggestOrder(text, await schema(), get().path.length > 0), onChange: (text) => set({ sort_by: text.trim() }) });
  }

  /** @param {State} state */
  function update(state) {
    const path = state.path.length > 0;
    const focused = document.activeElement?.id;
    fill(choices,
      choice("Hops", "hops", String(state.hops), hops(state), (value) => set(fromSet(state, { hops: Number(value) })), path),
      choice("Direction", "direction", state.direction, DIRECTIONS, (value) => set({ direction: value }), isFixed(state)),
      choice("Details", "details", state.details, DETAILS, (value) => set({ details: value })),
      path && choice("Show", "show", state.show || "all", [["all", "the walks"], ["ends", "their ends alone"], ["walks", "the walks as rows"], ...steps(state)], (value) => set({ show: value.replace(/^all$/, "") })),
      choice(state.show === "walks" ? "Rows, at most" : "Nodes, at most", "limit", String(state.limit), LIMITS, (value) => set({ limit: Number(value) })),
      choice("Budget", "max_tokens", String(state.max_tokens ?? ""), BUDGETS, (value) => set({ max_tokens: value === "" ? null : Number(value) })));
    for (const [key, field] of Object.entries(lists)) field.update(state[key]);
    fieldsets.measure.hidden = (!path || state.show === "walks") && !state.measure.length;
    fieldsets.along.hidden = path && !state.along.length;
    if (sort.input.value !== state.sort_by && sort.input !== document.activeElement) fill(order, (sort = orderField(state.sort_by)).element);
    const chosen = [...state.predicates, ...state.types, ...state.exclude, ...state.along, ...state.measure].length + [state.at, state.sort_by, state.show].filter(Boolean).length;
    used.textContent = chosen ? count(chosen) : "";
    used.hidden = !chosen;
    if (element.open) drawFilters();
    if (focused?.startsWith("control-")) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  /** Predicates to follow, types to leave out, types in full, and a time. */
  async function drawFilters() {
    const known = await schema().catch(() => null);
    if (!known) return fill(filters, h("p", { class: "muted" }, "The schema could not be read. Try again in a moment."));
    const date = await dateField();
    const state = get();
    const focused = document.activeElement?.id;
    fill(filters, date,
      !isFixed(state) && boxes("Follow only", "predicates", [...new Set([...known.predicates, ...state.predicates])], state, false),
      boxes("Leave out", "exclude", [...new Set([...known.types, ...state.exclude])], state, true),
      boxes("In full only, others as stubs", "types", [...new Set([...known.types, ...state.types])], state, true));
    if (focused?.startsWith("control-")) document.getElementById(focused)?.focus({ preventScroll: true });
  }
  return { element, update, fields: () => ({ ...lists, sort_by: sort }) };
}

/** The field of a date, if the graph has dates. */
export async function dateField() {
  const at = h("input", { type: "text", id: "control-at", value: get().at, placeholder: "2024-05-01, today, 2020..2023", onchange: () => set({ at: at.value.trim() }) });
  return Boolean(get().at || (await takesTime())) && h("label", { class: "field" }, h("span", null, "Only what held at"), at);
}

/** Whether a path or `along` names the relations. @param {State} state */
function isFixed(state) {
  return state.path.length > 0 || state.along.length > 0;
}

/** The choices that are valid for this number of steps. @param {number} count @param {State} state */
export function withSteps(count, { show, measure, sort_by }) {
  return {
    show: count === 0 || Number(show) > count ? "" : show,
    measure: count === 0 ? [] : measure,
    sort_by: count === 0 && /^-?(?:paths|measure)$/.test(sort_by) ? "" : sort_by,
  };
}

/** @param {State} state @returns {string[][]} */
function steps({ path }) {
  return [["0", "nodes of step 0: the seeds"], ...path.map((/** @type {string} */ text, /** @type {number} */ at) => [String(at + 1), `nodes of step ${at + 1}: ${text.slice(0, 40)}`])];
}

/** How far a walk may go: a set may stay where it is, and what is named may be farther away. @param {State} state */
function hops(state) {
  const far = state.along.length || state.to.length;
  const listed = [...(isSet(state) && !far ? ["0"] : []), ...HOPS, ...(state.along.length ? ["10", "20"] : [])];
  return listed.map((n) => [n, n === "0" ? "none: the set" : n === "1" && far ? "as needed" : n]);
}

/** @param {string} label @param {string} key @param {string} value @param {string[][]} options @param {(value: string) => void} onChange @param {boolean} [disabled] */
function choice(label, key, value, options, onChange, disabled = false) {
  const select = h("select", { id: `control-${key}`, disabled, title: disabled ? "The path decides this" : null, onchange: () => onChange(select.value) },
    (options.some(([v]) => v === value) ? options : [...options, [value, value]]).map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "field" }, h("span", null, label), select);
}

/** @param {string} legend @param {string} key @param {string[]} values @param {State} state @param {boolean} marked */
function boxes(legend, key, values, state, marked) {
  const chosen = new Set(state[key]);
  const item = (/** @type {string} */ value, /** @type {number} */ index) =>
    h("label", { class: "box" },
      h("input", { type: "checkbox", id: `control-${key}-${index}`, checked: chosen.has(value), onchange: () => set({ [key]: chosen.has(value) ? state[key].filter((/** @type {string} */ v) => v !== value) : [...state[key], value] }) }),
      marked && mark(value), name(value, marked ? "type-name" : "predicate"));
  const list = h("div", { class: "boxes" }, values.map(item));
  const find = h("input", { type: "search", class: "find", placeholder: `Find among ${count(values.length)}`, "aria-label": `${legend}: find among ${count(values.length)}`, oninput: () => {
    for (const [at, box] of [...list.children].entries()) box.hidden = !values[at].toLowerCase().includes(find.value.trim().toLowerCase());
  } });
  return h("fieldset", null, h("legend", null, legend, chosen.size > 0 && h("span", { class: "tag" }, plural(chosen.size, "chosen", "chosen"))), values.length > MANY && find, list);
}
