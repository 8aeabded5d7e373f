"""One call enters few modules and seldom crosses between them, so that it is easy to follow."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Self

import pytest

from bfsql import open_graph

MOST_MODULES = {"cold": 47, "warm": 42}
MOST_CROSSINGS = {"cold": 308, "warm": 123}
MOST_PATH_CALLS, MOST_PATH_CROSSINGS = 520, 168
MOST_METADATA_CALLS, MOST_METADATA_CROSSINGS = 400, 105
MOST_SEARCH_CALLS, MOST_SEARCH_CROSSINGS = 140, 45
CO_STARS = ["-ACTED_IN->", "<-ACTED_IN-"]


class Course:
    """The calls of functions while it is entered: how many, in which modules, between which."""

    def __init__(self) -> None:
        self.entered, self.crossings = Counter[str](), Counter[tuple[str, str]]()

    def __enter__(self) -> Self:
        self._profiler = sys.getprofile()
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(self._profiler)

    def _count(self, frame: FrameType, event: str, _: Any) -> None:
        callee = project_module(frame)
        if event != "call" or callee is None:
            return
        self.entered[callee] += 1
        caller = project_module(frame.f_back)
        if caller is not None and caller != callee:
            self.crossings[caller, callee] += 1


def project_module(frame: FrameType | None) -> str | None:
    """The module of this project that a frame runs in."""
    name: str = "" if frame is None else frame.f_globals.get("__name__", "")
    return name if name.partition(".")[0] in {"bfsql", "bfsql_sqlite"} else None


@pytest.mark.parametrize("state", ["cold", "warm"])
async def test_a_traversal_enters_few_modules_and_seldom_crosses_between_them(
    films_db: Path, state: str
):
    # Without the conformance kit, a hook plugin that the tests' environment has.
    async with open_graph("sqlite", path=films_db, hooks=()) as graph:
        found = await graph.search_entities("Tom Hanks")
        seeds = [found.content["result"][0]["id"]]
        before = await graph.bfs_query(seeds=seeds, max_hops=2 if state == "warm" else 1)
        await graph.counted()  # the outline, which is otherwise counted meanwhile
        with Course() as course:
            answer = await graph.bfs_query(seeds=seeds, max_hops=2)
    assert (answer.text == before.text) == (state == "warm")
    assert answer.content["edge_count"] > MOST_CROSSINGS[state], "calls a record would be seen"
    assert len(course.entered) <= MOST_MODULES[state], sorted(course.entered)
    assert course.crossings.total() <= MOST_CROSSINGS[state], course.crossings.most_common(10)


@pytest.mark.parametrize("path", [CO_STARS, [CO_STARS[0]] * 2], ids=["walks", "dead end"])
async def test_a_path_walked_before_makes_few_calls_and_seldom_crosses_between_modules(
    films_db: Path, path: list[str]
):
    # Without the conformance kit, a hook plugin that the tests' environment has.
    async with open_graph("sqlite", path=films_db, hooks=()) as graph:
        found = await graph.search_entities("Tom Hanks")
        asked = {"seeds": [found.content["result"][0]["id"]], "path": path}
        await graph.counted()  # otherwise, steps of counting in the background are counted too
        before = await graph.bfs_query(**asked, topology_only=True)
        await graph.counted()  # the outline, which is otherwise counted meanwhile
        with Course() as course:
            answer = await graph.bfs_query(**asked, topology_only=True)
    assert answer.text == before.text
    if path == CO_STARS:
        assert answer.content["edge_count"] > MOST_PATH_CROSSINGS, "calls a record would be seen"
    assert course.entered.total() <= MOST_PATH_CALLS, course.entered.most_common(10)
    assert course.crossings.total() <= MOST_PATH_CROSSINGS, course.crossings.most_common(10)


async def test_metadata_that_was_shown_before_is_not_cleaned_again(films_db: Path):
    async with open_graph("sqlite", path=films_db, hooks=()) as graph:
        found = await graph.search_entities("Tom Hanks")
        asked = {"seeds": [found.content["result"][0]["id"]], "max_hops": 2, "max_tokens": 0}
        await graph.counted()
        before = await graph.bfs_query(**asked)
        await graph.bfs_query(**asked)  # the first answer from the cache keeps its form there
        with Course() as course:
            answer = await graph.bfs_query(**asked)
    assert answer.text == before.text
    records = len(answer.content["nodes"]) + len(answer.content["edges"])
    assert records > MOST_METADATA_CALLS, "calls a record would be seen"
    assert course.entered.total() <= MOST_METADATA_CALLS, course.entered.most_common(10)
    assert course.crossings.total() <= MOST_METADATA_CROSSINGS, course.crossings.most_common(10)


async def test_a_search_makes_few_calls_and_seldom_crosses_between_modules(films_db: Path):
    # Without the conformance kit, a hook plugin that the tests' environment has.
    async with open_graph("sqlite", path=films_db, hooks=()) as graph:
        before = await graph.search_entities("Tom Hanks")
        await graph.counted()  # the outline, which is otherwise counted meanwhile
        with Course() as course:
            answer = await graph.search_entities("Tom Hanks")
    assert answer.text == before.text
    assert course.entered.total() <= MOST_SEARCH_CALLS, course.entered.most_common(10)
    assert course.crossings.total() <= MOST_SEARCH_CROSSINGS, course.crossings.most_common(10)
