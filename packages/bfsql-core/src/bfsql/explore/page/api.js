// @ts-check
/** Calls the tools through the web API, as any other program would. */

/** A call that failed, with a message for the user. */
export class ApiError extends Error {
  /** @param {string} message @param {{status?: number, kind?: string, argument?: string}} [about] */
  constructor(message, { status = 0, kind = "", argument = "" } = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.kind = kind;
    this.argument = argument;
  }
}

/**
 * @typedef {object} Call
 * @property {string} tool
 * @property {Record<string, any>} arguments
 * @property {any} answer What the tool returned.
 * @property {string} text The answer as a model receives it.
 * @property {number} bytes Of the text, in UTF-8.
 * @property {number} tokens A third of the bytes, rounded up: the estimate of the budget.
 * @property {number} ms From the request to the end of the answer.
 * @property {string[]} notes What is missing from the answer, in sentences.
 */

let token = "";

/** @type {((refused: boolean, challenge: string) => Promise<string>) | null} */
let askForToken = null;

/** @type {Promise<string> | null} */
let asking = null;

/** Set the function that asks for the token when the server requires one. @param {(refused: boolean, challenge: string) => Promise<string>} f */
export function onTokenWanted(f) {
  askForToken = f;
}

/** Whether the server required a token and has received one. */
export function hasToken() {
  return token !== "";
}

/** Call a tool. @param {string} tool @param {Record<string, any>} given Its arguments; those without a value are left out. @param {AbortSignal} [signal] @returns
 * {Promise<Call>} @throws {ApiError} The tool, the server or the connection to it failed. @throws {DOMException} `AbortError` if the signal ended the call. */
export async function call(tool, given, signal) {
  const args = Object.fromEntries(Object.entries(given).filter(([, v]) => v !== null && v !== undefined && v !== "" && !(Array.isArray(v) && !v.length)));
  const begun = performance.now();
  const response = await post(`tools/${encodeURIComponent(tool)}`, args, signal);
  const content = await body(response);
  const ms = performance.now() - begun;
  const document = parsed(content);
  const listed = content.startsWith('{"result":') && Array.isArray(document.result);
  const text = listed ? resultText(content, document) : content;
  const bytes = new TextEncoder().encode(text).length;
  return {
    tool,
    arguments: args,
    answer: listed ? document.result : document,
    text,
    bytes,
    tokens: tokensOf(bytes),
    ms,
    notes: [...(document.at ? [`at: ${document.at}`] : []), ...(document.notes ?? [])],
  };
}

/** The tokens of a text, as the budget estimates them. @param {number} bytes */
export function tokensOf(bytes) {
  return Math.ceil(bytes / 3);
}

/** Read a document of the web API. @param {string} path Relative to the page, without a slash in front. @param {AbortSignal} [signal] @returns {Promise<any>} @throws {ApiError} As for `call`. */
export async function read(path, signal) {
  return parsed(await readText(path, signal));
}

/** Read a file of the page, as `read` a document. @param {string} path @param {AbortSignal} [signal] */
export async function readText(path, signal) {
  return body(await request(path, { signal }));
}

/** The names of entities by id; entities without a name are left out. @param {Iterable<string>} ids @param {AbortSignal} [signal] @returns {Promise<Map<string, string>>}
 * @throws {ApiError} As for `call`. */
export async function namesOf(ids, signal) {
  const response = await post("entities/batch", { ids: [...new Set(ids)], metadata: true, keys: ["name"] }, signal);
  const { results } = parsed(await body(response));
  return new Map(results.flatMap((/** @type {any} */ found) => (typeof found.name === "string" ? [[found.id, found.name]] : [])));
}

/** Run one call at a time: a new call aborts the previous one, whose answer is discarded. @returns {{run: <T>(f: (signal: AbortSignal) => Promise<T>) => Promise<T>, stop: () => void}} */
export function latest() {
  /** @type {AbortController | null} */
  let running = null;
  return {
    async run(f) {
      running?.abort();
      const own = (running = new AbortController());
      try {
        const result = await f(own.signal);
        own.signal.throwIfAborted();
        return result;
      } catch (error) {
        own.signal.throwIfAborted();
        throw error;
      }
    },
    stop() {
      running?.abort();
    },
  };
}

/** Whether an error only means that a newer call replaced this one. @param {any} error */
export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/** @param {string} path @param {any} document @param {AbortSignal} [signal] */
function post(path, document, signal) {
  return request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document), signal });
}

/** @param {string} path @param {RequestInit} init @returns {Promise<Response>} */
async function request(path, init) {
  for (;;) {
    const sent = token;
    const headers = new Headers(init.headers);
    if (sent) headers.set("Authorization", `Bearer ${sent}`);
    let response;
    try {
      response = await fetch(path, { ...init, headers, cache: "no-store" });
    } catch (error) {
      if (isAbort(error)) throw error;
      throw new ApiError(
        "The server cannot be reached. It may have been stopped or be restarting; try again in a moment.",
        { kind: "network" },
      );
    }
    if (response.ok) return response;
    if (response.status !== 401 || !askForToken) throw await problem(response);
    if (token === sent) {
      token = "";
      asking ??= askForToken(sent !== "", response.headers.get("WWW-Authenticate") ?? "").finally(() => (asking = null));
      token = await asking;
    }
    init.signal?.throwIfAborted();
    if (!token) throw await problem(response);
  }
}

/** @param {Response} response */
async function body(response) {
  try {
    return await response.text();
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("The connection ended before the answer was complete. Try again.", { kind: "network" });
  }
}

/** @param {string} content */
function parsed(content) {
  try {
    return JSON.parse(content);
  } catch {
    throw new ApiError("The answer is not JSON. Is there a proxy between this page and the server?", { kind: "network" });
  }
}

/** The list in an answer that has its notes in a separate field. @param {string} content @param {any} document */
function resultText(content, document) {
  const end = document.notes ? content.lastIndexOf(',"notes":[') : content.length - 1;
  return content.slice('{"result":'.length, end);
}

/** @param {Response} response */
async function problem(response) {
  const document = await response.json().catch(() => null);
  const [detail, kind, argument] = ["detail", "kind", "argument"].map((key) => (typeof document?.[key] === "string" ? document[key] : ""));
  return new ApiError(detail || `The server answered with status ${response.status}. Try again in a moment.`, { status: response.status, kind, argument });
}
