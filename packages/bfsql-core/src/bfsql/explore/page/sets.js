// @ts-check
/** Sets of entities: patterns such as `Crime[kind=Drugs]`, the conditions in them, and their properties. */

import { loaded } from "./schema.js";
import { propertiesOf } from "./steps.js";
import { conditionWords } from "./words.js";

/** @typedef {import("./state.js").State} State */

/** The number of properties by which a set is grouped, that its table may show (columns are four of them), and that stand for names. */
const [MOST_GROUPED, MOST_FIELDS, MOST_CAPTIONS] = [12, 8, 10];

/** Keys that need no quotes anywhere, besides names and other names. */
const PLAIN = /^(?!(?:name|synonyms)$)[\p{L}_][\p{L}\p{N}_]*$/u;

/** Whether a text is written as a pattern: a type with an asterisk or brackets behind it. @param {string} text */
export function isPattern(text) {
  return /^[^[\]]+(?::\*|\[.*\])$/s.test(text.trim());
}

/** Whether a seed is a pattern. @param {State} state */
export function isSet({ seeds }) {
  return seeds.some(isPattern);
}

/** Whether a state is a set without a walk. @param {State} state */
export function isAlone(state) {
  return isSet(state) && !state.hops && !state.path.length && !state.along.length && !state.to.length;
}

/** The type of a pattern, or several with bars between them. @param {string} pattern */
export function typeOf(pattern) {
  return pattern.trim().replace(/(?::\*|\[.*)$/s, "");
}

/** The types of which all seeds are; null if a seed is an entity. @param {State} state @returns {Set<string> | null} */
export function seedTypes({ seeds }) {
  if (!seeds.length || !seeds.every(isPattern)) return null;
  const types = seeds.flatMap((/** @type {string} */ seed) => typeOf(seed).split("|"));
  return types.includes("*") ? null : new Set(types);
}

/** "Crime where kind is Drugs and year above 2010". @param {string} pattern */
export function patternWords(pattern) {
  const conditions = conditionsIn(pattern).map(conditionWords);
  return conditions.length ? `${typeOf(pattern)} where ${conditions.join(" and ")}` : typeOf(pattern);
}

/** Properties of some types: first those with few values, then numbers, then others. @param {Iterable<string>} types */
function propertiesFor(types) {
  const known = loaded();
  const rank = (/** @type {import("./steps.js").Property} */ one) => (one.values.length ? 0 : one.numbers ? 1 : 2);
  return known ? propertiesOf([...types], known).filter(({ name }) => PLAIN.test(name)).sort((a, b) => rank(a) - rank(b)) : [];
}

/** The properties that the table of a set may show. @param {State} state */
export function fieldsOf(state) {
  return isAlone(state) ? propertiesFor(seedTypes(state) ?? []).slice(0, MOST_FIELDS).map(({ name }) => name) : [];
}

/** Keys of texts that serve as names where there is no name. */
const NAMING = /(?:name|title|label|caption|code|address|number|no)$/i;

/** The property that names the nodes of a type without names; empty if there is none. @param {string} type */
export function captionOf(type) {
  const known = loaded();
  const all = known ? propertiesOf([type], known) : [];
  return all.some(({ name }) => name === "name") ? "" : all.find(({ name, values, numbers }) => PLAIN.test(name) && NAMING.test(name) && !values.length && !numbers)?.name ?? "";
}

/** The properties that stand for names in this graph. */
export function captions() {
  return [...new Set(loaded()?.types.map(captionOf).filter(Boolean))].slice(0, MOST_CAPTIONS);
}

/** What nodes of some types are grouped by, if nothing is chosen; of numbers with as many values as a call may list. @param {Iterable<string>} types */
export function groupsFor(types) {
  return propertiesFor(types).slice(0, MOST_GROUPED).map(({ name, numbers }) => (numbers ? `${name}:1000` : name));
}

/** The conditions of a state: those in the pattern of a set that stands alone, and those of the call. @param {State} state @returns {string[]} */
export function conditionsOf(state) {
  return isAlone(state) && state.seeds.length === 1 ? [...conditionsIn(state.seeds[0]), ...state.where] : state.where;
}

/** The change of a state that gives it these conditions; of a set alone, they are in its pattern where they can be. @param {State} state @param {string[]} conditions @returns {Partial<State>} */
export function withConditions(state, conditions) {
  const [seed] = state.seeds;
  if (!isAlone(state) || state.seeds.length > 1) return fromSet(state, { where: conditions });
  const inside = conditions.map((one) => ofPattern(one, seed)).filter((one) => one !== null);
  return { seeds: [inside.length ? typeOf(seed) + inside.map((one) => `[${one}]`).join("") : `${typeOf(seed)}:*`], where: conditions.filter((one) => ofPattern(one, seed) === null) };
}

/** A change of the state. If it makes a set the start of a walk, the conditions on the set move into its patterns: in `where` they would be about other nodes from then
 * on. @param {State} state @param {Partial<State>} change @returns {Partial<State>} */
export function fromSet(state, change) {
  const { seeds, where } = state;
  if (!isAlone(state) || isAlone({ ...state, ...change }) || !seeds.every(isPattern)) return change;
  const moves = (/** @type {string} */ condition) => seeds.every((/** @type {string} */ seed) => ofPattern(condition, seed) !== null);
  const within = (/** @type {string} */ seed, /** @type {string} */ condition) => `${seed.replace(/:\*$/, "")}[${ofPattern(condition, seed)}]`;
  const moved = where.filter(moves);
  return { seeds: seeds.map((/** @type {string} */ seed) => moved.reduce(within, seed)), where: where.filter((/** @type {string} */ one) => !moves(one)), ...change };
}

/** A condition as it stands in the brackets of a pattern, without its type; null if it is about another type. @param {string} condition @param {string} pattern */
function ofPattern(condition, pattern) {
  const type = typeOf(pattern);
  const [, no = "", rest] = /** @type {RegExpExecArray} */ (/^(no\s+)?(.*)$/s.exec(condition));
  if ([".", " "].includes(rest[type.length]) && rest.startsWith(type)) return no + rest.slice(type.length + 1);
  return /^[^=<>!~.\s-][^=<>!~.]*(?:\.|\s<?-)/.test(rest) ? null : condition;
}

/** The conditions in the brackets of a pattern. @param {string} pattern */
export function conditionsIn(pattern) {
  const found = [];
  let [depth, from, quote] = [0, 0, ""];
  for (let at = 0; at < pattern.length; at += 1) {
    const sign = pattern[at];
    if (quote) quote = sign === quote ? "" : quote;
    else if (depth && "\"'`".includes(sign) && /[[=<>~|]\s*$/.test(pattern.slice(0, at))) quote = sign;
    else if (sign === "[" && (depth += 1) === 1) from = at + 1;
    else if (sign === "]" && (depth -= 1) === 0) found.push(pattern.slice(from, at));
  }
  return found;
}
