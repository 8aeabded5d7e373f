"""Sign-in from nothing: the SDK's client, and the page, at npm's `oidc-provider`."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata

from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.browser.fixtures import browser, visit
from bfsql_test_support.servers.port import free_port

__all__ = ["browser", "visit"]

ISSUER = """
import Provider from "oidc-provider";
const [port, page] = process.argv.slice(2);
const client = (client_id, rest) => ({ client_id, application_type: "native", ...rest });
new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    client("page", { token_endpoint_auth_method: "none", redirect_uris: [page] }),
    client("bfsql", { client_secret: "s3cret", redirect_uris: [], response_types: [], grant_types: [] }),
  ],
  clientBasedCORS: () => true,
  scopes: ["openid", "offline_access", "read"],
  cookies: { keys: ["k"] },
  features: {
    registration: { enabled: true },
    introspection: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        scope: "read", audience: resource, accessTokenFormat: resource.endsWith("opaque") ? "opaque" : "jwt",
      }),
    },
  },
}).listen(port, "127.0.0.1", () => console.log("ready"));
"""
pytestmark = pytest.mark.asyncio(loop_scope="session")
CALLBACK = "http://127.0.0.1:9/callback"


class Storage:
    """Tokens and registration of a client, in memory."""

    tokens = client = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client: Any) -> None:
        self.client = client


@pytest.fixture(scope="module")
def places(
    node_programs: Any, films_db: Path, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A server for the graphs `films` and `more`, which trusts an issuer; its address."""
    folder = tmp_path_factory.mktemp("sign-in")
    ports = free_port(), free_port()
    issuer, server = (f"http://127.0.0.1:{port}" for port in ports)
    script = node_programs.modules / "issuer.mjs"
    script.write_text(ISSUER, encoding="utf-8")
    (folder / "secret").write_text("s3cret")
    graphs = "".join(f'[graphs.{name}]\npath = "{films_db}"\n' for name in ("films", "opaque"))
    (folder / "bfsql.toml").write_text(graphs)
    options = {"port": ports[1], "public-url": server, "oauth-issuer": issuer}
    options |= {"oauth-scopes": "read", "oauth-page-client": "page", "oauth-client-id": "bfsql"}
    options |= {"oauth-client-secret-file": folder / "secret", "config": folder / "bfsql.toml"}
    told = [f"--{name}={value}" for name, value in options.items()]
    serve = [programs / "bfsql", "serve", "--transport=http", "--rest", "--oauth-allow-private"]
    with ExitStack() as stack:
        for command in (
            [node_programs.node, script, str(ports[0]), f"{server}/graphs/films/"],
            [*serve, *told],
        ):
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            )
            stack.callback(process.terminate)
            assert process.stdout
            found = re.search(rb"ready|answers at", line := process.stdout.readline())
            while not found:
                assert line and process.poll() is None, line
                found = re.search(rb"ready|answers at", line := process.stdout.readline())
        yield server


async def signed_in(url: str) -> tuple[Storage, OAuthClientProvider]:
    """A client that knows only the server's address, whose user signs in as ann."""
    codes = []

    async def in_browser(at: str) -> None:
        async with httpx2.AsyncClient(trust_env=False) as web:
            form: dict[str, str] = {}
            while not at.startswith(CALLBACK):
                answer = await (web.post(at, data=form) if form else web.get(at))
                form, before = {}, at
                if answer.is_redirect:
                    at = str(answer.url.join(answer.headers["location"]))
                    continue
                prompt = re.search(r'name="prompt" value="(\w+)"', answer.text)
                action = re.search(r'action="([^"]+)"', answer.text)
                assert prompt and action, answer.text
                at = str(httpx2.URL(before).join(action[1]))
                form = {"prompt": prompt[1], "login": "ann", "password": "x"}
        codes.append({name: value for name, [value] in parse_qs(urlsplit(at).query).items()})

    async def code() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**codes.pop())

    storage = Storage()
    about = OAuthClientMetadata(redirect_uris=[CALLBACK], client_name="test")  # type: ignore[list-item]
    return storage, OAuthClientProvider(url, about, storage, in_browser, code)


@pytest.mark.parametrize("graph", ["films", "opaque"])
async def test_the_sdks_client_signs_in_from_nothing_and_asks(places: str, graph: str) -> None:
    url = f"{places}/mcp/{graph}"
    storage, provider = await signed_in(url)
    async with (
        httpx2.AsyncClient(auth=provider, timeout=30, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        listed = await client.list_tools()
        found = await client.call_tool("search_entities", {"query": "Tom Hanks"})
    assert len(listed.tools) == 6
    assert "Tom Hanks" in found.content[0].text
    assert storage.tokens.scope == "read"
    assert (storage.tokens.access_token.count(".") == 2) is (graph == "films")
    token = {"Authorization": f"Bearer {storage.tokens.access_token}"}
    async with httpx2.AsyncClient(headers=token, trust_env=False) as web:
        for path in ("/mcp/films", "/mcp/opaque", "/graphs/films/schema", "/graphs", "/mcp"):
            opened = (await web.post(f"{places}{path}", json={})).status_code != 401
            assert opened is (path == f"/mcp/{graph}"), path


async def test_the_page_signs_in_and_shows_the_graph(places: str, visit: Visit) -> None:
    visit.expect_incident("401|fonts.googleapis")  # of the fonts of the issuer's forms
    page = visit.page
    await page.goto(f"{places}/graphs/films/#view=search&q=Tom+Hanks")
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_placeholder("Enter any login").fill("ann")
    await page.get_by_placeholder("and password").fill("x")
    await page.get_by_role("button", name="Sign-in").click()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("link", name="Tom Hanks").first.wait_for()
    assert page.url.startswith(f"{places}/graphs/films/#view=search")
