// @ts-check
/** What stands beside the picture, or instead of it: tables, bars, records, lines of relations with their passages. */

import { count, h, name } from "../page/dom.js";
import { mark, typeName } from "../page/views/parts.js";

/** @typedef {import("../page/graph.js").Graph} Graph */
/** @typedef {import("../page/graph.js").Edge} Edge */

/** The most columns of properties, and the most bars of a group, beyond which it is said how many more there are. */
const MOST = { columns: 4, bars: 12 };
const RECORD = new Set(["id", "entity_type", "notes", "edges", "provenance", "name"]);

/** @param {any} value */
function textOf(value) {
  return typeof value === "string" ? value : JSON.stringify(value) ?? "";
}

/** A node by its mark and name. @param {Graph} graph @param {string} id */
export function nodeLabel(graph, id) {
  const node = graph.node(id);
  return h("span", { class: "node-name" }, node && mark(node.type, node.full), name(graph.nameOf(id)));
}

/** The same, to be chosen. @param {Graph} graph @param {string} id @param {(id: string) => void} onPick */
function nodeButton(graph, id, onPick) {
  return h("button", { type: "button", class: "plain", onclick: () => onPick(id) }, nodeLabel(graph, id));
}

/** Rows of cells below their heads. @param {string} label @param {string[]} heads @param {any[][]} rows */
export function table(label, heads, rows) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, h("table", null,
    h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, name(head))))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell)))))));
}

/** The nodes with the properties that most of them have. @param {Graph} graph @param {(id: string) => void} onPick */
export function nodeTable(graph, onPick) {
  /** @type {Map<string, number>} */
  const uses = new Map();
  for (const { metadata } of graph.nodes) for (const key of Object.keys(metadata)) uses.set(key, (uses.get(key) ?? 0) + 1);
  uses.delete("name");
  const keys = [...uses].sort((a, b) => b[1] - a[1]).slice(0, MOST.columns).map(([key]) => key);
  return table("Nodes", ["name", ...keys], graph.nodes.map(({ id, metadata }) => [nodeButton(graph, id, onPick), ...keys.map((key) => key in metadata && name(textOf(metadata[key])))]));
}

/** @param {any} answer @param {Graph} graph @param {(id: string) => void} onPick */
export function walkTable({ walks }, graph, onPick) {
  const width = Math.max(...walks.map((/** @type {any} */ { nodes }) => nodes.length));
  const heads = Array.from({ length: width }, (_, at) => (at ? `Step ${at}` : "Start"));
  return table("Walks", heads, walks.map((/** @type {any} */ { nodes }) => nodes.map((/** @type {string} */ id) => nodeButton(graph, id, onPick))));
}

/** Bars as long as their numbers. @param {string} title @param {[any, number, string?][]} items What each stands for, its number, and the number as text. @param {number} [unlisted] */
export function bars(title, items, unlisted = 0) {
  const most = Math.max(...items.map(([, value]) => Math.abs(value)), 1e-9);
  const more = unlisted && h("p", { class: "muted" }, `${count(unlisted)} more`);
  return h("section", { class: "bars" }, h("h2", null, name(title)), h("ol", null, items.map(([what, value, text]) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${(100 * Math.abs(value)) / most}%`;
    return h("li", null, h("span", { class: "what" }, what), h("span", { class: "number" }, text ?? count(value)), h("span", { class: "track" }, bar));
  })), more);
}

/** Groups of the whole answer: its facets, otherwise its types and predicates. @param {any} answer */
export function groups({ facets, schema_summary: { node_counts: types, edge_counts: predicates } }) {
  if (!facets) return [[types, "Types"], [predicates, "Relations"]].map(([counts, title]) => bars(title, Object.entries(counts).map(([key, n]) => [title === "Types" ? typeName(key) : name(key), n])));
  return Object.entries(facets).map(([key, { values, other_values: other = 0 }]) =>
    bars(key, values.slice(0, MOST.bars).map((/** @type {any} */ [value, n]) => [name(value || "(empty)"), n]), other + Math.max(0, values.length - MOST.bars)));
}

/** Nodes in their order, with their first measure or number of walks. @param {any} answer @param {Graph} graph @param {(id: string) => void} onPick */
export function ranking({ measure }, graph, onPick) {
  return bars(measure?.[0] ?? "walks", graph.nodes.map((node) => {
    const value = measure ? node.measure?.[0] : node.paths;
    return [nodeButton(graph, node.id, onPick), typeof value === "number" ? value : 0, typeof value === "number" ? undefined : textOf(value?.value ?? value)];
  }));
}

/** The properties of an entity. @param {any} answer */
export function record(answer) {
  const fields = Object.entries(answer).filter(([key]) => !RECORD.has(key));
  return h("dl", null, h("div", null, h("dt", null, "type"), h("dd", null, typeName(answer.entity_type))),
    fields.map(([key, value]) => h("div", null, h("dt", null, name(key)), h("dd", { dir: "auto" }, textOf(value)))));
}

/** Passages that state a relation. @param {any[]} items */
export function passages(items) {
  return items.map(({ text_span: text, document_id: source, section, ...rest }) => h("figure", null,
    h("blockquote", { dir: "auto" }, text ?? textOf(rest)), h("figcaption", { class: "muted" }, name([source, section].filter(Boolean).join(", ")))));
}

/** A relation that shows its passages when it is opened. @param {any} what @param {any} badge @param {boolean} open @param {(place: HTMLElement) => void} onOpen */
export function relation(what, badge, open, onOpen) {
  const place = h("div", { class: "passages" });
  return h("details", { class: "relation", name: "relation", open, ontoggle: (/** @type {any} */ { target }) => target.open && onOpen(place) }, h("summary", null, what, badge), place);
}
