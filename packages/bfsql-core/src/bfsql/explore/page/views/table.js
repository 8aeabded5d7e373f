// @ts-check
/** The graph as a table: the same answer as the picture, sortable and accessible to everybody. */

import { count, fill, h, icon, link, name } from "../dom.js";
import { nextOffset } from "../notes.js";
import { pickButton } from "../picked.js";
import { fieldsOf, isAlone } from "../sets.js";
import { href, set } from "../state.js";
import { orderOf } from "../walking.js";
import { predicateWords } from "../words.js";
import { bars } from "./facets.js";
import { sentences } from "./connections.js";
import { typeName } from "./parts.js";
import { longBody, rowTable } from "./rows.js";

/** The number of properties that are columns of a set. */
const MOST_COLUMNS = 4;

/** The icon for expansion: a node with three neighbours. */
const BRANCHES = "M6 8h8M5.5 7l8-5M5.5 9l8 5M6 8a2 2 0 1 0-4 0a2 2 0 1 0 4 0";

/** The main answer has the rows and groups; types that are hidden are not shown.
 * @typedef {{graph: import("../graph.js").Graph, answer?: any, groups?: Record<string, any>, state: import("../state.js").State, hidden: Set<string>, onExpand: (id: string) => void,
 * onPoint: (id: string | null) => void, onPick?: (from: string, to: string) => void}} TableHow */

/** @param {HTMLElement} container @param {TableHow} how */
export function table(container, how) {
  const { state, graph, answer } = how;
  const rows = answer?.walks;
  /** @type {Record<string, () => any>} */
  const tables = {
    ...(state.to?.length && graph.edges.length && { sentences: () => sentences(graph, how.onPick) }),
    ...(rows && { walks: () => rowTable(answer, graph, state) }),
    nodes: () => nodeTable(how),
    edges: () => edgeTable(how),
    ...(answer && { groups: () => bars(how.groups ?? {}, state) }),
  };
  const tab = Object.hasOwn(tables, state.tab) ? state.tab : Object.keys(tables)[0];
  const button = (/** @type {string} */ key, /** @type {string} */ text) =>
    h("button", { type: "button", "aria-pressed": String(key === tab), onclick: () => set({ tab: key, sort: "" }, { replace: true }) }, text);
  // A set alone has no edges, and its groups stand beside it.
  fill(container, answer && isAlone(state) && !graph.edges.length ? nodeTable(how) : [h("div", { class: "tabs", role: "group", "aria-label": "Table of" },
    tables.sentences && button("sentences", "Sentences"),
    rows && button("walks", `Walks (${count(rows.length)})`),
    button("nodes", `Nodes (${count(graph.nodes.length)})`),
    button("edges", `Edges (${count(graph.edges.length)})`),
    answer && button("groups", "Groups")), tables[tab]()]);
}

/** @param {TableHow} how */
function nodeTable({ graph, state, hidden, answer, groups = {}, onExpand, onPoint }) {
  const opened = new Set(state.open);
  const order = orderOf(state.sort_by);
  /** @param {any} n */
  const named = (n) => nameCell(n, state.details === "all", pickButton(n.id, n.name), !opened.has(n.id) && expandButton(n, onExpand));
  /** @type {any[]} */
  const columns = [
    { key: "name", title: "Name", by: "name", of: (/** @type {any} */ n) => n.name.toLocaleLowerCase(), cell: named },
    !(isAlone(state) && graph.typeCounts().length < 2) && { key: "type", title: "Type", of: (/** @type {any} */ n) => n.type, cell: (/** @type {any} */ n) => h("td", null, typeName(n.type)) },
    graph.edges.length > 0 && countColumn("degree", "Edges"),
    graph.nodes.some((n) => n.paths !== undefined) && countColumn("paths", "Paths"),
    ...measureColumns(state, graph.nodes),
  ].filter(Boolean);
  const own = columns.some(({ key }) => key !== "type" && key === order.key);
  const having = (/** @type {string} */ property) => graph.nodes.filter((n) => valueIn(n, property) !== undefined).length;
  const properties = [...new Set([own ? "" : order.key, ...columnsOf(fieldsOf(state), having, groups)])].filter((property) => property && having(property));
  columns.push(...properties.map((property) => propertyColumn(property, graph.nodes)));
  const key = own ? order.key : `property ${order.key}`;
  const rows = graph.nodes.filter((n) => !hidden.has(n.type));
  // Nodes that were added by expansions follow those of the ordered answer.
  const ordered = state.open.length ? "" : order.descending ? `-${key}` : key;
  const part = answer && (state.offset > 0 || nextOffset(answer) !== null);
  return sortable(columns, rows, state.sort, ordered, Boolean(part), (row, n) => {
    row.addEventListener("mouseenter", () => onPoint(n.id));
    row.addEventListener("mouseleave", () => onPoint(null));
  });
}

/** Properties that most nodes have, those with few values first; those that tell all nodes apart only where there are no others. @param {string[]} properties @param {(property: string) => number} having @param {Record<string, any>} groups */
function columnsOf(properties, having, groups) {
  const had = properties.filter(having);
  const shared = had.filter((property) => !groups[property] || groups[property].distinct < groups[property].count || groups[property].count < 2);
  const rank = (/** @type {string} */ property) => (groups[property]?.distinct ?? 0) - 1e4 * having(property);
  return (shared.length ? shared : had).sort((a, b) => rank(a) - rank(b)).slice(0, MOST_COLUMNS);
}

/** @param {any} n @param {boolean} whole Whether its record is shown too. @param {...any} buttons */
function nameCell(n, whole, ...buttons) {
  const tag = n.seed ? "seed" : n.full ? "" : "stub";
  const record = whole ? recordText(n) : "";
  return h("td", { class: "named" },
    h("div", null,
      link(href({ view: "entity", id: n.id }), { class: n.full ? "" : "stub" }, name(n.name)), tag && h("span", { class: "tag" }, tag),
      h("span", { class: "act" }, buttons)),
    record && name(record, "record"));
}

/** @param {any} n @param {(id: string) => void} onExpand */
function expandButton(n, onExpand) {
  const label = `Expand ${n.name.slice(0, 80)}`;
  return h("button", { type: "button", class: "small", title: "Expand: add its neighbours", "aria-label": label, onclick: () => onExpand(n.id) }, icon(BRANCHES));
}

/** The record on one line. @param {any} n */
function recordText({ metadata }) {
  return Object.entries(metadata)
    .filter(([key]) => key !== "name")
    .map(([key, value]) => `${key}: ${textOf(value)}`)
    .join("; ");
}

/** A column of numbers. @param {"degree" | "paths"} key @param {string} title */
function countColumn(key, title) {
  return { key, title, by: key, number: true, of: (/** @type {any} */ n) => n[key] ?? -1, cell: (/** @type {any} */ n) => h("td", { class: "number" }, n[key] === undefined ? "" : count(n[key])) };
}

/** A column for each measure; the first can be what orders the answer. @param {import("../state.js").State} state @param {any[]} nodes */
function measureColumns({ measure }, nodes) {
  if (!nodes.some((n) => n.measure)) return [];
  const titles = measure.map((/** @type {string} */ text) => text.replace(/^\s*([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=).*$/su, "$1"));
  return titles.map((/** @type {string} */ title, /** @type {number} */ at) => ({
    key: at ? `measure-${at}` : "measure", title, by: at ? title : "measure", number: true,
    of: (/** @type {any} */ { measure: { [at]: one } = [] }) => (Array.isArray(one) ? one[0][0] : one?.value ?? one ?? -Infinity),
    cell: (/** @type {any} */ n) => h("td", { class: "number" }, measureText(n.measure?.[at] ?? "")),
  }));
}

/** A measure; the nodes of `argmax`, `argmin` and `top` by name, with their values. @param {any} one */
function measureText(one) {
  if (Array.isArray(one)) return one.map(([value, id, text]) => `${text ?? id}: ${textOf(value)}`).join(", ");
  if (!one.nodes) return textOf(one);
  const names = one.nodes.map((/** @type {any} */ [id, text]) => text ?? id).join(", ");
  return `${names}${one.count > one.nodes.length ? ` of ${one.count}` : ""}: ${textOf(one.value)}`;
}

/** A column with a property. @param {string} property @param {any[]} nodes */
function propertyColumn(property, nodes) {
  const number = nodes.every((n) => ["number", "undefined"].includes(typeof valueIn(n, property)));
  const cell = (/** @type {any} */ n) => {
    const value = valueIn(n, property);
    return h("td", { class: number ? "number" : null }, value !== undefined && name(textOf(value), "fact"));
  };
  const of = (/** @type {any} */ n) => (number ? valueIn(n, property) ?? -Infinity : textOf(valueIn(n, property) ?? ""));
  return { key: `property ${property}`, title: property, by: property, number, of, cell };
}

/** @param {any} n @param {string} property */
function valueIn({ metadata }, property) {
  return Object.hasOwn(metadata, property) ? metadata[property] : undefined;
}

/** @param {any} value */
function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** @param {TableHow} how */
function edgeTable({ graph, state, hidden, onPick }) {
  const end = (/** @type {string} */ id) => h("td", null, link(href({ view: "entity", id }), null, name(graph.nameOf(id))));
  const nameKey = (/** @type {string} */ id) => graph.nameOf(id).toLocaleLowerCase();
  /** @type {any[]} */
  const columns = [
    { key: "subject", title: "Subject", of: (/** @type {any} */ e) => nameKey(e.subject), cell: (/** @type {any} */ e) => end(e.subject) },
    { key: "predicate", title: "Predicate", of: (/** @type {any} */ e) => e.predicate, cell: (/** @type {any} */ e) => h("td", null, onPick ? h("button", { type: "button", class: "sort", title: `Show record and evidence of -${e.predicate}->`, onclick: () => onPick(e.subject, e.object) }, name(predicateWords(e.predicate))) : name(predicateWords(e.predicate))) },
    { key: "object", title: "Object", of: (/** @type {any} */ e) => nameKey(e.object), cell: (/** @type {any} */ e) => end(e.object) },
  ];
  const rows = graph.edges.filter((e) => ![e.subject, e.object].some((id) => hidden.has(graph.node(id)?.type ?? "")));
  return sortable(columns, rows, state.sort, "", false);
}

/** @param {any[]} columns @param {any[]} rows @param {string} sort The column to sort by, with a minus if descending; empty for the order of the answer. @param {string}
 * ordered The column by which the answer is ordered, in the same form. @param {boolean} part Whether the rows are a page of the answer, so that a heading orders the
 * answer where it can. @param {(row: HTMLElement, item: any) => void} [onRow] */
function sortable(columns, rows, sort, ordered, part, onRow) {
  const key = (sort || ordered).replace(/^-/, "");
  const down = (sort || ordered).startsWith("-");
  const by = columns.find((c) => c.key === key);
  const compare = (/** @type {any} */ a, /** @type {any} */ b) => (a < b ? -1 : a > b ? 1 : 0);
  const sorted = sort && by ? [...rows].sort((a, b) => compare(by.of(a), by.of(b)) * (down ? -1 : 1)) : rows;
  const placed = by ? [...new Set([columns[0], by, ...columns])] : columns; // the values sorted by are next to the names
  const head = placed.map((column) => heading(column, key, down, part));
  const { body, more } = longBody(sorted, (item) => {
    const row = h("tr", null, placed.map((column) => column.cell(item)));
    onRow?.(row, item);
    return row;
  });
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", { class: columns.length > 4 ? "wide" : null }, h("thead", null, h("tr", null, head)), body), more);
}

/** @param {any} column @param {string} key @param {boolean} down @param {boolean} part */
function heading({ title, key: own, by, number }, key, down, part) {
  const now = own === key;
  const sort = now ? (down ? "descending" : "ascending") : "none";
  const next = now && !down ? `-${own}` : !now && number ? `-${own}` : own;
  const whole = part && by;
  const order = () => (whole ? set({ sort_by: next.replace(own, () => by), sort: "" }) : set({ sort: next }, { replace: true }));
  const about = whole ? `${title}: sorts the whole answer` : part ? `${title}: sorts the rows of this page` : title;
  return h("th", { scope: "col", "aria-sort": sort, class: `${own.replace(/ .*$/s, "")}-column ${number ? "number" : ""}` },
    h("button", { type: "button", class: "sort", title: about, onclick: order }, title, h("span", { "aria-hidden": "true", class: "arrow" }, now ? (down ? "↓" : "↑") : "")));
}
