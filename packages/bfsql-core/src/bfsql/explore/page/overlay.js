// @ts-check
/**
 * Texts over the picture: names of nodes, predicates on edges, and self-loops. What would overlap
 * is left out; zooming in shows it.
 */

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const CELL = 64;
const MOST_EDGE_LABELS = 800;

/** Width and height of the corner at the right and bottom that buttons cover. */
const CORNER = [52, 116];

/** Rectangles that are taken, found by the cells of a grid. */
export class Taken {
  /** @type {Map<string, number[][]>} */
  #cells = new Map();

  /** Take a rectangle unless a part of it is taken. @param {number[]} box left, top, right, bottom */
  take(box) {
    const keys = cellsOf(box);
    const free = keys.every((key) =>
      (this.#cells.get(key) ?? []).every((b) => b[2] <= box[0] || b[0] >= box[2] || b[3] <= box[1] || b[1] >= box[3]),
    );
    if (free) this.force(box, keys);
    return free;
  }

  /** @param {number[]} box @param {string[]} [keys] */
  force(box, keys = cellsOf(box)) {
    for (const key of keys) {
      const cell = this.#cells.get(key);
      if (cell) cell.push(box);
      else this.#cells.set(key, [box]);
    }
  }
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

/**
 * A text for a canvas: one line, without characters that turn the direction of what follows,
 * and shortened.
 *
 * @param {string} text
 * @param {number} most Characters.
 */
export function short(text, most = 28) {
  const line = text.slice(0, 4 * most).replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\s]+/g, " ").trim();
  const letters = [...line];
  return letters.length > most ? `${letters.slice(0, most - 1).join("").trimEnd()}…` : line;
}

/**
 * Draw the texts of one frame.
 *
 * @param {CanvasRenderingContext2D} context
 * @param {{width: number, height: number}} view
 * @param {{x: number, y: number, size: number, label: string, rank: number, strong: boolean, faded: boolean, loop: string}[]} nodes
 * @param {{from: {x: number, y: number, size: number}, to: {x: number, y: number, size: number}, label: string}[]} edges
 * @param {{text: string, muted: string, background: string, line: string}} colours
 */
export function drawTexts(context, view, nodes, edges, colours) {
  const taken = new Taken();
  context.lineJoin = "round";
  context.textBaseline = "middle";
  const shown = nodes
    .filter((n) => n.x > -80 && n.y > -40 && n.x < view.width + 80 && n.y < view.height + 40)
    .sort((a, b) => b.rank - a.rank);
  taken.force([view.width - CORNER[0], view.height - CORNER[1], view.width, view.height]);
  for (const n of shown) taken.force([n.x - n.size, n.y - n.size, n.x + n.size, n.y + n.size]);
  for (const n of shown) if (!n.faded) drawName(context, view, n, taken, colours);
  context.textAlign = "center";
  context.font = `500 10.5px ${FONT}`;
  for (const n of shown) if (n.loop && !n.faded) drawLoop(context, n, taken, colours);
  if (edges.length <= MOST_EDGE_LABELS) for (const edge of edges) drawPredicate(context, edge, taken, colours);
}

/** @param {CanvasRenderingContext2D} context @param {any} view @param {any} n @param {Taken} taken @param {any} colours */
function drawName(context, view, n, taken, colours) {
  context.font = `${n.strong ? 650 : 450} ${n.strong ? 13 : 12}px ${FONT}`;
  const width = widthOf(context, n.label);
  const away = n.size + (n.strong ? 7 : 4);
  const places = [
    { align: "left", x: n.x + away, y: n.y, box: [n.x + away, n.y - 8, n.x + away + width, n.y + 8] },
    { align: "center", x: n.x, y: n.y + away + 7, box: [n.x - width / 2, n.y + away, n.x + width / 2, n.y + away + 15] },
    { align: "right", x: n.x - away, y: n.y, box: [n.x - away - width, n.y - 8, n.x - away, n.y + 8] },
    { align: "center", x: n.x, y: n.y - away - 7, box: [n.x - width / 2, n.y - away - 15, n.x + width / 2, n.y - away] },
  ].filter(({ box }) => n.strong || (box[0] > 2 && box[2] < view.width - 2));
  const place = places.find(({ box }) => taken.take(box)) ?? (n.strong ? places[0] : null);
  if (!place) return;
  context.textAlign = /** @type {CanvasTextAlign} */ (place.align);
  write(context, n.label, place.x, place.y, colours.text, colours.background);
}

/** @param {CanvasRenderingContext2D} context @param {any} edge @param {Taken} taken @param {any} colours */
function drawPredicate(context, { from, to, label }, taken, colours) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy);
  const free = length - from.size - to.size;
  const width = widthOf(context, label);
  if (free < width + 16) return;
  const part = (from.size + free / 2) / length;
  const [x, y] = [from.x + dx * part, from.y + dy * part];
  let angle = Math.atan2(dy, dx);
  const [w, t] = [(Math.abs(Math.cos(angle)) * width) / 2 + 4, (Math.abs(Math.sin(angle)) * width) / 2 + 5];
  if (!taken.take([x - w, y - t, x + w, y + t])) return;
  if (angle > Math.PI / 2) angle -= Math.PI;
  if (angle < -Math.PI / 2) angle += Math.PI;
  context.save();
  context.translate(x, y);
  context.rotate(angle);
  write(context, label, 0, 0, colours.muted, colours.background);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {any} n @param {Taken} taken @param {any} colours */
function drawLoop(context, n, taken, colours) {
  context.beginPath();
  context.strokeStyle = colours.line;
  context.lineWidth = 1.2;
  context.arc(n.x, n.y - n.size - 7, 8, 0.65 * Math.PI, 0.35 * Math.PI);
  context.stroke();
  const half = widthOf(context, n.loop) / 2 + 3;
  const y = n.y - n.size - 22;
  if (taken.take([n.x - half, y - 7, n.x + half, y + 7])) write(context, n.loop, n.x, y, colours.muted, colours.background);
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} x @param {number} y @param {string} colour @param {string} halo */
function write(context, text, x, y, colour, halo) {
  context.strokeStyle = halo;
  context.lineWidth = 3.5;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}
