// @ts-check
/** An entity: its record, its relations by predicate, and the evidence with its passages. */

import { call, isAbort, latest, namesOf } from "../api.js";
import { count, fill, h, isWebAddress, link, name, plural } from "../dom.js";
import { nameIn } from "../graph.js";
import { dateField } from "../options.js";
import { schemaOrNull } from "../schema.js";
import { get, href } from "../state.js";
import { show } from "../shown.js";
import { relationsOf } from "./hub.js";
import { predicateWords, stepWords } from "../words.js";
import { failure, notesList, typeName } from "./parts.js";

/** The operator's template for addresses of sources (`source_url`). */
const SOURCE_URL = document.querySelector("meta[name=source-url]")?.getAttribute("content") ?? "";

const OWN = new Set(["id", "entity_type", "notes", "edges", "provenance", "name"]);

/** The number of neighbours that a relation lists, and of passages that are shown at once. */
const [LISTED, PASSAGES] = [50, 10];

/** @param {HTMLElement} container @param {import("../state.js").State} state */
export function entity(container, state) {
  const one = latest();
  const card = h("article", { class: "entity", "aria-busy": "true" });
  container.append(card);
  dateField().then((date) => date && container.prepend(h("div", { class: "entity" }, h("div", { class: "bar" }, date))));

  async function load() {
    card.setAttribute("aria-busy", "true");
    try {
      await one.run(async (signal) => {
        await schemaOrNull();
        const { made, names } = await described(state.id, signal);
        draw(made, names);
      });
    } catch (error) {
      if (isAbort(error)) return;
      fill(card, h("h1", null, name(state.id)), failure(error, load));
    }
    card.removeAttribute("aria-busy");
  }

  /** @param {import("../api.js").Call} made @param {Map<string, string>} names */
  function draw(made, names) {
    const record = made.answer;
    const title = nameIn(record) ?? record.id;
    show({ calls: [made], title: title.slice(0, 80) });
    fill(card,
      h("header", null,
        h("div", null,
          h("h1", { class: "long", dir: "auto" }, title),
          h("p", { class: "row" }, typeName(record.entity_type), h("bdi", { class: "id long" }, record.id))),
        link(href({ view: "walk", seeds: [record.id] }), { class: "button primary" }, "Walk from here")),
      notesList(made.notes),
      h("div", { class: "columns" }, recordPart(record), relationsPart(record)),
      evidencePart(record, names));
  }

  load();
  return () => one.stop();
}

/** An entity with the names of the ids that its evidence mentions. @param {string} id @param {AbortSignal} signal */
export async function described(id, signal) {
  const made = await call("describe_entity", { id, at: get().at }, signal);
  const names = await namesOf(idsIn(made.answer.provenance?.items ?? []), signal).catch(() => new Map());
  signal.throwIfAborted();
  return { made, names };
}

/** The ids that passages mention. @param {any[]} items @returns {string[]} */
export function idsIn(items) {
  return items.flatMap((item) => [item.subject, item.object, item.document_id]).filter((id) => typeof id === "string");
}

/** @param {any} record @param {string} [title] @param {number} [at] The place among several records. */
export function recordPart(record, title = "Record", at = 0) {
  const fields = Object.entries(record).filter(([key]) => !OWN.has(key) && !(key === "at" && get().at));
  if (!fields.length) return null;
  return h("section", { "aria-labelledby": `record-${at}` }, h("h2", { id: `record-${at}` }, title),
    h("dl", null, fields.map(([key, value]) => h("div", null, h("dt", { dir: "auto" }, key), h("dd", null, valueOf(value))))));
}

/** A value of a record, as text. @param {any} value @returns {any} */
function valueOf(value) {
  if (Array.isArray(value)) return h("ul", { class: "values" }, value.map((item) => h("li", null, valueOf(item))));
  if (value !== null && typeof value === "object") return h("pre", { dir: "auto" }, JSON.stringify(value, null, 2));
  const text = String(value);
  if (isWebAddress(text)) return link(text, { class: "long" }, text);
  return h("bdi", { class: "long", dir: "auto" }, text);
}

/** @param {any} record */
export function relationsPart(record) {
  const { relations, counted } = relationsOf(record);
  return h("section", { "aria-labelledby": "relations" }, h("h2", { id: "relations" }, "Relations"),
    relations.length
      ? h("div", { class: "relations" }, relations.map(([step, n]) => relation(record.id, step, n)))
      : h("p", { class: "muted" }, counted ? "No relation touches this entity." : "The relations could not be counted; the notes say why."));
}

/** A predicate with its neighbours, which are requested when it is opened. @param {string} id @param {string} step @param {number} n */
function relation(id, step, n) {
  const body = h("div", { class: "neighbours" });
  const element = h("details", { ontoggle: () => element.open && !body.childElementCount && load() },
    h("summary", null, h("bdi", { class: "name", dir: "auto", title: step }, stepWords(step)), h("span", { class: "number" }, count(n))), body);

  async function load() {
    fill(body, h("p", { class: "muted" }, "Loading"));
    try {
      const { answer } = await call("bfs_query", { seeds: [id], path: [step], at: get().at, show: "ends", fields: ["name"], limit: LISTED });
      const items = answer.nodes.map((/** @type {any} */ node) =>
        h("li", null, link(href({ view: "entity", id: node.id }), null, name(nameIn(node.metadata ?? {}) ?? node.id)), typeName(node.entity_type)));
      const rest = answer.shown_count - items.length;
      fill(body, h("ul", null, items), link(href({ view: "walk", seeds: [id], path: [step] }), { class: "button small" }, rest > 0 ? `Walk along it (${count(rest)} more)` : "Walk along it"));
    } catch (error) {
      fill(body, failure(error, load));
    }
  }
  return element;
}

/** @param {any} record @param {Map<string, string>} names */
export function evidencePart(record, names) {
  const items = record.provenance?.items ?? [];
  if (!items.length) return null;
  const total = record.provenance.total;
  const shown = plural(items.length, "passage");
  const about = typeof total !== "number" ? `${shown}; there may be more` : total > items.length ? `${count(items.length)} of ${count(total)} passages` : shown;
  const list = h("ol", { class: "evidence" });
  const more = h("button", { type: "button", onclick: extend }, "Show more");
  function extend() {
    const from = list.childElementCount;
    list.append(...items.slice(from, from + PASSAGES).map((/** @type {any} */ item) => evidenceItem(item, names)));
    more.hidden = list.childElementCount === items.length;
  }
  extend();
  return h("section", { "aria-labelledby": "evidence" }, h("h2", { id: "evidence" }, "Evidence ", h("span", { class: "muted" }, about)), list, more);
}

/** The address of an item's source, from the operator's template; null if a field is missing, or would lead elsewhere as dots do. @param {Record<string, any>} item */
function sourceOf(item) {
  let whole = SOURCE_URL !== "";
  const address = SOURCE_URL.replace(/\{(\w+)\}/g, (_, key) => {
    const text = Object.hasOwn(item, key) && ["string", "number"].includes(typeof item[key]) ? String(item[key]) : "";
    whole &&= /^(?!\.+$)[^\ud800-\udfff]+$/u.test(text);
    return whole ? encodeURIComponent(text) : "";
  });
  return whole ? address : null;
}

/** @param {any} item @param {Map<string, string>} names */
function evidenceItem(item, names) {
  const { subject, predicate, object, document_id: source, section, text_span: text, confidence } = item;
  const address = sourceOf(item);
  const end = (/** @type {string} */ id) => link(href({ view: "entity", id }), null, name(names.get(id) ?? id));
  const document = source && (isWebAddress(source) ? link(source, null, name(source)) : names.has(source) ? end(source) : name(source, "id"));
  return h("li", null,
    h("p", { class: "triple" }, subject && end(subject), predicate && h("span", { title: `-${predicate}->` }, name(predicateWords(predicate))), object && end(object)),
    text && h("blockquote", { dir: "auto" }, text),
    h("p", { class: "source muted" }, document, section && name(section), typeof confidence === "number" && h("span", null, `confidence ${confidence}`), address && link(address, null, "Open source")));
}
