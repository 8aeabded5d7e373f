// @ts-check
/** Predicates, steps of a path and conditions in words; the exact spelling belongs into the title. */

/** The number of letters of a step or condition that are shown. */
const MOST = 80;

/** @type {Record<string, string>} */
const SIGNS = { "=": "is", "!=": "is not", "<": "below", "<=": "at most", ">": "above", ">=": "at least", "~": "contains" };

/** "ACTED_IN", "actedIn" and "http://x.test/actedIn" as "acted in". @param {string} predicate */
export function predicateWords(predicate) {
  const local = /^\w+:/.test(predicate) ? predicate.replace(/^.*[/#:](?=[^/#:]+$)/s, "") : predicate;
  const words = local.replace(/[_\s]+/g, " ").replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2").trim();
  return words === words.toLowerCase() ? words : words.toLowerCase();
}

/** A relation as it is seen from one of its ends: "directed Movie", "directed by Person", "Person acted in this". @param {string[]} predicates @param {"out" | "in" |
 * "both"} direction @param {string} [type] The type at the other end; empty for any. */
export function relationWords(predicates, direction, type = "") {
  const words = predicates.map(predicateWords).join(" or ") || "any relation";
  if (direction !== "in" || !predicates.length) return [words, type && `${predicates.length ? "" : "to "}${type}`].filter(Boolean).join(" ");
  return /^\w+ed$/.test(words) ? [words, "by", type].filter(Boolean).join(" ") : [type, words, "this"].filter(Boolean).join(" ");
}

/** @param {string} text A step of a path. */
export function stepWords(text) {
  const [, entering, names, leaving, rest] = /^\s*(<?)-(.*?)-(>?)(?=[\s{]|$)\s*(.*)$/s.exec(text) ?? [];
  if (names === undefined) return text.slice(0, MOST);
  const direction = entering ? "in" : leaving ? "out" : "both";
  return relationWords(names ? names.split("|") : [], direction, rest.trim()).slice(0, MOST);
}

/** @param {string} text A condition. */
export function conditionWords(text) {
  const [, no = "", relation, more = ""] = /^(no\s+)?(<?-\S*-(?:>|(?=\s|$))[^<>=!]*)(.*)$/s.exec(text) ?? [];
  if (relation) return `${no || (more ? "" : "has ")}${stepWords(relation)}${signed(more)}`.slice(0, MOST);
  const [, key, rest] = /^([^=<>!~[]+)(.*)$/s.exec(text) ?? [];
  return `${key ?? ""}${signed(rest ?? text)}`.slice(0, MOST);
}

/** A comparison: ">=1990" as " at least 1990". @param {string} text */
function signed(text) {
  const [, sign, value] = /^\s*(!=|<=|>=|[=<>~])\s*(.*)$/s.exec(text) ?? [];
  if (!sign) return text;
  const shown = value.replace(/(["'`])(.*?)\1/gs, "$2");
  return ` ${SIGNS[sign]} ${sign.includes("=") ? shown.replaceAll("|", " or ") : shown}`;
}

/** @param {string} noun The name of a type. */
export function pluralOf(noun) {
  return noun.replace(/(?<=[^aeiou])y$/, "ie").replace(/(?:s|x|ch|sh|z)$/, "$&e") + "s";
}
