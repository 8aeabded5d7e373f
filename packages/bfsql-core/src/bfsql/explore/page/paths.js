// @ts-check
/** The form for paths: relations to follow, where the walks end, and what is counted and sorted. */

import { combobox } from "./combobox.js";
import { fill, h } from "./dom.js";
import { entityPicker, textList } from "./picker.js";
import { schema } from "./schema.js";
import { shown } from "./shown.js";
import { set } from "./state.js";
import { suggestConditions, suggestOrder, suggestSteps, typesAfter } from "./steps.js";

/** @typedef {import("./state.js").State} State */

const MOST_STEPS = 8;
const MOST_CONDITIONS = 200;

/**
 * The form; every change makes a new call.
 *
 * @returns {{element: HTMLElement, update: (state: State) => void, problem: (error: any) => boolean}}
 *   `problem` shows an error of the API at the field of its argument, and returns whether there is
 *   such a field; without an error it removes all messages.
 */
export function pathForm() {
  /** @type {State} */
  let now = {};
  const path = textList({
    legend: "Path: relations to follow, step by step",
    item: (at) => `Step ${at + 1}`,
    placeholder: "-PREDICATE-> Type",
    most: MOST_STEPS,
    suggest: async (text, before) => {
      const known = await schema();
      return suggestSteps(text, typesAfter(before, seedTypes(), known), known);
    },
    onChange: (steps) => set({ path: steps, ...withSteps(steps.length, now) }),
  });
  const to = entityPicker({
    label: "Ends at",
    placeholder: "Any node",
    nameOf: (id) => shown().graph?.nameOf(id) ?? id,
    onChange: (ids) => set({ to: ids }),
  });
  const where = textList({
    legend: "Conditions",
    item: (at) => `Condition ${at + 1}`,
    placeholder: "year>=1990",
    most: MOST_CONDITIONS,
    suggest: async (text) => suggestConditions(text, await schema()),
    onChange: (conditions) => set({ where: conditions }),
  });
  const choices = h("div", { class: "row" });
  const order = h("div", { class: "order" });
  let sort = orderField("");
  const summary = h("span", { class: "hint" });
  const element = h("details", { class: "path-form" },
    h("summary", null, "Path, conditions, order ", summary),
    h("div", { class: "path-fields" }, path.element, h("div", { class: "path-further" }, to.element, choices, where.element, order)));

  /** @param {string} value */
  function orderField(value) {
    return combobox({
      label: "Sort by",
      value,
      placeholder: "-degree",
      suggest: async (text) => suggestOrder(text, await schema(), now.path.length > 0),
      onChange: (text) => set({ sort_by: text.trim() }),
    });
  }

  /** @param {State} state */
  function update(state) {
    const fresh = now.view === undefined;
    const before = now;
    now = state;
    path.update(state.path);
    to.update(state.to);
    where.update(state.where);
    fill(choices, stepChoice("Show", "show", state.show || "all", [["all", "the walks"], ["ends", "their ends alone"], ...steps(state, "nodes of ")]),
      stepChoice("Count distinct", "count_distinct", String(state.count_distinct ?? ""), [["", "nothing"], ...steps(state, "")]));
    choices.hidden = !state.path.length;
    if (fresh || before.sort_by !== state.sort_by) {
      sort = orderField(state.sort_by);
      fill(order, sort.element);
    }
    const used = [...state.path, ...(state.to.length ? ["to a target"] : []), ...state.where, ...(state.sort_by ? [`by ${state.sort_by}`] : [])];
    summary.textContent = used.join("  ");
    if (fresh) element.open = used.length > 0;
  }

  /** @param {any} error */
  function problem(error) {
    const fields = { path, to, where, sort_by: sort };
    const at = Object.hasOwn(fields, error?.argument ?? "") ? error.argument : "";
    for (const [name, field] of Object.entries(fields)) field.problem(name === at ? error.message : "");
    if (at) element.open = true;
    return Boolean(at);
  }
  return { element, update, problem };
}

/** The choices that are valid for this number of steps. @param {number} count @param {State} state */
function withSteps(count, { show, count_distinct, sort_by }) {
  return {
    show: count === 0 || Number(show) > count ? "" : show,
    count_distinct: count === 0 || count_distinct > count ? null : count_distinct,
    sort_by: count === 0 && /^-?(?:paths|distinct)$/.test(sort_by) ? "" : sort_by,
  };
}

/** @param {State} state @param {string} words @returns {string[][]} */
function steps({ path }, words) {
  return [["0", `${words}step 0: the seeds`], ...path.map((/** @type {string} */ text, /** @type {number} */ at) => [String(at + 1), `${words}step ${at + 1}: ${text.slice(0, 40)}`])];
}

/** @param {string} label @param {"show" | "count_distinct"} key @param {string} value @param {string[][]} options */
function stepChoice(label, key, value, options) {
  const change = () => set({ [key]: key === "show" ? select.value.replace(/^all$/, "") : select.value === "" ? null : Number(select.value) });
  const select = h("select", { onchange: change }, options.map(([v, text]) => h("option", { value: v, selected: v === value }, text)));
  return h("label", { class: "field" }, h("span", null, label), select);
}

/** The types of the seeds, if the picture contains them. */
function seedTypes() {
  const seeds = (shown().graph?.nodes ?? []).filter((node) => node.seed);
  return seeds.length ? new Set(seeds.map((node) => node.type)) : null;
}
