"""Batches: one question for many gives what many questions give."""

from __future__ import annotations

from bfsql.answers.clean import clean_metadata
from bfsql.conformance.reading.looking import UNKNOWN, leaving, ring, sample, some_edges
from bfsql.conformance.reading.looking import entering as entering_edges
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import Edge, Triple

SOURCE = "the backend contract: a batch is a better way to answer the same question"


@rule("nodes-batch", "get_nodes_batch equals get_node", source=SOURCE, mode="reading")
async def nodes_batch(trial: Trial) -> None:
    """Same ids, same types, each once."""
    async with trial.opened() as db:
        ids = await sample(trial, db)
        batch = [(node.id, node.entity_type) for node in await db.get_nodes_batch(ids)]
        single = [(node.id, node.entity_type) for node in [await db.get_node(i) for i in ids]]
        expect(len(set(batch)) == len(batch), f"get_nodes_batch gave a node twice: {batch}.")
        expect(
            set(batch) == set(single),
            f"get_nodes_batch and get_node differ in {sorted(set(batch) ^ set(single))}.",
        )


@rule("edges-batch", "edges_batch equals edges_from and edges_to", source=SOURCE, mode="reading")
async def edges_batch(trial: Trial) -> None:
    """One ring, undirected, for one node and for all of the sample."""
    async with trial.opened() as db:
        ids = await sample(trial, db)
        every: set[Triple] = set()
        whole = True
        for entity_id in ids:
            out, into = await leaving(db, entity_id), await entering_edges(db, entity_id)
            both, alone = {*out.triples, *into.triples}, await ring(db, [entity_id])
            complete = out.whole and into.whole and alone.whole
            whole, every = whole and complete, every | both
            expect(
                set(alone.triples) == both or not complete,
                f"edges_batch([{entity_id!r}]) and the two single calls differ in "
                f"{sorted(set(alone.triples) ^ both)[:5]}.",
            )
        together = await ring(db, ids)
        expect(
            set(together.triples) == every or not (whole and together.whole),
            f"edges_batch of {len(ids)} ids and the single calls differ in "
            f"{sorted(set(together.triples) ^ every)[:5]}.",
        )


@rule(
    "node-metadata-batch",
    "metadata_for_nodes_batch equals metadata_for_node",
    source=SOURCE,
    mode="reading",
)
async def node_metadata_batch(trial: Trial) -> None:
    """Every value of every node."""
    async with trial.opened() as db:
        ids = await sample(trial, db)
        batch = await db.metadata_for_nodes_batch(ids)
        for entity_id in ids:
            single = clean_metadata(await db.metadata_for_node(entity_id))
            expect(entity_id in batch, f"metadata_for_nodes_batch left {entity_id!r} out.")
            expect(
                clean_metadata(batch[entity_id]) == single,
                f"The metadata of {entity_id!r} is {single} alone and {batch[entity_id]} in a "
                "batch.",
            )


@rule(
    "edge-metadata-batch",
    "metadata_for_edges_batch equals metadata_for_edge",
    source=SOURCE,
    mode="reading",
)
async def edge_metadata_batch(trial: Trial) -> None:
    """Every value of every edge."""
    async with trial.opened() as db:
        edges = await some_edges(trial, db)
        batch = {tuple(e): m for e, m in (await db.metadata_for_edges_batch(edges)).items()}
        for edge in edges:
            single = clean_metadata(await db.metadata_for_edge(Edge(*edge)))
            expect(edge in batch, f"metadata_for_edges_batch left {edge} out.")
            expect(
                clean_metadata(batch[edge]) == single,
                f"The metadata of {edge} is {single} alone and {batch[edge]} in a batch.",
            )


@rule(
    "unknown-in-batches",
    "batches leave unknown ids out",
    source="the backend contract: get_nodes_batch gives the nodes that exist",
    mode="reading",
)
async def unknown_in_batches(trial: Trial) -> None:
    """Unknown ids between known ones change nothing; alone, and without any, nothing comes."""
    async with trial.opened() as db:
        ids = await sample(trial, db)
        mixed = [*UNKNOWN[:2], *ids, *UNKNOWN[2:]]
        known = {node.id for node in await db.get_nodes_batch(ids)}
        found = {node.id for node in await db.get_nodes_batch(mixed)}
        expect(found == known, f"With unknown ids, get_nodes_batch gave {found ^ known} besides.")
        metadata = await db.metadata_for_nodes_batch(mixed)
        expect(
            not set(UNKNOWN) & set(metadata),
            f"metadata_for_nodes_batch gave unknown ids: {set(UNKNOWN) & set(metadata)}.",
        )
        alone = await ring(db, ids)
        together = await ring(db, mixed)
        expect(
            alone.triples == together.triples or not (alone.whole and together.whole),
            "With unknown ids, edges_batch gave other edges.",
        )
        expect(not list(await db.get_nodes_batch([])), "get_nodes_batch([]) gave nodes.")
        expect(not (await ring(db, [])).triples, "edges_batch([]) gave edges.")
        bad = [(ids[0], "no such predicate", ids[0]), (UNKNOWN[0], "p", UNKNOWN[1])]
        expect(
            not await db.metadata_for_edges_batch(bad),
            "metadata_for_edges_batch gave metadata of edges that do not exist.",
        )
