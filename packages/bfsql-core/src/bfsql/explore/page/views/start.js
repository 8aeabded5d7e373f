// @ts-check
/** The start: what the graph is about, its schema as a picture and as cards, and questions to begin with. */

import { call, isAbort, latest, read } from "../api.js";
import { combobox } from "../combobox.js";
import { fill, h, count, link, name, plural } from "../dom.js";
import { entitySuggestions } from "../picker.js";
import { createPicture } from "../picture.js";
import { questionsOf } from "../questions.js";
import { schema } from "../schema.js";
import { show } from "../shown.js";
import { go, href } from "../state.js";
import { propertiesOf } from "../steps.js";
import { pluralOf, predicateWords, relationWords } from "../words.js";
import { failure, notesLine, typeName } from "./parts.js";

/** The number of types above which they are drawn smaller. */
const ROOMY = 12;

/** The number of cards that are shown at first, and of relations on a card. */
const [CARDS, RELATIONS] = [8, 6];

/** The number of nodes up to which values are counted for histograms, and of the bars of one. */
const [MOST_COUNTED, BARS] = [200_000, 22];

/** Types that describe other types in place of things. */
const VOCABULARY = /[:/#](?:Ontology|Class|Restriction|Datatype|\w*Property|ConceptScheme|\w+Shape)$/;

/** @typedef {import("../schema.js").Schema} Schema */

/** @param {HTMLElement} container */
export function start(container) {
  const one = latest();
  let ended = false;
  /** @type {import("../picture.js").Picture | null} */
  let picture = null;
  const heading = h("h1", { class: "unseen" }, "What this graph contains");
  const text = h("div", { class: "intro" });
  const notes = h("div", { class: "notes-place" });
  const stage = h("div", { class: "picture" });
  const cards = h("section", { class: "cards", "aria-label": "Types" });
  const more = h("div", { class: "start-more" });
  container.append(h("div", { class: "about" }, text, notes), h("div", { class: "split" }, stage, cards), more);
  /** @type {HTMLElement | null} */ (document.querySelector("#search input"))?.focus({ preventScroll: true });

  async function load(again = false) {
    fill(text, heading);
    try {
      const known = await schema({ again });
      if (!ended) draw(known);
      const { tables } = await read("outline").catch(() => ({}));
      if (!ended && tables) more.append(reading(tables));
    } catch (error) {
      if (!ended) fill(text, heading, failure(error, () => load(true)));
    }
  }

  /** @param {Schema} known */
  function draw(known) {
    const [title, line] = titleOf(known);
    fill(text, h("h1", { dir: "auto" }, title), h("p", { class: "description", dir: "auto" }, line), h("p", { class: "muted" }, summary(known)));
    fill(notes, notesLine(known.notes));
    if (!known.types.length) {
      fill(stage, h("p", { class: "empty" }, "This graph is empty so far. Load something into it, then reload this page."));
      return show({ calls: [known.call], title: "Overview" });
    }
    fill(cards, cardsOf(known));
    fill(more, h("section", null, h("h2", null, "Try a question"), h("div", { class: "row" }, questionsOf(known).map((question) => link(href(question.state), { class: "button" }, name(question.text))))), connection());
    void histograms(known);
    picture ??= createPicture(stage, {
      label: "The schema: types and the relations between them",
      unavailable: "This browser has no WebGL, which the picture needs. The cards show the same schema.",
      onClick: (type) => go(setOf(type)),
      onEdgeClick: (type, other) => go(between(known, type, other)),
    });
    picture.show(/** @type {any} */ (pictured(known)), { edgeLabel: (edge) => predicateWords(edge.predicate) + (edge.count === null ? "" : ` ${count(edge.count)}`), distance: 210, apart: 5 });
    show({ calls: [known.call], title: "Overview", picture });
  }

  /** Count the values of properties that are numbers, with one call for all cards that are shown. @param {Schema} known */
  async function histograms(known) {
    const owners = ordered(known).slice(0, CARDS).flatMap((type) => ranged(type, known).map(({ name: key }) => ({ type, key }))).slice(0, 20);
    const types = [...new Set(owners.map(({ type }) => type))];
    const nodes = types.reduce((sum, type) => sum + (known.nodeCounts.get(type) ?? MOST_COUNTED), 0);
    if (!types.length || nodes > MOST_COUNTED) return;
    try {
      const made = await one.run((signal) => call("bfs_query", { seeds: types.map((type) => `${type}:*`), facets: owners.map(({ type, key }) => `${type}.${key}:1000`), limit: 0 }, signal));
      for (const place of cards.querySelectorAll("[data-of]")) fill(place, histogram(made.answer.facets?.[place.dataset.of]));
    } catch (error) {
      if (!isAbort(error)) return; // the range alone is shown
    }
  }

  load();
  return () => {
    ended = true;
    one.stop();
    picture?.destroy();
  };
}

/** A title and a line: the first words of the description before a colon or full stop, if they are few, or else the most frequent types. @param {Schema} known */
function titleOf(known) {
  const [, title, line] = /^([^.:]{2,40})(?:[.:]\s+(\S.*))?$/s.exec(known.description.trim()) ?? [];
  const types = ordered(known).slice(0, 3).map((type) => pluralOf(type.slice(0, 40)));
  const [last] = known.types.length > 3 ? ["more"] : types.splice(-1);
  return title && title !== "A knowledge graph" ? [title, line ?? ""] : [types.length ? `${types.join(", ")} and ${last}` : last ?? "An empty graph", known.description];
}

/** The set of a type's entities. @param {string} type */
function setOf(type) {
  return { view: "walk", seeds: [`${type}:*`], hops: 0 };
}

/** The walk along all relations between two types. @param {Schema} known @param {string} type @param {string} other */
function between({ relations }, type, other) {
  const found = [...new Set(relations.filter(({ subject, object }) => subject === type && object === other).map(({ predicate }) => predicate))];
  return { view: "walk", seeds: [`${type}:*`], path: [found.length ? `-${found.join("|")}-> ${other}` : `-- ${other}`] };
}

/** Types, the most frequent first, and those of vocabularies last. @param {Schema} known */
function ordered({ types, nodeCounts }) {
  return [...types].sort((a, b) => Number(VOCABULARY.test(a)) - Number(VOCABULARY.test(b)) || (nodeCounts.get(b) ?? 0) - (nodeCounts.get(a) ?? 0));
}

/** The schema as nodes and edges. @param {Schema} known */
function pictured(known) {
  /** @type {Map<string, number>} */
  const edges = new Map();
  for (const { subject, object, count: n } of known.relations)
    for (const type of new Set([subject, object])) edges.set(type, (edges.get(type) ?? 0) + (n ?? 0));
  const sizes = known.nodeCounts.size ? known.nodeCounts : edges;
  const most = Math.max(1, ...sizes.values());
  const room = Math.min(1, Math.sqrt(ROOMY / known.types.length));
  const nodes = known.types.map((type) => ({
    id: type, name: type, type, full: true, seed: false, degree: edges.get(type) ?? 0, weight: room * Math.sqrt((sizes.get(type) ?? 0) / most),
    label: known.nodeCounts.has(type) ? `${type.slice(0, 40)} (${count(known.nodeCounts.get(type) ?? 0)})` : type.slice(0, 40),
  }));
  const widest = Math.max(1, ...known.relations.map((relation) => relation.count ?? 0));
  return { nodes, edges: known.relations.map((relation) => ({ ...relation, width: 1.2 + 3 * Math.sqrt((relation.count ?? 0) / widest) })) };
}

/** @param {Schema} known */
function summary({ nodeCounts, relations, types, predicates, comprehensive }) {
  const sum = (/** @type {Iterable<number | null>} */ all) => [...all].reduce((/** @type {number} */ a, b) => a + (b ?? 0), 0);
  const [nodes, edges] = [sum(nodeCounts.values()), sum(relations.map((one) => one.count))];
  const parts = [nodes && plural(nodes, "entity", "entities"), edges && plural(edges, "relation"), plural(types.length, "type"), plural(predicates.length, "predicate")];
  return parts.filter(Boolean).join(" · ") + (comprehensive ? "" : " (a sample)");
}

/** A card for each type: the first ones, those that a text finds, or all. @param {Schema} known */
function cardsOf(known) {
  const types = ordered(known);
  const first = Math.min(CARDS, types.filter((type) => !VOCABULARY.test(type)).length || CARDS);
  const made = types.map((type) => card(type, known));
  const rest = types.length - first;
  const more = h("button", { type: "button", onclick: () => narrow("", types.length) }, types.slice(first).every((type) => VOCABULARY.test(type)) ? `${plural(rest, "type")} of the vocabulary` : `${count(rest)} more`);
  const find = h("input", { type: "search", class: "find", placeholder: `Find among ${plural(types.length, "type")}`, "aria-label": "Find a type", oninput: () => narrow(find.value.trim().toLowerCase(), find.value.trim() ? types.length : first) });
  const narrow = (/** @type {string} */ part, /** @type {number} */ most) => {
    made.forEach((element, at) => (element.hidden = at >= most || !types[at].toLowerCase().includes(part)));
    more.hidden = most === types.length;
  };
  narrow("", first);
  return rest > 0 ? [find, made, more] : made;
}

/** @param {string} type @param {Schema} known */
function card(type, known) {
  const all = known.relations.flatMap(({ subject, predicate, object, count: n }) => [
    ...(subject === type ? [{ words: relationWords([predicate], "out", object), step: `-${predicate}-> ${object}`, n }] : []),
    ...(object === type && subject !== type ? [{ words: relationWords([predicate], "in", subject).replace(/ this$/, ""), step: `<-${predicate}- ${subject}`, n }] : []),
  ]).sort((a, b) => (b.n ?? 0) - (a.n ?? 0));
  const places = all.map(({ words, step, n }, at) =>
    h("li", { hidden: at >= RELATIONS }, link(href({ view: "walk", seeds: [`${type}:*`], path: [step] }), { title: step.slice(0, 200) }, name(words)), n !== null && h("span", { class: "number muted" }, count(n))));
  const more = h("button", { type: "button", class: "small", onclick: () => { places.forEach((place) => (place.hidden = false)); more.remove(); } }, `${all.length - RELATIONS} more`);
  const total = known.nodeCounts.get(type);
  return h("article", { class: "card" },
    h("h2", null, link(href(setOf(type)), null, typeName(type)), h("span", { class: "number" }, total === undefined ? "" : count(total))),
    h("ul", null, places, all.length > RELATIONS && h("li", null, more)),
    ranged(type, known).map(({ name: key, range }) =>
      h("div", { class: "ranged" }, name(key), h("span", { "data-of": `${type}.${key}` }), h("span", { class: "number muted" }, range.replace("..", " to ")))));
}

/** The properties of a type that are numbers, as many as a card shows. @param {string} type @param {Schema} known */
function ranged(type, known) {
  return propertiesOf([type], known).filter(({ numbers }) => numbers).slice(0, 2);
}

/** The values of a property as bars, if all of them are listed. @param {any} facet */
function histogram(facet) {
  if (typeof facet?.min !== "number" || facet.other_values || facet.min === facet.max) return null;
  const bars = Array(BARS).fill(0);
  for (const [value, n] of facet.values) bars[Math.min(BARS - 1, Math.floor((BARS * (Number(value) - facet.min)) / (facet.max - facet.min)))] += n;
  const most = Math.max(...bars);
  return h("svg", { viewBox: `0 0 ${4 * BARS} 24`, preserveAspectRatio: "none", "aria-hidden": "true" },
    bars.map((n, at) => n > 0 && h("rect", { x: 4 * at, y: 24 - Math.max(1.5, (24 * n) / most), width: 3.4, height: Math.max(1.5, (24 * n) / most) })));
}

/** Two fields for the entities whose connection is asked for. */
function connection() {
  /** @type {string[]} */
  const chosen = ["", ""];
  const fields = chosen.map((_, at) => combobox({
    label: at ? "and" : "From", labelHidden: true, placeholder: at ? "and another" : "A name", suggest: entitySuggestions(),
    onChange: (text, suggestion) => {
      chosen[at] = suggestion?.of?.id ?? text.trim();
      if (suggestion && chosen.every(Boolean)) ask();
    },
  }));
  const ask = () => chosen.every(Boolean) && go({ view: "walk", seeds: [chosen[0]], to: [chosen[1]] });
  return h("section", null, h("h2", null, "How are two connected?"),
    h("div", { class: "row" }, fields[0].element, fields[1].element, h("button", { type: "button", class: "primary", onclick: ask }, "Show how")));
}

/** How the tables of the sources were read, as the load kept it; columns are indented. @param {string[][]} tables */
function reading(tables) {
  const rows = tables.map((row) => h("tr", null, row.map((text, at) => h("td", { class: at === 1 ? "number" : "", dir: "auto" }, text.replace("  ", "\u2003")))));
  return h("details", { class: "reading" }, h("summary", null, "How the tables were read"), h("table", null, h("caption", { class: "unseen" }, "Tables, as they were read"), h("tbody", null, rows)));
}
