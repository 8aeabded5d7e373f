"""MCP over HTTP: the address that the server listens on, and who may call."""

import json
import socket
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

pytestmark = pytest.mark.slow  # each test starts a server


def test_a_port_in_use_is_one_sentence(refused):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(transport="http", port=port)
    assert f"port {port} of 127.0.0.1: it is in use" in said
    assert "choose another port" in said


def test_other_machines_are_let_in_only_with_a_name(refused):
    assert "allowed_hosts" in refused(transport="http", host="0.0.0.0")


async def test_a_foreign_host_or_origin_is_turned_away(over_http):
    running = over_http(allowed_hosts=["graph.example.org"])
    async with httpx2.AsyncClient() as http:
        answers = [
            (await http.post(running.url, json={}, headers=headers)).status_code
            for headers in (
                {"Host": "evil.example"},
                {"Origin": "https://evil.example"},
                {"Host": "graph.example.org", "Accept": "application/json, text/event-stream"},
            )
        ]
    assert answers == [421, 403, 400]


async def test_its_address_says_what_it_is_and_how_a_client_is_connected(over_http):
    root, guarded = (
        over_http(**settings).url.removesuffix("/mcp")
        for settings in ({}, {"bearer_token": "open-sesame"})
    )
    async with httpx2.AsyncClient() as http:
        shown, other = await http.get(f"{root}/"), await http.get(f"{root}/other")
        assert (shown.status_code, other.status_code) == (200, 404)
        for part in ("knowledge graph over MCP", "endpoint is /mcp", "bfsql install CLIENT --url"):
            assert part in shown.text
        assert shown.headers.keys() == other.headers.keys()
        assert shown.headers["content-type"].startswith("text/plain")
        assert (await http.head(root)).text == ""
        assert (await http.post(f"{root}/")).status_code == 404
        assert (await http.get(f"{root}/", headers={"Host": "evil.example"})).status_code == 421
        assert (await http.get(f"{guarded}/")).status_code == 401
        token = {"Authorization": "Bearer open-sesame"}
        assert (await http.get(f"{guarded}/", headers=token)).text == shown.text


async def test_without_the_token_nobody_gets_in(over_http):
    running = over_http(bearer_token="open-sesame")
    async with httpx2.AsyncClient() as http:
        for headers in (
            {},
            {"Authorization": "Bearer open"},
            {"Authorization": "Basic open-sesame"},
            {"Authorization": "open-sesame"},
        ):
            answer = await http.post(running.url, json={}, headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            assert "sesame" not in answer.text


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_with_the_token_a_client_is_served(over_http, era):
    running = over_http(bearer_token="open-sesame")
    headers = {"Authorization": "Bearer open-sesame"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(running.url, http_client=http), mode=era) as client,
    ):
        assert not (await client.call_tool("describe_schema", {})).is_error


async def test_a_request_that_is_too_large_is_turned_away(over_http):
    running = over_http(max_request_bytes=1_000)
    async with httpx2.AsyncClient() as http:
        answer = await http.post(running.url, json={"padding": "x" * 2_000})
    assert answer.status_code == 413


async def test_a_lone_surrogate_in_a_request_is_refused_and_the_server_lives_on(over_http):
    running = over_http()
    answer = await posted(running.url, "describe_entity", b'{"id": "\\ud800"}')
    assert answer["result"]["isError"] is True
    async with Client(running.url) as client:
        assert not (await client.call_tool("describe_schema", {})).is_error


async def test_arguments_that_are_no_object_are_a_protocol_error(over_http):
    answer = await posted(over_http().url, "describe_schema", b'["film:1"]')
    assert answer["error"]["message"] == "Invalid request parameters"


async def posted(address: str, tool: str, arguments: bytes) -> Any:
    """Call a tool with arguments, as bytes, that no client would send."""
    envelope = {
        "protocolVersion": "2026-07-28",
        "clientInfo": {"name": "test", "version": "0"},
        "clientCapabilities": {},
    }
    meta = json.dumps({f"io.modelcontextprotocol/{k}": v for k, v in envelope.items()}).encode()
    params = b'{"name":"%s","arguments":%s,"_meta":%s}' % (tool.encode(), arguments, meta)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}' % params
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    async with httpx2.AsyncClient() as http:
        return (await http.post(address, content=body, headers=headers)).json()
