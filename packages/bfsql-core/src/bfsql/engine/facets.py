"""`facets`: the whole answer in groups by the values of properties (`protocol.md` 37).

Only when all values are counted are they compared: numbers, also those held as text, form a group
by their number, and text by its exact spelling.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import at, distinct_numbers
from bfsql.engine.conditions import names_of
from bfsql.engine.order_statistics import LONGEST, percentiles
from bfsql.engine.pages import order_of_edges
from bfsql.engine.plan import Query
from bfsql.engine.properties import LOOKED_AT, Column, common_keys, property_columns
from bfsql.engine.table import AnswerTable
from bfsql.errors import bad_value
from bfsql.integers import IntArray, IntegerGraph, Ring
from bfsql.masking import shorten
from bfsql.models import IntersectionQuery
from bfsql.models.comparison import Scalar, number_of, shown_as, unordered_text
from bfsql.models.condition import ScopedProperty
from bfsql.models.facet import EXACT, MEAN, VALUES, Facet, Facets, FacetSummary
from bfsql.models.json_values import MAX_BITS
from bfsql.models.merge import fold
from bfsql.models.quotation import quoted
from bfsql.models.spelling import KnownNames
from bfsql.query.properties import computed_fields, facet
from bfsql.workers import off_loop


def facet_summary(column: Column, most: int = VALUES) -> FacetSummary:
    """What the values of a property come to.

    Args:
        column: The property.
        most: Maximum number of values to list.

    Raises:
        TimeoutError: The deadline of the call passed.
    """
    numbers: Counter[int | float] = Counter()
    texts: Counter[str] = Counter()
    total = Decimal(0)
    missing, *counts = np.bincount(column.numbers, minlength=len(column.values)).tolist()
    for found, count in call.checked(zip(column.values.scalars(1), counts, strict=True)):
        for value in found if len(found) == 1 else call.checked(found):
            number = number_of(value)
            if number is None:
                texts[value if type(value) is str else _text_of(value)] += count
            else:
                numbers[number.value] += count
                total = EXACT.add(total, EXACT.multiply(number.decimal, count))
    items = numbers.total()
    common = [(-n, 0, value) for value, n in _most_common(numbers, most)]
    common += [(-n, 1, text) for text, n in _most_common(texts, most)]
    ends, unordered = _ends(numbers or texts)
    return FacetSummary(
        sum(counts),
        missing,
        len(numbers) + len(texts),
        items + texts.total(),
        items,
        *ends,
        MEAN.divide(total, items) if items else None,
        total if items else None,
        percentiles(numbers),
        tuple((shorten(shown_as(value), LONGEST), -n) for n, _, value in sorted(common)[:most]),
        unordered,
    )


def _text_of(value: Scalar) -> str:
    """A value that is no number as text; an int that is too long for one as stores hold it."""
    is_long = type(value) is int and value.bit_length() > MAX_BITS
    return f"{value:#x}" if is_long else shown_as(value)


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
    ends = [shorten(end(ordered)[1], LONGEST) for end in (min, max)]
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
        db: The graph; the named properties are read, those of one scope together.
        query: The query.
        table: The answer.
        listed: The nodes that a facet without a scope counts, if not those that pages list.
        stripped: Keys of edge metadata that traversals leave out.

    Raises:
        ToolError: A text is no facet, or names a property that traversals leave out.
        TimeoutError: The deadline passed.
    """
    if not isinstance(query, IntersectionQuery) and query.offset:
        return table
    counted = table if listed is None else replace(table, listed=listed)
    names = table.names(await names_of(db, query.facets, computed_fields(query.fields)))
    steps = None if table.walks is None else table.walks.steps
    wanted = [facet(text, names, steps) for text in query.facets]
    scopes: defaultdict[ScopedProperty, list[Facet]] = defaultdict(list)
    for one in wanted:
        refuse_stripped("facets", one.of, stripped)
        scopes[replace(one.of, key="")].append(one)
    found: dict[str, FacetSummary] = {}
    for scope, group in scopes.items():
        found |= await _summaries(db, counted, scope, group)
    for one in wanted:
        summary = found[one.label]
        if summary.missing and not summary.count:
            known = await known_properties(db, counted, one.of, stripped)
            found[one.label] = replace(summary, known=known)
    return replace(table, facets={one.label: found[one.label] for one in wanted})


async def _summaries(
    db: GraphDbInterface, table: AnswerTable, scope: ScopedProperty, facets: Sequence[Facet]
) -> Facets:
    """Facets of the same nodes or edges."""
    keys = {one.of.key for one in facets}
    found = await property_columns(db, table.columns, table.scope(scope), keys)

    async def summary(one: Facet) -> FacetSummary:
        column = found[one.of.key]
        size = len(column.values)
        return await off_loop(size, partial(facet_summary, column, one.most))

    return {one.label: await summary(one) for one in facets}
