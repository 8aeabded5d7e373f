"""A number of any size in any argument is a sentence, or an answer; never an incident."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.tools.parameters import PARAMETERS
from bfsql_sqlite import SqliteSettings, load_graph

RECORDS = [
    NodeRecord("a", "T", {"name": "one", "n": 1}),
    NodeRecord("b", "T", {"name": "two", "n": 2}),
    EdgeRecord("a", "p", "b", {"n": 3}),
]
NUMBERS = [
    *(sign * number for sign in (1, -1) for number in (2**31, 2**63 - 1, 2**63, 2**64, 10**400)),
    *(10**5_000, 1e308, float("inf"), float("-inf"), float("nan"), "9" * 5_000, "1e400", "-1", "0"),
]
REQUIRED = {
    "describe_schema": {},
    "search_entities": {"query": "one"},
    "bfs_query": {"seeds": ["T:*"]},
    "describe_entity": {"id": "a"},
    "describe_entities": {"ids": ["a"]},
    "intersect_subgraphs": {"seeds": ["a", "b"]},
}
TEXTS = {
    "seeds": ["T[n>%s]", "*[n=%s]"],
    "path": ["-p->{%s}", "-p->{1,%s}", "-->{%s,%s} T[n>%s]"],
    "along": ["-p->{%s}", "-p-> T[n<%s]"],
    "where": ["n>=%s", "n=%s|1", "T.n<%s", "-p-> >= %s", "%s -p-> T >= %s", "%s != 0", "%s.n>1"],
    "measure": ["count %s", "max %s.n"],
    "facets": ["n:%s", "%s.n"],
    "sort_by": ["%s.n", "-%s"],
    "show": ["%s"],
}
BESIDE = [{}, {"path": ["-->"]}, {"along": ["-->"]}, {"max_hops": 1}, {"to": ["b"]}] + [
    {"path": ["-->"], "show": show, "limit": 1} for show in ("walks", "ends")
]


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = draw(st.sampled_from(sorted(PARAMETERS)))
    parameter = draw(st.sampled_from(PARAMETERS[tool]))
    number = draw(st.sampled_from(NUMBERS))
    written = "9" * 5_000 if number == 10**5_000 else str(number)
    value: Any = number
    if parameter.name in TEXTS:
        value = draw(st.sampled_from(TEXTS[parameter.name])).replace("%s", written)
    if parameter.kind == "texts":
        value = [value]
    beside = draw(st.sampled_from(BESIDE)) if tool == "bfs_query" else {}
    return tool, {**REQUIRED[tool], **beside, parameter.name: value}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = tmp_path_factory.mktemp("numbers") / "graph.db"
    asyncio.run(load_graph(SqliteSettings(path=graph), RECORDS))
    return graph


@given(st.lists(calls(), min_size=40, max_size=40), st.booleans())
async def test_a_number_of_any_size_is_no_incident(
    path: Path, drawn: list[tuple[str, dict[str, Any]]], stored: bool
) -> None:
    opened = open_graph("sqlite", path=path) if stored else open_graph(MemoryBackend(RECORDS))
    async with opened as graph:
        for tool, arguments in drawn:
            kind = None
            try:
                await graph.call(tool, arguments)
            except ToolError as error:
                kind = error.kind
            assert kind != "internal", (tool, list(arguments))


@pytest.mark.parametrize("offset", [2**31, 2**63, 10**5_000], ids=["int32", "int64", "huge"])
async def test_an_offset_beyond_the_answer_is_an_empty_page(path: Path, offset: int) -> None:
    for opened in (open_graph("sqlite", path=path), open_graph(MemoryBackend(RECORDS))):
        async with opened as graph:
            for beside in ({}, {"path": ["-->"], "show": "walks"}):
                answer = await graph.call(
                    "bfs_query", {"seeds": ["T:*"], "offset": offset, **beside}
                )
                assert (answer.content["nodes"], answer.content["edges"]) == ([], [])
                assert answer.notes
