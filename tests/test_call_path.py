"""One call enters few modules and seldom crosses between them, so that it is easy to follow."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from bfsql import open_graph

MOST_MODULES = {"cold": 35, "warm": 33}
MOST_CROSSINGS = {"cold": 230, "warm": 86}


def project_module(frame: FrameType | None) -> str | None:
    """The module of this project that a frame runs in."""
    name: str = "" if frame is None else frame.f_globals.get("__name__", "")
    return name if name.partition(".")[0] in {"bfsql", "bfsql_sqlite"} else None


@pytest.mark.parametrize("state", ["cold", "warm"])
async def test_a_traversal_enters_few_modules_and_seldom_crosses_between_them(
    films_db: Path, state: str
):
    entered, crossings = Counter[str](), Counter[tuple[str, str]]()

    def count(frame: FrameType, event: str, _: Any) -> None:
        callee = project_module(frame)
        if event != "call" or callee is None:
            return
        entered[callee] += 1
        caller = project_module(frame.f_back)
        if caller is not None and caller != callee:
            crossings[caller, callee] += 1

    # Without the conformance kit, a hook plugin that the tests' environment has.
    async with open_graph("sqlite", path=films_db, hooks=()) as graph:
        found = await graph.search_entities("Tom Hanks")
        seeds = [found.content["result"][0]["id"]]
        before = await graph.bfs_query(seeds=seeds, max_hops=2 if state == "warm" else 1)
        profiler = sys.getprofile()
        sys.setprofile(count)
        try:
            answer = await graph.bfs_query(seeds=seeds, max_hops=2)
        finally:
            sys.setprofile(profiler)
    assert (answer.text == before.text) == (state == "warm")
    assert answer.content["edge_count"] > MOST_CROSSINGS[state], "calls a record would be seen"
    assert len(entered) <= MOST_MODULES[state], sorted(entered)
    assert crossings.total() <= MOST_CROSSINGS[state], crossings.most_common(10)
