// @ts-check
/** Forces between nodes for d3-force, which calls them as `force(alpha)`. */

/** @typedef {{x: number, y: number, vx: number, vy: number, size: number}} Moved */

/** The part of an overlap by which a step moves each of the two nodes. */
const FIRMNESS = 0.4;

/** A force by which nodes repel each other and do not overlap. It examines each pair, which for up to about a thousand nodes is several times faster than d3's tree of
 * nodes. @param {{strength: number, reach: number, gap: number}} how `reach` is the distance up to which nodes repel each other, and `gap` is the free space around a
 * node. */
export function pushApart({ strength, reach, gap }) {
  /** @type {Moved[]} */
  let nodes = [];
  const force = (/** @type {number} */ alpha) => {
    const [x, y, nextX, nextY, room, pushX, pushY] = Array.from({ length: 7 }, () => new Float64Array(nodes.length));
    nodes.forEach((node, i) => {
      [x[i], y[i], room[i]] = [node.x, node.y, node.size + gap];
      [nextX[i], nextY[i]] = [node.x + node.vx, node.y + node.vy];
    });
    const farthest = reach * reach;
    const push = strength * alpha;
    // Only plain numbers: this runs for each pair.
    for (let i = 0; i < nodes.length; i += 1) {
      let sumX = 0;
      let sumY = 0;
      for (let j = i + 1; j < nodes.length; j += 1) {
        let dx = x[j] - x[i];
        let dy = y[j] - y[i];
        const far = dx * dx + dy * dy;
        let part = far < farthest ? push / Math.max(far, 1) : 0;
        let forceX = dx * part;
        let forceY = dy * part;
        dx = nextX[j] - nextX[i];
        dy = nextY[j] - nextY[i];
        const near = dx * dx + dy * dy;
        const both = room[i] + room[j];
        if (near < both * both) {
          const distance = Math.sqrt(near) || 1;
          part = ((both - distance) / distance) * FIRMNESS;
          forceX += dx * part;
          forceY += dy * part;
        }
        sumX += forceX;
        sumY += forceY;
        pushX[j] += forceX;
        pushY[j] += forceY;
      }
      pushX[i] -= sumX;
      pushY[i] -= sumY;
    }
    nodes.forEach((node, i) => {
      node.vx += pushX[i];
      node.vy += pushY[i];
    });
  };
  force.initialize = (/** @type {Moved[]} */ given) => (nodes = given);
  return force;
}

/** A force that acts only on every nth step, and is n times as strong. @param {any} force @param {number} nth */
export function everyNth(force, nth) {
  let step = 0;
  const seldom = (/** @type {number} */ alpha) => {
    if (step % nth === 0) force(alpha * nth);
    step += 1;
  };
  seldom.initialize = force.initialize;
  return seldom;
}
