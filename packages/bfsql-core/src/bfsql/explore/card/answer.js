// @ts-check
/** What kind of answer a call has, what is said of it in words, and which calls would repair or continue it. */

import { jsonEscape, replaceHidden } from "../page/characters.js";
import { plural } from "../page/dom.js";
import { nextOffset } from "../page/notes.js";
import { format, parse } from "../page/state.js";

/** @typedef {import("./host.js").Made} Made */
/** @typedef {import("../page/graph.js").Graph} Graph */
/** @typedef {import("../page/graph.js").Edge} Edge */
/** @typedef {{label: string, arguments: Record<string, any>}} Repair A button with another call of the same tool. */

/** The nodes, walks and values of a group that are drawn (`server/apps.py`). */
export const MOST_DRAWN = 300;

/** Arguments without which an empty answer may have something. */
const NARROWING = ["where", "exclude_node_types", "node_types", "min_mentions", "predicates", "at"];

/** @param {Made} made @returns {"refused" | "empty" | "entity" | "walks" | "connections" | "ranking" | "groups" | "set" | "neighbourhood"} */
export function kindOf({ arguments: given, answer }) {
  if (!answer) return "refused";
  if (!answer.nodes) return "entity";
  if (answer.walks?.length) return "walks";
  if (answer.facets || (answer.node_count && !answer.nodes.length)) return "groups";
  if (!answer.nodes.length) return "empty";
  if (given.to?.length && answer.edges.length) return "connections";
  if (answer.nodes.some((/** @type {any} */ node) => node.paths !== undefined)) return "ranking";
  return answer.edges.length ? "neighbourhood" : "set";
}

/** The call as a line of text, with hidden characters as escapes. @param {Made} made */
export function callText({ tool, arguments: given }) {
  const parts = Object.entries(given).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return replaceHidden(`${tool}(${parts.join(", ")})`, jsonEscape);
}

/** The fragment of the page's address for a call. @param {Made} made */
export function addressOf({ tool, arguments: { max_hops: hops, node_types: types, exclude_node_types: exclude, ...given }, answer }) {
  if (tool === "describe_entity") return format({ view: "entity", id: answer?.id ?? given.id });
  const [view, empty] = [tool === "bfs_query" ? "walk" : "intersect", parse("")];
  const values = Object.entries({ ...given, view, hops, types, exclude }).filter(([, value]) => value !== undefined);
  return format(Object.fromEntries(values.map(([key, value]) => [key, Array.isArray(empty[key]) ? [value].flat() : value])));
}

/** A name and id in a text for a model: the name is quoted, since anybody may have written it. @param {Graph} graph @param {string} id */
export function citation(graph, id) {
  const name = graph.nameOf(id).slice(0, 200);
  return replaceHidden(name === id ? JSON.stringify(id) : `${JSON.stringify(name)} (id ${JSON.stringify(id)})`, jsonEscape);
}

/** What an answer was about: names of its seeds. @param {Made} made @param {Graph} graph */
export function titleOf({ arguments: given, answer }, graph) {
  if (!answer) return "The call was refused";
  if (!answer.nodes) return answer.name ?? answer.id;
  const seeds = answer.seeds.map((/** @type {string} */ id) => graph.nameOf(id));
  const more = seeds.length > 3 ? ` and ${seeds.length - 3} more` : "";
  const to = given.to?.length ? ` to ${[given.to].flat().join(", ")}` : "";
  return seeds.slice(0, 3).join(", ") + more + to;
}

/** How much there is, and how much of it is drawn. @param {Made} made */
export function sizesOf({ answer, bytes }) {
  const counts = [];
  if (answer?.nodes) {
    const { node_count, shown_count, walk_count, edge_count } = answer;
    counts.push(walk_count !== undefined ? plural(walk_count, "walk") : plural(shown_count ?? node_count, "node"));
    if (edge_count) counts.push(plural(edge_count, "relation"));
    const left = (answer.left_out?.nodes ?? 0) + Math.max(0, answer.nodes.length - MOST_DRAWN);
    if (left) counts.push(`${plural(left, "node")} of the answer not drawn`);
  }
  return [...counts, plural(Math.ceil(bytes / 3), "token")].join(" · ");
}

/** The relations of the picture in groups: around one seed by direction, otherwise by predicate. @param {Graph} graph @returns {[string, {edge: Edge, other: string}[]][]} */
export function relationsOf(graph) {
  const seeds = new Set(graph.nodes.filter((node) => node.seed).map((node) => node.id));
  /** @type {Map<string, {edge: Edge, other: string}[]>} */
  const groups = new Map();
  for (const edge of graph.edges) {
    const { subject, predicate, object } = edge;
    const leaves = seeds.has(subject) && !seeds.has(object);
    const alone = seeds.size === 1 && leaves !== (seeds.has(object) && !seeds.has(subject));
    const key = alone ? (leaves ? `${predicate} →` : `← ${predicate}`) : predicate;
    const line = { edge, other: alone ? (leaves ? object : subject) : "" };
    if (!groups.get(key)?.push(line)) groups.set(key, [line]);
  }
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}

/** Calls that the error or the notes of an answer point to. @param {Made} made @returns {Repair[]} */
export function repairs({ arguments: given, answer, error }) {
  const said = error || (answer?.notes ?? []).join(" ");
  const offset = answer && nextOffset(answer);
  const next = offset ? [{ label: "Next page", arguments: { ...given, offset } }] : [];
  const without = answer && !answer.node_count ? NARROWING.filter((key) => key in given) : [];
  return [...next, ...without.map((key) => ({ label: `Without ${key}`, arguments: omit(given, key) })), ...replacements(said, given)];
}

/** @param {string} said @param {Record<string, any>} given @returns {Repair[]} */
function replacements(said, given) {
  const [, wrong, ids] = /no entity has the id or the name ("(?:[^"\\]|\\.)*")\. The closest known ids: (.*?)\. Give an id/s.exec(said) ?? [];
  if (ids) return [...ids.matchAll(/(\S.*?) \((.*?)\)(?:, |$)/gs)].map(([, id, about]) => ({ label: about, arguments: swapped(given, JSON.parse(wrong), id, true) }));
  const [, unknown, right] = /has no argument "([^"]+)"\. Did you mean (\w+)/.exec(said) ?? [];
  if (right) return [{ label: `With ${right}`, arguments: { ...omit(given, unknown), [right]: given[unknown] } }];
  const [, name, known] = /"([^"]+)"\. (?:The nearest: |Did you mean )([^.?]*)[.?]/.exec(said) ?? [];
  return (known ?? "").split(/, | or /).filter(Boolean).map((one) => ({ label: `With ${one}`, arguments: swapped(given, name, one, false) }));
}

/** @param {Record<string, any>} given @param {string} key */
function omit(given, key) {
  return Object.fromEntries(Object.entries(given).filter(([one]) => one !== key));
}

/** The arguments with another name in place of one. @param {any} value @param {string} wrong @param {string} right @param {boolean} whole Whether only texts that are nothing else. @returns {any} */
function swapped(value, wrong, right, whole) {
  if (typeof value === "string") return whole ? (value === wrong ? right : value) : value.replaceAll(wrong, right);
  if (Array.isArray(value)) return value.map((one) => swapped(one, wrong, right, whole));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, swapped(one, wrong, right, whole)]));
}
