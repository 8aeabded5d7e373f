// @ts-check
/** Characters that are invisible or reorder text, as listed in `bfsql.models.characters`. */

const HIDDEN = new RegExp(
  "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f" +
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069" +
    "\\u00ad\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200d\\u2060-\\u206f\\u3164" +
    "\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb" +
    "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}" +
    "\\u2028\\u2029\\ud800-\\udfff]",
  "gu",
);

/** Whether a text contains an invisible or reordering character. @param {string} text */
export function hasHidden(text) {
  return text.search(HIDDEN) >= 0;
}

/** The text with every such character replaced. @param {string} text @param {(character: string) => string} written The replacement for a character. */
export function replaceHidden(text, written) {
  return text.replace(HIDDEN, written);
}

/** Each UTF-16 code unit as a JSON escape. @param {string} character */
export function jsonEscape(character) {
  return character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
}
