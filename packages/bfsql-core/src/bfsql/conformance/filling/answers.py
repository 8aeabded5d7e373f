"""The same bytes as the reference, tool by tool, over every graph of the kit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bfsql.conformance.filling.side_by_side import (
    both,
    difference,
    ids_of,
    meetings,
    said,
    same,
    uncached,
    walks,
)
from bfsql.conformance.graphs import GONE, GRAPHS, HOSTILE, hostile, shapes, values, village
from bfsql.conformance.rule import Broken, rule
from bfsql.conformance.trial import Trial
from bfsql.graph import open_graph
from bfsql.models import GraphRecord

SOURCE = (
    "protocol 3: the same query gives the same bytes on every run, machine and backend that "
    "holds the same graph"
)


async def _same_for_all(
    trial: Trial,
    tool: str,
    arguments: Callable[[Sequence[GraphRecord]], Iterable[dict[str, Any]]],
) -> None:
    for name, graph in GRAPHS.items():
        records = trial.kept(graph())
        async with both(trial, records) as (mine, wanted):
            for asked in arguments(records):
                try:
                    await same(mine, wanted, tool, asked)
                except Broken as broken:
                    raise Broken(f"Over the graph {name}: {broken}") from broken


@rule("bfs-bytes", "bfs_query gives the bytes of the reference", source=SOURCE, mode="filling")
async def bfs_bytes(trial: Trial) -> None:
    """Depths, filters, pages and budgets."""
    await _same_for_all(trial, "bfs_query", walks)


@rule(
    "intersect-bytes",
    "intersect_subgraphs gives the bytes of the reference",
    source=SOURCE,
    mode="filling",
)
async def intersect_bytes(trial: Trial) -> None:
    """Neighbours, strangers, three seeds."""
    await _same_for_all(trial, "intersect_subgraphs", meetings)


@rule(
    "entity-bytes",
    "describe_entity gives the bytes of the reference",
    source=SOURCE,
    mode="filling",
)
async def entity_bytes(trial: Trial) -> None:
    """With the evidence that touches the entity, for every node of a small graph."""
    await _same_for_all(
        trial, "describe_entity", lambda records: ({"id": i} for i in ids_of(records, 200))
    )


@rule(
    "entities-bytes",
    "describe_entities gives the bytes of the reference",
    source=SOURCE,
    mode="filling",
)
async def entities_bytes(trial: Trial) -> None:
    """In the order asked, unknown ones left out and named."""

    def lists(records: Sequence[GraphRecord]) -> Iterable[dict[str, Any]]:
        ids = ids_of(records, 60)
        yield {"ids": [*ids[::-1], "no such id", *ids[:2]]}
        yield {"ids": ["no such id"]}

    await _same_for_all(trial, "describe_entities", lists)


@rule(
    "schema-lists",
    "describe_schema tells the same types, predicates and comprehensive as the reference",
    source=SOURCE,
    mode="filling",
)
async def schema_lists(trial: Trial) -> None:
    """Sorted by code point, in one spelling."""
    await _same_for_all(trial, "describe_schema", lambda _: [{}])


@rule(
    "same-errors",
    "a call that fails fails as over the reference",
    source="protocol 12: an unknown id is an error that names the closest known ones",
    mode="filling",
)
async def same_errors(trial: Trial) -> None:
    """Compared by kind and argument: unknown ids, plain, hostile, dangling, between known ones."""
    records = trial.kept([*shapes(), *village()])
    strangers = ["no such id", "s:00", "S:0", " s:0", GONE, *HOSTILE[:16], "\ud800", "x" * 17_000]
    async with both(trial, records) as (mine, wanted):
        for stranger in strangers:
            await same(mine, wanted, "describe_entity", {"id": stranger})
            await same(mine, wanted, "bfs_query", {"seeds": ["s:0", stranger], "max_hops": 1})
            await same(mine, wanted, "intersect_subgraphs", {"seeds": [stranger, "s:0"], "k": 1})
        await same(mine, wanted, "bfs_query", {"seeds": ["s:0"], "max_hops": 6})
        await same(mine, wanted, "bfs_query", {"seeds": ["s:0"], "max_hops": 5, "max_tokens": 500})


@rule(
    "cached-as-direct",
    "answers are the same cold, warm and without the cache",
    source="chapter 8: the cache is transparent",
    mode="filling",
)
async def cached_as_direct(trial: Trial) -> None:
    """All six tools, search included."""
    for graph in (village, hostile, values):
        records = trial.kept(graph())
        async with trial.filled(records) as db, open_graph(db) as cached:
            direct = uncached(db)
            for tool, arguments in _everything(records):
                cold = await said(cached, tool, arguments)
                warm = await said(cached, tool, arguments)
                without = await said(direct, tool, arguments)
                asked = f"{tool}({arguments})"[:200]
                if cold != without:
                    raise Broken(difference(f"{asked} through the cache", cold, without))
                if warm != cold:
                    raise Broken(difference(f"{asked} asked again", warm, cold))


def _everything(records: Sequence[GraphRecord]) -> Iterable[tuple[str, dict[str, Any]]]:
    ids = ids_of(records)
    yield "describe_schema", {}
    for entity_id in ids:
        yield "search_entities", {"query": entity_id}
        yield "describe_entity", {"id": entity_id}
        yield "bfs_query", {"seeds": [entity_id], "max_hops": 2}
    yield "search_entities", {"query": "house", "node_types": ["House"]}
    yield "describe_entities", {"ids": [*ids, "no such id"]}
    yield "intersect_subgraphs", {"seeds": ids[:2], "k": 2}
