// @ts-check
/** Texts over the picture: names of nodes, predicates on edges, and self-loops. A text that would overlap another is omitted; zooming in shows it. */

/** @typedef {import("./drawing.js").Label} Label */

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const CELL = 64;
/** The radius of a node in pixels from which its name is placed below it. */
const WIDE = 12;
const MOST_LABELLED_EDGES = 800;

/** The number of edges up to which each is named, horizontally if there is no room along it. */
const FEW_EDGES = 60;

/** The number of names that are tried; with more nodes, further names find no room. */
const MOST_NAMES = 1200;

/** The height of a line of an edge's names. */
const ROW = 13;

/** The room to the left and right of a name. */
const GAP = 4;

/** The positions along an edge that its names may take, the best first. */
const ALONG = [0.5, 0.36, 0.64, 0.25, 0.75];

/** The width and height of the bottom right corner, which buttons cover. */
const CORNER = [52, 116];

/** Occupied rectangles, looked up by the cells of a grid. */
export class Taken {
  /** @type {Map<string, number[][]>} */
  #cells = new Map();

  /** Occupy a rectangle unless a part of it is occupied. @param {number[]} box left, top, right, bottom */
  take(box) {
    return this.takeAll([box]);
  }

  /** Occupy all of some rectangles, or none. @param {number[][]} boxes */
  takeAll(boxes) {
    const free = boxes.every((box) => cellsOf(box).every((key) => (this.#cells.get(key) ?? []).every((other) => !overlap(box, other))));
    if (free) for (const box of boxes) this.force(box);
    return free;
  }

  /** @param {number[]} box */
  force(box) {
    for (const key of cellsOf(box)) {
      const cell = this.#cells.get(key);
      if (cell) cell.push(box);
      else this.#cells.set(key, [box]);
    }
  }
}

/** @param {number[]} a @param {number[]} b */
function overlap(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/** @param {number[]} box */
function cellsOf([left, top, right, bottom]) {
  const keys = [];
  for (let x = Math.floor(left / CELL); x <= right / CELL; x += 1)
    for (let y = Math.floor(top / CELL); y <= bottom / CELL; y += 1) keys.push(`${x},${y}`);
  return keys;
}

/** @type {Map<string, number>} */
const widths = new Map();

/** @param {CanvasRenderingContext2D} context @param {string} text */
function widthOf(context, text) {
  const key = `${context.font}\n${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 50_000) widths.clear();
    width = context.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** A text for a canvas: one line, shortened, without characters that change the direction of the text after them. @param {string} text @param {number} most
 * Characters. */
export function short(text, most = 28) {
  const line = text.slice(0, 4 * most).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/g, " ").trim();
  const letters = [...line];
  return letters.length > most ? `${letters.slice(0, most - 1).join("").trimEnd()}…` : line;
}

/** Draw the texts of one frame. @param {CanvasRenderingContext2D} context @param {{width: number, height: number}} view @param {{x: number, y: number, size: number,
 * label: string, rank: number, strong: boolean, faded: boolean, loops: Label[]}[]} nodes @param {{from: {x: number, y: number, size: number}, to: {x: number, y:
 * number, size: number}, labels: Label[]}[]} edges @param {{text: string, muted: string, background: string, line: string}} colours */
export function drawTexts(context, view, nodes, edges, colours) {
  const taken = new Taken();
  context.lineJoin = "round";
  context.textBaseline = "middle";
  const shown = nodes
    .filter((n) => n.x > -80 && n.y > -40 && n.x < view.width + 80 && n.y < view.height + 40)
    .sort((a, b) => b.rank - a.rank);
  taken.force([view.width - CORNER[0], view.height - CORNER[1], view.width, view.height]);
  for (const n of shown) if (!n.faded) taken.force([n.x - n.size, n.y - n.size, n.x + n.size, n.y + n.size]);
  const pulls = pullsOf(edges);
  for (const n of shown.slice(0, MOST_NAMES)) if (!n.faded) drawName(context, view, n, pulls.get(n) ?? [0, 0], taken, colours);
  context.textAlign = "center";
  context.font = `500 10.5px ${FONT}`;
  for (const n of shown) if (n.loops.length && !n.faded) drawLoop(context, n, taken, colours);
  const seen = edges.filter(({ from, to, labels }) => labels.length && Math.max(from.x, to.x) > 0 && Math.min(from.x, to.x) < view.width && Math.max(from.y, to.y) > 0 && Math.min(from.y, to.y) < view.height);
  if (seen.length <= MOST_LABELLED_EDGES) for (const edge of seen) drawPredicates(context, edge, taken, colours, seen.length <= FEW_EDGES);
}

/** The direction in which the lines of each node lead. @param {{from: any, to: any}[]} edges @returns {Map<any, number[]>} */
function pullsOf(edges) {
  const pulls = new Map();
  for (const { from, to } of edges) {
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    for (const [node, other] of [[from, to], [to, from]]) {
      const [x, y] = pulls.get(node) ?? [0, 0];
      pulls.set(node, [x + (other.x - node.x) / length, y + (other.y - node.y) / length]);
    }
  }
  return pulls;
}

/** @param {CanvasRenderingContext2D} context @param {any} view @param {any} n @param {number[]} pull @param {Taken} taken @param {any} colours */
function drawName(context, view, n, [dx, dy], taken, colours) {
  context.font = `${n.strong ? 650 : 450} ${n.strong ? 13 : 12}px ${FONT}`;
  const width = widthOf(context, n.label);
  const away = n.size + (n.strong ? 7 : 4);
  const beside = { align: "left", x: n.x + away, y: n.y, side: dx, box: [n.x + away, n.y - 8, n.x + away + width + GAP, n.y + 8] };
  const others = [
    { align: "center", x: n.x, y: n.y + away + 7, side: dy, box: [n.x - width / 2 - GAP, n.y + away, n.x + width / 2 + GAP, n.y + away + 15] },
    { align: "right", x: n.x - away, y: n.y, side: -dx, box: [n.x - away - width - GAP, n.y - 8, n.x - away, n.y + 8] },
    { align: "center", x: n.x, y: n.y - away - 7, side: -dy, box: [n.x - width / 2 - GAP, n.y - away - 15, n.x + width / 2 + GAP, n.y - away] },
  ];
  // Next to a large node, wide lines are more frequent than below it.
  const places = (n.size > WIDE && !n.strong ? [...others, beside] : [beside, ...others])
    .sort((one, other) => Math.round(one.side) - Math.round(other.side)) // away from its own lines
    .filter(({ box }) => box[0] > 2 && box[1] > 2 && box[2] < view.width - 2 && box[3] < view.height - 2);
  const place = places.find(({ box }) => taken.take(box)) ?? (n.strong ? places[0] ?? inView(beside, view) : null);
  if (!place) return;
  taken.force(place.box); // also where a strong name covers something
  context.textAlign = /** @type {CanvasTextAlign} */ (place.align);
  write(context, n.label, place.x, place.y, colours.text, colours.background);
}

/** A place that is moved until all of it is in view. @param {{align: string, x: number, y: number, box: number[]}} place @param {any} view */
function inView({ align, x, y, box: [left, top, right, bottom] }, view) {
  const dx = Math.max(2 - left, Math.min(0, view.width - 2 - right));
  const dy = Math.max(2 - top, Math.min(0, view.height - 2 - bottom));
  return { align, x: x + dx, y: y + dy, box: [left + dx, top + dy, right + dx, bottom + dy] };
}

/** The names of an edge, one below the other: along the edge if they fit, horizontally otherwise. @param {CanvasRenderingContext2D} context @param {{from: any, to:
 * any, labels: Label[]}} edge @param {Taken} taken @param {any} colours @param {boolean} few Whether to look for room in other places than the middle of the edge. */
function drawPredicates(context, { from, to, labels }, taken, colours, few) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  const free = length - from.size - to.size;
  const leftwards = dx < 0;
  const rows = rowsOf(labels, leftwards);
  const width = Math.max(...rows.map((row) => widthOf(context, row)));
  const fits = free >= width + 16;
  if (!fits && !few) return;
  const angle = Math.atan2(leftwards ? -dy : dy, Math.abs(dx));
  const slopes = [...(fits ? [angle] : []), ...(few ? [0] : [])];
  for (const slope of slopes) {
    for (const part of few ? ALONG : [0.5]) {
      const at = (from.size + free * part) / length;
      const [x, y] = [from.x + dx * at, from.y + dy * at];
      if (!taken.takeAll(boxesOf(x, y, slope, width, rows.length))) continue;
      context.save();
      context.translate(x, y);
      context.rotate(slope);
      rows.forEach((row, nth) => write(context, row, 0, (nth - (rows.length - 1) / 2) * ROW, colours.muted, colours.background));
      context.restore();
      return;
    }
  }
}

/** The names as they are written: with arrows if the edges run both ways. @param {Label[]} labels @param {boolean} leftwards Whether the edge runs to the left. */
function rowsOf(labels, leftwards) {
  if (!labels.some(({ back }) => back)) return labels.map(({ text }) => text);
  return labels.map(({ text, back }) => (back === leftwards ? `${text} \u2192` : `\u2190 ${text}`));
}

/** The area that rows of text cover, in pieces that follow the slope. @param {number} x @param {number} y @param {number} slope @param {number} width @param {number} rows */
function boxesOf(x, y, slope, width, rows) {
  const half = (rows * ROW) / 2;
  const [cos, sin] = [Math.cos(slope), Math.sin(slope)];
  const pieces = Math.abs(sin) < 0.05 ? 1 : Math.max(1, Math.ceil(width / (2 * half)));
  const piece = width / pieces / 2;
  const [w, t] = [Math.abs(cos) * piece + Math.abs(sin) * half, Math.abs(sin) * piece + Math.abs(cos) * half];
  return Array.from({ length: pieces }, (_, nth) => {
    const away = (2 * nth + 1 - pieces) * piece;
    const [cx, cy] = [x + cos * away, y + sin * away];
    return [cx - w, cy - t, cx + w, cy + t];
  });
}

/** A loop with the names of the edges from a node to itself. @param {CanvasRenderingContext2D} context @param {any} n @param {Taken} taken @param {any} colours */
function drawLoop(context, n, taken, colours) {
  context.beginPath();
  context.strokeStyle = colours.line;
  context.lineWidth = 1.2;
  context.arc(n.x, n.y - n.size - 7, 8, 0.65 * Math.PI, 0.35 * Math.PI);
  context.stroke();
  const rows = n.loops.map((/** @type {Label} */ label) => label.text);
  const width = Math.max(...rows.map((/** @type {string} */ row) => widthOf(context, row)));
  const y = n.y - n.size - 16 - (rows.length * ROW) / 2;
  if (!taken.takeAll(boxesOf(n.x, y, 0, width + 6, rows.length))) return;
  rows.forEach((/** @type {string} */ row, /** @type {number} */ nth) => write(context, row, n.x, y + (nth - (rows.length - 1) / 2) * ROW, colours.muted, colours.background));
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y @param {string} colour @param {string} halo */
function write(context, text, x, y, colour, halo) {
  context.strokeStyle = halo;
  context.lineWidth = 3.5;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}
