"""What each transport knows about the caller."""

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp_types import Implementation
from starlette.types import ASGIApp, Receive, Scope, Send

import bfsql
from bfsql_test_support.hooks import Watcher

ME = Implementation(name="a client", version="1")


async def over_http(server, *, signed_in, client_info=ME, era="auto"):
    app = server.streamable_http_app(stateless_http=signed_in)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        token = AccessToken(token="t", client_id="c", scopes=[], subject="ada")
        await app({**scope, "user": AuthenticatedUser(token)}, receive, send)

    served: ASGIApp = guarded if signed_in else app
    transport = httpx2.ASGITransport(app=served)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http,
        Client(
            streamable_http_client("http://127.0.0.1:8000/mcp", http_client=http),
            client_info=client_info,
            mode=era,
        ) as client,
    ):
        await client.call_tool("describe_schema", {})


async def test_over_http_a_client_has_the_name_that_it_gives_itself(secretive):
    watcher = Watcher()
    await over_http(bfsql.create_server(secretive, hooks=[watcher]), signed_in=False)
    caller = watcher.seen[0]["caller"]
    assert (caller.client, caller.subject, caller.address) == ("a client", None, "127.0.0.1")


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_of_a_long_name_only_the_beginning_is_used(secretive, era):
    watcher, name = Watcher(), "x" * 100_000
    server = bfsql.create_server(secretive, hooks=[watcher])
    client_info = Implementation(name=name, version="1")
    await over_http(server, signed_in=False, client_info=client_info, era=era)
    assert watcher.seen[0]["caller"].client == name[:200]


async def test_a_verified_token_tells_whom_it_was_issued_to(secretive):
    watcher = Watcher()
    await over_http(bfsql.create_server(secretive, hooks=[watcher]), signed_in=True)
    assert watcher.seen[0]["caller"].subject == "ada"


async def test_in_memory_nobody_is_known(secretive):
    watcher = Watcher()
    async with Client(bfsql.create_server(secretive, hooks=[watcher]), client_info=ME) as client:
        await client.call_tool("describe_schema", {})
    assert watcher.seen[0]["caller"] is None
