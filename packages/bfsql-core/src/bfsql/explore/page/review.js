// @ts-check
/** What a recorded session cost and what of it was of use, from its calls and answers alone. */

import { count, plural } from "./dom.js";
import { contentOf } from "./recorded.js";

/** @typedef {import("./recorded.js").Recorded} Recorded */
/** @typedef {"" | "refused" | "nothing" | "repeated" | "cut" | "unused"} Verdict What is to be said of a call; empty if nothing is. */
/** @typedef {{verdicts: Verdict[], headline: string, remarks: {calls: number[], text: string}[]}} Review Remarks name calls by their places, from 0. */

/** The part of a session's tokens from which a call is named as the dear one. */
const DEAR = 0.5;

const CUT = /Continue with offset=|did not fit|left without metadata|^Stopped at/;

/** @param {Recorded[]} calls @returns {Review} */
export function reviewOf(calls) {
  /** The call whose answer first had an id. @type {Map<string, number>} */
  const first = new Map();
  /** The calls that use an id of an earlier answer, by this answer. @type {Set<number>} */
  const used = new Set();
  /** @type {Map<string, number>} */
  const asked = new Map();
  /** @type {number[]} */
  const repeats = [];
  const needs = calls.map((call, at) => {
    const sources = [...new Set(textsIn(call.arguments).map((text) => first.get(text)).filter((one) => one !== undefined))];
    for (const source of sources) used.add(/** @type {number} */ (source));
    for (const { id } of contentOf(call).nodes) if (!first.has(id)) first.set(id, at);
    const question = JSON.stringify([call.tool, call.arguments]);
    repeats.push(asked.get(question) ?? -1);
    if (!asked.has(question)) asked.set(question, at);
    return sources.length;
  });
  const verdicts = calls.map((call, at) => verdictOf(call, repeats[at] >= 0, used.has(at) || at === calls.length - 1));
  const total = calls.reduce((sum, { tokens }) => sum + tokens, 0);
  const last = calls.length - 1;
  const alone = last > 0 && !needs[last] && ["", "cut"].includes(verdicts[last]);
  const dear = calls.findIndex(({ tokens }) => tokens > DEAR * total);
  const those = (/** @type {Verdict} */ verdict) => [...verdicts.keys()].filter((at) => verdicts[at] === verdict);
  const remarks = [
    { calls: last > 0 && dear >= 0 ? [dear] : [], text: `took ${Math.round((100 * calls[dear]?.tokens) / total)} % of the tokens` },
    ...those("nothing").map((at) => ({ calls: [at], text: `found nothing${why(calls[at])}` })),
    { calls: those("refused"), text: those("refused").length > 1 ? "were refused; their errors say what would be right" : "was refused; its error says what would be right" },
    ...those("repeated").map((at) => ({ calls: [at], text: `repeats call ${repeats[at] + 1}` })),
    { calls: those("cut"), text: those("cut").length > 1 ? "do not have the whole answer" : "does not have the whole answer" },
    { calls: those("unused"), text: those("unused").length > 1 ? "found nothing that was used later" : "found nothing that a later call used" },
  ];
  return {
    verdicts,
    headline: alone ? `The last call alone would have answered: ${plural(calls[last].tokens, "token")} instead of ${count(total)}.` : `${plural(calls.length, "call")}, ${plural(total, "token")}.`,
    remarks: remarks.filter((one) => one.calls.length),
  };
}

/** @param {Recorded} call @param {boolean} repeated @param {boolean} used @returns {Verdict} */
function verdictOf(call, repeated, used) {
  const { nodes, notes, readable, count: found } = contentOf(call);
  if (call.error) return "refused";
  if (repeated) return "repeated";
  if (readable && !nodes.length && /^0 /.test(found)) return "nothing";
  if (notes.some((note) => CUT.test(note))) return "cut";
  return readable && nodes.length > 0 && !used ? "unused" : "";
}

/** The note on why a call found nothing. @param {Recorded} call */
function why(call) {
  const { notes } = contentOf(call);
  const note = notes.find((one) => /opposite direction/.test(one)) ?? notes.find((one) => /found nothing/.test(one));
  return note ? `: ${note.replace(/\.$/, "")}` : "";
}

/** The texts in some arguments. @param {any} value @returns {string[]} */
function textsIn(value) {
  if (typeof value === "string") return [value];
  return value !== null && typeof value === "object" ? Object.values(value).flatMap(textsIn) : [];
}

/** The view that makes a call, so that it can be changed there; null if there is none. @param {Recorded} call @returns {Record<string, any> | null} */
export function viewOf({ tool, arguments: args }) {
  const list = (/** @type {any} */ value) => (Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]).map(String);
  const lists = Object.fromEntries(["path", "along", "to", "where", "measure", "facets"].map((key) => [key, list(args[key])]));
  if (tool === "describe_schema") return { view: "start" };
  if (tool === "search_entities") return { view: "search", q: String(args.query ?? "") };
  if (tool === "describe_entity") return { view: "entity", id: String(args.id ?? "") };
  if (tool === "intersect_subgraphs") return { view: "intersect", seeds: list(args.seeds), k: args.k };
  if (tool !== "bfs_query") return null;
  const further = Object.fromEntries(["sort_by", "show", "limit", "offset", "at"].filter((key) => args[key] !== undefined).map((key) => [key, args[key]]));
  const details = args.topology_only ? "none" : args.fields ? "name" : "all";
  return { view: "walk", seeds: list(args.seeds), hops: args.max_hops ?? (list(args.seeds).some((seed) => /:\*$|\]$/.test(seed)) ? 0 : 1), types: list(args.node_types), exclude: list(args.exclude_node_types), details, ...lists, ...further };
}
