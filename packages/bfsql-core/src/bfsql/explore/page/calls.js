// @ts-check
/** "As the model sees it": the tool calls behind a view, in forms that run elsewhere, and the text of their answers. */

import { hasToken } from "./api.js";
import { copyButton } from "./clipboard.js";
import { count, fill, h, plural } from "./dom.js";
import { asCommand, asCurl, asMcp, asPython } from "./forms.js";
import { subscribe } from "./shown.js";

/** @typedef {import("./api.js").Call} Call */

/** Characters of an answer that are shown until the user asks for all of it. */
const SHOWN = 20_000;

/** The usual budget of an answer to a model, in tokens (`max_tokens`). */
const MODEL_BUDGET = 20_000;

const FORMS = [
  { id: "mcp", label: "MCP", what: "the MCP message", write: asMcp },
  { id: "command", label: "Command", what: "the command", write: asCommand, file: true },
  { id: "python", label: "Python", what: "the Python program", write: asPython, file: true },
  { id: "curl", label: "curl", what: "the curl command", write: asCurl },
];

/** The user's choices, which are kept from one view to the next. */
const chosen = { form: "mcp", file: "graph.db" };

/** A panel of the calls behind the current view, closed at first; hidden if there are none. */
export function callPanel() {
  /** @type {Call[]} */
  let calls = [];
  let at = 0;
  const size = h("span", { class: "size" });
  const content = h("div", { class: "calls-content" });
  const element = h("details", { class: "calls", hidden: true, ontoggle: draw },
    h("summary", null, h("span", null, "As the model sees it"), size), content);

  function draw() {
    const call = calls[at];
    element.hidden = !call;
    if (!call) return;
    const all = calls.length > 1 ? `${calls.length} calls, ${plural(total(calls), "token")} in all; the last: ` : "";
    size.textContent = `${all}${call.tool}, ${plural(call.bytes, "byte")}, about ${plural(call.tokens, "token")}`;
    if (element.open) fill(content, calls.length > 1 && picker(), theCall(call), theAnswer(call));
  }

  function picker() {
    const select = h("select", { onchange: () => ((at = select.selectedIndex), draw()) },
      calls.map((call, nth) => h("option", { selected: nth === at }, `${nth + 1}. ${call.tool}, ${plural(call.tokens, "token")}`)));
    return h("label", { class: "field" }, "Call ", select);
  }

  subscribe((shown) => {
    calls = shown.calls;
    at = calls.length - 1;
    draw();
  });
  return element;
}

/** @param {Call[]} calls */
function total(calls) {
  return calls.reduce((sum, call) => sum + call.tokens, 0);
}

/** The call in the chosen form. @param {Call} call */
function theCall(call) {
  const place = h("div");
  const choices = FORMS.map(({ id, label }) =>
    h("label", { class: "choice" },
      h("input", { type: "radio", name: "form-of-call", value: id, checked: id === chosen.form, onchange: () => ((chosen.form = id), draw()) }),
      h("span", null, label)),
  );

  function draw() {
    const form = FORMS.find(({ id }) => id === chosen.form) ?? FORMS[0];
    const code = h("code");
    const copied = h("div", { class: "copied" });
    const written = () => form.write(call.tool, call.arguments, ...further(form.id));
    const redraw = () => {
      const { text, problem } = written();
      code.textContent = text;
      fill(copied, problem ? h("p", { class: "hint" }, problem) : [block(code, `The call as ${form.label}`), copyButton(form.what, () => written().text, () => code)]);
    };
    redraw();
    fill(place, form.file && fileField(redraw), copied, form.id === "curl" && hasToken() && h("p", { class: "hint" }, "Put your token into the shell variable TOKEN first; it is not shown here."));
  }
  draw();
  return h("section", { class: "call" },
    h("h2", null, "The call"),
    h("div", { class: "choices", role: "radiogroup", "aria-label": "Form of the call" }, choices),
    place);
}

/** @param {string} form @returns {[any, any]} */
function further(form) {
  if (form === "curl") return [new URL(".", location.href).href, hasToken()];
  return [chosen.file || "graph.db", undefined];
}

/** @param {() => void} changed */
function fileField(changed) {
  const input = h("input", { type: "text", value: chosen.file, spellcheck: "false", autocomplete: "off", oninput: () => ((chosen.file = input.value), changed()) });
  return h("label", { class: "field" }, "The graph's file ", input);
}

/** @param {Call} call */
function theAnswer(call) {
  const code = h("code", null, call.text.slice(0, SHOWN));
  const more = call.text.length > SHOWN && h("button", { type: "button", onclick: () => {
    code.textContent = call.text;
    more.remove();
  } }, `Show all ${count(call.text.length)} characters`);
  return h("section", { class: "answer" },
    h("h2", null, "The answer"),
    h("p", { class: "hint" }, `${plural(call.bytes, "byte")}, about ${plural(call.tokens, "token")}, after ${count(Math.round(call.ms))} ms. A server with --answer-format lines gives the same facts in fewer.`),
    call.tokens > MODEL_BUDGET && h("p", { class: "hint" }, `This is whole for people. A model gets ${count(MODEL_BUDGET)} tokens of it, unless its server sets another budget.`),
    h("div", { class: "copied" }, block(code, "The answer's text"), copyButton("the answer", () => call.text, () => code)),
    more);
}

/** Scrollable text that can be reached with the keyboard. @param {Element} code @param {string} label */
function block(code, label) {
  return h("pre", { tabindex: "0", role: "region", "aria-label": label }, code);
}
