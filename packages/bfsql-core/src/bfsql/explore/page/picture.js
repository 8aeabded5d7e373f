// @ts-check
/**
 * The picture of a graph: sigma over graphology, with texts on a canvas above it.
 */

import { h } from "./dom.js";
import { idOf, keyOf, redraw } from "./drawing.js";
import { layout } from "./layout.js";
import { drawTexts } from "./overlay.js";
import { mix } from "./palette.js";
import { shapeProgram } from "./shapes.js";

/** @typedef {import("./graph.js").Graph} Graph */

/**
 * @typedef {object} Picture
 * @property {boolean} works False where the browser has no WebGL; the functions do nothing then.
 * @property {(graph: Graph, how?: {hidden?: Set<string>, edgeLabel?: (edge: any) => string, distance?: number, apart?: number}) => void} show
 *   Draw a graph; nodes that are drawn already keep their place.
 * @property {(hidden: Set<string>) => void} hide Types that are not drawn.
 * @property {(ids: Iterable<string> | null) => void} highlight Fade all but these and what joins them.
 * @property {() => void} fit Bring the whole graph into view.
 * @property {() => {id: string, x: number, y: number, size: number}[]} positions
 *   In pixels of the stage as if the whole graph was in view.
 * @property {Promise<void>} settled When the layout of the last graph is done.
 * @property {() => void} destroy
 */

/** Where the camera sees everything. */
const ALL = { x: 0.5, y: 0.5, ratio: 1, angle: 0 };

/**
 * Put a picture into a container, which decides its size.
 *
 * @param {HTMLElement} container
 * @param {{label: string, onClick?: (id: string) => void, onDoubleClick?: (id: string) => void, onHover?: (id: string | null) => void, unavailable?: string}} how
 *   `label` names the picture for screen readers.
 * @returns {Picture}
 */
export function createPicture(container, { label, onClick, onDoubleClick, onHover, unavailable }) {
  if (!hasWebGL()) return withoutWebGL(container, unavailable);
  const { graphology, Sigma } = /** @type {any} */ (globalThis);
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawing = new graphology.Graph({ type: "directed", multi: true, allowSelfLoops: true });
  const stage = h("div", { class: "stage", role: "img", "aria-label": label, tabindex: "0" });
  container.append(stage);

  let colours = coloursOf(stage);
  /** @type {Set<string>} */
  let hidden = new Set();
  /** Nodes that are not faded; null where none is. @type {Set<string> | null} */
  let lit = null;
  /** @type {string | null} */
  let hovered = null;
  let stop = () => {};
  /** @type {(value: void) => void} */
  let settle = () => {};

  const sigma = new Sigma(drawing, stage, settings(Sigma, { nodeReducer, edgeReducer, ring: () => colours.text }));
  const texts = sigma.createCanvasContext("texts", { beforeLayer: "hovers" }).canvasContexts.texts;
  sigma.resize(true);
  sigma.on("afterRender", write);
  sigma.on("enterNode", (/** @type {any} */ { node }) => hover(node));
  sigma.on("leaveNode", () => hover(null));
  listenToClicks(sigma, onClick, onDoubleClick);
  stage.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => moveCamera(event, sigma.getCamera()));
  container.append(zoomButtons(sigma, still));
  dark.addEventListener("change", recolour);

  /** @param {string} id @param {any} data */
  function nodeReducer(id, data) {
    if (hidden.has(data.kindOf)) return { ...data, hidden: true };
    if (lit && !lit.has(id)) return { ...data, color: colours.faded, border: colours.faded, seed: data.seed, dim: true, zIndex: 0 };
    const { colour } = data.mark;
    const [color, border] = data.full
      ? [colour, mix(colour, colours.text, 0.7)]
      : [mix(colour, colours.background, 0.18), mix(colour, colours.background, 0.8)];
    return { ...data, color, border, zIndex: data.seed ? 3 : 2 };
  }

  /** @param {string} id @param {any} data */
  function edgeReducer(id, data) {
    const [source, target] = drawing.extremities(id);
    if (hidden.has(drawing.getNodeAttribute(source, "kindOf")) || hidden.has(drawing.getNodeAttribute(target, "kindOf")))
      return { ...data, hidden: true };
    if (isFaded(source, target)) return { ...data, color: colours.fadedLine, size: data.width, zIndex: 0 };
    return { ...data, color: lit ? colours.strongLine : colours.line, size: data.width, zIndex: 1 };
  }

  /** @param {string} source @param {string} target */
  function isFaded(source, target) {
    if (hovered !== null) return source !== hovered && target !== hovered;
    return lit !== null && !(lit.has(source) && lit.has(target));
  }

  function write() {
    const view = sigma.getDimensions();
    texts.clearRect(0, 0, view.width, view.height);
    /** @type {Map<string, any>} */
    const places = new Map();
    drawing.forEachNode((/** @type {string} */ id, /** @type {any} */ data) => {
      const display = sigma.getNodeDisplayData(id);
      if (!display || display.hidden) return;
      const { x, y } = sigma.framedGraphToViewport(display);
      const strong = data.seed || id === hovered;
      const rank = data.rank + (id === hovered ? 1e6 : 0) + (data.seed ? 1e5 : 0);
      places.set(id, { x, y, size: sigma.scaleSize(display.size), label: data.text, strong, faded: Boolean(lit && !lit.has(id)), loop: data.loop, rank });
    });
    /** @type {any[]} */
    const lines = [];
    drawing.forEachEdge((/** @type {string} */ _, /** @type {any} */ data, /** @type {string} */ source, /** @type {string} */ target) => {
      const [from, to] = [places.get(source), places.get(target)];
      if (from && to && data.text && !isFaded(source, target)) lines.push({ from, to, label: data.text });
    });
    drawTexts(texts, view, [...places.values()], lines, colours);
  }

  /** @param {Map<string, any>} at */
  function place(at) {
    drawing.updateEachNodeAttributes(
      (/** @type {string} */ id, /** @type {any} */ data) => {
        const body = at.get(id);
        return body ? { ...data, x: body.x, y: -body.y, placed: true } : data;
      },
      { attributes: ["x", "y"] },
    );
  }

  /** @param {string | null} id */
  function hover(id) {
    hovered = id;
    lit = id === null ? null : new Set([id, ...drawing.neighbors(id)]);
    stage.classList.toggle("pointing", id !== null);
    sigma.refresh({ skipIndexation: true });
    onHover?.(id === null ? null : idOf(id));
  }

  function recolour() {
    colours = coloursOf(stage);
    sigma.refresh();
  }

  /** @type {Picture} */
  const picture = {
    works: true,
    settled: Promise.resolve(),
    show(graph, { hidden: types = new Set(), edgeLabel = (edge) => edge.predicate, distance = 90, apart = 1 } = {}) {
      stop();
      settle();
      [hidden, lit, hovered] = [types, null, null];
      stage.setAttribute("aria-label", `${label}: ${graph.nodes.length} nodes, ${graph.edges.length} edges. The table holds the same.`);
      const { kept, dropped } = redraw(drawing, graph, edgeLabel);
      picture.settled = new Promise((resolve) => (settle = resolve));
      if (!drawing.order || (kept === drawing.order && !dropped)) return settle();
      const { width, height } = sigma.getDimensions();
      const bodies = drawing.mapNodes((/** @type {string} */ id, /** @type {any} */ data) => ({ id, size: data.size, ...(data.placed ? { x: data.x, y: -data.y } : {}) }));
      const links = drawing
        .mapEdges((/** @type {string} */ _, /** @type {any} */ __, /** @type {string} */ source, /** @type {string} */ target) => ({ source, target }))
        .filter((/** @type {any} */ link) => link.source !== link.target);
      stop = layout(bodies, links, {
        warm: kept > 0,
        still: still.matches,
        distance,
        apart,
        aspect: width / Math.max(height, 1),
        onStep: (at, done) => {
          place(at);
          if (done) settle();
        },
      });
    },
    hide(types) {
      hidden = types;
      sigma.refresh();
    },
    highlight(ids) {
      const some = ids && [...ids].map(keyOf).filter((key) => drawing.hasNode(key));
      lit = some && some.length ? new Set(some.flatMap((id) => [id, ...drawing.neighbors(id)])) : null;
      hovered = some?.length === 1 ? some[0] : null;
      sigma.refresh({ skipIndexation: true });
    },
    fit() {
      sigma.getCamera().animate(ALL, { duration: still.matches ? 0 : 200 });
    },
    positions: () =>
      drawing.mapNodes((/** @type {string} */ id, /** @type {any} */ data) => ({ id: idOf(id), size: data.size, ...sigma.graphToViewport(data, { cameraState: ALL }) })),
    destroy() {
      stop();
      settle();
      dark.removeEventListener("change", recolour);
      sigma.kill();
      container.replaceChildren();
    },
  };
  return picture;
}

/** @param {any} Sigma @param {any} how */
function settings({ rendering }, { nodeReducer, edgeReducer, ring }) {
  const shape = shapeProgram(ring);
  const arrow = rendering.createEdgeArrowProgram({ lengthToThicknessRatio: 5, widenessToThicknessRatio: 3.6 });
  return {
    allowInvalidContainer: true,
    defaultDrawNodeHover: () => {},
    defaultEdgeType: "arrow",
    defaultNodeType: "shape",
    doubleClickZoomingRatio: 1,
    edgeProgramClasses: { arrow },
    edgeReducer,
    maxCameraRatio: 4,
    minCameraRatio: 0.02,
    minEdgeThickness: 1.2,
    nodeHoverProgramClasses: { shape },
    nodeProgramClasses: { shape },
    nodeReducer,
    renderLabels: false,
    stagePadding: 56,
    zIndex: true,
  };
}

/** A click waits until it can be no double click. @param {any} sigma @param {any} onClick @param {any} onDoubleClick */
function listenToClicks(sigma, onClick, onDoubleClick) {
  let waiting = 0;
  sigma.on("clickNode", (/** @type {any} */ { node }) => {
    clearTimeout(waiting);
    waiting = window.setTimeout(() => onClick?.(idOf(node)), onDoubleClick ? 260 : 0);
  });
  sigma.on("doubleClickNode", (/** @type {any} */ event) => {
    event.preventSigmaDefault();
    clearTimeout(waiting);
    onDoubleClick?.(idOf(event.node));
  });
}

/** @param {KeyboardEvent} event @param {any} camera */
function moveCamera(event, camera) {
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
    0: ALL,
  };
  const move = moves[event.key];
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  camera.setState(move);
}

/** @param {any} sigma @param {MediaQueryList} still */
function zoomButtons(sigma, still) {
  const camera = sigma.getCamera();
  const go = (/** @type {() => any} */ where) => () => camera.animate(where(), { duration: still.matches ? 0 : 160 });
  const by = (/** @type {number} */ factor) => go(() => ({ ratio: camera.getState().ratio * factor }));
  const button = (/** @type {string} */ path, /** @type {string} */ title, /** @type {() => void} */ act) =>
    h("button", { type: "button", title, "aria-label": title, onclick: act },
      h("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, h("path", { d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round" })));
  return h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("M8 3v10M3 8h10", "Zoom in", by(1 / 1.4)),
    button("M3 8h10", "Zoom out", by(1.4)),
    button("M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3", "Show all", go(() => ALL)));
}

/** The colours of the stylesheet. @param {Element} element */
function coloursOf(element) {
  const style = getComputedStyle(element);
  const of = (/** @type {string} */ key) => style.getPropertyValue(`--${key}`).trim();
  return {
    background: of("picture"),
    text: of("text"),
    muted: of("muted"),
    line: of("line"),
    strongLine: of("strong-line"),
    faded: of("faded"),
    fadedLine: of("faded-line"),
  };
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
  const text = sentence ?? "This browser has no WebGL, which the picture needs. The table shows the same answer.";
  container.append(h("p", { class: "empty" }, text));
  const nothing = () => {};
  return {
    works: false,
    settled: Promise.resolve(),
    show: nothing,
    hide: nothing,
    highlight: nothing,
    fit: nothing,
    positions: () => [],
    destroy: () => container.replaceChildren(),
  };
}
