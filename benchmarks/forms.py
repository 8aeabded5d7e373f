"""`nox -s benchmarks -- forms`: the characters of nine calls in JSON and in lines."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphs import records_of

from bfsql import Graph, Limits, MemoryBackend, open_graph
from bfsql.cli.demo import films_paths
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql.models.matching import name_of


def report() -> None:
    """Print both numbers for medlit, if `BFSQL_MEDLIT` names its folder, and for the films."""
    print("graph             JSON     lines")
    if folder := os.environ.get("BFSQL_MEDLIT"):
        asyncio.run(_report("medlit", [Path(folder)]))
    with films_paths() as paths:
        asyncio.run(_report("films", paths))


async def _report(name: str, paths: Sequence[Path]) -> None:
    records = list(records_of(paths))
    calls = _calls(records)
    figures = []
    for form in (Limits(), Limits(answer_format="lines")):
        async with open_graph(MemoryBackend(records), limits=form) as graph:
            figures.append(sum([await _characters(graph, tool, how) for tool, how in calls]))
    print(f"{name:10}" + "".join(f"{figure:12,}" for figure in figures))


async def _characters(graph: Graph, tool: str, arguments: dict[str, Any]) -> int:
    answer = await graph.call(tool, arguments)
    return sum(map(len, answer.blocks))


def _calls(records: Sequence[GraphRecord]) -> list[tuple[str, dict[str, Any]]]:
    """Calls about the two nodes with the most edges."""
    names = {one.id: name_of(one.metadata) for one in records if isinstance(one, NodeRecord)}
    edges = [one for one in records if isinstance(one, EdgeRecord)]
    ends = Counter(end for one in edges for end in (one.subject, one.object) if end in names)
    first, second = (node for node, _ in ends.most_common(2))
    around = [
        {"seeds": [first], "max_hops": hops, "topology_only": bare}
        for hops in (1, 2)
        for bare in (False, True)
    ]
    return [
        ("describe_schema", {}),
        ("search_entities", {"query": names[first] or first}),
        *(("bfs_query", one) for one in around),
        ("describe_entity", {"id": first}),
        ("describe_entities", {"ids": [first, second]}),
        ("intersect_subgraphs", {"seeds": [first, second], "k": 1}),
    ]
