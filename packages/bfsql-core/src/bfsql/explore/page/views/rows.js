// @ts-check
/** The rows of walks (`show: "walks"`) as a table, and the pages of an answer. */

import { count, h, link, name } from "../dom.js";
import { href, set } from "../state.js";
import { mark } from "./parts.js";

/**
 * A row for each walk. Columns stand for steps; those of repeated steps have numbers alone.
 *
 * @param {any} answer @param {import("../graph.js").Graph} graph @param {import("../state.js").State} state
 */
export function rowTable({ walks }, graph, { path, offset }) {
  const width = Math.max(1, ...walks.map((/** @type {any} */ row) => row.nodes.length));
  const heads = Array.from({ length: width }, (_, at) => (!at ? "Start" : width === path.length + 1 ? path[at - 1] : `Step ${at}`));
  const rows = walks.map((/** @type {any} */ { nodes, edges = [] }, /** @type {number} */ nth) =>
    h("tr", null, h("td", { class: "number muted" }, count(offset + nth + 1)),
      heads.map((_, at) => h("td", null, at < nodes.length && [edges[at - 1] && h("span", { class: "muted" }, name(arrow(edges[at - 1]), "predicate")), nodeLink(nodes[at], graph)]))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    h("table", { class: width > 2 ? "rows wide" : "rows" },
      h("thead", null, h("tr", null, h("th", { scope: "col", class: "number" }, "#"), heads.map((head) => h("th", { scope: "col" }, name(head))))),
      h("tbody", null, rows)));
}

/** @param {string} id @param {import("../graph.js").Graph} graph */
function nodeLink(id, graph) {
  return h("span", { class: "type" }, mark(graph.node(id)?.type ?? ""), link(href({ view: "entity", id }), null, name(graph.nameOf(id))));
}

/** The predicate of a row as in a step: `>p` leaves, `<p` enters. @param {string} edge */
function arrow(edge) {
  return edge.startsWith(">") ? `-${edge.slice(1)}->` : edge.startsWith("<") ? `<-${edge.slice(1)}-` : edge;
}

/** Buttons to the pages of rows, or of a set; null if there is one page. @param {any} answer @param {import("../state.js").State} state */
export function pager({ walks, walk_count, nodes, node_count, max_hops }, { offset, limit }) {
  const items = walks ?? (max_hops === 0 ? nodes : []);
  const end = offset + items.length;
  const total = walks ? walk_count : node_count;
  if (!offset && (!items.length || end >= total)) return null;
  const turn = (/** @type {string} */ text, /** @type {number} */ to, /** @type {boolean} */ can) =>
    h("button", { type: "button", class: "small", disabled: !can, onclick: () => set({ offset: to }) }, text);
  return h("span", { class: "pager", role: "group", "aria-label": "Pages" },
    turn("Previous", Math.max(0, offset - limit), offset > 0), `${count(offset + 1)} to ${count(end)} of ${count(total)}`, turn("Next", end, end < total));
}
