// @ts-check
/** Parts that several views share: messages, notes, marks of types, sizes. */

import { h, name, plural, count } from "../dom.js";
import { markOf } from "../palette.js";
import { forPeople } from "../notes.js";
import { set } from "../state.js";

/** The outlines of the shapes, in a box of 16 by 16. @type {Record<string, string>} */
export const OUTLINES = {
  circle: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 1 1 0-11",
  square: "M3 3h10v10H3z",
  diamond: "M8 1.5L14.5 8L8 14.5L1.5 8z",
  triangle: "M8 2l6.5 11.5h-13z",
};

/** The radius of the circle among the outlines. */
export const OUTLINE_RADIUS = 5.5;

/** The mark of a type: its shape in its colour. @param {string} type @param {boolean} [full] */
export function mark(type, full = true) {
  const { colour, shape } = markOf(type);
  const path = h("path", { d: OUTLINES[shape], fill: colour, "fill-opacity": full ? 1 : 0.25, stroke: colour, "stroke-width": 1.5 });
  return h("svg", { class: "mark", viewBox: "0 0 16 16", "aria-hidden": "true" }, path);
}

/** A type with its mark. @param {string} type */
export function typeName(type) {
  return h("span", { class: "type" }, mark(type), name(type, "type-name"));
}

/** A failure, with a way to continue. @param {any} error @param {() => void} [again] */
export function failure(error, again) {
  const sentence = error?.name === "ApiError" ? error.message : `The page failed: ${error?.message ?? error}. Reload it.`;
  return h("div", { class: "message error", role: "alert" },
    h("p", { dir: "auto" }, sentence),
    again && h("button", { type: "button", onclick: again }, "Try again"));
}

/** The notes on what is missing from an answer. @param {string[]} notes */
export function notesList(notes) {
  const shown = notesForPeople(notes);
  if (!shown.length) return null;
  return h("details", { class: "notes", open: shown.length <= 2 },
    h("summary", null, shown.length === 1 ? "A note on this answer" : `${shown.length} notes on this answer`),
    h("ul", null, shown.map(({ text }) => h("li", { dir: "auto" }, text))));
}

/** The notes on what is missing from an answer, on one line that can be opened. @param {string[]} notes @param {string[]} [further] Notes on other answers, which have no buttons. */
export function notesLine(notes, further = []) {
  const others = notesForPeople(further.filter((note) => !notes.includes(note)));
  const shown = [...notesForPeople(notes), ...others.map(({ text }) => ({ text }))];
  if (!shown.length) return null;
  const more = shown.length > 1 ? h("span", { class: "tag" }, `+${shown.length - 1}`) : null;
  return h("details", { class: "notes line" },
    h("summary", null, h("span", { class: "unseen" }, "Notes on this answer: "), h("bdi", { dir: "auto" }, shown[0].text), more),
    h("ul", null, shown.map(noteItem)));
}

/** @param {string[]} notes */
function notesForPeople(notes) {
  return notes.map(forPeople).filter(({ text }) => text);
}

/** @param {import("../notes.js").ShownNote} note */
function noteItem({ text, button, act }) {
  return h("li", { dir: "auto" }, text, button && act && h("button", { type: "button", class: "small", onclick: act }, button));
}

/** "23 nodes, 23 edges". @param {number} nodes @param {number} edges */
export function sizes(nodes, edges) {
  return `${plural(nodes, "node")}, ${plural(edges, "edge")}`;
}

/** The cost of calls for a model, and their time. @param {import("../api.js").Call[]} calls */
export function cost(calls) {
  const sum = (/** @type {"bytes" | "tokens" | "ms"} */ key) => calls.reduce((total, made) => total + made[key], 0);
  return `${plural(calls.length, "call")} · ${count(sum("bytes"))} bytes · about ${count(sum("tokens"))} tokens · ${count(Math.round(sum("ms")))} ms`;
}

/** A type in the legend, which shows and hides its nodes. @param {string} type @param {number} n The number of its nodes. @param {import("../state.js").State} state */
export function legendButton(type, n, state) {
  const off = state.hide.includes(type);
  const hide = off ? state.hide.filter((/** @type {string} */ t) => t !== type) : [...state.hide, type];
  return h("button", { type: "button", "aria-pressed": String(!off), onclick: () => set({ hide }, { replace: true }) },
    mark(type), name(type, "type-name"), h("span", { class: "number" }, count(n)));
}
