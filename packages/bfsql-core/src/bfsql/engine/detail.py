"""Metadata for what the filters ask in full, as far as time and room allow.

`node_types` and `predicates` choose detail, not presence: what they do not
name stays as a stub, and costs the store nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from bfsql.abc import GraphDbInterface
from bfsql.engine.fit import Fits, most
from bfsql.engine.select import Selection
from bfsql.engine.timing import within
from bfsql.models import (
    BfsQuery,
    BfsResult,
    IntersectionQuery,
    IntersectionResult,
    Metadata,
    Triple,
)

R = TypeVar("R", BfsResult, IntersectionResult)
K = TypeVar("K", str, Triple)


async def add_detail(
    db: GraphDbInterface,
    query: BfsQuery | IntersectionQuery,
    result: R,
    selection: Selection,
    fits: Fits[R] | None,
) -> R:
    """The result with metadata on its nodes and edges, nearest first, while room lasts.

    Args:
        db: The graph.
        query: Its filters of detail say what is to be full.
        result: A result of stubs, which fits.
        selection: What of its nodes' metadata is known already.
        fits: Whether a result keeps within the budget; None for no budget.
    """
    if query.topology_only:
        return result
    result = await _detail_nodes(db, query, result, selection, fits)
    if result.facts.bare_nodes:
        due = len(_due_edges(query, result))
        return replace(result, facts=replace(result.facts, bare_edges=due))
    return await _detail_edges(db, query, result, fits)


async def _detail_nodes(
    db: GraphDbInterface,
    query: BfsQuery | IntersectionQuery,
    result: R,
    selection: Selection,
    fits: Fits[R] | None,
) -> R:
    types, wanted = result.page.types, frozenset(query.node_types)
    due = [i for i in result.page.ids if not wanted or types[i] in wanted]
    if not due:
        return result
    known = selection.metadata
    if known is None:
        try:
            known = await within(db.metadata_for_nodes_batch(due))
        except TimeoutError:
            return replace(result, facts=replace(result.facts, late=(*result.facts.late, "nodes")))
    full: dict[str, Metadata] = {i: known.get(i, {}) for i in due}
    if brought := selection.brought:
        full = {i: {**brought.get(i, {}), **metadata} for i, metadata in full.items()}

    def with_first(count: int) -> R:
        page = replace(result.page, node_metadata=_first(full, count))
        return replace(result, page=page, facts=replace(result.facts, bare_nodes=len(full) - count))

    return _longest(with_first, len(full), fits)


async def _detail_edges(
    db: GraphDbInterface, query: BfsQuery | IntersectionQuery, result: R, fits: Fits[R] | None
) -> R:
    due = _due_edges(query, result)
    if not due:
        return result
    try:
        known = await within(db.metadata_for_edges_batch(due))
    except TimeoutError:
        return replace(result, facts=replace(result.facts, late=(*result.facts.late, "edges")))
    full: dict[Triple, Metadata] = {triple: known.get(triple, {}) for triple in due}

    def with_first(count: int) -> R:
        page = replace(result.page, edge_metadata=_first(full, count))
        return replace(result, page=page, facts=replace(result.facts, bare_edges=len(full) - count))

    return _longest(with_first, len(full), fits)


def _due_edges(query: BfsQuery | IntersectionQuery, result: R) -> Sequence[Triple]:
    wanted = frozenset(query.predicates)
    return [t for t in result.page.triples if not wanted or t[1] in wanted]


def _first(full: dict[K, Metadata], count: int) -> dict[K, Metadata]:
    return full if count == len(full) else dict(islice(full.items(), count))


def _longest(with_first: Callable[[int], R], count: int, fits: Fits[R] | None) -> R:
    complete = with_first(count)
    if fits is None or fits(complete):
        return complete
    # A note on what is missing may itself need room that a bare page does not have.
    return with_first(max(0, most(count - 1, lambda n: fits(with_first(n)))))
