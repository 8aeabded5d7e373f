"""How many modules one call enters: a call that wanders is a call that nobody can follow."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from bfsql import open_graph

MOST_MODULES = 30
MOST_CROSSINGS = 170


def project_module(frame: FrameType | None) -> str | None:
    """The module of this project that a frame runs in."""
    name: str = "" if frame is None else frame.f_globals.get("__name__", "")
    return name if name.partition(".")[0] in {"bfsql", "bfsql_sqlite"} else None


async def test_a_warm_traversal_enters_few_modules_and_seldom_crosses_between_them(films_db: Path):
    entered, crossings = Counter[str](), Counter[tuple[str, str]]()

    def count(frame: FrameType, event: str, _: Any) -> None:
        callee = project_module(frame)
        if event != "call" or callee is None:
            return
        entered[callee] += 1
        caller = project_module(frame.f_back)
        if caller is not None and caller != callee:
            crossings[caller, callee] += 1

    async with open_graph("sqlite", path=films_db) as graph:
        found = await graph.search_entities("Tom Hanks")
        seeds = [found.content["result"][0]["id"]]
        cold = await graph.bfs_query(seeds=seeds, max_hops=2)
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            warm = await graph.bfs_query(seeds=seeds, max_hops=2)
        finally:
            sys.setprofile(before)
    assert warm.text == cold.text
    assert warm.content["edge_count"] > MOST_CROSSINGS, "calls a record would be seen"
    assert len(entered) <= MOST_MODULES, sorted(entered)
    assert crossings.total() <= MOST_CROSSINGS, crossings.most_common(10)
