// @ts-check
/** The replay: a model's calls, one by one, and a picture of what it had seen by then. */

import { isAbort, latest, read } from "../api.js";
import { announce, count, fill, h, link, name, plural } from "../dom.js";
import { Graph } from "../graph.js";
import { createPicture } from "../picture.js";
import { contentOf, readDocument, readFile, sessionsOf } from "../recorded.js";
import { reviewOf, viewOf } from "../review.js";
import { show } from "../shown.js";
import { get, href, set } from "../state.js";
import { failure, mark, sizes } from "./parts.js";

/** @typedef {import("../recorded.js").Session} Session */
/** @typedef {import("../recorded.js").Recorded} Recorded */

const [PLAY_MS, FOLLOW_MS] = [1500, 3000];
const ANSWER_SHOWN = 2000;
const ARGUMENT_SHOWN = 60;

/** The file that the user opened, kept as long as the page is open. @type {{name: string, calls: Recorded[], broken: number} | null} */
let opened = null;

/** @param {HTMLElement} container @param {import("../state.js").State} state */
export function replay(container, state) {
  const one = latest();
  /** @type {Session[]} */
  let sessions = [];
  let timer = 0;
  let drawn = "";

  const source = h("div", { class: "bar" });
  const chosen = h("select", { id: "session", onchange: () => { stop(); set({ id: chosen.value, step: 1 }); } });
  const messages = h("div", { class: "messages" });
  const stage = h("div", { class: "picture" });
  const legend = h("div", { class: "legend" });
  const status = h("p", { class: "status" });
  const controls = h("div", { class: "player", role: "group", "aria-label": "Replay" });
  const bars = h("ol", { class: "session-bars" });
  const said = h("div", { class: "said" });
  const review = h("section", { class: "review", "aria-label": "Review", hidden: true }, said, bars);
  const detail = h("section", { class: "step-detail", "aria-label": "This call" });
  const split = h("div", { class: "split", hidden: true },
    h("div", { class: "left" }, stage, legend, status), h("div", { class: "replay-side" }, controls, detail));
  container.append(h("div", { class: "replay-head" }, h("h1", null, "Replay of a session"), source), messages, review, split);
  const following = window.setInterval(follow, FOLLOW_MS);
  const picture = createPicture(stage, { label: "What the model had seen" });
  container.addEventListener("keydown", keys);

  async function load() {
    if (opened) return loaded(opened, opened.name);
    fill(messages, h("p", { class: "empty", "aria-busy": "true" }, "Reading the recorded calls."));
    try {
      loaded(await one.run(recorded), "");
    } catch (error) {
      if (isAbort(error)) return;
      fill(messages, failure(error, load));
    }
  }

  /** Read the server's recording again while the page is seen, so that a session is followed as it happens; who is at its last call stays there. */
  async function follow() {
    if (opened || document.hidden || !sessions.length) return;
    const found = await one.run((signal) => recorded(signal)).catch(() => null);
    if (opened || !found || found.calls.length === sessions.reduce((sum, { calls }) => sum + calls.length, 0)) return;
    const { step, last } = current();
    loaded(found, "");
    if (step === last) go(current().last);
  }

  /** @param {{calls: Recorded[], broken: number, note?: string}} found @param {string} file */
  function loaded({ calls, broken, note = "" }, file) {
    sessions = sessionsOf(calls);
    fill(source, sessions.length > 0 && picker(), fileField());
    fill(messages,
      broken > 0 && h("p", { class: "message", role: "status" }, `${plural(broken, "line")} could not be read and ${broken === 1 ? "is" : "are"} left out, as when a file was cut off; all the others are shown.`),
      note && h("p", { class: "message", role: "status" }, note),
      !calls.length && nothing(file));
    drawn = "";
    update(get());
  }

  /** @param {import("../state.js").State} now */
  function update(now) {
    const session = sessions.find(({ key }) => key === now.id) ?? sessions[0];
    split.hidden = review.hidden = !session;
    if (!session) return show({ title: "Replay" });
    chosen.value = session.key;
    const step = Math.min(now.step || 1, session.calls.length);
    player(session, step);
    if (drawn !== session.key) judge(session);
    for (const [at, item] of [...bars.children].entries()) item.firstElementChild?.toggleAttribute("aria-current", at + 1 === step);
    const { offsetLeft, offsetWidth } = /** @type {HTMLElement} */ (bars.children[step - 1]);
    if (offsetLeft < bars.scrollLeft || offsetLeft + offsetWidth > bars.scrollLeft + bars.clientWidth) bars.scrollLeft = offsetLeft;
    draw(session, step);
    drawn = session.key;
  }

  /** @param {Session} session @param {number} step */
  function draw(session, step) {
    const graph = new Graph();
    for (const call of session.calls.slice(0, step)) graph.add(contentOf(call));
    const call = session.calls[step - 1];
    const content = contentOf(call);
    picture.show(graph);
    picture.highlight(content.nodes.length < graph.size ? content.nodes.map((node) => node.id) : null);
    fill(legend, graph.typeCounts().map(([type, n]) => h("span", { class: "legend-item" }, mark(type), name(type, "type-name"), h("span", { class: "number" }, count(n)))));
    const spent = session.calls.slice(0, step).reduce((sum, one) => sum + one.tokens, 0);
    fill(status, `Seen by now: ${sizes(graph.nodes.length, graph.edges.length)} · ${count(spent)} of ${plural(session.tokens, "token")} · ${plural(session.calls.length, "call")} in all`);
    fill(detail, callDetail(call, content, step === session.calls.length));
    show({ graph, picture, calls: call.answer === null ? [] : [asCall(call, content)], title: `Replay ${session.key} step ${step}` });
    announce(`Call ${step} of ${session.calls.length}: ${headline(call)}. ${outcome(call, content)}.`);
  }

  // --- where the calls come from ------------------------------------------------------

  function picker() {
    fill(chosen, sessions.map((session) => h("option", { value: session.key }, sessionTitle(session))));
    return h("label", { class: "field" }, h("span", null, `Session, of ${sessions.length}`), chosen);
  }

  function fileField() {
    return h("label", { class: "field" }, h("span", null, opened ? `File: ${opened.name}` : "A file of recorded calls, read in this page"), input);
  }

  const input = h("input", { type: "file", accept: ".jsonl,.ndjson,.json,.log,.txt", onchange: open });

  async function open() {
    const [file] = input.files ?? [];
    if (!file) return;
    try {
      opened = { name: file.name, ...readFile(await file.text()) };
    } catch {
      fill(messages, h("p", { class: "message error", role: "alert" }, `The browser cannot read ${file.name}. Choose it again.`));
      return;
    }
    stop();
    set({ id: "", step: 1 }, { replace: true });
    loaded(opened, opened.name);
  }

  // --- playing ------------------------------------------------------------------------

  /** @param {Session} session @param {number} step */
  function player(session, step) {
    const last = session.calls.length;
    const focused = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset?.move;
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {string} */ move, /** @type {boolean} */ off, /** @type {() => void} */ act) =>
      h("button", { type: "button", "aria-label": label, title: label, "data-move": move, "aria-disabled": off ? "true" : null, onclick: () => off || act() }, text);
    const range = h("input", { type: "range", min: 1, max: last, value: step, "aria-label": "Call", "aria-valuetext": `${step} of ${last}`, "data-move": "range", oninput: () => { stop(); go(Number(range.value)); } });
    fill(controls,
      button("|◀", "First call", "first", step === 1, () => { stop(); go(1); }),
      button("◀", "Call before", "back", step === 1, () => { stop(); go(step - 1); }),
      button(timer ? "❚❚" : "▶", timer ? "Pause" : "Play", "play", false, () => (timer ? stop(true) : play())),
      button("▶|", "Next call", "next", step === last, () => { stop(); go(step + 1); }),
      range, h("span", { class: "number" }, `${step} of ${last}`));
    if (focused) /** @type {HTMLElement | null} */ (controls.querySelector(`[data-move="${focused}"]`))?.focus();
  }

  /** @param {number} step */
  function go(step) {
    set({ step }, { replace: true });
  }

  function current() {
    const now = get();
    const session = sessions.find(({ key }) => key === now.id) ?? sessions[0];
    return { last: session?.calls.length ?? 0, step: Math.min(now.step || 1, session?.calls.length ?? 1) };
  }

  function play() {
    const { step, last } = current();
    if (!last) return;
    timer = window.setInterval(() => {
      const at = current();
      if (at.step >= at.last) return stop(true);
      go(at.step + 1);
    }, PLAY_MS);
    if (step === last) go(1);
    else update(get());
  }

  /** @param {boolean} [redraw] */
  function stop(redraw = false) {
    clearInterval(timer);
    timer = 0;
    if (redraw) update(get());
  }

  /** @param {KeyboardEvent} event */
  function keys(event) {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("input:not([type=file]), select, textarea, pre, .stage")) return;
    const { step, last } = current();
    const to = { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 1, End: last }[event.key];
    if (to === undefined || to < 1 || to > last) return;
    event.preventDefault();
    stop();
    go(to);
  }

  /** What is to be said of a session, and a bar for each of its calls. @param {Session} session */
  function judge({ calls }) {
    const { verdicts, headline: sentence, remarks } = reviewOf(calls);
    const most = Math.max(...calls.map(({ tokens }) => tokens));
    const to = (/** @type {number} */ at) => () => { stop(); go(at + 1); };
    fill(said, h("h2", null, sentence), h("ul", null, remarks.map((remark) =>
      h("li", null, remark.calls.length > 1 ? "Calls " : "Call ", remark.calls.map((at) => h("button", { type: "button", class: "small", onclick: to(at) }, count(at + 1))), h("bdi", null, ` ${remark.text}.`)))));
    fill(bars, calls.map((call, at) => {
      const bar = h("span", { class: "session-bar" });
      bar.style.setProperty("--share", String(call.tokens / most));
      const about = `${headline(call)}, ${outcome(call, contentOf(call))}`;
      return h("li", null, h("button", { type: "button", class: verdicts[at], title: about.slice(0, 300), onclick: to(at) },
        bar, h("span", { class: "unseen" }, `Call ${at + 1}: ${about}, `), h("strong", { "aria-hidden": "true" }, count(at + 1)), h("span", { class: "hint" }, verdicts[at] || count(call.tokens))));
    }));
  }

  load();
  return Object.assign(() => {
    one.stop();
    stop();
    clearInterval(following);
    container.removeEventListener("keydown", keys);
    picture.destroy();
  }, { update });
}

/** The recorded calls of the server, if it was started with a file of them. @param {AbortSignal} signal */
async function recorded(signal) {
  const { paths } = await read("openapi.json", signal);
  return readDocument(Object.hasOwn(paths ?? {}, "/recorded") ? await read("recorded", signal) : null);
}

/** @param {string} file */
function nothing(file) {
  return h("p", { class: "empty" }, file
    ? `${file} holds no tool calls. A file that bfsql serve --record writes has one call on each line.`
    : "This server has no recorded calls to show. Start it with --replay FILE, or open a file of recorded calls here; bfsql serve --record FILE writes one.");
}

/** @param {Session} session */
function sessionTitle({ key, client, begun, calls, tokens }) {
  const when = begun && !Number.isNaN(Date.parse(begun)) ? new Date(begun).toLocaleString() : "";
  return [`${key}.`, client.slice(0, 40) || "unknown client", when, plural(calls.length, "call"), plural(tokens, "token")].filter(Boolean).join("  ");
}

/** A call on one line: its tool and its main arguments. @param {Recorded} call */
function headline({ tool, arguments: args }) {
  const main = args.query ?? args.id ?? args.ids ?? args.seeds;
  const further = [args.path, args.to].filter((one) => one !== undefined);
  const text = [main, ...further].filter((one) => one !== undefined).map(written).join("  ");
  return text ? `${tool} ${text}` : tool;
}

/** @param {any} value */
function written(value) {
  const text = Array.isArray(value) ? value.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join(", ") : typeof value === "string" ? value : JSON.stringify(value);
  return text.length > ARGUMENT_SHOWN ? `${text.slice(0, ARGUMENT_SHOWN)}…` : text;
}

/** The result of a call, in a few words. @param {Recorded} call @param {ReturnType<typeof contentOf>} content */
function outcome(call, content) {
  if (call.error) return "refused";
  if (call.answer === null) return "its answer was not recorded";
  return content.count || "an answer as text";
}

/** @param {Recorded} call @param {ReturnType<typeof contentOf>} content @param {boolean} last */
function callDetail(call, content, last) {
  const to = viewOf(call);
  return [
    h("div", { class: "row" }, h("h2", null, call.tool), to && link(href(to), { class: "button small" }, "Open this call and change it")),
    call.error && h("p", { class: "message error", dir: "auto" }, call.error),
    h("dl", { class: "asked" }, Object.entries(call.arguments).map(([key, value]) =>
      h("div", null, h("dt", null, key), h("dd", { dir: "auto", class: "long" }, typeof value === "string" ? value : JSON.stringify(value))))),
    h("p", { class: "hint" }, [call.time, `${count(Math.round(call.ms))} ms`, plural(call.tokens, "token"), outcome(call, content)].filter(Boolean).join(" · ")),
    content.notes.length > 0 && h("ul", { class: "notes" }, content.notes.map((note) => h("li", { dir: "auto" }, note))),
    last && h("p", { class: "hint" }, "This is the last call of the session."),
    !content.readable && call.answer && !call.error && h("pre", { tabindex: "0", role: "region", "aria-label": "The beginning of the answer" }, h("code", null, call.answer.slice(0, ANSWER_SHOWN))),
  ];
}

/** A recorded call in the form of a call made by the page itself. @param {Recorded} call @param {ReturnType<typeof contentOf>} content */
function asCall(call, content) {
  const text = call.answer ?? "";
  return { tool: call.tool, arguments: call.arguments, answer: null, text, bytes: new TextEncoder().encode(text).length, tokens: call.tokens, ms: call.ms, notes: content.notes };
}
