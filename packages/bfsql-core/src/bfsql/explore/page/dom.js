// @ts-check
/** Creates elements from text. Content from a graph is set as text and never parsed as markup. */

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "circle", "rect", "line", "g", "text"]);

/** Create an element. Properties that are functions become listeners (`onclick`), true becomes an empty attribute, and false, null and undefined are left out. Children
 * are elements, texts, or lists of these. @param {string} tag @param {Record<string, any> | null} [props] @param {...any} children @returns {any} */
export function h(tag, props = null, ...children) {
  /** @type {any} */
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.replace(/^on/, ""), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else if (name === "style" || name === "href" || name === "src" || name.startsWith("on"))
      throw new TypeError(`h() sets no ${name}; use element.style, or link()`);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  fill(element, ...children);
  return element;
}

/** An icon of lines, 16 by 16. @param {string} path */
export function icon(path) {
  return h("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    h("path", { d: path, fill: "none", stroke: "currentColor", "stroke-width": 1.6, "stroke-linecap": "round" }));
}

/** A text from the graph: isolated from the direction of the surrounding text, and clamped by the stylesheet; the full text is its title. @param {string} text @param
 * {string} [className] */
export function name(text, className = "name") {
  return h("bdi", { class: className, dir: "auto", title: text.length > 24 ? text : null }, text);
}

/** A link to a state of the page (`#...`) or, only for http and https, to another site. Any other address is shown as text. @param {string} address @param
 * {Record<string, any> | null} props @param {...any} children */
export function link(address, props, ...children) {
  const inside = address.startsWith("#");
  if (!inside && !isWebAddress(address)) return h("span", props, ...children);
  const element = h("a", inside ? props : { ...props, rel: "noopener noreferrer", target: "_blank" }, ...children);
  element.setAttribute("href", address);
  return element;
}

/** @param {string} text */
export function isWebAddress(text) {
  return /^https?:\/\/\S*$/i.test(text) && URL.canParse(text);
}

/** Replace the children of an element. @param {Element} element @param {...any} children */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
}

/** A number with separators: 12,345. @param {number} value */
export function count(value) {
  return value.toLocaleString("en");
}

/** "1 node", "2 nodes". @param {number} value @param {string} one @param {string} [many] */
export function plural(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Announce a text to screen readers. @param {string} text */
export function announce(text) {
  const region = document.getElementById("live");
  if (region) region.textContent = text;
}
