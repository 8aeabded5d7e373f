// @ts-check
/** The picture of the card: an SVG whose marks and names are elements made from text. */

import { fill, h } from "../page/dom.js";
import { layout } from "../page/layout.js";
import { Taken, short } from "../page/overlay.js";
import { mark } from "../page/views/parts.js";

/** @typedef {import("../page/graph.js").Graph} Graph */

const [MARGIN, MOST_SCALE] = [{ x: 46, y: 26 }, 1.3]; // few nodes do not lie far apart
const NAME = { most: 26, row: 16, font: "600 12.5px system-ui, sans-serif" };
const pen = document.createElement("canvas").getContext("2d");

/** A picture that fills its element. @param {(id: string) => void} onPick Called with the node that is clicked. */
export function picture(onPick) {
  const element = h("svg", { class: "picture", role: "img" });
  /** @type {{graph: Graph | null, at: Map<string, any>, chosen: string[]}} */
  let { graph, at, chosen } = { graph: null, at: new Map(), chosen: [] };

  let stop = () => {};

  /** Lay out a graph; nodes that are in the picture move little. @param {Graph} next */
  function show(next) {
    if (next !== graph) at = new Map();
    [graph, chosen] = [next, []];
    const part = Math.max(0.6, Math.min(1, Math.sqrt(60 / next.size)));
    const bodies = next.nodes.map(({ id, seed, full }) => ({ id, size: (seed ? 10 : full ? 6 : 5) * part, ...(at.has(id) && { x: at.get(id).x, y: at.get(id).y }) }));
    const links = next.edges.map(({ subject, object }) => ({ source: subject, target: object })).filter(({ source, target }) => source !== target);
    stop();
    stop = layout(bodies, links, { still: true, warm: at.size > 0, aspect: element.clientWidth / element.clientHeight || 1, onStep: (places) => ((at = places), draw()) });
  }

  /** Fade all but some nodes and the lines among them; without any, nothing. @param {string[]} ids */
  const choose = (ids) => ((chosen = ids), draw());

  function draw() {
    const [width, height] = [element.clientWidth, element.clientHeight];
    if (!graph || !at.size || !width) return;
    const places = fitted(at, width, height);
    const tone = (/** @type {string[]} */ ...ids) => (chosen.length ? (ids.every((id) => chosen.includes(id)) ? "chosen" : "faded") : "");
    const lines = graph.edges.map(({ subject, object }) => {
      const [from, to] = [places.get(subject), places.get(object)];
      return from && to && h("line", { class: `edge ${tone(subject, object)}`, x1: from.x, y1: from.y, x2: to.x, y2: to.y });
    });
    const nodes = graph.nodes.filter(({ id }) => places.has(id)); // others are being laid out
    const marks = nodes.map(({ id, type, full, seed }) => {
      const { x, y, size } = places.get(id);
      const [shape, side] = [mark(type, full), size * 2.9]; // an outline fills 11 of its 16 units
      for (const [name, value] of Object.entries({ x: x - side / 2, y: y - side / 2, width: side, height: side })) shape.setAttribute(name, value);
      return h("g", { class: `node ${tone(id)}`, onclick: () => onPick(id) }, seed && h("circle", { class: "ring", cx: x, cy: y, r: size + 5 }), shape);
    });
    element.setAttribute("aria-label", `Picture of ${graph.size} nodes and ${graph.edges.length} relations, which are listed beside it`);
    fill(element, lines, marks, labels(nodes, places, chosen, width, height));
  }

  new ResizeObserver(draw).observe(element);
  return { element, show, choose };
}

/** Positions in pixels. @param {Map<string, any>} at @param {number} width @param {number} height @returns {Map<string, any>} */
function fitted(at, width, height) {
  const [xs, ys] = [[...at.values()].map(({ x }) => x), [...at.values()].map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const scale = Math.min((width - 2 * MARGIN.x) / Math.max(right - left, 1), (height - 2 * MARGIN.y) / Math.max(bottom - top, 1), MOST_SCALE);
  return new Map([...at].map(([id, { x, y, size }]) => [id, { x: width / 2 + (x - (left + right) / 2) * scale, y: height / 2 + (y - (top + bottom) / 2) * scale, size }]));
}

/** Names where there is room; those of chosen nodes, or else of seeds, also where there is none. @param {import("../page/graph.js").Node[]} nodes @param {Map<string, any>} places @param {string[]} chosen @param {number} width @param {number} height */
function labels(nodes, places, chosen, width, height) {
  const taken = new Taken();
  for (const { x, y, size } of places.values()) taken.force([x - size, y - size, x + size, y + size]);
  const strong = (/** @type {any} */ { id, seed }) => (chosen.length ? chosen.includes(id) : seed);
  const ranked = nodes.filter((node) => !chosen.length || strong(node)).sort((a, b) => Number(strong(b)) - Number(strong(a)) || b.degree - a.degree);
  if (pen) pen.font = NAME.font;
  return ranked.map((node) => {
    const { x, y, size } = places.get(node.id);
    const text = short(node.name, NAME.most);
    const [wide, away, half] = [(pen?.measureText(text).width ?? 0) + 6, size + (node.seed ? 9 : 4), NAME.row / 2];
    const options = [["start", away, 0, 0, 1], ["end", -away, 0, -1, 0], ["middle", 0, away + half, -0.5, 0.5], ["middle", 0, -away - half, -0.5, 0.5]].map(([anchor, dx, dy, from, to]) => {
      const [left, middle] = [x + Number(dx), y + Number(dy)];
      return { anchor, left, middle, box: [left + Number(from) * wide, middle - half, left + Number(to) * wide, middle + half] };
    }).filter(({ box }) => box[0] > 0 && box[1] > 0 && box[2] < width && box[3] < height);
    const place = options.find(({ box }) => taken.take(box)) ?? (strong(node) ? options[0] : null);
    if (place && strong(node)) taken.force(place.box); // also where it covers something
    return place && h("text", { class: strong(node) ? "strong" : null, x: place.left, y: place.middle + 4, "text-anchor": place.anchor }, text);
  });
}
