// @ts-check
/** The graph on the page as CSV and GraphML. */

import { replaceHidden } from "./characters.js";

/** @typedef {import("./graph.js").Node} Node */
/** @typedef {import("./graph.js").Edge} Edge */

const BYTE_ORDER_MARK = "\ufeff";

// --- CSV ---------------------------------------------------------------------------------

const NODE_COLUMNS = ["id", "type", "name"];
const EDGE_COLUMNS = ["subject", "predicate", "object"];

/** What a spreadsheet takes for the start of a formula, including wide forms and leading blanks. */
const FORMULA = /^[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** A table of nodes, which `bfsql load` reads. @param {Node[]} nodes */
export function nodesAsCsv(nodes) {
  return recordsAsCsv(NODE_COLUMNS, nodes, ({ id, type, name, metadata }) => [id, type, metadata?.name ?? (name === id ? "" : name)]);
}

/** A table of edges, which `bfsql load` reads. @param {Edge[]} edges */
export function edgesAsCsv(edges) {
  return recordsAsCsv(EDGE_COLUMNS, edges, ({ subject, predicate, object }) => [subject, predicate, object]);
}

/** @template {{metadata?: Record<string, any>}} T @param {string[]} columns @param {T[]} records @param {(record: T) => any[]} valuesOf The values of these columns. */
function recordsAsCsv(columns, records, valuesOf) {
  const keys = keysOf(records).filter((key) => key !== "name" || !columns.includes("name"));
  const rows = records.map((record) => [...valuesOf(record), ...keys.map((key) => own(record.metadata, key))]);
  return csv([[...columns, ...keys.map((key) => apart(key, columns))], ...rows]);
}

/** A table of walks: for each step its edge, and the id and name of its node; and computed values. @param {{nodes: string[], edges?: string[], values?: Record<string, any>}[]} walks @param {(id: string) => string} nameOf */
export function walksAsCsv(walks, nameOf) {
  const steps = Math.max(0, ...walks.map(({ nodes }) => nodes.length));
  const heads = Array.from({ length: steps }, (_, at) => [...(at ? [`edge ${at}`] : []), `id ${at}`, `name ${at}`]).flat();
  const rows = walks.map(({ nodes, edges = [] }) => nodes.flatMap((id, at) => [...(at ? [edges[at - 1] ?? ""] : []), id, nameOf(id)]));
  const names = Object.keys(walks[0]?.values ?? {});
  const padded = rows.map((row, at) => [...row, ...Array(heads.length - row.length).fill(""), ...names.map((name) => walks[at].values?.[name] ?? "")]);
  return csv([[...heads, ...names], ...padded]);
}

/** Rows as CSV (RFC 4180) with a byte order mark, by which spreadsheets recognise UTF-8. Every cell is quoted. A text that a spreadsheet would take for a formula is
 * preceded by an apostrophe; numbers are not. @param {any[][]} rows */
export function csv(rows) {
  return BYTE_ORDER_MARK + rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** @param {any} value */
function cell(value) {
  const text = plain(value);
  const guarded = FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
  return `"${guarded.replaceAll('"', '""')}"`;
}

/** A metadata key that is already the name of a column. @param {string} key @param {string[]} columns */
function apart(key, columns) {
  return columns.includes(key) ? `metadata.${key}` : key;
}

// --- GraphML -----------------------------------------------------------------------------

const NODE_DATA = ["type", "name", "full", "seed"];
const EDGE_DATA = ["predicate"];

/** GraphML that networkx, Gephi and yEd can read: a directed graph whose nodes have the graph's ids. @param {Node[]} nodes @param {Edge[]} edges */
export function asGraphml(nodes, edges) {
  const ids = distinctIds(nodes);
  const known = edges.filter(({ subject, object }) => ids.has(subject) && ids.has(object));
  const nodeData = nodes.map(({ type, name, full, seed, metadata }) => data({ type, name, full, seed }, metadata, NODE_DATA));
  const edgeData = known.map(({ predicate, metadata }) => data({ predicate }, metadata, EDGE_DATA));
  const [nodeKeys, edgeKeys] = [keysOfData("node", nodeData), keysOfData("edge", edgeData)];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
    ...[...nodeKeys.values(), ...edgeKeys.values()].map(({ declared }) => declared),
    '<graph edgedefault="directed">',
    ...nodes.map((node, at) => `<node id="${ids.get(node.id)}">${dataLines(nodeData[at], nodeKeys)}</node>`),
    ...known.map((edge, at) => `<edge source="${ids.get(edge.subject)}" target="${ids.get(edge.object)}">${dataLines(edgeData[at], edgeKeys)}</edge>`),
    "</graph>", "</graphml>", "",
  ].join("\n");
}

/** The ids without characters that XML cannot hold; ids that become equal are numbered. @param {Node[]} nodes */
function distinctIds(nodes) {
  /** @type {Map<string, string>} */
  const found = new Map();
  const taken = new Set();
  for (const { id } of nodes) {
    const written = xml(id);
    let name = written;
    for (let number = 2; taken.has(name); number += 1) name = `${written} (${number})`;
    taken.add(name);
    found.set(id, name);
  }
  return found;
}

/** @param {Record<string, any>} identity @param {Record<string, any> | undefined} metadata @param {string[]} taken */
function data(identity, metadata, taken) {
  const further = Object.entries(metadata ?? {}).filter(([key, value]) => !(key === "name" && value === identity.name));
  return new Map([...Object.entries(identity), ...further.map(([key, value]) => /** @type {[string, any]} */ ([apart(key, taken), value]))]);
}

/** The keys of some records by name, with their declarations. @param {"node" | "edge"} domain @param {Map<string, any>[]} records */
function keysOfData(domain, records) {
  /** @type {Map<string, string>} */
  const kinds = new Map();
  for (const [name, value] of records.flatMap((record) => [...record])) {
    const both = new Set([kinds.get(name) ?? kindOf(value), kindOf(value)]);
    kinds.set(name, both.size === 1 ? [...both][0] : both.has("long") && both.has("double") ? "double" : "string");
  }
  return new Map([...kinds].map(([name, kind], at) => {
    const id = `${domain[0]}${at}`;
    return [name, { id, declared: `<key id="${id}" for="${domain}" attr.name="${xml(name)}" attr.type="${kind}"/>` }];
  }));
}

/** @param {any} value */
function kindOf(value) {
  if (typeof value === "boolean") return "boolean";
  if (typeof value !== "number") return "string";
  return Number.isSafeInteger(value) ? "long" : "double";
}

/** @param {Map<string, any>} record @param {ReturnType<typeof keysOfData>} keys */
function dataLines(record, keys) {
  return [...record].map(([name, value]) => `<data key="${keys.get(name)?.id}">${xml(plain(value))}</data>`).join("");
}

// --- text --------------------------------------------------------------------------------

/** Text for XML elements and attributes. Characters that XML cannot hold become U+FFFD. @param {string} text */
export function xml(text) {
  return text
    .replace(/[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]/gu, "\ufffd")
    .replace(/[&<>"'\t\n\r\x7f-\x9f]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

/** A readable name, with hidden characters written as escapes. @param {string} text */
export function visible(text) {
  return replaceHidden(text, (character) => `\\u{${/** @type {number} */ (character.codePointAt(0)).toString(16)}}`);
}

/** A value of metadata as text: lists and objects as JSON. @param {any} value @returns {string} */
function plain(value) {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The metadata keys of some records, sorted. @param {{metadata?: Record<string, any>}[]} records */
function keysOf(records) {
  return [...new Set(records.flatMap((record) => Object.keys(record.metadata ?? {})))].sort();
}

/** @param {Record<string, any> | undefined} metadata @param {string} key */
function own(metadata, key) {
  return metadata && Object.hasOwn(metadata, key) ? metadata[key] : undefined;
}
