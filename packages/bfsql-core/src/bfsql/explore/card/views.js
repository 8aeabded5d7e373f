// @ts-check
/** What stands beside the picture or instead of it: tables, bars, records, relations with their passages. */

import { count, h, name } from "../page/dom.js";
import { mark, typeName } from "../page/views/parts.js";

/** @typedef {import("../page/graph.js").Graph} Graph */

const MOST = { columns: 4, bars: 12 }; // as `server/apps.py` cuts answers
const UNLISTED = new Set(["id", "entity_type", "notes", "edges", "provenance", "name", "at"]);

/** @param {any} value @returns {string} */
const textOf = (value) => (Array.isArray(value) ? value.map(textOf).join(", ") : typeof value === "string" ? value : JSON.stringify(value) ?? "");

/** A node by its mark and name, to be chosen if there is something to do then. @param {Graph} graph @param {string} id @param {(id: string) => void} [onPick] */
export function nodeLabel(graph, id, onPick) {
  const node = graph.node(id);
  const label = h("span", { class: "node-name" }, node && mark(node.type, node.full), name(graph.nameOf(id)));
  return onPick ? h("button", { type: "button", class: "plain", onclick: () => onPick(id) }, label) : label;
}

/** @param {string} label @param {string[]} heads @param {any[][]} rows */
function table(label, heads, rows) {
  return h("div", { tabindex: "0", role: "region", "aria-label": label }, h("table", null,
    h("thead", null, h("tr", null, heads.map((head) => h("th", { scope: "col" }, name(head))))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((cell) => h("td", null, cell)))))));
}

/** The nodes with the properties that most of them have. @param {Graph} graph @param {(id: string) => void} onPick @param {number} [unlisted] Properties that the answer has left out. */
export function nodeTable(graph, onPick, unlisted = 0) {
  const uses = /** @type {Map<string, number>} */ (new Map());
  for (const key of graph.nodes.flatMap(({ metadata }) => Object.keys(metadata))) if (key !== "name") uses.set(key, (uses.get(key) ?? 0) + 1);
  const keys = [...uses].sort((a, b) => b[1] - a[1]).slice(0, MOST.columns).map(([key]) => key);
  const more = uses.size - keys.length + unlisted;
  return table("Nodes", ["name", ...keys, ...(more > 0 ? [`${more} more`] : [])], graph.nodes.map(({ id, metadata }) => [nodeLabel(graph, id, onPick), ...keys.map((key) => Object.hasOwn(metadata, key) && name(textOf(metadata[key])))]));
}

/** @param {{nodes: string[]}[]} walks @param {Graph} graph @param {(id: string) => void} onPick */
export function walkTable(walks, graph, onPick) {
  return table("Walks", Array.from({ length: Math.max(...walks.map(({ nodes }) => nodes.length)) }, (_, at) => (at ? `Step ${at}` : "Start")), walks.map(({ nodes }) => nodes.map((id) => nodeLabel(graph, id, onPick))));
}

/** Bars as long as their numbers. @param {string} title @param {[any, any][]} items What each stands for, and its number. @param {number} [unlisted] */
export function bars(title, items, unlisted = 0) {
  const most = Math.max(...items.map(([, value]) => Math.abs(value) || 0), 1e-9);
  const list = items.map(([what, value]) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${(100 * Math.abs(value) || 0) / most}%`;
    return h("li", null, h("span", { class: "what" }, what), h("span", { class: "number" }, typeof value === "number" ? count(value) : textOf(value)), h("span", { class: "track" }, bar));
  });
  return h("section", { class: "bars" }, h("h2", null, name(title)), h("ol", null, list), unlisted > 0 && h("p", { class: "muted" }, `${count(unlisted)} more values`));
}

/** Groups of the whole answer: its facets, otherwise its types and predicates. @param {any} answer */
export function groups({ facets, schema_summary: { node_counts: types, edge_counts: predicates } = { node_counts: {}, edge_counts: {} } }) {
  const counts = [bars("Types", Object.entries(types).map(([type, n]) => [typeName(type), n])), Object.keys(predicates).length > 0 && bars("Relations", Object.entries(predicates).map(([key, n]) => [name(key), n]))];
  const groups = Object.entries(facets ?? {}).map(([key, { values, other_values: other = 0 }]) =>
    bars(key, values.slice(0, MOST.bars).map((/** @type {any} */ [value, n]) => [name(value || "(empty)"), n]), other + Math.max(0, values.length - MOST.bars)));
  return h("div", { class: "facets", tabindex: "0", role: "region", "aria-label": "Groups" }, facets ? groups : counts);
}

/** Nodes in their order, with their first measure or number of walks. @param {any} answer @param {Graph} graph @param {(id: string) => void} onPick */
export const ranking = ({ measure }, graph, onPick) => bars(measure?.[0] ?? "walks", graph.nodes.map((node) => [nodeLabel(graph, node.id, onPick), measure ? node.measure?.[0]?.value ?? node.measure?.[0] : node.paths]));

/** An entity: its properties, its relations by step, and its passages. @param {any} answer */
export function entity({ id, entity_type: type, edges = {}, provenance, ...rest }) {
  const row = (/** @type {string} */ key, /** @type {any} */ value) => h("div", null, h("dt", null, name(key)), h("dd", { dir: "auto" }, value));
  const record = Object.entries(rest).filter(([key]) => !UNLISTED.has(key)).map(([key, value]) => row(key, textOf(value)));
  const steps = Object.entries(edges).map(([step, n]) => [name(step.replace(/^<-(.*)-$/s, "← $1").replace(/^-(.*)->$/s, "$1 →")), n]);
  const region = (/** @type {string} */ label, /** @type {any[]} */ ...parts) => h("div", { tabindex: "0", role: "region", "aria-label": label }, parts);
  return [region("Record", h("dl", null, row("id", id), row("type", typeName(type)), record)),
    region("Relations and passages", steps.length > 0 && bars("Relations", /** @type {any} */ (steps)), passages(provenance?.items ?? [], id))];
}

/** Passages that state relations. @param {any[]} items @param {string} [id] The entity that they are about, to name the other end. */
export function passages(items, id) {
  return items.map(({ subject, predicate, object, text_span: text, document_id: source, section, ...rest }) => h("figure", null,
    id && h("p", { class: "muted" }, name(id === subject ? `${predicate} → ${object}` : `← ${predicate} ${subject}`)),
    h("blockquote", { dir: "auto" }, text ?? textOf(rest)), h("figcaption", { class: "muted" }, name([source, section].filter(Boolean).join(", ")))));
}
