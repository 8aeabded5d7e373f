"""The card in the chat, shown by a host of MCP Apps in a real browser, over HTTP."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin

import pytest
import pytest_asyncio
from mcp import Client
from playwright.async_api import Locator, expect

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.card import BUILT, Host, built_card, hosting
from bfsql_test_support.browser.chromium import Visit, visiting
from bfsql_test_support.servers.serve_process import Served, serving

pytestmark = pytest.mark.asyncio(loop_scope="session")

MOST_BYTES = 120_000
HANKS, FILMS, COSTARS = ["Tom Hanks"], ["Movie:*"], ["-ACTED_IN->", "<-ACTED_IN- Person"]
ENDS, ROWS = (
    {"seeds": HANKS, "path": COSTARS, "show": one, "limit": 9} for one in ("ends", "walks")
)
LATE = {"seeds": HANKS, "path": ["-ACTED_IN-> Movie"], "where": ["released>2020"]}
KINDS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("bfs_query", {"seeds": HANKS}, ("ACTED_IN →", "Apollo 13")),
    ("bfs_query", {"seeds": ["Tom Hanks", "Meg Ryan"]}, ("ACTED_IN", "Joe Versus")),
    ("bfs_query", {"seeds": HANKS, "to": ["Meg Ryan"]}, ("acted in",)),
    ("bfs_query", ENDS | {"sort_by": "-paths"}, ("walks", "Meg Ryan", "4", "Next page")),
    ("bfs_query", ROWS, ("Step 2", "Bill Pullman")),
    ("bfs_query", {"seeds": FILMS, "facets": ["released"], "limit": 0}, ("1995", "more values")),
    ("bfs_query", {"seeds": ["Movie[released>=1990]"], "limit": 5}, ("83 nodes", "Anastasia")),
    ("bfs_query", {"seeds": HANKS, "limit": 0}, ("Movie", "ACTED_IN", "30")),
    ("describe_entity", {"id": "Tom Hanks"}, ("born", "1956", "ACTED_IN →")),
    ("intersect_subgraphs", {"seeds": ["Tom Hanks", "Meg Ryan"], "k": 1}, ("Ithaca",)),
    ("bfs_query", LATE, ("Nothing was found", "Values found", "Without where")),
    ("bfs_query", {"seeds": ["Tom Hank"]}, ("was refused", "Tom Hanks, Person")),
]
"""For each kind of answer a call about the films, and what its card says."""


@pytest.fixture(scope="module")
def films_served(films_db: Path) -> Iterator[Served]:
    """The films over MCP, answered in lines, beside a page elsewhere."""
    explorer = ("--explorer", "https://graph.example.org/")
    with serving(str(films_db), "--answer-format", "lines", *explorer) as served:
        yield served
        assert not [line for line in served.log if "Traceback" in line]


@pytest_asyncio.fixture(loop_scope="session")
async def host(visit: Visit, films_served: Served, host_script: str) -> Host:
    return await hosting(visit, films_served.url, host_script)


async def test_the_committed_card_is_built_from_its_modules_and_small(node_programs: Any) -> None:
    card = built_card(node_programs)
    if os.environ.get("BFSQL_WRITE_CARD"):
        BUILT.write_text(card, "utf-8")
    assert BUILT.read_text("utf-8") == card, (
        "explore/card/graph.html is not current. Build it: "
        "BFSQL_WRITE_CARD=1 pytest tests/explore/test_card.py -k built"
    )
    assert len(card.encode()) <= MOST_BYTES
    assert "default-src 'none'" in card
    assert not any(part in card for part in (" src=", "href=", "fetch(", "eval(", "Worker("))


async def test_each_kind_of_answer_has_its_form_and_the_model_reads_the_same(host: Host) -> None:
    async with Client(urljoin(host.page.url, "/mcp")) as client:
        for tool, arguments, texts in KINDS:
            shown = await host.show(tool, arguments)
            for text in texts:
                await expect(host.card.get_by_text(text).first).to_be_visible()
            plain = await client.call_tool(tool, arguments)
            assert [part["text"] for part in shown["content"]] == [c.text for c in plain.content]


@pytest.mark.parametrize(
    "window", [(400, "light"), (400, "dark"), (800, "light"), (1200, "dark")], ids=str
)
async def test_nobody_is_kept_out_in_any_size_and_colour(
    browser: Any, films_served: Served, host_script: str, axe: Any, window: tuple[int, str]
) -> None:
    width, theme = window
    # The machine prefers the other theme: the host decides.
    system = {"light": "dark", "dark": "light"}[theme]
    size = {"width": width, "height": 900}
    async with visiting(browser, viewport=size, color_scheme=system) as visit:
        host = await hosting(visit, films_served.url, host_script)
        for tool, arguments, _ in KINDS:
            await host.show(tool, arguments, theme=theme)
            frame = visit.page.frames[-1]
            assert await axe(SimpleNamespace(page=frame)) == [], arguments
            overflow = "document.documentElement.scrollWidth - innerWidth"
            assert await frame.evaluate(overflow) <= 0, arguments
            colour = "getComputedStyle(document.body).backgroundColor"
            is_dark = await frame.evaluate(colour) == "rgb(27, 30, 34)"
            assert is_dark == (theme == "dark")


async def test_buttons_repair_continue_expand_tell_and_lead_to_the_page(host: Host) -> None:
    card = host.card

    def button(name: str) -> Locator:
        return card.get_by_role("button", name=name)

    await host.show("bfs_query", {"seeds": ["Tom Hank"], "path": ["-ACTED_IN-> Movie"]})
    await button("Tom Hanks, Person").click()
    await expect(card.get_by_role("heading", level=1)).to_have_text("Tom Hanks")

    await card.locator("summary", has_text="Apollo 13").click()
    await expect(card.get_by_text("no passage for this relation")).to_be_visible()
    await expect(card.locator("line.chosen")).to_have_count(1)
    nodes = card.locator("g.node")
    before = await nodes.count()
    await button("Expand").click()
    await expect(card.get_by_text("Kevin Bacon", exact=True).first).to_be_attached()
    await expect(nodes).not_to_have_count(before)
    await button("Tell the assistant").click()
    await card.locator("summary", has_text="Cast Away").first.click()
    await button("Tell the assistant").click()
    [of_all, of_one] = await host.received("messages", 2)
    assert "bfs_query(" in of_all
    assert '"Tom Hanks" (id "Person:TomHanks") -"ACTED_IN"-> "Cast Away"' in of_one
    await button("Open in explorer").click()
    [link] = await host.received("links", 1)
    assert link.startswith("https://graph.example.org/#view=walk&seeds=Person%3ATomHanks&path=")

    await host.show("bfs_query", {"seeds": FILMS, "limit": 5})
    await button("Next page").click()
    await expect(card.locator("code")).to_contain_text("offset=5")
    await host.page.wait_for_function("sizes.length > 1 && sizes.at(-1) > 200")


async def test_evidence_is_read_by_keyboard_and_its_line_painted(
    browser: Any, medlit_records: Any, host_script: str, tmp_path: Path
) -> None:
    await load_graph(SqliteSettings(path=tmp_path / "medlit.db"), medlit_records)
    with serving(str(tmp_path / "medlit.db"), "--answer-format", "lines") as served:
        async with visiting(browser) as visit:
            host = await hosting(visit, served.url, host_script)
            await host.show("bfs_query", {"seeds": ["Cushing syndrome"], "fields": ["name"]})
            line = host.card.locator("summary", has_text="hypertension")
            await line.focus()
            await visit.press("Enter")
            passage = host.card.locator("blockquote")
            await expect(passage).to_contain_text("he had developed diabetes")
            await expect(line).to_contain_text("1 ❝")
            await expect(host.card.locator("line.chosen")).to_have_count(1)
            names = host.card.locator("text.strong")
            await expect(names).to_have_text(["Cushing syndrome", "hypertension"])
            assert all(request.startswith(served.url) for request in visit.requests)


async def test_five_thousand_nodes_are_drawn_in_part_and_it_is_said(
    browser: Any, host_script: str, tmp_path: Path
) -> None:
    nodes = [NodeRecord(f"n:{n}", f"Type {n % 60}", {"name": "x" * 500}) for n in range(5_000)]
    edges = [EdgeRecord("n:0", "HAS", f"n:{n}") for n in range(1, 5_000)]
    await load_graph(SqliteSettings(path=tmp_path / "hub.db"), [*nodes, *edges])
    with serving(str(tmp_path / "hub.db"), "--max-tokens", "0") as served:
        async with visiting(browser) as visit:
            host = await hosting(visit, served.url, host_script)
            await host.show("bfs_query", {"seeds": ["n:0"], "limit": 5_000, "fields": ["name"]})
            await expect(host.card.locator("g.node")).to_have_count(300)
            undrawn = "4,700 nodes not drawn · 4,700 relations not drawn"
            await expect(host.card.get_by_text(undrawn)).to_be_visible()
            await expect(host.card.get_by_text("50 more types")).to_be_visible()
