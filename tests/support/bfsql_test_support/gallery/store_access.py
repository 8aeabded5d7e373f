"""Changes to the use of a store that take more than an expression."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bfsql_test_support.gallery.bases import Store


async def one_by_one(right: Any, _: Any, ids: Sequence[str]) -> list[Any]:
    """The answers to single requests."""
    return [one for entity_id in ids for one in await right([entity_id])]


@asynccontextmanager
async def gone_for_good(db: Store) -> AsyncIterator[None]:
    """A context after which the store still cannot be reached."""
    db.there = False
    yield


@asynccontextmanager
async def gone_with_edges(db: Store) -> AsyncIterator[None]:
    """A context after which the store has no edges."""
    async with Store.gone(db):
        yield
    db.limit = 0


async def from_its_cache(right: Any, db: Any, ask: Any, *asked: Any) -> Any:
    """An answer, from an earlier request if there was one."""
    kept, key = vars(db).setdefault("kept", {}), repr((ask.__name__, asked))
    if key not in kept:
        kept[key] = await right(ask, *asked)
    return kept[key]


def said_once(db: Any, ids: Sequence[str], number: int) -> None:
    """Report an omission the first time only."""
    if not vars(db).get("said"):
        Store.leave_out(db, ids, number)
    db.said = True
