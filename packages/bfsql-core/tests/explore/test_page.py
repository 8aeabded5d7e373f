"""The page and its files over HTTP: headers, access, and paths that do not exist."""

import gzip
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest

from bfsql.explore.page import FILES, POLICY, application
from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord
from bfsql.settings import ServeSettings

VENDOR = FILES / "vendor"
MOST_BYTES = 600_000

Start = Callable[..., Awaitable[httpx2.AsyncClient]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Makes clients of the page and the API over one film; settings are given by keyword."""
    async with AsyncExitStack() as stack:

        async def started(replay: Path | None = None, **settings: Any) -> httpx2.AsyncClient:
            film = NodeRecord("film:1", "Film", {"name": "Alien"})
            graph = await stack.enter_async_context(open_graph(MemoryBackend([film])))
            app = application(graph, ServeSettings(rest=True, **settings), replay=replay)
            client = httpx2.AsyncClient(
                transport=httpx2.ASGITransport(app),
                base_url="http://127.0.0.1",
                headers={"Accept-Encoding": "identity"},
            )
            return await stack.enter_async_context(client)

        yield started


@pytest.fixture
async def web(start: Start) -> httpx2.AsyncClient:
    return await start()


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/assets/index.html", "text/html; charset=utf-8"),
        ("/assets/main.js", "text/javascript; charset=utf-8"),
        ("/assets/style.css", "text/css; charset=utf-8"),
        ("/assets/icon.svg", "image/svg+xml"),
        ("/assets/vendor/sigma/sigma.min.js", "text/javascript; charset=utf-8"),
        ("/assets/vendor/sigma/LICENSE.txt", "text/plain; charset=utf-8"),
    ],
)
async def test_files_have_their_type_and_the_headers_that_protect_them(web, path, kind):
    answer = await web.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["x-request-id"]


def test_the_policy_allows_files_of_this_server_and_nothing_inline():
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in POLICY
    assert "unsafe" not in POLICY
    page = (FILES / "index.html").read_text(encoding="utf-8")
    assert not any(mark in page for mark in ("<script>", "<style", "style=", "onload=", "//"))


async def test_a_file_that_the_browser_has_is_not_sent_again(web):
    first = await web.get("/assets/style.css")
    assert first.headers["cache-control"] == "no-cache"
    copy = {"If-None-Match": first.headers["etag"]}
    again = await web.get("/assets/style.css", headers=copy)
    assert (again.status_code, again.content) == (304, b"")
    assert (await web.get("/", headers=copy)).status_code == 200


async def test_head_tells_the_size(web):
    whole, head = await web.get("/"), await web.head("/")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len(whole.content)


async def test_files_are_compressed_for_those_who_ask(web):
    plain = await web.get("/assets/vendor/sigma/sigma.min.js")
    packed = await web.get(
        "/assets/vendor/sigma/sigma.min.js", headers={"Accept-Encoding": "br, gzip"}
    )
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert packed.content == plain.content
    assert packed.headers["etag"] != plain.headers["etag"]
    assert packed.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    [
        *("/assets/nothing.js", "/assets/", "/assets/vendor", "/assets/vendor/SHA256SUMS"),
        *("/assets/%2e%2e/page.py", "/assets/..%2fpage.py"),
        *("/assets/vendor/%2e%2e/%2e%2e/page.py", "/assets//etc/passwd"),
        *("/assets/%00", "/assets/..\\page.py"),
    ],
)
async def test_what_is_no_file_of_the_page_gets_a_sentence(web, path):
    answer = await web.get(httpx2.URL("http://127.0.0.1").copy_with(raw_path=path.encode()))
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["detail"].startswith("The page has no file /assets/")


async def test_files_are_fetched_and_not_written(web):
    answer = await web.post("/", content=b"{}")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert "accepts GET and HEAD" in answer.json()["detail"]


async def test_the_page_needs_no_token_and_its_data_does(start, tmp_path):
    recorded = tmp_path / "calls.jsonl"
    recorded.touch()
    web = await start(recorded, bearer_token="open-sesame")
    assert (await web.get("/")).status_code == 200
    assert (await web.get("/assets/main.js")).status_code == 200
    for path in ("/schema", "/docs", "/recorded", "/assetsx", "/index.html"):
        assert (await web.get(path)).status_code == 401
    token = {"Authorization": "Bearer open-sesame"}
    assert (await web.get("/recorded", headers=token)).json() == {"calls": [], "broken_lines": 0}


async def test_the_page_is_served_by_the_names_of_the_server_alone(start):
    web = await start(allowed_hosts=("graph.example.org",))
    for path in ("/", "/assets/main.js", "/assets/nothing.js", "/schema"):
        assert (await web.get(path, headers={"Host": "evil.example"})).status_code == 421
        foreign = {"Host": "graph.example.org", "Origin": "https://evil.example"}
        assert (await web.get(path, headers=foreign)).status_code == 403
    assert (await web.get("/", headers={"Host": "graph.example.org"})).status_code == 200


async def test_the_api_behind_the_page_is_as_without_it(web):
    called = await web.post("/tools/describe_entities", json={"ids": ["film:1"]})
    assert called.json()["result"][0]["name"] == "Alien"
    missing = await web.get("/nothing")
    assert "There is nothing at /nothing" in missing.json()["detail"]
    described = (await web.get("/openapi.json")).json()["paths"]
    assert "/recorded" not in described
    assert (await web.get("/recorded")).status_code == 404


async def test_page_and_api_can_be_mounted_below_a_prefix(start):
    async with open_graph(MemoryBackend([NodeRecord("film:1", "Film")])) as graph:
        app = application(graph, ServeSettings(rest=True))
        there = httpx2.ASGITransport(app, root_path="/graph")
        async with httpx2.AsyncClient(transport=there, base_url="http://127.0.0.1") as web:
            assert (await web.get("/graph/")).headers["content-type"].startswith("text/html")
            assert (await web.get("/graph/assets/main.js")).status_code == 200
            assert (await web.get("/graph/entities/film:1")).json()["id"] == "film:1"


def test_files_of_other_projects_are_as_they_were_published():
    listed = dict(
        reversed(line.split("  "))
        for line in (VENDOR / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    )
    there = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.glob("*/*")
    }
    assert there == listed
    table = (VENDOR / "README.md").read_text(encoding="utf-8")
    for name in there:
        folder, _, file = name.partition("/")
        assert f"{folder}/LICENSE.txt" in there
        assert file == "LICENSE.txt" or f"`{name}`" in table
    versions = json.loads((VENDOR / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert versions == dict(re.findall(r"^\| \[(\S+)\]\(\S+\) \| (\S+) \|", table, re.MULTILINE))


def test_all_files_together_are_small():
    files = [path for path in FILES.rglob("*") if path.suffix in {".html", ".css", ".js", ".svg"}]
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MOST_BYTES
