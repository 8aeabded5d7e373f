"""Other programs read the files that the page saves, and the page reads recorded files."""

import csv
import io
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import networkx as nx
import pytest
from playwright.async_api import expect

from bfsql.models.characters import escaped
from bfsql_test_support.browser.chromium import Visit
from bfsql_test_support.servers.serve_process import Served

pytestmark = pytest.mark.asyncio(loop_scope="session")

NAMES = ["<b>&\"'", "]]>", "=1+1", "two\nlines, a", "\x00\x1b\ufffe", "\u202egnp", "-5", "😀", "@x"]
NODES = [
    {
        "id": name,
        "name": name,
        "type": "T<",
        "full": at % 2 == 0,
        "seed": at == 0,
        "metadata": {"name": name, "n": at, "f": at / 2, "id": "x", "list": [1, {"a": "b"}]},
    }
    for at, name in enumerate(NAMES)
]
EDGES = [
    {"subject": a, "predicate": p, "object": b}
    for a, b in zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True)
    for p in ("p", "-p->")
] + [{"subject": "@x", "predicate": "loop", "object": "@x"}]
DRAW = """async ([nodes, edges]) => {
    const [f, s] = await Promise.all([import("/assets/formats.js"), import("/assets/svg.js")]);
    const placed = nodes.map((n, at) => ({...n, x: at * 50, y: at % 3 * 40, size: 8}));
    const theme = {background: "#fff", text: "#000", muted: "#666", edge: "#999"};
    const legend = [{label: "T<", colour: "#0072b2", shape: "triangle", count: nodes.length}];
    return {graphml: f.asGraphml(nodes, edges), nodes: f.nodesAsCsv(nodes),
            edges: f.edgesAsCsv(edges),
            svg: s.asSvg({title: "<t>", nodes: placed, edges, legend, theme}).text};
}"""


async def test_files_of_a_graph_with_hostile_names_are_whole(tab: Visit, films: Served) -> None:
    await tab.page.goto(films.url)
    made = await tab.page.evaluate(DRAW, [NODES, EDGES])

    read = nx.parse_graphml(made["graphml"])
    written = [name.replace("\x00\x1b\ufffe", "\ufffd\ufffd\ufffd") for name in NAMES]
    assert list(read) == written
    assert read.number_of_edges() == len(EDGES)
    assert {data["predicate"] for *_, data in read.edges(data=True)} == {"p", "-p->", "loop"}
    first = read.nodes[written[0]]
    assert (first["type"], first["seed"], first["n"], first["f"]) == ("T<", True, 0, 0.0)
    assert (first["id"], json.loads(first["list"])) == ("x", [1, {"a": "b"}])

    svg = ET.fromstring(made["svg"])
    texts = ["".join(text.itertext()) for text in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert {"<b>&\"'", "]]>", "two lines, a", "\\u{202e}gnp", "T< (9)", "seed"} <= set(texts)
    assert len(list(svg.iter("{http://www.w3.org/2000/svg}marker"))) == 1

    rows = list(csv.DictReader(io.StringIO(made["nodes"].removeprefix("\ufeff"), newline="")))
    assert [row["id"] for row in rows][2:4] == ["'=1+1", "two\nlines, a"]
    assert [row["id"] for row in rows][6:] == ["-5", "😀", "'@x"]
    assert list(rows[0]) == ["id", "type", "name", "f", "metadata.id", "list", "n"]
    edges = list(csv.DictReader(io.StringIO(made["edges"].removeprefix("\ufeff"), newline="")))
    assert [edge["predicate"] for edge in edges][:2] == ["p", "'-p->"]


async def test_a_file_that_was_cut_off_is_replayed_as_far_as_it_can_be_read(
    visit: Visit,
    films: Served,
    films_db: Path,
    tmp_path: Path,
    recorded_lines: Callable[..., Awaitable[list[str]]],
) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_entities", {"query": "nora"}),
        ("bfs_query", {"seeds": ["Nora Ephron"], "max_hops": 1}),
        ("bfs_query", {"seeds": ["nobody at all"], "max_hops": 1}),
    ]
    lines = [
        *await recorded_lines(films_db, calls, session="a"),
        *await recorded_lines(films_db, calls, session="b", answer_format="lines"),
    ]
    file = tmp_path / "calls.jsonl"
    file.write_text("\n".join([*lines, lines[0][:40]]), encoding="utf-8")

    page = visit.page
    await page.goto(f"{films.url}/#view=replay")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_text("1 line could not be read")).to_be_visible()
    for session in ("1", "2"):  # the second has answers in lines
        await page.get_by_label("Session, of 2").select_option(session)
        await page.get_by_role("button", name="Next call").click()
        await expect(page.locator(".status")).to_contain_text("20 of 30 tokens")
        await expect(page.locator(".status")).not_to_contain_text("1 node,")
        await expect(page.locator(".step-detail")).to_contain_text("Nora Ephron")
        await page.keyboard.press("End")
        await expect(page.locator(".step-detail .error")).to_contain_text("nobody at all")
    assert not [url for url in visit.requests if "calls.jsonl" in url]


async def test_answers_in_lines_recorded_without_their_content_are_shown_as_text(
    tab: Visit,
    films: Served,
    films_db: Path,
    tmp_path: Path,
    recorded_lines: Callable[..., Awaitable[list[str]]],
) -> None:
    """As version 0.1 recorded them."""
    calls = [("bfs_query", {"seeds": ["Nora Ephron"], "max_hops": 1})]
    file = tmp_path / "calls.jsonl"
    lines = [
        *await recorded_lines(films_db, calls, session="a", answer_format="lines"),
        *await recorded_lines(films_db, calls, session="a"),
    ]
    older = [{k: v for k, v in json.loads(line).items() if k != "content"} for line in lines]
    file.write_text("\n".join(map(json.dumps, older)), encoding="utf-8")

    page = tab.page
    await page.goto(f"{films.url}/#view=replay")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.locator(".step-detail")).to_contain_text("an answer as text")
    await expect(page.locator(".step-detail pre")).to_contain_text(
        "from Person:NoraEphron (Person)"
    )
    await expect(page.locator(".status")).to_contain_text("Seen by now: 0 nodes")
    await page.get_by_role("button", name="Next call").click()
    await expect(page.locator(".step-detail")).not_to_contain_text("an answer as text")
    await expect(page.locator(".status")).not_to_contain_text("Seen by now: 0 nodes")


async def test_the_page_hides_the_characters_that_answers_escape(tab: Visit, films: Served) -> None:
    await tab.page.goto(films.url)
    hidden = await tab.page.evaluate(
        """async () => {
            const { hasHidden } = await import("/assets/characters.js");
            const all = Array.from({length: 0x110000}, (_, code) => code);
            return all.filter((code) => hasHidden(String.fromCodePoint(code)));
        }"""
    )
    assert hidden == [code for code in range(0x110000) if escaped(chr(code)) != chr(code)]
