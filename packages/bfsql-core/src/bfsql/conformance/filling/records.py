"""Every node and every edge, asked directly: nothing missing, nothing added."""

from __future__ import annotations

from collections.abc import Sequence

from bfsql.abc import GraphDbInterface
from bfsql.conformance.graphs import (
    GRAPHS,
    dangling,
    hub,
    parallel,
    several_types,
    shapes,
)
from bfsql.conformance.rule import Broken, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, GraphRecord, NodeRecord


def node_ids(records: Sequence[GraphRecord]) -> list[str]:
    """Ids of all nodes, each once."""
    return list(dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)))


@rule(
    "every-node",
    "every node is there, under its own id and with its own type",
    source="chapter 8: get_node is the identity call; protocol 9: a node has one entity_type",
    mode="filling",
)
async def every_node(trial: Trial) -> None:
    """Alone and in one batch, over every graph of the kit."""
    for graph in GRAPHS.values():
        records = trial.kept(graph())
        ids = node_ids(records)
        wanted = {(n.id, n.entity_type) for n in await MemoryBackend(records).get_nodes_batch(ids)}
        async with trial.filled(records) as db:
            batch = {(n.id, n.entity_type) for n in await db.get_nodes_batch(ids)}
            expect(
                batch == wanted,
                f"Over {graph.__name__}, get_nodes_batch differs in {sorted(batch ^ wanted)[:4]}.",
            )
            for entity_id in ids[:60]:
                node = await db.get_node(entity_id)
                expect(
                    (node.id, node.entity_type) in wanted and node.id == entity_id,
                    f"Over {graph.__name__}, get_node({entity_id!r}) gave {node}.",
                )


@rule(
    "every-edge",
    "every edge is there in both directions, parallel ones once, and no other",
    source="protocol 7: an edge's identity is its triple; a self-loop is an edge",
    mode="filling",
)
async def every_edge(trial: Trial) -> None:
    """`edges_from`, `edges_to` and the ring of each node."""
    for graph in (shapes, parallel, several_types, dangling):
        records = trial.kept(graph())
        wanted = MemoryBackend(records)
        async with trial.filled(records) as db:
            for entity_id in node_ids(records):
                await _same_edges(db, wanted, entity_id)


async def _same_edges(db: GraphDbInterface, wanted: MemoryBackend, entity_id: str) -> None:
    for method in ("edges_from", "edges_to"):
        have = sorted(map(tuple, await getattr(db, method)(entity_id)))
        want = sorted(map(tuple, await getattr(wanted, method)(entity_id)))
        expect(have == want, f"{method}({entity_id!r}) gave {have}; right is {want}.")
    ring = {(s, p, o) for s, p, o in await db.edges_batch([entity_id])}
    want_ring = set(await wanted.edges_batch([entity_id]))
    expect(
        ring == want_ring,
        f"edges_batch([{entity_id!r}]) gave {sorted(ring)}; right is {sorted(want_ring)}.",
    )


@rule(
    "whole-hub",
    "a hub gives all of its edges",
    source="protocol 11: nothing is cut silently",
    mode="filling",
)
async def whole_hub(trial: Trial) -> None:
    """1,200 edges, in both directions, alone and in a ring."""
    records = trial.kept(hub())
    half = sum(isinstance(r, EdgeRecord) and r.subject == "hub" for r in records)
    every = sum(isinstance(r, EdgeRecord) for r in records)
    async with trial.filled(records) as db:
        counts = {
            "edges_from": (len(set(await db.edges_from("hub"))), half),
            "edges_to": (len(set(await db.edges_to("hub"))), every - half),
            "edges_batch": (len({(s, p, o) for s, p, o in await db.edges_batch(["hub"])}), every),
        }
        for method, (have, want) in counts.items():
            expect(have == want, f"{method} of a hub gave {have} edges of {want}.")
        spokes = node_ids(records)
        found = len(list(await db.get_nodes_batch(spokes)))
        expect(found == len(spokes), f"get_nodes_batch gave {found} nodes of {len(spokes)}.")


@rule(
    "alone-is-known",
    "a node without edges is known",
    source="chapter 8: one without edges gives nothing; KeyError is for unknown ones",
    mode="filling",
)
async def alone_is_known(trial: Trial) -> None:
    """No edges, no error."""
    records = trial.kept(shapes())
    async with trial.filled(records) as db:
        for ask in (db.edges_from, db.edges_to):
            try:
                edges = list(await ask("s:4"))
            except KeyError as error:
                raise Broken(
                    f"{ask.__name__}('s:4') raised KeyError; the node is there, without edges."
                ) from error
            expect(not edges, f"{ask.__name__}('s:4') gave {edges}; the node has no edges.")
        expect(not list(await db.edges_batch(["s:4"])), "edges_batch(['s:4']) gave edges.")
        await db.metadata_for_node("s:4")


@rule(
    "dangling-ends",
    "an end without a node is no node",
    source="protocol 8: it is no node; edges_batch gives nothing for an id that is no node",
    mode="filling",
)
async def dangling_ends(trial: Trial) -> None:
    """The known end still gives the edge, the other end is unknown."""
    records = trial.kept(dangling())
    ends = {e for r in records if isinstance(r, EdgeRecord) for e in (r.subject, r.object)}
    strangers = sorted(ends - set(node_ids(records)))
    async with trial.filled(records) as db:
        found = [node.id for node in await db.get_nodes_batch(strangers)]
        expect(not found, f"get_nodes_batch gave {found}, which no record describes.")
        for stranger in strangers:
            try:
                node = await db.get_node(stranger)
            except KeyError:
                continue
            raise Broken(f"get_node({stranger!r}) gave {node}; no record describes it.")
        wanted = {tuple(edge) for edge in await MemoryBackend(records).edges_from("d:1")}
        have = {tuple(Edge(*edge)) for edge in await db.edges_from("d:1")}
        expect(have == wanted, f"edges_from('d:1') gave {sorted(have)}; right: {sorted(wanted)}.")
        expect(
            not list(await db.edges_batch(strangers)),
            "edges_batch gave edges for ids that are no nodes.",
        )
