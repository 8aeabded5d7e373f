"""`edges_stream`: a ring in batches is the ring of `edges_batch`, with right types or with none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

from bfsql.abc import Abilities, GraphDbInterface, normalized
from bfsql.models import GraphRecord, Triple
from bfsql_testing.conformance.graphs import hub, node_ids, tangled
from bfsql_testing.conformance.harness import (
    UNKNOWN,
    Reader,
    Trial,
    Untried,
    edges_of,
    expect,
    expect_parts,
    expect_same,
    filling_rule,
    looked_at,
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


async def _rows(db: GraphDbInterface, ids: Sequence[str], **part: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) async for rows in db.edges_stream(ids, **part) for row in rows]


def _edges(db: GraphDbInterface) -> Reader:
    async def edges(ids: Sequence[str], **part: Any) -> list[Triple]:
        return [(row[0], row[1], row[2]) for row in await _rows(db, ids, **part)]

    return edges


@reading_rule(STREAM)
async def stream_edges(trial: Trial) -> None:
    """edges_stream gives the edges of edges_batch."""
    async with _streaming(trial, tangled()) as (db, ids):
        for asked in (*([entity_id] for entity_id in ids[:12]), ids):
            wanted = await edges_of(db.edges_batch, asked)
            what = f"edges_stream of {asked if len(asked) == 1 else 'all ids'}, beside edges_batch,"
            (await edges_of(_edges(db), asked)).expect(wanted, what)
        ends = {end for s, _, o in wanted.triples for end in (s, o)}
        strangers = sorted(ends - {node.id for node in await db.get_nodes_batch(sorted(ends))})
        for unknown in ([], [*UNKNOWN, *strangers]):
            rows = await _rows(db, unknown)
            expect(not rows, f"edges_stream gave {rows[:3]} for ids that are not nodes.")


@reading_rule(STREAM)
async def stream_part(trial: Trial) -> None:
    """edges_stream gives the part that edges_batch gives."""
    async with _streaming(trial, tangled()) as (db, ids):
        whole = await edges_of(db.edges_batch, ids)
        await expect_parts("edges_stream", _edges(normalized(db)), ids, whole)


@reading_rule("the backend contract: rows of three or of five; protocol 8: an end without a node")
async def stream_types(trial: Trial) -> None:
    """edges_stream gives the types of all ends, None for one that is not a node, or of none."""
    async with _streaming(trial, tangled()) as (db, ids):
        rows = await _rows(db, ids)
        lengths, right = {len(row) for row in rows}, "all have 3, or all have 5"
        what = f"The rows of a ring have {sorted(lengths)} columns; {right}."
        expect(lengths <= {3} or lengths <= {5}, what)
        if lengths != {5}:
            return
        types = {**{row[0]: row[3] for row in rows}, **{row[2]: row[4] for row in rows}}
        nodes = {node.id: node.entity_type for node in await db.get_nodes_batch(list(types))}
        for *edge, one, other in rows:
            what = f"edges_stream, beside get_nodes_batch, of the ends of {edge} (None: not a node)"
            expect_same(what, (one, other), (nodes.get(edge[0]), nodes.get(edge[2])))


@filling_rule("protocol 10: bounds stop at a whole ring; protocol 25: nobody waits any longer")
async def stream_left(trial: Trial) -> None:
    """A stream that is abandoned after its first batch does not affect other calls."""
    records = trial.storable(hub(400))
    async with _streaming(trial, records) as (db, _):
        ids = node_ids(records)
        wanted = set(await _rows(db, ids))
        # More than a pool has connections.
        for number in range(40):
            await soon(_leave(db, ids, number))
        for rows in await soon(asyncio.gather(*(_rows(db, ids) for _ in range(3)))):
            expect_same("After streams were abandoned, edges_stream", {*rows}, wanted)
        ring = await soon(ring_of(db, ["hub"]))
        right = {row[:3] for row in wanted if "hub" in (row[0], row[2])}
        expect_same("After streams were abandoned, edges_batch", ring, right)


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
