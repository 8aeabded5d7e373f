// @ts-check
/** Recorded tool calls: the lines of `--record`, and those of the example audit hook if they contain the arguments. */

import { tokensOf } from "./api.js";
import { plural } from "./dom.js";

/**
 * @typedef {object} Recorded
 * @property {string} time ISO 8601; empty if it is unknown.
 * @property {string} session Empty if the transport has none.
 * @property {string} client The name that the client gave itself.
 * @property {string} tool
 * @property {Record<string, any>} arguments
 * @property {string | null} answer The text as it was sent; null if it was not recorded.
 * @property {Record<string, any> | null} content The content of an answer whose text is not JSON.
 * @property {string} error The message or kind of a failure; empty if there was none.
 * @property {number} ms
 * @property {number} tokens
 */

/** @typedef {{key: string, client: string, begun: string, calls: Recorded[], tokens: number}} Session */

/** Milliseconds without a call after which calls that name no session form a new one. */
const PAUSE = 30 * 60 * 1000;

/** The calls of a file; lines that cannot be read are counted. @param {string} text @returns {{calls: Recorded[], broken: number}} */
export function readFile(text) {
  const lines = text.replace(/^\ufeff/, "").split("\n").filter((line) => line.trim());
  const calls = lines.map((line) => {
    try {
      return asRecorded(JSON.parse(line));
    } catch {
      return null;
    }
  });
  return whole(calls);
}

/** The calls that the server returns at `/recorded`. @param {any} document @returns {{calls: Recorded[], broken: number, note: string}} The note says what is missing. */
export function readDocument(document) {
  const { calls, broken } = whole((Array.isArray(document?.calls) ? document.calls : []).map(asRecorded));
  return { calls, broken: broken + (Number(document?.broken_lines) || 0), note: text(document?.note) };
}

/** @param {(Recorded | null)[]} calls */
function whole(calls) {
  const found = calls.filter((call) => call !== null);
  return { calls: found, broken: calls.length - found.length };
}

/** A line as a call; null if it contains too little to be shown. @param {any} line @returns {Recorded | null} */
export function asRecorded(line) {
  if (typeof line !== "object" || line === null || Array.isArray(line)) return null;
  if (typeof line.tool !== "string" || !isObject(line.arguments)) return null;
  const caller = isObject(line.caller) ? line.caller : {};
  const answer = typeof line.answer === "string" ? line.answer : null;
  const size = typeof line.bytes === "number" ? line.bytes : new TextEncoder().encode(answer ?? "").length;
  return {
    time: text(line.time),
    session: text(line.session) || text(caller.session),
    client: text(line.client) || text(caller.client),
    tool: line.tool,
    arguments: line.arguments,
    answer,
    content: isObject(line.content) ? line.content : null,
    error: errorOf(line),
    ms: number(line.ms) ?? (number(line.seconds) ?? 0) * 1000,
    tokens: number(line.tokens) || tokensOf(size),
  };
}

/** @param {any} line */
function errorOf(line) {
  if (line.error === true) return text(line.answer) || "The call failed.";
  if (isObject(line.error)) return text(line.error.message) || text(line.error.detail) || JSON.stringify(line.error);
  const kind = text(line.error) || (text(line.outcome) === "ok" ? "" : text(line.outcome));
  return (kind && text(line.answer)) || kind; // the answer of a failed call is its message
}

/** Calls grouped by session, in the order in which the sessions began. Calls without a session belong together as long as the same client makes them without a pause of
 * half an hour. @param {Recorded[]} calls @returns {Session[]} */
export function sessionsOf(calls) {
  /** @type {Session[]} */
  const sessions = [];
  /** @type {Map<string, {session: Session, last: number}>} */
  const open = new Map();
  for (const call of calls) {
    const of = call.session ? JSON.stringify(["session", call.session]) : JSON.stringify(["client", call.client]);
    const when = Date.parse(call.time);
    const known = open.get(of);
    const goesOn = known && (call.session !== "" || !(when - known.last > PAUSE));
    const session = goesOn ? known.session : begun(sessions, call);
    session.calls.push(call);
    session.tokens += call.tokens;
    open.set(of, { session, last: when });
  }
  return sessions;
}

/** @param {Session[]} sessions @param {Recorded} call */
function begun(sessions, call) {
  const session = { key: String(sessions.length + 1), client: call.client, begun: call.time, calls: [], tokens: 0 };
  sessions.push(session);
  return session;
}

/** The content of an answer, for the picture and in words. @param {Recorded} call @returns {{nodes: any[], edges: any[], seeds: string[], count: string, notes: string[],
 * readable: boolean}} Nodes as in answers; `readable` is false if the answer can only be shown as text. */
export function contentOf({ tool, answer, content: recorded, error }) {
  const nothing = { nodes: [], edges: [], seeds: [], count: "", notes: [], readable: false };
  if (answer === null || error) return nothing;
  const document = recorded ?? parsed(answer);
  if (document === null) return nothing;
  const list = Array.isArray(document.result) ? document.result : null;
  const notes = texts(document.notes);
  if (list) return { ...nothing, nodes: list.filter(hasIdentity).map(asNode), count: plural(list.length, tool === "search_entities" ? "hit" : "record"), notes, readable: true };
  if (Array.isArray(document.nodes) && Array.isArray(document.edges))
    return {
      nodes: document.nodes.filter(hasIdentity),
      edges: document.edges.filter(isEdge),
      seeds: texts(document.seeds),
      count: `${plural(number(document.node_count) ?? document.nodes.length, "node")}, ${plural(number(document.edge_count) ?? document.edges.length, "edge")}`,
      notes,
      readable: true,
    };
  if (hasIdentity(document)) return { ...nothing, nodes: [asNode(document)], count: "1 record", notes, readable: true };
  if (Array.isArray(document.entity_types))
    return { ...nothing, count: `${plural(document.entity_types.length, "type")}, ${plural(texts(document.predicates).length, "predicate")}`, notes, readable: true };
  return { ...nothing, notes, readable: true };
}

/** The content of an answer in JSON; the notes of a list may follow on further lines. @param {string} answer @returns {Record<string, any> | null} A list is under
 * `result`; null if the text is not JSON. */
function parsed(answer) {
  for (const part of [answer, answer.slice(0, answer.indexOf("\n"))]) {
    try {
      const found = JSON.parse(part);
      if (Array.isArray(found)) return { result: found };
      return isObject(found) ? found : null;
    } catch {
      // try the next form
    }
  }
  return null;
}

/** A flat record or hit as a node. @param {any} record */
function asNode({ id, entity_type, score, match, context, edges, provenance, notes, ...metadata }) {
  return { id, entity_type, metadata };
}

/** @param {any} value */
function hasIdentity(value) {
  return isObject(value) && typeof value.id === "string" && typeof value.entity_type === "string";
}

/** @param {any} value */
function isEdge(value) {
  return isObject(value) && ["subject", "predicate", "object"].every((part) => typeof value[part] === "string");
}

/** @param {any} value @returns {value is Record<string, any>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** @param {any} value */
function text(value) {
  return typeof value === "string" ? value : "";
}

/** @param {any} value @returns {string[]} */
function texts(value) {
  return Array.isArray(value) ? value.map(String) : [];
}

/** @param {any} value */
function number(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
