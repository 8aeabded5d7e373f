// @ts-check
/** Search while typing: the field in the header with its list, and the page of all hits. */

import { call, isAbort, latest } from "../api.js";
import { announce, fill, h, link, name, plural } from "../dom.js";
import { schemaOrNull } from "../schema.js";
import { go, href } from "../state.js";
import { show } from "../shown.js";
import { failure, notesList, typeName } from "./parts.js";

const WAIT_MS = 120;

/** The labels of matches that the name itself does not explain. @type {Record<string, string>} */
const MATCHES = { alias: "another name", similar: "spelt alike", meaning: "by meaning", other: "by other text" };

/** @param {any} hit */
const walkFrom = (hit) => ({ view: "walk", seeds: [hit.id] });

/** The field with its list. @param {HTMLElement} container */
export function searchField(container) {
  const one = latest();
  let waiting = 0;
  /** @type {any[]} */
  let hits = [];
  let active = -1;

  const field = h("input", {
    type: "search", id: "q", role: "combobox", "aria-label": "Search the graph", "aria-expanded": "false", "aria-controls": "hits", "aria-autocomplete": "list",
    placeholder: "Search for a name or an id", autocomplete: "off", spellcheck: "false", enterkeyhint: "search", maxlength: "16000",
    oninput: () => later(),
    onkeydown: (/** @type {KeyboardEvent} */ event) => key(event),
    onblur: () => setTimeout(() => container.contains(document.activeElement) || close(), 0),
    onfocus: () => { if (hits.length) open(); },
  });
  const list = h("ul", { id: "hits", role: "listbox", "aria-label": "Hits", hidden: true });
  const about = h("p", { class: "search-note", hidden: true });
  const panel = h("div", { class: "suggestions", hidden: true }, about, list);
  container.append(field, h("kbd", { "aria-hidden": "true" }, "/"), panel);

  document.addEventListener("keydown", (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || target.closest("input, textarea, select, dialog, [contenteditable]")) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  function later() {
    clearTimeout(waiting);
    activate(-1);
    const text = field.value.trim();
    if (!text) {
      one.stop();
      hits = [];
      return close();
    }
    waiting = window.setTimeout(() => look(text), WAIT_MS);
  }

  /** @param {string} text */
  async function look(text) {
    try {
      const made = await one.run((signal) => call("search_entities", { query: text }, signal));
      await schemaOrNull();
      const before = hits[active]?.id;
      hits = made.answer;
      active = -1;
      const note = hits.length ? made.notes[0] ?? "" : made.notes[0] ?? `Nothing is called “${text.slice(0, 60)}”.`;
      fill(about, note);
      about.hidden = !note;
      fill(list, hits.map((hit, index) => option(hit, index)));
      list.hidden = !hits.length;
      open();
      activate(hits.findIndex(({ id }) => id === before));
      announce(hits.length ? `${plural(hits.length, "hit")}. Use the arrow keys.` : note);
    } catch (error) {
      if (isAbort(error)) return;
      hits = [];
      fill(list);
      list.hidden = true;
      fill(about, /** @type {Error} */ (error).message);
      about.hidden = false;
      open();
      announce(/** @type {Error} */ (error).message);
    }
  }

  /** @param {any} hit @param {number} index */
  function option(hit, index) {
    const element = h("li", { id: `hit-${index}`, role: "option", "aria-selected": "false" }, hitParts(hit));
    element.addEventListener("mousedown", (/** @type {Event} */ event) => event.preventDefault());
    element.addEventListener("click", () => choose(hit));
    element.addEventListener("mousemove", () => activate(index));
    return element;
  }

  /** @param {any} hit */
  function choose(hit) {
    field.value = "";
    hits = [];
    close();
    field.blur();
    go(walkFrom(hit));
  }

  /** @param {number} index */
  function activate(index) {
    if (index === active) return;
    list.children[active]?.setAttribute("aria-selected", "false");
    active = index;
    const now = list.children[active];
    now?.setAttribute("aria-selected", "true");
    now?.scrollIntoView({ block: "nearest" });
    if (now) field.setAttribute("aria-activedescendant", now.id);
    else field.removeAttribute("aria-activedescendant");
  }

  /** @param {KeyboardEvent} event */
  function key(event) {
    if (event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!hits.length) return;
      event.preventDefault();
      if (panel.hidden) open();
      const by = event.key === "ArrowDown" ? 1 : -1;
      activate(active < 0 && by < 0 ? hits.length - 1 : (active + by + hits.length) % hits.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const text = field.value.trim();
      if (active >= 0 && !panel.hidden) return choose(hits[active]);
      if (!text) return;
      clearTimeout(waiting);
      one.stop();
      close();
      go({ view: "search", q: text });
    } else if (event.key === "Escape") {
      if (panel.hidden) field.value = "";
      close();
    }
  }

  function open() {
    panel.hidden = false;
    field.setAttribute("aria-expanded", String(!list.hidden));
  }

  function close() {
    panel.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
    list.children[active]?.setAttribute("aria-selected", "false");
    active = -1;
  }
}

/** A description of a hit, and what distinguishes it from its namesakes. @param {any} hit */
function hitParts(hit) {
  return [
    h("span", { class: "hit-name" }, name(hit.name ?? hit.id)),
    typeName(hit.entity_type),
    h("span", { class: "hit-about" },
      hit.context?.length ? hit.context.map((/** @type {string} */ fact) => h("bdi", { class: "fact", dir: "auto" }, fact)) : name(hit.id, "id"),
      MATCHES[hit.match] && h("span", { class: "tag" }, MATCHES[hit.match])),
  ];
}

/** All hits for a text. @param {HTMLElement} container @param {import("../state.js").State} state */
export function search(container, state) {
  const one = latest();
  const hits = h("div", { class: "hits", "aria-busy": "true" });
  container.append(h("h1", null, "Hits for ", h("q", { dir: "auto" }, state.q.slice(0, 200))), hits);

  async function look() {
    hits.setAttribute("aria-busy", "true");
    try {
      const made = await one.run((signal) => call("search_entities", { query: state.q, node_types: state.types }, signal));
      await schemaOrNull();
      draw(made);
    } catch (error) {
      if (isAbort(error)) return;
      fill(hits, failure(error, look));
    }
    hits.removeAttribute("aria-busy");
  }

  /** @param {import("../api.js").Call} made */
  function draw(made) {
    show({ calls: [made], title: state.q.slice(0, 80) });
    const picked = new Set();
    const together = h("button", { type: "button", class: "primary", disabled: true, onclick: () => go({ view: "walk", seeds: [...picked] }) }, "Walk from those picked");
    const rows = made.answer.map((/** @type {any} */ hit) => {
      const box = h("input", { type: "checkbox", "aria-label": `Pick ${(hit.name ?? hit.id).slice(0, 80)}` });
      box.addEventListener("change", () => {
        box.checked ? picked.add(hit.id) : picked.delete(hit.id);
        together.disabled = !picked.size;
      });
      return h("li", null, box, link(href(walkFrom(hit)), { class: "hit" }, hitParts(hit)), link(href({ view: "entity", id: hit.id }), { class: "small" }, "Record"));
    });
    const nothing = h("p", { class: "empty" }, state.types.length ? "No entity of these types is called that." : "No entity is called that.");
    const several = rows.length > 1 && h("div", { class: "row" }, together, h("span", { class: "muted" }, "Tick hits to start from several at once."));
    fill(hits, notesList(made.notes), rows.length ? [h("ul", { class: "hit-list" }, rows), several] : nothing);
    announce(rows.length ? plural(rows.length, "hit") : "No hit");
  }

  look();
  return () => one.stop();
}

