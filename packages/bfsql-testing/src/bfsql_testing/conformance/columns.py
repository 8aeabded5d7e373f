"""Columns: they give in integers what the other methods give in strings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from itertools import pairwise
from typing import cast

import numpy as np

from bfsql.abc import GraphDbInterface
from bfsql.arrays import distinct_numbers
from bfsql.integers import BATCH_EDGES, NO_NODE, IntArray, IntegerGraph, Ring
from bfsql.models import Triple
from bfsql.models.parts import EdgeFilter
from bfsql_testing.conformance.graphs import broad, smallest, tangled
from bfsql_testing.conformance.harness import (
    UNKNOWN,
    Trial,
    Untried,
    edges_of,
    expect,
    expect_same,
    looked_at,
    parts_of,
    reading_rule,
)
from bfsql_testing.conformance.isolation import soon

COLUMNS = "the backend contract: columns are a faster way to answer the same questions"

SMALL = 10_000
"""Handles up to which the order of all is checked; in a larger store, only of those reached."""
LARGEST = BATCH_EDGES * 5 // 4
"""Most edges in a batch: a store cannot always split where it should."""
PREDICATES, SPOKES = 330, 1_000
"""Edges of a ring that has to come in more than one batch."""


@asynccontextmanager
async def _columns(trial: Trial) -> AsyncIterator[tuple[GraphDbInterface, IntegerGraph, list[str]]]:
    async with looked_at(trial, tangled()) as (db, ids):
        yield db, columns_of(db), ids


def columns_of(db: GraphDbInterface) -> IntegerGraph:
    """The columns of a backend.

    Raises:
        Untried: It has none.
    """
    columns = db.columns()
    if columns is None:
        raise Untried("The backend has no columns: columns() gives None.")
    return columns


@reading_rule("handles ascend with the ids in code point order", source=COLUMNS)
async def columns_order(trial: Trial) -> None:
    """Of a small store every handle; of another one those of the sample and its neighbours."""
    async with _columns(trial) as (_, columns, ids):
        reached = await _handles_of(columns, ids)
        handles = _array(range(columns.size)) if columns.size <= SMALL else reached
        names = await columns.ids(handles)
        for (one, earlier), (other, later) in pairwise(zip(handles, names, strict=True)):
            expect(
                earlier < later,
                f"Handle {one} is {earlier!r} and handle {other} is {later!r}, which comes "
                "first in code point order.",
            )
        ordered = await columns.ids(await columns.ordered(handles[::-1]))
        expect(ordered == names, "ordered() does not give the handles in the order of their ids.")


@reading_rule("columns find the nodes of get_nodes_batch", source=COLUMNS)
async def columns_nodes(trial: Trial) -> None:
    """In the order asked, unknown and repeated ids among them; each with its id and its type."""
    async with _columns(trial) as (db, columns, ids):
        asked = [*UNKNOWN[:2], *ids, *UNKNOWN[2:], *ids[:2]]
        nodes = {node.id: node.entity_type for node in await db.get_nodes_batch(asked)}
        found = await columns.find(asked)
        expect(len(found) == len(asked), f"find of {len(asked)} ids gave {len(found)} answers.")
        for entity_id, one in zip(asked, found, strict=True):
            if one is None or entity_id not in nodes:
                expect(
                    one is None and entity_id not in nodes,
                    f"find gave {one} for {entity_id!r}, which get_nodes_batch "
                    f"{'knows' if entity_id in nodes else 'does not know'}.",
                )
                continue
            name = _name(columns.type_names, one.type, "type")
            expect(
                (one.id, name) == (entity_id, nodes[entity_id]),
                f"find gave {one} for {entity_id!r}: type {name!r}; get_nodes_batch gave the type "
                f"{nodes[entity_id]!r}.",
            )
        known = [one for one in found if one is not None]
        handles = _array(one.handle for one in known)
        _expect_handles(columns, handles)
        back, types = await columns.ids(handles), (await columns.types(handles)).tolist()
        for one, name, number in zip(known, back, types, strict=True):
            expect(
                name == one.id, f"Handle {one.handle} was found for {one.id!r}, and is {name!r}."
            )
            expect(number == one.type, f"types gave {number} for {one}.")
        expect(not await columns.find([]), "find([]) gave nodes.")


@reading_rule(
    "in columns, an end has the type that it has for get_nodes_batch, or NO_NODE",
    source="protocol 8: an edge end without a node in the store is not a node",
)
async def columns_ends(trial: Trial) -> None:
    """All ends of the edges of the sample; one that is not a node is not found, without edges."""
    async with _columns(trial) as (db, columns, ids):
        handles = await _handles_of(columns, ids)
        names, types = await columns.ids(handles), await columns.types(handles)
        nodes = {node.id: node.entity_type for node in await db.get_nodes_batch(names)}
        for name, number in zip(names, types.tolist(), strict=True):
            have = None if number == NO_NODE else _name(columns.type_names, number, "type")
            expect(
                have == nodes.get(name),
                f"The end {name!r} has the type {have!r} in columns, and {nodes.get(name)!r} for "
                "get_nodes_batch (None stands for an end that is not a node).",
            )
        strangers = types == NO_NODE
        of_strangers = [name for name in names if name not in nodes]
        found = [one for one in await columns.find(of_strangers) if one is not None]
        expect(not found, f"find gave {found[:3]}, which are not nodes.")
        edges = await _edges(columns, handles[strangers])
        expect(not edges, f"rings gave {edges[:3]} for handles that are not nodes.")
        edges = await _edges(columns, handles)
        alone = await _edges(columns, handles[~strangers])
        expect(
            sorted(edges) == sorted(alone),
            f"Handles that are not nodes change a ring by {sorted(set(edges) ^ set(alone))[:3]}.",
        )


@reading_rule(
    "the names of types and predicates in columns are those of the schema, each once",
    source="protocol 23: one spelling, the one that describe_schema lists",
)
async def columns_names(trial: Trial) -> None:
    """Of a store whose lists are not complete, only that each name comes once."""
    async with _columns(trial) as (db, columns, _):
        whole = await db.comprehensive()
        for what, names, listed in (
            ("type_names", columns.type_names, await db.entity_types()),
            ("predicate_names", columns.predicate_names, await db.predicates()),
        ):
            expect(
                len(set(names)) == len(names), f"{what} contains a name twice: {list(names)[:20]}."
            )
            expect_same(f"{what} and the schema", names, listed, whole=whole)


@reading_rule("a ring in columns has the edges of edges_batch, each once", source=COLUMNS)
async def columns_rings(trial: Trial) -> None:
    """Node by node and of all together: self-loops, parallel predicates, edges among the asked."""
    async with _columns(trial) as (db, columns, ids):
        for asked in (*([entity_id] for entity_id in ids[:80]), ids):
            wanted = await edges_of(db.edges_batch, asked)
            edges = await _edges(columns, await _handles(columns, asked))
            short = repr(asked) if len(asked) == 1 else f"{len(asked)} ids"
            twice = 0 if columns.repeats else len(edges) - len(set(edges))
            expect(not twice, f"The ring of {short} has {twice} edges more than once.")
            what = f"The ring of {short} in columns and edges_batch"
            expect_same(what, edges, wanted.triples, whole=wanted.whole)
        edges = await _edges(columns, _array([]))
        expect(not edges, f"The ring of no handles has edges: {edges[:3]}.")


@reading_rule("a part of a ring in columns is that of the ring", source=COLUMNS)
async def columns_part(trial: Trial) -> None:
    """Some predicates, none and unknown ones; leaving, entering and both."""
    async with _columns(trial) as (_, columns, ids):
        for asked in (ids[:1], ids):
            handles = await _handles(columns, asked)
            whole = await _edges(columns, handles)
            for part, wanted in parts_of(whole, asked):
                read = await _edges(columns, handles, part)
                what = f"The ring of {len(asked)} ids with {part}"
                expect_same(f"{what} and the same part of the whole", read, wanted)
                twice = 0 if columns.repeats else len(read) - len(wanted)
                expect(not twice, f"{what} has {twice} edges more than once.")


@reading_rule(
    "columns of several calls do not disturb one another",
    source="the backend contract: core keeps several calls of one backend under way at once",
)
async def columns_apart(trial: Trial) -> None:
    """Rings read in turn and all at once, and rings that are abandoned after their first batch."""
    async with _columns(trial) as (db, columns, ids):
        every = await _handles(columns, ids)
        parts = [every[number::8] for number in range(8)]
        alone = [sorted(await _edges(columns, part)) for part in parts]
        # More than a pool has connections.
        for _ in range(40):
            await soon(_sizes(columns_of(db), every, 1))
        for own in ([columns_of(db) for _ in parts], [columns] * len(parts)):
            together = await asyncio.gather(*map(_edges, own, parts))
            for one, wanted in zip(together, alone, strict=True):
                expect(
                    sorted(one) == wanted,
                    "A ring that is read concurrently with others differs from the same ring "
                    f"alone in {sorted(set(one) ^ set(wanted))[:4]}.",
                )


@reading_rule(
    "what a caller does to an array changes no later one",
    source="chapter 8: a backend returns fresh data on every call and never caches",
)
async def columns_fresh(trial: Trial) -> None:
    """Every writable array is modified; the requested handles stay unchanged."""
    async with _columns(trial) as (db, columns, ids):
        asked = await _handles(columns, ids)
        before = asked.copy()
        edges, types = await _edges(columns, asked), (await columns.types(asked)).tolist()
        async for ring in columns.rings(asked):
            for column in ring:
                _overwrite(column)
        _overwrite(await columns.types(asked))
        expect((asked == before).all(), "The array of asked handles was changed.")
        for later in (columns, columns_of(db)):
            again = sorted(await _edges(later, asked))
            expect(again == sorted(edges), "A caller's change of a ring appeared in a later one.")
            same = (await later.types(asked)).tolist() == types
            expect(same, "A caller's change of an array of types appeared in a later one.")


@reading_rule(
    "a large ring in columns comes in batches",
    source="protocol 10: bounds stop at a whole ring; they are checked after each batch",
)
async def columns_batches(trial: Trial) -> None:
    """The first batches of the ring of all nodes; 330,000 edges where the kit fills the store."""
    if trial.open is None:
        async with trial.filled(smallest()) as db:
            columns_of(db)  # so that no large graph is written for a backend without columns
    async with looked_at(trial, broad(PREDICATES, SPOKES)) as (db, ids):
        columns = columns_of(db)
        sizes: list[int] = []
        for handles in (await _handles(columns, ids[:1]), _array(range(columns.size))):
            sizes = await _sizes(columns, handles)
            expect(
                max(sizes, default=0) <= LARGEST,
                f"The ring of {len(handles)} nodes has a batch of {max(sizes, default=0)} edges; "
                f"it should have about {BATCH_EDGES}, and at most {LARGEST}.",
            )
        if sum(sizes) <= LARGEST:
            raise Untried(f"The store has no ring of more than {LARGEST} edges.")


async def _sizes(columns: IntegerGraph, handles: IntArray, most: int = 4) -> list[int]:
    """The number of edges in each of the first batches of a ring."""
    sizes: list[int] = []
    async with aclosing(columns.rings(handles)) as rings:
        async for ring in rings:
            sizes.append(len(ring.subjects))
            if len(sizes) == most:
                break
    return sizes


async def _handles(columns: IntegerGraph, ids: Sequence[str]) -> IntArray:
    return _array(one.handle for one in await columns.find(ids) if one is not None)


async def _handles_of(columns: IntegerGraph, ids: Sequence[str]) -> IntArray:
    """The handles of the nodes and of the other ends of their edges, ascending."""
    handles = await _handles(columns, ids)
    found = [handles]
    async for ring in _rings(columns, handles):
        found += [ring.subjects, ring.objects]
    return distinct_numbers(np.concatenate(found))


async def _edges(
    columns: IntegerGraph, handles: IntArray, part: EdgeFilter | None = None
) -> list[Triple]:
    """The edges of a ring or a part of it as strings, including repetitions."""
    edges: list[Triple] = []
    async for ring in _rings(columns, handles, part):
        ends, places = np.unique(np.concatenate([ring.subjects, ring.objects]), return_inverse=True)
        names = await columns.ids(cast("IntArray", ends))
        subjects, objects = np.split(places, 2)
        predicates = [
            _name(columns.predicate_names, n, "predicate") for n in ring.predicates.tolist()
        ]
        for s, p, o in zip(subjects.tolist(), predicates, objects.tolist(), strict=True):
            edges.append((names[s], p, names[o]))
    return edges


async def _rings(
    columns: IntegerGraph, handles: IntArray, part: EdgeFilter | None = None
) -> AsyncIterator[Ring]:
    """The batches of a ring, each checked for its form."""
    async for ring in columns.rings(handles, **part) if part else columns.rings(handles):
        lengths = {len(column) for column in ring}
        expect(len(lengths) == 1, f"The columns of a batch have the lengths {lengths}.")
        kinds = {np.asarray(column).dtype for column in ring}
        expect(kinds == {np.dtype(np.int32)}, f"The columns of a batch are {kinds}, not int32.")
        for ends in (ring.subjects, ring.objects):
            _expect_handles(columns, ends)
        yield ring


def _expect_handles(columns: IntegerGraph, handles: IntArray) -> None:
    beyond = handles[(handles < 0) | (handles >= columns.size)]
    expect(not len(beyond), f"There are handles {beyond[:3].tolist()}; size is {columns.size}.")


def _name(names: Sequence[str], number: int, what: str) -> str:
    expect(0 <= number < len(names), f"There is no {what} of number {number}, of {len(names)}.")
    return names[number]


def _array(numbers: Iterable[int]) -> IntArray:
    return np.fromiter(numbers, np.int32)


def _overwrite(array: IntArray) -> None:
    if array.flags.writeable:
        array[...] = 0
