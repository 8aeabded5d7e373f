// @ts-check
/** Colours and shapes of types: Okabe and Ito's palette, which colour-blind people can distinguish; when all colours are used, the next shape begins, and after all
 * shapes darker and lighter tones. Yellow is darkened, since it would not be seen on white. */

const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#a08c00"];

export const SHAPES = ["circle", "square", "diamond", "triangle"];

/** What is mixed into the colours when all shapes are used, and how much of a colour remains. @type {[string, number][]} */
const TONES = [["#000000", 1], ["#000000", 0.55], ["#ffffff", 0.6]];

/** @typedef {{colour: string, shape: string}} Mark */

/** @type {Map<string, Mark>} */
const marks = new Map();

/** The mark of a type, the next free one at its first use, which stays the same as long as the page is open. @param {string} type @returns {Mark} */
export function markOf(type) {
  let mark = marks.get(type);
  if (!mark) {
    const index = marks.size;
    const round = Math.floor(index / COLOURS.length);
    const [tone, part] = TONES[Math.floor(round / SHAPES.length) % TONES.length];
    mark = { colour: mix(COLOURS[index % COLOURS.length], tone, part), shape: SHAPES[round % SHAPES.length] };
    marks.set(type, mark);
  }
  return mark;
}

/** The colours of the graphs of a federation, in the order of their first use. @type {Map<string, string>} */
export const graphColours = new Map();

/** The colour of what one graph alone says; null for what several or none say. @param {Record<string, any>} [metadata] @returns {string | null} */
export function colourOfGraph(metadata) {
  const graphs = Array.isArray(metadata?.graphs) ? metadata.graphs.map(String) : [];
  for (const name of graphs) {
    const left = COLOURS.length - graphColours.size; // from the last, since types begin with the first
    if (left && !graphColours.has(name)) graphColours.set(name, COLOURS[left - 1]);
  }
  return graphs.length === 1 ? graphColours.get(graphs[0]) ?? null : null;
}

/** Mix two colours `#rrggbb`. @param {string} one @param {string} other @param {number} part Of the first, 0 to 1. */
export function mix(one, other, part) {
  const [a, b] = [one, other].map((c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16)));
  return `#${a.map((v, i) => Math.round(v * part + b[i] * (1 - part)).toString(16).padStart(2, "0")).join("")}`;
}
