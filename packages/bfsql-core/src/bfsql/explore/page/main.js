// @ts-check
/** Starts the page: the search field, the navigation, and the view that the address names. */

import { onTokenWanted } from "./api.js";
import { callPanel } from "./calls.js";
import { fill, h, link } from "./dom.js";
import { exportMenu } from "./export.js";
import { pickedBar } from "./picked.js";
import { get, href, subscribe } from "./state.js";
import { show } from "./shown.js";
import { askForToken } from "./token.js";
import { entity } from "./views/entity.js";
import { intersect } from "./views/intersect.js";
import { replay } from "./views/replay.js";
import { search, searchField } from "./views/search.js";
import { start } from "./views/start.js";
import { walk } from "./views/walk.js";

/** A view fills the container and returns a function that ends it, with the method `update` if the view follows a change of the state without being created again.
 * @typedef {(container: HTMLElement, state: import("./state.js").State) => (() => void) & {update?: (state: import("./state.js").State) => void}} View */

/** Views by their names in the address. @type {Record<string, View>} */
const VIEWS = { start, search, walk, entity, intersect, replay };

/** The items of the navigation: a name, and the state that it leads to. @type {[string, any][]} */
const PLACES = [
  ["Overview", { view: "start" }],
  ["In common", { view: "intersect" }],
  ["Replay", { view: "replay" }],
];

const container = /** @type {HTMLElement} */ (document.getElementById("main"));
let drawn = "";
/** @type {ReturnType<View>} */
let ended = () => {};

/** @param {import("./state.js").State} state */
function route(state) {
  const first = drawn === "";
  const view = Object.hasOwn(VIEWS, state.view) ? state.view : "start";
  if (view === drawn && ended.update) {
    ended.update(state);
    if (document.activeElement === document.body) focusView();
    return;
  }
  ended();
  fill(container);
  container.className = `view-${view}`;
  show({});
  navigation(view);
  drawn = view;
  ended = VIEWS[view](container, state);
  if (view !== state.view) container.prepend(h("p", { class: "message", role: "status" }, `There is no view “${state.view.slice(0, 60)}”. This is the overview.`));
  if (first) return;
  if (view !== "start") focusView(); // there, the search field has the focus
  scrollTo(0, 0);
}

/** Put the focus at the beginning of the view, where a screen reader continues reading. */
function focusView() {
  const heading = container.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  (heading ?? container).focus({ preventScroll: true });
}

/** @param {string} view */
function navigation(view) {
  fill(
    /** @type {HTMLElement} */ (document.getElementById("nav")),
    PLACES.map(([text, to]) => link(href(to), { "aria-current": to.view === view ? "page" : null }, text)),
  );
}

onTokenWanted(askForToken);
searchField(/** @type {HTMLElement} */ (document.getElementById("search")));
const behind = /** @type {HTMLElement} */ (document.getElementById("behind"));
behind.append(exportMenu(), callPanel());
pickedBar(document.body);
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault();
  container.focus();
});
subscribe(route);
route(get());
