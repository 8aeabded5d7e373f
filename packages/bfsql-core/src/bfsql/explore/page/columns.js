// @ts-check
/** The places of nodes in columns by step, for answers of paths: those from which a path starts are at the left. */

/** The distances between rows, between columns, and between the parts of a column that is too long. */
const [ROW, COLUMN, PART] = [34, 230, 110];

/** The number of nodes above which columns would not be read. */
const MOST = 400;

/** @param {import("./graph.js").Graph} graph @param {number} aspect The width of the stage divided by its height. @param {(node: import("./graph.js").Node) => boolean}
 * isStart @returns {Map<string, {x: number, y: number}> | null} Null if there are too many nodes, or no paths to all of them. */
export function columnsOf(graph, aspect, isStart) {
  if (graph.size > MOST) return null;
  const near = graph.neighbours();
  const steps = graph.steps(near, isStart);
  if (steps.size < graph.size) return null;
  /** @type {string[][]} */
  const columns = [];
  for (const [id, step] of steps) (columns[step] ??= []).push(id);
  if (columns.length < 2) return null;
  const partsOf = (/** @type {number} */ rows) => columns.map((column) => Math.ceil(column.length / rows));
  const widthOf = (/** @type {number} */ rows) => partsOf(rows).reduce((sum, parts) => sum + (parts - 1) * PART, (columns.length - 1) * COLUMN);
  let rows = 8;
  while (rows * ROW * aspect < widthOf(rows) && partsOf(rows).some((parts) => parts > 1)) rows += 1;
  // Few rows are farther apart, to use the stage.
  const row = ROW * Math.min(3, Math.max(1, widthOf(rows) / aspect / ROW / Math.max(...columns.map((column, step) => column.length / partsOf(rows)[step]))));
  /** @type {Map<string, {x: number, y: number}>} */
  const at = new Map();
  for (const towards of [1, -1, 1]) {
    // A node is as high as its neighbours in the column before, so that few lines cross.
    const height = (/** @type {string} */ id) => {
      const ys = [...(near.get(id)?.keys() ?? [])].filter((other) => steps.get(other) === (steps.get(id) ?? 0) - towards).map((other) => at.get(other)?.y ?? 0);
      return ys.reduce((sum, y) => sum + y, 0) / (ys.length || 1);
    };
    for (const step of towards > 0 ? columns.keys() : [...columns.keys()].reverse()) placeColumn(columns[step].sort((a, b) => height(a) - height(b)), step);
  }

  /** @param {string[]} ids @param {number} step */
  function placeColumn(ids, step) {
    const parts = partsOf(rows);
    const left = parts.slice(0, step).reduce((sum, n) => sum + COLUMN + (n - 1) * PART, 0);
    const last = Math.ceil(ids.length / parts[step]) - 1;
    ids.forEach((id, nth) => at.set(id, { x: left + (nth % parts[step]) * PART, y: (Math.floor(nth / parts[step]) - last / 2 + (nth % parts[step]) / parts[step]) * row }));
  }
  return at;
}
