// @ts-check
/** What is asked: the seeds, and how far and along what the walk goes. */

import { fill, h, name } from "../dom.js";
import { pathControl } from "../paths.js";
import { go, set } from "../state.js";

/** @param {HTMLElement} container @param {import("../state.js").State} state */
export function controls(container, state) {
  const path = h("div", { class: "path" });
  fill(container,
    h("div", { class: "seeds" }, state.seeds.map((/** @type {string} */ id) => seedChip(id, state))),
    choice("Hops", "hops", String(state.hops), ["1", "2", "3", "4", "5"].map((n) => [n, n]), (value) => set({ hops: Number(value) })),
    choice("Direction", "direction", state.direction, [["both", "either way"], ["out", "leaving"], ["in", "entering"]], (value) => set({ direction: value })),
    choice("Details", "details", state.details, [["name", "names"], ["all", "whole records"], ["none", "ids alone"]], (value) => set({ details: value })),
    choice("Nodes", "limit", String(state.limit), ["50", "100", "300", "1000", "5000"].map((n) => [n, n]), (value) => set({ limit: Number(value) })),
    path);
  pathControl(path, state);
}

/** @param {string} id @param {import("../state.js").State} state */
function seedChip(id, state) {
  const rest = state.seeds.filter((/** @type {string} */ other) => other !== id);
  return h("span", { class: "chip" }, name(id),
    h("button", { type: "button", "aria-label": `Leave out ${id.slice(0, 80)}`, onclick: () => (rest.length ? set({ seeds: rest }) : go({ view: "start" })) }, "×"));
}

/**
 * @param {string} label @param {string} key @param {string} value @param {string[][]} options
 * @param {(value: string) => void} onChange
 */
function choice(label, key, value, options, onChange) {
  const select = h("select", { id: `control-${key}`, onchange: () => onChange(select.value) },
    options.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "field" }, h("span", null, label), select);
}
