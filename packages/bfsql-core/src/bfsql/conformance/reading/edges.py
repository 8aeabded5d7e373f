"""Edges: two directions, two ends."""

from __future__ import annotations

from bfsql.conformance.reading.looking import EDGES, entering, leaving, sample
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial


@rule(
    "both-directions",
    "both directions of an edge agree",
    source="chapter 8: edges_from gives what leaves an entity, edges_to what enters it",
    mode="reading",
)
async def both_directions(trial: Trial) -> None:
    """What leaves one node enters another, and the other way about."""
    async with trial.opened() as db:
        for entity_id in await sample(trial, db):
            nodes = {entity_id}
            out, into = await leaving(db, entity_id), await entering(db, entity_id)
            ends = {o for _, _, o in out.triples[:EDGES]} | {s for s, _, _ in into.triples[:EDGES]}
            nodes |= {node.id for node in await db.get_nodes_batch(sorted(ends))}
            for edge in (e for e in out.triples[:EDGES] if e[2] in nodes):
                other = await entering(db, edge[2])
                expect(
                    edge in other.triples or not other.whole,
                    f"edges_from({edge[0]!r}) has {edge}, edges_to({edge[2]!r}) has it not.",
                )
            for edge in (e for e in into.triples[:EDGES] if e[0] in nodes):
                other = await leaving(db, edge[0])
                expect(
                    edge in other.triples or not other.whole,
                    f"edges_to({edge[2]!r}) has {edge}, edges_from({edge[0]!r}) has it not.",
                )


@rule(
    "own-edges",
    "edges_from gives edges that leave the node, edges_to those that enter it",
    source="chapter 8: edges_from(id), edges_to(id); protocol 7: an edge is its triple of texts",
    mode="reading",
)
async def own_edges(trial: Trial) -> None:
    """The asked node stands at the right end, and all three are texts."""
    async with trial.opened() as db:
        for entity_id in await sample(trial, db):
            node = await db.get_node(entity_id)
            for edge in (await leaving(db, entity_id)).triples:
                expect(edge[0] == node.id, f"edges_from({entity_id!r}) gave {edge}.")
                expect(all(isinstance(part, str) for part in edge), f"No texts: {edge}.")
            for edge in (await entering(db, entity_id)).triples:
                expect(edge[2] == node.id, f"edges_to({entity_id!r}) gave {edge}.")


@rule(
    "ends-exist",
    "the ends of every edge are nodes, or always are not",
    source="protocol 8: an edge end that the store has no node for is no node",
    mode="reading",
)
async def ends_exist(trial: Trial) -> None:
    """An end is a node to every question, or to none; one that is none is odd, not wrong."""
    async with trial.opened() as db:
        dangling = 0
        for entity_id in await sample(trial, db):
            edges = [*(await leaving(db, entity_id)).triples[:EDGES]]
            edges += (await entering(db, entity_id)).triples[:EDGES]
            ends = sorted({end for s, _, o in edges for end in (s, o)} - {entity_id})
            known = {node.id for node in await db.get_nodes_batch(ends)}
            dangling += len(set(ends) - known)
            for end in [*sorted(known)[:5], *sorted(set(ends) - known)[:5]]:
                try:
                    await db.get_node(end)
                    single = True
                except KeyError:
                    single = False
                expect(
                    single == (end in known),
                    f"{end!r}, an end of an edge of {entity_id!r}, is "
                    f"{'a' if single else 'no'} node to get_node and "
                    f"{'no' if single else 'a'} node to get_nodes_batch.",
                )
        if dangling and trial.open is not None:
            trial.odd(f"Ends of the edges looked at that have no node: {dangling}.")
