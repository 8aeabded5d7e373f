// @ts-check
/** What several entities have in common, and the connections that join them. */

import { call, isAbort, latest } from "../api.js";
import { announce, fill, h, plural } from "../dom.js";
import { Graph } from "../graph.js";
import { knownName, readNames } from "../names.js";
import { dateField } from "../options.js";
import { entityPicker } from "../picker.js";
import { createPicture } from "../picture.js";
import { schemaOrNull } from "../schema.js";
import { show } from "../shown.js";
import { get, go, set } from "../state.js";
import { nameStubs } from "../walking.js";
import { cost, failure, legendButton, notesList, sizes } from "./parts.js";
import { table } from "./table.js";

/** @typedef {import("../state.js").State} State */

const MOST_HOPS = 5;

/** @param {HTMLElement} container @param {State} state */
export function intersect(container, state) {
  const one = latest();
  /** @type {{graph: Graph, made: import("../api.js").Call} | null} */
  let answer = null;
  let asked = "";

  const picker = entityPicker({
    label: "Entities",
    placeholder: "Add a name or an id",
    nameOf: knownName,
    onChange: (seeds) => set({ seeds }),
  });
  const radius = h("select", { id: "radius", onchange: () => set({ k: Number(radius.value) || null }) },
    h("option", { value: "" }, "the smallest that finds something"),
    Array.from({ length: MOST_HOPS }, (_, at) => h("option", { value: at + 1 }, plural(at + 1, "hop"))));
  const connect = h("input", { type: "checkbox", onchange: () => set({ connect: connect.checked ? "yes" : "no" }) });
  const [dates, messages] = [h("div"), h("div", { class: "messages" })];
  const stage = h("div", { class: "picture" });
  const legend = h("div", { class: "legend", role: "group", "aria-label": "Types shown" });
  const status = h("p", { class: "status" });
  const list = h("section", { class: "table", "aria-label": "The same answer as a table" });
  const split = h("div", { class: "split", hidden: true }, h("div", { class: "left" }, stage, legend, status), list);
  container.append(
    h("h1", null, "In common"),
    h("div", { class: "bar" }, picker.element,
      h("label", { class: "field" }, h("span", null, "Within"), radius), dates,
      h("label", { class: "check" }, connect, "Show how they are connected")),
    messages, split);
  const picture = createPicture(stage, { label: "What they have in common", onDoubleClick: (id) => go({ view: "entity", id }) });

  /** @param {State} now */
  async function update(now) {
    picker.update(now.seeds);
    radius.value = String(now.k ?? "");
    connect.checked = now.connect !== "no";
    if (dates.querySelector("input")?.value !== now.at) dateField().then((date) => fill(dates, date));
    const key = JSON.stringify([now.seeds, now.k, now.connect, now.at]);
    if (key === asked && answer) return draw(now, false);
    asked = key;
    if (now.seeds.length < 2) return none(now.seeds.length);
    container.setAttribute("aria-busy", "true");
    try {
      const made = await one.run(async (signal) => {
        await Promise.all([schemaOrNull(), readNames(now.seeds, signal)]);
        picker.update(now.seeds);
        const { seeds, k, at, max_tokens } = now;
        return call("intersect_subgraphs", { seeds, k, at, connect: connect.checked, fields: ["name"], max_tokens }, signal);
      });
      answer = { made, graph: new Graph().add(made.answer) };
      await nameStubs(answer.graph);
      split.hidden = false;
      picker.problem("");
      fill(messages, notesList(made.notes));
      picker.update(now.seeds);
      draw(now, true);
      announce(`${found(made.answer)}.`);
    } catch (error) {
      if (isAbort(error)) return;
      failed(error);
    }
    container.removeAttribute("aria-busy");
  }

  /** @param {any} error */
  function failed(error) {
    answer = null;
    split.hidden = true;
    const atField = error.argument === "seeds";
    picker.problem(atField ? error.message : "");
    fill(messages, !atField && failure(error, () => update(get())));
    if (atField) announce(error.message);
  }

  /** @param {number} picked */
  function none(picked) {
    one.stop();
    answer = null;
    split.hidden = true;
    container.removeAttribute("aria-busy");
    show({ title: "In common" });
    fill(messages, h("p", { class: "empty" }, picked ? "Add at least one more entity." : "Add two or more entities to see what they have in common."));
  }

  /** @param {State} now @param {boolean} fresh */
  function draw(now, fresh) {
    if (!answer) return;
    const { graph, made } = answer;
    const hidden = new Set(now.hide);
    if (fresh) picture.show(graph, { hidden });
    else picture.hide(hidden);
    fill(legend, graph.typeCounts().map(([type, n]) => legendButton(type, n, now)));
    fill(status, `${found(made.answer)} · ${sizes(graph.nodes.length, graph.edges.length)} · ${cost([made])}`);
    table(list, { graph, state: now, hidden, onExpand: (id) => go({ view: "walk", seeds: [id] }), onPoint: (id) => picture.highlight(id === null ? null : [id]) });
    if (fresh) show({ graph, picture, calls: [made], title: `In common ${now.seeds.map((/** @type {string} */ id) => graph.nameOf(id)).join(" ")}` });
  }

  update(state);
  return Object.assign(() => {
    one.stop();
    picture.destroy();
    container.removeAttribute("aria-busy");
  }, { update });
}

/** "3 nodes in common within 2 hops". @param {any} answer */
function found(answer) {
  const own = new Set(answer.seeds);
  const common = answer.nodes.filter((/** @type {any} */ node) => !node.via && !own.has(node.id)).length;
  const shown = answer.common_count ?? common;
  return `${plural(shown, "node")} in common within ${plural(answer.k, "hop")}`;
}
