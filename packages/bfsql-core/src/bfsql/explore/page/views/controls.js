// @ts-check
/** The controls of a walk: its seeds, its extent, its relations, and how much of it is shown. */

import { count, fill, h, link, name, plural } from "../dom.js";
import { schema, takesTime } from "../schema.js";
import { go, href, set } from "../state.js";
import { fromSet, isPattern, isSet } from "../walking.js";
import { mark } from "./parts.js";

/** @typedef {import("../state.js").State} State */

const HOPS = ["1", "2", "3", "4", "5"];
const DIRECTIONS = [["both", "either way"], ["out", "leaving"], ["in", "entering"]];
const DETAILS = [["name", "names"], ["all", "whole records"], ["none", "ids alone"]];
const LIMITS = [50, 100, 300, 1000, 5000];
const BUDGETS = [["", "the server's"], ["5000", "5,000 tokens"], ["20000", "20,000 tokens"], ["100000", "100,000 tokens"], ["0", "as much as allowed"]];

/** The number of types or predicates above which they can be searched. */
const MANY = 12;

/** Whether the further controls are open, which is kept from one state to the next. */
let opened = false;

/** @param {HTMLElement} container @param {State} state @param {(id: string) => string} nameOf */
export function controls(container, state, nameOf) {
  const focused = document.activeElement?.id;
  const path = state.path.length > 0;
  const fixed = path || state.along.length > 0;
  fill(container,
    h("div", { class: "seeds", role: "group", "aria-label": "Where the walk starts" }, state.seeds.map((/** @type {string} */ id) => seedChip(id, state, nameOf(id)))),
    choice("Hops", "hops", String(state.hops), hops(state), (value) => set(fromSet(state, { hops: Number(value) })), path),
    choice("Direction", "direction", state.direction, DIRECTIONS, (value) => set({ direction: value }), fixed),
    choice("Details", "details", state.details, DETAILS, (value) => set({ details: value })),
    choice(state.show === "walks" ? "Rows, at most" : "Nodes, at most", "limit", String(state.limit), limits(state.limit), (value) => set({ limit: Number(value) })),
    choice("Budget", "max_tokens", String(state.max_tokens ?? ""), budgets(state.max_tokens), (value) => set({ max_tokens: value === "" ? null : Number(value) })),
    filters(state, fixed));
  if (focused?.startsWith("control-")) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** How far a walk may go: a set may stay where it is, and what is named may be farther away. @param {State} state */
function hops(state) {
  const far = state.along.length || state.to.length;
  const listed = [...(isSet(state) && !far ? ["0"] : []), ...HOPS, ...(state.along.length ? ["10", "20"] : [])];
  const text = (/** @type {string} */ n) => (n === "0" ? "none: the set" : n === "1" && far ? "as needed" : n);
  return [...new Set([...listed, String(state.hops)])].map((n) => [n, text(n)]);
}

/** @param {number} now */
function limits(now) {
  return [...new Set([...LIMITS, now])].sort((a, b) => a - b).map((n) => [String(n), count(n)]);
}

/** @param {number | null} now */
function budgets(now) {
  const text = String(now ?? "");
  return BUDGETS.some(([value]) => value === text) ? BUDGETS : [...BUDGETS, [text, `${count(now ?? 0)} tokens`]];
}

/** @param {string} id @param {State} state @param {string} title */
function seedChip(id, state, title) {
  const rest = state.seeds.filter((/** @type {string} */ other) => other !== id);
  return h("span", { class: "chip" }, link(href(isPattern(id) ? { view: "walk", seeds: [id], hops: 0 } : { view: "entity", id }), null, name(title)),
    h("button", { type: "button", "aria-label": `Leave out ${title.slice(0, 80)}`, onclick: () => (rest.length ? set({ seeds: rest }) : go({ view: "start" })) }, "×"));
}

/**
 * @param {string} label @param {string} key @param {string} value @param {string[][]} options
 * @param {(value: string) => void} onChange @param {boolean} [disabled]
 */
function choice(label, key, value, options, onChange, disabled = false) {
  const select = h("select", { id: `control-${key}`, disabled, title: disabled ? "The path decides this" : null, onchange: () => onChange(select.value) },
    options.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "field" }, h("span", null, label), select);
}

/** Predicates to follow, types to leave out, types in full. @param {State} state @param {boolean} fixed Whether a path or `along` names the relations. */
function filters(state, fixed) {
  const used = (fixed ? 0 : state.predicates.length) + state.types.length + state.exclude.length + (state.at ? 1 : 0);
  const body = h("div", { class: "filters-body" });
  const element = h("details", { class: "filters", open: opened, ontoggle: () => (opened = element.open) && draw() },
    h("summary", { class: "button", id: "control-filters" }, "Filters", used > 0 && h("span", { class: "tag" }, count(used))), body);
  element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") element.open = false;
  });

  async function draw() {
    if (body.childElementCount) return;
    const known = await schema().catch(() => null);
    if (!known) return fill(body, h("p", { class: "muted" }, "The schema could not be read. Try again in a moment."));
    const timed = Boolean(state.at) || (await takesTime());
    fill(body,
      timed && timeField(state),
      !fixed && boxes("Follow only", "predicates", [...new Set([...known.predicates, ...state.predicates])], state, false),
      boxes("Leave out", "exclude", [...new Set([...known.types, ...state.exclude])], state, true),
      boxes("In full only, others as stubs", "types", [...new Set([...known.types, ...state.types])], state, true));
  }
  if (opened) draw();
  return element;
}

/** The time that a walk is about; what did not hold then is not there. @param {State} state */
function timeField(state) {
  const input = h("input", { type: "text", id: "control-at", value: state.at, placeholder: "2024-05-01, today, 2020..2023", onchange: () => set({ at: input.value.trim() }) });
  return h("label", { class: "field" }, h("span", null, "Only what held at"), input);
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
