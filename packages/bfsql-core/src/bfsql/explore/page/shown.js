// @ts-check
/** The current content of the page: the graph, its picture, and the calls behind it. Views set it; the panel of calls and the menu of files read it. */

/** Calls are in the order in which they were made; the title is that of the view and of the page.
 * @typedef {{graph: import("./graph.js").Graph | null, picture: import("./picture.js").Picture | null, calls: import("./api.js").Call[], title: string}} Shown */

/** @type {Set<(shown: Shown) => void>} */
const subscribers = new Set();

/** @type {Shown} */
let current = { graph: null, picture: null, calls: [], title: "" };

export function shown() {
  return current;
}

/** Set what is shown now; parts that are left out are not shown. @param {Partial<Shown>} what */
export function show(what) {
  current = { graph: null, picture: null, calls: [], title: "", ...what };
  rename(current.title);
  for (const f of [...subscribers]) f(current);
}

/** Name the page, before there is anything to show. @param {string} title */
export function rename(title) {
  current = { ...current, title };
  document.title = title ? `${title} · BFS-QL` : "BFS-QL";
}

/** @param {(shown: Shown) => void} f @returns {() => void} */
export function subscribe(f) {
  subscribers.add(f);
  f(current);
  return () => subscribers.delete(f);
}
