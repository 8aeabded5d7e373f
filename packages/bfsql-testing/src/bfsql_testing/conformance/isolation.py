"""Calls do not disturb one another: concurrent, cancelled and repeated ones, changed answers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import numpy as np

from bfsql.abc import Abilities, GraphDbInterface
from bfsql.answers import Answer
from bfsql.answers.clean import clean_metadata
from bfsql.cache import CachedGraphDb
from bfsql.models import Edge
from bfsql_testing.conformance.comparison import uncached
from bfsql_testing.conformance.graphs import hub, node_ids, village
from bfsql_testing.conformance.harness import (
    Broken,
    Trial,
    edges_of,
    expect,
    filling_rule,
    reading_rule,
    ring_of,
    some_edges,
    within,
)

BEAT = 0.005
"""Seconds between two heartbeats."""
BLOCKED = 0.2
"""Seconds without a heartbeat that a busy machine does not cause every time."""

PATIENCE = 10.0
"""Seconds without an answer after a cancellation, from which a backend counts as stuck."""
STEPS = (0, 1, 2, 3, 5, 8, 13)
"""Turns of the event loop after which a call is cancelled."""

Ask = Callable[[], Awaitable[Any]]

_Answer = TypeVar("_Answer")


@filling_rule(
    "calls at the same time answer as calls one by one",
    source="the backend contract: core keeps several calls of one backend under way at once",
)
async def concurrent_calls(trial: Trial) -> None:
    """Hundreds, of all kinds, through the tools and directly."""
    records = trial.storable(village())
    ids = node_ids(records)[:12]
    async with trial.filled(records) as db:
        alone = [await _together(db, entity_id) for entity_id in ids]
        together = await asyncio.gather(*(_together(db, i) for i in (*ids, *reversed(ids))))
        for one, entity_id in zip(together, (*ids, *reversed(ids)), strict=True):
            expect(
                one == alone[ids.index(entity_id)],
                f"The answer about {entity_id!r} differs while other calls are under way: "
                f"{one} and alone {alone[ids.index(entity_id)]}"[:500],
            )
        graph = uncached(db)

        async def ask(seed: str) -> Answer:
            return await graph.bfs_query([seed], 2)

        walked = [(await ask(i)).text for i in ids]
        again = [answer.text for answer in await asyncio.gather(*map(ask, ids))]
        expect(walked == again, "bfs_query gives other bytes while other calls are under way.")


async def _together(db: GraphDbInterface, entity_id: str) -> dict[str, Any]:
    """All that a backend returns for a node, with every call under way at once."""
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


@filling_rule(
    "the backend does not block the event loop",
    source="rule 5 of the architecture: nothing blocks the event loop",
)
async def free_loop(trial: Trial) -> None:
    """A heartbeat goes on beside every kind of call; a pause counts when it comes every time."""
    async with trial.filled(trial.storable(hub())) as db:
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
            "edges_stream": lambda: _streamed(db),
            "columns": lambda: _in_columns(db),
        }
        for method, ask in asks.items():
            shortest = await _pause(ask)
            # One of three calls in all has to leave the loop free.
            for _ in range(2):
                if shortest >= BLOCKED:
                    shortest = min(shortest, await _pause(ask))
            expect(
                shortest < BLOCKED,
                f"{method} stops the event loop for {shortest:.2f} s or longer, every time; "
                "use an async driver, or a thread for blocking work.",
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


@filling_rule(
    "a cancelled call harms no other",
    source="protocol 25: a call shared by several callers is cancelled when the last one leaves",
)
async def cancellation(trial: Trial) -> None:
    """Early and late, more often than a pool has connections, beside a call that stays."""
    records = trial.storable(hub(400))
    async with trial.filled(records) as db:
        wanted = await _everything(db)
        for steps in STEPS * 2:
            for number, ask in enumerate(_asks(db)):
                await _cancel_one(ask, steps, _asks(db), wanted, number)
        expect(
            await soon(_everything(db)) == wanted,
            "After calls were cancelled, the backend gives other answers than before.",
        )
        for steps in STEPS:
            await _shared(CachedGraphDb(db), steps, wanted[1])


def _asks(db: GraphDbInterface) -> list[Ask]:
    async def node() -> Any:
        found = await db.get_node("hub")
        return (found.id, found.entity_type)

    async def ring() -> Any:
        return sorted(await ring_of(db, ["hub"]))

    async def leaving() -> Any:
        return sorted(map(tuple, await db.edges_from("hub")))

    async def search() -> Any:
        return [stub.id for stub in await db.search_entities("spoke 7")]

    asks: list[Ask] = [node, ring, leaving, search]
    if "edges_stream" in Abilities.of(db).methods:
        asks.append(lambda: _streamed(db))
    if db.columns() is not None:
        asks.append(lambda: _in_columns(db))
    return asks


async def _streamed(db: GraphDbInterface) -> Any:
    return sorted([tuple(row) async for rows in db.edges_stream(["hub"]) for row in rows])


async def _in_columns(db: GraphDbInterface) -> Any:
    """The ring of the hub in the backend's columns; nothing if it has none."""
    columns = db.columns()
    if columns is None:
        return []
    handles = np.array([node.handle for node in await columns.find(["hub"]) if node], np.int32)
    return sorted(
        [edge async for ring in columns.rings(handles) for edge in np.array(ring).T.tolist()]
    )


async def _everything(db: GraphDbInterface) -> list[Any]:
    return [await ask() for ask in _asks(db)]


async def _cancel_one(
    ask: Ask, steps: int, others: list[Ask], expected: list[Any], number: int
) -> None:
    """Cancel one call while another continues; the results of both have to be right."""
    leaver = asyncio.ensure_future(ask())
    stayer = asyncio.ensure_future(others[1]())
    for _ in range(steps):
        await asyncio.sleep(0)
    leaver.cancel()
    try:
        given = await soon(leaver)
    except asyncio.CancelledError:
        pass
    else:
        expect(
            given == expected[number],
            f"A cancelled call gave a wrong answer instead of the cancellation: {given}"[:300],
        )
    try:
        stayed = await soon(stayer)
    except asyncio.CancelledError as ended:
        raise Broken("Cancelling one call also ended another.") from ended
    expect(stayed == expected[1], "A call gave a different answer because another was cancelled.")


async def _shared(cached: CachedGraphDb, steps: int, expected: Any) -> None:
    """Two callers share one flight of the cache; one of them leaves."""
    ask = _asks(cached)[1]
    leaver, stayer = (asyncio.ensure_future(ask()) for _ in range(2))
    for _ in range(steps):
        await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.wait([leaver])
    try:
        expect(
            await soon(stayer) == expected,
            "A shared call gave a wrong answer to the caller that stayed.",
        )
    except asyncio.CancelledError as ended:
        raise Broken("Cancelling one of two that share a call ended it for both.") from ended


async def soon(answer: Awaitable[_Answer]) -> _Answer:
    """The answer to a call, after others were cancelled or abandoned.

    Raises:
        Broken: There was no answer within `PATIENCE`.
    """
    late = (
        f"After calls were cancelled, no answer came within {PATIENCE:g} s: is a connection "
        "or a lock never released?"
    )
    async with within(PATIENCE, late):
        return await answer


@reading_rule(
    "the same question gets the same answer",
    source="protocol 3: the same query gives the same bytes on every run",
)
async def stable_answers(trial: Trial) -> None:
    """Asked twice, in two orders."""
    async with trial.sampled() as (db, ids):
        first = {i: await _answers(db, i) for i in ids[:10]}
        for entity_id in reversed(first):
            again = await _answers(db, entity_id)
            for what, value in again.items():
                expect(
                    value == first[entity_id][what],
                    f"{what} of {entity_id!r} was {first[entity_id][what]}, and then {value}.",
                )


@reading_rule(
    "what a caller does to an answer changes no later one",
    source="the backend contract: a backend returns fresh data on every call and never caches",
)
async def fresh_answers(trial: Trial) -> None:
    """Every list is emptied, every mapping changed at every depth; then all is asked again."""
    async with trial.sampled() as (db, ids):
        before = {i: await _answers(db, i) for i in ids[:10]}
        edges = await some_edges(trial, db)
        of_edges = [clean_metadata(await db.metadata_for_edge(Edge(*e))) for e in edges]
        lists = [list(await db.entity_types()), list(await db.predicates())]
        for entity_id in before:
            for answer in (
                await db.metadata_for_node(entity_id),
                await db.metadata_for_nodes_batch([entity_id]),
                await db.edges_from(entity_id),
                await db.edges_to(entity_id),
                await db.edges_batch([entity_id]),
                await db.get_nodes_batch([entity_id]),
                await db.search_entities(entity_id),
                await db.entity_types(),
                await db.predicates(),
            ):
                _mutate(answer)
        for edge in edges:
            _mutate(await db.metadata_for_edge(Edge(*edge)))
        for entity_id in before:
            after = await _answers(db, entity_id)
            wrong = [what for what in after if after[what] != before[entity_id][what]]
            expect(not wrong, f"A caller's change of {wrong} of {entity_id!r} came back.")
        after_edges = [clean_metadata(await db.metadata_for_edge(Edge(*e))) for e in edges]
        expect(after_edges == of_edges, "A caller's change of an edge's metadata came back.")
        after_lists = [list(await db.entity_types()), list(await db.predicates())]
        expect(after_lists == lists, f"A caller's change of the schema came back: {after_lists}.")


async def _answers(db: GraphDbInterface, entity_id: str) -> dict[str, Any]:
    node = await db.get_node(entity_id)
    return {
        "get_node": (node.id, node.entity_type),
        "edges_from": (await edges_of(db.edges_from, entity_id)).triples,
        "edges_to": (await edges_of(db.edges_to, entity_id)).triples,
        "metadata_for_node": clean_metadata(await db.metadata_for_node(entity_id)),
        "search_entities": [stub.id for stub in await db.search_entities(entity_id)],
    }


def _mutate(value: Any) -> None:
    """Modify everything that can be modified, at every depth."""
    with contextlib.suppress(TypeError, AttributeError):
        for inner in list(value.values() if hasattr(value, "values") else value):
            if isinstance(inner, list | dict):
                _mutate(inner)
    with contextlib.suppress(TypeError, AttributeError):
        value["spoilt"] = "by a caller"
    with contextlib.suppress(TypeError, AttributeError):
        value.append("spoilt")
    with contextlib.suppress(TypeError, AttributeError):
        if isinstance(value, list):
            value.clear()
