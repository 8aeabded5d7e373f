// @ts-check
/** Hubs: an entity with many relations first shows counts by predicate, to choose from. */

import { call } from "../api.js";
import { count, h, name } from "../dom.js";
import { nameIn } from "../graph.js";
import { remember } from "../names.js";
import { get } from "../state.js";
import { stepWords } from "../words.js";
import { notesList } from "./parts.js";

/** Relations are steps of a path with their counts, the most frequent first. @typedef {{id: string, name: string, relations: [string, number][], total: number, notes: string[]}} Hub */

/** Check whether an entity has more relations than a picture shows. @param {string} id @param {number} most @param {AbortSignal} [signal] @returns {Promise<Hub | null>}
 * Null if it has no more than that. */
export async function hubAt(id, most, signal) {
  const { answer, notes } = await call("describe_entity", { id, at: get().at }, signal);
  const { relations, counted } = relationsOf(answer);
  const total = relations.reduce((sum, [, n]) => sum + n, 0);
  const name = nameIn(answer) ?? answer.id;
  remember(id, name);
  if (total <= most && counted) return null;
  return { id: answer.id, name, relations, total, notes };
}

/** The counts of an entity's relations. A record without them has none, unless a note says that they were not counted. @param {any} record */
export function relationsOf({ edges, notes = [] }) {
  const relations = /** @type {[string, number][]} */ (Object.entries(edges ?? {}));
  return { relations, counted: edges !== undefined || !notes.some((/** @type {string} */ note) => note.startsWith("edges: ")) };
}

/** The choice of relations to open. @param {Hub} hub @param {number} limit The maximum number of nodes in an answer. @param {(step: string) => void} choose Called with a
 * step, or with an empty one for all relations. @param {() => void} [cancel] */
export function hubChoice({ name: title, relations, total, notes }, limit, choose, cancel) {
  const rows = relations.map(([step, n]) =>
    h("li", null, h("button", { type: "button", title: step, onclick: () => choose(step) }, name(stepWords(step)), h("span", { class: "number" }, count(n)))));
  const size = relations.length ? `has ${count(total)} relations` : "has more relations than could be counted";
  return h("section", { class: "hub", "aria-label": "What to open", tabindex: "-1", onkeydown: (/** @type {KeyboardEvent} */ e) => e.key === "Escape" && cancel?.() },
    h("h2", null, name(title), ` ${size}`),
    h("p", { class: "muted" }, "Choose which to follow."),
    notesList(notes),
    h("ul", null, rows),
    h("div", { class: "row" },
      h("button", { type: "button", onclick: () => choose("") }, `All, up to ${count(limit)} nodes`),
      cancel && h("button", { type: "button", onclick: cancel }, "Cancel")));
}
