"""Paths, intersections, records with evidence, replays and files, by mouse and by keyboard."""

import csv
import io
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

import bfsql
from bfsql.explore.page import FILES
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.servers.serve_process import Served, exploring

pytestmark = pytest.mark.asyncio(loop_scope="session")

NODES = {
    "hanks": ("Person", {"name": "Tom Hanks", "born": 1956, "website": "https://hanks.test/"}),
    "ryan": ("Person", {"name": "Meg Ryan", "born": 1961}),
    "ephron": ("Person", {"name": "Nora Ephron", "aliases": ["N. Ephron"]}),
    "mail": ("Movie", {"name": "You've Got Mail", "released": 1998}),
    "sleepless": ("Movie", {"name": "Sleepless in Seattle", "released": 1993}),
    "big": ("Movie", {"name": "Big", "released": 1988}),
    "interview": ("Document", {"name": "An interview"}),
}
EDGES = (
    *(("hanks", "ACTED_IN", film) for film in ("mail", "sleepless", "big")),
    *(("ryan", "ACTED_IN", film) for film in ("mail", "sleepless")),
    *(("ephron", "DIRECTED", film) for film in ("mail", "sleepless")),
)
EVIDENCE = (
    {"document_id": "interview", "text_span": "He was in Big.", "confidence": 0.9},
    {"document_id": "https://reviews.test/big", "section": "Cast", "text_span": "With Hanks."},
    {"document_id": "..", "section": "x"},  # would lead elsewhere
    {"document_id": "a/../b?c=d", "section": "{document_id}<$&>"},
)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_entities", {"query": "hanks"}),
    ("bfs_query", {"seeds": ["hanks"], "max_hops": 1, "fields": ["name"]}),
    ("intersect_subgraphs", {"seeds": ["hanks", "ryan"], "k": 1, "connect": True}),
    ("bfs_query", {"seeds": ["nobody at all"], "max_hops": 1}),
)
VIEWS: dict[str, dict[str, object]] = {
    "start": {"view": "start"},
    "search": {"view": "search", "q": "e"},
    "walk": {"view": "walk", "seeds": "hanks", "path": "-ACTED_IN->",
        "where": "Movie.released>1990"},
    "rows": {"view": "walk", "seeds": "Movie:*", "path": "-ACTED_IN|DIRECTED-", "show": "walks",
        "limit": 2},
    "groups": {"view": "walk", "seeds": "Movie:*", "hops": 0, "facets": ["released", "name"]},
    "hub": {"view": "walk", "seeds": "hanks", "limit": 2},
    "panel": {"view": "walk", "seeds": "hanks", "panel": ["hanks", "big"]},
    "entity": {"view": "entity", "id": "hanks"},
    "intersection": {"view": "intersect", "seeds": ["hanks", "ryan"]},
    "replay": {"view": "replay", "step": 3},
    "failure": {"view": "entity", "id": "nobody at all"},
}  # fmt: skip
OPEN_ALL = "for (const part of document.querySelectorAll('details')) part.open = true"
FAILED = r"console: Failed to load resource: .*status of 40[04]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("views")


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def graph_db(folder: Path) -> Path:
    """A few films, with evidence for one of the edges."""
    path = folder / "graph.db"
    nodes = [NodeRecord(key, type_, about) for key, (type_, about) in NODES.items()]
    edges = [EdgeRecord(*edge, {}) for edge in EDGES]
    evidence = [EvidenceRecord("hanks", "ACTED_IN", "big", item) for item in EVIDENCE]
    await load_graph(SqliteSettings(path=path), [*nodes, *edges, *evidence])
    return path


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def served(
    graph_db: Path, folder: Path, recorded_lines: Callable[..., Awaitable[list[str]]]
) -> AsyncIterator[Served]:
    """`bfsql explore` over this graph, with a truncated recorded file."""
    recorded = folder / "calls.jsonl"
    lines = await recorded_lines(graph_db, CALLS, session="a")
    recorded.write_text("\n".join([*lines, lines[0][:40]]), encoding="utf-8")
    source = ("--source-url", "https://sources.test/{document_id}?about={subject}#{section}")
    with exploring(str(graph_db), "--replay", str(recorded), *source) as running:
        yield running
        assert not [line for line in running.log if "Traceback" in line]


def status(page: Page) -> Locator:
    return page.locator(".status")


async def test_a_path_is_typed_with_suggestions_and_its_errors_are_shown_at_the_field(
    tab: Visit, served: Served
) -> None:
    tab.expect_incident(FAILED)
    page = await tab.open(served.url, view="walk", seeds="hanks")
    keyboard = page.keyboard
    await tab.tab_to(page.get_by_role("combobox", name="Step 1"))
    await keyboard.type("act")
    await expect(page.get_by_role("option", name="-ACTED_IN-> Movie")).to_contain_text("5 edges")
    await tab.press("ArrowDown", "Enter")
    await expect(page.get_by_role("combobox", name="Step 2")).to_be_focused()
    await keyboard.type("<-")
    await expect(page.get_by_role("option", name="<-DIRECTED- Person")).to_be_visible()
    await keyboard.type("DIRECTED- Person")
    await keyboard.press("Enter")
    await expect(status(page)).to_contain_text("4 nodes, 4 edges")
    await expect(page).to_have_url(re.compile("path=-ACTED_IN-%3E\\+Movie&path=%3C-DIRECTED"))
    await keyboard.type("-NO_SUCH->")
    await keyboard.press("Enter")
    await expect(page.locator(".problem:visible")).to_contain_text("NO_SUCH")
    await page.get_by_role("button", name="Remove → no such").click()
    await expect(page.locator(".problem:visible")).to_have_count(0)
    await page.get_by_role("combobox", name="Condition 1").fill("Movie.released<1995")
    await keyboard.press("Enter")
    await expect(status(page)).to_contain_text("3 nodes, 2 edges")


async def test_a_date_is_for_walks_records_and_what_is_common(tab: Visit, folder: Path) -> None:
    path, dates = folder / "dated.db", {"valid_from": ["since"], "valid_until": ["until"]}
    held = {"hanks": {"until": "2010"}, "ryan": {"since": "2005"}}
    nodes = [*(NodeRecord(one, "Person") for one in held), NodeRecord("big", "Movie")]
    edges = [EdgeRecord(one, "ACTED_IN", "big", when) for one, when in held.items()]
    await load_graph(SqliteSettings(path=path, **dates), [*nodes, *edges])
    with exploring(str(path)) as served:
        page = await tab.open(served.url, view="walk", seeds="*:*", at="2007")
        await expect(status(page)).to_contain_text("3 nodes, 2 edges")
        page = await tab.open(served.url, view="entity", id="big")
        acted = page.locator("summary", has_text="acted in")
        await expect(acted).to_contain_text("2")
        await page.get_by_label("Only what held at").fill("2012")
        await page.keyboard.press("Enter")
        await expect(page).to_have_url(re.compile("at=2012"))
        await expect(acted).to_contain_text("1")
        await page.get_by_role("link", name="Walk from here").click()
        await expect(status(page)).to_contain_text("2 nodes, 1 edge")
        page = await tab.open(served.url, view="intersect", seeds=["hanks", "ryan"], k=1, at="2007")
        await expect(status(page)).to_contain_text("1 node in common")
        await page.get_by_label("Only what held at").fill("2012")
        await page.keyboard.press("Enter")
        await expect(status(page)).to_contain_text("0 nodes in common")


async def test_nodes_that_are_picked_show_what_they_have_in_common(
    tab: Visit, served: Served
) -> None:
    page = await tab.open(served.url, view="walk", seeds="mail")
    await page.get_by_role("button", name="Pick Tom Hanks").click()
    await page.get_by_role("button", name="Pick Meg Ryan").click()
    await page.get_by_role("button", name="What they have in common").click()
    await expect(status(page)).to_contain_text("2 nodes in common within 1 hop")
    await expect(page.get_by_role("link", name="Sleepless in Seattle")).to_be_visible()
    await expect(page.get_by_role("button", name="Edges (4)")).to_be_visible()
    await page.get_by_label("Show how they are connected").uncheck()
    await expect(page.get_by_role("button", name="Edges (0)")).to_be_visible()
    await page.get_by_role("combobox", name="Entities").fill("ephron")
    await page.get_by_role("option", name="Nora Ephron").click()
    await expect(status(page)).to_contain_text("2 nodes in common within 1 hop")
    await expect(page).to_have_url(re.compile("seeds=hanks&seeds=ryan&seeds=ephron"))


async def test_an_entity_has_its_record_its_relations_and_the_passages_of_its_evidence(
    tab: Visit, served: Served
) -> None:
    page = await tab.open(served.url, view="entity", id="hanks")
    record = page.get_by_role("region", name="Record")
    await expect(record).to_contain_text("1956")
    website = record.get_by_role("link", name="https://hanks.test/")
    await expect(website).to_have_attribute("rel", "noopener noreferrer")
    evidence = page.get_by_role("region", name="Evidence")
    await expect(evidence.get_by_text("He was in Big.")).to_be_visible()
    await expect(evidence).to_contain_text("confidence 0.9")
    await expect(evidence.get_by_role("link", name="https://reviews.test/big")).to_be_visible()
    sources = evidence.get_by_role("link", name="Open source")
    hrefs = await sources.evaluate_all("all => all.map(link => link.getAttribute('href'))")
    assert sorted(hrefs) == [
        "https://sources.test/a%2F..%2Fb%3Fc%3Dd?about=hanks#%7Bdocument_id%7D%3C%24%26%3E",
        "https://sources.test/https%3A%2F%2Freviews.test%2Fbig?about=hanks#Cast",
    ]
    relations = page.get_by_role("region", name="Relations")
    await relations.get_by_text("acted in").click()
    await relations.get_by_role("link", name="Big").click()
    await expect(page.get_by_role("heading", name="Big", exact=True)).to_be_visible()
    await page.go_back()
    await evidence.get_by_role("link", name="An interview").click()
    await expect(page.get_by_role("heading", name="An interview")).to_be_visible()


async def test_a_recorded_session_is_replayed_step_by_step(tab: Visit, served: Served) -> None:
    page = await tab.open(served.url, view="start")
    await page.get_by_role("link", name="Replay").click()
    await expect(page.get_by_text("1 line could not be read")).to_be_visible()
    detail = page.get_by_role("region", name="This call")
    await expect(detail).to_contain_text("search_entities")
    await expect(status(page)).to_contain_text("Seen by now: 1 node, 0 edges")
    await page.get_by_role("button", name="Next call").click()
    await expect(detail).to_contain_text('["hanks"]')
    await expect(status(page)).to_contain_text("Seen by now: 4 nodes, 3 edges")
    await page.get_by_role("button", name="Call 3: intersect_subgraphs").click()
    await expect(status(page)).to_contain_text("Seen by now: 5 nodes, 5 edges · 30 of 40 tokens")
    await page.get_by_label("Call", exact=True).press("End")
    await expect(detail.locator(".error")).to_contain_text("nobody at all")
    await expect(detail).to_contain_text("This is the last call")
    await expect(page).to_have_url(re.compile("step=4"))
    await page.get_by_role("button", name="First call").click()
    await page.get_by_role("button", name="Play", exact=True).click()
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()
    await expect(detail).to_contain_text("This is the last call")
    await expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


async def test_a_view_is_saved_as_picture_table_graph_and_answer(
    tab: Visit, served: Served, graph_db: Path
) -> None:
    page = await tab.open(served.url, view="walk", seeds="hanks")
    png = await saved(page, "Picture (PNG)")
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    svg = ET.fromstring(await saved(page, "Picture (SVG)"))
    texts = {"".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Tom Hanks", "Big", "ACTED_IN", "Movie (3)"} <= texts
    graph = nx.parse_graphml((await saved(page, "Graph (GraphML)")).decode())
    assert sorted(graph) == ["big", "hanks", "mail", "sleepless"]
    nodes, edges = [
        list(csv.DictReader(io.StringIO((await saved(page, kind)).decode("utf-8-sig"))))
        for kind in ("Nodes (CSV)", "Edges (CSV)")
    ]
    assert {row["name"] for row in nodes} == {graph.nodes[id_]["name"] for id_ in graph}
    assert ("hanks", "ACTED_IN", "big") in {tuple(row.values())[:3] for row in edges}
    async with bfsql.open_graph("sqlite", path=graph_db) as opened:
        arguments = {"seeds": ["hanks"], "max_hops": 1, "fields": ["name"], "limit": 300}
        answer = await opened.call("bfs_query", arguments)
    assert (await saved(page, "Answer (JSON)")).decode() == answer.text


MOVES = """async () => {
    const { shown } = await import("/assets/shown.js");
    const { set } = await import("/assets/state.js");
    const [before, seen] = [shown().graph, []];
    let now = 0;
    Date.now = () => (now += 20); // each frame is one of twelve, however slow the machine
    const at = () => shown().picture.positions().map(({ x }) => Math.round(x));
    set({ path: ["-ACTED_IN->", "<-ACTED_IN-"] });
    while (shown().graph === before) await new Promise(requestAnimationFrame);
    let settled = false;
    shown().picture.settled.then(() => (settled = true));
    while (!settled) seen.push(String(at())) && await new Promise(requestAnimationFrame);
    return [new Set(seen).size, at(), shown().picture.positions().map(({ id }) => id)];
}"""


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
async def test_a_path_is_in_columns_to_which_nodes_move(
    visit: Visit, served: Served, motion: Literal["no-preference", "reduce"]
) -> None:
    await visit.page.emulate_media(reduced_motion=motion)
    page = await visit.open(served.url, view="walk", seeds="hanks", path="-ACTED_IN->")
    await page.evaluate("import('/assets/shown.js').then(m => m.shown().picture.settled)")
    places, xs, ids = await page.evaluate(MOVES)
    assert (places > 1) == (motion == "no-preference")
    at = [*zip(xs, ids, strict=True)]
    columns = {x: {node for own, node in at if own == x} for x in sorted(xs)}
    assert [*columns.values()] == [{"hanks"}, {"mail", "sleepless"}, {"ryan"}]


async def saved(page: Page, kind: str) -> bytes:
    """The file that an item of the menu "Save as" saves."""
    await page.get_by_text("Save as").click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name=kind).click()
    return (await (await download.value).path()).read_bytes()


async def test_the_keyboard_alone_intersects_replays_saves_and_shows_the_call(
    tab: Visit, served: Served
) -> None:
    page = await tab.open(served.url, view="start")
    keyboard = page.keyboard
    await tab.tab_to(page.get_by_role("link", name="In common"), "Enter")
    await tab.tab_to(page.get_by_role("combobox", name="Entities"))
    for words, name in (("hanks", "Tom Hanks"), ("ryan", "Meg Ryan")):
        await keyboard.type(words)
        await expect(page.get_by_role("option", name=name)).to_be_visible()
        await tab.press("ArrowDown", "Enter")
        await expect(page.get_by_role("button", name=f"Remove {name}")).to_be_visible()
    await expect(status(page)).to_contain_text("2 nodes in common within 1 hop")
    await tab.tab_to(page.get_by_text("Save as"), "Enter")
    await tab.tab_to(page.get_by_role("button", name="Edges (CSV)"))
    async with page.expect_download() as download:
        await keyboard.press("Enter")
    assert (await download.value).suggested_filename.endswith("-edges.csv")
    await tab.tab_to(page.locator("summary").filter(has_text="As the model sees it"), "Enter")
    await tab.tab_to(page.get_by_role("radio", name="MCP"), "ArrowRight")
    command = page.get_by_role("region", name="The call as Command")
    await expect(command).to_contain_text("bfsql intersect")
    await tab.tab_to(page.get_by_role("link", name="Replay"), "Enter")
    await tab.tab_to(page.get_by_role("button", name="Next call"), "Enter")
    await expect(page.get_by_role("button", name="Next call")).to_be_focused()
    await keyboard.press("ArrowRight")
    await expect(status(page)).to_contain_text("Seen by now: 5 nodes")


async def test_the_keyboard_alone_reads_hits_records_and_the_choice_at_a_hub(
    tab: Visit, served: Served
) -> None:
    page = await tab.open(served.url, view="start")
    keyboard = page.keyboard
    await keyboard.type("hanks")
    await keyboard.press("Enter")
    await tab.tab_to(page.get_by_role("link", name="Record"), "Enter")
    await tab.tab_to(page.locator("summary").filter(has_text="acted in"), "Enter")
    await tab.tab_to(page.get_by_role("link", name="Sleepless in Seattle"), "Enter")
    await expect(page.get_by_role("heading", name="Sleepless in Seattle")).to_be_visible()
    await tab.tab_to(page.get_by_role("link", name="Walk from here"), "Enter")
    await tab.tab_to(page.get_by_role("img", name="The neighbourhood: 4 nodes, 3 edges"), "+")
    await tab.open(served.url, **VIEWS["hub"])
    await expect(page.get_by_role("region", name="What to open")).to_be_focused()
    await tab.tab_to(page.get_by_role("button", name="acted in 3"), "Enter")
    await expect(status(page)).to_contain_text("1 call")


async def test_every_view_is_accessible_and_no_window_is_too_narrow_for_it(
    visit: Visit, served: Served, axe: Callable[..., Awaitable[list[str]]]
) -> None:
    source = (FILES / "main.js").read_text("utf-8")
    listed = re.findall(r"\w+", source.partition("const VIEWS = {")[2].partition("}")[0])
    assert {state["view"] for state in VIEWS.values()} == set(listed)
    visit.expect_incident(FAILED)
    for name, state in VIEWS.items():
        await visit.page.set_viewport_size({"width": 320, "height": 600})
        page = await visit.open(served.url, **state)
        assert await page.evaluate("scrollY") == 0, f"{name} has to begin at its top"
        await page.evaluate(OPEN_ALL)
        await visit.settled()
        levels = await page.locator("h1, h2, h3, h4").evaluate_all(
            "all => all.filter(one => one.checkVisibility()).map(one => Number(one.tagName[1]))"
        )
        assert all(b <= a + 1 for a, b in zip([0, *levels], levels, strict=False)), name
        for width in (320, 390, 700, 2560, 1280):
            await page.set_viewport_size({"width": width, "height": 800})
            found = await page.evaluate("document.documentElement.scrollWidth")
            assert found <= width, f"{name} at {width}"
        await page.emulate_media(color_scheme="light")
        assert not await axe(visit), name
        await page.emulate_media(color_scheme="dark")
        assert not await axe(visit, "color-contrast"), f"{name} in dark"
