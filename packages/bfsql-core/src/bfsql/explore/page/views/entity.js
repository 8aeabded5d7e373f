// @ts-check
/** An entity: its record, its relations by predicate, and the evidence with its passages. */

import { call, isAbort, latest } from "../api.js";
import { count, fill, h, isWebAddress, link, name, plural } from "../dom.js";
import { nameIn } from "../graph.js";
import { href } from "../state.js";
import { show } from "../shown.js";
import { failure, notesList, typeName } from "./parts.js";

const OWN = new Set(["id", "entity_type", "notes", "edges", "provenance", "name"]);

/** @param {HTMLElement} container @param {import("../state.js").State} state */
export function entity(container, state) {
  const one = latest();
  const card = h("article", { class: "entity", "aria-busy": "true" });
  container.append(card);

  async function load() {
    card.setAttribute("aria-busy", "true");
    try {
      draw(await one.run((signal) => call("describe_entity", { id: state.id }, signal)));
    } catch (error) {
      if (isAbort(error)) return;
      fill(card, h("h1", null, name(state.id)), failure(error, load));
    }
    card.removeAttribute("aria-busy");
  }

  /** @param {import("../api.js").Call} made */
  function draw(made) {
    const record = made.answer;
    const title = nameIn(record) ?? record.id;
    show({ calls: [made], title: title.slice(0, 80) });
    fill(card,
      h("header", null,
        h("h1", null, name(title)),
        h("p", { class: "row" }, typeName(record.entity_type), name(record.id, "id"),
          link(href({ view: "walk", seeds: [record.id] }), { class: "button primary" }, "Walk from here"))),
      notesList(made.notes),
      recordPart(record), relationsPart(record), evidencePart(record));
  }

  load();
  return () => one.stop();
}

/** @param {any} record */
function recordPart(record) {
  const fields = Object.entries(record).filter(([key]) => !OWN.has(key));
  if (!fields.length) return null;
  return h("section", { "aria-labelledby": "record" }, h("h2", { id: "record" }, "Record"),
    h("dl", null, fields.map(([key, value]) => h("div", null, h("dt", { dir: "auto" }, key), h("dd", null, valueOf(value))))));
}

/** A value of a record, as text. @param {any} value @returns {any} */
export function valueOf(value) {
  if (Array.isArray(value)) return h("ul", { class: "values" }, value.map((item) => h("li", null, valueOf(item))));
  if (value !== null && typeof value === "object") return h("pre", { dir: "auto" }, JSON.stringify(value, null, 2));
  const text = String(value);
  if (isWebAddress(text)) return link(text, { class: "long" }, text);
  return h("bdi", { class: "long", dir: "auto" }, text);
}

/** @param {any} record */
function relationsPart(record) {
  const relations = Object.entries(record.edges ?? {});
  return h("section", { "aria-labelledby": "relations" }, h("h2", { id: "relations" }, "Relations"),
    relations.length
      ? h("ul", { class: "relations" }, relations.map(([step, n]) =>
        h("li", null, link(href({ view: "walk", seeds: [record.id], path: [step] }), null, h("bdi", { class: "predicate" }, step)), h("span", { class: "number" }, count(/** @type {number} */ (n))))))
      : h("p", { class: "muted" }, "No relation touches this entity."));
}

/** @param {any} record */
function evidencePart(record) {
  const items = record.provenance?.items ?? [];
  if (!items.length) return null;
  const total = record.provenance.total;
  const about = total === null || total === undefined ? `${plural(items.length, "passage")}; there may be more` : total > items.length ? `${items.length} of ${count(total)} passages` : plural(items.length, "passage");
  return h("section", { "aria-labelledby": "evidence" }, h("h2", { id: "evidence" }, "Evidence ", h("span", { class: "muted" }, about)),
    h("ol", { class: "evidence" }, items.map((/** @type {any} */ item) => evidenceItem(item))));
}

/** @param {any} item */
function evidenceItem({ subject, predicate, object, document_id, section, text_span, confidence }) {
  const end = (/** @type {string} */ id) => link(href({ view: "entity", id }), null, name(id));
  return h("li", null,
    h("p", { class: "triple" }, subject && end(subject), predicate && h("bdi", { class: "predicate" }, predicate), object && end(object)),
    text_span && h("blockquote", { dir: "auto" }, text_span),
    h("p", { class: "muted" },
      document_id && (isWebAddress(document_id) ? link(document_id, null, document_id) : end(document_id)),
      section && h("bdi", { dir: "auto" }, section),
      confidence !== undefined && confidence !== null && h("span", null, `confidence ${confidence}`)));
}

