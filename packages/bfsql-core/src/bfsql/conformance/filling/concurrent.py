"""Many calls at a time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql.answers import Answer
from bfsql.conformance.filling.side_by_side import uncached
from bfsql.conformance.graphs import hub, village
from bfsql.conformance.rule import expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import NodeRecord

BEAT = 0.005
"""Seconds between two heartbeats."""
BLOCKED = 0.2
"""Seconds without a heartbeat that no machine's own noise explains every time."""
ROUNDS = 3


@rule(
    "concurrent-calls",
    "calls at the same time answer as calls one by one",
    source="the backend contract: core keeps several calls of one backend under way at once",
    mode="filling",
)
async def concurrent_calls(trial: Trial) -> None:
    """Hundreds, of all kinds, through the tools and directly."""
    records = trial.kept(village())
    ids = list(dict.fromkeys(r.id for r in records if isinstance(r, NodeRecord)))[:24]
    async with trial.filled(records) as db:
        alone = [await _told(db, entity_id) for entity_id in ids]
        for _ in range(ROUNDS):
            together = await asyncio.gather(*(_told(db, i) for i in (*ids, *reversed(ids))))
            for one, entity_id in zip(together, (*ids, *reversed(ids)), strict=True):
                expect(
                    one == alone[ids.index(entity_id)],
                    f"What is told of {entity_id!r} differs while other calls are under way: "
                    f"{one} and alone {alone[ids.index(entity_id)]}"[:500],
                )
        graph = uncached(db)

        async def ask(seed: str) -> Answer:
            return await graph.bfs_query([seed], 2)

        walked = [(await ask(i)).text for i in ids[:12]]
        again = [answer.text for answer in await asyncio.gather(*map(ask, ids[:12]))]
        expect(walked == again, "bfs_query gives other bytes while other calls are under way.")


async def _told(db: GraphDbInterface, entity_id: str) -> dict[str, Any]:
    """All that a backend says of a node, every question under way at once."""
    answers: list[Any] = await asyncio.gather(
        db.get_node(entity_id),
        db.edges_from(entity_id),
        db.edges_to(entity_id),
        db.edges_batch([entity_id]),
        db.metadata_for_node(entity_id),
        db.metadata_for_nodes_batch([entity_id]),
        db.search_entities(entity_id),
    )
    node, out, into, ring, metadata, batch, hits = answers
    return {
        "node": (node.id, node.entity_type),
        "out": sorted(map(tuple, out)),
        "into": sorted(map(tuple, into)),
        "ring": sorted({(s, p, o) for s, p, o in ring}),
        "metadata": sorted(metadata),
        "batch": sorted(batch),
        "hits": [stub.id for stub in hits],
    }


@rule(
    "free-loop",
    "the backend does not block the event loop",
    source="rule 5 of the house: none blocks the event loop",
    mode="filling",
)
async def free_loop(trial: Trial) -> None:
    """A heartbeat goes on beside every kind of call; a pause counts when it comes every time."""
    async with trial.filled(trial.kept(hub(600))) as db:
        ids = [f"spoke:{n:04}" for n in range(50)]
        asks = {
            "get_node": lambda: db.get_node("hub"),
            "get_nodes_batch": lambda: db.get_nodes_batch(ids),
            "edges_from": lambda: db.edges_from("hub"),
            "edges_to": lambda: db.edges_to("hub"),
            "edges_batch": lambda: db.edges_batch(["hub"]),
            "metadata_for_node": lambda: db.metadata_for_node("hub"),
            "metadata_for_nodes_batch": lambda: db.metadata_for_nodes_batch(ids),
            "search_entities": lambda: db.search_entities("spoke"),
            "entity_types": db.entity_types,
            "predicates": db.predicates,
        }
        for method, ask in asks.items():
            pauses = [await _pause(ask) for _ in range(ROUNDS)]
            expect(
                min(pauses) < BLOCKED,
                f"{method} stops the event loop for {min(pauses):.2f} s and more, every time; "
                "work that waits belongs in an async driver or a thread.",
            )


async def _pause(ask: Any) -> float:
    """The longest time without a heartbeat while a call runs, in seconds."""
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        last = time.monotonic()
        while True:
            await asyncio.sleep(BEAT)
            now = time.monotonic()
            longest, last = max(longest, now - last), now

    heart = asyncio.ensure_future(beat())
    try:
        await asyncio.sleep(0)
        await ask()
        await asyncio.sleep(2 * BEAT)
    finally:
        heart.cancel()
    return longest
