// @ts-check
/** Asks for the server's token, which is kept in memory and nowhere else. */

import { h } from "./dom.js";
import { signedIn, signIn } from "./signin.js";

/** @param {boolean} refused Whether a token was sent and not accepted. @param {string} challenge What the server says of it. @returns {Promise<string>} Empty if the user gave none. */
export async function askForToken(refused, challenge) {
  const token = await signedIn().catch(() => "");
  if (token) return token;
  const leave = await signIn(challenge).catch(() => null);
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  return new Promise((resolve) => {
    const field = h("input", { type: "password", id: "token", autocomplete: "off", required: true, spellcheck: "false" });
    const dialog = h(
      "dialog",
      { class: "token", "aria-labelledby": "token-title" },
      h("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); close(field.value.trim()); } },
        h("h2", { id: "token-title" }, refused ? "The token was not accepted" : "This server wants a token"),
        h("p", null, refused
          ? "It may have expired or be mistyped. Enter a valid token to go on."
          : "Enter the bearer token that its operator gave you. It is kept in the memory of this page and forgotten when the page is closed."),
        h("label", { class: "field" }, h("span", null, "Token"), field),
        h("div", { class: "row end" },
          leave && h("button", { type: "button", onclick: () => leave().catch((error) => (field.placeholder = String(error))) }, "Sign in"),
          h("button", { type: "button", onclick: () => close("") }, "Cancel"),
          h("button", { type: "submit", class: "primary" }, "Use this token"))),
    );
    /** @param {string} token */
    const close = (token) => {
      dialog.close();
      dialog.remove();
      before?.focus();
      resolve(token);
    };
    dialog.addEventListener("cancel", (/** @type {Event} */ event) => {
      event.preventDefault();
      close("");
    });
    document.body.append(dialog);
    dialog.showModal();
    field.focus();
  });
}
