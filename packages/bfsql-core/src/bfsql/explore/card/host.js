// @ts-check
/** The host of the card: JSON-RPC over `postMessage`, as the MCP Apps extension of 2026-01-26 has it. */

/** @typedef {{tool: string, arguments: Record<string, any>, answer: any, error: string, bytes: number}} Made A call that was made: the document of its answer or an error, and the bytes that a model reads. */

/** What the host can do (`hostCapabilities`), and how it looks (`hostContext`). @type {{can: any, context: any}} */
export const host = { can: {}, context: {} };

const waiting = /** @type {Map<number, (result: any) => void>} */ (new Map());
let last = 0;

/** Send a message; hosts have no origin that the card could know. @param {any} message */
export const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");

/** Send a request; an error is a result with `isError`, as it is from a tool. @param {string} method @param {any} params @returns {Promise<any>} */
export function request(method, params) {
  last += 1;
  post({ id: last, method, params });
  return new Promise((resolve) => waiting.set(last, resolve));
}

/** Introduce the card, and listen to the host. @param {Record<string, (params: any) => void>} on What is done with its notifications, by method. */
export async function connect(on) {
  addEventListener("message", ({ source, data }) => {
    if (source !== parent || data?.jsonrpc !== "2.0") return;
    const { id, method, params, result, error } = data;
    if (method && id !== undefined) return post({ id, result: {} }); // a ping, or the end of the card
    if (method) return on[method]?.(params ?? {});
    waiting.get(id)?.(error ? { isError: true, content: [{ type: "text", text: error.message }] } : result);
    waiting.delete(id);
  });
  const { hostCapabilities: can = {}, hostContext: context = {} } = await request("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "bfsql-graph", version: "1" }, appCapabilities: {} });
  Object.assign(host, { can, context });
  post({ method: "ui/notifications/initialized", params: {} });
}

/** Call a tool of the server through the host. @param {string} tool @param {Record<string, any>} given @returns {Promise<Made>} */
export const call = async (tool, given) => madeCall(tool, given, await request("tools/call", { name: tool, arguments: given }));

/** A call with what its result says. @param {string} tool @param {Record<string, any>} given @param {any} result A `CallToolResult`. @returns {Made} */
export function madeCall(tool, given, { isError, content = [], structuredContent, _meta }) {
  const text = content.find((/** @type {any} */ part) => part.type === "text")?.text ?? "";
  const answer = isError ? null : _meta?.["bfsql/answer"] ?? structuredContent ?? (text.startsWith("{") ? JSON.parse(text) : null);
  const error = isError ? text : answer ? "" : "The host passes on only the text of the answer, from which there is nothing to draw.";
  return { tool, arguments: given, answer, error, bytes: new TextEncoder().encode(text).length };
}
