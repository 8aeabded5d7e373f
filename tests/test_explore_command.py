"""`bfsql explore` as a process, and servers of every kind that record their calls."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from zipfile import ZipFile

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from bfsql.cli.command import bfsql
from bfsql.explore.page import FILES
from bfsql_test_support.servers.serve_process import exploring, serving

ASKED = {"query": "Tom Hanks"}


async def ask(client: Client) -> str:
    """Search over MCP; return the text of the answer."""
    async with client:
        [block] = (await client.call_tool("search_entities", ASKED)).content
        assert block.type == "text"
        return block.text


def search(url: str) -> None:
    """Search through the web API."""
    assert httpx2.post(f"{url}/tools/search_entities", json=ASKED).status_code == 200


def raw(port: int, path: str) -> bytes:
    """The response to a path that HTTP clients would normalize."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        connection.sendall(head.encode())
        return b"".join(iter(lambda: connection.recv(10_000), b""))


async def test_servers_of_every_kind_record_and_the_page_replays(
    films_db: Path, tmp_path: Path, programs: Path
) -> None:
    file, films = tmp_path / "calls.jsonl", str(films_db)
    recording = [films, "--record", str(file)]
    stdio = StdioServerParameters(
        command=str(programs / "bfsql"), args=["serve", *recording], env=dict(os.environ)
    )
    text = await ask(Client(stdio))
    with serving(*recording) as over_http:
        assert await ask(Client(streamable_http_client(f"{over_http.url}/mcp"))) == text
    with exploring(*recording, "--replay", str(file)) as page:
        search(page.url)
        recorded = httpx2.get(f"{page.url}/recorded")
        assert recorded.headers["cache-control"] == "no-store"
        assert "no file /assets/../page.py" in raw(page.port, "/assets/../page.py").decode()
        file.unlink()
        gone = httpx2.get(f"{page.url}/recorded")
        assert page.stop() == 0
    assert page.log == [
        f"BFS-QL answers at {page.url} (a page to explore the graph, and its web API; see /docs)"
    ]
    calls = recorded.json()["calls"]
    assert [call["answer"] for call in calls] == [text] * 3
    assert [call["arguments"] for call in calls] == [ASKED] * 3
    assert len({call["session"] for call in calls}) == 3
    assert all(call["client"] for call in calls)
    assert (gone.status_code, gone.json()["kind"]) == (502, "store")
    assert "calls.jsonl cannot be read: No such file" in gone.json()["detail"]


def test_people_get_whole_answers_unless_the_operator_bounds_them(films_db: Path) -> None:
    everything = {"seeds": ["Person:*"], "path": ["--> Movie"], "limit": 5000}
    shown = []
    for bound in ((), ("--max-tokens", "20000")):
        with exploring(str(films_db), *bound) as page:
            answer = httpx2.post(f"{page.url}/tools/bfs_query", json=everything).json()
        shown.append(len(answer["edges"]))
    assert shown[0] == answer["edge_count"] > shown[1] > 0


def test_the_web_api_has_the_page_too(films_db: Path) -> None:
    with serving(str(films_db), "--rest") as served:
        assert httpx2.get(f"{served.url}/").headers["content-type"] == "text/html; charset=utf-8"
        assert httpx2.get(f"{served.url}/schema").json()["entity_types"]
        assert httpx2.get(f"{served.url}/recorded").status_code == 404


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["serve", "--record", "none/calls.jsonl"], "cannot be recorded in none/calls.jsonl: No"),
        (["explore", "--record", "films.db"], "holds something other than recorded calls"),
        (["explore", "--transport", "stdio"], "No such option"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    films_db: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(films_db.parent)
    ended = CliRunner().invoke(bfsql, [arguments[0], "films.db", *arguments[1:]])
    assert ended.exit_code == 2
    assert says in ended.stderr


def test_what_cannot_be_replayed_is_refused(films_db: Path) -> None:
    command = ["explore", str(films_db), "--no-browser", "--port", "0", "--replay", "none"]
    ended = CliRunner().invoke(bfsql, command)
    assert ended.exit_code == 2
    assert "calls in none cannot be read: No such file" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the browser is a shell script")
@pytest.mark.parametrize("replayed", [False, True])
def test_the_page_is_opened_in_the_browser_with_the_replay_if_there_is_one(
    films_db: Path, tmp_path: Path, programs: Path, replayed: bool
) -> None:
    recorded = tmp_path / "calls.jsonl"
    recorded.touch()
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.new; mv {opened}.new {opened}\n')
    browser.chmod(0o700)
    replay = ["--replay", str(recorded)] if replayed else []
    command = [programs / "bfsql", "explore", str(films_db), "--port", "0", *replay]
    settings = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(command, env=settings, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        greeting = process.stderr.readline()
        end = time.monotonic() + 60
        while not opened.exists() and time.monotonic() < end:
            time.sleep(0.05)
        process.terminate()
    url, _, view = opened.read_text(encoding="utf-8").strip().partition("/#")
    assert view == ("view=replay" if replayed else "")
    assert f"answers at {url.rstrip('/')} " in greeting


def test_a_file_for_another_kind_of_server_may_be_used(films_db: Path, tmp_path: Path) -> None:
    settings = tmp_path / "bfsql.toml"
    settings.write_text(
        f"transport = 'stdio'\nstateless = true\nrecord = 'calls.jsonl'\n"
        f"[backend]\npath = {json.dumps(str(films_db))}\n",
        encoding="utf-8",
    )
    with exploring("--config", str(settings)) as page:
        search(page.url)
    assert (tmp_path / "calls.jsonl").stat().st_size


def test_the_wheel_has_the_files_of_the_page(wheels: Path) -> None:
    [core] = wheels.glob("bfsql_core-*.whl")
    with ZipFile(core) as packed:
        there = {name.removeprefix("bfsql/explore/page/") for name in packed.namelist()}
    files = {path.relative_to(FILES).as_posix() for path in FILES.rglob("*") if path.is_file()}
    assert files - there == set()
