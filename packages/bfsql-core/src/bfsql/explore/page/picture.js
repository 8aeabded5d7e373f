// @ts-check
/**
 * The drawing of a graph: sigma over graphology, with texts on a canvas above it.
 */

import { h } from "./dom.js";
import { layout } from "./layout.js";
import { drawTexts, short } from "./overlay.js";
import { markOf, mix } from "./palette.js";
import { shapeProgram } from "./shapes.js";

/** @typedef {import("./graph.js").Graph} Graph */

/**
 * @typedef {object} Drawn A node as it is drawn.
 * @property {string} id
 * @property {string} name
 * @property {string} type
 * @property {boolean} full
 * @property {boolean} seed
 * @property {number} [weight] 0 to 1, in place of the degree.
 * @property {string} [label]
 */

/**
 * @typedef {object} Picture
 * @property {(graph: Graph, how?: {hidden?: Set<string>, edgeLabel?: (edge: any) => string, distance?: number}) => void} show
 *   Draw a graph; nodes that are drawn already keep their place.
 * @property {(hidden: Set<string>) => void} hide Types that are not drawn.
 * @property {(ids: Iterable<string> | null) => void} highlight Fade all but these.
 * @property {() => void} fit
 * @property {() => {id: string, name: string, type: string, full: boolean, seed: boolean, x: number, y: number, size: number, colour: string, border: string, shape: string}[]} positions
 *   In pixels of the stage as if the whole graph was in view, for exports.
 * @property {() => HTMLCanvasElement | null} image What is seen now.
 * @property {() => void} destroy
 * @property {boolean} works False where the browser has no WebGL.
 * @property {Promise<void>} settled When the layout of the last graph is done.
 */

/**
 * Put a picture into a container, which decides its size.
 *
 * @param {HTMLElement} container
 * @param {{label: string, onClick?: (id: string) => void, onDoubleClick?: (id: string) => void, onHover?: (id: string | null) => void, unavailable?: string}} how
 * @returns {Picture}
 */
export function createPicture(container, { label, onClick, onDoubleClick, onHover, unavailable }) {
  if (!hasWebGL()) return withoutWebGL(container, unavailable);
  const { graphology, Sigma } = /** @type {any} */ (globalThis);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new graphology.Graph({ type: "directed", multi: true, allowSelfLoops: true });
  const stage = h("div", { class: "stage", role: "img", "aria-label": label, tabindex: "0" });
  container.append(stage, zoomButtons());

  let colours = readColours(stage);
  /** @type {Graph | null} */
  let shown = null;
  /** @type {Set<string>} */
  let hidden = new Set();
  /** @type {Set<string> | null} */
  let lit = null;
  /** @type {string | null} */
  let hovered = null;
  let stop = () => {};
  /** @type {(value: void) => void} */
  let settle = () => {};
  const picture = /** @type {Picture} */ ({ works: true, settled: Promise.resolve() });

  const sigma = new Sigma(drawn, stage, {
    renderLabels: false,
    defaultNodeType: "shape",
    nodeProgramClasses: { shape: shapeProgram(() => colours.text) },
    nodeHoverProgramClasses: { shape: shapeProgram(() => colours.text) },
    edgeProgramClasses: { arrow: Sigma.rendering.EdgeArrowProgram, line: Sigma.rendering.EdgeRectangleProgram },
    defaultEdgeType: "arrow",
    defaultDrawNodeHover: () => {},
    minEdgeThickness: 0.8,
    stagePadding: 48,
    minCameraRatio: 0.02,
    maxCameraRatio: 4,
    zIndex: true,
    allowInvalidContainer: true,
    doubleClickZoomingRatio: 1,
    hideEdgesOnMove: false,
    nodeReducer: (/** @type {string} */ id, /** @type {any} */ data) => reducedNode(id, data),
    edgeReducer: (/** @type {string} */ id, /** @type {any} */ data) => reducedEdge(id, data),
  });
  const context = sigma.createCanvasContext("texts", { beforeLayer: "hovers" }).canvasContexts.texts;
  sigma.on("afterRender", texts);
  sigma.on("resize", () => sigma.refresh());

  /** @param {string} id @param {any} data */
  function reducedNode(id, data) {
    if (hidden.has(data.kindOf)) return { ...data, hidden: true };
    const faded = lit && !lit.has(id);
    if (faded) return { ...data, color: colours.faded, border: colours.faded, seed: false, zIndex: 0 };
    const mark = data.mark;
    const fill = data.full ? mark.colour : mix(mark.colour, colours.background, 0.22);
    return { ...data, color: fill, border: data.full ? mix(mark.colour, colours.text, 0.75) : mark.colour, zIndex: data.seed ? 3 : 2 };
  }

  /** @param {string} id @param {any} data */
  function reducedEdge(id, data) {
    const [source, target] = drawn.extremities(id);
    if (hidden.has(drawn.getNodeAttribute(source, "kindOf")) || hidden.has(drawn.getNodeAttribute(target, "kindOf")))
      return { ...data, hidden: true };
    const on = hovered !== null && (source === hovered || target === hovered);
    const faded = lit && !(on || (lit.has(source) && lit.has(target) && hovered === null));
    return { ...data, color: faded ? colours.fadedLine : on ? colours.text : colours.line, size: on ? data.width + 0.8 : data.width };
  }

  function texts() {
    const view = sigma.getDimensions();
    context.clearRect(0, 0, view.width, view.height);
    /** @type {Map<string, any>} */
    const places = new Map();
    drawn.forEachNode((/** @type {string} */ id, /** @type {any} */ data) => {
      const display = sigma.getNodeDisplayData(id);
      if (!display || display.hidden) return;
      const at = sigma.framedGraphToViewport(display);
      const size = sigma.scaleSize(display.size);
      const strong = data.seed || id === hovered;
      places.set(id, { ...at, size, label: data.text, strong, faded: Boolean(lit && !lit.has(id)), loop: data.loop, rank: (id === hovered ? 1e6 : 0) + (data.seed ? 1e5 : 0) + data.rank });
    });
    /** @type {any[]} */
    const edges = [];
    drawn.forEachEdge((/** @type {string} */ id, /** @type {any} */ data, /** @type {string} */ source, /** @type {string} */ target) => {
      const [a, b] = [places.get(source), places.get(target)];
      if (!a || !b || !data.text || source === target) return;
      if (lit && !(lit.has(source) && lit.has(target))) return;
      if (hovered !== null && source !== hovered && target !== hovered) return;
      edges.push({ x1: a.x, y1: a.y, x2: b.x, y2: b.y, gap1: a.size, gap2: b.size, label: data.text });
    });
    drawTexts(context, view, [...places.values()], edges, colours);
  }

  picture.show = (graph, how = {}) => {
    stop();
    settle();
    shown = graph;
    hidden = how.hidden ?? new Set();
    lit = null;
    hovered = null;
    const before = drawn.order;
    const kept = update(drawn, graph, how);
    stage.setAttribute("aria-label", `${label}: ${graph.nodes.length} nodes, ${graph.edges.length} edges. The table holds the same.`);
    picture.settled = new Promise((resolve) => (settle = resolve));
    if (!drawn.order) return settle();
    const bodies = drawn.mapNodes((/** @type {string} */ id, /** @type {any} */ data) => ({
      id,
      size: data.size,
      ...(data.placed ? { x: data.x, y: data.y } : {}),
    }));
    const links = drawn.mapEdges((/** @type {string} */ _, /** @type {any} */ __, /** @type {string} */ source, /** @type {string} */ target) => ({ source, target }));
    if (kept === drawn.order && before === kept) {
      settle();
      return sigma.refresh();
    }
    stop = layout(bodies, links.filter((/** @type {any} */ l) => l.source !== l.target), {
      warm: kept > 0,
      still: still.matches,
      distance: how.distance,
      onStep: (at, done) => {
        drawn.updateEachNodeAttributes(
          (/** @type {string} */ id, /** @type {any} */ data) => ({ ...data, x: at.get(id)?.x ?? 0, y: -(at.get(id)?.y ?? 0), placed: true }),
          { attributes: ["x", "y"] },
        );
        if (done) settle();
      },
    });
  };

  picture.hide = (types) => {
    hidden = types;
    sigma.refresh();
  };
  picture.highlight = (ids) => {
    lit = ids && new Set(ids);
    sigma.refresh({ skipIndexation: true });
  };
  picture.fit = () => sigma.getCamera().animate({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }, { duration: still.matches ? 0 : 200 });
  picture.positions = () =>
    drawn.mapNodes((/** @type {string} */ id, /** @type {any} */ data) => {
      const { x, y } = sigma.graphToViewport(data, { cameraState: { x: 0.5, y: 0.5, ratio: 1, angle: 0 } });
      const { color, border } = reducedNode(id, data);
      return { id, name: data.text, type: data.kindOf, full: data.full, seed: data.seed, x, y, size: data.size, colour: color, border, shape: data.shape };
    });
  picture.image = () => flattened(sigma, colours.background);
  picture.destroy = () => {
    stop();
    settle();
    scheme.removeEventListener("change", recolour);
    sigma.kill();
    container.replaceChildren();
  };

  function recolour() {
    colours = readColours(stage);
    sigma.refresh();
  }
  scheme.addEventListener("change", recolour);

  /** @param {string | null} id */
  function hover(id) {
    hovered = id;
    lit = id === null ? null : new Set([id, ...drawn.neighbors(id)]);
    stage.classList.toggle("pointing", id !== null);
    sigma.refresh({ skipIndexation: true });
    onHover?.(id);
  }
  sigma.on("enterNode", (/** @type {any} */ { node }) => hover(node));
  sigma.on("leaveNode", () => hover(null));
  clicks(sigma, onClick, onDoubleClick);
  stage.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => keys(event));

  /** @param {KeyboardEvent} event */
  function keys(event) {
    const camera = sigma.getCamera();
    const { x, y, ratio } = camera.getState();
    const step = 0.1 * ratio;
    /** @type {Record<string, any>} */
    const moves = {
      ArrowLeft: { x: x - step },
      ArrowRight: { x: x + step },
      ArrowUp: { y: y + step },
      ArrowDown: { y: y - step },
      "+": { ratio: ratio / 1.3 },
      "-": { ratio: ratio * 1.3 },
      0: { x: 0.5, y: 0.5, ratio: 1 },
    };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    camera.setState(move);
  }

  function zoomButtons() {
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ act) =>
      h("button", { type: "button", class: "icon", title, "aria-label": title, onclick: act }, text);
    const by = (/** @type {number} */ factor) => () => {
      const camera = sigma.getCamera();
      camera.animate({ ratio: camera.getState().ratio * factor }, { duration: still.matches ? 0 : 150 });
    };
    return h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("+", "Zoom in", by(1 / 1.4)), button("−", "Zoom out", by(1.4)), button("⤢", "Show all", () => picture.fit()));
  }

  Object.defineProperty(picture, "graph", { get: () => shown });
  return picture;
}

/**
 * Make the drawing hold what the graph holds. Edges between the same two nodes are one line.
 *
 * @param {any} drawn @param {Graph} graph @param {any} how
 * @returns {number} Nodes that were there before.
 */
function update(drawn, graph, { edgeLabel = (/** @type {any} */ e) => e.predicate } = {}) {
  const nodes = graph.nodes;
  const ids = new Set(nodes.map((n) => n.id));
  for (const id of drawn.nodes()) if (!ids.has(id)) drawn.dropNode(id);
  drawn.clearEdges();
  let kept = 0;
  for (const node of nodes) {
    const { shape, ...mark } = markOf(node.type);
    const weight = /** @type {any} */ (node).weight;
    const size = weight === undefined ? Math.min(5 + 1.4 * Math.sqrt(node.degree), 18) + (node.seed ? 3 : 0) : 8 + 26 * weight;
    const data = { size: nodes.length > 1500 ? size * 0.55 : size, text: /** @type {any} */ (node).label ?? short(node.name), kindOf: node.type, mark, shape, full: node.full, seed: node.seed, rank: node.degree + size, loop: "" };
    if (drawn.hasNode(node.id)) {
      drawn.mergeNodeAttributes(node.id, data);
      kept += 1;
    } else drawn.addNode(node.id, { x: 0, y: 0, ...data });
  }
  for (const line of linesOf(graph, edgeLabel)) {
    if (!drawn.hasNode(line.source) || !drawn.hasNode(line.target)) continue;
    if (line.source === line.target) drawn.setNodeAttribute(line.source, "loop", line.text);
    else {
      drawn.addEdge(line.source, line.target, { text: line.text, width: line.width, type: "arrow" });
      if (line.both) drawn.addEdge(line.target, line.source, { text: "", width: line.width, type: "arrow" });
    }
  }
  return kept;
}

/** One line for all edges between two nodes. @param {Graph} graph @param {(edge: any) => string} edgeLabel */
export function linesOf(graph, edgeLabel) {
  /** @type {Map<string, {source: string, target: string, both: boolean, labels: string[]}>} */
  const lines = new Map();
  for (const edge of graph.edges) {
    const key = JSON.stringify([edge.subject, edge.object].sort());
    const line = lines.get(key) ?? { source: edge.subject, target: edge.object, both: false, labels: [] };
    line.both ||= line.source !== edge.subject;
    if (line.labels.length < 4) line.labels.push(edgeLabel(edge));
    lines.set(key, line);
  }
  return [...lines.values()].map(({ labels, ...line }) => ({
    ...line,
    text: short([...new Set(labels.slice(0, 3))].join(", ") + (labels.length > 3 ? ", …" : ""), 40),
    width: 1.1,
  }));
}

/** A click waits until it can be no double click. @param {any} sigma @param {any} onClick @param {any} onDoubleClick */
function clicks(sigma, onClick, onDoubleClick) {
  let waiting = 0;
  sigma.on("clickNode", (/** @type {any} */ { node }) => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => onClick?.(node), onDoubleClick ? 260 : 0);
  });
  sigma.on("doubleClickNode", (/** @type {any} */ event) => {
    event.preventSigmaDefault();
    clearTimeout(waiting);
    onDoubleClick?.(event.node);
  });
}

/** @param {Element} element */
function readColours(element) {
  const style = getComputedStyle(element);
  const read = (/** @type {string} */ key) => style.getPropertyValue(`--${key}`).trim();
  return { background: read("picture"), text: read("text"), muted: read("muted"), halo: read("picture"), line: read("line"), faded: read("faded"), fadedLine: read("faded-line") };
}

/** What is seen, on one canvas. @param {any} sigma @param {string} background */
function flattened(sigma, background) {
  sigma.refresh({ schedule: false });
  const layers = Object.values(sigma.getCanvases());
  const canvas = document.createElement("canvas");
  const first = /** @type {HTMLCanvasElement} */ (layers[0]);
  canvas.width = first.width;
  canvas.height = first.height;
  const context = canvas.getContext("2d");
  if (!context) return null;
  context.fillStyle = background;
  context.fillRect(0, 0, canvas.width, canvas.height);
  for (const layer of layers) context.drawImage(/** @type {HTMLCanvasElement} */ (layer), 0, 0);
  return canvas;
}

function hasWebGL() {
  try {
    const canvas = document.createElement("canvas");
    return Boolean(canvas.getContext("webgl2") ?? canvas.getContext("webgl"));
  } catch {
    return false;
  }
}

/** @param {HTMLElement} container @param {string} [sentence] @returns {Picture} */
function withoutWebGL(container, sentence) {
  container.append(
    h("p", { class: "empty" }, sentence ?? "This browser has no WebGL, which the picture needs. The table shows the same answer."),
  );
  const nothing = () => {};
  return {
    works: false,
    settled: Promise.resolve(),
    show: nothing,
    hide: nothing,
    highlight: nothing,
    fit: nothing,
    positions: () => [],
    image: () => null,
    destroy: () => container.replaceChildren(),
  };
}
