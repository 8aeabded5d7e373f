// @ts-check
/** The schema of the graph, asked for once, and again after a failure. */

import { call } from "./api.js";
import { relationOf } from "./graph.js";
import { register } from "./palette.js";

/**
 * @typedef {object} Schema
 * @property {string} description
 * @property {boolean} comprehensive
 * @property {string[]} types
 * @property {string[]} predicates
 * @property {{subject: string, predicate: string, object: string, count: number}[]} relations
 * @property {Map<string, number>} nodeCounts By type; empty where the store does not count them.
 * @property {string[]} notes
 * @property {Record<string, string[]>} properties
 * @property {import("./api.js").Call} call
 */

/** @type {Promise<Schema> | null} */
let asked = null;

/** @param {{again?: boolean}} [how] @returns {Promise<Schema>} */
export function schema({ again = false } = {}) {
  if (!asked || again) {
    const own = (asked = load());
    own.catch(() => {
      if (asked === own) asked = null;
    });
  }
  return asked;
}

/** @returns {Promise<Schema>} */
async function load() {
  const made = await call("describe_schema", {});
  const { answer } = made;
  const types = answer.entity_types ?? [];
  const lists = { entity_types: types, predicates: answer.predicates ?? [] };
  const nodeCounts = countsIn(answer.next_steps ?? "", types);
  register([...types].sort((a, b) => (nodeCounts.get(b) ?? 0) - (nodeCounts.get(a) ?? 0) || (a < b ? -1 : 1)));
  return {
    description: answer.graph_description ?? "",
    comprehensive: answer.comprehensive ?? false,
    types,
    predicates: lists.predicates,
    relations: (answer.relations ?? []).map((/** @type {string} */ text) => relationOf(text, lists)).filter(Boolean),
    nodeCounts,
    notes: made.notes,
    properties: answer.properties ?? {},
    call: made,
  };
}

/**
 * The counts that a store writes into its advice: "Nodes by type: Person 287, Movie 103."
 *
 * @param {string} advice @param {string[]} types
 */
function countsIn(advice, types) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const begin = advice.search(/Nodes by type(, about)?: /);
  if (begin < 0) return counts;
  const list = `, ${advice.slice(begin).replace(/^[^:]*: /, "")}`;
  for (const type of types) {
    const at = list.indexOf(`, ${type} `);
    const number = at < 0 ? null : /^[\d,]*\d/.exec(list.slice(at + type.length + 3));
    if (number) counts.set(type, Number(number[0].replaceAll(",", "")));
  }
  return counts;
}
