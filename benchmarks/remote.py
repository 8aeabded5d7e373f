"""A store that is a server: cold answers compared with the floor and with one call per node."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from by_hand import ByHand
from graphs import HUB, name_of
from per_node import PerNode
from timing import WALL, Pair, side_by_side, timed

from bfsql import Limits
from bfsql.abc import GraphDbInterface
from bfsql.cache import CachedGraphDb
from bfsql.engine import bfs_query
from bfsql.graph import Graph
from bfsql.models import BfsQuery

NO_BOUNDS = Limits(max_tokens=0, deadline=None)
SMALL = 10
"""How many times as many turns a small answer takes."""


@dataclass(frozen=True, slots=True)
class Question:
    """One `bfs_query`."""

    what: str
    seed: str
    hops: int
    full: bool
    per_node: bool
    """Whether to measure it with one call per node, too."""


def questions(nodes: int) -> list[Question]:
    """The questions that every store is asked.

    Args:
        nodes: Number of nodes of the graph; those with a low number have many neighbours, and
            the first 85 % are neighbours of the hub. Of 100,000 nodes, 2 hops reach 3,500.
    """
    some, more = (name_of(int(nodes * part)) for part in (0.5, 0.94684))
    return [
        Question(f"{what}, {'full' if full else 'topology'}", seed, hops, full, per_node)
        for what, seed, hops, per_node in (
            ("1 hop", some, 1, False),
            ("2 hops", more, 2, True),
            ("3 hops", more, 3, False),
            ("hub", HUB, 1, False),
        )
        for full in (False, True)
    ]


async def report_answers(
    backend: GraphDbInterface, floor: ByHand, questions: Sequence[Question], turns: int, goal: str
) -> None:
    """Print a line for each question.

    Args:
        backend: An open backend, without a cache; each answer is through a new one.
        floor: The traversal by hand, over the same store.
        questions: The questions to ask.
        turns: Turns of each comparison.
        goal: The goals for the ratios, to be printed.
    """
    print(f"\ncold answers, cache on, wall time  by hand      ours   ratio   per node   ({goal})")
    for question in questions:
        pair = await _against_floor(backend, floor, question, turns)
        line = f"{pair.what:32}{pair.floor * 1000:8.1f} ms{pair.ours * 1000:8.1f} ms"
        line += f"{pair.ratio:8.2f}"
        if question.per_node:
            seconds = await _per_node(backend, question)
            line += f"{seconds:9.2f} s = {seconds / pair.ours:.0f} x"
        print(line)


async def _against_floor(
    backend: GraphDbInterface, floor: ByHand, question: Question, turns: int
) -> Pair:
    return await side_by_side(
        question.what,
        _through_the_tool(backend, question),
        lambda: floor.answer(question.seed, question.hops, full=question.full),
        # Servers plan a statement anew the first few times.
        turns * SMALL if question.hops == 1 and question.seed != HUB else turns,
        WALL,
    )


def _through_the_tool(
    backend: GraphDbInterface, question: Question
) -> Callable[[], Awaitable[bytes]]:
    async def answer() -> bytes:
        cached = CachedGraphDb(backend)  # empty, so that every turn is cold
        said = await Graph(cached, "", NO_BOUNDS, schema=None).bfs_query(
            [question.seed], question.hops, topology_only=not question.full
        )
        await cached.release()
        return said.text.encode()

    return answer


async def _per_node(backend: GraphDbInterface, question: Question) -> float:
    """Seconds of one answer with one call per node and edge."""
    query = BfsQuery(seeds=[question.seed], max_hops=question.hops, topology_only=not question.full)

    async def answer() -> bytes:
        await bfs_query(PerNode(backend), query)
        return b""

    seconds, _ = await timed(answer, WALL)
    return seconds
