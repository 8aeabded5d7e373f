"""In windows of usual sizes, a view shows the values for which it was opened."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, expect

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.chromium import Visit, turn, visiting
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.serve_process import Served, exploring

pytestmark = pytest.mark.asyncio(loop_scope="session")

HANKS = "Person:TomHanks"
SIZES = {
    "small phone": (320, 568),
    "tablet": (768, 1024),
    "laptop": (1440, 900),
    "wide": (2560, 1440),
}
"""Windows of thorough runs, in CSS pixels."""
WINDOWS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}
if THOROUGH:
    for name, (width, height) in SIZES.items():
        WINDOWS[name] = {"viewport": {"width": width, "height": height}}
ON_A_DESKTOP = pytest.mark.parametrize("page_of_window", ["desktop"], indirect=True)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_entities", {"query": "Tom Hanks"}),
    ("bfs_query", {"seeds": [HANKS], "path": ["-ACTED_IN-> Movie"], "fields": ["name"]}),
    ("describe_entity", {"id": "Movie:SleeplessInSeattle1993"}),
    ("bfs_query", {"seeds": [HANKS], "path": ["-PLAYED_IN-> Movie"], "fields": ["name"]}),
    ("bfs_query", {"seeds": [HANKS], "max_hops": 1}),
)
REFUSED = 4
"""The number of the call that is refused."""

ACTED = "-ACTED_IN-> Movie"
TYPES, PREDICATES = 60, 200
COVERED = """
elements => elements.filter(element => {
    const text = document.createRange();
    text.selectNodeContents(element);
    element.scrollIntoView({ block: "center", inline: "nearest" });
    const { left, right, top, bottom } = text.getBoundingClientRect();
    const places = [left + 1, (left + right) / 2, right - 1];
    const y = (top + bottom) / 2;
    let moved = false;
    for (let part = element; part; part = part.parentElement) moved ||= part.scrollLeft > 0;
    return moved || !places.every(x => element.contains(document.elementFromPoint(x, y)));
}).map(element => element.textContent)
"""
"""The texts that something covers, or that are seen only after sideways scrolling."""


@pytest_asyncio.fixture(params=WINDOWS, scope="module", loop_scope="session")
async def page_of_window(browser: Browser, request: pytest.FixtureRequest) -> AsyncIterator[Visit]:
    """A page in each of the windows."""
    async with visiting(browser, reduced_motion="reduce", **WINDOWS[request.param]) as visit:
        yield visit


@pytest_asyncio.fixture(loop_scope="session")
async def window(page_of_window: Visit) -> AsyncIterator[Visit]:
    """A page in each of the windows, for one test."""
    async with turn(page_of_window) as visit:
        yield visit


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def films(
    films_db: Path,
    tmp_path_factory: pytest.TempPathFactory,
    recorded_lines: Callable[..., Awaitable[list[str]]],
) -> AsyncIterator[Served]:
    """`bfsql explore` over the films, with a session in which a call is refused."""
    path = tmp_path_factory.mktemp("recorded") / "calls.jsonl"
    path.write_text("\n".join(await recorded_lines(films_db, CALLS, session="a")), "utf-8")
    with exploring(str(films_db), "--replay", str(path)) as served:
        yield served


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def wide(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    """`bfsql explore` over a graph of many types, and of many predicates with long names."""

    def records() -> Iterator[NodeRecord | EdgeRecord]:
        for n in range(TYPES):
            yield NodeRecord(f"n{n}", f"EntityTypeNumber{n:02}", {"name": f"Node {n}"})
        for n in range(PREDICATES):
            predicate = f"PREDICATE_{n:03}_{'WITH_A_LONG_NAME_' * 4}"[:64]
            yield EdgeRecord("n0", predicate, f"n{1 + n % (TYPES - 1)}", {})

    path = tmp_path_factory.mktemp("wide") / "graph.db"
    await load_graph(SqliteSettings(path=path), records())
    with exploring(str(path)) as served:
        yield served


async def covered(elements: Locator) -> list[str]:
    """The texts of those elements that are cut or covered, or need sideways scrolling."""
    await elements.first.wait_for()
    found: list[str] = await elements.evaluate_all(COVERED)
    return found


SORTED: tuple[tuple[str, dict[str, object]], ...] = (
    ("count 1", {"path": [ACTED, "<-ACTED_IN- Person"], "measure": "count 1", "sort": "-measure"}),
    ("Edges", {"sort": "-degree"}),
    ("Type", {"sort": "type"}),
    ("Paths", {"path": ACTED, "sort_by": "paths"}),
    ("released", {"path": ACTED, "sort_by": "-released"}),
    ("released", {"path": ACTED, "sort_by": "released desc", "details": "all"}),
)
"""Titles of columns, and the walks that are sorted by them; on a phone, a table is wide or not."""


async def test_the_column_by_which_a_table_is_sorted_is_the_second_and_nothing_covers_it(
    window: Visit, films: Served
) -> None:
    desktop = await window.page.evaluate("innerWidth > 390")
    for title, state in SORTED if THOROUGH or desktop else SORTED[:2]:
        page = await window.open(films.url, view="walk", seeds=HANKS, **state)
        await expect(page.get_by_role("columnheader").nth(1)).to_contain_text(title)
        assert await covered(page.locator("thead th:nth-child(2) button")) == [], state
        assert await covered(page.locator("tbody td:nth-child(2):not(:empty)")) == [], state
        await window.leave()


async def test_types_and_numbers_are_visible_also_while_a_row_is_used(
    window: Visit, films: Served
) -> None:
    page = await window.open(films.url, view="walk", seeds=HANKS)
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="Toy Story 2"))
    buttons = row.locator(".act")
    if await page.evaluate("matchMedia('(hover: hover)').matches"):
        await expect(buttons).to_have_css("opacity", "0")
        await row.hover()
    await expect(buttons).to_have_css("opacity", "1")
    assert await covered(row.locator("td:not(:first-child)")) == []
    assert await covered(page.get_by_role("table").locator("td:not(:first-child)")) == []
    await row.get_by_role("button", name="Expand Toy Story 2").click()
    await expect(page.locator(".status")).to_contain_text("2 calls")


@ON_A_DESKTOP
async def test_the_buttons_of_a_row_appear_for_the_keyboard(window: Visit, films: Served) -> None:
    page = await window.open(films.url, view="walk", seeds=HANKS)
    pick = page.get_by_role("button", name="Pick Apollo 13")
    buttons = page.locator(".act").filter(has=pick)
    await expect(buttons).to_have_css("opacity", "0")
    await window.tab_to(pick)
    await expect(buttons).to_have_css("opacity", "1")
    await page.keyboard.press("Enter")
    await window.tab_to(page.get_by_role("link", name="Bridge of Spies"))
    await expect(buttons).to_have_css("opacity", "1")


async def test_whole_records_show_their_values(window: Visit, films: Served) -> None:
    page = await window.open(films.url, view="walk", seeds=HANKS, path=ACTED, details="all")
    records = page.locator(".record")
    await expect(records.filter(has_text="released: 1998").first).to_be_visible()
    assert await covered(records) == []


async def test_ends_without_their_edges_are_a_table_alone(window: Visit, films: Served) -> None:
    directed = {"path": [ACTED, "<-DIRECTED- Person"], "show": "ends", "measure": "count 1"}
    page = await window.open(films.url, view="walk", seeds=HANKS, **directed)
    await expect(page.get_by_role("columnheader", name="count 1")).to_be_visible()
    await expect(page.get_by_role("columnheader", name="Edges")).to_have_count(0)
    await expect(page.locator(".stage")).to_be_hidden()
    # Four columns do not fit in a window of 320 pixels, where names and types end in an ellipsis.
    narrow = await page.evaluate("innerWidth < 360")
    values = "th.number button, td.number" if narrow else "thead button, td:not(:first-child)"
    assert await covered(page.locator(values)) == []
    await page.get_by_role("button", name="Expand Ron Howard").click()
    await expect(page.get_by_role("columnheader", name="Edges")).to_be_visible()
    await expect(page.get_by_role("img", name="The neighbourhood")).to_be_visible()


async def test_the_answer_of_a_refused_call_is_above_the_bar(window: Visit, films: Served) -> None:
    page = await window.open(films.url, view="replay", step=REFUSED)
    refusal = page.get_by_text("names a predicate that this graph does not have")
    if await page.evaluate("innerHeight > 600"):  # in a lower window, one has to scroll
        await expect(refusal).to_be_in_viewport(ratio=1)
    assert await covered(refusal) == []


@ON_A_DESKTOP
async def test_an_unknown_view_is_named_and_the_overview_is_shown(
    window: Visit, films: Served
) -> None:
    page = await window.open(films.url, view="graph")
    await expect(page.get_by_text("There is no view “graph”")).to_be_visible()
    await expect(page.get_by_role("region", name="Types")).to_be_visible()
    await page.get_by_role("link", name="Overview").click()
    await expect(page.get_by_text("There is no view")).to_have_count(0)


async def test_all_counts_of_the_overview_are_visible(window: Visit, wide: Served) -> None:
    page = await window.open(wide.url, view="start")
    cards = page.get_by_role("region", name="Types").locator(".card:visible")
    await expect(cards).to_have_count(8)
    await page.get_by_label("Find a type").fill("number59")
    await expect(cards).to_have_count(1)
    await page.get_by_label("Find a type").fill("")
    await page.get_by_role("button", name="52 more", exact=True).click()
    await expect(cards).to_have_count(TYPES)
    assert await covered(cards.locator(".number:visible")) == []


@ON_A_DESKTOP
async def test_filters_of_many_predicates_are_searched(window: Visit, wide: Served) -> None:
    page = await window.open(wide.url, view="walk", seeds="n0")
    await page.locator("summary").filter(has_text="Options").click()
    boxes = page.get_by_role("group", name="Follow only").locator(".box:visible")
    await expect(boxes).to_have_count(PREDICATES)
    await page.get_by_label("Follow only: find among").fill("predicate_077")
    await expect(boxes).to_have_count(1)
    await boxes.click()
    await expect(page.locator(".status")).to_contain_text("2 nodes, 1 edge")


async def test_names_of_any_length_make_no_view_wider_than_the_window(
    window: Visit, wide: Served, axe: Callable[..., Awaitable[list[str]]]
) -> None:
    for state in (
        {"view": "start"},
        {"view": "entity", "id": "n0"},
        {"view": "walk", "seeds": "n0"},
    ):
        page = await window.open(wide.url, **state)
        width = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert width <= 0, state
        # `test_views.py` examines each view on a desktop.
        if THOROUGH or await page.evaluate("innerWidth <= 390"):
            assert not await axe(window), state
