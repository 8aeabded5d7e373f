"""Percentiles of numbers, and the nodes with the best values (`protocol.md` 37)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import accumulate, chain, pairwise

import numpy as np

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import NO_HANDLES, LongArray, distinct_numbers, ranges
from bfsql.engine.arcs import Pairs
from bfsql.engine.properties import property_columns
from bfsql.engine.table import AnswerTable
from bfsql.engine.thresholds import PAIR_BYTES
from bfsql.integers import IntArray
from bfsql.masking import shorten
from bfsql.models import PathQuery
from bfsql.models.comparison import Number
from bfsql.models.facet import EXACT, MEAN, PERCENTILES, Best, Measure, MeasureValue, Value
from bfsql.models.name_keys import NAME
from bfsql.query.properties import measure_label

LONGEST = 200
"""Characters of a value or a name that are shown."""


def percentiles(counts: Mapping[int | float, int]) -> dict[str, Value]:
    """Percentiles of numbers, which are given with how often each occurs."""
    if not counts:
        return {}
    values = sorted(call.checked(counts))
    *_, total = ends = list(accumulate(counts[value] for value in values))
    return {
        name: _percentile(lambda place: values[bisect_right(ends, place)], total, percent)
        for name, percent in PERCENTILES.items()
    }


def _percentile(value_at: Callable[[int], int | float], count: int, percent: int) -> Value:
    """A percentile of ascending numbers, linear between two of them, as `PERCENTILE_CONT` in SQL.

    It has 15 significant digits if it is none of the numbers.
    """
    place, rest = divmod((count - 1) * percent, 100)
    low, high = value_at(place), value_at(place + bool(rest))
    if low == high:
        return low
    first, last = (Decimal(repr(number)) for number in (low, high))
    way = EXACT.multiply(EXACT.subtract(last, first), Decimal(rest).scaleb(-2))
    return MEAN.plus(EXACT.add(first, way))


def medians(
    pairs: Iterable[Pairs], count: int, numbers: Sequence[Sequence[Number]], value_of: IntArray
) -> list[MeasureValue]:
    """The median of the numbers that each shown node reaches.

    Args:
        pairs: Numbers of shown nodes and places of nodes or edges.
        count: The number of shown nodes.
        numbers: The numbers of each value.
        value_of: For each node or edge, the number of its value.
    """
    values = sorted({one.value for some in call.checked(numbers) for one in some})
    rank_of = {value: rank for rank, value in enumerate(values)}
    flat = np.array([rank_of[one.value] for one in chain.from_iterable(numbers)], np.int64)
    lengths = np.array(list(map(len, numbers)), np.int64)
    shown, stops = _all(pairs)
    own = value_of[stops]
    row, places = ranges((np.cumsum(lengths) - lengths)[own], lengths[own])
    shown, ranks = shown[row], flat[places]
    ranks = ranks[np.lexsort((ranks, shown))]

    def median(start: int, stop: int) -> MeasureValue:
        percent = PERCENTILES["p50"]
        return _percentile(lambda place: values[ranks[start + place]], stop - start, percent)

    return [median(*part) if part[0] < part[1] else None for part in _parts(shown, count)]


def best(
    pairs: Iterable[Pairs],
    count: int,
    one: Measure,
    ranks: tuple[LongArray, Sequence[Value]],
    nodes: IntArray,
) -> list[MeasureValue]:
    """The nodes with the best values that each shown node reaches, each once.

    Args:
        pairs: Numbers of shown nodes and places of nodes or edges.
        count: The number of shown nodes.
        one: The measure.
        ranks: For each node or edge the rank of its value, and the values in that order: numbers,
            texts and None.
        nodes: For each node or edge the node that it is or leads to, in the order of ids.
    """
    rank_of, values = ranks
    texts = sum(not isinstance(value, str) for value in values) - 1
    shown, stops = _all(pairs)
    shown, stops = (part[rank_of[stops] < len(values) - 1] for part in (shown, stops))
    order = np.lexsort((rank_of[stops], nodes[stops], shown))
    owner, node = shown[order], nodes[stops[order]]
    order = order[(np.diff(owner, prepend=-1) != 0) | (np.diff(node, prepend=-1) != 0)]
    order = order[np.lexsort((stops[order], rank_of[stops[order]], shown[order]))]
    shown, stops = shown[order], stops[order]
    rank, is_top = rank_of[stops], one.function == "top"

    def of(start: int, stop: int) -> Best:
        first = rank[start]
        end = first + 1 if not is_top else texts if first < texts else len(values)
        size = int(np.searchsorted(rank[start:stop], end))
        last = start + min(size, one.most)
        return Best(
            [values[place] for place in rank[start:last].tolist()],
            nodes[stops[start:last]].tolist(),
            None if is_top else size,
            is_top and last < start + size and bool(rank[last] == rank[last - 1]),
        )

    return [of(*part) if part[0] < part[1] else None for part in _parts(shown, count)]


def _all(pairs: Iterable[Pairs]) -> tuple[IntArray, IntArray]:
    parts = [(NO_HANDLES, NO_HANDLES)]
    for ones, others in pairs:
        call.hold(PAIR_BYTES * len(ones))
        parts.append((ones.astype(np.int32), others.astype(np.int32)))
    shown, stops = (np.concatenate(part) for part in zip(*parts, strict=True))
    return shown, stops


def _parts(shown: IntArray, count: int) -> Iterable[tuple[int, int]]:
    """Where the pairs of each shown node begin and end, if they are in this order."""
    ends = np.cumsum(np.bincount(shown, minlength=count))
    return call.checked(pairwise([0, *ends.tolist()]))


async def with_names(db: GraphDbInterface, table: AnswerTable, query: PathQuery) -> AnswerTable:
    """An answer with the ids and names of the best nodes of its page.

    Raises:
        TimeoutError: The deadline passed while names were read.
    """
    page = slice(query.offset, None if query.limit is None else query.offset + query.limit)
    known = {label: table.numbers[label] for label in map(measure_label, query.measure)}
    every = {text: list(of) for text, of in known.items() if not isinstance(of, np.ndarray)}
    cells = [cell for of in every.values() for cell in of[page] if isinstance(cell, Best)]
    if not cells:
        return table
    handles = distinct_numbers(np.array([n for cell in cells for n in cell.nodes], np.int32))
    column = (await property_columns(db, table.columns, handles, {NAME}))[NAME]
    ids = await call.within(table.columns.ids(handles))
    texts = [[t for t in some if isinstance(t, str)] for some in column.values.scalars()]
    names = [shorten(some[0], LONGEST) if some else None for some in texts]
    of_nodes = zip(ids, map(names.__getitem__, column.numbers.tolist()), strict=True)
    named = dict(zip(handles.tolist(), of_nodes, strict=True))
    for of in every.values():
        of[page] = [
            replace(cell, named=[named[n] for n in cell.nodes]) if isinstance(cell, Best) else cell
            for cell in of[page]
        ]
    return replace(table, numbers={**table.numbers, **every})
