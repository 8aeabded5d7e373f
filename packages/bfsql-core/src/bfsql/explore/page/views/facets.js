// @ts-check
/** The groups of an answer as bars; a bar filters by its value. */

import { call } from "../api.js";
import { count, h, name } from "../dom.js";
import { moreValues } from "../notes.js";
import { conditionsOf, groupsFor, withConditions } from "../sets.js";
import { set } from "../state.js";
import { condition } from "../steps.js";
import { walkArguments } from "../walking.js";

/** @typedef {import("../state.js").State} State */

/** The number of groups that are shown if none was chosen, and the number of values above which one is not. */
const [MOST_SHOWN, MOST_VALUES] = [8, 50];

/** Of so many nodes, one must have a property that is grouped by itself. */
const RARE = 20;

/** Into how many ranges numbers are divided, if they have more values than that, and how wide ranges are. */
const [MOST_RANGES, MOST_SINGLE, STEPS] = [10, 20, [10, 20, 50, 100, 200, 500, 1000]];

/** The number of values that the tool lists. */
const MOST_LISTED = 1000;

/** @param {Record<string, any>} facets @param {State} state */
export function bars(facets, state) {
  const all = Object.entries(facets);
  /** @param {[string, any]} one */
  const useful = ([key, { count: n, missing, distinct, min }]) => choice(key, state).written.length > 0 || (n * RARE >= n + missing && distinct >= 2 && distinct < n && (distinct <= MOST_VALUES || typeof min === "number"));
  const groups = state.facets.length ? all : all.filter(useful).sort(([, a], [, b]) => shareOf(b) - shareOf(a) || a.distinct - b.distinct).slice(0, MOST_SHOWN);
  const hint = state.offset ? "Groups come with the first page." : all.length ? "No property divides these into groups." : "“Options” names properties to group by.";
  return h("div", { class: "groups", tabindex: "0", role: "region", "aria-label": "Groups" },
    groups.length ? groups.map(([key, facet]) => group(key, facet, state)) : h("p", { class: "empty" }, hint));
}

/** How many of so many nodes have a property. @param {any} facet */
function shareOf({ count: n, missing }) {
  return Math.round((RARE * n) / (n + missing));
}

/** The groups of an answer: those that it has, or those of the types that it found. A group whose values are chosen has the counts without this choice, so that another
 * value can be chosen too. @param {any} answer @param {State} state @param {AbortSignal} [signal] @returns {Promise<Record<string, any>>} */
export async function groupsOf(answer, state, signal) {
  const ask = async (/** @type {Partial<State>} */ change) => (await call("bfs_query", walkArguments({ ...state, limit: 0, offset: 0, ...change }), signal)).answer.facets ?? {};
  const keys = answer.facets || state.tab !== "groups" || state.offset ? [] : groupsFor(answer.schema_summary?.entity_types_found ?? []);
  const facets = answer.facets ?? (keys.length ? await ask({ facets: keys }) : {});
  const found = await Promise.all(Object.entries(facets).map(async ([key, facet]) => {
    const { values, without } = choice(key, state);
    const asked = state.facets.find((/** @type {string} */ one) => one.replace(/:\d+$/, "") === key) ?? key;
    if (!values.length || state.offset) return [key, facet];
    const all = (await ask({ ...without, facets: [asked] }))[key];
    if (!all) return [key, facet];
    const listed = new Set(all.values.map((/** @type {[string, number]} */ [value]) => value));
    const unlisted = facet.values.filter((/** @type {[string, number]} */ [value]) => !listed.has(value));
    return [key, { ...all, values: [...unlisted, ...all.values], other_values: all.other_values && all.other_values - unlisted.length }];
  }));
  return Object.fromEntries(found);
}

/** @param {string} key @param {any} facet @param {State} state */
function group(key, facet, state) {
  const { count: having, missing, distinct, other_values: others = 0, min, max, mean } = facet;
  const numbers = typeof min === "number";
  const range = numbers ? `${min} to ${max}, mean ${Number(mean.toPrecision(6))}` : "";
  const about = [`${count(having)} have it`, missing > 0 && `${count(missing)} do not`, `${count(distinct)} different`, range].filter(Boolean);
  const chosen = choice(key, state);
  const ranges = numbers && !chosen.values.length ? rangesOf(facet) : null;
  const rows = ranges
    ? ranges.map(({ from, to, n }) => ({ text: `${from} to ${to}`, n, now: false, change: chosen.bounds(String(from), String(to)) }))
    : facet.values.map((/** @type {[string, number]} */ [value, n]) => {
      const now = chosen.values.includes(value);
      return { text: value, n, now, change: chosen.change(now ? chosen.values.filter((one) => one !== value) : [...chosen.values, value]) };
    });
  const most = Math.max(...rows.map((/** @type {any} */ { n }) => n));
  const items = rows.map((/** @type {any} */ { text, n, now, change }) => {
    const bar = h("button", { type: "button", "aria-pressed": String(now), onclick: () => set(change) }, name(text, "fact"), h("span", { class: "number", title: `${((100 * n) / having).toFixed(2)} %` }, count(n)));
    bar.style.setProperty("--share", `${(100 * n) / most}%`);
    return h("li", null, bar);
  });
  const all = Math.min(distinct, MOST_LISTED);
  return h("section", { "aria-label": `Group ${key}` }, h("h2", null, name(key), chosen.written.length > 0 && h("button", { type: "button", class: "small", onclick: () => set(chosen.without) }, "All")), h("p", { class: "hint" }, about.join(" · ")),
    numbers && distinct > 2 && rangeForm(key, min, max, chosen.bounds),
    h("ul", null, items), others > 0 && h("button", { type: "button", class: "small", onclick: () => moreValues(key, `${key}:${all}`) }, `Show ${all === distinct ? "all" : count(all)}; ${count(others)} further values`));
}

/** Whole numbers in equal ranges, such as decades; null where some are not listed or few. @param {any} facet */
function rangesOf({ values, distinct, min, max, other_values: others }) {
  if (others || distinct <= MOST_SINGLE || !values.every((/** @type {[string]} */ [value]) => Number.isInteger(Number(value)))) return null;
  const step = STEPS.find((one) => (max - min) / one <= MOST_RANGES) ?? 10 ** Math.ceil(Math.log10((max - min) / MOST_RANGES));
  /** @type {Map<number, number>} */
  const counts = new Map();
  for (const [value, n] of values) counts.set(step * Math.floor(Number(value) / step), (counts.get(step * Math.floor(Number(value) / step)) ?? 0) + n);
  return [...counts].sort(([a], [b]) => a - b).map(([from, n]) => ({ from, to: from + step - 1, n }));
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

/** The conditions on a property that are chosen, and the changes of the state that choose others. @param {string} key @param {State} state @returns {{values: string[],
 * written: string[], without: Partial<State>, change: (values: string[]) => Partial<State>, bounds: (from: string, to: string) => Partial<State>}} */
function choice(key, state) {
  const [equal, least, most] = ["=", ">=", "<="].map((sign) => condition(key, sign, []));
  const written = conditionsOf(state).filter((one) => [equal, least, most].some((start) => one.startsWith(start)));
  const rest = conditionsOf(state).filter((one) => !written.includes(one));
  const [values] = written.filter((one) => one.startsWith(equal));
  return {
    values: values ? valuesIn(values.slice(equal.length)) : [],
    written,
    without: withConditions(state, rest),
    change: (now) => withConditions(state, now.length ? [...rest, condition(key, "=", now)] : rest),
    bounds: (from, to) => withConditions(state, [...rest, ...(from ? [least + from] : []), ...(to ? [most + to] : [])]),
  };
}

/** The values of a condition behind its sign. @param {string} text */
function valuesIn(text) {
  return [...text.matchAll(/\s*(?:(["'`])(.*?)\1|([^|]+?))\s*(?:\||$)/gs)].map(([, , quoted, plain]) => quoted ?? plain);
}
