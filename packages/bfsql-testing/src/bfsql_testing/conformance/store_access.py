"""How the backend uses its store: queries, round trips, privileges, lost connections, omissions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
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
    SINGLE,
    Broken,
    Trial,
    Untried,
    answered,
    expect,
    expect_same,
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


@filling_rule("rule 7 of the architecture: values never become query text")
async def query_text(trial: Trial) -> None:
    """No value changes the text of a query."""
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
                same = sent == wanted if value in able else set(sent) <= {*wanted, *unknown}
                what = f"{name} sends other queries for {value[:60]!r} than for 'plain'"
                expect(same, f"{what}: {sent} instead of {wanted}."[:600])
        for value in able[::SHARE]:
            for text in await _sent(trial, db, db.search_entities, f"{MARK} {value}"):
                expect(MARK not in text, f"The search text occurs in a query: {text[:300]}")


@filling_rule("rule 2 of the architecture: one ring, one round trip")
async def round_trips(trial: Trial) -> None:
    """The round trips of a batch do not grow with its size."""
    async with trial.filled(trial.storable(hub(400))) as db:
        spokes = [f"spoke:{n:04}" for n in range(100)]
        edges = [("hub", "to", spoke) for spoke in spokes]
        batches = ("get_nodes_batch", "edges_batch", "metadata_for_nodes_batch")
        asked = dict.fromkeys(batches, spokes) | {"metadata_for_edges_batch": edges}
        for name, keys in asked.items():
            few, many = [await _trips(trial, db, name, part) for part in (keys[:2], keys)]
            what = f"{name} makes {few} round trips for 2 keys and {many} for {len(keys)}."
            expect(many <= few, what)


def _asks(db: GraphDbInterface) -> dict[str, Ask]:
    asks: dict[str, Ask] = {name: partial(answered, db, name) for name in SINGLE}
    for name in ("get_nodes_batch", "edges_batch", "metadata_for_nodes_batch"):
        asks[name] = lambda value, name=name: getattr(db, name)([value])  # type: ignore[misc]
    return asks | {
        "metadata_for_edges_batch": lambda v: db.metadata_for_edges_batch([Edge(v, v, v)])
    }


async def _sent(trial: Trial, db: GraphDbInterface, ask: Ask, value: str) -> list[str]:
    """The texts of the queries that a call sends."""
    queries = trial.queries or (lambda _: None)
    before = queries(db)
    if before is None:
        raise Untried("The test class does not define queries_of.")
    count = len(before)
    await ask(value)
    return list(queries(db) or ())[count:]


async def _trips(trial: Trial, db: GraphDbInterface, method: str, keys: Any) -> int:
    """The number of round trips that a call makes."""
    count = trial.round_trips or (lambda _: None)
    before = count(db)
    if before is None:
        raise Untried("The test class does not define round_trips_of.")
    await getattr(db, method)(keys)
    return (count(db) or 0) - before


@filling_rule("the backend contract: StoreUnavailable, the same call may work later")
async def store_returns(trial: Trial) -> None:
    """The backend answers again after its store was unavailable."""
    async with trial.filled(trial.storable(village())) as db:
        away = trial.away(db)
        before = await _state(db)
        async with open_graph(db) as graph:
            async with away:
                for gone in (db, graph.db):
                    await expect_unavailable("get_node", partial(gone.get_node, "s:1"))
            again = "The store is available again, but"
            tries = 3
            for _ in range(tries):
                with suppress(StoreError):
                    after, through = await _state(db), await _state(graph.db)
                    break
            else:
                raise Broken(f"{again} {tries} calls in a row still fail.")
        expect_same(f"{again} an answer", after, before)
        expect_same(f"{again} behind the cache an answer", through, before)


async def _state(db: GraphDbInterface) -> Any:
    edges = sorted(await ring_of(db, ["s:1", "e:1"]))
    return [(await db.get_node("s:1")).entity_type, edges]


@filling_rule("rule 6 of the architecture: reading never writes, a backend needs only read rights")
async def read_rights(trial: Trial) -> None:
    """Reading needs only the right to read."""
    reader, records = trial.reader(), trial.storable(village())
    async with both(reader, records) as (mine, wanted):
        ids = some_ids(records, 4)
        for entity_id in ids:
            await same(mine, wanted, "bfs_query", {"seeds": [entity_id], "max_hops": 2})
            await same(mine, wanted, "describe_entity", {"id": entity_id})
            await mine.search_entities(entity_id)
        await same(mine, wanted, "describe_entities", {"ids": ids})
        await same(mine, wanted, "describe_schema", {})


@filling_rule("protocol 11: what a backend had to leave out reaches every reader")
async def omissions_said(trial: Trial) -> None:
    """What is left out is reported cold, warm and in a shared flight."""
    if trial.omitting is None:
        raise Untried("The test class does not define omitting_with.")
    async with trial.omitting(trial.storable(hub(DEGREE))) as db:
        with call.scope() as scope:
            given = len(await ring_of(db, ["hub"]))
        expect(given < DEGREE, f"All {DEGREE} edges came; nothing was left out.")
        ids = {omission.id for omission in scope.omissions}
        what = f"{DEGREE - given} edges of 'hub' were left out, but call.omitted reported"
        expect(ids == {"hub"}, f"{what} {scope.omissions}.")
        missing = sum(omission.at_least or 0 for omission in scope.omissions)
        expect(missing <= DEGREE, f"{missing} edges are said to be missing of {DEGREE}.")
        async with open_graph(db) as graph:
            cold, warm = await _notes(graph), await _notes(graph)
        expect(cold, "bfs_query has no note of what was left out.")
        expect(warm == cold, f"Asked again, the notes are {warm} and not {cold}.")
        async with open_graph(db) as graph:
            shared = await asyncio.gather(*(_notes(graph) for _ in range(4)))
        what = f"Callers that share one flight read {shared}, one alone reads {cold}."
        expect({*shared} == {cold}, what)


async def _notes(graph: Graph) -> tuple[str, ...]:
    answer = await graph.bfs_query(["hub"], 1)
    return tuple(note for note in answer.notes if "hub" in note)
