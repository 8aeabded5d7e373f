// @ts-check
/** The start: the schema as a picture and a table, and the description of the graph. */

import { read } from "../api.js";
import { fill, h, count, link, name, plural } from "../dom.js";
import { createPicture } from "../picture.js";
import { schema } from "../schema.js";
import { show } from "../shown.js";
import { href } from "../state.js";
import { failure, notesLine, typeName } from "./parts.js";

/** The number of types above which they are drawn smaller. */
const ROOMY = 12;

/** @param {HTMLElement} container */
export function start(container) {
  let ended = false;
  /** @type {import("../picture.js").Picture | null} */
  let picture = null;
  const heading = h("h1", { class: "unseen" }, "What this graph contains");
  const text = h("div", { class: "intro" });
  const notes = h("div", { class: "notes-place" });
  const stage = h("div", { class: "picture" });
  const lists = h("div", { class: "schema-lists", tabindex: "0", role: "region", "aria-label": "The schema as tables" });
  container.append(heading, h("div", { class: "about" }, text, notes), h("div", { class: "split" }, stage, lists));
  /** @type {HTMLElement | null} */ (document.querySelector("#search input"))?.focus({ preventScroll: true });

  async function load(again = false) {
    fill(text);
    try {
      const known = await schema({ again });
      if (!ended) draw(known);
      const { tables } = await read("outline").catch(() => ({}));
      if (!ended && tables) lists.append(reading(tables));
    } catch (error) {
      if (!ended) fill(text, failure(error, () => load(true)));
    }
  }

  /** @param {import("../schema.js").Schema} known */
  function draw(known) {
    const graph = pictured(known);
    fill(text, h("p", { class: "description", dir: "auto" }, known.description), h("p", { class: "muted" }, summary(known)));
    fill(notes, notesLine(known.notes));
    fill(lists, lengths(known));
    if (!known.types.length) {
      fill(stage, h("p", { class: "empty" }, "This graph is empty so far. Load something into it, then reload this page."));
      return show({ calls: [known.call], title: "Overview" });
    }
    picture ??= createPicture(stage, {
      label: "The schema: types and the relations between them",
      unavailable: "This browser has no WebGL, which the picture needs. The list shows the same schema.",
    });
    picture.show(/** @type {any} */ (graph), { edgeLabel: (edge) => edge.predicate + (edge.count === null ? "" : ` (${count(edge.count)})`), distance: 210, apart: 5 });
    show({ calls: [known.call], title: "Overview", picture });
  }

  load();
  return () => {
    ended = true;
    picture?.destroy();
  };
}

/** The schema as nodes and edges. @param {import("../schema.js").Schema} known */
function pictured(known) {
  /** @type {Map<string, number>} */
  const edges = new Map();
  for (const { subject, object, count: n } of known.relations)
    for (const type of new Set([subject, object])) edges.set(type, (edges.get(type) ?? 0) + (n ?? 0));
  const sizes = known.nodeCounts.size ? known.nodeCounts : edges;
  const most = Math.max(1, ...sizes.values());
  const room = Math.min(1, Math.sqrt(ROOMY / known.types.length));
  const nodes = known.types.map((type) => ({
    id: type, name: type, type, full: true, seed: false, degree: edges.get(type) ?? 0, weight: room * Math.sqrt((sizes.get(type) ?? 0) / most),
    label: known.nodeCounts.has(type) ? `${type.slice(0, 40)} (${count(known.nodeCounts.get(type) ?? 0)})` : type.slice(0, 40),
  }));
  const widest = Math.max(1, ...known.relations.map((relation) => relation.count ?? 0));
  return { nodes, edges: known.relations.map((relation) => ({ ...relation, width: 1.2 + 3 * Math.sqrt((relation.count ?? 0) / widest) })) };
}

/** @param {import("../schema.js").Schema} known */
function summary(known) {
  const nodes = [...known.nodeCounts.values()].reduce((a, b) => a + b, 0);
  const parts = [plural(known.types.length, "type"), plural(known.predicates.length, "predicate")];
  if (nodes) parts.unshift(plural(nodes, "node"));
  return parts.join(" · ") + (known.comprehensive ? "" : " (a sample)");
}

/** @param {import("../schema.js").Schema} known */
function lengths(known) {
  const ordered = [...known.types].sort((a, b) => (known.nodeCounts.get(b) ?? 0) - (known.nodeCounts.get(a) ?? 0));
  const number = (/** @type {number | null | undefined} */ n) => h("td", { class: "number" }, typeof n === "number" ? count(n) : "");
  const types = ordered.map((type) => h("tr", null, h("td", null, link(href({ view: "walk", seeds: [`${type}:*`], hops: 0 }), null, typeName(type))), number(known.nodeCounts.get(type))));
  const relations = known.relations.map(({ subject, predicate, object, count: n }) =>
    h("tr", null, h("td", null, typeName(subject)), h("td", null, name(predicate, "predicate")), h("td", null, typeName(object)), number(n)));
  return [
    types.length > 0 && h("table", null, h("caption", null, "Types"), h("tbody", null, types)),
    relations.length > 0 && h("table", null, h("caption", null, known.relationsFrom === "sample" ? "Relations, from a sample" : "Relations"), h("tbody", null, relations)),
  ];
}

/** How the tables of the sources were read, as the load kept it; columns are indented. @param {string[][]} tables */
function reading(tables) {
  const rows = tables.map((row) => h("tr", null, row.map((text, at) => h("td", { class: at === 1 ? "number" : "", dir: "auto" }, text.replace("  ", "\u2003")))));
  return h("table", null, h("caption", null, "Tables, as they were read"), h("tbody", null, rows));
}
