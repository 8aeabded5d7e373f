"""Sign-in from nothing: the SDK's client, and the page, at npm's `oidc-provider`."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

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
pytestmark = pytest.mark.asyncio(loop_scope="session")

ISSUER = Path(__file__).with_name("issuer.mjs")
CALLBACK = "http://127.0.0.1:9/callback"
FIELD = re.compile(r'action="(?P<action>[^"]+)".*?name="prompt" value="(?P<prompt>\w+)"', re.DOTALL)


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
def server(
    node_programs: Any, films_db: Path, programs: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Serves the films twice, and trusts an issuer; its address."""
    folder, (port, own) = tmp_path_factory.mktemp("sign-in"), (free_port(), free_port())
    url = f"http://127.0.0.1:{own}"
    script = node_programs.modules / ISSUER.name
    shutil.copy(ISSUER, script)  # it imports packages of the folder in which it is
    (folder / "secret").write_text("s3cret")
    graphs = "".join(f'[graphs.{name}]\npath = "{films_db}"\n' for name in ("films", "opaque"))
    (folder / "bfsql.toml").write_text(graphs)
    told = {"public-url": url, "oauth-issuer": f"http://127.0.0.1:{port}", "oauth-scopes": "read"}
    told |= {"oauth-client-id": "bfsql", "oauth-client-secret-file": folder / "secret"}
    told |= {"oauth-page-client": "page", "port": own, "config": folder / "bfsql.toml"}
    options = ["--transport=http", "--rest", *(f"--{name}={value}" for name, value in told.items())]
    issuer = [node_programs.node, script, str(port), f"{url}/graphs/films/"]
    with ExitStack() as stack:
        for command in (issuer, [programs / "bfsql", "serve", "--oauth-allow-private", *options]):
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            process = stack.enter_context(subprocess.Popen(command, text=True, **streams))
            stack.callback(process.terminate)
            assert process.stdout
            said = next(
                (line for line in process.stdout if re.search("^ready|answers at", line)), ""
            )
            assert said, command
        yield url


def provider_for(url: str, storage: Storage) -> OAuthClientProvider:
    """The sign-in of a client that knows only a server's address, whose user is ann."""
    at = httpx2.URL()

    async def in_browser(asked: str) -> None:
        nonlocal at
        at, form = httpx2.URL(asked), {}
        async with httpx2.AsyncClient(trust_env=False) as web:
            while not str(at).startswith(CALLBACK):
                answer = await (web.post(at, data=form) if form else web.get(at))
                found, form = FIELD.search(answer.text), {}
                if found:
                    form = {"prompt": found["prompt"], "login": "ann", "password": "x"}
                at = at.join(found["action"] if found else answer.headers["location"])

    async def code() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**at.params)

    about = OAuthClientMetadata(redirect_uris=[CALLBACK], client_name="test")  # type: ignore[list-item]
    return OAuthClientProvider(url, about, storage, in_browser, code)


@pytest.mark.parametrize("graph", ["films", "opaque"])
async def test_the_sdks_client_signs_in_from_nothing_and_asks(server: str, graph: str) -> None:
    url, storage = f"{server}/mcp/{graph}", Storage()
    async with (
        httpx2.AsyncClient(auth=provider_for(url, storage), timeout=30, trust_env=False) as web,
        Client(streamable_http_client(url, http_client=web)) as client,
    ):
        assert len((await client.list_tools()).tools) == 6
        found: Any = await client.call_tool("search_entities", {"query": "Tom Hanks"})
    assert "Tom Hanks" in found.content[0].text
    tokens: Any = storage.tokens
    assert (tokens.access_token.count(".") == 2) is (graph == "films")
    headers = {"Authorization": f"Bearer {tokens.access_token}"}
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as web:
        for path in ("/mcp/films", "/mcp/opaque", "/graphs/films/schema", "/graphs", "/mcp"):
            opened = (await web.post(f"{server}{path}", json={})).status_code != 401
            assert opened is (path == f"/mcp/{graph}"), path


async def test_the_page_signs_in_and_shows_the_graph(server: str, visit: Visit) -> None:
    visit.expect_incident("401|fonts.googleapis")  # of the fonts of the issuer's forms
    page, address = visit.page, f"{server}/graphs/films/#view=search&q=Tom+Hanks"
    await page.goto(address)
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_placeholder("Enter any login").fill("ann")
    await page.get_by_placeholder("and password").fill("x")
    await page.get_by_role("button", name="Sign-in").click()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("link", name="Tom Hanks").first.wait_for()
    assert page.url == address
