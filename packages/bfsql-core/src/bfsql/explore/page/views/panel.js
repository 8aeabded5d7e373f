// @ts-check
/** The panel beside the picture: a node with its record, or the relations between two nodes, with their evidence. */

import { isAbort, latest, namesOf, read } from "../api.js";
import { fill, h, link, name } from "../dom.js";
import { nameIn } from "../graph.js";
import { href } from "../state.js";
import { relationWords } from "../words.js";
import { described, evidencePart, idsIn, recordPart, relationsPart } from "./entity.js";
import { failure, typeName } from "./parts.js";

/** The number of passages of an entity that are looked through for those of a relation. */
const MOST_PASSAGES = 1000;

/** @typedef {import("../graph.js").Graph} Graph */

/** @param {HTMLElement} container @param {{onExpand: (id: string) => void, onClose: () => void}} how */
export function panel(container, { onExpand, onClose }) {
  const one = latest();
  let now = "";

  /** @param {string[]} picked An id, or those of two nodes; empty for nothing. @param {Graph} graph */
  async function show(picked, graph) {
    container.hidden = !picked.length;
    if (String(picked) === now) return;
    now = String(picked);
    one.stop();
    if (!picked.length) return;
    const [from, to] = picked;
    container.setAttribute("aria-busy", "true");
    try {
      draw(await one.run((signal) => (to === undefined ? ofNode(from, signal) : ofEdges(from, to, graph, signal))));
    } catch (error) {
      if (!isAbort(error)) draw(failure(error));
    }
    container.removeAttribute("aria-busy");
  }

  /** @param {any} parts */
  function draw(parts) {
    fill(container, h("button", { type: "button", class: "close", "aria-label": "Close the panel", onclick: onClose }, "×"), parts);
  }

  /** @param {string} id @param {AbortSignal} signal */
  async function ofNode(id, signal) {
    const { made: { answer }, names } = await described(id, signal);
    return [
      h("h2", { dir: "auto", class: "long" }, nameIn(answer) ?? answer.id),
      h("p", { class: "row" }, typeName(answer.entity_type), name(answer.id, "id")),
      h("p", { class: "row" }, h("button", { type: "button", class: "primary", onclick: () => onExpand(id) }, "+ Expand"),
        link(href({ view: "walk", seeds: [id] }), { class: "button" }, "Walk from here"), link(href({ view: "entity", id }), { class: "button" }, "Whole page")),
      recordPart(answer), evidencePart(answer, names), relationsPart(answer),
    ];
  }
  return { show, stop: () => one.stop() };
}

/** @param {string} from @param {string} to @param {Graph} graph @param {AbortSignal} signal */
async function ofEdges(from, to, graph, signal) {
  const edges = graph.edges.filter((e) => (e.subject === from && e.object === to) || (e.subject === to && e.object === from));
  const records = await Promise.all(edges.map(({ subject, predicate, object }) => read(`relations?${new URLSearchParams({ subject, predicate, object })}`, signal)));
  const passages = await read(`entities/${encodeURIComponent(from)}/provenance?limit=${MOST_PASSAGES}`, signal);
  const sides = passages.items.length < MOST_PASSAGES ? passages : await read(`entities/${encodeURIComponent(to)}/provenance?limit=${MOST_PASSAGES}`, signal);
  const items = sides.items.filter((/** @type {any} */ item) => edges.some((e) => e.subject === item.subject && e.predicate === item.predicate && e.object === item.object));
  const names = await namesOf(idsIn(items), signal);
  const end = (/** @type {string} */ id) => link(href({ view: "entity", id }), null, name(graph.nameOf(id)));
  return [
    h("h2", null, name(graph.nameOf(from)), " and ", name(graph.nameOf(to))),
    edges.map(({ subject, predicate, object }) => h("p", { class: "triple", title: `-${predicate}->` }, end(subject), h("span", null, relationWords([predicate], "out")), end(object))),
    evidencePart({ provenance: { items, total: sides.items.length < MOST_PASSAGES ? items.length : undefined } }, names) ?? h("p", { class: "muted" }, "The graph has no passages for this."),
    edges.map(({ predicate }, at) => recordPart(records[at].metadata ?? {}, edges.length > 1 ? `Record of “${relationWords([predicate], "out")}”` : "Record", at)),
  ];
}
