"""`outline`: a store's outline agrees with its nodes and edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bfsql import call
from bfsql.abc import GraphDbInterface
from bfsql.models import Outline, Property, outline_of
from bfsql.models.outline import COMMON_VALUES
from bfsql_testing.conformance.graphs import node_ids, tangled, village
from bfsql_testing.conformance.harness import (
    Trial,
    Untried,
    expect,
    expect_same,
    filling_rule,
    looked_at,
    reading_rule,
    ring_of,
)

OUTLINE = "the backend contract: outline gives the graph in counts, or None"


async def _outline(db: GraphDbInterface) -> Outline:
    outline = await db.outline()
    if outline is None:
        raise Untried("The backend gives no outline: outline() gives None.")
    return outline


async def _counted(db: GraphDbInterface, ids: Sequence[str]) -> Outline:
    """The outline computed from the results of the other methods, ends of edges included.

    Raises:
        Untried: The backend reported an omission.
    """
    with call.scope(seconds=call.remaining()) as scope:
        ring = await ring_of(db, ids)
        ends = {end for s, _, o in ring for end in (s, o)}
        types = {n.id: n.entity_type for n in await db.get_nodes_batch(sorted(ends.union(ids)))}
        whole = sorted((s, p, o) for s, p, o in ring if s in types and o in types)
        of_nodes = await db.metadata_for_nodes_batch(sorted(types))
        of_edges = await db.metadata_for_edges_batch(whole)
        if scope.omissions:
            raise Untried("The backend left something out of the graph that was counted.")
    return outline_of(
        Counter(types.values()),
        Counter((types[s], p, types[o]) for s, p, o in whole),
        ((types[i], known) for i, known in of_nodes.items()),
        ((edge[1], known) for edge, known in of_edges.items()),
    )


@reading_rule("protocol 23: one spelling, the one that describe_schema lists")
async def outline_names(trial: Trial) -> None:
    """The types and predicates of an outline are those of the schema."""
    async with looked_at(trial, village()) as (db, _):
        outline = await _outline(db)
        if not await db.comprehensive():
            raise Untried("The lists of the schema are samples.")
        relations = outline.relations
        types = {name for s, _, o, *_ in relations for name in (s, o)}
        types |= {*outline.node_counts, *outline.node_properties}
        predicates = {p for _, p, *_ in relations} | {*outline.edge_properties}
        for what, used, known in (
            ("types", types, await db.entity_types()),
            ("predicates", predicates, await db.predicates()),
        ):
            strange = f"{what} {sorted(used.difference(known))[:4]}, which the schema does not have"
            expect(used <= {*known}, f"The outline has the {strange}.")


@filling_rule(OUTLINE)
async def outline_counts(trial: Trial) -> None:
    """An outline counts nodes and relations as the graph has them."""
    # Edges with an end that is not a node are not counted, and nodes need not be.
    for records in (village(), tangled()):
        async with trial.filled(records) as db:
            outline = await _outline(db)
            wanted = await _counted(db, node_ids(trial.storable(records)))
        if outline.node_counts:
            _expect_counts("nodes by type", outline.node_counts, wanted.node_counts)
        edges, right = [
            {one[:3]: one.edges or 0 for one in of.relations} for of in (outline, wanted)
        ]
        if outline.sampled:
            strange = sorted(set(edges).difference(right))[:4]
            expect(not strange, f"The outline has relations that the graph has not: {strange}.")
            continue
        _expect_counts("edges by relation", edges, right)
        counts = list(edges.values())
        expect(counts == sorted(counts)[::-1], "The relations are not ordered by frequency.")


def _expect_counts(what: str, have: Mapping[Any, int], right: Mapping[Any, int]) -> None:
    counts, wanted = ({one for one in of.items() if one[1]} for of in (have, right))
    expect_same(f"The outline's number of {what}", counts, wanted)


@filling_rule(OUTLINE)
async def outline_properties(trial: Trial) -> None:
    """The properties of an outline are those of the metadata, and none of its bounds is wrong."""
    async with trial.filled(village()) as db:
        outline = await _outline(db)
        wanted = await _counted(db, node_ids(trial.storable(village())))
    for have, want in (
        (outline.node_properties, wanted.node_properties),
        (outline.edge_properties, wanted.edge_properties),
    ):
        for owner, described in have.items():
            right = {one.name: one for one in want.get(owner, ())}
            for one in described:
                what = f"No {owner} has {one.name!r}, although the outline lists it."
                expect(one.name in right, what)
                _expect_described(owner, one, right[one.name])


def _expect_described(owner: str, have: Property, want: Property) -> None:
    what = f"The outline states of {owner}.{have.name}"
    expect(have.kind == want.kind, f"{what}: {have.kind}; it is {want.kind}.")
    right = f"it goes from {want.minimum!r} to {want.maximum!r}."
    for bound in (have.minimum, have.maximum):
        fits = bound is None or _within(bound, want)
        expect(fits, f"{what} that it reaches {bound!r}; {right}")
    expect(len(have.values) <= COMMON_VALUES, f"{what} {len(have.values)} values.")
    strange = sorted({*have.values}.difference(want.values))[:4]
    known = not strange or want.further_values or not want.values
    expect(known, f"{what} the values {strange}; it has {list(want.values)}.")


def _within(bound: object, want: Property) -> bool:
    least, most = want.minimum, want.maximum
    if isinstance(bound, str) and isinstance(least, str) and isinstance(most, str):
        return least <= bound <= most
    if isinstance(bound, int | float) and isinstance(least, int | float):
        return isinstance(most, int | float) and least <= bound <= most
    return False
