// @ts-check
/** The form for paths: where walks begin and end, relations to follow, what is counted, grouped and sorted. */

import { combobox } from "./combobox.js";
import { fill, h } from "./dom.js";
import { knownName } from "./names.js";
import { entityPicker, textList } from "./picker.js";
import { schema } from "./schema.js";
import { shown } from "./shown.js";
import { get, set } from "./state.js";
import { suggestConditions, suggestFacets, suggestMeasures, suggestOrder, suggestSteps, typesAfter } from "./steps.js";
import { fromSet, isAlone } from "./walking.js";

/** @typedef {import("./state.js").State} State */

const MOST_STEPS = 8;
const MOST_CONDITIONS = 200;
const MOST_MEASURES = 5;
const MOST_FACETS = 20;

/**
 * The form; every change makes a new call.
 *
 * @returns {{element: HTMLElement, update: (state: State) => void, problem: (error: any) => boolean}}
 *   `problem` shows an error of the API at the field of its argument, and returns whether there is
 *   such a field; without an error it removes all messages.
 */
export function pathForm() {
  /** @type {State} */
  let now = {};
  const seeds = ends("seeds", "Starts at", "A name, or Type[property=value]");
  const to = ends("to", "Ends at", "Any node");
  const path = textList({
    legend: "Path: relations to follow, step by step",
    item: (at) => `Step ${at + 1}`,
    placeholder: "-PREDICATE-> Type",
    most: MOST_STEPS,
    numbered: true,
    suggest: async (text, before) => {
      const known = await schema();
      return suggestSteps(text, typesAfter(before, seedTypes(), known), known);
    },
    onChange: (steps) => set(fromSet(now, { path: steps, ...withSteps(steps.length, now) })),
  });
  const along = texts("along", "Along: only these relations, in any order", "Relation", "-PREDICATE-", MOST_STEPS, (text, known) => suggestSteps(text, null, known));
  const where = texts("where", "Conditions", "Condition", "year>=1990", MOST_CONDITIONS, (text, known) => suggestConditions(text, known, reached()));
  const measure = texts("measure", "Measures of the shown nodes", "Measure", "count 1", MOST_MEASURES, (text, known) => suggestMeasures(text, now.path, seedTypes(), known));
  const facets = texts("facets", "Groups by the values of properties", "Group", "year", MOST_FACETS, suggestFacets);
  const choices = h("div", { class: "row" });
  const order = h("div", { class: "order" });
  let sort = orderField("");
  const summary = h("span", { class: "hint" });
  const element = h("details", { class: "path-form" },
    h("summary", null, "Path, conditions, order ", summary),
    h("div", { class: "path-fields" },
      h("div", { class: "path-further" }, seeds.element, path.element, along.element, to.element),
      h("div", { class: "path-further" }, where.element, choices, measure.element, facets.element, order)));

  /** @param {string} value */
  function orderField(value) {
    return combobox({
      label: "Sort by",
      value,
      placeholder: "-degree",
      suggest: async (text) => suggestOrder(text, await schema(), now.path.length > 0),
      onChange: (text) => set({ sort_by: text.trim() }),
    });
  }

  /** @param {State} state */
  function update(state) {
    const fresh = now.view === undefined;
    const before = now;
    now = state;
    const lists = { seeds, path, along, to, where, measure, facets };
    for (const [key, field] of Object.entries(lists)) field.update(state[key]);
    fill(choices, stepChoice("Show", "show", state.show || "all", [["all", "the walks"], ["ends", "their ends alone"], ["walks", "the walks as rows"], ...steps(state)]));
    choices.hidden = !state.path.length;
    measure.element.hidden = (!state.path.length || state.show === "walks") && !state.measure.length;
    along.element.hidden = state.path.length > 0 && !state.along.length;
    if (fresh || before.sort_by !== state.sort_by) {
      sort = orderField(state.sort_by);
      fill(order, sort.element);
    }
    const used = [...state.path, ...state.along.map((/** @type {string} */ step) => `along ${step}`), ...(state.to.length ? ["to a target"] : []), ...state.where, ...(state.sort_by ? [`by ${state.sort_by}`] : [])];
    summary.textContent = used.join("  ");
    if (fresh) element.open = used.length > 0;
  }

  /** @param {any} error */
  function problem(error) {
    const fields = { seeds, path, along, to, where, measure, facets, sort_by: sort };
    const at = Object.hasOwn(fields, error?.argument ?? "") ? error.argument : "";
    for (const [name, field] of Object.entries(fields)) field.problem(name === at ? error.message : "");
    if (at) element.open = true;
    return Boolean(at);
  }
  return { element, update, problem };
}

/** The field for where walks begin or end. @param {string} key @param {string} label @param {string} placeholder */
function ends(key, label, placeholder) {
  const nameOf = (/** @type {string} */ id) => shown().graph?.nameOf(id) ?? knownName(id);
  return entityPicker({ label, placeholder, patterns: true, nameOf, onChange: (ids) => set(fromSet(get(), { [key]: ids, ...(key === "seeds" && get().facets.length ? { facets: [] } : {}) })) });
}

/**
 * A list of texts that is an argument as it is.
 *
 * @param {string} key @param {string} legend @param {string} word @param {string} placeholder @param {number} most @param {(text: string, known: import("./schema.js").Schema) => import("./combobox.js").Offer} suggest
 */
function texts(key, legend, word, placeholder, most, suggest) {
  return textList({
    legend, placeholder, most,
    item: (at) => `${word} ${at + 1}`,
    suggest: async (text) => suggest(text, await schema()),
    hint: key === "where" ? conditionHint : undefined,
    onChange: (list) => set(fromSet(get(), { [key]: list })),
  });
}

/** The nodes that a condition is about. @param {string} text */
function conditionHint(text) {
  const state = get();
  const [, step, scope] = /^(?:no\s+)?(?:(\d+)[.\s]|([^=<>!~.\s-][^=<>!~.]*)\.)?/.exec(text) ?? [];
  if (step) return `of step ${step}: ${step === "0" ? "the start" : state.path[Number(step) - 1] ?? "there is none"}`;
  if (scope) return `of ${scope}`;
  if (isAlone(state)) return "of the set";
  return state.path.length ? "of the nodes that are shown" : "of all nodes that are reached";
}

/** The choices that are valid for this number of steps. @param {number} count @param {State} state */
function withSteps(count, { show, measure, sort_by }) {
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

/** @param {string} label @param {string} key @param {string} value @param {string[][]} options */
function stepChoice(label, key, value, options) {
  const select = h("select", { onchange: () => set({ [key]: select.value.replace(/^all$/, "") }) }, options.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "field" }, h("span", null, label), select);
}

/** The types and predicates of the answer, if there is one. @returns {string[]} */
function reached() {
  const { entity_types_found: types = [], predicates_found: predicates = [] } = shown().calls[0]?.answer?.schema_summary ?? {};
  return [...types, ...predicates];
}

/** The types of the seeds, if the picture contains them. */
function seedTypes() {
  const seeds = (shown().graph?.nodes ?? []).filter((node) => node.seed);
  return seeds.length ? new Set(seeds.map((node) => node.type)) : null;
}
