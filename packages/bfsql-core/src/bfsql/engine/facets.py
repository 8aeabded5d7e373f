"""`facets`: the whole answer in groups by the values of properties (`protocol.md` 37).

Values are counted batch by batch. Only when all are counted are they compared: numbers, also
those held as text, form a group by their number, and text by its exact spelling.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import at, distinct_numbers
from bfsql.engine.conditions import names_of
from bfsql.engine.pages import order_of_edges
from bfsql.engine.plan import Query
from bfsql.engine.properties import LOOKED_AT, common_keys, properties_of, value_bytes
from bfsql.engine.table import AnswerTable
from bfsql.engine.thresholds import VALUE_BYTES
from bfsql.errors import bad_value
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.masking import shorten
from bfsql.models import IntersectionQuery, Metadata
from bfsql.models.comparison import Number, Scalar, number_of, scalars, shown_as, unordered_text
from bfsql.models.condition import ScopedProperty
from bfsql.models.facet import EXACT, MEAN, VALUES, Facet, Facets, FacetSummary
from bfsql.models.json_values import MAX_BITS, non_finite
from bfsql.models.merge import fold
from bfsql.models.quotation import quoted
from bfsql.models.spelling import KnownNames
from bfsql.query.properties import facet
from bfsql.workers import off_loop

_PLAIN = (str, int, float, bool)
_LONGEST = 200
"""Characters of a value that are shown."""


class ValueCounts:
    """The values of one property, counted batch by batch."""

    def __init__(self) -> None:
        self._counts: defaultdict[type, Counter[Any]] = defaultdict(Counter)
        self._had = self._missing = 0

    def add(self, values: Sequence[Any]) -> None:
        """Count the values of some nodes or edges; None where one is absent."""
        known = [value for value in values if value is not None]
        self._had += len(known)
        self._missing += len(values) - len(known)
        self._count(known)

    @property
    def size(self) -> int:
        """The number of different values, before numbers and texts are compared."""
        return sum(map(len, self._counts.values()))

    def summary(self, most: int = VALUES) -> FacetSummary:
        """What the values counted so far come to.

        Args:
            most: Maximum number of values to list.

        Raises:
            TimeoutError: The deadline of the call passed.
        """
        numbers: Counter[int | float] = Counter()
        texts: Counter[str] = Counter()
        total = Decimal(0)
        for value, number, count in self._values():
            if number is None:
                texts[shown_as(value)] += count
            else:
                numbers[number.value] += count
                total = EXACT.add(total, EXACT.multiply(number.decimal, count))
        items = numbers.total()
        common = [(-n, 0, value) for value, n in _most_common(numbers, most)]
        common += [(-n, 1, text) for text, n in _most_common(texts, most)]
        ends, unordered = _ends(numbers or texts)
        return FacetSummary(
            self._had,
            self._missing,
            len(numbers) + len(texts),
            items + texts.total(),
            items,
            *ends,
            MEAN.divide(total, items) if items else None,
            total if items else None,
            tuple(
                (shorten(shown_as(value), _LONGEST), -n) for n, _, value in sorted(common)[:most]
            ),
            unordered,
        )

    def _count(self, values: list[Any]) -> None:
        kinds = set(map(type, values))
        for kind in kinds:
            own = values if len(kinds) == 1 else [one for one in values if type(one) is kind]
            if kind in _PLAIN:
                self._counts[kind].update(own)
            else:
                flat = (scalar for value in own for scalar in scalars(value))
                self._count([str.__str__(one) if isinstance(one, str) else one for one in flat])

    def _values(self) -> Iterator[tuple[Scalar, Number | None, int]]:
        """Each value, its number if it is one, and how often it was counted."""
        for kind, counts in self._counts.items():
            for place, (value, n) in enumerate(counts.items()):
                if not place % 10_000:
                    call.check()
                if kind is int and value.bit_length() > MAX_BITS:
                    value = f"{value:#x}"  # noqa: PLW2901 - as stores hold it
                elif kind is float and not math.isfinite(value):
                    value = non_finite(value)  # noqa: PLW2901
                yield value, number_of(value), n


def _most_common(counts: Mapping[Any, int], most: int) -> list[tuple[Any, int]]:
    """The most common values, and of equally common ones the first, without sorting all."""
    least = min(heapq.nlargest(most, counts.values()), default=0)
    above = [(value, n) for value, n in counts.items() if n > least]
    equal = heapq.nsmallest(most - len(above), (v for v, n in counts.items() if n == least))
    return [*above, *((value, least) for value in equal)]


def _ends(counts: Mapping[Any, int]) -> tuple[tuple[Any, Any], str | None]:
    """The least and the largest value, and what `unordered_text` says."""
    if not counts or not isinstance(next(iter(counts)), str):
        return (min(counts, default=None), max(counts, default=None)), None
    ordered = list(map(order_of_text, call.checked(counts)))
    ends = [shorten(end(ordered)[1], _LONGEST) for end in (min, max)]
    return (ends[0], ends[1]), unordered_text(counts)


def order_of_text(text: str) -> tuple[str, str]:
    """The key by which texts are sorted: without case and accents, then by spelling."""
    return fold(text), text


# --- properties that nothing has -------------------------------------------------


def refuse_stripped(argument: str, of: ScopedProperty, stripped: Collection[str]) -> None:
    """Refuse a property that traversals leave out of edges.

    Raises:
        ToolError: The property is one of these.
    """
    if of.predicate is not None and of.key in stripped:
        raise bad_value(
            f"{argument}: traversals leave {quoted(of.key)} out of edges. describe_entity shows "
            "it with the evidence of an entity.",
            argument,
        )


async def known_properties(
    db: GraphDbInterface, table: AnswerTable, of: ScopedProperty, stripped: Collection[str]
) -> tuple[str, ...]:
    """The properties of a scope that are most like one that nothing has, or else some of them.

    A property of edges stands behind its predicate, also where edges have what no node has.
    """
    columns = table.columns
    keys = await common_keys(db, columns, await _first(columns, table.scope(of)), stripped)
    near = KnownNames(keys).nearest(of.key if of.predicate is None else f"{of.predicate}.{of.key}")
    if not near and of.type is None and of.predicate is None:
        of_edges = await common_keys(db, columns, await _first(columns, table.edges), stripped)
        near = [[key] for key in of_edges if key.endswith(f".{of.key}")]
    return tuple(same[0] for same in near) or tuple(keys)


async def _first(columns: IntegerGraph, things: IntArray | Ring) -> IntArray | Ring:
    """The first nodes or edges, in the order of their ids."""
    if not isinstance(things, Ring):
        return (await columns.ordered(things))[:LOOKED_AT]
    ends = distinct_numbers(things.ends)
    return at(things, (await order_of_edges(columns, ends, things))[:LOOKED_AT])


# --- the facets of an answer --------------------------------------------------------


async def with_facets(
    db: GraphDbInterface,
    query: Query,
    table: AnswerTable,
    *,
    listed: IntArray | None = None,
    stripped: Collection[str] = (),
) -> AnswerTable:
    """An answer with the facets of its query; only a first page has any.

    Args:
        db: The graph.
        query: The query.
        table: The answer.
        listed: The nodes that a facet without a scope counts, if not those that pages list.
        stripped: Keys of edge metadata that traversals leave out.

    Raises:
        ToolError: As in `facets_of`.
        TimeoutError: As in `facets_of`.
    """
    if not isinstance(query, IntersectionQuery) and query.offset:
        return table
    counted = table if listed is None else replace(table, listed=listed)
    facets = await facets_of(db, counted, query.facets, stripped=stripped)
    return replace(table, facets=facets)


async def facets_of(
    db: GraphDbInterface,
    table: AnswerTable,
    texts: Iterable[str],
    *,
    stripped: Collection[str] = (),
) -> Facets:
    """The facets of a whole answer, by their texts without the number of values.

    Args:
        db: The graph; the named properties are read, those of one scope together.
        table: The answer.
        texts: The facets, as a call writes them.
        stripped: Keys of edge metadata that traversals leave out.

    Raises:
        ToolError: A text is no facet, or names a property that traversals leave out.
        TimeoutError: The deadline passed.
    """
    names = table.names(await names_of(db))
    wanted = [facet(text, names, table.steps) for text in texts]
    scopes: defaultdict[ScopedProperty, list[Facet]] = defaultdict(list)
    for one in wanted:
        refuse_stripped("facets", one.of, stripped)
        scopes[replace(one.of, key="")].append(one)
    found: dict[str, FacetSummary] = {}
    for scope, group in scopes.items():
        found |= await _summaries(db, table, scope, group)
    for one in wanted:
        summary = found[one.label]
        if summary.missing and not summary.count:
            known = await known_properties(db, table, one.of, stripped)
            found[one.label] = replace(summary, known=known)
    return {one.label: found[one.label] for one in wanted}


async def _summaries(
    db: GraphDbInterface, table: AnswerTable, scope: ScopedProperty, facets: Sequence[Facet]
) -> Facets:
    """Facets of the same nodes or edges, counted batch by batch."""
    counts = [(one, ValueCounts()) for one in facets]

    def add(metadata: Sequence[Metadata]) -> int:
        """Count the properties of some nodes or edges; return the bytes of new values."""
        before, long = sum(values.size for _, values in counts), 0
        for one, values in counts:
            part = [known.get(one.of.key) for known in metadata]
            values.add(part)
            long += value_bytes(part) - VALUE_BYTES * len(part)
        return VALUE_BYTES * (sum(values.size for _, values in counts) - before) + long

    keys = {one.of.key for one in facets}
    async with aclosing(properties_of(db, table.columns, table.scope(scope), keys)) as batches:
        async for _, metadata in batches:
            size = len(metadata) + call.held_items()
            call.hold(await off_loop(size, partial(add, metadata)))
    return {
        one.label: await off_loop(values.size, partial(values.summary, one.most))
        for one, values in counts
    }
