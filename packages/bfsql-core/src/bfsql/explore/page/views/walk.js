// @ts-check
/** The walk: a neighbourhood as a picture with its legend and controls, and as a table. */

import { isAbort, latest } from "../api.js";
import { announce, fill, h, plural } from "../dom.js";
import { Graph } from "../graph.js";
import { createPicture } from "../picture.js";
import { knownName, readNames } from "../names.js";
import { schemaOrNull } from "../schema.js";
import { sentence } from "../sentence.js";
import { isAlone, isPattern, isSet, patternWords, seedTypes } from "../sets.js";
import { get, go, set } from "../state.js";
import { rename, show } from "../shown.js";
import { isRestricted, opening, openingOf, walk as ask, walkArguments } from "../walking.js";
import { bars, groupsOf } from "./facets.js";
import { hubAt, hubChoice } from "./hub.js";
import { cost, failure, legendButton, notesLine, sizes } from "./parts.js";
import { panel } from "./panel.js";
import { pager } from "./rows.js";
import { table } from "./table.js";

/** @typedef {import("../state.js").State} State */
/** @typedef {import("../walking.js").Walked} Walked */

/** @param {HTMLElement} container @param {State} state */
export function walk(container, state) {
  const one = latest();
  const opened = latest();
  /** Answers by their arguments, so that going back makes no calls. @type {Map<string, import("../api.js").Call>} */
  const known = new Map();
  /** @type {Walked | null} */
  let answer = null;
  /** @type {Record<string, any>} */
  let groups = {};
  let asked = "";

  const question = sentence(nameOf);
  const parts = skeleton(container, question.element);
  const over = h("div", { class: "over" });
  update(state); // the call is in progress while the picture is prepared
  const picture = createPicture(parts.stage, {
    label: "The neighbourhood",
    onClick: (id) => select([id]),
    onEdgeClick: (from, to) => select([from, to]),
    onDoubleClick: (id) => go({ view: "entity", id }),
  });
  const beside = panel(parts.side, { onExpand: expand, onClose: () => select([]) });
  parts.stage.append(over);

  /** @param {string[]} picked A node or two, shown in the panel. */
  function select(picked) {
    set({ panel: picked }, { replace: true });
  }

  /** Expand a node by one hop; a hub shows a choice first. @param {string} id */
  async function expand(id) {
    const { limit } = get();
    fill(over);
    try {
      const hub = await opened.run((signal) => hubAt(id, limit, signal));
      if (!hub) return open(opening(id));
      offer(hubChoice(hub, limit, (step) => open(opening(id, step)), () => fill(over)));
    } catch (error) {
      if (!isAbort(error)) fill(over, failure(error, () => expand(id)));
    }
  }

  /** @param {string} what */
  function open(what) {
    fill(over);
    const now = get();
    if (now.open.includes(what)) announce("This is open already.");
    else set({ open: [...now.open, what] });
  }

  /** @param {HTMLElement} choice */
  function offer(choice) {
    fill(over, choice);
    choice.focus({ preventScroll: true });
  }

  /** @param {State} now */
  async function update(now) {
    question.update(now);
    const key = questionOf(now);
    if (key === asked && answer) {
      if (now.tab === "groups" && !Object.keys(groups).length) groups = await groupsOf(answer.calls[0].answer, now).catch(() => groups);
      return draw(now, answer, false);
    }
    asked = key;
    await load(now);
  }

  /** @param {State} now */
  async function load(now) {
    fill(over);
    parts.left.removeAttribute("aria-busy");
    if (!now.seeds.length) return fill(over, h("p", { class: "empty" }, "Search for something to start from."));
    parts.left.setAttribute("aria-busy", "true");
    try {
      await one.run(async (signal) => {
        const [hub] = await Promise.all([seedHub(now, signal), schemaOrNull(), readNames(now.seeds.filter((/** @type {string} */ id) => !isPattern(id)), signal)]);
        signal.throwIfAborted();
        question.update(now);
        rename(titleOf(now));
        if (hub) return offer(hubChoice(hub, now.limit, (step) => set(step ? { path: [step] } : { hub: "all" })));
        answer = await ask(now, signal, known);
        question.problem(null);
        now = canonical(now, answer);
        groups = await groupsOf(answer.calls[0].answer, now, signal);
        draw(now, answer, true);
        announce(`The answer has ${sizes(answer.graph.nodes.length, answer.graph.edges.length)}.`);
      });
    } catch (error) {
      if (isAbort(error)) return;
      const atField = question.problem(error);
      if (atField) announce(/** @type {Error} */ (error).message);
      fill(over, !atField && failure(error, () => load(get())));
    }
    parts.left.removeAttribute("aria-busy");
  }

  /** Put the answer's spelling of patterns into the address, without another call. @param {State} now @param {Walked} walked @returns {State} */
  function canonical(now, { calls }) {
    const { seeds, seed_count } = calls[0].answer;
    const spelt = { ...now, seeds };
    if (seed_count === undefined || JSON.stringify(seeds) === JSON.stringify(now.seeds)) return now;
    known.set(JSON.stringify(walkArguments(spelt)), calls[0]);
    asked = questionOf(spelt);
    set({ seeds, offset: now.offset, panel: now.panel }, { replace: true });
    return get();
  }

  /** @param {State} now @param {Walked} walked @param {boolean} fresh */
  function draw(now, walked, fresh) {
    const { graph, calls } = walked;
    const hidden = new Set(now.hide);
    const [{ answer: first }] = calls;
    const drawn = isSet(now) ? graph.connected() : graph;
    const drawable = graph.edges.length > 0 || (!now.show && first.max_hops !== 0 && !isSet(now));
    if (fresh) {
      parts.split.classList.toggle("table-alone", !drawable);
      picture.show(drawable ? drawn : new Graph(), { hidden, isStart: startOf(now) });
      fill(over, !graph.size && h("p", { class: "empty" }, "Nothing was found. The notes say how far the walk got."));
      fill(parts.status, statusOf(walked), pager(first, now), undo(now, nameOf), drawable && drawn.size < graph.size && h("span", null, `${plural(graph.size - drawn.size, "node")} without edges on this page: in the table alone`));
      fill(parts.notes, notesLine(calls[0].notes.filter((note) => !isAlone(now) || !/^(?:facets: |fields: |Nodes? \d)/.test(note)), [...new Set(calls.slice(1).flatMap((made) => made.notes))]));
    } else picture.hide(hidden);
    parts.rail.hidden = !isAlone(now) || graph.edges.length > 0;
    parts.split.classList.toggle("with-rail", !parts.rail.hidden);
    if (!parts.rail.hidden) fill(parts.rail, bars(groups, now));
    parts.split.classList.toggle("with-panel", now.panel.length > 0);
    void beside.show(now.panel, graph);
    parts.legend.hidden = !parts.rail.hidden && graph.typeCounts().length < 2;
    fill(parts.legend, graph.typeCounts().map(([type, n]) => legendButton(type, n, now)));
    table(parts.list, { graph, state: now, hidden, answer: first, groups, onExpand: expand, onPick: (from, to) => select([from, to]), onPoint: (id) => picture.highlight(id === null ? null : [id]) });
    if (!fresh) return;
    show({ graph, picture: drawable ? picture : null, calls, title: titleOf(now) });
    question.update(now);
  }

  /** @param {string} id */
  function nameOf(id) {
    const name = answer?.graph.nameOf(id) ?? id;
    return name === id ? knownName(id) : name;
  }

  /** @param {State} now */
  function titleOf({ seeds: [seed] }) {
    return (isPattern(seed) ? patternWords(seed) : nameOf(seed)).slice(0, 80);
  }

  return Object.assign(
    () => {
      one.stop();
      opened.stop();
      beside.stop();
      picture.destroy();
    },
    { update },
  );
}

/** What tells the nodes from which paths start; undefined for an answer without paths. @param {State} state */
function startOf(state) {
  const types = seedTypes(state);
  return state.path.length || state.along.length || state.to.length ? (/** @type {any} */ { seed, type }) => seed || Boolean(types?.has(type)) : undefined;
}

/** The part of a state that decides the answer. @param {State} state */
function questionOf({ hide, tab, sort, panel: _, ...question }) {
  return JSON.stringify(question);
}

/** @param {HTMLElement} container @param {HTMLElement} question */
function skeleton(container, question) {
  const parts = {
    status: h("p", { class: "status" }),
    notes: h("div", { class: "notes-place" }),
    stage: h("div", { class: "picture" }),
    legend: h("div", { class: "legend", role: "group", "aria-label": "Types shown" }),
    list: h("section", { class: "table", "aria-label": "The same answer as a table" }),
    left: h("div", { class: "left" }),
    rail: h("aside", { class: "rail", "aria-label": "Groups of the set", hidden: true }),
    side: h("aside", { class: "side", "aria-label": "What is selected", hidden: true }),
    split: h("div", { class: "split" }),
  };
  parts.left.append(parts.stage, parts.legend);
  parts.split.append(parts.rail, parts.left, parts.list, parts.side);
  container.append(h("h1", { class: "unseen" }, "Walk"), question,
    h("div", { class: "about" }, parts.status, parts.notes),
    parts.split);
  return parts;
}

/** A single seed with more relations than are shown. @param {State} now @param {AbortSignal} signal */
async function seedHub(now, signal) {
  if (now.seeds.length > 1 || now.hub === "all" || isRestricted(now)) return null;
  try {
    return await hubAt(now.seeds[0], now.limit, signal);
  } catch (error) {
    if (isAbort(error) || /** @type {any} */ (error).status === 401) throw error;
    return null;
  }
}

/** How much is shown, out of how much, and at what cost. @param {Walked} walked */
function statusOf({ graph, calls }) {
  const { node_count: nodes, edge_count: edges, walks } = calls[0].answer;
  if (walks) return [h("strong", null, `${plural(walks.length, "walk")}, ${plural(nodes, "node")}`), h("span", { class: "cost" }, cost(calls))];
  const cut = calls.length === 1 && (nodes > graph.nodes.length || edges > graph.edges.length);
  return [
    h("strong", null, sizes(graph.nodes.length, graph.edges.length)),
    cut && h("span", { class: "cut" }, `of ${sizes(nodes, edges)}`),
    h("span", { class: "cost" }, cost(calls)),
  ];
}

/** @param {State} now @param {(id: string) => string} nameOf */
function undo(now, nameOf) {
  if (!now.open.length) return null;
  const last = nameOf(openingOf(now.open[now.open.length - 1]).id);
  return h("button", { type: "button", class: "small", title: `Close ${last}`.slice(0, 200), onclick: () => set({ open: now.open.slice(0, -1) }) },
    `Undo the last of ${plural(now.open.length, "expansion")}`);
}
