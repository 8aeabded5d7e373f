"""How much evidence there is, whatever part of it is given."""

from __future__ import annotations

from bfsql.conformance.graphs import evidence
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.memory import MemoryBackend


@rule(
    "evidence-counted",
    "the total of the evidence counts what the limit leaves out",
    source="protocol 16: provenance is total and items, 20 items",
    mode="filling",
)
async def evidence_counted(trial: Trial) -> None:
    """Asked for one item, for twenty and for none."""
    records = trial.kept(evidence())
    wanted = MemoryBackend(records)
    async with trial.filled(records) as db:
        for entity_id in ("e:1", "e:2"):
            right = (await wanted.provenance_for_node(entity_id, 20))["total"]
            for limit in (0, 1, 20):
                told = await db.provenance_for_node(entity_id, limit)
                expect(
                    told["total"] in (right, None) and len(told["items"]) <= limit,
                    f"provenance_for_node({entity_id!r}, {limit}) gave {len(told['items'])} items "
                    f"and the total {told['total']}; there are {right}.",
                )
