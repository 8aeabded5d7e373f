"""Calls do not disturb one another: concurrent, cancelled and repeated ones, changed answers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from bfsql.abc import Abilities, GraphDbInterface
from bfsql.answers import Answer
from bfsql.answers.clean import clean_metadata
from bfsql.cache import CachedGraphDb
from bfsql.models import Edge
from bfsql_testing.conformance.calls import FORMS, Calls, Form, each
from bfsql_testing.conformance.comparison import uncached
from bfsql_testing.conformance.graphs import hub, node_ids, village
from bfsql_testing.conformance.harness import (
    Broken,
    Trial,
    expect,
    expect_same,
    filling_rule,
    reading_rule,
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

ANSWERS = "get_node edges_from edges_to metadata_for_node search_entities"
"""The methods whose answers about a node are compared."""
SHOWN = FORMS | {
    "metadata_for_node": Form(clean_metadata),
    "metadata_for_nodes_batch": Form(sorted),
    "search_entities": Form(lambda hits: [stub.id for stub in hits]),
}

Ask = Callable[[], Awaitable[Any]]

_Answer = TypeVar("_Answer")


@filling_rule("the backend contract: core keeps several calls of one backend under way at once")
async def concurrent_calls(trial: Trial) -> None:
    """Calls at the same time answer as calls one by one."""
    records = trial.storable(village())
    ids = node_ids(records)[:12]
    async with trial.filled(records) as db:
        alone = {entity_id: await _together(db, entity_id) for entity_id in ids}
        every = [*ids, *reversed(ids)]
        together = await asyncio.gather(*(_together(db, i) for i in every))
        for answers, entity_id in zip(together, every, strict=True):
            for method, answer in answers.items():
                what = f"While other calls are under way, {method} of {entity_id!r}"
                expect_same(what, answer, alone[entity_id][method])
        graph = uncached(db)

        async def ask(seed: str) -> Answer:
            return await graph.bfs_query([seed], 2)

        walked = [(await ask(i)).text for i in ids]
        again = [answer.text for answer in await asyncio.gather(*map(ask, ids))]
        expect(walked == again, "bfs_query gives other bytes while other calls are under way.")


async def _answer(db: GraphDbInterface, method: str, key: Any) -> Any:
    return SHOWN[method].of(await getattr(db, method)(key))


async def _together(db: GraphDbInterface, entity_id: str) -> dict[str, Any]:
    """All that a backend returns for a node, with every call under way at once."""
    calls: dict[str, Any] = dict.fromkeys(ANSWERS.split(), entity_id)
    calls |= {name: [entity_id] for name in ("edges_batch", "metadata_for_nodes_batch")}
    answers = await asyncio.gather(*(_answer(db, *one) for one in calls.items()))
    return dict(zip(calls, answers, strict=True))


@filling_rule("rule 5 of the architecture: nothing blocks the event loop")
async def free_loop(trial: Trial) -> None:
    """The backend does not block the event loop."""
    async with trial.filled(trial.storable(hub())) as db:
        ids = [f"spoke:{n:04}" for n in range(50)]
        calls: Calls = {
            "get_node edges_from edges_to metadata_for_node": ["hub"],
            "get_nodes_batch metadata_for_nodes_batch": [ids],
            "edges_batch": [["hub"]],
            "search_entities": ["spoke"],
            "entity_types predicates": [()],
        }
        asks: dict[str, Ask] = {
            name: partial(getattr(db, name), *given) for name, given in each(calls)
        }
        asks |= {"edges_stream": partial(_streamed, db), "columns": partial(_in_columns, db)}
        for method, ask in asks.items():
            shortest = await _pause(ask)
            # One of three calls in all has to leave the loop free.
            for _ in range(2):
                if shortest >= BLOCKED:
                    shortest = min(shortest, await _pause(ask))
            what = f"{method} stops the event loop for {shortest:.2f} s or longer, every time"
            advice = "use an async driver, or a thread for blocking work"
            expect(shortest < BLOCKED, f"{what}; {advice}.")


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


@filling_rule("protocol 25: a call shared by several callers is cancelled when the last one leaves")
async def cancellation(trial: Trial) -> None:
    """A cancelled call harms no other."""
    records = trial.storable(hub(400))
    async with trial.filled(records) as db:
        wanted = await _everything(db)
        for steps in STEPS * 2:
            for number, ask in enumerate(_asks(db)):
                await _cancel_one(ask, steps, _asks(db), wanted, number)
        after = await soon(_everything(db))
        expect_same("After calls were cancelled, the backend's answer", after, wanted)
        for steps in STEPS:
            await _shared(CachedGraphDb(db), steps, wanted[1])


def _asks(db: GraphDbInterface) -> list[Ask]:
    calls = (("get_node", "hub"), ("edges_batch", ["hub"]), ("edges_from", "hub"))
    asks: list[Ask] = [
        partial(_answer, db, *one) for one in (*calls, ("search_entities", "spoke 7"))
    ]
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


async def _everything(db: GraphDbInterface) -> tuple[Any, ...]:
    return tuple([await ask() for ask in _asks(db)])


async def _cancel_one(
    ask: Ask, steps: int, others: list[Ask], expected: Sequence[Any], number: int
) -> None:
    """Cancel one call while another continues; the results of both have to be right."""
    leaver = asyncio.ensure_future(ask())
    stayer = asyncio.ensure_future(others[1]())
    for _ in range(steps):
        await asyncio.sleep(0)
    leaver.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        given = await soon(leaver)
        expect_same("A cancelled call, if not the cancellation,", given, expected[number])
    with _not_ended("Cancelling one call also ended another."):
        what = "Because another was cancelled, a call"
        expect_same(what, await soon(stayer), expected[1])


async def _shared(cached: CachedGraphDb, steps: int, expected: Any) -> None:
    """Two callers share one flight of the cache; one of them leaves."""
    ask = _asks(cached)[1]
    leaver, stayer = (asyncio.ensure_future(ask()) for _ in range(2))
    for _ in range(steps):
        await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.wait([leaver])
    with _not_ended("Cancelling one of two that share a call ended it for both."):
        expect_same("To the caller that stayed, a shared call", await soon(stayer), expected)


@contextlib.contextmanager
def _not_ended(reason: str) -> Iterator[None]:
    try:
        yield
    except asyncio.CancelledError as ended:
        raise Broken(reason) from ended


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


@reading_rule("protocol 3: the same query gives the same bytes on every run")
async def stable_answers(trial: Trial) -> None:
    """The same question gets the same answer."""
    async with trial.sampled() as (db, ids):
        first = {i: await _answers(db, i) for i in ids[:10]}
        for entity_id in reversed(first):
            for method, again in (await _answers(db, entity_id)).items():
                what = f"Asked again, {method} of {entity_id!r}"
                expect_same(what, again, first[entity_id][method])


@reading_rule("the backend contract: a backend returns fresh data on every call and never caches")
async def fresh_answers(trial: Trial) -> None:
    """What a caller does to an answer changes no later one."""
    async with trial.sampled() as (db, ids):
        before = {i: await _answers(db, i) for i in ids[:10]}
        edges = [Edge(*edge) for edge in await some_edges(trial, db)]
        whole = await _whole(db, edges)
        for entity_id in before:
            for method in ("metadata_for_node", "edges_from", "edges_to", "search_entities"):
                _mutate(await getattr(db, method)(entity_id))
            for method in ("metadata_for_nodes_batch", "edges_batch", "get_nodes_batch"):
                _mutate(await getattr(db, method)([entity_id]))
            for answer in (await db.entity_types(), await db.predicates()):
                _mutate(answer)
        for edge in edges:
            _mutate(await db.metadata_for_edge(edge))
        for entity_id in before:
            for method, after in (await _answers(db, entity_id)).items():
                what = f"After a caller's change, {method} of {entity_id!r}"
                expect_same(what, after, before[entity_id][method])
        for of, after in (await _whole(db, edges)).items():
            expect_same(f"After a caller's change, {of}", after, whole[of])


async def _whole(db: GraphDbInterface, edges: Sequence[Edge]) -> dict[str, Any]:
    return {
        "entity_types": list(await db.entity_types()),
        "predicates": list(await db.predicates()),
    } | {f"metadata of {e}": clean_metadata(await db.metadata_for_edge(e)) for e in edges}


async def _answers(db: GraphDbInterface, entity_id: str) -> dict[str, Any]:
    return {method: await _answer(db, method, entity_id) for method in ANSWERS.split()}


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
