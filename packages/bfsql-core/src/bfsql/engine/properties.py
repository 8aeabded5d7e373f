"""Properties of many nodes and edges, read in parts and compared with conditions.

Between two parts, other calls proceed and the deadline of the call is checked. Conditions on one
property share its values: each different value is compared once with each condition, however many
nodes and edges have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import distinct_numbers
from bfsql.engine.thresholds import MANY_NODES, MOST_VALUES, PART, VALUE_BYTES
from bfsql.integers import BoolArray, IntArray, IntegerGraph, Ring
from bfsql.memory_account import size_of
from bfsql.models import NO_METADATA, ConditionTally, Metadata, Triple
from bfsql.models.comparison import Scalar, scalars, shown_as
from bfsql.models.condition import Condition, PropertyCondition
from bfsql.models.parts import present
from bfsql.workers import off_loop

_UNMET, _MET, _UNLIKE = range(3)
"""The result of a comparison; the last one is that of a value of another kind."""


async def _of_nodes(
    db: GraphDbInterface, columns: IntegerGraph, handles: IntArray, keys: Collection[str]
) -> AsyncGenerator[tuple[slice, list[Metadata]]]:
    """Metadata of nodes: brought with the nodes, or read in a batch for each part."""
    wanted = set(keys)
    for part in _parts(len(handles)):
        call.check()
        if len(handles) >= MANY_NODES and "id" not in wanted:
            columnar = await _from_columns(columns, handles[part], wanted)
            if columnar is not None:
                yield part, columnar
                continue
        ids = await call.within(columns.ids(handles[part]))
        own = columns.node_metadata
        read: Mapping[str, Metadata] = {}
        if not all(own.get(i, NO_METADATA).keys() >= wanted for i in ids):
            read = await call.within(db.metadata_for_nodes_batch(ids, wanted))
        records = [_both(own.get(i), read.get(i)) for i in ids]
        if "id" in wanted:  # "where there is none the entity's id" (`protocol.md` 34)
            records = [{"id": i, **one} for i, one in zip(ids, records, strict=True)]
        yield part, records


async def _from_columns(
    columns: IntegerGraph, handles: IntArray, keys: Collection[str]
) -> list[Metadata] | None:
    """Some keys of the metadata of nodes by the store's columns; None if it lacks one of them."""
    ordered = sorted(keys)
    values = []
    for key in ordered:
        column = await call.within(columns.property_values(handles, key))
        if column is None:
            return None
        values.append(column)

    def records() -> list[Metadata]:
        return [dict(zip(ordered, row, strict=True)) for row in zip(*values, strict=True)]

    return await off_loop(len(handles), records)


async def _of_edges(
    db: GraphDbInterface, columns: IntegerGraph, ring: Ring, keys: Collection[str]
) -> AsyncGenerator[tuple[slice, list[Metadata]]]:
    """Metadata of edges; no keys, no reads."""
    for part in _parts(len(ring.subjects)):
        call.check()
        if not keys:
            yield part, [NO_METADATA] * len(ring.subjects[part])
            continue
        edges = await _triples(columns, Ring(*(column[part] for column in ring)))
        read = await call.within(db.metadata_for_edges_batch(edges, keys))
        yield part, [read.get(edge, NO_METADATA) for edge in edges]


def properties_of(
    db: GraphDbInterface, columns: IntegerGraph, things: IntArray | Ring, keys: Collection[str]
) -> AsyncGenerator[tuple[slice, list[Metadata]]]:
    """Some keys of the metadata of nodes or of edges, in parts.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        things: The nodes or the edges.
        keys: The keys.

    Yields:
        The places of the nodes or edges of a part, and the metadata of each, whose bytes the call
        holds until the next part.

    Raises:
        TimeoutError: The deadline passed.
        CallMemoryMet: The values of a part would take more memory than the call may.
    """
    read = _of_edges if isinstance(things, Ring) else _of_nodes
    return call.transient(read(db, columns, things, keys))  # type: ignore[arg-type]


def value_bytes(values: Sequence[Any]) -> int:
    """Bytes that values take which are sorted, counted or measured, and so outlive their part."""
    long = (
        size_of(value)
        for value in values
        if type(value) is list or (type(value) is str and len(value) > VALUE_BYTES)
    )
    return VALUE_BYTES * len(values) + sum(long)


LOOKED_AT = 100
"""Number of nodes or edges among which properties are looked for that a call may have meant."""


async def common_keys(
    db: GraphDbInterface,
    columns: IntegerGraph,
    things: IntArray | Ring,
    stripped: Collection[str] = (),
) -> list[str]:
    """The keys of the metadata of a few nodes or edges, the most common first.

    Keys of edges stand behind their predicate, without those that are `stripped`.
    """
    counts: Counter[str] = Counter()
    if isinstance(things, Ring):
        read = await call.within(db.metadata_for_edges_batch(await _triples(columns, things)))
        for (_, predicate, _), known in read.items():
            counts.update(f"{predicate}.{key}" for key in present(known) if key not in stripped)
    else:
        ids = await call.within(columns.ids(things))
        for known in (await call.within(db.metadata_for_nodes_batch(ids))).values():
            counts.update(present(known))
    return sorted(counts, key=lambda key: (-counts[key], key))


class Values:
    """The different values of a property, numbered from 1; 0 is the number of an absent value.

    Attributes:
        scalars: By number: what a condition can compare.
    """

    def __init__(self) -> None:
        self.scalars: list[list[Scalar]] = [[]]
        self._numbers: dict[tuple[type, str], int] = {}
        self._results: dict[str, bytearray] = {}

    def numbers(self, values: Sequence[Any]) -> IntArray:
        """The number of each value, until the next call of this method."""
        if len(self.scalars) > MOST_VALUES:
            self.scalars, self._numbers, self._results = [[]], {}, {}
        return np.fromiter(map(self._number, values), np.int32, len(values))

    def results(self, one: PropertyCondition) -> npt.NDArray[np.uint8]:
        """By number: the result of comparing the value with a condition.

        Raises:
            TimeoutError: The deadline passed.
        """
        results = self._results.setdefault(one.property_text, bytearray([_UNMET]))
        call.check()
        while len(results) < len(self.scalars):
            # A comparison with a long text takes a while, so the deadline is checked often.
            some = self.scalars[len(results) : len(results) + 100]
            results += bytes(_compared(one, known) for known in some)
            call.check()
        return np.frombuffer(bytes(results), np.uint8)

    def meeting(self, one: PropertyCondition) -> BoolArray:
        """By number: whether the value meets a condition; only `lacks` holds without a value."""
        met: BoolArray = self.results(one) == _MET
        met[0] = one.operator == "lacks"
        return met

    def _number(self, value: Any) -> int:
        if value is None:
            return 0
        new = len(self.scalars)
        number = new
        if isinstance(value, str | int | float | bool):
            number = self._numbers.setdefault((value.__class__, shown_as(value)), new)
        if number == new:
            self.scalars.append(scalars(value))
        return number


class Tally:
    """Counts of the results of conditions on one property of the same nodes or edges."""

    def __init__(self) -> None:
        self._applied = self._had = 0
        self._met: Counter[str] = Counter()
        self._unlike: Counter[str] = Counter()
        self._values: Counter[str] = Counter()

    def keeps(
        self, conditions: Sequence[Condition], numbers: IntArray, values: Values, *, absent: bool
    ) -> BoolArray:
        """Which values all conditions on one property keep, and whether `absent` ones are kept."""
        counts = np.bincount(numbers, minlength=len(values.scalars))
        absent_count, counts[0] = int(counts[0]), 0
        self._applied += len(numbers)
        self._had += len(numbers) - absent_count
        kept = np.ones(len(counts), bool)
        for one in conditions:
            results = values.results(one)
            lacking = absent_count if one.operator == "lacks" else 0
            self._met[one.text] += int(counts[results == _MET].sum()) + lacking
            self._unlike[one.text] += int(counts[results == _UNLIKE].sum())
            kept &= results == _MET
        if not all(self._met[one.text] for one in conditions):
            for number in np.flatnonzero(counts).tolist():
                for known in call.checked(values.scalars[number]):
                    self._values[shown_as(known)] += int(counts[number])
        kept[0] = all(
            one.operator == "lacks" or (absent and one.operator != "has") for one in conditions
        )
        return kept.take(numbers)

    def facts(self, one: Condition, *, hidden: bool, absent: bool) -> ConditionTally:
        """The counts of one of the conditions, as facts for a note."""
        met, common = self._met[one.text], self._values
        return ConditionTally(
            one,
            hidden=hidden,
            applied=self._applied,
            had=self._had,
            met=met,
            keeps_absent=absent and self._applied > 0,
            unlike=self._unlike[one.text],
            values=() if met else tuple(sorted(common, key=lambda v: (-common[v], v))[:5]),
            further_values=0 if met else max(0, len(common) - 5),
        )


def _compared(one: PropertyCondition, known: Sequence[Scalar]) -> int:
    if one.met_by(known):
        return _MET
    return _UNMET if one.compares_with(known) else _UNLIKE


def _parts(count: int) -> Iterator[slice]:
    return (slice(start, start + PART) for start in range(0, count, PART))


def _both(own: Metadata | None, read: Metadata | None) -> Metadata:
    if own is None or read is None:
        return read or own or NO_METADATA
    return {**own, **read}


async def _triples(columns: IntegerGraph, ring: Ring) -> list[Triple]:
    ends = distinct_numbers(ring.ends)
    ids = await call.within(columns.ids(ends))
    id_of = dict(zip(ends.tolist(), ids, strict=True)).__getitem__
    names = columns.predicate_names
    return [
        (id_of(s), names[p], id_of(o))
        for s, p, o in zip(*(column.tolist() for column in ring), strict=True)
    ]
