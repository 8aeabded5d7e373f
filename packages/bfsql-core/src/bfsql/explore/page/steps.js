// @ts-check
/** Suggestions of what to write next: steps of a path, patterns, conditions, measures, groups and sort keys, from the schema. Nothing is checked here: the tool reads the
 * text, and its error is shown at the field. */

/** @typedef {Pick<import("./schema.js").Schema, "types" | "predicates" | "relations" | "properties">} Schema The part of the schema that is needed. */
/** @typedef {import("./combobox.js").Suggestion} Suggestion */
/** @typedef {"out" | "in" | "both"} Direction */
/** @typedef {Set<string> | null} Types Null for any. */

const MOST = 50;
/** The number of sets of each kind that a search offers. */
const MOST_SETS = 3;
const ANY = [
  { text: "-->", hint: "any relation, leaving" },
  { text: "<--", hint: "any relation, entering" },
  { text: "--", hint: "any relation, either way" },
];
const ARROW = /^(<?)-(.*?)(->|-(?=[\s{]|$))\s*(.*)$/s;

// --- a step ------------------------------------------------------------------------------

/** A step whose arrow is complete; null for any other text. @param {string} text @param {Schema} schema @returns {{arrow: string, direction: Direction, predicates: string[], rest: string} | null} */
export function readStep(text, schema) {
  const known = [...schema.predicates].sort((a, b) => b.length - a.length);
  const head = /^\s*(<?)-/.exec(text);
  if (!head) return null;
  const predicates = [];
  let at = head[0].length;
  for (;;) {
    const name = known.find((one) => text.startsWith(one, at));
    if (name === undefined) break;
    predicates.push(name);
    at += name.length;
    if (text[at] !== "|") break;
    at += 1;
  }
  const tail = /^->?/.exec(text.slice(at));
  if (!tail) return null;
  const found = ARROW.exec(text.trim());
  if (!predicates.length && found?.[2]) return null;
  const arrow = text.slice(0, at + tail[0].length).trim();
  const direction = head[1] ? "in" : tail[0] === "->" ? "out" : "both";
  return { arrow, direction, predicates, rest: text.slice(at + tail[0].length).trimStart() };
}

/** The types that a walk has reached after some steps. @param {string[]} steps @param {Types} seeds @param {Schema} schema @returns {Types} */
export function typesAfter(steps, seeds, schema) {
  return steps.reduce((at, text) => typesBehind(text, at, schema), seeds);
}

/** @param {string} text @param {Types} at @param {Schema} schema @returns {Types} */
function typesBehind(text, at, schema) {
  const step = readStep(text, schema);
  if (!step) return null;
  const named = step.rest.replace(/\{[\d,\s]*\}\s*$/, "").trim();
  const types = named.split("|").map((name) => name.trim());
  if (named && types.every((name) => schema.types.includes(name))) return new Set(types);
  const found = ends(step, at, schema).map(({ type }) => type);
  return !named && found.length ? new Set(found) : null;
}

/** The types at the other end of a step, with the number of edges that lead there. @param {{direction: Direction, predicates: string[]}} step @param {Types} at @param {Schema} schema */
function ends({ direction, predicates }, at, schema) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  const add = (/** @type {string} */ type, /** @type {number | null} */ count) => counts.set(type, (counts.get(type) ?? 0) + (count ?? 0));
  for (const { subject, predicate, object, count } of schema.relations) {
    if (predicates.length && !predicates.includes(predicate)) continue;
    if (direction !== "in" && (!at || at.has(subject))) add(object, count);
    if (direction !== "out" && (!at || at.has(object))) add(subject, count);
  }
  return [...counts].map(([type, count]) => ({ type, count })).sort((a, b) => b.count - a.count);
}

/** The completions of a step. @param {string} text The text so far. @param {Types} at The types at which the step begins. @param {Schema} schema @returns {Suggestion[]} */
export function suggestSteps(text, at, schema) {
  const step = readStep(text, schema);
  return step ? behindArrow(step, at, schema) : wholeSteps(text, at, schema);
}

/** The types after a complete arrow. @param {NonNullable<ReturnType<typeof readStep>>} step @param {Types} at @param {Schema} schema */
function behindArrow({ arrow, direction, predicates, rest }, at, schema) {
  const open = /^[^[]*\[/.test(rest) && inBrackets(rest, schema);
  if (open) return open.map((one) => ({ ...one, text: `${arrow} ${one.text}` }));
  const [before, fragment] = split(rest);
  const known = ends({ direction, predicates }, at, schema);
  const further = known.length ? [] : schema.types.map((type) => ({ type, count: 0 }));
  const types = [...known, ...further].filter(({ type }) => contains(type, fragment));
  /** @type {Suggestion[]} */
  const found = types.map(({ type, count }) => ({ text: `${arrow} ${before}${type}`, hint: edges(count) }));
  if (!rest) found.push({ text: arrow, hint: "to any type" }, { text: `${arrow}{1,3}`, hint: "once to three times" });
  return found.slice(0, MOST);
}

/** @param {string} rest @returns {[string, string]} */
function split(rest) {
  const bar = rest.lastIndexOf("|");
  return [rest.slice(0, bar + 1), rest.slice(bar + 1)];
}

/** Complete steps that contain the words of a text. @param {string} text @param {Types} at @param {Schema} schema */
function wholeSteps(text, at, schema) {
  const start = text.trimStart();
  const words = start.replace(/^(?:<-?|-|>)/, "").split(/\s+/).map((word) => word.replace(/->?$/, ""));
  const entering = start.startsWith("<");
  const leaving = start.startsWith("-") || start.startsWith(">");
  const fits = (/** @type {Suggestion} */ one) =>
    (!entering || one.text.startsWith("<")) && (!leaving || !one.text.startsWith("<")) && words.every((word) => contains(one.text, word));
  const known = stepsAt(at, schema);
  const steps = known.length ? known : schema.predicates.flatMap((name) => [{ text: `-${name}->` }, { text: `<-${name}-` }]);
  const any = words.every((word) => !word) ? ANY.filter(fits) : [];
  return [...steps.filter(fits).slice(0, MOST), ...any];
}

/** The relations at some types as steps, the most frequent first. @param {Types} at @param {Schema} schema @returns {Suggestion[]} */
function stepsAt(at, schema) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { subject, predicate, object, count } of schema.relations) {
    if (!at || at.has(subject)) add(counts, `-${predicate}-> ${object}`, count);
    if (!at || at.has(object)) add(counts, `<-${predicate}- ${subject}`, count);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).map(([text, count]) => ({ text, hint: edges(count) }));
}

/** @param {Map<string, number>} counts @param {string} text @param {number | null} count */
function add(counts, text, count) {
  counts.set(text, (counts.get(text) ?? 0) + (count ?? 0));
}

// --- conditions and order ----------------------------------------------------------------

const OPERATORS = ["=", "!=", "<", "<=", ">", ">=", "~"];

/** The completions of a condition, with examples for the first one. @param {string} text @param {Schema} whole @param {string[]} reached The types and predicates of the
 * answer; properties of others are not offered. @returns {{suggestions: Suggestion[], note: string}} */
export function suggestConditions(text, whole, reached = []) {
  const schema = reached.length ? among(whole, reached) : whole;
  const [relation] = schema.relations;
  const example = relation ? `<-${relation.predicate}- ${relation.subject}` : "<-predicate- Type";
  const note = text ? "" : `By a property: "year>=1990", "name~part". By relations: "no ${example}", "${example} >= 3". By steps of a path: "2 != 0".`;
  const [, before, arrow] = /^((?:[^=<>!~]*\s)?)(<?-.*)$/s.exec(text) ?? [];
  if (arrow === undefined) return { suggestions: propertyConditions(text, properties(schema)), note };
  const scope = before.replace(/^\s*no\s/i, "").trim();
  const steps = suggestSteps(arrow, schema.types.includes(scope) ? new Set([scope]) : null, whole);
  return { suggestions: steps.map((one) => ({ ...one, text: before + one.text })), note };
}

/** Sets for a text in the search field: types, values and properties that contain it. @param {string} text @param {Schema & {nodeCounts?: Map<string, number>}} schema @returns {Suggestion[]} */
export function suggestSets(text, schema) {
  const types = schema.types.filter((type) => contains(type, text)).map((type) => {
    const n = schema.nodeCounts?.get(type);
    return { text: `${type}:*`, hint: n === undefined ? "all of this type" : `all ${n.toLocaleString("en")} of this type` };
  });
  const values = schema.types.flatMap((type) => propertiesOf([type], schema).flatMap(({ name, values: listed }) =>
    listed.filter((value) => contains(value, text)).map((value) => ({ text: `${type}[${condition(name, "=", [value])}]`, hint: `${type} by ${name}` }))));
  const keys = schema.types.flatMap((type) => propertiesOf([type], schema).filter(({ name }) => name !== "name" && contains(name, text))
    .map(({ name, range }) => ({ text: `${type}[${quotedKey(name)}`, hint: range || "a property", partial: true })));
  return [types, values, keys].flatMap((found) => found.slice(0, MOST_SETS));
}

/** Sets of entities with a text in a property whose values the schema does not list. @param {string} text @param {Schema} schema @returns {Suggestion[]} */
export function suggestTexts(text, schema) {
  const found = schema.types.flatMap((type) => propertiesOf([type], schema).filter(({ name, range, values }) => name !== "name" && !range.includes("..") && (!values.length || range.includes("...")))
    .map(({ name }) => ({ text: `${type}[${condition(name, "~", [text])}]`, hint: `${type} whose ${name} contains it` })));
  return found.slice(0, 2 * MOST_SETS);
}

/** A condition that one of some values meets. @param {string} key @param {string} sign @param {string[]} values */
export function condition(key, sign, values) {
  return `${quotedKey(key)}${sign}${values.map(quoted).join("|")}`;
}

/** @param {string} key */
function quotedKey(key) {
  return /^not?\s|^[(^-]|-$|^[^.]*[[\]][^.]*$/i.test(key) ? `"${key}"` : key;
}

/** A value of a condition, in quotes where answers write it so (`models/condition.py`). @param {string} value */
function quoted(value) {
  if (value && value === value.trim() && !/^["'`=<>~]|[[\]|{}]|\s(and|or)\s|&&|(,|\band\b).*[=!<>~]|[=<>~|(,:]\s*["'`]/is.test(value)) return value;
  const quote = [..."\"'`"].find((one) => !value.includes(one)) ?? "";
  return quote + value + quote;
}

/** The completions of a pattern, with examples. @param {string} text @param {Schema} schema @returns {{suggestions: Suggestion[], note: string}} */
export function suggestPatterns(text, schema) {
  const open = inBrackets(text, schema);
  if (open) return { suggestions: open, note: "" };
  const type = schema.types.find((one) => contains(one, text)) ?? "Type";
  const found = schema.types.filter((one) => contains(one, text)).slice(0, MOST / 2).flatMap((one) => [
    { text: `${one}:*`, hint: "all of this type" },
    { text: `${one}[`, hint: "those that meet a condition", partial: true },
  ]);
  const { name: key = "name" } = propertiesOf([type], schema).find(({ range }) => range) ?? {};
  return { suggestions: found, note: `Entities by name, or patterns: "${type}:*", "${type}[${key}=value]", "${type}[no ${key}]", "*[name~part]".` };
}

/** The completions of a condition whose bracket is open, with the text in front of it; null if none is. Only what can be left as it is ends with a bracket. @param
 * {string} text @param {Schema} schema @returns {Suggestion[] | null} */
function inBrackets(text, schema) {
  const [, before, types, inner] = /^(([^[\]]*)(?:\[[^[\]]*\])*\[)([^[\]]*)$/s.exec(text) ?? [];
  if (inner === undefined) return null;
  const named = types.split("|").map((type) => type.trim());
  const known = propertiesOf(named.some((type) => schema.types.includes(type)) ? named : schema.types, schema);
  return propertyConditions(inner, known).map((one) => ({ ...one, text: before + one.text + (one.partial ? "" : "]") }));
}

/** The completions of a condition by a property: the property, an operator, then one of the values. @param {string} text @param {Property[]} known @returns {Suggestion[]} */
function propertyConditions(text, known) {
  const written = new RegExp(`^(.*?)(${[...OPERATORS].sort((a, b) => b.length - a.length).join("|")})(.*)$`, "s").exec(text);
  if (!written) {
    const exact = known.find(({ name }) => name === text);
    if (exact) return OPERATORS.map((sign) => ({ text: `${text}${sign}`, hint: exact.range, partial: true }));
    return known.filter(({ name }) => contains(name, text)).slice(0, MOST).map(({ name, range }) => ({ text: name, hint: range, partial: true }));
  }
  const [, left, sign, right] = written;
  const [before, fragment] = split(right.trimStart());
  const values = known.find(({ name }) => name === left.trim())?.values ?? [];
  return values.filter((value) => contains(value, fragment)).map((value) => ({ text: `${left}${sign}${before}${value}` }));
}

/** @param {string} text @param {Schema} schema @param {boolean} path Whether there is a path, whose nodes have `paths`. @returns {Suggestion[]} */
export function suggestOrder(text, schema, path) {
  const own = [{ name: "degree", hint: "edges in the answer" }, ...(path ? [{ name: "paths", hint: "walks through the node" }, { name: "measure", hint: "the first measure" }] : [])];
  const names = properties(schema).filter(({ name }) => !name.includes(".")).map(({ name, range }) => ({ name, hint: range }));
  return [...own, ...names]
    .flatMap(({ name, hint }) => [{ text: `-${name}`, hint: `descending; ${hint}` }, { text: name, hint }])
    .filter((one) => contains(one.text, text))
    .slice(0, MOST);
}

/** The completions of a measure of a path. @param {string} text @param {string[]} path @param {Types} seeds @param {Schema} schema @returns {Suggestion[]} */
export function suggestMeasures(text, path, seeds, schema) {
  const steps = [...path.keys(), path.length];
  const values = steps.flatMap((at) => {
    const types = typesAfter(path.slice(0, at), seeds, schema);
    const numbers = propertiesOf([...(types ?? schema.types)], schema).filter(({ range }) => range.includes(".."));
    return numbers.flatMap(({ name, range }) => ["max", "min", "mean", "sum", "median", "argmax", "argmin", "top 3"].map((kind) => ({ text: `${kind} ${at}.${name}`, hint: range })));
  });
  const counts = steps.map((at) => ({ text: `count ${at}`, hint: at ? `different nodes of ${path[at - 1]}` : "different seeds" }));
  return [...counts, ...values].filter((one) => contains(one.text, text)).slice(0, MOST);
}

/** The part of a schema about some types and predicates. @param {Schema} schema @param {string[]} reached @returns {Schema} */
function among(schema, reached) {
  const known = new Set([...reached, ...reached.map((name) => `-${name}->`)]);
  const kept = (/** @type {string} */ name) => known.has(name);
  const relations = schema.relations.filter(({ subject, object }) => kept(subject) || kept(object));
  return { ...schema, types: schema.types.filter(kept), relations, properties: Object.fromEntries(Object.entries(schema.properties).filter(([owner]) => kept(owner))) };
}

/** The completions of a group. @param {string} text @param {Schema} schema @returns {Suggestion[]} */
export function suggestFacets(text, schema) {
  const found = properties(schema).filter(({ name }) => contains(name, text));
  return found.slice(0, MOST).map(({ name, range }) => ({ text: name, hint: range }));
}

/** @typedef {{name: string, range: string, values: string[], numbers: number[] | null}} Property `numbers` are the smallest and the largest value. */

/** The properties of types. @param {string[]} types @param {Schema} schema @returns {Property[]} */
export function propertiesOf(types, schema) {
  /** @type {Map<string, Property>} */
  const found = new Map();
  for (const text of types.flatMap((type) => (Object.hasOwn(schema.properties, type) ? schema.properties[type] : []))) {
    const [, name, range = ""] = /^(.*?)(?:: (.*))?$/s.exec(text) ?? [];
    const values = range.includes("..") ? [] : range.split(" | ").filter((value) => value && value !== "...");
    const [, low, high] = /^(-?\d[\d.e+-]*?)\.\.(-?\d[\d.e+-]*)$/.exec(range) ?? [];
    const numbers = low && Number.isFinite(Number(low)) && Number.isFinite(Number(high)) ? [Number(low), Number(high)] : null;
    if (name && !found.has(name)) found.set(name, { name, range, values, numbers });
  }
  return [...found.values()];
}

/** Properties, with and without their type or predicate in front. @param {Schema} schema */
function properties(schema) {
  /** @type {Map<string, Property>} */
  const found = new Map();
  for (const owner of Object.keys(schema.properties)) {
    for (const own of propertiesOf([owner], schema)) {
      if (!found.has(own.name)) found.set(own.name, own);
      const scoped = `${owner.replace(/^-(.*)->$/s, "$1")}.${own.name}`;
      found.set(scoped, { ...own, name: scoped });
    }
  }
  return [...found.values()].sort((a, b) => Number(a.name.includes(".")) - Number(b.name.includes(".")));
}

/** @param {string} text @param {string} part */
function contains(text, part) {
  return text.toLowerCase().includes(part.trim().toLowerCase());
}

/** @param {number} count */
function edges(count) {
  return count ? `${count.toLocaleString("en")} ${count === 1 ? "edge" : "edges"}` : "";
}
