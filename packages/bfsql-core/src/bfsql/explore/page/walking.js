// @ts-check
/** The calls that a state of the walk stands for, and the graph formed by their answers. */

import { call } from "./api.js";
import { Graph } from "./graph.js";
import { knownName, readNames } from "./names.js";
import { schemaOrNull } from "./schema.js";
import { captionOf, captions, fieldsOf, groupsFor, isAlone, isSet, seedTypes } from "./sets.js";

/** @typedef {{graph: Graph, calls: import("./api.js").Call[]}} Walked The calls, and the graph formed by all their answers. */

/** @typedef {import("./state.js").State} State */

/** What an answer can be ordered by besides properties. */
const NUMBERS = new Set(["degree", "paths", "measure"]);

/** The arguments of the main call. `predicates` and a direction are followed as a path, since the tool's own `predicates` selects what is returned in full, not what is
 * followed. @param {State} state */
export function walkArguments(state) {
  const path = stepsOf(state);
  const far = path.length || ((state.to.length || state.along.length) && state.hops === 1);
  return {
    seeds: state.seeds,
    max_hops: far ? null : state.hops || (isSet(state) ? null : 1),
    path,
    along: state.along,
    to: state.to,
    show: path.length ? state.show : "",
    measure: path.length ? state.measure : [],
    node_types: state.types,
    exclude_node_types: state.exclude,
    at: state.at,
    where: state.where,
    sort_by: state.sort_by,
    facets: state.offset ? [] : state.facets.length || !isAlone(state) ? state.facets : groupsFor(seedTypes(state) ?? []),
    ...detail(state),
    limit: state.limit,
    offset: state.offset || null,
    max_tokens: state.max_tokens,
  };
}

/** The path that a state follows. @param {State} state */
function stepsOf(state) {
  return state.path.length || state.along.length ? state.path : followed(state);
}

/** Whether only some relations are followed. @param {State} state */
export function isRestricted(state) {
  return isSet(state) || state.to.length > 0 || state.along.length > 0 || stepsOf(state).length > 0;
}

/** @param {State} state */
function detail(state) {
  if (state.details === "none") return { topology_only: true };
  if (state.details === "all") return {};
  const key = orderOf(state.sort_by).key.replace(/^\d+\./, "");
  return { fields: [...new Set(["name", ...(key && !NUMBERS.has(key) ? [key] : []), ...fieldsOf(state), ...captions()])] };
}

/** The property or number by which `sort_by` orders an answer. @param {string} text `-year` or `year desc`. */
export function orderOf(text) {
  const [, signed, direction] = /** @type {RegExpExecArray} */ (/^\s*(.*?)(?:\s+(asc|desc)(?:ending)?)?\s*$/is.exec(text));
  const key = signed.replace(/^[+-]\s*/, "");
  return { key, descending: signed.startsWith("-") || direction?.toLowerCase() === "desc" };
}

/** The walk as one repeated step, if it is restricted. @param {State} state */
function followed({ predicates, direction, hops }) {
  if (!predicates.length && direction === "both") return [];
  const step = `-${predicates.join("|")}-`;
  const arrow = { out: `${step}>`, in: `<${step}`, both: step }[/** @type {"out" | "in" | "both"} */ (direction)] ?? step;
  return [hops > 1 ? `${arrow}{1,${hops}}` : arrow];
}

/** An expansion as it is written in the state: an id, and the step to follow if one was chosen. @param {string} id @param {string} [step] */
export function opening(id, step) {
  return step ? JSON.stringify([id, step]) : id;
}

/** @param {string} text @returns {{id: string, step: string}} */
export function openingOf(text) {
  if (text.startsWith('["')) {
    try {
      const [id, step] = JSON.parse(text);
      if (typeof id === "string" && typeof step === "string") return { id, step };
    } catch {
      // an id that looks like a list
    }
  }
  return { id: text, step: "" };
}

/** @param {string} text @param {State} state */
export function openingArguments(text, state) {
  const { id, step } = openingOf(text);
  return {
    seeds: [id],
    max_hops: step ? null : 1,
    path: step ? [step] : [],
    exclude_node_types: state.exclude,
    at: state.at,
    ...detail(state),
    limit: state.limit,
    max_tokens: state.max_tokens,
  };
}

/** Make the calls of a state, the main one first. @param {State} state @param {AbortSignal} signal @param {Map<string, import("./api.js").Call>} known Answers of
 * previous expansions; new ones are added. @returns {Promise<Walked>} */
export async function walk(state, signal, known) {
  const key = (/** @type {any} */ args) => JSON.stringify(args);
  const wanted = [walkArguments(state), ...state.open.map((/** @type {string} */ text) => openingArguments(text, state))];
  const properties = Object.values((await schemaOrNull())?.properties ?? {}).flat();
  const origins = properties.some((text) => /^graphs(?::|$)/.test(text)) ? ["graphs"] : []; // of a federation
  const calls = [];
  for (const args of wanted) {
    const asked = "fields" in args ? { ...args, fields: [...args.fields, ...origins] } : args;
    const made = known.get(key(args)) ?? (await call("bfs_query", asked, signal));
    known.set(key(args), made);
    calls.push(made);
  }
  const graph = new Graph();
  for (const [index, made] of calls.entries()) graph.add(made.answer, { seeds: index === 0 });
  if (state.details !== "none") await nameStubs(graph, signal);
  return { graph, calls };
}

/** Read the names of nodes that an answer has without their records. @param {Graph} graph @param {AbortSignal} [signal] */
export async function nameStubs(graph, signal) {
  await readNames(graph.nodes.filter((node) => !node.full).map((node) => node.id), signal);
  graph.rename(knownName);
  graph.rename((id) => {
    const { type = "", metadata = {} } = graph.node(id) ?? {};
    return Object.hasOwn(metadata, captionOf(type)) ? String(metadata[captionOf(type)]) : id;
  });
}
