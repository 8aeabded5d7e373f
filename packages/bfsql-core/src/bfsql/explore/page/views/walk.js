// @ts-check
/** The walk: a neighbourhood as a picture with its legend and controls, and as a table. */

import { isAbort, latest } from "../api.js";
import { announce, count, fill, h, name } from "../dom.js";
import { createPicture } from "../picture.js";
import { schema } from "../schema.js";
import { get, go, set } from "../state.js";
import { show } from "../shown.js";
import { opening, walk as ask } from "../walking.js";
import { cost, failure, mark, notesList, sizes } from "./parts.js";
import { controls } from "./controls.js";
import { table } from "./table.js";

/** @typedef {import("../state.js").State} State */

/** @param {HTMLElement} container @param {State} state */
export function walk(container, state) {
  const one = latest();
  /** @type {Map<string, import("../api.js").Call>} */
  const known = new Map();
  /** @type {{graph: import("../graph.js").Graph, calls: import("../api.js").Call[]} | null} */
  let answer = null;
  let asked = "";

  const bar = h("div", { class: "bar" });
  const messages = h("div", { class: "messages" });
  const stage = h("div", { class: "picture" });
  const legend = h("div", { class: "legend", role: "group", "aria-label": "Types shown" });
  const status = h("p", { class: "status" });
  const list = h("section", { class: "table", "aria-label": "The same answer as a table" });
  const aside = h("div", { class: "left" }, stage, legend, status);
  container.append(h("h1", { class: "unseen" }, "Walk"), bar, messages, h("div", { class: "split" }, aside, list));
  const picture = createPicture(stage, { label: "The neighbourhood", onClick: expand, onDoubleClick: (id) => go({ view: "entity", id }) });

  /** @param {string} id */
  function expand(id) {
    const now = get();
    if (!now.open.includes(id)) set({ open: [...now.open, opening(id)] });
  }

  /** @param {State} now */
  async function update(now) {
    controls(bar, now);
    const { hide, tab, sort, ...question } = now;
    const key = JSON.stringify(question);
    if (key === asked && answer) return draw(now, false);
    asked = key;
    if (!now.seeds.length) return fill(messages, h("p", { class: "empty" }, "Search for something to start from."));
    container.setAttribute("aria-busy", "true");
    try {
      await schema().catch(() => null);
      answer = await one.run((signal) => ask(now, signal, known));
      fill(messages, notesList([...new Set(answer.calls.flatMap((made) => made.notes))]));
      draw(now, true);
      announce(`The answer has ${sizes(answer.graph.nodes.length, answer.graph.edges.length)}.`);
    } catch (error) {
      if (isAbort(error)) return;
      fill(messages, failure(error, () => { asked = ""; update(get()); }));
    }
    container.removeAttribute("aria-busy");
  }

  /** @param {State} now @param {boolean} fresh */
  function draw(now, fresh) {
    if (!answer) return;
    const { graph, calls } = answer;
    const hidden = new Set(now.hide);
    if (fresh) picture.show(graph, { hidden });
    else picture.hide(hidden);
    fill(legend, graph.typeCounts().map(([type, n]) => legendButton(type, n, now)));
    fill(status, `${sizes(graph.nodes.length, graph.edges.length)} · ${cost(calls)}`);
    table(list, { graph, state: now, hidden, onExpand: expand, onPoint: (id) => picture.highlight(id === null ? null : [id]) });
    const seed = graph.nodes.find((n) => n.seed);
    if (fresh) show({ graph, picture, calls, title: (seed?.name ?? now.seeds[0]).slice(0, 80) });
  }

  update(state);
  return Object.assign(
    () => {
      one.stop();
      picture.destroy();
      container.removeAttribute("aria-busy");
    },
    { update },
  );
}

/** @param {string} type @param {number} n @param {State} state */
function legendButton(type, n, state) {
  const off = state.hide.includes(type);
  const hide = off ? state.hide.filter((/** @type {string} */ t) => t !== type) : [...state.hide, type];
  return h("button", { type: "button", "aria-pressed": String(!off), onclick: () => set({ hide }, { replace: true }) },
    mark(type), name(type, "type-name"), h("span", { class: "number" }, count(n)));
}
