// @ts-check
/** The rows of walks (`show: "walks"`) as a table, and the pages of an answer. */

import { count, h, link, name } from "../dom.js";
import { nextOffset } from "../notes.js";
import { href, set } from "../state.js";
import { relationWords, stepWords } from "../words.js";
import { mark } from "./parts.js";

/** The number of rows that are made at once. */
const ROWS = 200;

/** A row for each walk. Columns stand for steps; those of repeated steps have numbers alone. @param {any} answer @param {import("../graph.js").Graph} graph @param
 * {import("../state.js").State} state */
export function rowTable({ walks }, graph, { path, offset }) {
  const width = Math.max(1, ...walks.map((/** @type {any} */ row) => row.nodes.length));
  const heads = Array.from({ length: width }, (_, at) => (!at ? "Start" : width === path.length + 1 ? path[at - 1] : `Step ${at}`));
  const { body, more } = longBody(walks, ({ nodes, edges = [] }, nth) =>
    h("tr", null, h("td", { class: "number muted" }, count(offset + nth + 1)),
      heads.map((_, at) => h("td", null, at < nodes.length && [edges[at - 1] && h("span", { class: "muted" }, name(words(edges[at - 1]))), nodeLink(nodes[at], graph)]))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    h("table", { class: width > 2 ? "rows wide" : "rows" },
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "number" }, "#"), heads.map((head) => h("th", { scope: "col", title: head }, name(stepWords(head)))))),
      body), more);
}

/** The body of a table whose rows are made when they are asked for, and the button that asks. @param {any[]} items @param {(item: any, nth: number) => HTMLElement} rowOf */
export function longBody(items, rowOf) {
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more", onclick: extend });
  let end = 0;
  function extend() {
    body.append(...items.slice(end, end + ROWS).map((item, at) => rowOf(item, end + at)));
    end = Math.min(end + ROWS, items.length);
    more.hidden = end === items.length;
    more.textContent = `${count(end)} of ${count(items.length)} rows are shown. Show ${count(Math.min(ROWS, items.length - end))} more`;
  }
  extend();
  return { body, more };
}

/** @param {string} id @param {import("../graph.js").Graph} graph */
function nodeLink(id, graph) {
  return h("span", { class: "type" }, mark(graph.node(id)?.type ?? ""), link(href({ view: "entity", id }), null, name(graph.nameOf(id))));
}

/** The predicate of a row in words: `>p` leaves, `<p` enters. @param {string} edge */
function words(edge) {
  return relationWords([edge.replace(/^[<>]/, "")], edge.startsWith("<") ? "in" : "out");
}

/** Buttons to the pages of an answer; null if there is one page. @param {any} answer @param {import("../state.js").State} state */
export function pager(answer, { offset, limit }) {
  const { walks, walk_count, node_count, shown_count } = answer;
  const total = walks ? walk_count : shown_count ?? node_count;
  const end = nextOffset(answer) ?? total;
  if (!offset && end >= total) return null;
  const turn = (/** @type {string} */ text, /** @type {number} */ to, /** @type {boolean} */ can) =>
    h("button", { type: "button", class: "small", disabled: !can, onclick: () => set({ offset: to }) }, text);
  return h("span", { class: "pager", role: "group", "aria-label": "Pages" },
    turn("Previous", Math.max(0, offset - limit), offset > 0), `${count(offset + 1)} to ${count(end)} of ${count(total)}`, turn("Next", end, end < total));
}
