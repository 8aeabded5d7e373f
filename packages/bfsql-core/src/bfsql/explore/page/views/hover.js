// @ts-check
/** A description of the node under the pointer, in a corner of the picture. */

import { fill, h, name, plural } from "../dom.js";
import { typeName } from "./parts.js";

const FIELDS = 5;

/** @param {HTMLElement} container @returns {(node: import("../graph.js").Node | undefined) => void} */
export function hoverCard(container) {
  const card = h("div", { class: "hover", hidden: true, "aria-hidden": "true" });
  container.append(card);
  return (node) => {
    card.hidden = !node;
    if (!node) return;
    const fields = Object.entries(node.metadata).filter(([key]) => key !== "name").slice(0, FIELDS);
    fill(card,
      h("strong", { dir: "auto" }, node.name),
      h("span", { class: "row" }, typeName(node.type), h("span", { class: "muted" }, `${plural(node.degree, "edge")} here`), !node.full && h("span", { class: "tag" }, "stub")),
      node.name !== node.id && name(node.id, "id"),
      fields.map(([key, value]) => h("span", { class: "line muted" }, h("bdi", null, key), ": ", h("bdi", null, (typeof value === "string" ? value : JSON.stringify(value)).slice(0, 120)))));
  };
}
