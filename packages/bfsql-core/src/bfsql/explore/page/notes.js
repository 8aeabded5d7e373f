// @ts-check
/** Notes, which are written for models, in words for people, each with a button that does what the note advises. Kinds that are not in the table are shown as they are. */

import { count, plural } from "./dom.js";
import { get, set } from "./state.js";

/** @typedef {{text: string, button?: string, act?: () => void}} ShownNote */

/** The place of the next page, in notes on what is missing. */
const NEXT = /Continue with offset=(\d+), limit=\d+\.$/;

/** The names of arguments in front of a note. @type {Record<string, string>} */
const SUBJECTS = { where: "Condition: ", sort_by: "Order: ", measure: "Measure: ", along: "Along: ", facets: "", fields: "" };

/** Kinds of notes (`docs/reference/notes.md`); an empty text is not shown. @type {[RegExp, (...parts: string[]) => ShownNote][]} */
const KINDS = [
  [/^(?:Shown )?(\w+)s (\d+) to (\d+) of (\d+)\. Continue with offset=(\d+)/i, (noun, first, last, total, offset) => ({
    text: `${noun[0].toUpperCase()}${noun.slice(1)}s ${number(first)} to ${number(last)} of ${number(total)} are shown.`, ...nextPage(offset) })],
  [/^(\d+) (\w+?)s? did not fit .*\. Continue with offset=(\d+)/, (n, noun, offset) => ({
    text: `${plural(Number(n), noun)} more had no room in this answer.`, ...nextPage(offset) })],
  [/^fields: edges have: (.*)\.$/, (keys) => ({ text: `The edges also have: ${keys}.`, button: "Show whole records", act: () => set({ details: "all" }) })],
  [/^facets: "(.*)" shows (\d+) of (\d+) values; "(.*)" shows (?:all|more)\.$/, (key, shown, n, more) => ({
    text: `“${key}” has ${number(n)} different values; the ${number(shown)} most frequent are shown.`, button: "Show more values", act: () => moreValues(key, more) })],
  [/^k=(\d+) is the smallest radius/, (k) => ({ text: `They meet within ${plural(Number(k), "hop")}.` })],
  [/^relations: the (\d+) most frequent of (\d+);/, (shown, total) => ({ text: `The ${number(shown)} most frequent of ${number(total)} relations between types are shown.` })],
  [/^max_tokens: reduced to (\d+)/, (most) => ({ text: `This server gives at most ${number(most)} tokens in one answer.` })],
  [/^(.*) left without metadata by (.*)\. For nodes use/, (what, bound) => ({ text: `${what} left without properties by ${bound}. Show fewer nodes, or names alone.` })],
  [/^(\d+) edges? joins? this page to earlier ones/, (n) => ({ text: `${plural(Number(n), "edge")} to nodes of earlier pages are not shown.` })],
  [/^Stopped at \w+=(\d+) of (\d+), because (.*?)\. The answer/, (done, asked, why) => ({ text: `The walk ended after ${plural(Number(done), "hop")} of ${asked}, because ${why}. Go on from the outermost nodes.` })],
  [/^(?:\.\.\. marks properties|fields: nothing on this page has name\.)/, () => ({ text: "" })],
  [/^sort_by: degree counts the edges/, () => ({ text: "" })],
];

/** @param {string} note @returns {ShownNote} */
export function forPeople(note) {
  for (const [pattern, say] of KINDS) {
    const found = pattern.exec(note);
    if (found) return say(...found.slice(1));
  }
  const [, subject, rest] = /^(\w+): (.*)$/s.exec(note) ?? [];
  return { text: Object.hasOwn(SUBJECTS, subject ?? "") ? SUBJECTS[subject] + rest : note };
}

/** The offset at which an answer says that it continues; null if it does not. @param {{notes?: string[]}} answer */
export function nextOffset({ notes = [] }) {
  const offset = notes.map((note) => NEXT.exec(note)?.[1]).find(Boolean);
  return offset === undefined ? null : Number(offset);
}

/** Group by more values of a property. @param {string} key @param {string} more The key with the number of values: `year:40`. */
export function moreValues(key, more) {
  set({ facets: get().facets.map((/** @type {string} */ one) => (one.replace(/:\d+$/, "") === key ? more : one)) });
}

/** @param {string} offset */
function nextPage(offset) {
  return { button: "Show the next page", act: () => set({ offset: Number(offset) }) };
}

/** @param {string} digits */
function number(digits) {
  return count(Number(digits));
}
