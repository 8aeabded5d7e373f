"""Calls that end early."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from bfsql.abc import GraphDbInterface
from bfsql.cache import CachedGraphDb
from bfsql.conformance.graphs import hub
from bfsql.conformance.rule import Broken, expect, rule
from bfsql.conformance.trial import Trial

PATIENCE = 10.0
"""Seconds after which a backend that was left by a caller counts as stuck."""
STEPS = (0, 1, 2, 3, 5, 8, 13)
"""Turns of the event loop after which a call is cancelled."""
DEGREE = 400

_Answer = TypeVar("_Answer")


@rule(
    "cancellation",
    "a cancelled call harms no other",
    source="protocol 25: a call shared by several callers is cancelled when the last one leaves",
    mode="filling",
)
async def cancellation(trial: Trial) -> None:
    """Early and late, more often than a pool has connections, beside a call that stays."""
    records = trial.kept(hub(DEGREE))
    async with trial.filled(records) as db:
        wanted = await _everything(db)
        for steps in STEPS * 3:
            for number, ask in enumerate(_asks(db)):
                await _left(ask, steps, _asks(db), wanted, number)
        expect(
            await _soon(_everything(db)) == wanted,
            "After calls were cancelled, the backend gives other answers than before.",
        )
        for steps in STEPS:
            await _shared(CachedGraphDb(db), steps, wanted[1])


Ask = Callable[[], Awaitable[Any]]


def _asks(db: GraphDbInterface) -> list[Ask]:
    async def node() -> Any:
        found = await db.get_node("hub")
        return (found.id, found.entity_type)

    async def ring() -> Any:
        return sorted({(s, p, o) for s, p, o in await db.edges_batch(["hub"])})

    async def leaving() -> Any:
        return sorted(map(tuple, await db.edges_from("hub")))

    async def found() -> Any:
        return [stub.id for stub in await db.search_entities("spoke 7")]

    return [node, ring, leaving, found]


async def _everything(db: GraphDbInterface) -> list[Any]:
    return [await ask() for ask in _asks(db)]


async def _left(ask: Ask, steps: int, others: list[Ask], wanted: list[Any], number: int) -> None:
    """Cancel one call while another goes on; what either still gives has to be right."""
    leaver = asyncio.ensure_future(_awaited(ask))
    stayer = asyncio.ensure_future(_awaited(others[1]))
    for _ in range(steps):
        await asyncio.sleep(0)
    leaver.cancel()
    try:
        given = await _soon(leaver)
    except asyncio.CancelledError:
        pass
    else:
        expect(
            given == wanted[number],
            f"A cancelled call gave a wrong answer and not the cancellation: {given}"[:300],
        )
    try:
        stayed = await _soon(stayer)
    except asyncio.CancelledError as ended:
        raise Broken("Cancelling one call ended another one, too.") from ended
    expect(stayed == wanted[1], "A call gave another answer because another one was cancelled.")


async def _shared(cached: CachedGraphDb, steps: int, wanted: Any) -> None:
    """Two callers share one flight of the cache; one of them leaves."""
    ask = _asks(cached)[1]
    leaver, stayer = (asyncio.ensure_future(_awaited(ask)) for _ in range(2))
    for _ in range(steps):
        await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.wait([leaver])
    try:
        expect(await _soon(stayer) == wanted, "A shared call gave a wrong answer to who stayed.")
    except asyncio.CancelledError as ended:
        raise Broken("Cancelling one of two that share a call ended it for both.") from ended


async def _awaited(ask: Ask) -> Any:
    return await ask()


async def _soon(answer: Awaitable[_Answer]) -> _Answer:
    try:
        async with asyncio.timeout(PATIENCE):
            return await answer
    except TimeoutError as late:
        raise Broken(
            f"After a call was cancelled, no answer came within {PATIENCE:g} s: is a connection "
            "or a lock never given back?"
        ) from late
