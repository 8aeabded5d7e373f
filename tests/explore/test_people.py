"""What people need on the page: names, whole answers, sets, groups and notes in plain words."""

import base64
import csv
import io
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import pytest_asyncio
from playwright.async_api import Locator, Page, expect

from bfsql.models import EdgeRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.browser.screenshots import READY
from bfsql_test_support.servers.serve_process import Served, exploring

pytestmark = pytest.mark.asyncio(loop_scope="session")

COUNT, STREETS = 3_000, 400
CRIMES = pd.DataFrame(
    {
        "name": f"Crime number {n}",
        "kind": ("Drugs", "Theft", "Arson")[n % 3],
        "year": 1990 + n % 30,
        "aaa": f"unique {n}",
        "street": f"Street {n % STREETS}",
    }
    for n in range(COUNT)
)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bfs_query", {"seeds": ["p1"], "max_hops": 2}),
    ("bfs_query", {"seeds": ["p1"], "path": ["<-AT- Crime"], "show": "ends", "limit": 4}),
    ("bfs_query", {"seeds": ["p1"], "path": ["-NO_SUCH->"]}),
    ("search_entities", {"query": "zzzzzzzz"}),
)
COLOURED = """async (png) => {
    const bytes = Uint8Array.from(atob(png), (one) => one.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes], {type: "image/png"}));
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const {data} = context.getImageData(0, 0, image.width, image.height);
    let found = 0;
    for (let at = 0; at < data.length; at += 4) {
        const rgb = data.slice(at, at + 3);
        if (Math.max(...rgb) - Math.min(...rgb) > 90) found += 1;
    }
    return found;
}"""
"""The number of pixels with a strong colour."""
WRITTEN = """async ([nodes, pairs = []]) => {
    const {drawTexts} = await import("/assets/overlay.js");
    const written = [];
    const context = new OffscreenCanvas(10, 10).getContext("2d");
    context.fillText = (text, x, y) => {
        const width = context.measureText(text).width;
        const left = {left: x, center: x - width / 2, right: x - width}[context.textAlign];
        written.push({text, left, right: left + width, top: y - 7, bottom: y + 7});
    };
    const colours = {text: "#000", muted: "#000", background: "#fff", line: "#000"};
    const usual = {size: 6, rank: 1, strong: false, faded: false, loops: []};
    const all = nodes.map((n) => ({...usual, ...n}));
    const edges = pairs.map(([from, to]) => ({from: all[from], to: all[to], labels: []}));
    drawTexts(context, {width: 300, height: 200}, all, edges, colours);
    return written;
}"""
MOVES: tuple[tuple[list[str], ...], ...] = (
    (["Crime:*"], ["year>1"], ["Crime[year>1]"], []),
    (["Crime[a=1]"], ["no Crime.year", "no -AT->"], ["Crime[a=1][no year][no -AT->]"], []),
    (["Crime:*"], ["Crime -AT-> >= 2"], ["Crime[-AT-> >= 2]"], []),
    (
        ["Crime:*"],
        ["Place.size>3", "no Place -IN->"],
        ["Crime:*"],
        ["Place.size>3", "no Place -IN->"],
    ),
    (["Crime:*", "Place:*"], ["a~b.c"], ["Crime[a~b.c]", "Place[a~b.c]"], []),
)
"""Sets, conditions on them; and the sets and conditions of a walk from there."""
NOTES = {
    "Shown nodes 1 to 300 of 5000. Continue with offset=300, limit=300.": (
        "Nodes 1 to 300 of 5,000 are shown.",
        "Show the next page",
    ),
    "12 nodes did not fit max_tokens=500. Continue with offset=8, limit=8.": (
        "12 nodes more had no room in this answer.",
        "Show the next page",
    ),
    "fields: edges have: role.": ("The edges also have: role.", "Show whole records"),
    'facets: "a" shows 20 of 400 values; "a:400" shows all.': (
        "“a” has 400 different values; the 20 most frequent are shown.",
        "Show more values",
    ),
    "max_tokens: reduced to 900, the maximum of this server, from 0 (no bound). To see more, ask "
    "in pages (limit, offset).": ("This server gives at most 900 tokens in one answer.", None),
    "sort_by: degree counts the edges of this answer.": ("", None),
    "where: nothing reached meets year>3.": ("Condition: nothing reached meets year>3.", None),
    "<b>: any other note": ("<b>: any other note", None),
}
"""Notes, with their words and buttons for people."""


async def crime_records() -> AsyncIterator[NodeRecord | EdgeRecord]:
    yield NodeRecord("alone", "Person", {"name": "Only One"})
    for n in range(300):
        yield NodeRecord(f"p{n}", "Place", {"name": f"Place {n}", "size": n})
    for n, record in enumerate(CRIMES.to_dict("records")):
        yield NodeRecord(f"c{n}", "Crime", {str(key): value for key, value in record.items()})
        yield EdgeRecord(f"c{n}", "AT", f"p{n % 300}", {})


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crimes(
    tmp_path_factory: pytest.TempPathFactory, recorded_lines: Callable[..., Awaitable[list[str]]]
) -> AsyncIterator[Served]:
    """`bfsql explore` over many crimes and places, with a session whose last calls find nothing."""
    folder = tmp_path_factory.mktemp("crimes")
    path, recorded = folder / "crimes.db", folder / "calls.jsonl"
    await load_graph(SqliteSettings(path=path), [one async for one in crime_records()])
    recorded.write_text("\n".join(await recorded_lines(path, CALLS, session="a")), "utf-8")
    with exploring(str(path), "--replay", str(recorded)) as served:
        yield served


def status(page: Page) -> Locator:
    return page.locator(".status")


def field(page: Page, name: str) -> Locator:
    return page.get_by_role("combobox", name=name, exact=True)


def crimes_where(condition: str) -> int:
    return len(CRIMES.query(condition))


async def test_an_isolated_entity_has_no_relations_and_its_name_everywhere(
    tab: Visit, crimes: Served
) -> None:
    page = await tab.open(crimes.url, view="walk", seeds="alone")
    await expect(status(page)).to_contain_text("1 node, 0 edges")
    await expect(page).to_have_title("Only One · BFS-QL")
    await tab.open(crimes.url, view="entity", id="alone")
    await expect(page.get_by_text("No relation touches this entity.")).to_be_visible()
    for state in ({"details": "none"}, {"limit": 5}):  # ids alone; the choice at a hub
        await tab.open(crimes.url, view="walk", seeds="p1", **state)
        await expect(page).to_have_title("Place 1 · BFS-QL")
        await expect(page.get_by_role("button", name="Remove Place 1")).to_be_visible()
    await tab.open(crimes.url, view="intersect", seeds=["p1", "alone"])
    await expect(page.get_by_role("button", name="Remove Only One")).to_be_visible()


async def test_answers_have_pages_and_names_and_headings_sort_all_of_them(
    tab: Visit, crimes: Served
) -> None:
    page = await tab.open(crimes.url, view="walk", seeds="Crime:*", hops=0, limit=5000)
    await expect(status(page)).to_contain_text(f"{COUNT:,} nodes, 0 edges")
    await tab.open(crimes.url, view="walk", seeds="Crime:*", hops=0, limit=50, sort_by="-year")
    rows = page.get_by_role("row")
    for name in (CRIMES["name"].min(), CRIMES["name"].max()):
        await page.get_by_role("button", name="Name", exact=True).click()
        await expect(rows.nth(1)).to_contain_text(name)
    path = {"path": ["-AT-> Place", "<-AT- Crime"], "limit": 20}
    await tab.open(crimes.url, view="walk", seeds="c0", **path)
    pages = page.get_by_role("group", name="Pages")
    total = COUNT // 300 - 1
    await expect(pages).to_have_count(0)
    await tab.open(crimes.url, view="walk", seeds="c0", **path | {"limit": 4})
    await expect(pages).to_contain_text(f"1 to 4 of {total}")
    await pages.get_by_role("button", name="Next").click()
    await expect(pages).to_contain_text(f"5 to 8 of {total}")


async def test_walks_are_saved_with_names(tab: Visit, crimes: Served) -> None:
    walks = {"path": "-AT-> Place", "show": "walks", "limit": 5000}
    page = await tab.open(crimes.url, view="walk", seeds="Crime[kind=Arson]", **walks)
    await page.get_by_text("Save as").click()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Walks (CSV)").click()
    text = (await (await download.value).path()).read_text("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["id 0", "name 0", "edge 1", "id 1", "name 1"]
    assert sorted(row[4] for row in rows[1:]) == sorted(
        f"Place {n % 300}" for n in range(2, COUNT, 3)
    )
    assert {row[1] for row in rows[1:]} == set(CRIMES.query("kind == 'Arson'")["name"])


async def test_the_search_field_offers_types_values_and_texts(tab: Visit, crimes: Served) -> None:
    page = await tab.open(crimes.url, view="start")
    search = field(page, "Search the graph")
    for text, option, query in (
        ("crim", f"Crime:* all {COUNT:,} of this type", "kind == kind"),
        ("arson", "Crime[kind=Arson]", "kind == 'Arson'"),
        ("street 77", "Crime[street~street 77]", "street.str.contains('Street 77')"),
    ):
        await search.fill(text)
        await page.get_by_role("option", name=option).click()
        await expect(status(page)).to_contain_text(re.compile(f"\\b{crimes_where(query):,} nodes"))


async def test_a_condition_on_a_set_stays_one_when_a_walk_begins(
    tab: Visit, crimes: Served
) -> None:
    where = ["year>=2015", "no -AT-> Place[size<150]"]
    page = await tab.open(crimes.url, view="walk", seeds="Crime:*", hops=0, where=where)
    chips = page.get_by_role("group", name="Conditions").locator(".chip")
    await expect(chips).to_contain_text(
        ["year at least 2015", "no at Place[size below 150]"]
    )  # both are of the set, which the sentence begins with
    await field(page, "Condition 3").fill("si")
    await expect(page.get_by_role("option", name="size")).to_have_count(0)  # of places
    await page.keyboard.press("Escape")
    await page.get_by_role("button", name="→ at Place").click()
    await expect(field(page, "Step 2")).to_be_visible()
    await tab.settled()
    await tab.has_state(seeds=["Crime[year>=2015][no -AT-> Place[size<150]]"])
    start = crimes_where("year >= 2015 and index % 300 >= 150")
    await expect(page.get_by_role("group", name="Types shown")).to_contain_text(f"Crime{start}")
    await field(page, "Condition 1").fill("0.kind=Drugs")
    await page.keyboard.press("Enter")
    await expect(chips.locator(".hint")).to_have_text("of step 0: the start")


async def test_conditions_move_into_the_patterns_that_they_are_about(
    tab: Visit, crimes: Served
) -> None:
    page = await tab.open(crimes.url, view="start")
    for before, where, after, left in MOVES:
        found = await page.evaluate(
            """async (given) => {
                const {fromSet} = await import("/assets/sets.js");
                const none = {hops: 0, path: [], along: [], to: []};
                return fromSet({...none, ...given}, {path: ["-AT->"]});
            }""",
            {"seeds": before, "where": where},
        )
        assert (found["seeds"], found["where"]) == (after, left)


async def test_groups_are_of_use_and_take_several_values_and_ranges(
    tab: Visit, crimes: Served
) -> None:
    page = await tab.open(crimes.url, view="walk", seeds="Crime:*", hops=0)
    groups = page.locator(".groups h2")
    await expect(groups).to_have_text(["kind", "year"])  # none of 400 or 3,000 values
    await expect(page.get_by_role("columnheader")).to_have_text(["Name", "kind", "year", "street"])
    kind = page.get_by_role("region", name="Group kind")
    for value in ("Drugs", "Arson"):
        await kind.get_by_role("button", name=value).click()
        await expect(kind.get_by_role("button", name=value)).to_have_attribute(
            "aria-pressed", "true"
        )
        await expect(kind.locator("li")).to_have_text([re.compile("[A-Z]")] * 3)
    await tab.has_state(seeds=["Crime[kind=Drugs|Arson]"])
    await page.get_by_label("year from").fill("1995")
    await page.get_by_label("year to").fill("1999")
    await page.keyboard.press("Enter")
    found = crimes_where("kind != 'Theft' and 1995 <= year <= 1999")
    await expect(status(page)).to_contain_text(
        f"of {found} nodes" if found > 300 else f"{found} nodes"
    )
    await page.locator("summary").filter(has_text="Options").click()
    await field(page, "Starts at").fill("Place:*")
    await page.keyboard.press("Enter")
    await page.get_by_role("button", name=re.compile(r"Remove Crime\[")).click()
    await expect(groups).to_have_count(0)  # those of crimes are gone, and places have none


async def test_a_set_with_its_neighbours_is_no_cloud_of_dots(tab: Visit, crimes: Served) -> None:
    page = await tab.open(crimes.url, view="walk", seeds="Crime:*", hops=1)
    await expect(status(page)).to_contain_text("300 nodes, 0 edges")
    await expect(page.locator(".stage")).to_be_hidden()


async def test_a_replay_lights_what_the_call_found_and_nothing_after_a_refusal(
    tab: Visit, crimes: Served
) -> None:
    found = []
    for step in (1, 2, 3, 4):
        page = await tab.open(crimes.url, view="replay", step=step)
        await page.evaluate(READY)
        png = base64.b64encode(await page.locator(".stage").screenshot()).decode()
        found.append(await page.evaluate(COLOURED, png))
    assert found[0] > found[1] > 0
    assert found[2:] == [0, 0]


async def test_names_stay_in_view_and_leave_each_other_free(tab: Visit, crimes: Served) -> None:
    page = await tab.open(crimes.url, view="start")
    long = "A name of many words"
    corners = [{"x": x, "y": y, "label": long, "strong": True} for x in (4, 296) for y in (4, 196)]
    written = await page.evaluate(WRITTEN, [corners])
    assert len(written) == 4
    for name in written:
        assert name["left"] >= 0
        assert name["right"] <= 300
        assert name["top"] >= 0
        assert name["bottom"] <= 200
    crowd = [{"x": 140 + 3 * n, "y": 100, "label": long, "faded": True} for n in range(20)]
    lit = {"x": 150, "y": 100, "label": "lit"}
    assert [name["text"] for name in await page.evaluate(WRITTEN, [[*crowd, lit]])] == ["lit"]
    both = [lit | {"strong": True, "rank": 2, "label": long}, lit | {"x": 155}]
    one, other = await page.evaluate(WRITTEN, [both])
    assert not all(
        one[start] < other[end] and other[start] < one[end]
        for start, end in (("left", "right"), ("top", "bottom"))
    )


async def test_names_leave_the_lines_of_their_nodes_free(tab: Visit, crimes: Served) -> None:
    page = await tab.open(crimes.url, view="start")
    places = {"left": (50, 100), "right": (170, 100), "top": (110, 40), "bottom": (110, 160)}
    nodes = [{"x": x, "y": y, "label": label} for label, (x, y) in places.items()]
    hub = {"x": 110, "y": 100, "label": ""}
    written = await page.evaluate(WRITTEN, [[*nodes, hub], [[at, 4] for at in range(4)]])
    box = {name["text"]: name for name in written}
    assert box["left"]["right"] < 50
    assert box["right"]["left"] > 170
    assert box["top"]["bottom"] < 40
    assert box["bottom"]["top"] > 160


async def test_notes_are_in_words_for_people(tab: Visit, crimes: Served) -> None:
    page = await tab.open(crimes.url, view="start")
    told = await page.evaluate(
        """async (notes) => {
            const {forPeople} = await import("/assets/notes.js");
            return notes.map(forPeople).map(({text, button}) => [text, button ?? null]);
        }""",
        list(NOTES),
    )
    assert [tuple(one) for one in told] == list(NOTES.values())


async def test_sixty_types_have_marks_of_their_own_that_are_seen_on_white(
    tab: Visit, crimes: Served
) -> None:
    page = await tab.open(crimes.url, view="start")
    marks = await page.evaluate(
        """async () => {
            const {markOf} = await import("/assets/palette.js");
            return Array.from({length: 60}, (_, at) => markOf(`made up ${at}`));
        }"""
    )
    assert len({(mark["colour"], mark["shape"]) for mark in marks}) == 60
    for mark in marks[:7]:
        red, green, blue = (int(mark["colour"][at : at + 2], 16) / 255 for at in (1, 3, 5))
        luminance = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
        assert 1.05 / (luminance + 0.05) > 2, mark


async def test_the_overview_shows_how_tables_were_read(visit: Visit, tmp_path: Path) -> None:
    lab = Path(__file__).parents[2] / "docs" / "tutorial" / "snippets" / "lab"
    with exploring("--path", str(shutil.copytree(lab, tmp_path / "lab"))) as served:
        await visit.page.goto(served.url)
        await visit.page.get_by_text("How the tables were read").click()
        for name in ("samples 5 nodes sample, key sample_id name", "site -> sites name, 80%"):
            await expect(visit.page.get_by_role("row", name=name)).to_be_visible()


async def test_graphs_of_a_federation_have_colours_and_a_legend(
    visit: Visit, tmp_path: Path
) -> None:
    members = ""
    for name, node in (("drugs", "Disease"), ("trials", "Trial")):
        records = [NodeRecord("d", "Drug"), NodeRecord(name, node), EdgeRecord(name, "OF", "d")]
        await load_graph(SqliteSettings(path=tmp_path / f"{name}.db"), records)
        members += f'[backend.members.{name}]\nbackend = "sqlite"\npath = "{name}.db"\n'
    config = tmp_path / "bfsql.toml"
    config.write_text(f'[backend]\nname = "federation"\n{members}', encoding="utf-8")
    with exploring("--config", str(config)) as served:
        page = await visit.open(served.url, view="walk", seeds=["d"])
        legend = page.get_by_role("group", name="Colours of graphs")
        await expect(legend).to_have_text("drugstrials")
        drawn = await page.evaluate(
            """async () => {
                const {Graph} = await import("/assets/graph.js");
                const {drawingOf, emptyDrawing} = await import("/assets/drawing.js");
                const edge = (object, ...graphs) =>
                    ({subject: "d", predicate: "p", object, metadata: {graphs}});
                const nodes = ["d", "e", "f"].map((id) => ({id, entity_type: "T"}));
                const edges = [edge("e", "drugs"), edge("f", "trials", "drugs")];
                const graph = new Graph().add({nodes, edges});
                const {drawing} = drawingOf(graph, emptyDrawing(), String);
                return drawing.mapEdges((_, {graph}) => graph);
            }"""
        )
        assert drawn == [await legend.locator("path").first.get_attribute("stroke"), None]
