// @ts-check
/** Connections as sentences; a click on one shows its record and its passages. */

import { h, name } from "../dom.js";
import { predicateWords } from "../words.js";

/** The number of connections that are listed. */
const MOST = 50;

/** @typedef {import("../graph.js").Graph} Graph @typedef {import("../graph.js").Edge} Edge */

/** @param {Graph} graph @param {(from: string, to: string) => void} [onPick] */
export function sentences(graph, onPick) {
  const sentence = (/** @type {Edge} */ { subject, predicate, object }) =>
    h("button", { type: "button", class: "statement", title: `Show record and evidence of -${predicate}->`, onclick: () => onPick?.(subject, object) },
      name(graph.nameOf(subject)), ` ${predicateWords(predicate)} `, name(graph.nameOf(object)));
  const routes = routesOf(graph);
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" },
    h("ol", { class: "sentences" }, routes.slice(0, MOST).map((route) => h("li", null, route.map(sentence)))),
    routes.length > MOST && h("p", { class: "muted" }, `There are more than ${MOST}; the picture has the others.`));
}

/** The edges of the connections from the seeds to where no edge leads further away; one more than are listed. @param {Graph} graph */
function routesOf(graph) {
  const near = graph.neighbours();
  const steps = graph.steps(near);
  const open = [...steps.keys()].filter((id) => !steps.get(id)).map((id) => ({ id, route: /** @type {Edge[]} */ ([]) }));
  const routes = [];
  while (open.length && routes.length <= MOST) {
    const { id, route } = /** @type {(typeof open)[0]} */ (open.pop());
    const further = [...(near.get(id) ?? [])].filter(([other]) => steps.get(other) === (steps.get(id) ?? 0) + 1);
    if (!further.length && route.length) routes.push(route);
    open.push(...further.reverse().map(([other, between]) => ({ id: other, route: [...route, ...between] })));
  }
  return routes;
}
