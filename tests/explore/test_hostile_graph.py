"""A graph in which every text attacks the page, or is awkward for it: none of them runs."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio
from playwright.async_api import expect

from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.card import hosting
from bfsql_test_support.browser.chromium import Visit, visiting
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.serve_process import Served, exploring, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")

ROOT = "root"
OWN = (
    "__proto__", "constructor", "toString", "prototype", "nodes", "a/b/../c", "a#b", "a%2Fb",
    "100%", "a?b=c&view=start", "a+b c", 'a"b', "a'b", "a\\b", "a\u2028b\u2029c",
    "\u202egnp.exe\u202c", "\u2067right\u2069 to left", "שלום עולם", "👩‍👩‍👧‍👦 🏳️‍🌈 🇨🇭",
    "x" * 10_000, "y<b>" * 2_500, "{{constructor.constructor('alert(1)')()}}", "${alert(1)}",
    "javascript:alert(1)", "JaVaScRiPt:alert(1)//http://x.test/", "\tjavascript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "vbscript:alert(1)",
    'http://x.test/" onclick=alert(1) x="', "https://x.test/<script>alert(1)</script>",
    "//x.test/alert", "]]><script>alert(1)</script>", "<![CDATA[<svg onload=alert(1)>]]>",
    "</title></style></textarea></script><img src=//x.test/i onerror=alert(1)>",
    "<style>*{display:none}</style>", "<meta http-equiv=refresh content='0;url=http://x.test/'>",
    "<base href=http://x.test/>", "<form action=http://x.test/><input autofocus onfocus=alert(1)>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'>", '=HYPERLINK("http://x.test/")',
)  # fmt: skip
"""Texts that are special as addresses, JavaScript object keys, links, or text on this page."""

ACTIVE = "main :is(a, script, style, iframe, img, object, embed, form, base, meta)"
SHARE = 12 if THOROUGH else 60
"""Of so many naughty strings, one has its own view opened; all are in the views of the whole."""
WALKS = 1 if THOROUGH else 4
"""Of so many texts of `OWN`, one also has a walk from it opened."""


def records(texts: list[str]) -> Iterator[NodeRecord | EdgeRecord | EvidenceRecord]:
    """For each text a node that has it as id, type, name and metadata, with an edge from `ROOT`."""
    yield NodeRecord(ROOT, "Root", {"name": ROOT, **{text: text for text in texts}})
    for text in texts:
        about = {"name": text, "synonyms": [text], text: text, "values": [text, {text: text}]}
        yield NodeRecord(text, text, about)
        yield EdgeRecord(ROOT, text, text, about)
        item = {"document_id": text, "section": text, "text_span": text, text: text}
        yield EvidenceRecord(ROOT, text, text, item)


@pytest.fixture(scope="module")
def texts(node_programs: Any) -> list[str]:
    """The strings above, and the Big List of Naughty Strings, half of which is from XSS lists."""
    listed = node_programs.modules / "blns" / "resources" / "blns.json"
    naughty = json.loads(listed.read_text("utf-8"))
    found = list(dict.fromkeys([*OWN, *(text for text in naughty if text.strip())]))
    assert sum("alert" in text or "<" in text for text in found) > 200
    return found


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hostile_db(texts: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph of these texts in the embedded store."""
    path = tmp_path_factory.mktemp("hostile") / "graph.db"
    await load_graph(SqliteSettings(path=path), records(texts))
    return path


@pytest.fixture(scope="module")
def hostile(hostile_db: Path) -> Iterator[Served]:
    """`bfsql explore` over the graph of these texts, with a hostile description."""
    description = "<img src=x onerror=alert(1)> <script>alert(1)</script>"
    env = {**os.environ, "BFSQL_GRAPH_DESCRIPTION": description, "BFSQL_MAX_TOKENS": "0"}
    with exploring(str(hostile_db), env=env) as served:
        yield served
        assert not [line for line in served.log if "Traceback" in line]


async def harmless(visit: Visit, served: Served) -> None:
    """Check that the page did not navigate, loaded nothing foreign, and has only safe links."""
    place = urlsplit(visit.page.url)
    assert (f"{place.scheme}://{place.netloc}", place.path) == (served.url, "/")
    for request in visit.requests:
        path = urlsplit(request).path
        assert request.startswith(served.url), request
        assert path == "/" or path.startswith(
            ("/assets/", "/tools/", "/entities/batch", "/schema", "/outline", "/openapi.json")
        ), request
    found = await visit.page.evaluate(
        """[
            [...document.querySelectorAll("a[href]")].map(link => link.protocol),
            [...document.querySelectorAll("main :is(script, style, iframe, img, object, embed, "
                + "form, base, meta, link, template, math)")].map(element => element.outerHTML),
            [...document.querySelectorAll("*")].flatMap(element => element.getAttributeNames())
                .filter(name => name.startsWith("on")),
        ]"""
    )
    protocols, elements, handlers = found
    assert set(protocols) <= {"http:", "https:"}
    assert not elements
    assert not handlers
    assert visit.unexpected() == []


async def test_no_text_of_a_graph_runs_in_the_views_of_the_whole(
    visit: Visit, hostile: Served, texts: list[str]
) -> None:
    page = visit.page
    visit.expect_incident(r"status of 400 .*/tools/bfs_query")  # for the invalid paths
    for state in (
        {"view": "start"},
        {"view": "search", "q": "alert"},
        {"view": "walk", "seeds": ROOT, "limit": 1000, "details": "all"},
        {"view": "walk", "seeds": ROOT, "limit": 1000, "tab": "edges"},
        {"view": "entity", "id": ROOT},
        {"view": "intersect", "seeds": texts[:2], "k": 2},
        {"view": "<img src=x onerror=alert(1)>", "seeds": texts[:20], "path": texts[:20]},
        {"view": "walk", "seeds": ROOT, "path": "<img src=x onerror=alert(1)>"},
    ):
        await visit.open(hostile.url, **state)
        await harmless(visit, hostile)
    await visit.open(hostile.url, view="start")
    for text in ("<script>", "javascript:", "\"'><img"):
        await page.get_by_role("combobox", name="Search the graph").fill(text)
        await expect(page.get_by_role("option").first).to_be_visible()
        await harmless(visit, hostile)


async def test_no_text_of_a_graph_runs_in_a_file_of_a_view(
    browser: Any, visit: Visit, hostile: Served, tmp_path: Path
) -> None:
    page, file = visit.page, tmp_path / "saved.html"
    walk = {"view": "walk", "seeds": ROOT, "limit": 1000}
    for state, drawn in ((walk, 300), ({"view": "entity", "id": ROOT}, 0)):
        await visit.open(hostile.url, **state)
        await page.get_by_text("Save as").click()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="One HTML file").click()
        await (await download.value).save_as(file)
        async with visiting(browser) as opened:
            opened.expect_incident("request to another machine: file:///.*saved.html$")
            await opened.page.goto(file.as_uri())
            await expect(opened.page.get_by_role("heading", level=1)).to_have_text(ROOT)
            await expect(opened.page.locator("g.node")).to_have_count(drawn)
            await expect(opened.page.locator(ACTIVE)).to_have_count(0)
            assert opened.requests == [file.as_uri()]


async def test_no_text_of_a_graph_runs_in_the_views_of_its_entity(
    visit: Visit, hostile: Served, texts: list[str]
) -> None:
    for text in [*OWN, *texts[len(OWN) :: SHARE]]:
        await visit.open(hostile.url, view="entity", id=text)
        if text in OWN:
            await expect(visit.page.get_by_role("heading", level=1)).to_have_count(1)
            await harmless(visit, hostile)
        if text in OWN[::WALKS]:
            await visit.open(hostile.url, view="walk", seeds=text)
            await expect(visit.page.locator(".status")).to_contain_text("2 nodes, 1 edge")
        await harmless(visit, hostile)


async def test_no_text_of_a_graph_runs_in_the_card(
    browser: Any, hostile_db: Path, host_script: str, texts: list[str]
) -> None:
    with serving(str(hostile_db), "--max-tokens", "0", "--answer-format", "lines") as served:
        async with visiting(browser) as visit:
            host = await hosting(visit, served.url, host_script)
            for tool, arguments in (
                ("bfs_query", {"seeds": [ROOT], "limit": 1_000}),
                ("bfs_query", {"seeds": [ROOT], "to": texts[:5]}),
                ("bfs_query", {"seeds": [f"*[name={json.dumps(OWN[11])}]"], "facets": ["name"]}),
                ("bfs_query", {"seeds": ["*:*"], "facets": ["name"], "limit": 300}),
                ("bfs_query", {"seeds": [ROOT], "path": ["-->"], "show": "ends"}),
                ("bfs_query", {"seeds": [ROOT], "path": ["-->"], "show": "walks"}),
                ("bfs_query", {"seeds": ["<img src=x onerror=alert(1)>"], "where": texts[:9]}),
                *(("describe_entity", {"id": text}) for text in (ROOT, *OWN[::WALKS])),
            ):
                await host.show(tool, arguments)
                lines = host.card.locator(".relation summary")
                for nth in range(0, min(await lines.count(), 60), 20):
                    await lines.nth(nth).evaluate("line => line.parentElement.open || line.click()")
                    await expect(host.card.locator(".relation[open] blockquote")).to_be_visible()
                await expect(host.card.locator(ACTIVE)).to_have_count(0)
                handlers = (
                    "all => all.flatMap(e => e.getAttributeNames()).filter(n => /^on/.test(n))"
                )
                assert await host.card.locator("*").evaluate_all(handlers) == []
            await host.card.get_by_role("button", name="Tell the assistant").click()
            await host.received("messages", 1)
            assert all(request.startswith(served.url) for request in visit.requests)
