// @ts-check
/** The graph as a table: the same answer as the picture, sortable and accessible to everybody. */

import { count, fill, h, link, name } from "../dom.js";
import { pickButton } from "../picked.js";
import { href, set } from "../state.js";
import { typeName } from "./parts.js";

const ROWS = 200;

/**
 * @typedef {object} TableHow
 * @property {import("../graph.js").Graph} graph
 * @property {import("../state.js").State} state
 * @property {Set<string>} hidden Types that are not shown.
 * @property {(id: string) => void} onExpand
 * @property {(id: string | null) => void} onPoint
 */

/** @param {HTMLElement} container @param {TableHow} how */
export function table(container, how) {
  const { state, graph } = how;
  const tab = state.tab === "edges" ? "edges" : "nodes";
  const tabs = h("div", { class: "tabs", role: "group", "aria-label": "Table of" },
    tabButton("nodes", `Nodes (${count(graph.nodes.length)})`, tab), tabButton("edges", `Edges (${count(graph.edges.length)})`, tab));
  fill(container, tabs, tab === "nodes" ? nodeTable(how) : edgeTable(how));
}

/** @param {string} tab @param {string} text @param {string} now */
function tabButton(tab, text, now) {
  return h("button", { type: "button", "aria-pressed": String(tab === now), onclick: () => set({ tab, sort: "" }, { replace: true }) }, text);
}

/** @param {TableHow} how */
function nodeTable({ graph, state, hidden, onExpand, onPoint }) {
  const opened = new Set(state.open);
  /** @type {any[]} */
  const columns = [
    { key: "name", title: "Name", of: (/** @type {any} */ n) => n.name.toLocaleLowerCase(), cell: nameCell },
    ...(state.details === "all" ? [{ key: "record", title: "Record", of: recordText, cell: (/** @type {any} */ n) => h("td", null, name(recordText(n))) }] : []),
    { key: "type", title: "Type", of: (/** @type {any} */ n) => n.type, cell: (/** @type {any} */ n) => h("td", null, typeName(n.type)) },
    { key: "degree", title: "Edges", number: true, of: (/** @type {any} */ n) => n.degree, cell: (/** @type {any} */ n) => h("td", { class: "number" }, count(n.degree)) },
    ...["paths", "distinct"].filter((key) => graph.nodes.some((/** @type {any} */ n) => n[key] !== undefined)).map(countColumn),
    { key: "", title: "", cell: (/** @type {any} */ n) => h("td", { class: "act" }, pickButton(n.id, n.name), " ", !opened.has(n.id) && h("button", { type: "button", class: "small", "aria-label": `Expand ${n.name.slice(0, 80)}`, onclick: () => onExpand(n.id) }, "Expand")) },
  ];
  const rows = graph.nodes.filter((n) => !hidden.has(n.type));
  return sortable(columns, rows, state, (row, n) => {
    row.addEventListener("mouseenter", () => onPoint(n.id));
    row.addEventListener("mouseleave", () => onPoint(null));
  });
}

/** @param {any} n */
function nameCell(n) {
  const tag = n.seed ? "seed" : n.full ? "" : "stub";
  return h("td", { class: "named" }, h("div", null,
    link(href({ view: "entity", id: n.id }), { class: n.full ? "" : "stub" }, name(n.name)), tag && h("span", { class: "tag" }, tag)));
}

/** The record on one line. @param {any} n */
function recordText({ metadata }) {
  return Object.entries(metadata)
    .filter(([key]) => key !== "name")
    .map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("; ");
}

/** A column of what a path counted for its shown nodes. @param {string} key */
function countColumn(key) {
  const of = (/** @type {any} */ n) => n[key] ?? -1;
  return { key, title: key === "paths" ? "Paths" : "Distinct", number: true, of, cell: (/** @type {any} */ n) => h("td", { class: "number" }, n[key] === undefined ? "" : count(n[key])) };
}

/** @param {TableHow} how */
function edgeTable({ graph, state, hidden }) {
  const end = (/** @type {string} */ id) => h("td", null, link(href({ view: "entity", id }), null, name(graph.nameOf(id))));
  const nameKey = (/** @type {string} */ id) => graph.nameOf(id).toLocaleLowerCase();
  /** @type {any[]} */
  const columns = [
    { key: "subject", title: "Subject", of: (/** @type {any} */ e) => nameKey(e.subject), cell: (/** @type {any} */ e) => end(e.subject) },
    { key: "predicate", title: "Predicate", of: (/** @type {any} */ e) => e.predicate, cell: (/** @type {any} */ e) => h("td", null, name(e.predicate, "predicate")) },
    { key: "object", title: "Object", of: (/** @type {any} */ e) => nameKey(e.object), cell: (/** @type {any} */ e) => end(e.object) },
  ];
  const rows = graph.edges.filter((e) => ![e.subject, e.object].some((id) => hidden.has(graph.node(id)?.type ?? "")));
  return sortable(columns, rows, state);
}

/**
 * @param {any[]} columns @param {any[]} rows @param {import("../state.js").State} state
 * @param {(row: HTMLElement, item: any) => void} [onRow]
 */
function sortable(columns, rows, state, onRow) {
  const key = state.sort.replace(/^-/, "");
  const down = state.sort.startsWith("-");
  const by = columns.find((c) => c.key && c.key === key);
  const sorted = by ? [...rows].sort((a, b) => compare(by.of(a), by.of(b)) * (down ? -1 : 1)) : rows;
  const head = columns.map((column) => heading(column, key, down));
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more" });
  let end = 0;
  const extend = () => {
    for (const item of sorted.slice(end, end + ROWS)) {
      const row = h("tr", null, columns.map((column) => column.cell(item)));
      onRow?.(row, item);
      body.append(row);
    }
    end = Math.min(end + ROWS, sorted.length);
    more.hidden = end === sorted.length;
    more.textContent = `${count(end)} of ${count(sorted.length)} rows are shown. Show ${count(Math.min(ROWS, sorted.length - end))} more`;
  };
  more.addEventListener("click", extend);
  extend();
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", { class: columns.length > 4 ? "wide" : null }, h("thead", null, h("tr", null, head)), body), more);
}

/** @param {any} column @param {string} key @param {boolean} down */
function heading({ title, key: own, number }, key, down) {
  if (!own) return h("th", { scope: "col", class: "act-column" }, h("span", { class: "unseen" }, "Actions"));
  const now = own === key;
  const sort = now ? (down ? "descending" : "ascending") : "none";
  const next = now && !down ? `-${own}` : !now && number ? `-${own}` : own;
  return h("th", { scope: "col", "aria-sort": sort, class: `${own}-column ${number ? "number" : ""}` },
    h("button", { type: "button", class: "sort", onclick: () => set({ sort: next }, { replace: true }) }, title, h("span", { "aria-hidden": "true", class: "arrow" }, now ? (down ? "↓" : "↑") : "")));
}

/** @param {any} a @param {any} b */
function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
