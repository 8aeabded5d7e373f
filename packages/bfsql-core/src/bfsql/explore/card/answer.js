// @ts-check
/** What kind of answer a call has, what is said of it in words, and which calls repair or continue it. */

import { jsonEscape, replaceHidden } from "../page/characters.js";
import { plural } from "../page/dom.js";
import { nextOffset } from "../page/notes.js";
import { short } from "../page/overlay.js";
import { format, parse } from "../page/state.js";

/** @typedef {import("./host.js").Made} Made */
/** @typedef {import("../page/graph.js").Graph} Graph */
/** @typedef {{edge: import("../page/graph.js").Edge, other: string}} Line A relation; `other` is its end that is not the seed, empty if there is no such end. */

export const MOST_DRAWN = 300; // nodes and walks, and four times as many relations (`server/apps.py`)
const NARROWING = ["where", "exclude_node_types", "node_types", "min_mentions", "predicates", "at"];

/** Whether an answer is a record, whose properties may have any name. @param {any} answer */
export const isEntity = (answer) => answer?.entity_type !== undefined;

/** @param {Made} made @returns {"refused" | "entity" | "walks" | "groups" | "empty" | "connections" | "ranking" | "neighbourhood" | "set"} */
export function kindOf({ arguments: given, answer }) {
  if (!answer || isEntity(answer)) return answer ? "entity" : "refused";
  if (answer.walks?.length) return "walks";
  if (answer.facets || (answer.node_count && !answer.nodes.length)) return "groups";
  if (!answer.nodes.length) return "empty";
  if (answer.edges.length) return given.to?.length ? "connections" : "neighbourhood";
  return answer.nodes.some((/** @type {any} */ node) => node.paths !== undefined) ? "ranking" : "set";
}

/** The call as a line of text, with hidden characters as escapes. @param {Made} made */
export function callText({ tool, arguments: given }) {
  return replaceHidden(`${tool}(${Object.entries(given).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(", ")})`, jsonEscape);
}

/** The fragment of the page's address for a call. @param {Made} made */
export function addressOf({ tool, arguments: { max_hops: hops, node_types: types, exclude_node_types: exclude, ...given }, answer }) {
  if (tool === "describe_entity") return format({ view: "entity", id: answer?.id ?? given.id });
  const [view, empty] = [tool === "bfs_query" ? "walk" : "intersect", parse("")];
  const values = Object.entries({ ...given, view, hops, types, exclude }).filter(([, value]) => value !== undefined);
  return format(Object.fromEntries(values.map(([key, value]) => [key, Array.isArray(empty[key]) ? [value].flat() : value])));
}

/** A text of the graph in a text for a model: in quotes, since anybody may have written it. @param {string} text */
export const quoted = (text) => replaceHidden(JSON.stringify(text), jsonEscape);

/** A node for a model. @param {Graph} graph @param {string} id */
export function citation(graph, id) {
  const name = graph.nameOf(id);
  return name === id ? quoted(id) : `${quoted(short(name, 200))} (id ${quoted(id)})`;
}

/** What an answer is about: its seeds by name. @param {Made} made @param {Graph} graph */
export function titleOf({ arguments: given, answer, answer: { seeds, name, id } }, graph) {
  if (isEntity(answer)) return typeof name === "string" ? name : id;
  const texts = [given.seeds ?? []].flat();
  const names = seeds.map((/** @type {string} */ seed, /** @type {number} */ nth) => graph.node(seed)?.name ?? (texts.length === seeds.length ? texts[nth] : seed));
  return names.slice(0, 3).join(", ") + (seeds.length > 3 ? ` and ${seeds.length - 3} more` : "") + (given.to?.length ? ` to ${[given.to].flat().map((/** @type {string} */ one) => graph.nameOf(one)).join(", ")}` : "");
}

/** How much there is, and how much of it is not drawn. @param {Made} made @param {Graph} graph */
export function sizesOf({ answer, bytes }, graph) {
  const { node_count: n, shown_count: shown = n, walk_count: walks, edge_count: edges, left_out: left } = isEntity(answer) ? {} : answer ?? {};
  const drawn = /** @type {[string, string, number][]} */ ([["nodes", "node", graph.size], ["edges", "relation", graph.edges.length], ["walks", "walk", MOST_DRAWN]]);
  const undrawn = drawn.map(([key, noun, most]) => ({ noun, more: (left?.[key] ?? 0) + (answer?.[key]?.length ?? 0) - most })).filter(({ more }) => more > 0);
  const counts = n === undefined ? [] : [walks === undefined ? plural(shown, "node") : plural(walks, "walk"), edges && plural(edges, "relation"), ...undrawn.map(({ more, noun }) => `${plural(more, noun)} not drawn`)];
  return [...counts, plural(Math.ceil(bytes / 3), "token")].filter(Boolean).join(" · ");
}

/** The relations of the picture in groups: around one seed by direction, otherwise by predicate. @param {Graph} graph @returns {[string, Line[]][]} */
export function relationsOf(graph) {
  const seeds = graph.nodes.filter(({ seed }) => seed);
  const groups = /** @type {Map<string, Line[]>} */ (new Map());
  for (const edge of graph.edges) {
    const { subject, predicate, object } = edge;
    const seed = seeds.length === 1 && subject !== object && [subject, object].indexOf(seeds[0].id);
    const [key, other] = seed === 0 ? [`${predicate} →`, object] : seed === 1 ? [`← ${predicate}`, subject] : [predicate, ""];
    if (!groups.get(key)?.push({ edge, other })) groups.set(key, [{ edge, other }]);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

/** Other calls of the same tool to which the error or the notes of an answer point. @param {Made} made @returns {{label: string, arguments: Record<string, any>}[]} */
export function repairs({ arguments: given, answer, error }) {
  const swapped = (/** @type {string} */ wrong, /** @type {string} */ right) => JSON.parse(JSON.stringify(given).replaceAll(wrong, () => right));
  const without = (/** @type {string} */ key) => Object.fromEntries(Object.entries(given).filter(([one]) => one !== key));
  if (answer?.node_count === 0) return NARROWING.filter((key) => key in given).map((key) => ({ label: `Without ${key}`, arguments: without(key) }));
  const offset = answer && nextOffset(answer);
  if (offset) return [{ label: "Next page", arguments: { ...given, offset } }];
  const [, wrong, ids] = /no entity has the id or the name ("(?:[^"\\]|\\.)*")\. The closest known ids: (.*?)\. Give an id/s.exec(error) ?? [];
  if (ids) return [...ids.matchAll(/(\S.*?) \((.*?)\)(?:, |$)/gs)].map(([, id, about]) => ({ label: about, arguments: swapped(wrong, JSON.stringify(id)) }));
  const [, unknown, right] = /has no argument "([^"]+)"\. Did you mean (\w+)/.exec(error) ?? [];
  if (right) return [{ label: `With ${right}`, arguments: { ...without(unknown), [right]: given[unknown] } }];
  const [, name, known = ""] = /"([^"]+)"\. (?:The nearest: |Did you mean )([^.?]*)[.?]/.exec(error) ?? [];
  return known.split(/, | or /).filter(Boolean).map((one) => ({ label: `With ${one}`, arguments: swapped(JSON.stringify(name).slice(1, -1), JSON.stringify(one).slice(1, -1)) }));
}
