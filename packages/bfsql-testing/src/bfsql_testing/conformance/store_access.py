"""How the backend uses its store: queries, round trips, privileges, lost connections, omissions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.errors import StoreError
from bfsql.graph import Graph, open_graph
from bfsql.models import Edge, NodeRecord
from bfsql_testing.conformance.comparison import both, same
from bfsql_testing.conformance.graphs import HOSTILE, hub, node_ids, village
from bfsql_testing.conformance.harness import (
    Broken,
    Trial,
    Untried,
    expect,
    expect_unavailable,
    filling_rule,
    ring_of,
    some_ids,
)

SHARE = 3
"""Of the hostile ids, each method is asked for one in three."""

MARK = "zq9xw"
"""A marker in search texts, which must not occur in any query."""

DEGREE = 200
"""Edges of the node of which the backend has to omit some."""

Ask = Callable[[str], Awaitable[Any]]


@filling_rule(
    "no value changes the text of a query",
    source="rule 7 of the architecture: values never become query text",
)
async def query_text(trial: Trial) -> None:
    """The same call sends the same query texts for a plain id and for a hostile one."""
    nodes = [NodeRecord(i, "Thing", {"name": "thing"}) for i in ("plain", *HOSTILE)]
    able = node_ids(trial.storable(nodes))
    async with trial.filled(nodes) as db:
        for number, (name, ask) in enumerate(_asks(db).items()):
            wanted = await _sent(trial, db, ask, "plain")
            unknown = await _sent(trial, db, ask, "no such id")
            # A text that holds the value differs for every other value, so a few do for each
            # method; together the methods are asked for all of them.
            for value in [*able[number % SHARE :: SHARE], "no such id'; --"]:
                sent = await _sent(trial, db, ask, value)
                known = value in able
                same = sent == wanted if known else set(sent) <= {*wanted, *unknown}
                expect(
                    same,
                    f"{name} sends other queries for {value[:60]!r} than for 'plain': {sent} "
                    f"instead of {wanted}."[:600],
                )
        for value in able[::SHARE]:
            for text in await _sent(trial, db, db.search_entities, f"{MARK} {value}"):
                expect(MARK not in text, f"The search text occurs in a query: {text[:300]}")


@filling_rule(
    "the round trips of a batch do not grow with its size",
    source="rule 2 of the architecture: one ring, one round trip",
)
async def round_trips(trial: Trial) -> None:
    """Counted for two and for a hundred keys."""
    async with trial.filled(trial.storable(hub(400))) as db:
        spokes = [f"spoke:{n:04}" for n in range(100)]
        edges = [("hub", "to", spoke) for spoke in spokes]
        for name, ask, keys in (
            ("get_nodes_batch", db.get_nodes_batch, spokes),
            ("edges_batch", db.edges_batch, spokes),
            ("metadata_for_nodes_batch", db.metadata_for_nodes_batch, spokes),
            ("metadata_for_edges_batch", db.metadata_for_edges_batch, edges),
        ):
            few = await _trips(trial, db, ask, keys[:2])
            many = await _trips(trial, db, ask, keys)
            expect(
                many <= few,
                f"{name} makes {few} round trips for 2 keys and {many} for {len(keys)}.",
            )


def _asks(db: GraphDbInterface) -> dict[str, Ask]:
    return {
        "get_node": _forgiving(db.get_node),
        "edges_from": _forgiving(db.edges_from),
        "edges_to": _forgiving(db.edges_to),
        "metadata_for_node": _forgiving(db.metadata_for_node),
        "get_nodes_batch": lambda value: db.get_nodes_batch([value]),
        "edges_batch": lambda value: db.edges_batch([value]),
        "metadata_for_nodes_batch": lambda value: db.metadata_for_nodes_batch([value]),
        "metadata_for_edges_batch": lambda v: db.metadata_for_edges_batch([Edge(v, v, v)]),
    }


def _forgiving(ask: Ask) -> Ask:
    async def forgiven(value: str) -> None:
        try:
            await ask(value)
        except KeyError:
            return

    return forgiven


async def _sent(trial: Trial, db: GraphDbInterface, ask: Ask, value: str) -> list[str]:
    """The texts of the queries that a call sends."""
    queries = trial.queries or (lambda _: None)
    before = queries(db)
    if before is None:
        raise Untried("The test class does not define queries_of.")
    count = len(before)
    await ask(value)
    return list(queries(db) or ())[count:]


async def _trips(
    trial: Trial, db: GraphDbInterface, ask: Callable[[Any], Awaitable[Any]], keys: Any
) -> int:
    """The number of round trips that a call makes."""
    count = trial.round_trips or (lambda _: None)
    before = count(db)
    if before is None:
        raise Untried("The test class does not define round_trips_of.")
    await ask(keys)
    return (count(db) or 0) - before


@filling_rule(
    "the backend answers again after its store was unavailable",
    source="the backend contract: StoreUnavailable, the same call may work later",
)
async def store_returns(trial: Trial) -> None:
    """Without it a StoreError is raised promptly; later the same answers come, cached or not."""
    async with trial.filled(trial.storable(village())) as db:
        away = trial.away(db)
        before = await _state(db)
        async with open_graph(db) as graph:
            async with away:
                for gone in (db, graph.db):
                    await expect_unavailable("get_node", partial(gone.get_node, "s:1"))
            tries = 3
            for _ in range(tries):
                try:
                    after = await _state(db)
                    through = await _state(graph.db)
                    break
                except StoreError:
                    continue
            else:
                raise Broken(
                    f"The store is available again, but {tries} calls in a row still fail."
                )
        expect(
            after == before, f"The store is available again, but answers are {after}, not {before}."
        )
        expect(through == before, f"Behind the cache, answers are {through}, not {before}.")


async def _state(db: GraphDbInterface) -> Any:
    edges = sorted(await ring_of(db, ["s:1", "e:1"]))
    return [(await db.get_node("s:1")).entity_type, edges]


@filling_rule(
    "reading needs only the right to read",
    source="rule 6 of the architecture: reading never writes, a backend needs only read rights",
)
async def read_rights(trial: Trial) -> None:
    """Opened without the right to write, the backend gives the answers of the reference."""
    reader, records = trial.reader(), trial.storable(village())
    async with both(reader, records) as (mine, wanted):
        ids = some_ids(records, 4)
        for entity_id in ids:
            await same(mine, wanted, "bfs_query", {"seeds": [entity_id], "max_hops": 2})
            await same(mine, wanted, "describe_entity", {"id": entity_id})
            await mine.search_entities(entity_id)
        await same(mine, wanted, "describe_entities", {"ids": ids})
        await same(mine, wanted, "describe_schema", {})


@filling_rule(
    "what is left out is reported cold, warm and in a shared flight",
    source="protocol 11: what a backend had to leave out reaches every reader",
)
async def omissions_said(trial: Trial) -> None:
    """By the backend itself, and in the notes of every answer."""
    if trial.omitting is None:
        raise Untried("The test class does not define omitting_with.")
    async with trial.omitting(trial.storable(hub(DEGREE))) as db:
        with call.scope() as scope:
            given = len(await ring_of(db, ["hub"]))
        expect(given < DEGREE, f"All {DEGREE} edges came; nothing was left out.")
        expect(
            {omission.id for omission in scope.omissions} == {"hub"},
            f"{DEGREE - given} edges of 'hub' were left out, but call.omitted reported "
            f"{scope.omissions}.",
        )
        missing = sum(omission.at_least or 0 for omission in scope.omissions)
        expect(missing <= DEGREE, f"{missing} edges are said to be missing of {DEGREE}.")
        async with open_graph(db) as graph:
            cold, warm = await _notes(graph), await _notes(graph)
        expect(cold, "bfs_query has no note of what was left out.")
        expect(warm == cold, f"Asked again, the notes are {warm} and not {cold}.")
        async with open_graph(db) as graph:
            shared = await asyncio.gather(*(_notes(graph) for _ in range(4)))
        expect(
            all(notes == cold for notes in shared),
            f"Callers that share one flight read {shared}, one alone reads {cold}.",
        )


async def _notes(graph: Graph) -> tuple[str, ...]:
    answer = await graph.bfs_query(["hub"], 1)
    return tuple(note for note in answer.notes if "hub" in note)
