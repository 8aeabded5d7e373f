"""Graphs that hypothesis makes, where it is installed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from bfsql.conformance.filling.side_by_side import both, ids_of, meetings, same, walks
from bfsql.conformance.graphs import HOSTILE
from bfsql.conformance.rule import Untried, rule
from bfsql.conformance.trial import Trial
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord, Triple

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

SECONDS = 30.0
"""How long one made graph may take."""

_IDS = (*(f"n:{n}" for n in range(8)), *(t for t in HOSTILE if len(t) < 100))  # noqa: PLR2004
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


@rule(
    "drawn-graphs",
    "graphs that hypothesis makes are answered like the reference",
    source="protocol 3 and 7: same graph, same bytes; parallel records are one edge",
    mode="filling",
)
async def drawn_graphs(trial: Trial) -> None:
    """Parallel edges, self-loops, cycles, isolated nodes, dangling ends, in any order."""
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


def _edge(triple: Triple, values: dict[str, Any]) -> EdgeRecord:
    subject, predicate, obj = triple
    return EdgeRecord(subject, predicate, obj, dict(values))


def _evidence(triple: Triple) -> EvidenceRecord:
    subject, predicate, obj = triple
    return EvidenceRecord(subject, predicate, obj, dict(_ITEM))


async def _answered(trial: Trial, records: list[GraphRecord]) -> None:
    able = trial.kept(records)
    async with both(trial, able) as (mine, wanted):
        await same(mine, wanted, "describe_schema", {})
        for arguments in walks(able):
            await same(mine, wanted, "bfs_query", arguments)
        for arguments in meetings(able):
            await same(mine, wanted, "intersect_subgraphs", arguments)
        for entity_id in ids_of(able):
            await same(mine, wanted, "describe_entity", {"id": entity_id})
        await same(mine, wanted, "describe_entities", {"ids": ["n:0", *ids_of(able)]})


def _graphs() -> SearchStrategy[list[GraphRecord]]:
    """Over a few ids each, so that records meet: parallel ones, passages before their edge."""
    from hypothesis import strategies as st

    few = st.lists(st.sampled_from(_IDS), min_size=1, max_size=5, unique=True)
    return few.flatmap(_records)


def _records(few: list[str]) -> SearchStrategy[list[GraphRecord]]:
    from hypothesis import strategies as st

    ids = st.sampled_from(few)
    predicates = st.sampled_from(("treats", "TREATS", "part of"))
    triples = st.tuples(ids, predicates, ids)
    nodes = st.builds(
        NodeRecord, ids, st.sampled_from(("Drug", "Gene", "")), st.sampled_from(_NODE_VALUES)
    )
    edges = st.builds(_edge, triples, st.sampled_from(_EDGE_VALUES))
    evidence = st.builds(_evidence, triples)
    return st.lists(nodes | nodes | edges | edges | evidence, max_size=30)
