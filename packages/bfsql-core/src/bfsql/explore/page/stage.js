// @ts-check
/** The stage for pictures: sigma with its canvases, and the buttons and keys that move the camera. Setting up WebGL takes longer than drawing, so a stage that a view releases serves the next one. */

import { h, icon } from "./dom.js";
import { emptyDrawing, idOf } from "./drawing.js";
import { shapeProgram } from "./shapes.js";

/** What the picture on the stage provides: the looks of nodes and edges, the colour of the ring around a seed (`#rrggbb`), whether a frame has edges, what follows each frame,
 * and what the pointer does; `onEdgeClick` gets the ends of the line.
 * @typedef {{reduceNode: (id: string, data: any) => any, reduceEdge: (id: string, data: any) => any, ring: () => string, withEdges: () => boolean, onFrame: () => void,
 * onHover: (id: string | null) => void, onClick?: (id: string) => void, onDoubleClick?: (id: string) => void, onEdgeClick?: (from: string, to: string) => void}} Handlers */

/** The camera position from which everything is visible. */
export const ALL = { x: 0.5, y: 0.5, ratio: 1, angle: 0 };

const DOUBLE_CLICK_MS = 260;

/** The distance in pixels within which a click is on a line. */
const NEAR = 8;

/** A stage that no picture uses. @type {Stage | null} */
let free = null;

/** Put a stage into a container, which determines its size. @param {HTMLElement} container @param {Handlers} handlers @returns {Stage | null} Null if the browser has no WebGL. */
export function takeStage(container, handlers) {
  if (!free) {
    try {
      return new Stage(container, handlers);
    } catch {
      return null;
    }
  }
  const stage = free;
  free = null;
  stage.enter(container, handlers);
  return stage;
}

class Stage {
  /** @param {HTMLElement} container @param {Handlers} handlers */
  constructor(container, handlers) {
    if (!document.createElement("canvas").getContext("webgl2")) throw new Error("There is no WebGL.");
    const { Sigma } = /** @type {any} */ (globalThis);
    this.handlers = handlers;
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.element = h("div", { class: "stage", role: "img", tabindex: "0" });
    container.append(this.element);
    this.sigma = new Sigma(emptyDrawing(), this.element, this.#settings(Sigma.rendering));
    /** The layer for texts, above nodes and edges. @type {CanvasRenderingContext2D} */
    this.texts = this.sigma.createCanvasContext("texts", { beforeLayer: "hovers" }).canvasContexts.texts;
    this.sigma.resize(true);
    this.buttons = zoomButtons(this.sigma, this.still);
    container.append(this.buttons);
    this.#listen();
  }

  /** @param {HTMLElement} container @param {Handlers} handlers */
  enter(container, handlers) {
    this.handlers = handlers;
    container.append(this.element, this.buttons);
    this.sigma.getCamera().setState(ALL);
    this.sigma.resize();
  }

  /** Leave the container; the next picture gets the stage. */
  leave() {
    this.handlers = { ...this.handlers, onFrame() {}, onHover() {}, onClick: undefined, onDoubleClick: undefined, onEdgeClick: undefined };
    this.sigma.setGraph(emptyDrawing());
    this.element.remove();
    this.buttons.remove();
    this.element.classList.remove("pointing");
    if (free || this.lost) this.sigma.kill();
    else free = this;
  }

  /** Whether the camera is being moved. */
  get moving() {
    const mouse = this.sigma.getMouseCaptor();
    return this.sigma.getCamera().isAnimated() || mouse.isMoving || mouse.draggedEvents > 0 || mouse.currentWheelDirection !== 0;
  }

  /** @param {any} rendering */
  #settings(rendering) {
    const shape = shapeProgram(() => this.handlers.ring());
    const edges = (/** @type {any} */ program) => this.#whereFrameHasEdges(program);
    const arrow = edges(rendering.createEdgeArrowProgram({ lengthToThicknessRatio: 5, widenessToThicknessRatio: 3.6 }));
    const line = edges(rendering.EdgeLineProgram);
    return {
      allowInvalidContainer: true,
      defaultDrawNodeHover: () => {},
      defaultEdgeType: "arrow",
      defaultNodeType: "shape",
      doubleClickZoomingRatio: 1,
      edgeProgramClasses: { arrow, line },
      edgeReducer: (/** @type {string} */ id, /** @type {any} */ data) => this.handlers.reduceEdge(id, data),
      maxCameraRatio: 4,
      minCameraRatio: 0.02,
      minEdgeThickness: 1.2,
      nodeHoverProgramClasses: { shape },
      nodeProgramClasses: { shape },
      nodeReducer: (/** @type {string} */ id, /** @type {any} */ data) => this.handlers.reduceNode(id, data),
      renderLabels: false,
      stagePadding: 56,
      zIndex: true,
    };
  }

  /** @param {any} Program The program for edges. */
  #whereFrameHasEdges(Program) {
    const stage = this;
    return class extends Program {
      render(/** @type {any} */ parameters) {
        if (stage.handlers.withEdges()) super.render(parameters);
      }
    };
  }

  #listen() {
    const { sigma } = this;
    sigma.on("afterRender", () => this.handlers.onFrame());
    sigma.on("enterNode", (/** @type {any} */ { node }) => this.#hover(node));
    sigma.on("leaveNode", () => this.#hover(null));
    this.element.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => moveCamera(event, sigma.getCamera()));
    this.element.addEventListener("webglcontextlost", () => (this.lost = true), true);
    // A click waits until it can no longer become a double click.
    let waiting = 0;
    sigma.on("clickNode", (/** @type {any} */ { node }) => {
      clearTimeout(waiting);
      const { onClick, onDoubleClick } = this.handlers;
      waiting = window.setTimeout(() => onClick?.(idOf(node)), onDoubleClick ? DOUBLE_CLICK_MS : 0);
    });
    sigma.on("clickStage", (/** @type {any} */ { event }) => {
      const edge = this.handlers.onEdgeClick && this.#edgeAt(event);
      if (edge) this.handlers.onEdgeClick?.(edge[0], edge[1]);
    });
    sigma.on("doubleClickNode", (/** @type {any} */ event) => {
      event.preventSigmaDefault();
      clearTimeout(waiting);
      this.handlers.onDoubleClick?.(idOf(event.node));
    });
  }

  /** The ends of the line next to a place, if it is near; lines are too thin to be hit. @param {{x: number, y: number}} place @returns {string[] | null} */
  #edgeAt({ x, y }) {
    /** @type {string[] | null} */
    let found = null;
    let least = NEAR;
    this.sigma.getGraph().forEachEdge((/** @type {string} */ _edge, /** @type {any} */ _data, /** @type {string} */ from, /** @type {string} */ to) => {
      const [a, b] = [from, to].map((node) => this.sigma.framedGraphToViewport(this.sigma.getNodeDisplayData(node)));
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const along = Math.max(0, Math.min(1, ((x - a.x) * dx + (y - a.y) * dy) / (dx * dx + dy * dy || 1)));
      const distance = Math.hypot(x - a.x - along * dx, y - a.y - along * dy);
      if (distance < least) [least, found] = [distance, [from, to].map(idOf)];
    });
    return found;
  }

  /** @param {string | null} node */
  #hover(node) {
    this.element.classList.toggle("pointing", node !== null);
    this.handlers.onHover(node);
  }

  /** Whether the browser has taken WebGL away, for instance because its graphics process ended. */
  lost = false;
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
    h("button", { type: "button", title, "aria-label": title, onclick: act }, icon(path));
  return h("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
    button("M8 3v10M3 8h10", "Zoom in", by(1 / 1.4)),
    button("M3 8h10", "Zoom out", by(1.4)),
    button("M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3", "Show all", go(() => ALL)));
}
