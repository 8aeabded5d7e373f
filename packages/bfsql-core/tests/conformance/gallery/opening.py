"""How the kit opens a backend of the gallery: all the ways that it has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from conformance.gallery.bases import Store

from bfsql.abc import GraphDbInterface
from bfsql.conformance import Fill, Trial
from bfsql.models import GraphRecord


def trial(backend: Any, **told: Any) -> Trial:
    """What the rules are given.

    Args:
        backend: A class that is called with the records of a graph.
        **told: Further facts of `Trial`.
    """
    watched = issubclass(backend, Store)
    return Trial(
        fill=_fill(backend),
        queries=lambda db: db.sent if isinstance(db, Store) else None,
        round_trips=lambda db: len(db.sent) if isinstance(db, Store) else None,
        gone=lambda db: db.gone() if isinstance(db, Store) else None,
        read_only=_fill(backend, may_write=False) if watched else None,
        omitting=_fill(backend, limit=100) if watched else None,
        **told,
    )


def _fill(backend: Any, **facts: Any) -> Fill:
    @asynccontextmanager
    async def filled(records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        db = backend(records)
        vars(db).update(facts)
        yield db
        await db.close()

    return filled
