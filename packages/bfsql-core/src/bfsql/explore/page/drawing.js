// @ts-check
/** The drawing for sigma: a graphology graph made from the page's graph. */

import { short } from "./overlay.js";
import { colourOfGraph, markOf } from "./palette.js";

/** @typedef {import("./graph.js").Graph} Graph */

/** @typedef {{text: string, back: boolean}} Label The name of an edge; `back` if the edge runs against its line. */

/** @typedef {{source: string, target: string, both: boolean, labels: Label[], width: number, graph: string | null}} Line */

/** The number of nodes from which they are drawn smaller. */
const MANY = 1500;

/** The maximum number of names on a line; the others are counted. */
const MOST_LABELS = 5;
const LABEL_LENGTH = 40;

/** The key of a node in the drawing. Sigma stores data about nodes in plain objects, so an id such as `__proto__` must not be a key. @param {string} id */
export const keyOf = (id) => `n${id}`;

/** The id behind a key. @param {string} key */
export const idOf = (key) => key.slice(1);

/** An empty drawing for sigma: a graphology graph without nodes. */
export function emptyDrawing() {
  return new /** @type {any} */ (globalThis).graphology.Graph({ type: "directed", multi: true, allowSelfLoops: true });
}

/** Create the drawing of a graph; nodes that were drawn before keep their position. Edges between the same two nodes are one line with a name for each edge. @param
 * {Graph} graph @param {any} before The previous drawing. @param {(edge: any) => string} edgeLabel @returns {{drawing: any, bodies: import("./layout.js").Body[], links:
 * {source: string, target: string}[]}} The nodes and lines for a layout; nodes with a position have x and y. */
export function drawingOf(graph, before, edgeLabel) {
  const drawing = emptyDrawing();
  const nodes = graph.nodes;
  const bodies = nodes.map((node) => {
    const key = keyOf(node.id);
    const data = attributesOf(node, nodes.length > MANY);
    const place = before.hasNode(key) ? before.getNodeAttributes(key) : null;
    drawing.addNode(key, place?.placed ? { ...data, x: place.x, y: place.y, placed: true } : data);
    return { id: key, size: data.size, ...(place?.placed ? { x: place.x, y: -place.y } : {}) };
  });
  const links = [];
  for (const { source, target, both, labels, width, graph: origin } of linesOf(graph, edgeLabel)) {
    if (!drawing.hasNode(source) || !drawing.hasNode(target)) continue;
    if (source === target) {
      drawing.setNodeAttribute(source, "loops", labels);
      continue;
    }
    drawing.addEdge(source, target, { from: source, to: target, labels, width, graph: origin });
    if (both) drawing.addEdge(target, source, { from: target, to: source, labels: [], width, graph: origin });
    links.push({ source, target });
  }
  return { drawing, bodies, links };
}

/** @param {any} node @param {boolean} many */
function attributesOf(node, many) {
  const { shape, colour } = markOf(node.type);
  const byDegree = (many ? 0.6 : 1) * Math.min(5 + 1.3 * Math.sqrt(node.degree), 17);
  const size = node.weight === undefined ? byDegree : 7 + 23 * node.weight;
  const { type: kindOf, full, seed, degree } = node;
  return { x: 0, y: 0, size: seed ? 1.55 * Math.max(size, 8) : size, text: node.label ?? short(node.name), kindOf, colour, graph: colourOfGraph(node.metadata), shape, full, seed, rank: degree + size, loops: [] };
}

/** One line for all edges between two nodes. @param {Graph} graph @param {(edge: any) => string} edgeLabel @returns {Line[]} */
function linesOf(graph, edgeLabel) {
  /** @type {Map<string, Line>} */
  const lines = new Map();
  for (const edge of graph.edges) {
    const { subject, object } = edge;
    const [one, other] = subject < object ? [subject, object] : [object, subject];
    const key = `${one.length} ${one}${other}`;
    const line = lines.get(key) ?? { source: keyOf(subject), target: keyOf(object), both: false, labels: [], width: 0, graph: colourOfGraph(edge.metadata) };
    const back = line.source !== keyOf(subject);
    line.both ||= back;
    if (line.graph !== colourOfGraph(edge.metadata)) line.graph = null;
    line.labels.push({ text: edgeLabel(edge), back });
    line.width = Math.max(line.width, /** @type {any} */ (edge).width ?? 1.7);
    lines.set(key, line);
  }
  for (const line of lines.values()) line.labels = shortened(line.labels.filter(({ text }) => text));
  return [...lines.values()];
}

/** The names to draw, each once per direction. @param {Label[]} labels */
function shortened(labels) {
  if (labels.length === 1) return [{ text: short(labels[0].text, LABEL_LENGTH), back: false }];
  const different = [...new Map(labels.map((label) => [`${label.back} ${label.text}`, label])).values()];
  const drawn = different.slice(0, different.length > MOST_LABELS ? MOST_LABELS - 1 : MOST_LABELS);
  const rest = different.length - drawn.length;
  const named = drawn.map(({ text, back }) => ({ text: short(text, LABEL_LENGTH), back }));
  return rest ? [...named, { text: `and ${rest} more`, back: false }] : named;
}
