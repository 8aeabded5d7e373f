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


@reading_rule(
    "the types and predicates of an outline are those of the schema",
    source="protocol 23: one spelling, the one that describe_schema lists",
)
async def outline_names(trial: Trial) -> None:
    """Of its counts, its relations and its properties; where the lists are complete."""
    async with looked_at(trial, village()) as (db, _):
        outline = await _outline(db)
        if not await db.comprehensive():
            raise Untried("The lists of the schema are samples.")
        relations = outline.relations
        types = {name for s, _, o, _ in relations for name in (s, o)}
        types |= {*outline.node_counts, *outline.node_properties}
        predicates = {p for _, p, _, _ in relations} | {*outline.edge_properties}
        for what, used, known in (
            ("types", types, await db.entity_types()),
            ("predicates", predicates, await db.predicates()),
        ):
            strange = sorted(used.difference(known))
            expect(
                not strange,
                f"The outline has the {what} {strange[:4]}, which the schema does not have.",
            )


@filling_rule("an outline counts nodes and relations as the graph has them", source=OUTLINE)
async def outline_counts(trial: Trial) -> None:
    """Edges with an end that is not a node are not counted; a sample may lack relations.

    Nodes may be left uncounted.
    """
    for records in (village(), tangled()):
        async with trial.filled(records) as db:
            outline = await _outline(db)
            wanted = await _counted(db, node_ids(trial.storable(records)))
        if outline.node_counts:
            _expect_counts("nodes by type", outline.node_counts, wanted.node_counts)
        edges = {one[:3]: one.edges or 0 for one in outline.relations}
        right = {one[:3]: one.edges or 0 for one in wanted.relations}
        if not outline.sampled:
            _expect_counts("edges by relation", edges, right)
            counts = list(edges.values())
            expect(
                counts == sorted(counts, reverse=True),
                "The relations are not ordered by frequency.",
            )
            continue
        strange = sorted(set(edges).difference(right))
        expect(not strange, f"The graph does not have the relations {strange[:4]} of the outline.")


def _expect_counts(what: str, have: Mapping[Any, int], want: Mapping[Any, int]) -> None:
    for name in sorted({*have, *want}, key=str):
        given, right = have.get(name, 0), want.get(name, 0)
        expect(
            given == right, f"The outline counts {given} {what} for {name}; the graph has {right}."
        )


@filling_rule(
    "the properties of an outline are those of the metadata, and none of its bounds is wrong",
    source=OUTLINE,
)
async def outline_properties(trial: Trial) -> None:
    """Names, kinds, ranges and values; they may come from a sample."""
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
                expect(
                    one.name in right,
                    f"No {owner} has {one.name!r}, although the outline lists it.",
                )
                _expect_described(owner, one, right[one.name])


def _expect_described(owner: str, have: Property, want: Property) -> None:
    what = f"The outline states of {owner}.{have.name}"
    expect(have.kind == want.kind, f"{what}: {have.kind}; it is {want.kind}.")
    for bound in (have.minimum, have.maximum):
        expect(
            bound is None or _within(bound, want),
            f"{what} that it reaches {bound!r}; it goes from {want.minimum!r} to {want.maximum!r}.",
        )
    expect(len(have.values) <= COMMON_VALUES, f"{what} {len(have.values)} values.")
    strange = sorted({*have.values}.difference(want.values))
    expect(
        not strange or want.further_values or not want.values,
        f"{what} the values {strange[:4]}; it has {list(want.values)}.",
    )


def _within(bound: object, want: Property) -> bool:
    least, most = want.minimum, want.maximum
    if isinstance(bound, str) and isinstance(least, str) and isinstance(most, str):
        return least <= bound <= most
    if isinstance(bound, int | float) and isinstance(least, int | float):
        return isinstance(most, int | float) and least <= bound <= most
    return False
