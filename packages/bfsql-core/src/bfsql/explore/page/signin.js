// @ts-check
/** Sign-in at the server's issuer: authorization code with PKCE, back to this page (RFC 7636). */

const STORED = "bfsql.signin";

/** What starts the sign-in by leaving this page; null if the server names no client for it. @param {string} challenge Its `WWW-Authenticate`.
 * @returns {Promise<(() => Promise<void>) | null>} */
export async function signIn(challenge) {
  if (!challenge.includes("resource_metadata=")) return null;
  const about = await (await fetch(".well-known/oauth-protected-resource")).json();
  const [issuer] = about.authorization_servers;
  const client_id = about.bfsql_page_client;
  if (!client_id) return null;
  return async () => {
    const found = await (await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`)).json();
    if (found.issuer !== issuer) throw new Error("The issuer's metadata is of another issuer.");
    const [verifier, state] = [random(), random()];
    const form = { client_id, redirect_uri: location.origin + location.pathname, resource: about.resource };
    sessionStorage.setItem(STORED, JSON.stringify({ form, verifier, state, issuer, at: found.token_endpoint, hash: location.hash }));
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
    const to = new URL(found.authorization_endpoint);
    const asked = { ...form, response_type: "code", state, scope: about.scopes_supported?.join(" "), code_challenge: base64(new Uint8Array(digest)), code_challenge_method: "S256" };
    for (const [name, value] of Object.entries(asked)) if (value) to.searchParams.set(name, value);
    location.assign(to);
  };
}

/** The token for the code with which the issuer sent the user back; empty without one. @returns {Promise<string>} */
export async function signedIn() {
  const sent = new URLSearchParams(location.search);
  const stored = JSON.parse(sessionStorage.getItem(STORED) ?? "null");
  if (!stored || !sent.has("state")) return "";
  sessionStorage.removeItem(STORED);
  history.replaceState(null, "", location.pathname);
  location.hash = stored.hash;
  const code = sent.get("code");
  if (!code || sent.get("state") !== stored.state || (sent.get("iss") ?? stored.issuer) !== stored.issuer) return "";
  const body = new URLSearchParams({ ...stored.form, grant_type: "authorization_code", code, code_verifier: stored.verifier });
  const response = await fetch(stored.at, { method: "POST", body });
  return response.ok ? (await response.json()).access_token : "";
}

/** A text that cannot be guessed. */
function random() {
  return base64(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param {Uint8Array} bytes */
function base64(bytes) {
  return btoa(String.fromCharCode(...bytes)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}
