// @ts-check
/** The picture as an SVG file, with background, labels, arrows and legend. */

import { visible, xml } from "./formats.js";
import { Taken } from "./overlay.js";
import { OUTLINES, OUTLINE_RADIUS } from "./views/parts.js";

/**
 * @typedef {object} Drawn
 * @property {string} title
 * @property {{id: string, name: string, type: string, full: boolean, seed: boolean, x: number, y: number, size: number}[]} nodes
 *   With their positions, in any unit; y grows downwards. `size` is a radius in pixels.
 * @property {{subject: string, predicate: string, object: string}[]} edges
 * @property {{label: string, colour: string, shape: string, count: number}[]} legend Types, with their marks.
 * @property {{background: string, text: string, muted: string, edge: string}} theme
 */

/** @typedef {{x: number, y: number}} Point */

const SIDE = { least: 480, most: 4000, margin: 70, room: 150 };
const FONT = "system-ui, sans-serif";
const LEGEND = { row: 22, column: 220 };
const NAME_LENGTH = 40;
const NAME = { size: 12, row: 15 };
const PREDICATE = { size: 10, row: 11 };
/** The width of a letter, relative to the font size. */
const LETTER = 0.58;

/** @param {Drawn} drawn @returns {{text: string, width: number, height: number}} */
export function asSvg(drawn) {
  const { width, height, places } = scaled(drawn);
  const columns = Math.max(1, Math.floor((width - 2 * 20) / LEGEND.column));
  const entries = legendEntries(drawn);
  const whole = height + Math.ceil(entries.length / columns) * LEGEND.row + 20;
  const text = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${whole}" viewBox="0 0 ${width} ${whole}" font-family="${FONT}" role="img">`,
    `<title>${xml(visible(drawn.title))}</title>`,
    `<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="${drawn.theme.edge}"/></marker></defs>`,
    `<rect width="${width}" height="${whole}" fill="${drawn.theme.background}"/>`,
    ...pictureLines(drawn, places, width),
    ...entries.map((entry, nth) => placed(entry, { x: 20 + (nth % columns) * LEGEND.column, y: height + Math.floor(nth / columns) * LEGEND.row + 10 })),
    "</svg>", "",
  ].join("\n");
  return { text, width, height: whole };
}

/** Positions in pixels, in a frame that grows with the number of nodes. @param {Drawn} drawn */
function scaled({ nodes }) {
  const side = Math.min(SIDE.most, Math.max(SIDE.least, Math.sqrt(nodes.length) * SIDE.room));
  const [left, right] = extent(nodes.map((node) => node.x));
  const [top, bottom] = extent(nodes.map((node) => node.y));
  const scale = side / Math.max(right - left, bottom - top, 1e-9);
  const width = Math.round(Math.max((right - left) * scale, SIDE.least) + 2 * SIDE.margin);
  const height = Math.round(Math.max((bottom - top) * scale, SIDE.least / 2) + 2 * SIDE.margin);
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  const places = new Map(nodes.map(({ id, x, y, size }) => [id, { x: width / 2 + (x - middle.x) * scale, y: height / 2 + (y - middle.y) * scale, size }]));
  return { width, height, places };
}

/** @param {number[]} values @returns {[number, number]} */
function extent(values) {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) [least, most] = [Math.min(least, value), Math.max(most, value)];
  return values.length ? [least, most] : [0, 0];
}

// --- edges -------------------------------------------------------------------------------

/** @typedef {Point & {size: number}} Place */

/** Edges below nodes below texts; a text that would cover another is omitted, but its title is kept. @param {Drawn} drawn @param {Map<string, Place>} places @param {number} width */
function pictureLines(drawn, places, width) {
  const { theme } = drawn;
  const taken = new Taken();
  for (const { x, y, size } of places.values()) taken.force([x - size, y - size, x + size, y + size]);
  const names = nameLabels(drawn, places, taken, width);
  const edges = edgesOf(drawn, places);
  return [
    `<g fill="none" stroke="${theme.edge}" stroke-width="1">`,
    ...edges.map(({ path, title }) => `<path d="${path}" marker-end="url(#arrow)"><title>${xml(visible(title))}</title></path>`),
    "</g>",
    ...nodeMarks(drawn, places),
    `<g font-size="${PREDICATE.size}" text-anchor="middle" fill="${theme.muted}" ${halo(theme.background)}>`,
    ...edges.flatMap((edge) => predicateLabel(edge, taken)),
    "</g>",
    `<g font-size="${NAME.size}" fill="${theme.text}" ${halo(theme.background)}>`,
    ...names,
    "</g>",
  ];
}

/** @param {Drawn} drawn @param {Map<string, Place>} places */
function edgesOf({ edges }, places) {
  /** @type {Map<string, number>} */
  const between = new Map();
  return edges.flatMap(({ subject, predicate, object }) => {
    const [from, to] = [places.get(subject), places.get(object)];
    if (!from || !to) return [];
    const pair = JSON.stringify([subject, object].sort());
    const nth = between.get(pair) ?? 0;
    between.set(pair, nth + 1);
    const line = subject === object ? loop(from, nth) : curve(from, to, subject < object ? bow(nth) : -bow(nth));
    return [{ ...line, predicate, title: `${subject} ${predicate} ${object}` }];
  });
}

/** A predicate along its edge. @param {{label: Point, angle: number, length: number, predicate: string}} edge @param {Taken} taken */
function predicateLabel({ label, angle, length, predicate }, taken) {
  const width = widthOf(predicate, PREDICATE.size);
  const [across, down] = [Math.abs(Math.cos(angle)) * width, Math.abs(Math.sin(angle)) * width];
  const box = [label.x - across / 2 - 3, label.y - down / 2 - 5, label.x + across / 2 + 3, label.y + down / 2 + 5];
  if (width > length || !taken.take(box)) return [];
  const upright = Math.abs(angle) > Math.PI / 2 ? angle - Math.sign(angle) * Math.PI : angle;
  return [`<text dy="3.5" transform="translate(${at(label)}) rotate(${round((upright * 180) / Math.PI)})">${named(predicate)}</text>`];
}

/** Names next to, below or above their nodes; those of seeds and large nodes are placed first. @param {Drawn} drawn @param {Map<string, Place>} places @param {Taken} taken @param {number} frame */
function nameLabels({ nodes }, places, taken, frame) {
  const ranked = [...nodes].sort((a, b) => Number(b.seed) - Number(a.seed) || b.size - a.size);
  return ranked.flatMap(({ id, name, seed }) => {
    const { x, y, size } = /** @type {Place} */ (places.get(id));
    const [away, width, row] = [size + (seed ? 8 : 4), widthOf(name, NAME.size), NAME.row];
    const options = [
      { anchor: "start", x: x + away, y, box: [x + away, y - row / 2, x + away + width, y + row / 2] },
      { anchor: "middle", x, y: y + away + row / 2, box: [x - width / 2, y + away, x + width / 2, y + away + row] },
      { anchor: "end", x: x - away, y, box: [x - away - width, y - row / 2, x - away, y + row / 2] },
      { anchor: "middle", x, y: y - away - row / 2, box: [x - width / 2, y - away - row, x + width / 2, y - away] },
    ];
    const place = options.find(({ box }) => box[0] > 0 && box[2] < frame && taken.take(box)) ?? (seed ? options[0] : null);
    return place ? [`<text x="${round(place.x)}" y="${round(place.y + 4)}" text-anchor="${place.anchor}"${seed ? ' font-weight="bold"' : ""}>${named(name)}</text>`] : [];
  });
}

/** @param {string} text @param {number} size */
function widthOf(text, size) {
  return Math.min(text.length, NAME_LENGTH) * size * LETTER;
}

/** How far the nth edge between two nodes is bent: 0, 1, -1, 2, ... @param {number} nth */
function bow(nth) {
  return nth % 2 ? (nth + 1) / 2 : -nth / 2;
}

/** @param {Place} from @param {Place} to @param {number} bend */
function curve(from, to, bend) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const control = { x: (from.x + to.x) / 2 - (dy / length) * bend * 40, y: (from.y + to.y) / 2 + (dx / length) * bend * 40 };
  const [start, end] = [towards(from, control), towards(to, control)];
  const label = { x: (start.x + 2 * control.x + end.x) / 4, y: (start.y + 2 * control.y + end.y) / 4 };
  return { path: `M${at(start)}Q${at(control)} ${at(end)}`, label, angle: Math.atan2(dy, dx), length: length - from.size - to.size };
}

/** @param {Place} node @param {number} nth */
function loop({ x, y, size }, nth) {
  const reach = size + 26 + nth * 12;
  const [left, right] = [-0.7, 0.7].map((part) => ({ x: x + size * part, y: y - size * 0.7 }));
  const path = `M${at(left)}C${at({ x: x - reach, y: y - reach })} ${at({ x: x + reach, y: y - reach })} ${at(right)}`;
  return { path, label: { x, y: y - size - reach * 0.7 }, angle: 0, length: Infinity };
}

/** The point on a node's rim on the way to another point. @param {Place} node @param {Point} other */
function towards(node, other) {
  const [dx, dy] = [other.x - node.x, other.y - node.y];
  const length = Math.hypot(dx, dy) || 1;
  return { x: node.x + (dx / length) * (node.size + 1), y: node.y + (dy / length) * (node.size + 1) };
}

// --- nodes and legend --------------------------------------------------------------------

/** @param {Drawn} drawn @param {Map<string, Place>} places @returns {string[]} */
function nodeMarks({ nodes, legend, theme }, places) {
  const marks = new Map(legend.map((entry) => [entry.label, entry]));
  return nodes.map((node) => {
    const { shape, colour } = marks.get(node.type) ?? { shape: "circle", colour: theme.edge };
    const title = `<title>${xml(visible(titleOf(node)))}</title>`;
    return placed(title + mark(node.size, shape, colour, theme, node), /** @type {Place} */ (places.get(node.id)));
  });
}

/** @param {{id: string, name: string, type: string}} node */
function titleOf({ id, name, type }) {
  return name === id ? `${id} (${type})` : `${name} (${type}, ${id})`;
}

/** A full node is solid, a stub is pale, a seed has a ring. @param {number} size @param {string} shape @param {string} colour @param {Drawn["theme"]} theme @param
 * {{full?: boolean, seed?: boolean}} kind */
function mark(size, shape, colour, theme, { full = true, seed = false }) {
  const inside = `fill="${colour}" fill-opacity="${full ? 1 : 0.25}" stroke="${colour}" stroke-width="1.5"`;
  const ring = `fill="none" stroke="${theme.text}" stroke-width="2"`;
  return outline(shape, size, inside) + (seed ? outline(shape, size * 1.3 + 2, ring) : "");
}

/** @param {string} shape @param {number} size @param {string} paint */
function outline(shape, size, paint) {
  return `<path d="${OUTLINES[shape]}" transform="scale(${(size / OUTLINE_RADIUS).toFixed(3)}) translate(-8 -8)" vector-effect="non-scaling-stroke" ${paint}/>`;
}

/** The meaning of the marks that occur in the picture. @param {Drawn} drawn @returns {string[]} */
function legendEntries({ nodes, legend, theme }) {
  const found = legend.map(({ label, shape, colour, count }) => mark(6, shape, colour, theme, {}) + legendText(`${label} (${count.toLocaleString("en")})`, theme));
  if (nodes.some((node) => node.seed)) found.push(mark(4, "circle", theme.edge, theme, { seed: true }) + legendText("seed", theme));
  if (nodes.some((node) => !node.full)) found.push(mark(6, "circle", theme.edge, theme, { full: false }) + legendText("stub, without its record", theme));
  return found;
}

/** @param {string} text @param {Drawn["theme"]} theme */
function legendText(text, theme) {
  return `<text x="16" y="4" font-size="12" fill="${theme.text}">${named(text, 26)}</text>`;
}

/** @param {string} content @param {Point} place */
function placed(content, place) {
  return `<g transform="translate(${at(place)})">${content}</g>`;
}

// --- text and numbers --------------------------------------------------------------------

/** A name, shortened if it is long. @param {string} text @param {number} [most] */
function named(text, most = NAME_LENGTH) {
  const characters = Array.from(visible(text).replace(/\s+/g, " "));
  const cut = characters.length > most ? `${characters.slice(0, most - 1).join("")}\u2026` : characters.join("");
  return `<tspan unicode-bidi="plaintext">${xml(cut)}</tspan>`;
}

/** A style that keeps text legible over lines. @param {string} color */
function halo(color) {
  return `stroke="${color}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`;
}

/** @param {Point} point */
function at({ x, y }) {
  return `${round(x)} ${round(y)}`;
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}
