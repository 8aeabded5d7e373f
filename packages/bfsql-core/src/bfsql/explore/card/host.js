// @ts-check
/** The host of the card: JSON-RPC over `postMessage`, as the MCP Apps extension of 2026-01-26 has it. */

/**
 * @typedef {object} Made A call that was made, and what came of it.
 * @property {string} tool
 * @property {Record<string, any>} arguments
 * @property {any} answer The document of the answer; null if there is none.
 * @property {string} error Why there is no answer; empty if there is one.
 * @property {number} bytes What a model reads of it, in UTF-8.
 */

const METHOD_NOT_FOUND = -32601;

/** Requests of the host to which there is nothing to say. */
const ACKNOWLEDGED = ["ping", "ui/resource-teardown"];

/** What the host can do (`hostCapabilities`), and how it looks (`hostContext`). @type {{can: any, context: any}} */
export const host = { can: {}, context: {} };

/** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
const waiting = new Map();
let last = 0;

/** @param {any} message */
function post(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // a host has no origin that the card could know
}

/** @param {string} method @param {any} [params] */
export function notify(method, params = {}) {
  post({ method, params });
}

/** Send a request. @param {string} method @param {any} params @returns {Promise<any>} */
export function request(method, params) {
  last += 1;
  post({ id: last, method, params });
  return new Promise((resolve, reject) => waiting.set(last, { resolve, reject }));
}

/** Introduce the card, and listen to the host. @param {Record<string, (params: any) => void>} on What is done with its notifications, by method. */
export async function connect(on) {
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    const { id, method, params, result, error } = data;
    if (method && id === undefined) on[method]?.(params ?? {});
    else if (method) post(ACKNOWLEDGED.includes(method) ? { id, result: {} } : { id, error: { code: METHOD_NOT_FOUND, message: `The card has no method ${method}.` } });
    else if (error) waiting.get(id)?.reject(new Error(error.message));
    else waiting.get(id)?.resolve(result);
    if (!method) waiting.delete(id);
  });
  const found = await request("ui/initialize", {
    protocolVersion: "2026-01-26",
    appInfo: { name: "bfsql-graph", version: "1" },
    appCapabilities: { availableDisplayModes: ["inline"] },
  });
  host.can = found.hostCapabilities ?? {};
  host.context = found.hostContext ?? {};
  notify("ui/notifications/initialized");
}

/** Call a tool of the server through the host. @param {string} tool @param {Record<string, any>} given @returns {Promise<Made>} */
export async function call(tool, given) {
  try {
    return madeCall(tool, given, await request("tools/call", { name: tool, arguments: given }));
  } catch (error) {
    return { tool, arguments: given, answer: null, error: /** @type {Error} */ (error).message, bytes: 0 };
  }
}

/** A call with what its result says. @param {string} tool @param {Record<string, any>} given @param {any} result A `CallToolResult`. @returns {Made} */
export function madeCall(tool, given, result) {
  const text = (result.content ?? []).find((/** @type {any} */ part) => part.type === "text")?.text ?? "";
  const answer = result.isError ? null : result._meta?.["bfsql/answer"] ?? result.structuredContent ?? parsed(text);
  const error = answer ? "" : result.isError ? text : "This host shows the card only the text of the answer, from which there is nothing to draw.";
  return { tool, arguments: given, answer, error, bytes: new TextEncoder().encode(text).length };
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
