// @ts-check
/** The schema of the graph, requested once, and again after a failure. */

import { call, read } from "./api.js";
import { relationOf } from "./graph.js";
import { markOf } from "./palette.js";

/** Node counts are by type, and empty if the store does not count them; `relationsFrom` is null if it gives no relations.
 * @typedef {{description: string, comprehensive: boolean, types: string[], predicates: string[], properties: Record<string, string[]>,
 * relations: {subject: string, predicate: string, object: string, count: number | null}[], relationsFrom: "all" | "sample" | null,
 * nodeCounts: Map<string, number>, notes: string[], call: import("./api.js").Call}} Schema */

/** @type {Promise<Schema> | null} */
let asked = null;

/** @type {Schema | null} */
let known = null;

/** The schema, if it has been read. */
export function loaded() {
  return known;
}

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

/** @type {Promise<boolean> | null} */
let timed = null;

/** Whether calls may be about a time, which the description of the web API says. It is read after the schema, so that the user is asked for a token once. */
export function takesTime() {
  timed ??= schema().then(() => read("openapi.json")).then(
    ({ paths }) => "at" in paths["/tools/bfs_query"].post.requestBody.content["application/json"].schema.properties,
    () => false,
  );
  return timed;
}

/** The schema, or null if it cannot be read. A missing token is an error here, since every further call would ask the user for it again. @returns {Promise<Schema |
 * null>} @throws {import("./api.js").ApiError} The server requires a token, and the user gave none. */
export async function schemaOrNull() {
  try {
    return await schema();
  } catch (error) {
    if (/** @type {any} */ (error).status === 401) throw error;
    return null;
  }
}

/** @returns {Promise<Schema>} */
async function load() {
  const made = await call("describe_schema", {});
  const { answer } = made;
  const types = answer.entity_types ?? [];
  const lists = { entity_types: types, predicates: answer.predicates ?? [] };
  const nodeCounts = new Map(Object.entries(answer.node_counts ?? {}));
  [...types].sort((a, b) => (nodeCounts.get(b) ?? 0) - (nodeCounts.get(a) ?? 0) || (a < b ? -1 : 1)).forEach(markOf);
  return (known = {
    description: answer.graph_description ?? "",
    comprehensive: answer.comprehensive ?? false,
    types,
    predicates: lists.predicates,
    relations: (answer.relations ?? []).map((/** @type {string} */ text) => relationOf(text, lists)).filter(Boolean),
    relationsFrom: answer.relations_from ?? null,
    nodeCounts,
    notes: made.notes,
    properties: answer.properties ?? {},
    call: made,
  });
}
