// @ts-check
/** Nodes that the user picked, to walk from all of them or to see what they have in common. */

import { announce, fill, h, plural } from "./dom.js";
import { chip } from "./picker.js";
import { go } from "./state.js";

/** The names of the picked nodes by id. @type {Map<string, string>} */
const picked = new Map();

/** @type {Set<() => void>} */
const subscribers = new Set();

/** @param {string} id @param {string} name */
export function toggle(id, name) {
  if (!picked.delete(id)) picked.set(id, name);
  announce(`${name} is ${picked.has(id) ? "picked" : "no longer picked"}. ${plural(picked.size, "node")} picked.`);
  changed();
}

function changed() {
  for (const f of [...subscribers]) f();
}

/** A button that picks a node. @param {string} id @param {string} name */
export function pickButton(id, name) {
  const button = h("button", { type: "button", class: "small pick", "aria-pressed": String(picked.has(id)), title: "Pick, to walk from several or see what they have in common", "aria-label": `Pick ${name.slice(0, 80)}`, onclick: () => toggle(id, name) }, sign(id));
  const follow = () => {
    if (!button.isConnected) return subscribers.delete(follow);
    button.setAttribute("aria-pressed", String(picked.has(id)));
    button.textContent = sign(id);
  };
  subscribers.add(follow);
  return button;
}

/** @param {string} id */
function sign(id) {
  return picked.has(id) ? "✓" : "+";
}

/** A bar with the picked nodes, hidden while there are none. @param {HTMLElement} container */
export function pickedBar(container) {
  const chips = h("div", { class: "chips" });
  const common = h("button", { type: "button", class: "primary", onclick: () => leave("intersect") }, "What they have in common");
  const together = h("button", { type: "button", onclick: () => leave("walk") }, "Walk from them");
  const none = h("button", { type: "button", onclick: () => { picked.clear(); changed(); } }, "Pick none");
  const bar = h("section", { class: "picked", "aria-label": "Picked nodes", hidden: true }, h("span", { class: "hint" }, "Picked"), chips, common, together, none);
  container.append(bar);
  subscribers.add(() => {
    bar.hidden = !picked.size;
    common.disabled = picked.size < 2;
    fill(chips, [...picked].map(([id, name]) => chip(name, () => toggle(id, name))));
  });
}

/** @param {"intersect" | "walk"} view */
function leave(view) {
  const seeds = [...picked.keys()];
  picked.clear();
  changed();
  go({ view, seeds });
}
