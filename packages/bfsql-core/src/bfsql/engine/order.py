"""The order of the nodes of an answer: `sort_by` (`asking.md` 8).

Numbers precede text, and nodes without a value come last, whatever the direction; equal values
are ordered by id. Only the metadata key that is sorted by is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.arrays import LongArray, distinct_numbers, places_of
from bfsql.engine.path.answer import PathResult
from bfsql.engine.properties import LOOKED_AT, common_keys, properties_of, value_bytes
from bfsql.engine.select import Selection
from bfsql.integers import IntArray, IntegerGraph
from bfsql.models import Metadata, SortKeySummary
from bfsql.models.comparison import number_in, scalars, shown_as, unordered_text
from bfsql.models.facet import Value
from bfsql.models.merge import fold
from bfsql.models.name_keys import NAME
from bfsql.models.spelling import KnownNames
from bfsql.query.properties import DEGREE, DISTINCT, MEASURE, PATHS, SortBy, sort_by
from bfsql.workers import off_loop

Numbers: TypeAlias = npt.NDArray[np.integer[Any]]


class Order(NamedTuple):
    """An order of some nodes."""

    places: IntArray
    """The previous place of each node, in the new order."""
    facts: SortKeySummary
    """The facts that notes report about the order."""


async def in_order(
    db: GraphDbInterface,
    columns: IntegerGraph,
    nodes: IntArray,
    by: SortBy,
    numbers: Numbers | Sequence[Value] | None = None,
) -> Order:
    """The order of some nodes.

    Args:
        db: The graph; one key of metadata is read if `numbers` is None.
        columns: The graph in integers, for this call.
        nodes: Handles in any order, each once.
        by: The sort key and its direction.
        numbers: The number or the measure of each node if the key is not a property.

    Raises:
        TimeoutError: The deadline passed while metadata was read.
    """
    by_id = places_of(nodes, await columns.ordered(nodes), columns.size)
    if numbers is None and by.key in db.name_keys().types:
        numbered = distinct_numbers(await call.within(columns.types(nodes))).tolist()
        types = [columns.type_names[number] for number in numbered]
        by = by._replace(key=NAME if db.name_keys().types_of(by.key, types) else by.key)
    if isinstance(numbers, np.ndarray):
        signed = -numbers[by_id] if by.descending else numbers[by_id]
        places = by_id[np.argsort(signed, kind="stable")]
        return Order(places, SortKeySummary(by.key, had=len(nodes), mixed=False))
    values: list[Value] = []
    if numbers is not None:
        values += [fold(one) if isinstance(one, str) else one for one in numbers]
    else:
        async with aclosing(properties_of(db, columns, nodes, {by.key})) as parts:
            async for _, metadata in parts:
                part = await off_loop(len(metadata), partial(_values, metadata, by))
                call.hold(value_bytes(part))
                values += part

    def ordered() -> Order:
        places, had, kinds = _sorted(by_id.tolist(), values, descending=by.descending)
        texts = [one for one in values if isinstance(one, str)] if numbers is None else []
        facts = SortKeySummary(by.key, had, kinds > 1, unordered_text(Counter(texts)))
        return Order(places, facts)

    order = await off_loop(len(nodes), ordered)
    if order.facts.had or numbers is not None or not len(nodes):
        return order
    keys = await common_keys(db, columns, nodes[by_id[:LOOKED_AT]])
    known = tuple(same[0] for same in KnownNames(keys).nearest(by.key))
    return order._replace(facts=replace(order.facts, known=known))


async def in_order_of(db: GraphDbInterface, selection: Selection, text: str) -> Selection:
    """Sort the nodes of an answer by `sort_by`; nodes that connect others stay after them."""
    by = sort_by(text, (DEGREE,))
    nodes, columns = selection.nodes, selection.columns
    numbers = _degrees(selection, nodes) if by.key == DEGREE else None
    first = len(nodes) if selection.common is None else selection.common
    parts, facts = [], SortKeySummary(by.key, had=0, mixed=False)
    for part in (slice(0, first), slice(first, None)):
        order = await in_order(
            db, columns, nodes[part], by, None if numbers is None else numbers[part]
        )
        parts.append(order.places + part.start)
        facts = facts.joined(order.facts)
    places = np.concatenate(parts)
    return replace(
        selection,
        nodes=nodes[places],
        types=selection.types[places],
        facts=replace(selection.facts, order=facts if len(nodes) else None),
        degrees=None if numbers is None else numbers[places],
        last_page=[],  # The last page belongs to another order.
    )


async def in_order_of_walks(
    db: GraphDbInterface, result: PathResult, text: str, counted: int | None
) -> PathResult:
    """Sort the shown nodes of a path's answer by `sort_by`."""
    selection, shown = result.selection, result.shown
    counts: dict[str, Numbers | Sequence[Value]] = {PATHS: result.paths}
    if counted is not None:
        counts[DISTINCT] = result.counts[counted]
    if result.measures:
        counts[MEASURE] = result.measures[0]
    by = sort_by(text, (DEGREE, *counts))
    degrees = _degrees(selection, shown) if by.key == DEGREE else None
    numbers = counts.get(by.key) if degrees is None else degrees
    order = await in_order(db, selection.columns, shown, by, numbers)
    return result.sorted_by(*order, degrees)


def _degrees(selection: Selection, nodes: IntArray) -> LongArray:
    """The number of edges of the answer that touch each of some nodes."""
    ends = places_of(nodes, selection.edges.ends, selection.columns.size)
    subjects, objects = ends.reshape(2, -1)
    others = objects[subjects != objects]  # a self-loop touches its node once
    touched = np.concatenate([subjects, others])
    return np.bincount(touched[touched >= 0], minlength=len(nodes))


def _values(metadata: Sequence[Metadata], by: SortBy) -> list[Value]:
    return [_value(one.get(by.key), descending=by.descending) for one in metadata]


def _value(value: Any, *, descending: bool) -> int | float | str | None:
    """The sort value of a node: of a list, the value that comes first in this direction."""
    read = [(number_in(text), text) for text in map(shown_as, scalars(value))]
    numbers = [number for number, _ in read if number is not None]
    texts = [fold(text) for _, text in read]
    first = max if descending else min
    if numbers:
        return first(numbers)
    return first(texts) if texts else None


def _sorted(
    by_id: Sequence[int], values: Sequence[Value], *, descending: bool
) -> tuple[IntArray, int, int]:
    """The places in order, the number of nodes with a value, and the number of kinds of values."""
    numbers = [place for place in by_id if isinstance(values[place], int | float | Decimal)]
    texts = [place for place in by_id if isinstance(values[place], str)]
    others = [place for place in by_id if values[place] is None]
    for part in (numbers, texts):
        part.sort(key=values.__getitem__, reverse=descending)  # type: ignore[arg-type]
    places = np.array([*numbers, *texts, *others], np.int32)
    return places, len(numbers) + len(texts), bool(numbers) + bool(texts)
