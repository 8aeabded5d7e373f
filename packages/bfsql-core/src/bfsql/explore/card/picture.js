// @ts-check
/** The picture of the card: an SVG whose marks and names are elements made from text. */

import { fill, h } from "../page/dom.js";
import { layout } from "../page/layout.js";
import { Taken, short } from "../page/overlay.js";
import { mark } from "../page/views/parts.js";

/** @typedef {import("../page/graph.js").Graph} Graph */
/** @typedef {{x: number, y: number, size: number}} Place */

const RADIUS = { seed: 10, full: 6, stub: 5 };
const MARGIN = { x: 46, y: 26 };
const NAME = { most: 26, size: 12.5, row: 16 };
/** The largest number of pixels for a unit of the layout, so that few nodes do not lie far apart. */
const MOST_SCALE = 1.3;

const pen = document.createElement("canvas").getContext("2d");

/** A picture that fills its element. @param {(id: string) => void} onPick Called with the node that is clicked. */
export function picture(onPick) {
  const element = h("svg", { class: "picture", role: "img" });
  /** @type {Map<string, any>} */
  let at = new Map();
  /** @type {Graph | null} */
  let graph = null;
  /** @type {Set<string>} */
  let chosen = new Set();

  /** Lay out a graph; nodes that are in the picture move little. @param {Graph} next */
  function show(next) {
    if (next !== graph) [at, chosen] = [new Map(), new Set()];
    graph = next;
    const bodies = next.nodes.map((node) => ({ id: node.id, size: radius(node), ...positionOf(at.get(node.id)) }));
    const links = next.edges.filter(({ subject, object }) => subject !== object).map(({ subject, object }) => ({ source: subject, target: object }));
    const aspect = element.clientWidth / Math.max(element.clientHeight, 1) || 1.2;
    layout(bodies, links, { still: true, warm: at.size > 0, aspect, onStep: (places) => {
      at = places;
      draw();
    } });
  }

  /** Fade all but some nodes and the lines among them; none to fade nothing. @param {string[]} ids */
  function choose(ids) {
    chosen = new Set(ids);
    draw();
  }

  function draw() {
    const [width, height] = [element.clientWidth, element.clientHeight];
    if (!graph || !at.size || !width) return;
    const places = fitted(at, width, height);
    const names = graph.nodes.slice(0, 12).map((node) => short(node.name)).join(", ");
    element.setAttribute("aria-label", `Picture of ${graph.size} nodes and ${graph.edges.length} relations: ${names}`);
    element.setAttribute("viewBox", `0 0 ${width} ${height}`);
    fill(element, lines(graph, places, chosen), marks(graph, places, chosen, onPick), labels(graph, places, chosen, width, height));
  }

  new ResizeObserver(draw).observe(element);
  return { element, show, choose };
}

/** @param {{seed: boolean, full: boolean}} node */
function radius({ seed, full }) {
  return seed ? RADIUS.seed : full ? RADIUS.full : RADIUS.stub;
}

/** @param {{x: number, y: number} | undefined} place */
function positionOf(place) {
  return place ? { x: place.x, y: place.y } : {};
}

/** Positions in pixels. @param {Map<string, any>} at @param {number} width @param {number} height @returns {Map<string, Place>} */
function fitted(at, width, height) {
  const [xs, ys] = [[...at.values()].map(({ x }) => x), [...at.values()].map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * MARGIN.x) / Math.max(right - left, 1), (height - 2 * MARGIN.y) / Math.max(bottom - top, 1), MOST_SCALE);
  const place = (/** @type {any} */ { x, y, size }) => ({ x: width / 2 + (x - (left + right) / 2) * scale, y: height / 2 + (y - (top + bottom) / 2) * scale, size });
  return new Map([...at].map(([id, body]) => [id, place(body)]));
}

/** @param {Set<string>} chosen @param {string[]} ids */
function toneOf(chosen, ...ids) {
  return chosen.size ? (ids.every((id) => chosen.has(id)) ? "chosen" : "faded") : "";
}

/** @param {Graph} graph @param {Map<string, Place>} places @param {Set<string>} chosen */
function lines(graph, places, chosen) {
  return graph.edges.flatMap(({ subject, object }) => {
    const [from, to] = [places.get(subject), places.get(object)];
    if (!from || !to) return [];
    return h("line", { class: `edge ${toneOf(chosen, subject, object)}`, x1: from.x, y1: from.y, x2: to.x, y2: to.y });
  });
}

/** @param {Graph} graph @param {Map<string, Place>} places @param {Set<string>} chosen @param {(id: string) => void} onPick */
function marks(graph, places, chosen, onPick) {
  return graph.nodes.map(({ id, type, full, seed }) => {
    const { x, y, size } = /** @type {Place} */ (places.get(id));
    const shape = mark(type, full);
    const side = size * 2.9; // an outline fills 11 of 16 units
    for (const [name, value] of Object.entries({ x: x - side / 2, y: y - side / 2, width: side, height: side })) shape.setAttribute(name, value);
    const ring = seed && h("circle", { class: "ring", cx: x, cy: y, r: size + 5 });
    return h("g", { class: `node ${toneOf(chosen, id)}`, onclick: () => onPick(id) }, ring, shape);
  });
}

/** Names where there is room, those of chosen nodes, of seeds and of nodes with many lines first. @param {Graph} graph @param {Map<string, Place>} places @param {Set<string>} chosen @param {number} width @param {number} height */
function labels(graph, places, chosen, width, height) {
  const taken = new Taken();
  for (const { x, y, size } of places.values()) taken.force([x - size, y - size, x + size, y + size]);
  const strong = (/** @type {any} */ node) => (chosen.size ? chosen.has(node.id) : node.seed);
  const ranked = graph.nodes.filter((node) => !chosen.size || strong(node)).sort((a, b) => Number(strong(b)) - Number(strong(a)) || b.degree - a.degree);
  if (pen) pen.font = `600 ${NAME.size}px system-ui, sans-serif`;
  return ranked.map((node) => {
    const { x, y, size } = /** @type {Place} */ (places.get(node.id));
    const text = short(node.name, NAME.most);
    const wide = (pen?.measureText(text).width ?? 7 * text.length) + 6;
    const [away, half] = [size + (node.seed ? 9 : 4), NAME.row / 2];
    const options = [
      { anchor: "start", x: x + away, y, box: [x + away, y - half, x + away + wide, y + half] },
      { anchor: "end", x: x - away, y, box: [x - away - wide, y - half, x - away, y + half] },
      { anchor: "middle", x, y: y + away + half, box: [x - wide / 2, y + away, x + wide / 2, y + away + NAME.row] },
      { anchor: "middle", x, y: y - away - half, box: [x - wide / 2, y - away - NAME.row, x + wide / 2, y - away] },
    ].filter(({ box }) => box[0] > 0 && box[1] > 0 && box[2] < width && box[3] < height);
    const place = options.find(({ box }) => taken.take(box)) ?? (strong(node) ? options[2] ?? options[0] : null);
    if (place && strong(node)) taken.force(place.box);
    return place && h("text", { class: strong(node) ? "strong" : null, x: place.x, y: place.y + NAME.size / 3, "text-anchor": place.anchor }, text);
  });
}
