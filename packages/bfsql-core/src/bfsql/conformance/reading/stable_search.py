"""Search, asked again."""

from __future__ import annotations

from bfsql.conformance.reading.looking import WORDS
from bfsql.conformance.rule import Untried, expect, rule
from bfsql.conformance.trial import Trial

TIMES = 3


@rule(
    "search-stable",
    "search gives many candidates in the same order every time",
    source="protocol 3: order is part of the contract; the same query gives the same bytes",
    mode="reading",
)
async def search_stable(trial: Trial) -> None:
    """For words, and for types of the store."""
    async with trial.opened() as db:
        several = 0
        for word in (*trial.words, *WORDS, *list(await db.entity_types())[:5]):
            first = [stub.id for stub in await db.search_entities(word)]
            several += len(first) > 1
            for _ in range(TIMES - 1):
                again = [stub.id for stub in await db.search_entities(word)]
                expect(again == first, f"A search for {word!r} gave {first}, and then {again}.")
        if not several:
            raise Untried("No word was found that has several candidates; name some.")
