"""Ids that a careless store folds, quotes or cuts."""

from __future__ import annotations

from bfsql.conformance.graphs import hostile
from bfsql.conformance.rule import Broken, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, NodeRecord

PAIRS = (
    ("id:Case", "id:case"),
    ("id:e\u0301", "id:\u00e9"),
    ("id:x", "id:x "),
    ("id:1", "id:01"),
    ("id:stra\u00dfe", "id:strasse"),
    ("id:%41", "id:A"),
    ("id:pattern", "id:patt%"),
    ("id:pattern", "id:patter_"),
    ("007", "7"),
    ("4.20", "4.2"),
    ("id:\uff11", "id:1"),
)
"""Ids that are not the same, the first of which is in the store."""


@rule(
    "exact-ids",
    "ids are not folded",
    source="protocol 24: no case folding, no Unicode normalization",
    mode="filling",
)
async def exact_ids(trial: Trial) -> None:
    """One of two near ids is unknown where it is not there, and another node where it is."""
    present = [NodeRecord(one, "Thing", {"name": one}) for one, _ in PAIRS]
    known = {one for one, _ in PAIRS}
    async with trial.filled([*present]) as db:
        for other in [other for _, other in PAIRS if other not in known]:
            found = [node.id for node in await db.get_nodes_batch([other])]
            expect(not found, f"get_nodes_batch([{other!r}]) gave {found}; that id is unknown.")
            try:
                node = await db.get_node(other)
            except KeyError:
                continue
            raise Broken(f"get_node({other!r}) gave {node}; that id is unknown.")
    every = list(dict.fromkeys(i for pair in PAIRS for i in pair))
    async with trial.filled([NodeRecord(i, "Thing", {"mark": i}) for i in every]) as db:
        for entity_id in every:
            mark = (await db.metadata_for_node(entity_id)).get("mark")
            expect(mark == entity_id, f"{entity_id!r} has the metadata of {mark!r}.")


@rule(
    "hostile-ids",
    "hostile ids are ids like any other",
    source="protocol 19: ids, predicates and types are never altered",
    mode="filling",
)
async def hostile_ids(trial: Trial) -> None:
    """Each is known, has its own edges and metadata; so with predicates and types."""
    records = trial.kept(hostile())
    wanted = MemoryBackend(records)
    ids = list(dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)))
    async with trial.filled(records) as db:
        for entity_id in ids:
            shown = repr(entity_id)[:80]
            node = await db.get_node(entity_id)
            want = await wanted.get_node(entity_id)
            expect(
                (node.id, node.entity_type) == (want.id, want.entity_type),
                f"get_node({shown}) gave {node}",
            )
            for method in ("edges_from", "edges_to"):
                have = {tuple(e) for e in await getattr(db, method)(entity_id)}
                right = {tuple(e) for e in await getattr(wanted, method)(entity_id)}
                expect(
                    have == right, f"{method}({shown}) differs: {sorted(have ^ right)[:3]}"[:400]
                )
        for record in records:
            if isinstance(record, EdgeRecord):
                edge = Edge(record.subject, record.predicate, record.object)
                await db.metadata_for_edge(edge)
        for method in ("entity_types", "predicates"):
            have_words = list(await getattr(db, method)())
            right_words = await getattr(wanted, method)()
            expect(
                have_words == right_words,
                f"{method} differs in {sorted(set(have_words) ^ set(right_words))}, or in order.",
            )
