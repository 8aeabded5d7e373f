// @ts-check
/** The path of a walk: relations to follow, written as the schema writes them. */

import { h } from "./dom.js";
import { set } from "./state.js";

/**
 * @param {HTMLElement} container
 * @param {import("./state.js").State} state
 * @returns {() => void}
 */
export function pathControl(container, state) {
  const field = h("input", {
    type: "text",
    class: "wide",
    value: state.path.join(" "),
    placeholder: "-PREDICATE-> Type",
    spellcheck: "false",
    autocomplete: "off",
    onchange: () => set({ path: field.value.trim() ? [field.value.trim()] : [] }),
  });
  container.append(h("label", { class: "field grow" }, h("span", null, "Path"), field));
  return () => container.replaceChildren();
}
