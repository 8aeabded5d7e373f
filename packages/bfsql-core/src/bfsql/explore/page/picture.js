// @ts-check
/** The picture of a graph: sigma over graphology, with texts on a canvas above it. A large graph is drawn without edges and texts while it is laid out or moved, so that
 * the page remains responsive even if drawing is slow. */

import { fill, h, name } from "./dom.js";
import { columnsOf } from "./columns.js";
import { drawingOf, emptyDrawing, idOf, keyOf } from "./drawing.js";
import { layout } from "./layout.js";
import { drawTexts } from "./overlay.js";
import { graphColours, mix } from "./palette.js";
import { ALL, takeStage } from "./stage.js";
import { predicateWords } from "./words.js";

/** @typedef {import("./graph.js").Graph} Graph */

/**
 * @typedef {object} Picture
 * @property {boolean} works False if the browser has no WebGL; the functions then do nothing.
 * @property {(graph: Graph, how?: {hidden?: Set<string>, edgeLabel?: (edge: any) => string, distance?: number, apart?: number, isStart?: (node: import("./graph.js").Node) => boolean}) => void} show
 *   Draw a graph; nodes that are already drawn move from there to their places. These are in columns by step from the nodes that `isStart` names, where that is possible.
 * @property {(hidden: Set<string>) => void} hide Types that are not drawn.
 * @property {(ids: Iterable<string> | null) => void} highlight Fade everything except these nodes and the edges between them; for a single node, its neighbours are not faded; without any, everything is.
 * @property {() => {id: string, x: number, y: number, size: number}[]} positions
 *   In pixels of the stage, as if the whole graph were in view.
 * @property {Promise<void>} settled Resolves when the layout of the last graph is finished.
 * @property {() => void} destroy
 */

/** The number of lines from which a graph counts as large. */
const LARGE = 3000;

/** The number of lines above which a predicate that all of them share is not written on each. */
const MOST_SHARED = 6;

/** The time without movement after which a large graph is drawn completely again. */
const REST_MS = 150;

/** The time in which nodes move from old places to new ones. */
const MOVE_MS = 250;

/** Put a picture into a container, which determines its size. @param {HTMLElement} container @param {{label: string, onClick?: (id: string) => void, onDoubleClick?: (id:
 * string) => void, onEdgeClick?: (from: string, to: string) => void, onHover?: (id: string | null) => void, unavailable?: string}} how `label` names the picture for
 * screen readers. @returns {Picture} */
export function createPicture(container, { label, onClick, onDoubleClick, onEdgeClick, onHover, unavailable }) {
  const stage = takeStage(container, { reduceNode, reduceEdge, ring: () => colours.text, withEdges, onFrame: write, onHover: hover, onClick, onDoubleClick, onEdgeClick });
  if (!stage) return withoutWebGL(container, unavailable);
  const { element, sigma, texts, still } = stage;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let colours = coloursOf(element);
  /** The fill and border of nodes, by their type's colour. @type {Map<string, string[]>} */
  const paints = new Map();
  let drawing = emptyDrawing();
  let large = false;
  let laidOut = true;
  let resting = 0;
  /** @type {Set<string>} */
  let hidden = new Set();
  /** The nodes that are not faded; null if no node is faded. @type {Set<string> | null} */
  let lit = null;
  /** @type {string | null} */
  let hovered = null;
  let stop = () => {};
  /** @type {(value: void) => void} */
  let settle = () => {};
  element.setAttribute("aria-label", label);
  const graphs = h("div", { class: "graphs", role: "group", "aria-label": "Colours of graphs" });
  container.append(graphs);
  dark.addEventListener("change", recolour);

  /** @param {string} id @param {any} data A copy. */
  function reduceNode(id, data) {
    if (hidden.has(data.kindOf)) data.hidden = true;
    const faded = isFaded(id);
    [data.color, data.border] = faded ? [colours.faded, colours.faded] : paintOf(data);
    if (data.graph && !faded) data.border = data.graph;
    data.zIndex = faded ? 0 : data.seed ? 3 : 2;
    return data;
  }

  /** @param {any} data @returns {string[]} */
  function paintOf({ colour, full }) {
    const key = `${colour} ${full}`;
    const known = paints.get(key);
    if (known) return known;
    const paint = full ? [colour, mix(colour, colours.text, 0.7)] : [mix(colour, colours.background, 0.18), mix(colour, colours.background, 0.8)];
    paints.set(key, paint);
    return paint;
  }

  /** @param {string} _ @param {any} data A copy. */
  function reduceEdge(_, data) {
    const { from, to } = data;
    const strong = hovered !== null ? from === hovered || to === hovered : lit !== null && lit.has(from) && lit.has(to);
    data.color = strong ? colours.strongLine : lit && !large ? colours.fadedLine : data.graph ?? colours.line;
    data.size = data.width;
    data.type = large ? "line" : "arrow"; // lines are thin, have no heads, and are fast
    data.zIndex = strong || !lit ? 1 : 0;
    return data;
  }

  /** Whether a node is faded behind others; in a large graph, none is. @param {string} id */
  function isFaded(id) {
    return lit !== null && !large && !lit.has(id);
  }

  function withEdges() {
    return !large || (laidOut && !stage?.moving);
  }

  function write() {
    const view = sigma.getDimensions();
    texts.clearRect(0, 0, view.width, view.height);
    if (!withEdges()) return drawAllLater();
    /** @type {Map<string, any>} */
    const places = new Map();
    const drawn = sigma.getGraph();
    drawn.forEachNode((/** @type {string} */ id, /** @type {any} */ data) => {
      const display = sigma.getNodeDisplayData(id);
      if (!display || display.hidden) return;
      const { x, y } = sigma.framedGraphToViewport(display);
      const strong = data.seed || id === hovered;
      const rank = data.rank + (id === hovered ? 1e6 : 0) + (data.seed ? 1e5 : 0);
      places.set(id, { x, y, size: sigma.scaleSize(display.size), label: data.text, strong, faded: isFaded(id), loops: data.loops, rank });
    });
    /** @type {any[]} */
    const lines = [];
    drawn.forEachEdge((/** @type {string} */ _, /** @type {any} */ { from, to, labels }) => {
      const [start, end] = [places.get(from), places.get(to)];
      if (start && end && !start.faded && !end.faded) lines.push({ from: start, to: end, labels });
    });
    drawTexts(texts, view, [...places.values()], lines, colours);
  }

  function drawAllLater() {
    clearTimeout(resting);
    if (laidOut) resting = window.setTimeout(() => sigma.scheduleRender(), REST_MS);
  }

  /** @param {string | null} id */
  function hover(id) {
    emphasize(id, id === null ? null : new Set([id, ...sigma.getGraph().neighbors(id)]));
    onHover?.(id === null ? null : idOf(id));
  }

  /** @param {string | null} id @param {Set<string> | null} among */
  function emphasize(id, among) {
    const before = hovered;
    [hovered, lit] = [id, among];
    const drawn = sigma.getGraph();
    if (drawn !== drawing) return; // the layout has not started to show it
    if (!large) return sigma.refresh({ schedule: true });
    const changed = [before, id].filter((one) => one !== null && drawn.hasNode(one));
    sigma.refresh({ partialGraph: { edges: changed.flatMap((one) => drawn.edges(one)) }, skipIndexation: true, schedule: true });
  }

  function recolour() {
    colours = coloursOf(element);
    paints.clear();
    sigma.refresh({ schedule: true });
  }

  /** Apply the positions of a layout to the picture. @param {Map<string, any>} at */
  function place(at) {
    for (const [id, { x, y }] of at) Object.assign(drawing.getNodeAttributes(id), { x, y: -y, placed: true });
    if (sigma.getGraph() === drawing) sigma.refresh({ partialGraph: {}, schedule: true });
    else sigma.setGraph(drawing);
  }

  /** Move nodes to their places from where they were before; new ones come out of a neighbour. @param {Map<string, any>} at */
  function move(at) {
    const placed = (/** @type {string} */ id) => drawing.getNodeAttribute(id, "placed");
    /** @param {string} id @param {any} to */
    const origin = (id, to) => {
      const one = placed(id) ? id : drawing.neighbors(id).find(placed);
      return one ? { x: drawing.getNodeAttribute(one, "x"), y: -drawing.getNodeAttribute(one, "y") } : to;
    };
    place(new Map([...at].map(([id, to]) => [id, origin(id, to)])));
    const to = Object.fromEntries([...at].map(([id, { x, y }]) => [id, { x, y: -y }]));
    stop = /** @type {any} */ (globalThis).Sigma.utils.animateNodes(drawing, to, { duration: MOVE_MS }, settle);
  }

  /** @type {Picture} */
  const picture = {
    works: true,
    settled: Promise.resolve(),
    show(graph, { hidden: types = new Set(), edgeLabel = labelOf(graph), distance = 90, apart = 1, isStart } = {}) {
      stop();
      settle();
      [hidden, lit, hovered] = [types, null, null];
      element.setAttribute("aria-label", `${label}: ${graph.nodes.length} nodes, ${graph.edges.length} edges. The table holds the same.`);
      const before = drawing;
      const { drawing: next, bodies, links } = drawingOf(graph, before, edgeLabel);
      drawing = next;
      const line = (/** @type {string} */ stroke) => h("svg", { class: "mark", viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: "M0 8h16", stroke, "stroke-width": 3 }));
      fill(graphs, [...graphColours].map(([one, colour]) => h("span", { class: "legend-item" }, line(colour), name(one))));
      large = links.length > LARGE;
      const kept = bodies.filter((body) => body.x !== undefined).length;
      const { width, height } = sigma.getDimensions();
      const aspect = width / Math.max(height, 1);
      const columns = isStart && columnsOf(graph, aspect, isStart);
      if (!columns && kept === bodies.length && kept === before.order) return sigma.setGraph(drawing);
      laidOut = false;
      picture.settled = new Promise((resolve) => (settle = resolve));
      const moves = kept > 0 && !large && !still.matches;
      const onStep = (/** @type {Map<string, any>} */ at, /** @type {boolean} */ done) => {
        laidOut = done;
        if (moves) return move(at);
        place(at);
        if (done) settle();
      };
      if (columns) onStep(new Map([...columns].map(([id, at]) => [keyOf(id), at])), true);
      else stop = layout(bodies, links, { warm: kept > 0, still: moves || still.matches, distance, apart, aspect, onStep });
    },
    hide(types) {
      hidden = types;
      sigma.refresh({ schedule: true });
    },
    highlight(ids) {
      const fades = ids !== null && ![...ids].length;
      const some = ids ? [...ids].map(keyOf).filter((key) => drawing.hasNode(key)) : [];
      const among = some.length === 1 ? [some[0], ...drawing.neighbors(some[0])] : some;
      emphasize(some.length === 1 ? some[0] : null, some.length || fades ? new Set(among) : null);
    },
    positions: () =>
      drawing.mapNodes((/** @type {string} */ id, /** @type {any} */ data) => ({ id: idOf(id), size: data.size, ...sigma.graphToViewport(data, { cameraState: ALL }) })),
    destroy() {
      stop();
      settle();
      clearTimeout(resting);
      dark.removeEventListener("change", recolour);
      stage.leave();
      container.replaceChildren();
    },
  };
  return picture;
}

/** Predicates in words; a predicate that all of several lines share is not repeated. @param {Graph} graph @returns {(edge: any) => string} */
function labelOf({ edges }) {
  const shared = edges.length > MOST_SHARED && edges.every(({ predicate }) => predicate === edges[0].predicate);
  return (edge) => (shared ? "" : predicateWords(edge.predicate));
}

/** The colours of the stylesheet. @param {Element} element */
function coloursOf(element) {
  const style = getComputedStyle(element);
  const [background, text, muted, line, strongLine, faded, fadedLine] = ["picture", "text", "muted", "line", "strong-line", "faded", "faded-line"].map((key) => style.getPropertyValue(`--${key}`).trim());
  return { background, text, muted, line, strongLine, faded, fadedLine };
}

/** @param {HTMLElement} container @param {string} [sentence] @returns {Picture} */
function withoutWebGL(container, sentence) {
  const text = sentence ?? "This browser has no WebGL, which the picture needs. The table shows the same answer.";
  container.append(h("p", { class: "empty" }, text));
  const nothing = () => {};
  return { works: false, settled: Promise.resolve(), show: nothing, hide: nothing, highlight: nothing, positions: () => [], destroy: () => container.replaceChildren() };
}
