// @ts-check
/** What sigma draws: a graphology graph that is made to hold what the page's graph holds. */

import { short } from "./overlay.js";
import { markOf } from "./palette.js";

/** @typedef {import("./graph.js").Graph} Graph */

const MANY = 1500;

/**
 * The key of a node in the drawing. Sigma keeps what it knows of nodes in plain objects, so that
 * an id such as `__proto__` must not be a key.
 *
 * @param {string} id
 */
export const keyOf = (id) => `n${id}`;

/** The id behind a key. @param {string} key */
export const idOf = (key) => key.slice(1);

/**
 * Make the drawing hold what the graph holds; nodes that stay keep their place. Edges between
 * the same two nodes are one line.
 *
 * @param {any} drawing A graphology graph.
 * @param {Graph} graph
 * @param {(edge: any) => string} edgeLabel
 * @returns {{kept: number, dropped: number}} Nodes that were there before, and that are no more.
 */
export function redraw(drawing, graph, edgeLabel) {
  const nodes = graph.nodes;
  const keys = new Set(nodes.map((n) => keyOf(n.id)));
  const dropped = drawing.nodes().filter((/** @type {string} */ key) => !keys.has(key));
  for (const key of dropped) drawing.dropNode(key);
  drawing.clearEdges();
  let kept = 0;
  for (const node of nodes) {
    const key = keyOf(node.id);
    const data = attributesOf(node, nodes.length > MANY);
    if (drawing.hasNode(key)) {
      drawing.mergeNodeAttributes(key, data);
      kept += 1;
    } else drawing.addNode(key, { x: 0, y: 0, ...data });
  }
  for (const { source, target, both, text, width } of linesOf(graph, edgeLabel)) {
    if (!drawing.hasNode(source) || !drawing.hasNode(target)) continue;
    if (source === target) drawing.setNodeAttribute(source, "loop", text);
    else {
      drawing.addEdge(source, target, { text, width });
      if (both) drawing.addEdge(target, source, { text: "", width });
    }
  }
  return { kept, dropped: dropped.length };
}

/** @param {any} node @param {boolean} many */
function attributesOf(node, many) {
  const { shape, ...mark } = markOf(node.type);
  const byDegree = (many ? 0.6 : 1) * Math.min(5 + 1.3 * Math.sqrt(node.degree), 17);
  const size = node.weight === undefined ? byDegree : 7 + 23 * node.weight;
  return {
    size: node.seed ? 1.55 * Math.max(size, 8) : size,
    text: node.label ?? short(node.name),
    kindOf: node.type,
    mark,
    shape,
    full: node.full,
    seed: node.seed,
    rank: node.degree + size,
    loop: "",
  };
}

/** One line for all edges between two nodes. @param {Graph} graph @param {(edge: any) => string} edgeLabel */
function linesOf(graph, edgeLabel) {
  /** @type {Map<string, {source: string, target: string, both: boolean, labels: string[], width: number}>} */
  const lines = new Map();
  for (const edge of graph.edges) {
    const key = JSON.stringify([edge.subject, edge.object].sort());
    const line = lines.get(key) ?? { source: keyOf(edge.subject), target: keyOf(edge.object), both: false, labels: [], width: 0 };
    line.both ||= line.source !== keyOf(edge.subject);
    line.labels.push(edgeLabel(edge));
    line.width = Math.max(line.width, /** @type {any} */ (edge).width ?? 1.7);
    lines.set(key, line);
  }
  return [...lines.values()].map(({ labels, ...line }) => {
    const different = [...new Set(labels)];
    const more = different.length > 3 ? ` +${different.length - 3}` : "";
    return { ...line, text: short(different.slice(0, 3).join(", "), 44) + more };
  });
}
