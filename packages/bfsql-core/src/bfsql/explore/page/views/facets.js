// @ts-check
/** The groups of the whole answer as bars; a bar filters by its value. */

import { count, h, name } from "../dom.js";
import { schemaOrNull } from "../schema.js";
import { set } from "../state.js";
import { propertiesOf } from "../steps.js";

/** @typedef {import("../state.js").State} State */

/** The number of properties that are grouped if none was chosen. */
const FIRST = 5;

/** @param {any} answer @param {State} state */
export function bars({ facets = {} }, state) {
  const groups = Object.entries(facets);
  const hint = state.offset ? "Groups come with the first page." : "The form above names the properties to group by.";
  return h("div", { class: "scroll groups", tabindex: "0", role: "region", "aria-label": "Groups" },
    groups.length ? groups.map(([key, facet]) => group(key, facet, state)) : h("p", { class: "empty" }, hint));
}

/** Properties of the types in an answer, to group by first. @param {any} answer */
export async function firstGroups({ schema_summary: { entity_types_found: types } }) {
  const known = await schemaOrNull();
  return known ? propertiesOf(types, known).map((one) => one.name).filter((key) => key !== "name").slice(0, FIRST) : [];
}

/** @param {string} key @param {any} facet @param {State} state */
function group(key, facet, state) {
  const { count: having, missing, distinct, values, other_values: others = 0, min, max, mean } = facet;
  const most = Math.max(...values.map((/** @type {any} */ [, n]) => n));
  const range = typeof min === "number" ? `${min} to ${max}, mean ${Number(mean.toPrecision(6))}` : "";
  const about = [`${count(having)} have it`, missing > 0 && `${count(missing)} do not`, `${count(distinct)} different`, range, percentiles(facet)].filter(Boolean);
  const items = values.map((/** @type {[string, number, number?]} */ [value, n, share]) => {
    const { now, change } = filter(key, value, state);
    const bar = h("button", { type: "button", "aria-pressed": String(now), onclick: () => set(change) }, name(value, "fact"), h("span", { class: "number", title: share && `${(100 * share).toFixed(2)} %` }, count(n)));
    bar.style.setProperty("--share", `${(100 * n) / most}%`);
    return h("li", null, bar);
  });
  return h("section", { "aria-label": `Group ${key}` }, h("h2", null, name(key)), h("p", { class: "hint" }, about.join(" · ")),
    h("ul", null, items), others > 0 && h("p", { class: "hint" }, `and ${count(others)} further values`));
}

/** The percentiles of a facet of which not all values are listed. @param {any} facet */
function percentiles(facet) {
  return ["p10", "p25", "p50", "p75", "p90"].filter((key) => key in facet).map((key) => `${key} ${facet[key]}`).join(", ");
}

/**
 * The change of the state that filters by a value, or no longer does: of the pattern if that alone
 * is shown, otherwise of the conditions.
 *
 * @param {string} key @param {string} value @param {State} state @returns {{now: boolean, change: Partial<State>}}
 */
function filter(key, value, { seeds, path, along, to, hops, where }) {
  const condition = `${/^not?\s|^[(^-]|-$|^[^.]*[[\]][^.]*$/i.test(key) ? `"${key}"` : key}=${quoted(value)}`;
  const [seed] = seeds;
  if (hops || seeds.length > 1 || path.length + along.length + to.length > 0 || key.includes(".")) {
    const now = where.includes(condition);
    return { now, change: { where: now ? where.filter((/** @type {string} */ one) => one !== condition) : [...where, condition] } };
  }
  const now = seed.includes(`[${condition}]`);
  const rest = now ? seed.replace(`[${condition}]`, "") : seed.replace(/:\*$/, "");
  return { now, change: { seeds: [now ? (rest.endsWith("]") ? rest : `${rest}:*`) : `${rest}[${condition}]`] } };
}

/** A value of a condition, in quotes where answers write it so (`models/condition.py`). @param {string} value */
function quoted(value) {
  if (value && value === value.trim() && !/^["'`=<>~]|[[\]|{}]|\s(and|or)\s|&&|(,|\band\b).*[=!<>~]|[=<>~|(,:]\s*["'`]/is.test(value)) return value;
  const quote = [..."\"'`"].find((one) => !value.includes(one)) ?? "";
  return quote + value + quote;
}
