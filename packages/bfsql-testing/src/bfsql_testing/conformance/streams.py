"""`edges_stream`: a ring in batches is the ring of `edges_batch`, with right types or with none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from bfsql import call
from bfsql.abc import Abilities, GraphDbInterface, normalized
from bfsql.models import GraphRecord
from bfsql_testing.conformance.graphs import hub, node_ids, tangled
from bfsql_testing.conformance.harness import (
    UNKNOWN,
    Trial,
    Untried,
    edges_of,
    expect,
    expect_same,
    filling_rule,
    looked_at,
    parts_of,
    reading_rule,
    ring_of,
)
from bfsql_testing.conformance.isolation import soon

STREAM = "the backend contract: edges_stream gives the ring of edges_batch in batches"


@asynccontextmanager
async def _streaming(
    trial: Trial, records: Sequence[GraphRecord]
) -> AsyncIterator[tuple[GraphDbInterface, list[str]]]:
    async with looked_at(trial, records) as (db, ids):
        if "edges_stream" not in Abilities.of(db).methods:
            raise Untried("The backend has no edges_stream of its own.")
        yield db, ids


async def _rows(db: GraphDbInterface, ids: Sequence[str]) -> list[tuple[Any, ...]]:
    return [tuple(row) async for rows in db.edges_stream(ids) for row in rows]


@reading_rule("edges_stream gives the edges of edges_batch", source=STREAM)
async def stream_edges(trial: Trial) -> None:
    """Node by node and of all together; unknown ids and ends without a node add nothing."""
    async with _streaming(trial, tangled()) as (db, ids):
        for asked in (*([entity_id] for entity_id in ids[:12]), ids):
            with call.scope(seconds=call.remaining()) as scope:
                streamed = {row[:3] for row in await _rows(db, asked)}
            wanted = await edges_of(db.edges_batch, asked)
            what = f"edges_stream and edges_batch of {repr(asked) if len(asked) == 1 else 'ids'}"
            whole = wanted.whole and not scope.omissions
            expect_same(what, streamed, wanted.triples, whole=whole)
        ends = {end for s, _, o in wanted.triples for end in (s, o)}
        strangers = sorted(ends - {node.id for node in await db.get_nodes_batch(sorted(ends))})
        for unknown in ([], [*UNKNOWN, *strangers]):
            rows = await _rows(db, unknown)
            expect(not rows, f"edges_stream gave {rows[:3]} for ids that are not nodes.")


@reading_rule("edges_stream gives the part that edges_batch gives", source=STREAM)
async def stream_part(trial: Trial) -> None:
    """Some predicates, none and unknown ones; leaving, entering and both."""
    async with _streaming(trial, tangled()) as (db, ids):
        whole = await edges_of(db.edges_batch, ids)
        for part, wanted in parts_of(whole.triples, ids):
            with call.scope(seconds=call.remaining()) as scope:
                stream = normalized(db).edges_stream(ids, **part)
                read = {tuple(row[:3]) async for rows in stream for row in rows}
            what = f"edges_stream with {part} and the same part of edges_batch"
            expect_same(what, read, wanted, whole=whole.whole and not scope.omissions)


@reading_rule(
    "edges_stream gives the types of all ends, None for one that is not a node, or of none",
    source="the backend contract: rows of three or of five; protocol 8: an end without a node",
)
async def stream_types(trial: Trial) -> None:
    """Rows of one length in a ring; in rows of five the types of get_nodes_batch."""
    async with _streaming(trial, tangled()) as (db, ids):
        rows = await _rows(db, ids)
        lengths = {len(row) for row in rows}
        expect(
            lengths <= {3} or lengths <= {5},
            f"The rows of a ring have {sorted(lengths)} columns; all have 3, or all have 5.",
        )
        if lengths != {5}:
            return
        types = {**{row[0]: row[3] for row in rows}, **{row[2]: row[4] for row in rows}}
        nodes = {node.id: node.entity_type for node in await db.get_nodes_batch(list(types))}
        for subject, predicate, obj, *given in rows:
            right = [nodes.get(subject), nodes.get(obj)]
            expect(
                given == right,
                f"The row of {(subject, predicate, obj)} has the types {given}, and "
                f"get_nodes_batch gives {right} (None stands for an end that is not a node).",
            )


@filling_rule(
    "a stream that is abandoned after its first batch does not affect other calls",
    source="protocol 10: bounds stop at a whole ring; protocol 25: nobody waits any longer",
)
async def stream_left(trial: Trial) -> None:
    """Closed and cancelled, more often than a pool has connections."""
    records = trial.storable(hub(400))
    async with _streaming(trial, records) as (db, _):
        ids = node_ids(records)
        wanted = set(await _rows(db, ids))
        # More than a pool has connections.
        for number in range(40):
            await soon(_leave(db, ids, number))
        for rows in await soon(asyncio.gather(*(_rows(db, ids) for _ in range(3)))):
            expect(
                set(rows) == wanted,
                "After streams were abandoned, edges_stream gives different rows.",
            )
        ring = await soon(ring_of(db, ["hub"]))
        expect(
            ring == {row[:3] for row in wanted if "hub" in (row[0], row[2])},
            "After streams were abandoned, edges_batch gives different edges.",
        )


async def _leave(db: GraphDbInterface, ids: Sequence[str], number: int) -> None:
    """Close a stream after its first batch, or cancel its reader after some turns."""
    if number % 2:
        async with aclosing(db.edges_stream(ids)) as stream:
            async for _ in stream:
                return
    reading = asyncio.ensure_future(_rows(db, ids))
    for _ in range(number):
        await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
