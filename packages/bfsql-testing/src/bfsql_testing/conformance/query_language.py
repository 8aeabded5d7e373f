"""Answers that one call filters, sorts and follows: the bytes of the reference, however read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bfsql.abc import ForwardingBackend, GraphDbInterface
from bfsql.models import EdgeRecord, GraphRecord, Metadata, NodeRecord, Triple
from bfsql.models.valid_time import TimeKeys
from bfsql_testing.conformance.answers import SAME_BYTES
from bfsql_testing.conformance.comparison import same_either_way
from bfsql_testing.conformance.graphs import laboratory
from bfsql_testing.conformance.harness import Trial, filling_rule

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("bfs_query", {"seeds": ["d:0"], "path": ["<-studies- Trial"]}),
    ("bfs_query", {"seeds": ["d:0"], "path": ["<-studies- Trial", "-tests-> Compound"]}),
    ("bfs_query", {"seeds": ["c:0"], "path": ["-interacts_with-{1,3}"], "count_distinct": 0}),
    ("bfs_query", {"seeds": ["d:0"], "path": ["<--"], "measure": ["max 0.year", "count 0"]}),
    ("bfs_query", {"seeds": ["d:0"], "max_hops": 1, "facets": ["year", "tags"], "limit": 0}),
    ("bfs_query", {"seeds": ["c:0", "c:1"], "path": ["-treats|causes->", "<--"], "show": "ends"}),
    ("bfs_query", {"seeds": ["l:0"], "path": ["-->", "-tests->", "--"], "show": "1"}),
    ("bfs_query", {"seeds": ["c:0"], "path": ["-treats->"] * 2}),
    ("bfs_query", {"seeds": ["c:0"], "path": ["-treats->"], "limit": 1, "offset": 1}),
    ("bfs_query", {"seeds": ["l:0"], "path": ["-runs->", "-studies->"], "to": ["d:1"]}),
    ("bfs_query", {"seeds": ["c:0"], "path": ["-treats->"], "to": ["d:0", "d:2"]}),
    ("bfs_query", {"seeds": ["l:0"], "to": ["c:3", "d:2"]}),
    ("bfs_query", {"seeds": ["l:0", "c:0"], "to": ["d:0"], "exclude_node_types": ["Trial"]}),
    ("bfs_query", {"seeds": ["l:0"], "path": ["-runs-> Trial"], "where": ["year>=2003"]}),
    ("bfs_query", {"seeds": ["d:0"], "path": ["<-treats-"], "where": ["treats.confidence>0.5"]}),
    ("bfs_query", {"seeds": ["l:0"], "path": ["-->", "-->"], "where": ["1.status=open|paused"]}),
    ("bfs_query", {"seeds": ["l:0"], "max_hops": 2, "where": ["year<2005", "Compound.name~0"]}),
    ("bfs_query", {"seeds": ["d:0"], "max_hops": 1, "where": ["tags=b"], "sort_by": "-year"}),
    ("bfs_query", {"seeds": ["d:0"], "max_hops": 1, "where": ["confidence<=0.5"]}),
    ("bfs_query", {"seeds": ["d:0"], "max_hops": 1, "sort_by": "year", "limit": 3}),
    ("bfs_query", {"seeds": ["d:0"], "max_hops": 2, "sort_by": "-degree", "fields": ["name"]}),
    ("bfs_query", {"seeds": ["l:0"], "max_hops": 1, "fields": ["year", "status", "nothing"]}),
    ("bfs_query", {"seeds": ["l:0"], "max_hops": 2, "limit": 0}),
    ("bfs_query", {"seeds": ["d:0"], "path": ["<--"], "sort_by": "-paths", "fields": ["name"]}),
    ("bfs_query", {"seeds": ["Laboratory"], "path": ["-runs->"], "where": ["year=1900"]}),
    ("bfs_query", {"seeds": ["l:0"], "path": ["<-runs-"]}),
    ("bfs_query", {"seeds": ["l:0"], "path": ["--", "-->{1,2}"], "show": "walks", "limit": 9}),
    ("bfs_query", {"seeds": ["d:0"], "path": ["<--"], "show": "walks", "sort_by": "-1.year"}),
    ("bfs_query", {"seeds": ["l:0"], "along": ["-runs->", "-tests-> Compound", "<-treats-"]}),
    ("bfs_query", {"seeds": ["c:3"], "to": ["l:0"], "along": ["<-tests-", "Trial <-runs-"]}),
    ("intersect_subgraphs", {"seeds": ["c:0", "t:5"], "k": 2, "connect": True}),
    ("intersect_subgraphs", {"seeds": ["l:0", "c:3"], "connect": True, "fields": ["name"]}),
    ("intersect_subgraphs", {"seeds": ["c:0", "c:1"], "k": 1, "where": ["Disease.year=1"]}),
    ("describe_schema", {"seeds": ["c:0"]}),
)
"""The calls over the laboratory graph."""


_DATES: tuple[dict[str, Any], ...] = (
    {},
    {"since": "2010"},
    {"until": "2012-01"},
    {"since": "2010-05-01", "until": "2012-06-15"},
    {"since": "2013", "until": "2011"},
    {"since": "soon", "until": "2009-12-31"},
)
CALLS_AT_A_TIME: tuple[tuple[str, dict[str, Any]], ...] = tuple(
    (tool, {**arguments, "at": at})
    for at in ("2012-06-14", "2010..2011", "..2009")
    for tool, arguments in (
        ("bfs_query", {"seeds": ["f:1"], "max_hops": 2}),
        ("bfs_query", {"seeds": ["f:1"], "path": ["-->", "--"], "measure": ["count 1"]}),
        ("bfs_query", {"seeds": ["f:1", "f:4"], "sort_by": "-degree", "limit": 5}),
        ("intersect_subgraphs", {"seeds": ["f:1", "f:4"], "k": 2}),
        ("describe_entity", {"id": "f:1"}),
    )
)
"""Calls over facts with dates, at a day, in a period, and before a day."""


def dated() -> list[GraphRecord]:
    """Facts that lead to each other, of which some begin and end."""
    facts: list[GraphRecord] = [
        NodeRecord(f"f:{n}", "Fact", {"name": f"fact {n}", **(_DATES[n % 6] if n % 4 == 2 else {})})
        for n in range(12)
    ]
    return facts + [
        EdgeRecord(f"f:{n}", "leads_to", f"f:{(5 * n + k) % 12}", _DATES[(n + k) % 6])
        for n in range(12)
        for k in (1, 2)
    ]


class _WholeOnly(ForwardingBackend):
    """A backend that only returns whole rings and whole metadata, in strings."""

    edges_stream = GraphDbInterface.edges_stream
    columns = GraphDbInterface.columns

    # These are the signatures of a backend that cannot return parts.
    async def edges_batch(  # type: ignore[override]
        self, ids: Sequence[str]
    ) -> Iterable[Triple]:
        return await super().edges_batch(ids)

    async def metadata_for_nodes_batch(  # type: ignore[override]
        self, ids: Sequence[str]
    ) -> Mapping[str, Metadata]:
        return await super().metadata_for_nodes_batch(ids)

    async def metadata_for_edges_batch(  # type: ignore[override]
        self, edges: Collection[Triple]
    ) -> Mapping[Triple, Metadata]:
        return await super().metadata_for_edges_batch(edges)


@filling_rule(
    SAME_BYTES,
    "path, to, where, sort_by, fields and connect give the bytes of the reference, "
    "whether the store filters or core does",
)
async def asking_bytes(trial: Trial) -> None:
    """Steps, targets, conditions, orders and pages; parts pushed down, and read whole."""
    records = trial.storable(laboratory())
    async with trial.filled(records) as db:
        await same_either_way(db, records, _WholeOnly(db), "filters", CALLS)


@filling_rule(
    "protocol 40: facts that do not hold at a time are not there",
    "at gives the bytes of the reference, where properties have the dates of facts",
)
async def valid_time(trial: Trial) -> None:
    """Dates of several precisions, open ends, ends before the start, and a date that is none."""
    records = trial.storable(dated())
    async with trial.filled(records) as db:
        db.time_keys = TimeKeys(("since",), ("until",))
        await same_either_way(db, records, _WholeOnly(db), "filters", CALLS_AT_A_TIME)
