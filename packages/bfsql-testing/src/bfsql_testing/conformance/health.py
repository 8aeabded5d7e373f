"""A server's requests to a store at run time: whether it has changed, answers, and is writable."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from bfsql.abc import GraphDbInterface
from bfsql_testing.conformance.graphs import village
from bfsql_testing.conformance.harness import (
    PATIENCE,
    Broken,
    Trial,
    expect,
    expect_unavailable,
    filling_rule,
    no_error,
    reading_rule,
    within,
)


@reading_rule("the backend contract: changed() is None while the graph is the one that was opened")
async def changed_steady(trial: Trial) -> None:
    """A store that nothing was done to has not changed."""
    async with trial.opened() as db:
        _expect_unchanged(db)
        await db.entity_types()
        await db.predicates()
        calls, most = 200, 2.0  # a thousand times the expected time
        began = time.monotonic()
        for _ in range(calls):
            _expect_unchanged(db)
        seconds = time.monotonic() - began
        what = f"{calls} calls of changed() took {seconds:.1f} s; a server makes one before every"
        expect(seconds < most, f"{what} call, so it may not ask another machine.")


def _expect_unchanged(db: GraphDbInterface) -> None:
    advice = "; it has to give None, or a value for what the store holds now."
    with no_error("changed()", advice):
        change: Any = db.changed()
    if asyncio.iscoroutine(change):
        change.close()
        raise Broken("changed() is a coroutine; it has to be a plain method that gives a value.")
    what = f"changed() gave {change!r} for a store that nothing was done to"
    expect(change is None, f"{what}; None is due.")


@reading_rule("the backend contract: ping() returns when the store has answered")
async def ping_answered(trial: Trial) -> None:
    """A store that answers is pinged without an error."""
    async with trial.opened() as db:
        await _ping(db)
        await asyncio.gather(*(_ping(db) for _ in range(3)))
        types = await db.entity_types()
        expect(isinstance(types, list), "After ping(), entity_types() gives no list.")


@filling_rule(
    "the backend contract: ping() raises StoreUnavailable where the store does not answer"
)
async def ping_asks(trial: Trial) -> None:
    """A ping asks the store itself."""
    async with trial.filled(trial.storable(village())) as db:
        away = trial.away(db)
        await _ping(db)
        async with away:
            await expect_unavailable("ping()", db.ping)


async def _ping(db: GraphDbInterface) -> None:
    with no_error("The store answers, and ping()", "."):
        async with within(PATIENCE, f"ping() hangs for {PATIENCE:g} s; the store answers."):
            await db.ping()


@reading_rule("the backend contract: may_write() says why the account could change the graph")
async def may_write_said(trial: Trial) -> None:
    """may_write gives a sentence or None."""
    async with trial.opened() as db:
        await _why(db)


@filling_rule(
    "the backend contract: may_write() is None where the account could not change the graph"
)
async def may_write_not(trial: Trial) -> None:
    """An account that may only read may not write."""
    async with trial.reader().filled(village()) as db:
        why = await _why(db)
        what = "Opened with the right to read alone, may_write()"
        expect(why is None, f"{what} gave {why!r}; None is due.")


async def _why(db: GraphDbInterface) -> str | None:
    with no_error("may_write()", "; where the rights cannot be found out, None is due."):
        why: Any = await db.may_write()
    fits = why is None or (isinstance(why, str) and why.strip())
    right = "it has to be a sentence for the operator, or None"
    expect(fits, f"may_write() gave {why!r}; {right}.")
    return None if why is None else str(why)
