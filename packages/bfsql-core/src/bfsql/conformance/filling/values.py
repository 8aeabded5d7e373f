"""Metadata: every value that the store keeps comes back as it was."""

from __future__ import annotations

from bfsql.answers.clean import clean, clean_metadata
from bfsql.conformance.graphs import evidence, parallel, values
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, Metadata, NodeRecord

IDENTITY = ("id", "entity_type")
"""What a backend may or may not repeat in the metadata it gives."""


@rule(
    "every-value",
    "metadata keeps every value as it is",
    source="chapter 8: metadata_for_node gives everything the store knows; protocol 17 and 18",
    mode="filling",
)
async def every_value(trial: Trial) -> None:
    """Value by value, as answers show them, with numbers and booleans told apart."""
    for graph in (values, parallel):
        records = trial.kept(graph())
        wanted = MemoryBackend(records)
        async with trial.filled(records) as db:
            for record in records:
                if isinstance(record, NodeRecord):
                    have = await db.metadata_for_node(record.id)
                    _same(f"node {record.id!r}", have, await wanted.metadata_for_node(record.id))
                elif isinstance(record, EdgeRecord):
                    edge = Edge(record.subject, record.predicate, record.object)
                    have = await db.metadata_for_edge(edge)
                    _same(f"edge {tuple(edge)}", have, await wanted.metadata_for_edge(edge))


@rule(
    "edge-evidence",
    "the passages behind an edge stand in its metadata as provenance",
    source="protocol 16: backends put all else that is verbose under provenance",
    mode="filling",
)
async def edge_evidence(trial: Trial) -> None:
    """And `provenance_for_node` gives those that touch a node."""
    records = trial.kept(evidence())
    wanted = MemoryBackend(records)
    async with trial.filled(records) as db:
        for edge in (Edge("e:1", "treats", "e:2"), Edge("e:2", "causes", "e:2")):
            have = clean((await db.metadata_for_edge(edge)).get("provenance"), "provenance")
            want = clean((await wanted.metadata_for_edge(edge)).get("provenance"), "provenance")
            expect(have == want, f"The provenance of {tuple(edge)} is {have}; right is {want}.")
        for entity_id in ("e:1", "e:2"):
            found = (await db.provenance_for_node(entity_id, 20))["items"]
            whole = await wanted.provenance_for_node(entity_id, 20)
            right = whole["items"]
            expect(found == right, f"provenance_for_node({entity_id!r}) gave {found}, not {right}.")
            first = await db.provenance_for_node(entity_id, 1)
            expect(
                len(first["items"]) <= 1 and first["total"] in (None, whole["total"]),
                f"provenance_for_node({entity_id!r}, 1) gave {len(first['items'])} items of "
                f"{first['total']}; right is 1 of {whole['total']}.",
            )


def _same(what: str, have: Metadata, want: Metadata) -> None:
    shown, right = clean_metadata(have), clean_metadata(want)
    for key in sorted({*shown, *right}):
        expect(
            key in right or key in IDENTITY,
            f"The metadata of {what} has {key!r}, which no record gave.",
        )
        expect(key in shown or key not in right, f"The metadata of {what} has lost {key!r}.")
        one, other = shown.get(key), right.get(key)
        if isinstance(have.get(key), str) and isinstance(want.get(key), str):
            one, other = have[key], want[key]  # also what answers do not show: line breaks, say
        expect(
            key not in right or repr(one) == repr(other),
            f"{key!r} of {what} is {one!r}"[:300] + f"; {other!r} is right."[:300],
        )
