// @ts-check
/** The positions of nodes: a force layout (d3-force) that runs in slices between frames. The number of steps is fixed, and the start positions depend only on the
 * graph, so that the same graph has the same picture on fast and on slow machines. */

import { everyNth, pushApart } from "./forces.js";

const GOLDEN = Math.PI * (3 - Math.sqrt(5));

/** How long the layout runs before it lets the page respond. */
const SLICE_MS = 24;
/** The time between frames. Most layouts are finished by the first frame, so that nothing moves afterwards; if drawing is slow, few frames leave time for the layout. */
const FRAME_MS = 300;
/** The number of nodes from which a tree of them saves time. */
const LARGE = 1200;
/** The number of steps for which the forces from the tree are good enough. */
const TREE_STEPS = 4;

/** @typedef {{id: string, size: number, pinned?: boolean, x?: number, y?: number}} Body */

/** Lay out a graph. @param {Body[]} bodies Those with x and y start there, the others next to a neighbour. @param {{source: string, target: string}[]} links @param
 * {{onStep: (at: Map<string, Body>, done: boolean) => void, warm?: boolean, still?: boolean, distance?: number, apart?: number, aspect?: number}} how `warm` moves
 * nodes that have a position only a little; `still` shows only the result; `aspect` is the width of the stage divided by its height; `apart` tells how strongly nodes
 * repel others. @returns {() => void} A function that stops the layout. */
export function layout(bodies, links, { onStep, warm = false, still = false, distance = 90, apart = 1, aspect = 1 }) {
  const d3 = /** @type {any} */ (globalThis).d3;
  const at = new Map(bodies.map((body) => [body.id, body]));
  place(bodies, links, at, distance);
  const large = bodies.length > LARGE;
  const steps = large ? 100 : warm ? 120 : 260;
  const joined = new Set(links.flatMap(({ source, target }) => [source, target]));
  // Nodes without links would drift away.
  const toMiddle = (/** @type {number} */ part) => (/** @type {Body} */ body) => (joined.has(body.id) ? 0.05 : 0.22) * part;
  const pull = Math.min(Math.max(aspect, 0.5), 2);
  const simulation = d3
    .forceSimulation(bodies)
    .stop()
    .alpha(warm ? 0.45 : 1)
    .alphaDecay(1 - 0.001 ** (1 / steps))
    .velocityDecay(0.45)
    .force("link", d3.forceLink(links.map((link) => ({ ...link }))).id((/** @type {Body} */ b) => b.id).distance(distance))
    .force("charge", large ? everyNth(d3.forceManyBody().strength(-60).theta(1.6).distanceMax(distance * 8), TREE_STEPS) : pushApart({ strength: 5 * distance * apart, reach: distance * 8, gap: 9 }))
    .force("x", d3.forceX().strength(toMiddle(1 / pull)))
    .force("y", d3.forceY().strength(toMiddle(pull)));
  let left = steps;
  let stopped = false;

  const compute = (/** @type {number} */ ms) => {
    const until = performance.now() + ms;
    while (left > 0 && performance.now() < until) {
      simulation.tick();
      left -= 1;
    }
  };

  async function run() {
    while (left > 0) {
      const until = performance.now() + FRAME_MS;
      while (left > 0 && performance.now() < until) {
        compute(SLICE_MS);
        await pause();
        if (stopped) return;
      }
      if (still && left > 0) continue;
      onStep(at, left === 0);
      if (left > 0) await nextFrame();
    }
  }
  run();
  return () => (stopped = true);
}

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

/** Let the page respond to events that have arrived meanwhile. */
const pause = () => new Promise((resolve) => setTimeout(resolve));

/** Set start positions: next to the first neighbour that has one, on a spiral around it. @param {Body[]} bodies @param {{source: string, target: string}[]} links
 * @param {Map<string, Body>} at @param {number} distance */
function place(bodies, links, at, distance) {
  /** @type {Map<string, string[]>} */
  const beside = new Map();
  for (const body of bodies) beside.set(body.id, []);
  for (const { source, target } of links) {
    beside.get(source)?.push(target);
    beside.get(target)?.push(source);
  }
  const queue = bodies.filter((body) => body.x !== undefined);
  let roots = queue.length ? 1 : 0;
  for (const body of [...queue.length ? [] : bodies.slice(0, 1), ...bodies]) {
    if (body.x === undefined) {
      const radius = roots ? distance * 3 * Math.sqrt(roots) : 0;
      body.x = radius * Math.cos(roots * GOLDEN);
      body.y = radius * Math.sin(roots * GOLDEN);
      roots += 1;
      queue.push(body);
    }
    for (let parent = queue.shift(); parent; parent = queue.shift()) spread(parent, beside, at, queue, distance);
  }
}

/** @param {Body} parent @param {Map<string, string[]>} beside @param {Map<string, Body>} at @param {Body[]} queue @param {number} distance */
function spread(parent, beside, at, queue, distance) {
  let index = 0;
  for (const id of beside.get(parent.id) ?? []) {
    const child = at.get(id);
    if (!child || child.x !== undefined) continue;
    const radius = distance * (0.6 + 0.12 * Math.sqrt(index));
    child.x = (parent.x ?? 0) + radius * Math.cos(index * GOLDEN);
    child.y = (parent.y ?? 0) + radius * Math.sin(index * GOLDEN);
    index += 1;
    queue.push(child);
  }
}
