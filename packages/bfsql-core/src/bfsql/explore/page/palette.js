// @ts-check
/**
 * Colours and shapes of types: Okabe and Ito's palette, which colour-blind people can distinguish;
 * when all colours are used, the next shape begins.
 */

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442"];

export const SHAPES = ["circle", "square", "diamond", "triangle"];

/** @typedef {{colour: string, shape: string}} Mark */

/** @type {Map<string, Mark>} */
const marks = new Map();

/**
 * Assign marks to types in this order; types that have a mark keep it.
 *
 * @param {Iterable<string>} types
 */
export function register(types) {
  for (const type of types) markOf(type);
}

/** The mark of a type, which stays the same as long as the page is open. @param {string} type @returns {Mark} */
export function markOf(type) {
  let mark = marks.get(type);
  if (!mark) {
    const index = marks.size;
    mark = {
      colour: COLOURS[index % COLOURS.length],
      shape: SHAPES[Math.floor(index / COLOURS.length) % SHAPES.length],
    };
    marks.set(type, mark);
  }
  return mark;
}

/** Mix two colours `#rrggbb`. @param {string} one @param {string} other @param {number} part Of the first, 0 to 1. */
export function mix(one, other, part) {
  const [a, b] = [one, other].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
  return `#${a.map((v, i) => Math.round(v * part + b[i] * (1 - part)).toString(16).padStart(2, "0")).join("")}`;
}
