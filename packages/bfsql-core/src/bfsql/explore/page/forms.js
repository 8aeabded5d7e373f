// @ts-check
/** A tool call as it is made outside the page: over MCP, in a shell, in Python, with curl. A text to copy and run shows everything that it contains: characters that a
 * terminal would hide or act on are written as escapes. */

import { hasHidden, jsonEscape, replaceHidden } from "./characters.js";

/** @typedef {Record<string, any>} Arguments */
/** @typedef {{text: string, problem?: string}} Written A form, or the reason why there is none. */

/** The argument that comes first, without an option. @type {Record<string, string>} */
const POSITIONAL = { search_entities: "query", bfs_query: "seeds", describe_entity: "id", describe_entities: "ids", intersect_subgraphs: "seeds" };

const TOOLS = new Set(["describe_schema", ...Object.keys(POSITIONAL)]);

/** Options whose values the command line splits at commas. */
const SEPARATED = new Set(["node_types", "exclude_node_types", "predicates"]);

/** Options whose names differ from those of their arguments: `--path` is the graph's file. */
const OPTIONS = new Map([["path", "step"]]);

const IDENTIFIER = /^[a-z_][a-z0-9_]*$/;
const LINE = 80;

/** The message of a client that has a session: one line, as it is sent on stdio and over HTTP. @param {string} tool @param {Arguments} args @returns {Written} */
export function asMcp(tool, args) {
  return { text: json({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } }) };
}

/** @param {string} tool @param {Arguments} args @param {string} file The graph's file. @returns {Written} */
export function asCommand(tool, args, file) {
  if (!TOOLS.has(tool)) return without(`There is no command for ${tool}: it is not one of the six tools.`);
  const unfit = wrongForShell(args);
  if (unfit) return without(unfit);
  const first = POSITIONAL[tool];
  const items = first === undefined ? [] : list(args[first]);
  const plain = items.every((item) => !item.startsWith("-"));
  const words = ["bfsql", tool.replaceAll("_", "-"), ...(plain ? items.map(quoted) : [])];
  const options = Object.entries(args).flatMap(([name, value]) => (name === first && plain ? [] : optionsOf(name, value)));
  const parts = [words.join(" "), ...options, `--path=${quoted(file)}`];
  return wrapped(parts);
}

/** @param {string} tool @param {Arguments} args @param {string} file The graph's file. @returns {Written} */
export function asPython(tool, args, file) {
  const text = `import asyncio

import bfsql


async def main() -> None:
    async with bfsql.open_graph("sqlite", path=${python(file)}) as graph:
        ${pythonCall(tool, args).join("\n        ")}
        print(answer.text)


asyncio.run(main())
`;
  return { text };
}

/** @param {string} tool @param {Arguments} args @param {string} url The web API's root, which ends with a slash. @param {boolean} token Whether the server requires one;
 * the shell variable TOKEN stands for it. @returns {Written} */
export function asCurl(tool, args, url, token) {
  const parts = [
    `curl -s ${quoted(`${url}tools/${encodeURIComponent(tool)}`)}`,
    ...(token ? ['-H "Authorization: Bearer $TOKEN"'] : []),
    `--json ${quoted(json(args))}`,
  ];
  return wrapped(parts);
}

/** @param {string} problem @returns {Written} */
function without(problem) {
  return { text: "", problem };
}

/** A command on one line, or on several where it is long. @param {string[]} parts @returns {Written} */
function wrapped(parts) {
  const line = parts.join(" ");
  return { text: line.length <= LINE ? line : parts.join(" \\\n  ") };
}

/** JSON on one line, in which every character is visible. @param {unknown} value */
function json(value) {
  return replaceHidden(JSON.stringify(value), jsonEscape);
}

// --- the shell ---------------------------------------------------------------------------

/** @param {any} value @returns {string[]} */
function list(value) {
  if (value === undefined || value === null) return [];
  return (Array.isArray(value) ? value : [value]).map(String);
}

/** The reason why a command line cannot express the arguments. @param {Arguments} args @returns {string} */
function wrongForShell(args) {
  for (const [name, value] of Object.entries(args)) {
    if (!IDENTIFIER.test(name)) return `There is no option for the argument ${JSON.stringify(name)}.`;
    for (const item of list(value)) {
      if (item.includes("\0"))
        return `${name} contains a NUL character, which no command line can pass on. The other forms can.`;
      if (SEPARATED.has(name) && (item.includes(",") || item !== item.trim()))
        return `${name} contains ${JSON.stringify(item)}, and the command line takes a comma as the end of a name. The other forms can express this call.`;
    }
  }
  return "";
}

/** @param {string} name @param {any} value @returns {string[]} */
function optionsOf(name, value) {
  const option = `--${(OPTIONS.get(name) ?? name).replaceAll("_", "-")}`;
  if (value === true) return [option];
  if (value === false) return [];
  return list(value).map((item) => `${option}=${quoted(item)}`);
}

/** A word of a POSIX shell. Line ends and hidden characters are written in `$'...'` as their bytes. @param {string} text */
function quoted(text) {
  if (/^[\w@%+:,./][\w@%+:,./-]*$/.test(text)) return text;
  if (!hasHidden(text) && !/[\n\t]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text.replace(/[\\']/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t");
  return `$'${replaceHidden(escaped, octal)}'`;
}

/** @param {string} character */
function octal(character) {
  const bytes = new TextEncoder().encode(character);
  return Array.from(bytes, (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

// --- Python ------------------------------------------------------------------------------

/** @param {string} tool @param {Arguments} args @returns {string[]} */
function pythonCall(tool, args) {
  const first = POSITIONAL[tool];
  const regular = TOOLS.has(tool) && (first === undefined || args[first] !== undefined);
  if (!regular || !Object.keys(args).every((name) => IDENTIFIER.test(name)))
    return [`answer = await graph.call(${python(tool)}, ${python(args)})`];
  const given = Object.entries(args).map(([name, value]) => `${name}=${python(value)}`);
  const line = `answer = await graph.${tool}(${given.join(", ")})`;
  if (line.length <= LINE) return [line];
  return [`answer = await graph.${tool}(`, ...given.map((one) => `    ${one},`), ")"];
}

/** A value as a Python expression. @param {any} value @returns {string} */
function python(value) {
  if (value === null || value === undefined) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return replaceHidden(JSON.stringify(value), pythonEscape);
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value).map(([key, item]) => `${python(key)}: ${python(item)}`).join(", ")}}`;
  return String(value);
}

/** @param {string} character */
function pythonEscape(character) {
  const code = /** @type {number} */ (character.codePointAt(0));
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : jsonEscape(character);
}
