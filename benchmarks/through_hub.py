"""Counting the distinct nodes of one step for each node of another, with a hub between them."""

from __future__ import annotations

import json
from collections.abc import Iterator

from asking import Taken

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord

SIZES = (1_000, 10_000, 30_000)


async def report() -> None:
    """Print the processor time of paths with and without `count_distinct`."""
    print("\npaths through a hub, in memory        walks   distinct nodes as well")
    limits = Limits(deadline=None)
    for size in SIZES:
        took = []
        for counted in ({}, {"count_distinct": 1}):
            async with open_graph(MemoryBackend(_graph(size)), limits=limits) as graph:
                with Taken() as taken:
                    answer = await graph.bfs_query(
                        ["root"], path=["-HAS->", "-CITES->", "-NAMES->"], limit=1, **counted
                    )
            [shown] = [one for one in json.loads(answer.text)["nodes"] if "paths" in one]
            assert shown["paths"] == shown.get("distinct", size) == size
            took.append(taken.processor)
        what = f"{size:,} nodes on each side"
        print(f"{what:32}{took[0] * 1000:8.0f} ms{took[1] * 1000:14.0f} ms")


def _graph(size: int) -> Iterator[GraphRecord]:
    """A root with many neighbours, all of which lead to a hub with as many others."""
    yield NodeRecord("root", "T")
    yield NodeRecord("hub", "T")
    for number in range(size):
        yield NodeRecord(f"a:{number}", "T")
        yield NodeRecord(f"b:{number}", "T")
        yield EdgeRecord("root", "HAS", f"a:{number}")
        yield EdgeRecord(f"a:{number}", "CITES", "hub")
        yield EdgeRecord("hub", "NAMES", f"b:{number}")
