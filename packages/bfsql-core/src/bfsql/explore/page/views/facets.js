// @ts-check
/** The groups of the whole answer as bars; a bar filters by its value. */

import { call } from "../api.js";
import { count, h, name } from "../dom.js";
import { moreValues } from "../notes.js";
import { schemaOrNull } from "../schema.js";
import { set } from "../state.js";
import { condition, propertiesOf } from "../steps.js";
import { isAlone, walkArguments } from "../walking.js";

/** @typedef {import("../state.js").State} State */

/** The number of properties that are grouped if none was chosen. */
const FIRST = 5;

/** The number of values above which a property is not grouped by itself. */
const MOST_VALUES = 50;

/** Bounds of the tool: groups of a call, and values of a group. */
const [MOST_FACETS, MOST_LISTED] = [20, 1000];

/** @param {Record<string, any>} facets @param {State} state */
export function bars(facets, state) {
  const groups = Object.entries(facets);
  const hint = state.offset ? "Groups come with the first page." : "The form above names the properties to group by.";
  return h("div", { class: "scroll groups", tabindex: "0", role: "region", "aria-label": "Groups" },
    groups.length ? groups.map(([key, facet]) => group(key, facet, state)) : h("p", { class: "empty" }, hint));
}

/** Properties by which an answer can be grouped: those that most nodes have, with some values, of which none is the rule. @param {any} answer @param {State} state */
export async function firstGroups({ schema_summary: { entity_types_found: types } }, state) {
  const known = await schemaOrNull();
  const keys = known ? propertiesOf(types, known).map((one) => one.name).filter((key) => key !== "name").slice(0, MOST_FACETS) : [];
  if (!keys.length) return [];
  const { facets = {} } = (await call("bfs_query", walkArguments({ ...state, facets: keys, limit: 0, offset: 0 }))).answer;
  const useful = Object.entries(facets).filter(([, { count: n, distinct, min }]) => distinct >= 2 && (distinct <= MOST_VALUES || typeof min === "number") && distinct < n);
  return useful.sort(([, a], [, b]) => b.count - a.count).slice(0, FIRST).map(([key]) => key);
}

/**
 * The groups of an answer. A group whose values are chosen has the counts without this choice, so
 * that another value can be chosen too.
 *
 * @param {any} answer @param {State} state @param {AbortSignal} signal @returns {Promise<Record<string, any>>}
 */
export async function groupsOf({ facets = {} }, state, signal) {
  const found = await Promise.all(Object.entries(facets).map(async ([key, facet]) => {
    const { values, without } = choice(key, state);
    const asked = state.facets.find((/** @type {string} */ one) => one.replace(/:\d+$/, "") === key) ?? key;
    if (!values.length || state.offset) return [key, facet];
    const made = await call("bfs_query", walkArguments({ ...state, ...without, facets: [asked], limit: 0, offset: 0 }), signal);
    const all = made.answer.facets?.[key];
    if (!all) return [key, facet];
    const listed = new Set(all.values.map((/** @type {[string, number]} */ [value]) => value));
    const unlisted = facet.values.filter((/** @type {[string, number]} */ [value]) => !listed.has(value));
    return [key, { ...all, values: [...unlisted, ...all.values], other_values: all.other_values && all.other_values - unlisted.length }];
  }));
  return Object.fromEntries(found);
}

/** @param {string} key @param {any} facet @param {State} state */
function group(key, facet, state) {
  const { count: having, missing, distinct, values, other_values: others = 0, min, max, mean } = facet;
  const most = Math.max(...values.map((/** @type {any} */ [, n]) => n));
  const numbers = typeof min === "number";
  const range = numbers ? `${min} to ${max}, mean ${Number(mean.toPrecision(6))}` : "";
  const about = [`${count(having)} have it`, missing > 0 && `${count(missing)} do not`, `${count(distinct)} different`, range, percentiles(facet)].filter(Boolean);
  const chosen = choice(key, state);
  const items = values.map((/** @type {[string, number, number?]} */ [value, n, share]) => {
    const now = chosen.values.includes(value);
    const next = now ? chosen.values.filter((one) => one !== value) : [...chosen.values, value];
    const bar = h("button", { type: "button", "aria-pressed": String(now), onclick: () => set(chosen.change(next)) }, name(value, "fact"), h("span", { class: "number", title: share && `${(100 * share).toFixed(2)} %` }, count(n)));
    bar.style.setProperty("--share", `${(100 * n) / most}%`);
    return h("li", null, bar);
  });
  const all = Math.min(distinct, MOST_LISTED);
  return h("section", { "aria-label": `Group ${key}` }, h("h2", null, name(key)), h("p", { class: "hint" }, about.join(" · ")),
    numbers && distinct > 2 && rangeForm(key, min, max, chosen.bounds),
    h("ul", null, items), others > 0 && h("button", { type: "button", class: "small", onclick: () => moreValues(key, `${key}:${all}`) }, `Show ${all === distinct ? "all" : count(all)}; ${count(others)} further values`));
}

/** Two numbers between which a property is to be. @param {string} key @param {number} min @param {number} max @param {(from: string, to: string) => Partial<State>} bounds */
function rangeForm(key, min, max, bounds) {
  const field = (/** @type {string} */ label, /** @type {number} */ hint) => h("input", { type: "text", inputmode: "decimal", "aria-label": `${key} ${label}`, placeholder: String(hint) });
  const [from, to] = [field("from", min), field("to", max)];
  const form = h("form", { class: "range" }, from, " to ", to, h("button", { class: "small" }, "Only these"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const [low, high] = [from, to].map(({ value }) => (Number.isFinite(Number(value)) ? value.trim() : ""));
    if (low || high) set(bounds(low, high));
  });
  return form;
}

/** The percentiles of a facet of which not all values are listed. @param {any} facet */
function percentiles(facet) {
  return ["p10", "p25", "p50", "p75", "p90"].filter((key) => key in facet).map((key) => `${key} ${facet[key]}`).join(", ");
}

/**
 * The values of a property that are chosen, in the pattern if a set alone is shown, otherwise in the
 * conditions; and the change of the state that chooses others.
 *
 * @param {string} key @param {State} state
 * @returns {{values: string[], without: Partial<State>, change: (values: string[]) => Partial<State>, bounds: (from: string, to: string) => Partial<State>}}
 */
function choice(key, state) {
  const { seeds, where } = state;
  const inPattern = isAlone(state) && seeds.length === 1 && !key.includes(".");
  const listed = inPattern ? conditionsIn(seeds[0]) : where;
  const start = condition(key, "=", []);
  const written = listed.find((/** @type {string} */ one) => one.startsWith(start));
  const rest = listed.filter((/** @type {string} */ one) => one !== written);
  const changed = (/** @type {string[]} */ now) => {
    if (!inPattern) return { where: now };
    const type = seeds[0].replace(/(?::\*|\[.*)$/s, "");
    return { seeds: [now.length ? type + now.map((one) => `[${one}]`).join("") : `${type}:*`] };
  };
  const bounded = (/** @type {string} */ one) => one.startsWith(condition(key, ">=", [])) || one.startsWith(condition(key, "<=", []));
  return {
    values: written ? valuesIn(written.slice(start.length)) : [],
    without: changed(rest),
    change: (values) => changed(values.length ? [...rest, condition(key, "=", values)] : rest),
    bounds: (from, to) => changed([...rest.filter((/** @type {string} */ one) => !bounded(one)), ...(from ? [condition(key, ">=", [from])] : []), ...(to ? [condition(key, "<=", [to])] : [])]),
  };
}

/** The values of a condition behind its sign. @param {string} text */
function valuesIn(text) {
  return [...text.matchAll(/\s*(?:(["'`])(.*?)\1|([^|]+?))\s*(?:\||$)/gs)].map(([, , quoted, plain]) => quoted ?? plain);
}

/** The conditions in the brackets of a pattern. @param {string} pattern */
function conditionsIn(pattern) {
  const found = [];
  let [depth, from, quote] = [0, 0, ""];
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at];
    if (quote) quote = sign === quote ? "" : quote;
    else if (depth && "\"'`".includes(sign) && /[[=<>~|]\s*$/.test(pattern.slice(0, at))) quote = sign;
    else if (sign === "[" && (depth += 1) === 1) from = at + 1;
    else if (sign === "]" && (depth -= 1) === 0) found.push(pattern.slice(from, at));
  }
  return found;
}
