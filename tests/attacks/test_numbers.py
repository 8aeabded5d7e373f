"""A number of any size in any argument is a sentence, or an answer; never an incident.

The suites of the other stores make the same calls.
"""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import MemoryBackend, open_graph
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.suites.numbers import CALLS, RECORDS, Call, assert_no_incident


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = tmp_path_factory.mktemp("numbers") / "graph.db"
    asyncio.run(load_graph(SqliteSettings(path=graph), RECORDS))
    return graph


@given(st.lists(st.sampled_from(CALLS), min_size=40, max_size=40), st.booleans())
async def test_a_number_of_any_size_is_no_incident(
    path: Path, calls: list[Call], stored: bool
) -> None:
    opened = open_graph("sqlite", path=path) if stored else open_graph(MemoryBackend(RECORDS))
    async with opened as graph:
        await assert_no_incident(graph, calls)


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
