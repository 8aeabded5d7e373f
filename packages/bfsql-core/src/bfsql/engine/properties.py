"""Properties of many nodes and edges, read in parts and compared with conditions.

Between two parts, other calls proceed and the deadline of the call is checked. Conditions on one
property share its values: each different value is compared once with each condition, however many
nodes and edges have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from math import inf, isfinite
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import NO_HANDLES, distinct_numbers
from bfsql.engine.expressions import Evaluation, PartValues
from bfsql.engine.thresholds import MANY_NODES, PART, VALUE_BYTES
from bfsql.integers import BoolArray, IntArray, IntegerGraph, Ring
from bfsql.memory_account import size_of
from bfsql.models import NO_METADATA, ConditionTally, Metadata, Triple
from bfsql.models.comparison import Scalar, scalars, shown_as
from bfsql.models.condition import Condition, PropertyCondition
from bfsql.models.expression import Computed, base_keys
from bfsql.models.parts import present
from bfsql.workers import off_loop

Properties: TypeAlias = Mapping[str, Sequence[Any]]
"""By key: the value of each of some nodes or edges, None where it is absent."""
Part: TypeAlias = tuple[slice, Properties]

_PLAIN = (str, int, float, bool)
"""Types whose equal values have one number."""
_UNMET, _MET, _UNLIKE = range(3)
"""The result of a comparison; the last one is that of a value of another kind."""


async def _of_nodes(
    db: GraphDbInterface, columns: IntegerGraph, handles: IntArray, keys: Collection[str]
) -> AsyncGenerator[Part]:
    """Properties of nodes: from columns of the store, or brought with them, or read in batches."""
    wanted = set(keys)
    has_columns = len(handles) >= MANY_NODES and "id" not in wanted
    for large in _parts(0, len(handles), 8 * PART if has_columns else PART):  # in a thread
        if has_columns:
            of = {k: await call.within(columns.property_values(handles[large], k)) for k in wanted}
            found = {key: values for key, values in of.items() if values is not None}
            if len(found) == len(wanted):
                yield large, found
                continue
        for part in _parts(large.start, large.stop, PART):
            call.check()
            ids = await call.within(columns.ids(handles[part]))
            own = columns.node_metadata
            read: Mapping[str, Metadata] = {}
            if not all(own.get(i, NO_METADATA).keys() >= wanted for i in ids):
                read = await call.within(db.metadata_for_nodes_batch(ids, wanted))
            records = [_both(own.get(i), read.get(i)) for i in ids]
            if "id" in wanted:  # "where there is none the entity's id" (`protocol.md` 34)
                records = [{"id": i, **one} for i, one in zip(ids, records, strict=True)]
            yield part, columnar(records, wanted)


async def _of_edges(
    db: GraphDbInterface, columns: IntegerGraph, ring: Ring, keys: Collection[str]
) -> AsyncGenerator[Part]:
    """Properties of edges; no keys, no reads."""
    for part in _parts(0, len(ring.subjects), PART):
        call.check()
        if not keys:
            yield part, {}
            continue
        edges = await _triples(columns, Ring(*(column[part] for column in ring)))
        read = await call.within(db.metadata_for_edges_batch(edges, keys))
        yield part, columnar([read.get(edge, NO_METADATA) for edge in edges], keys)


def columnar(records: Sequence[Metadata], keys: Collection[str]) -> dict[str, list[Any]]:
    """The values of some keys of each record, by key."""
    return {key: [one.get(key) for one in records] for key in keys}


def properties_of(
    db: GraphDbInterface, columns: IntegerGraph, things: IntArray | Ring, keys: Collection[str]
) -> AsyncGenerator[Part]:
    """Some keys of the metadata of nodes or of edges, in parts.

    Args:
        db: The graph.
        columns: The graph in integers, for this call.
        things: The nodes or the edges.
        keys: The keys.

    Yields:
        The places of the nodes or edges of a part, and the values of each key, whose bytes the
        call holds until the next part.

    Raises:
        TimeoutError: The deadline passed.
        CallMemoryMet: The values of a part would take more memory than the call may.
    """
    read = _of_edges if isinstance(things, Ring) else _of_nodes
    base = base_keys(keys)
    parts: AsyncGenerator[Part] = call.transient(read(db, columns, things, base))  # type: ignore[arg-type]
    return parts if base == set(keys) else _with_computed(parts, keys)


async def _with_computed(read: AsyncGenerator[Part], keys: Collection[str]) -> AsyncGenerator[Part]:
    """Parts of properties with those that are computed of them."""
    async with aclosing(read) as parts:
        async for part, known in parts:
            count = len(next(iter(known.values())))
            yield part, await off_loop(count, partial(computed_values, known, keys, count))


def computed_values(
    known: Properties, keys: Collection[str], count: int
) -> dict[str, Sequence[Any]]:
    """Properties of so many nodes or edges, of which some are computed of others."""
    of_part = Evaluation(count, lambda one: PartValues(known[one.key]))
    return {
        key: of_part.values(key.tree) if isinstance(key, Computed) else known[key] for key in keys
    }


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

    Args:
        most: Number of values from which the next call of `numbers` begins anew.

    Attributes:
        items: By number: the value.
        bytes: Bytes that they take, about.
    """

    def __init__(self, most: float = inf) -> None:
        self._most = most
        self._begin()

    def _begin(self) -> None:
        self.items: list[Any] = [None]
        self.bytes = 0
        # By type: the numbers of values; those of floats by their text, since -0.0 equals 0.0.
        self._known: dict[type, dict[Any, int]] = {kind: {None: 0} for kind in _PLAIN}
        self._results: dict[str, bytearray] = {}

    def __len__(self) -> int:
        return len(self.items)

    def scalars(self, start: int = 0, stop: int | None = None) -> Iterator[list[Scalar]]:
        """By number, from one to another: what a condition can compare."""
        return (
            [one] if type(one) is str or (type(one) is float and isfinite(one)) else scalars(one)
            for one in self.items[start:stop]
        )

    def numbers(self, values: Sequence[Any]) -> IntArray:
        """The number of each value; equal values of a type have the same, but for lists."""
        if len(self) > self._most:
            self._begin()
        kinds = set(map(type, values)).difference([NoneType])
        if len(kinds) > 1 or not kinds.issubset(_PLAIN):
            numbers = (0 if value is None else self._number(value) for value in values)
            return np.fromiter(numbers, np.int32, len(values))
        keys, known = values, self._known[next(iter(kinds), str)]
        if float in kinds:
            keys = [None if value is None else repr(value) for value in values]
        new = {k: v for k, v in dict(zip(keys, values, strict=True)).items() if k not in known}
        known.update(zip(new, self._added(list(new.values())), strict=True))
        return np.fromiter(map(known.__getitem__, keys), np.int32, len(keys))

    def _added(self, values: Sequence[Any]) -> range:
        """The numbers of further values."""
        start = len(self)
        self.items += values
        long = (
            size_of(value)
            for value in values
            if type(value) is list or (type(value) is str and len(value) > VALUE_BYTES)
        )
        self.bytes += VALUE_BYTES * len(values) + sum(long)
        return range(start, len(self))

    def _number(self, value: Any) -> int:
        known, key = self._known.get(type(value)), repr(value) if type(value) is float else value
        number = None if known is None else known.get(key)
        if number is None:
            (number,) = self._added([value])
            if known is not None:
                known[key] = number
        return number

    def results(self, one: PropertyCondition) -> npt.NDArray[np.uint8]:
        """By number: the result of comparing the value with a condition.

        Raises:
            TimeoutError: The deadline passed.
        """
        results = self._results.setdefault(one.property_text, bytearray([_UNMET]))
        call.check()
        while (start := len(results)) < len(self):
            # A comparison with a long text takes a while, so the deadline is checked often.
            results += bytes(_compared(one, known) for known in self.scalars(start, start + 100))
            call.check()
        return np.frombuffer(bytes(results), np.uint8)

    def meeting(self, one: PropertyCondition) -> BoolArray:
        """By number: whether the value meets a condition; only `lacks` holds without a value."""
        met: BoolArray = self.results(one) == _MET
        met[0] = one.operator == "lacks"
        return met


class Column(NamedTuple):
    """One property of some nodes or edges."""

    values: Values
    numbers: IntArray
    """The number of the value of each node or edge; 0 where it is absent."""

    def at(self, places: npt.NDArray[np.integer]) -> PartValues:
        """The values at some places; none at -1."""
        return PartValues(self.values.items, np.append(self.numbers, 0)[places])


async def property_columns(
    db: GraphDbInterface, columns: IntegerGraph, things: IntArray | Ring, keys: Collection[str]
) -> dict[str, Column]:
    """Some properties of nodes or edges, by key, as `properties_of` reads them.

    Raises:
        TimeoutError: The deadline passed.
        CallMemoryMet: The values would take more memory than the call may.
    """
    values = {key: Values() for key in keys}
    numbers: dict[str, list[IntArray]] = {key: [NO_HANDLES] for key in keys}

    def add(part: Properties) -> int:
        """Add a part of the columns; return the bytes of its new values."""
        before = sum(one.bytes for one in values.values())
        for key, of_key in part.items():
            numbers[key].append(values[key].numbers(of_key))
        return sum(one.bytes for one in values.values()) - before

    async with aclosing(properties_of(db, columns, things, keys)) as parts:
        async for _, part in parts:
            size = sum(map(len, part.values())) + call.held_items()
            call.hold(await off_loop(size, partial(add, part)))
    return {key: Column(values[key], np.concatenate(parts)) for key, parts in numbers.items()}


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
        counts = np.bincount(numbers, minlength=len(values))
        absent_count, counts[0] = int(counts[0]), 0
        self._applied += len(numbers)
        self._had += len(numbers) - absent_count
        kept = np.ones(len(counts), bool)
        for one in conditions:
            results = values.results(one)
            lacking = absent_count if one.operator == "lacks" else 0
            self._met[one.text] += int(counts[results == _MET].sum()) + lacking
            self._unlike[one.text] += int(counts[results == _UNLIKE].sum())
            if isinstance(one.key, Computed):
                self._unlike[one.text] += absent_count
            kept &= results == _MET
        if not all(self._met[one.text] for one in conditions):
            for number in np.flatnonzero(counts).tolist():
                (found,) = values.scalars(number, number + 1)
                for known in call.checked(found):
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
    return _UNLIKE if one.unlike is not None and one.unlike.met_by(known) else _UNMET


def _parts(start: int, stop: int, size: int) -> Iterator[slice]:
    return (slice(at, min(at + size, stop)) for at in range(start, stop, size))


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
