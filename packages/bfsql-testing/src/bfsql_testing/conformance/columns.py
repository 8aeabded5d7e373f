"""Columns: they give in integers what the other methods give in strings."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager
from functools import partial
from typing import Any, Unpack, cast

import numpy as np

from bfsql.abc import GraphDbInterface
from bfsql.arrays import distinct_numbers
from bfsql.integers import BATCH_EDGES, NO_NODE, IntArray, IntegerGraph, Ring
from bfsql.models import Triple
from bfsql.models.parts import EdgeFilter
from bfsql_testing.conformance.graphs import broad, smallest, tangled
from bfsql_testing.conformance.harness import (
    UNKNOWN,
    Reader,
    Trial,
    Untried,
    edges_of,
    expect,
    expect_parts,
    expect_same,
    looked_at,
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


@reading_rule(COLUMNS)
async def columns_order(trial: Trial) -> None:
    """Handles ascend with the ids in code point order."""
    async with _columns(trial) as (_, columns, ids):
        reached = await _handles_of(columns, ids)
        handles = _array(range(columns.size)) if columns.size <= SMALL else reached
        names = await columns.ids(handles)
        expect_same("In code point order, the ids of ascending handles", names, sorted({*names}))
        ordered = await columns.ids(await columns.ordered(handles[::-1]))
        expect_same("In the order of their ids, ordered()", ordered, names)


@reading_rule(COLUMNS)
async def columns_nodes(trial: Trial) -> None:
    """Columns find the nodes of get_nodes_batch."""
    async with _columns(trial) as (db, columns, ids):
        asked = [*UNKNOWN[:2], *ids, *UNKNOWN[2:], *ids[:2]]
        nodes = {node.id: (node.id, node.entity_type) for node in await db.get_nodes_batch(asked)}
        found = await columns.find(asked)
        expect(len(found) == len(asked), f"find of {len(asked)} ids gave {len(found)} answers.")
        for entity_id, one in zip(asked, found, strict=True):
            have = (one.id, _name(columns.type_names, one.type, "type")) if one else None
            what = f"find of {entity_id!r}, beside get_nodes_batch,"
            expect_same(f"{what} (None: it is not a node)", have, nodes.get(entity_id))
        known = [one for one in found if one is not None]
        handles = _array(one.handle for one in known)
        _expect_handles(columns, handles)
        back, types = await columns.ids(handles), (await columns.types(handles)).tolist()
        for one, *other in zip(known, back, types, strict=True):
            what = f"ids and types of the handle {one.handle}"
            expect_same(what, (*other,), (one.id, one.type))
        expect(not await columns.find([]), "find([]) gave nodes.")


@reading_rule("protocol 8: an edge end without a node in the store is not a node")
async def columns_ends(trial: Trial) -> None:
    """In columns, an end has the type that it has for get_nodes_batch, or NO_NODE."""
    async with _columns(trial) as (db, columns, ids):
        handles = await _handles_of(columns, ids)
        names, types = await columns.ids(handles), await columns.types(handles)
        nodes = {node.id: node.entity_type for node in await db.get_nodes_batch(names)}
        for name, number in zip(names, types.tolist(), strict=True):
            have = None if number == NO_NODE else _name(columns.type_names, number, "type")
            what = f"The type in columns, beside get_nodes_batch, of the end {name!r}"
            expect_same(f"{what} (None: it is not a node)", have, nodes.get(name))
        strangers = types == NO_NODE
        of_strangers = [name for name in names if name not in nodes]
        found = [one for one in await columns.find(of_strangers) if one is not None]
        expect(not found, f"find gave {found[:3]}, which are not nodes.")
        edges = await _edges(columns, handles[strangers])
        expect(not edges, f"rings gave {edges[:3]} for handles that are not nodes.")
        edges, alone = [await _edges(columns, of) for of in (handles, handles[~strangers])]
        expect_same("A ring with handles that are not nodes", sorted(edges), sorted(alone))


@reading_rule("protocol 23: one spelling, the one that describe_schema lists")
async def columns_names(trial: Trial) -> None:
    """The names of types and predicates in columns are those of the schema, each once."""
    async with _columns(trial) as (db, columns, _):
        whole = await db.comprehensive()
        for what, names, listed in (
            ("type_names", columns.type_names, await db.entity_types()),
            ("predicate_names", columns.predicate_names, await db.predicates()),
        ):
            twice = len(names) - len({*names})
            expect(not twice, f"{what} contains a name twice: {list(names)[:20]}.")
            expect_same(f"{what}, beside the schema,", {*names}, {*listed}, whole=whole)


@reading_rule(COLUMNS)
async def columns_rings(trial: Trial) -> None:
    """A ring in columns has the edges of edges_batch, each once."""
    async with _columns(trial) as (db, columns, ids):
        for asked in (*([entity_id] for entity_id in ids[:80]), ids):
            wanted = await edges_of(db.edges_batch, asked)
            ring = await edges_of(_ring(columns), await _handles(columns, asked))
            of = repr(asked) if len(asked) == 1 else f"{len(asked)} ids"
            ring.expect(wanted, f"The ring of {of} in columns, beside edges_batch,")
        edges = await _edges(columns, _array([]))
        expect(not edges, f"The ring of no handles has edges: {edges[:3]}.")


@reading_rule(COLUMNS)
async def columns_part(trial: Trial) -> None:
    """A part of a ring in columns is that of the ring."""
    async with _columns(trial) as (_, columns, ids):
        for asked in (ids[:1], ids):
            handles = await _handles(columns, asked)
            whole = await edges_of(partial(_edges, columns), handles)
            read = lambda _, handles=handles, **part: _ring(columns)(handles, **part)
            await expect_parts(f"The ring of {len(asked)} ids in columns", read, asked, whole)


def _ring(columns: IntegerGraph) -> Reader:
    """Reads rings, or parts of them, that have each edge once."""

    async def ring(handles: IntArray, **part: Any) -> list[Triple]:
        edges = await _edges(columns, handles, **part)
        twice = [
            edge for edge, times in Counter(edges).items() if times > 1 and not columns.repeats
        ]
        what = f"The ring of {len(handles)} nodes" + (f" with {part}" if part else "")
        expect(not twice, f"{what} has {len(twice)} edges more than once: {twice[:4]}.")
        return edges

    return ring


@reading_rule("the backend contract: core keeps several calls of one backend under way at once")
async def columns_apart(trial: Trial) -> None:
    """Columns of several calls do not disturb one another."""
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
                expect_same("A ring that is read concurrently with others", sorted(one), wanted)


@reading_rule("the backend contract: a backend returns fresh data on every call and never caches")
async def columns_fresh(trial: Trial) -> None:
    """What a caller does to an array changes no later one."""
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


@reading_rule("protocol 10: bounds stop at a whole ring; they are checked after each batch")
async def columns_batches(trial: Trial) -> None:
    """A large ring in columns comes in batches."""
    if trial.open is None:
        async with trial.filled(smallest()) as db:
            columns_of(db)  # so that no large graph is written for a backend without columns
    async with looked_at(trial, broad(PREDICATES, SPOKES)) as (db, ids):
        columns = columns_of(db)
        sizes: list[int] = []
        for handles in (await _handles(columns, ids[:1]), _array(range(columns.size))):
            sizes = await _sizes(columns, handles)
            most, right = max(sizes, default=0), f"about {BATCH_EDGES}, and at most {LARGEST}"
            what = f"The ring of {len(handles)} nodes has a batch of {most} edges"
            expect(most <= LARGEST, f"{what}; it should have {right}.")
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
    columns: IntegerGraph, handles: IntArray, **part: Unpack[EdgeFilter]
) -> list[Triple]:
    """The edges of a ring or a part of it as strings, including repetitions."""
    edges: list[Triple] = []
    async for ring in _rings(columns, handles, **part):
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
    columns: IntegerGraph, handles: IntArray, **part: Unpack[EdgeFilter]
) -> AsyncIterator[Ring]:
    """The batches of a ring, each checked for its form."""
    async for ring in columns.rings(handles, **part):
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
