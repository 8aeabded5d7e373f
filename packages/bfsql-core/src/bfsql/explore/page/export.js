// @ts-check
/** Saves a view as a file: the picture as PNG and SVG, the graph as CSV and GraphML, the answer as JSON. Data leaves the page only through the browser's download. */

import { readText } from "./api.js";
import { announce, h } from "./dom.js";
import { asGraphml, edgesAsCsv, nodesAsCsv, walksAsCsv } from "./formats.js";
import { markOf } from "./palette.js";
import { shown, subscribe } from "./shown.js";
import { get } from "./state.js";
import { asSvg } from "./svg.js";

/** @typedef {import("./shown.js").Shown} Shown */

const SCALE = 2;
/** The side length in pixels that every browser supports for a canvas. */
const MOST_PIXELS = 8192;

/** The tools whose answers the card draws. */
const DRAWN = new Set(["bfs_query", "intersect_subgraphs", "describe_entity"]);

/** @typedef {"picture" | "graph" | "walks" | "card" | "call"} Need */

/** @type {{label: string, ending: string, make: (now: Shown) => Blob | Promise<Blob>, needs: Need}[]} */
const KINDS = [
  { label: "Picture (PNG)", ending: ".png", make: png, needs: "picture" },
  { label: "Picture (SVG)", ending: ".svg", make: (now) => file(svg(now).text, "image/svg+xml"), needs: "picture" },
  { label: "Nodes (CSV)", ending: "-nodes.csv", make: ({ graph }) => file(nodesAsCsv(graph?.nodes ?? []), "text/csv"), needs: "graph" },
  { label: "Edges (CSV)", ending: "-edges.csv", make: ({ graph }) => file(edgesAsCsv(graph?.edges ?? []), "text/csv"), needs: "graph" },
  { label: "Walks (CSV)", ending: "-walks.csv", make: ({ graph, calls }) => file(walksAsCsv(calls[0].answer.walks, (id) => graph?.nameOf(id) ?? id), "text/csv"), needs: "walks" },
  { label: "Graph (GraphML)", ending: ".graphml", make: ({ graph }) => file(asGraphml(graph?.nodes ?? [], graph?.edges ?? []), "application/xml"), needs: "graph" },
  { label: "One HTML file", ending: ".html", make: card, needs: "card" },
  { label: "Answer (JSON)", ending: ".json", make: ({ calls }) => file(calls.at(-1)?.text ?? "", "application/json"), needs: "call" },
];

/** A menu of the files in which the view can be saved; hidden if there is nothing to save. */
export function exportMenu() {
  const problem = h("p", { class: "error", role: "alert", hidden: true });
  const items = h("div", { class: "menu" });
  const menu = h("details", { class: "export", ontoggle: () => menu.open && offer() }, h("summary", null, "Save as"), items, problem);

  function offer() {
    problem.hidden = true;
    items.replaceChildren(...KINDS.filter((kind) => has(shown(), kind.needs)).map((kind) =>
      h("button", { type: "button", onclick: () => save(kind) }, kind.label)));
  }

  /** @param {typeof KINDS[number]} kind */
  async function save(kind) {
    const now = shown();
    const name = fileName(`${get().view} ${now.title}`, kind.ending);
    try {
      download(name, await kind.make(now));
    } catch (error) {
      problem.textContent = `${kind.label} could not be made: ${error instanceof Error ? error.message : error}`;
      problem.hidden = false;
      return;
    }
    menu.open = false;
    menu.querySelector("summary")?.focus();
    announce(`Saved ${name}.`);
  }

  subscribe((now) => {
    menu.open = false;
    menu.hidden = !KINDS.some((kind) => has(now, kind.needs));
  });
  menu.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
    event.stopPropagation();
  });
  menu.addEventListener("focusout", (/** @type {FocusEvent} */ event) => {
    if (event.relatedTarget && !menu.contains(/** @type {Node} */ (event.relatedTarget))) menu.open = false;
  });
  return menu;
}

/** @param {Shown} now @param {Need} part */
function has({ graph, picture, calls }, part) {
  if (part === "call") return calls.length > 0;
  if (part === "card") return DRAWN.has(calls[0]?.tool) && Boolean(calls[0].answer);
  if (part === "walks") return Boolean(calls[0]?.answer?.walks);
  return Boolean(graph?.size) && (part === "graph" || Boolean(picture?.works));
}

/** A file name from the title of a view: letters, digits and dashes, at most 60 characters. @param {string} title @param {string} ending */
export function fileName(title, ending) {
  const words = title.normalize("NFKC").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  const cut = Array.from(words).slice(0, 60).join("").replace(/-+$/, "");
  return `bfsql-${cut.toLowerCase() || "graph"}${ending}`;
}

/** @param {Shown} now */
export function svg({ title, graph, picture }) {
  const hidden = new Set(get().hide);
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name, /** @type {string} */ otherwise) => style.getPropertyValue(`--${name}`).trim() || otherwise;
  const nodes = (picture?.positions() ?? []).flatMap((drawn) => {
    const node = graph?.node(drawn.id);
    return node && !hidden.has(node.type) ? [{ ...node, x: drawn.x, y: drawn.y, size: drawn.size }] : [];
  });
  const types = (graph?.typeCounts() ?? []).filter(([type]) => !hidden.has(type));
  const theme = { background: colour("picture", "#ffffff"), text: colour("text", "#222222"), muted: colour("muted", "#666666"), edge: colour("line", "#888888") };
  return asSvg({ title, nodes, edges: graph?.edges ?? [], legend: types.map(([label, count]) => ({ label, count, ...markOf(label) })), theme });
}

/** The SVG, rendered at twice its size. @param {Shown} now @returns {Promise<Blob>} */
async function png(now) {
  const { text, width, height } = svg(now);
  const scale = Math.min(SCALE, MOST_PIXELS / width, MOST_PIXELS / height);
  const address = URL.createObjectURL(file(text, "image/svg+xml"));
  try {
    const image = new Image(width, height);
    image.src = address;
    await image.decode();
    const canvas = h("canvas", { width: Math.round(width * scale), height: Math.round(height * scale) });
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => canvas.toBlob((/** @type {Blob | null} */ blob) => (blob ? resolve(blob) : reject(new Error("the browser gave no image"))), "image/png"));
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The card of the chat with the calls inside, which a browser opens without a server. In JSON without "<", no text of the graph is markup. @param {Shown} now */
async function card({ graph, calls, title }) {
  const named = (/** @type {any} */ node) => (node.metadata ? node : { ...node, name: graph?.nameOf(node.id) });
  const saved = calls.map(({ tool, arguments: given, answer, bytes }) => ({ tool, arguments: given, bytes, answer: tool === "describe_entity" ? answer : { ...answer, nodes: answer.nodes.map(named) } }));
  const json = JSON.stringify({ title, calls: saved }).replaceAll("<", "\\u003c");
  return file((await readText("assets/card.html")).replace("<main", () => `<script type="application/json" id="saved">${json}</script><main`), "text/html");
}

/** @param {string} text @param {string} type */
function file(text, type) {
  return new Blob([text], { type: `${type};charset=utf-8` });
}

/** @param {string} name @param {Blob} blob */
function download(name, blob) {
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
}
