// @ts-check
/** Names of entities that answers show by their id alone; each id is read once. */

import { namesOf } from "./api.js";

/** The number of ids that a request may have (`rest/parameters.py`). */
const MOST_IDS = 10_000;

/** Names by id; an entity without a name has its id. @type {Map<string, string>} */
const known = new Map();

/** The name of an entity, or its id if no name is known. @param {string} id */
export function knownName(id) {
  return known.get(id) ?? id;
}

/** @param {string} id @param {string} name */
export const remember = (id, name) => void known.set(id, name);

/** Read the names that are not known yet. If that fails, the ids are shown. @param {string[]} ids @param {AbortSignal} [signal] */
export async function readNames(ids, signal) {
  const unknown = [...new Set(ids)].filter((id) => !known.has(id)).slice(0, MOST_IDS);
  if (!unknown.length) return;
  try {
    const names = await namesOf(unknown, signal);
    for (const id of unknown) known.set(id, names.get(id) ?? id);
  } catch {
    signal?.throwIfAborted();
  }
}
