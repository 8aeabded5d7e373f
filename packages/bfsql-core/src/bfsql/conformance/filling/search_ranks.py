"""What a search does before it counts to twenty: it keeps the types, it ranks."""

from __future__ import annotations

import inspect

from bfsql.abc import adapted
from bfsql.conformance.graphs import crowd
from bfsql.conformance.rule import Untried, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import NodeRecord

MOST = 20
"""Candidates of a search (chapter 12)."""


@rule(
    "search-types-first",
    "a search that takes types keeps to them before it counts",
    source="appendix A, search_entities: node_types; chapter 12: at most 10-20 candidates",
    mode="filling",
)
async def search_types_first(trial: Trial) -> None:
    """Thirty namesakes of a type fill the twenty places, whatever others are called."""
    async with trial.filled(crowd()) as db:
        if "node_types" not in inspect.signature(db.search_entities).parameters:
            raise Untried("The search takes no types; core keeps to them.")
        for entity_type in ("Person", "Place"):
            found = list(await db.search_entities("Paris", node_types=[entity_type]))
            others = [stub for stub in found if stub.entity_type != entity_type]
            expect(not others, f"A search for 'Paris' of type {entity_type} gave {others[:2]}.")
            expect(
                len(found) == MOST,
                f"A search for 'Paris' of type {entity_type} gave {len(found)} of the 30 that are "
                f"called so; {MOST} are right. Are types looked at after the limit?",
            )


@rule(
    "search-name-before-longer",
    "search gives an exact name before names that contain it",
    source="chapter 12: ranked means most likely matches first",
    mode="filling",
)
async def search_name_before_longer(trial: Trial) -> None:
    """Though thirty longer names stand before it in the alphabet and by id."""
    longer = [NodeRecord(f"a:{n:02}", "City", {"name": f"Ancient Rome {n}"}) for n in range(30)]
    async with trial.filled([*longer, NodeRecord("z:1", "City", {"name": "Rome"})]) as db:
        found = [stub.id for stub in await adapted(db).search_entities("Rome")]
        expect(found[:1] == ["z:1"], f"A search for 'Rome' gave {found[:3]}; 'z:1' is called so.")
