"""The answers of the six tools: the bytes of the reference, over the kit's and generated graphs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bfsql.answers import shapes as answer_shapes
from bfsql.graph import Graph, open_graph
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_testing.conformance.comparison import both, difference, outcome, same, uncached
from bfsql_testing.conformance.graphs import (
    GONE,
    GRAPHS,
    HOSTILE,
    hostile,
    node_ids,
    values,
    village,
)
from bfsql_testing.conformance.harness import (
    Broken,
    Trial,
    Untried,
    expect,
    filling_rule,
    reading_rule,
    rule,
    some_ids,
)

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SAME_BYTES = (
    "protocol 3: the same query gives the same bytes on every run, machine and backend with the "
    "same graph"
)

SECONDS = 30.0
"""Time limit for one generated graph, in seconds."""

FEW = 6
"""Nodes of a graph that the calls of a rule begin at, which differ in depth, page or budget."""

_IDS = (*(f"n:{n}" for n in range(8)), *(t for t in HOSTILE if len(t) < 100))
_NODE_VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"name": "plain"},
    {"name": "caf\u00e9", "synonyms": ["z", "a"], "total_mentions": 3},
    {"name": "other", "total_mentions": 1, "weight": 0.5, "tags": ["one", "two"]},
    {"nested": {"b": [1, None], "a": {"c": "d"}}, "total_mentions": "many"},
)
_EDGE_VALUES: tuple[dict[str, Any], ...] = (
    {},
    {"confidence": 0.5, "source_documents": ["doc:1"]},
    {"confidence": 0.25, "source_documents": ["doc:2", "doc:1"], "note": "second"},
)
_ITEM = {"document_id": "n:0", "text_span": "It does.", "confidence": 0.5}


def _walks(records: Sequence[GraphRecord]) -> Iterator[dict[str, Any]]:
    """Arguments of `bfs_query` for a graph: depths, filters, pages, budgets."""
    ids = some_ids(records, FEW)
    types, predicates = _types_and_predicates(records)
    for number, entity_id in enumerate(ids):
        yield {"seeds": [entity_id], "max_hops": 1 + number % 3}
    if not ids:
        return
    few = [ids[0], ids[-1]]
    yield {"seeds": few, "max_hops": 5}
    yield {"seeds": few, "max_hops": 2, "topology_only": True, "max_tokens": 0}
    yield {"seeds": few, "max_hops": 2, "limit": 3, "offset": 1}
    yield {"seeds": few, "max_hops": 2, "limit": 3, "offset": 10_000}
    yield {"seeds": few, "max_hops": 2, "max_tokens": 700}
    yield {"seeds": few, "max_hops": 3, "min_mentions": 2}
    if types and predicates:
        yield {"seeds": few, "max_hops": 2, "node_types": types[:1]}
        yield {"seeds": few, "max_hops": 2, "predicates": predicates[-1:]}
        yield {"seeds": few, "max_hops": 3, "exclude_node_types": types[-1:]}
        yield {"seeds": few, "max_hops": 1, "node_types": ["no such type"]}


def _intersections(records: Sequence[GraphRecord]) -> Iterator[dict[str, Any]]:
    """Arguments of `intersect_subgraphs`: neighbours in the list, and strangers."""
    ids = some_ids(records, FEW)
    types, _ = _types_and_predicates(records)
    for number, (one, other) in enumerate(zip(ids, [*ids[1:], ids[0]] if ids else [], strict=True)):
        yield {"seeds": [one, other], "k": 1 + number % 3}
    if len(ids) > 2:  # three seeds
        yield {"seeds": ids[:3], "k": 2, "topology_only": True}
        yield {"seeds": ids[:2], "k": 2, "exclude_node_types": types[-1:]}


def _types_and_predicates(records: Iterable[GraphRecord]) -> tuple[list[str], list[str]]:
    types = {record.entity_type for record in records if isinstance(record, NodeRecord)}
    predicates = {record.predicate for record in records if isinstance(record, EdgeRecord)}
    return sorted(types - {""}), sorted(predicates)


def _entities(records: Sequence[GraphRecord]) -> Iterator[dict[str, Any]]:
    """Arguments of `describe_entity`: every hostile id, and some of the others."""
    hostile_ids = [entity_id for entity_id in node_ids(records) if entity_id in HOSTILE]
    for entity_id in dict.fromkeys([*hostile_ids, *some_ids(records, FEW)]):
        yield {"id": entity_id}


def _lists(records: Sequence[GraphRecord]) -> Iterator[dict[str, Any]]:
    """Arguments of `describe_entities`: repeated and unknown ids among the known ones."""
    ids = some_ids(records, 60)
    yield {"ids": [*ids[::-1], "no such id", *ids[:2]]}
    yield {"ids": ["no such id"]}


async def same_bytes(
    trial: Trial,
    *,
    tool: str,
    arguments: Callable[[Sequence[GraphRecord]], Iterable[dict[str, Any]]],
) -> None:
    """The answers of a tool over every graph of the kit."""
    for name, graph in GRAPHS.items():
        records = trial.storable(graph())
        async with both(trial, records) as (mine, wanted):
            for given in arguments(records):
                try:
                    await same(mine, wanted, tool, given)
                except Broken as broken:
                    raise Broken(f"Over the graph {name}: {broken}") from broken


_BYTES = "the bytes of the reference"
_LISTS = "the same types, predicates and comprehensive as the reference"
for _id, _tool, _what, _arguments in (
    ("bfs-bytes", "bfs_query", _BYTES, _walks),
    ("intersect-bytes", "intersect_subgraphs", _BYTES, _intersections),
    ("entity-bytes", "describe_entity", _BYTES, _entities),
    ("entities-bytes", "describe_entities", _BYTES, _lists),
    ("schema-lists", "describe_schema", _LISTS, lambda _: [{}]),
):
    _register = rule(
        _id,
        f"{_tool} gives {_what}",
        source=SAME_BYTES,
        mode="filling",
        tool=_tool,
        arguments=_arguments,
    )
    _register(same_bytes)


@filling_rule("protocol 12: an unknown id is an error that names the closest known ones")
async def same_errors(trial: Trial) -> None:
    """A call that fails fails as over the reference."""
    records = trial.storable(village())
    strangers = ["no such id", "s:00", "S:0", " s:0", GONE, *HOSTILE[:16], "\ud800", "x" * 17_000]
    async with both(trial, records) as (mine, wanted):
        for stranger in strangers:
            await same(mine, wanted, "describe_entity", {"id": stranger})
        for stranger in strangers[::3]:  # the other tools look ids up in the same way
            await same(mine, wanted, "bfs_query", {"seeds": ["s:0", stranger], "max_hops": 1})
            await same(mine, wanted, "intersect_subgraphs", {"seeds": [stranger, "s:0"], "k": 1})
        await same(mine, wanted, "bfs_query", {"seeds": ["s:0"], "max_hops": 6})
        await same(mine, wanted, "bfs_query", {"seeds": ["s:0"], "max_hops": 5, "max_tokens": 500})


@filling_rule("the backend contract: the cache is transparent")
async def cached_as_direct(trial: Trial) -> None:
    """Answers are the same cold, warm and without the cache."""
    for graph in (hostile, values, village):
        records = trial.storable(graph())
        async with trial.filled(records) as db, open_graph(db) as cached:
            direct = uncached(db)
            for tool, arguments in _everything(records):
                cold = await outcome(cached, tool, arguments)
                warm = await outcome(cached, tool, arguments)
                without = await outcome(direct, tool, arguments)
                call = f"{tool}({arguments})"[:200]
                if cold != without:
                    raise Broken(difference(f"{call} through the cache", cold, without))
                if warm != cold:
                    raise Broken(difference(f"{call} asked again", warm, cold))
            for method in ("get_nodes_batch", "edges_batch", "metadata_for_nodes_batch"):
                given = some_ids(records)
                await getattr(db, method)(given)
                expect(given == some_ids(records), f"{method} changed the list that it was given.")


def _everything(records: Sequence[GraphRecord]) -> Iterable[tuple[str, dict[str, Any]]]:
    ids = some_ids(records, FEW)
    yield "describe_schema", {}
    for entity_id in ids:
        yield "search_entities", {"query": entity_id}
        yield "describe_entity", {"id": entity_id}
        yield "bfs_query", {"seeds": [entity_id], "max_hops": 2}
    yield "search_entities", {"query": "house", "node_types": ["House"]}
    yield "describe_entities", {"ids": [*ids, "no such id"]}
    yield "intersect_subgraphs", {"seeds": ids[:2], "k": 2}


@filling_rule("protocol 3 and 7: same graph, same bytes; parallel records are one edge")
async def drawn_graphs(trial: Trial) -> None:
    """Graphs that hypothesis makes are answered like the reference."""
    try:
        import hypothesis
    except ImportError:
        raise Untried("hypothesis is not installed: pip install bfsql-core[testing]") from None
    loop = asyncio.get_running_loop()

    # Hypothesis is plain code: it runs beside the loop and hands each graph back to it, so that
    # a backend stays in the loop that its author's fixtures live in.
    @hypothesis.settings(
        max_examples=trial.examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(_graphs())
    def every_graph(records: list[GraphRecord]) -> None:
        asyncio.run_coroutine_threadsafe(_answered(trial, records), loop).result(SECONDS)

    await asyncio.to_thread(every_graph)


async def _answered(trial: Trial, records: list[GraphRecord]) -> None:
    able = trial.storable(records)
    async with both(trial, able) as (mine, wanted):
        await same(mine, wanted, "describe_schema", {})
        for arguments in _walks(able):
            await same(mine, wanted, "bfs_query", arguments)
        for arguments in _intersections(able):
            await same(mine, wanted, "intersect_subgraphs", arguments)
        for entity_id in some_ids(able):
            await same(mine, wanted, "describe_entity", {"id": entity_id})
        await same(mine, wanted, "describe_entities", {"ids": ["n:0", *some_ids(able)]})


def _graphs() -> SearchStrategy[list[GraphRecord]]:
    """Graphs over a few ids each, so that records meet: parallel edges, passages before edges."""
    from hypothesis import strategies as st

    few = st.lists(st.sampled_from(_IDS), min_size=1, max_size=5, unique=True)
    return few.flatmap(_records)


def _records(few: list[str]) -> SearchStrategy[list[GraphRecord]]:
    from hypothesis import strategies as st

    ids = st.sampled_from(few)
    predicates = st.sampled_from(("treats", "TREATS", "part of"))
    nodes = st.builds(
        NodeRecord, ids, st.sampled_from(("Drug", "Gene", "")), st.sampled_from(_NODE_VALUES)
    )
    edges = st.builds(EdgeRecord, ids, predicates, ids, st.sampled_from(_EDGE_VALUES).map(dict))
    evidence = st.builds(EvidenceRecord, ids, predicates, ids, st.builds(dict, st.just(_ITEM)))
    return st.lists(nodes | nodes | edges | edges | evidence, max_size=30)


@reading_rule("the six tools: their answers")
async def tools_answer(trial: Trial) -> None:
    """All six tools answer over it."""
    async with trial.sampled() as (db, found_ids), open_graph(db) as graph:
        ids = [(await db.get_node(i)).id for i in found_ids]
        ids = list(dict.fromkeys(i for i in ids if i.strip()))[:10]
        await _answer(graph, "describe_schema")
        for entity_id in ids[:3]:
            hits = await _answer(graph, "search_entities", query=entity_id)
            what = f"search_entities through the cache does not find the id {entity_id!r}."
            expect(entity_id in [hit["id"] for hit in hits], what)
            types = [(await db.get_node(entity_id)).entity_type]
            hits = await _answer(graph, "search_entities", query=entity_id, node_types=types)
            expect(hits, f"search_entities with node_types={types} lost {entity_id!r}.")
            found = await _answer(graph, "bfs_query", seeds=[entity_id], max_hops=1, limit=50)
            expect(found["seeds"] == [entity_id], f"bfs_query lost its seed {entity_id!r}.")
            found = await _answer(graph, "describe_entity", id=entity_id)
            expect(found["id"] == entity_id, f"describe_entity({entity_id!r}) is {found['id']!r}.")
        listed = await _answer(graph, "describe_entities", ids=ids)
        expect([record["id"] for record in listed] == ids, "describe_entities lost ids or order.")
        if len(ids) > 1:
            await _answer(graph, "intersect_subgraphs", seeds=ids[:2], k=1)


async def _answer(graph: Graph, tool: str, **arguments: Any) -> Any:
    answer = await graph.call(tool, arguments)
    answer_shapes.ANSWERS[tool].validate_json(answer.text)
    return json.loads(answer.text)
