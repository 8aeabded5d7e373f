// @ts-check
/** The state of the view, kept in the fragment of the address so that a link reproduces it. `#view=walk&seeds=a&seeds=b&hops=2`: a key with a list is repeated, a key
 * with its default value is omitted. Going back in the browser goes back in the walk. */

const TEXTS = { view: "start", q: "", id: "", show: "", direction: "both", details: "name", sort: "", sort_by: "", tab: "", hub: "", connect: "yes", at: "" };
const NUMBERS = { hops: 1, limit: 300, max_tokens: null, k: null, step: 0, offset: 0 };
const LISTS = ["seeds", "predicates", "types", "exclude", "hide", "path", "along", "to", "where", "measure", "facets", "open", "panel"];

/** What can change while the answer remains on its page. */
const ON_PAGE = new Set(["hide", "tab", "sort", "open", "offset", "panel"]);

/** @typedef {Record<string, any>} State */

/** @type {Set<(state: State) => void>} */
const subscribers = new Set();

let current = parse(location.hash);

/** Read a fragment; values that cannot be read get their defaults. @param {string} fragment @returns {State} */
export function parse(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  /** @type {State} */
  const state = {};
  for (const [key, value] of Object.entries(TEXTS)) state[key] = given.get(key) ?? value;
  for (const [key, value] of Object.entries(NUMBERS)) {
    const text = given.get(key);
    const number = text === null || text === "" ? NaN : Number(text);
    state[key] = Number.isInteger(number) && number >= 0 ? number : value;
  }
  for (const key of LISTS) state[key] = key === "path" ? given.getAll(key) : [...new Set(given.getAll(key))];
  return Object.freeze(state);
}

/** The fragment of a state. @param {State} state */
export function format(state) {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(TEXTS)) {
    if (state[key] !== undefined && (state[key] !== value || key === "view")) parts.set(key, state[key]);
  }
  for (const [key, value] of Object.entries(NUMBERS)) {
    if (state[key] !== undefined && state[key] !== null && state[key] !== value) parts.set(key, String(state[key]));
  }
  for (const key of LISTS) for (const item of state[key] ?? []) parts.append(key, item);
  return `#${parts}`;
}

/** The current state: a frozen object in which every key has a value. */
export function get() {
  return current;
}

/** Change the state; another question begins at its first page, with the panel closed. @param {Partial<State>} change @param {{replace?: boolean}} [how] Whether the change replaces the
 * previous step, so that going back skips it. */
export function set(change, { replace = false } = {}) {
  const other = Object.keys(change).every((key) => ON_PAGE.has(key)) ? {} : { offset: 0, panel: [] };
  const fragment = format({ ...current, ...other, ...change });
  if (fragment === format(current)) return;
  history[replace ? "replaceState" : "pushState"](null, "", fragment);
  changed();
}

/** Go to a view, without keeping anything of the previous one but its date. @param {Partial<State>} values */
export function go(values) {
  history.pushState(null, "", href(values));
  changed();
}

/** The address of a view, for links; the date of a view that has one stays. @param {Partial<State>} values */
export function href(values) {
  return format({ at: ["walk", "entity", "intersect"].includes(current.view) ? current.at : "", ...values });
}

/** Call a function at every change. @param {(state: State) => void} f @returns {() => void} */
export function subscribe(f) {
  subscribers.add(f);
  return () => subscribers.delete(f);
}

function changed() {
  current = parse(location.hash);
  for (const f of [...subscribers]) f(current);
}

addEventListener("popstate", changed);
