// @ts-check
/** The question of a walk as one sentence of chips: where it starts, the relations that it follows, and conditions. */

import { fill, h, link } from "./dom.js";
import { copyButton } from "./clipboard.js";
import { options, withSteps } from "./options.js";
import { chip, chipList } from "./picker.js";
import { loaded, schema } from "./schema.js";
import { conditionsOf, fromSet, isAlone, isPattern, patternWords, seedTypes, typeOf, withConditions } from "./sets.js";
import { shown } from "./shown.js";
import { get, go, href, set } from "./state.js";
import { suggestConditions, suggestSteps, typesAfter } from "./steps.js";
import { conditionWords, stepWords } from "./words.js";
import { mark } from "./views/parts.js";

/** @typedef {import("./state.js").State} State */

const [MOST_STEPS, MOST_CONDITIONS] = [8, 200];

/** The number of relations that can be followed with one click. */
const OFFERED = 3;

/** The sentence with its menu of options; every change makes a new call. @param {(id: string) => string} nameOf @returns {{element: HTMLElement, update: (state: State)
 * => void, problem: (error: any) => boolean}} `problem` shows an error of the API at the field of its argument, and returns whether there is such a field; without an
 * error it removes all messages. */
export function sentence(nameOf) {
  const menu = options(nameOf);
  const seeds = h("span", { class: "chips", role: "group", "aria-label": "Where the walk starts" });
  const to = h("span", { class: "chips", role: "group", "aria-label": "Where it ends" });
  const offered = h("span", { class: "chips offered" });
  const follow = (/** @type {string[]} */ path) => set(fromSet(get(), { path, ...withSteps(path.length, get()) }));
  const path = chipList({
    legend: "Path", item: (at) => `Step ${at + 1}`, placeholder: "→ follow a relation", most: MOST_STEPS, numbered: true,
    words: (text) => `→ ${stepWords(text)}`,
    suggest: async (text, before) => {
      const known = await schema();
      return suggestSteps(text, typesAfter(before, startTypes(), known), known).map((one) => ({ ...one, hint: [stepWords(one.text), one.hint].filter(Boolean).join(" · ") }));
    },
    onChange: follow,
  });
  const where = chipList({
    legend: "Conditions", item: (at) => `Condition ${at + 1}`, placeholder: "+ condition", most: MOST_CONDITIONS,
    words: conditionWords, hint: conditionHint,
    suggest: async (text) => suggestConditions(text, await schema(), reached()),
    onChange: (list) => set(withConditions(get(), list)),
  });
  const which = h("span", { class: "muted" }, "where");
  const copies = h("span", { class: "copies" }, menu.element, copyButton("the question for a model", forModel, () => null, "Copy for a model"), copyButton("the link", () => location.href, () => null, "Copy link"));
  const element = h("div", { class: "bar" }, h("div", { class: "sentence" }, seeds, path.element, offered, to, which, where.element), copies);

  /** @param {State} state */
  function update(state) {
    const alone = isAlone(state);
    fill(seeds, state.seeds.map((/** @type {string} */ id) => seedChip(id, state, nameOf(id), alone && state.seeds.length === 1)));
    fill(to, state.to.map((/** @type {string} */ id) => chip(`to ${isPattern(id) ? patternWords(id) : nameOf(id)}`, () => set({ to: state.to.filter((/** @type {string} */ one) => one !== id) }), { title: id })));
    // The conditions of a set follow it, those of a walk stand at its end.
    if ((where.element.nextSibling === path.element) !== alone) for (const part of [which, where.element]) element.firstElementChild.insertBefore(part, alone ? path.element : null);
    path.update(state.path);
    where.update(conditionsOf(state));
    path.element.hidden = state.along.length > 0 && !state.path.length;
    const known = loaded();
    const at = known && typesAfter(state.path, startTypes(), known);
    const steps = known && at?.size && !path.element.hidden && state.path.length < MOST_STEPS ? suggestSteps("", at, known).filter(({ text }) => /\S\s\S/.test(text)) : [];
    fill(offered, steps.slice(0, OFFERED).map(({ text }) => h("button", { type: "button", class: "offer", title: text, onclick: () => follow([...state.path, text]) }, `→ ${stepWords(text)}`)));
    menu.update(state);
  }

  /** @param {any} error */
  function problem(error) {
    const fields = { path, where, ...menu.fields() };
    const quoted = /"((?:[^"\\]|\\.)+)"/.exec(error?.message ?? "")?.[1];
    const inSet = error?.argument === "seeds" && quoted && isAlone(get()) && conditionsOf(get()).some((one) => one.includes(quoted));
    const at = inSet ? "where" : Object.hasOwn(fields, error?.argument ?? "") ? error.argument : "";
    for (const [name, field] of Object.entries(fields)) field.problem(name === at ? error.message : "");
    if (at && !["path", "where"].includes(at)) menu.element.open = true;
    return Boolean(at);
  }
  return { element, update, problem };
}

/** @param {string} id @param {State} state @param {string} title @param {boolean} alone Whether the conditions of the pattern are chips of their own. */
function seedChip(id, state, title, alone) {
  const rest = state.seeds.filter((/** @type {string} */ other) => other !== id);
  const pattern = isPattern(id);
  const words = !pattern ? title : alone ? typeOf(id) : patternWords(id);
  const to = pattern ? { view: "walk", seeds: [id], hops: 0 } : { view: "entity", id };
  const type = pattern ? typeOf(id) : shown().graph?.node(id)?.type;
  return h("span", { class: "chip seed" }, type && loaded() && mark(type), link(href(to), null, h("bdi", { class: "name", dir: "auto", title: id.slice(0, 500) }, words)),
    h("button", { type: "button", class: "remove", "aria-label": `Remove ${words.slice(0, 80)}`, onclick: () => (rest.length ? set({ seeds: rest }) : go({ view: "start" })) }, "×"));
}

/** The question in words, its call, and what to do next, for the conversation with a model. */
function forModel() {
  const { seeds, path, to } = get();
  const [made] = shown().calls;
  const words = [seeds.map((/** @type {string} */ id) => (isPattern(id) ? patternWords(id) : shown().graph?.nameOf(id) ?? id)).join(", "), ...path.map(stepWords), ...(to.length ? [`to ${to.join(", ")}`] : [])].join(" → ");
  const where = isAlone(get()) ? [] : get().where.map(conditionWords);
  return [
    `${words}${where.length ? `, where ${where.join(" and ")}` : ""}`, "",
    ...(made ? [`${made.tool}(${JSON.stringify(made.arguments)})`, "", `This found ${made.answer.node_count} nodes and ${made.answer.edge_count} edges.`, ...made.notes] : []),
    "Call it, say what the answer shows, and follow what it leaves open with further calls.",
  ].join("\n");
}

/** The nodes that a condition is about; of a set alone, that is clear. @param {string} text */
function conditionHint(text) {
  const state = get();
  const [, step, scope] = /^(?:no\s+)?(?:(\d+)[.\s]|([^=<>!~.\s-][^=<>!~.]*)\.)?/.exec(text) ?? [];
  if (step) return `of step ${step}: ${step === "0" ? "the start" : state.path[Number(step) - 1] ?? "there is none"}`;
  if (scope || isAlone(state)) return scope ? `of ${scope}` : "";
  return state.path.length ? "of the nodes that are shown" : "of all nodes that are reached";
}

/** The types and predicates of the answer, if there is one. @returns {string[]} */
function reached() {
  const { entity_types_found: types = [], predicates_found: predicates = [] } = shown().calls[0]?.answer?.schema_summary ?? {};
  return [...types, ...predicates];
}

/** The types of the seeds: those of patterns, or of the seeds in the picture. */
function startTypes() {
  const seeds = (shown().graph?.nodes ?? []).filter((node) => node.seed);
  return seedTypes(get()) ?? (seeds.length ? new Set(seeds.map((node) => node.type)) : null);
}
