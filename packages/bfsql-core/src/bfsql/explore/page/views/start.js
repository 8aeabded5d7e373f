// @ts-check
/** The start: the schema as a picture and a table, and the description of the graph. */

import { fill, h, count, name, plural } from "../dom.js";
import { createPicture } from "../picture.js";
import { schema } from "../schema.js";
import { show } from "../shown.js";
import { failure, notesList, typeName } from "./parts.js";

/** @param {HTMLElement} container */
export function start(container) {
  let ended = false;
  /** @type {import("../picture.js").Picture | null} */
  let picture = null;
  const heading = h("h1", { class: "unseen" }, "What this graph contains");
  const text = h("div", { class: "intro" });
  const stage = h("div", { class: "schema-picture" });
  const lists = h("div", { class: "schema-lists" });
  container.append(heading, text, h("div", { class: "schema" }, stage, lists));
  document.getElementById("q")?.focus({ preventScroll: true });

  async function load(again = false) {
    fill(text);
    try {
      const known = await schema({ again });
      if (!ended) draw(known);
    } catch (error) {
      if (!ended) fill(text, failure(error, () => load(true)));
    }
  }

  /** @param {import("../schema.js").Schema} known */
  function draw(known) {
    const graph = pictured(known);
    fill(text, h("p", { class: "description", dir: "auto" }, known.description), h("p", { class: "muted" }, summary(known)), notesList(known.notes));
    fill(lists, lengths(known));
    if (!known.types.length) {
      fill(stage, h("p", { class: "empty" }, "This graph is empty so far. Load something into it, then reload this page."));
      return show({ calls: [known.call], title: "Overview" });
    }
    picture ??= createPicture(stage, {
      label: "The schema: types and the relations between them",
      unavailable: "This browser has no WebGL, which the picture needs. The list shows the same schema.",
    });
    picture.show(/** @type {any} */ (graph), { edgeLabel: (edge) => `${edge.predicate} (${count(edge.count)})`, distance: 210 });
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
    for (const type of new Set([subject, object])) edges.set(type, (edges.get(type) ?? 0) + n);
  const sizes = known.nodeCounts.size ? known.nodeCounts : edges;
  const most = Math.max(1, ...sizes.values());
  const nodes = known.types.map((type) => ({
    id: type, name: type, type, full: true, seed: false, degree: edges.get(type) ?? 0, weight: Math.sqrt((sizes.get(type) ?? 0) / most),
    label: known.nodeCounts.has(type) ? `${type.slice(0, 40)} (${count(known.nodeCounts.get(type) ?? 0)})` : type.slice(0, 40),
  }));
  const drawn = known.relations.map(({ subject, predicate, object, count: n }) => ({ subject, predicate, object, count: n }));
  return { nodes, edges: drawn };
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
  const types = known.types.map((type) => h("tr", null, h("td", null, typeName(type)), h("td", { class: "number" }, known.nodeCounts.has(type) ? count(known.nodeCounts.get(type) ?? 0) : "")));
  const relations = known.relations.map(({ subject, predicate, object, count: n }) =>
    h("tr", null, h("td", null, name(subject)), h("td", null, name(predicate, "predicate")), h("td", null, name(object)), h("td", { class: "number" }, count(n))));
  return [
    types.length > 0 && h("table", null, h("caption", null, "Types"), h("tbody", null, types)),
    relations.length > 0 && h("table", null, h("caption", null, "Relations"), h("tbody", null, relations)),
  ];
}
