"""Writes a graph into a database, in batches.

All records are read and merged before the first is written, so that a source
that breaks changes nothing. From then on a load is many transactions, since
Neo4j cannot take a large graph in one: what ends it early leaves a part of the
graph in the database and says so.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from neo4j import AsyncSession

from bfsql.errors import StoreError
from bfsql.models.records import GraphRecord, LoadReport
from bfsql_neo4j.connection import (
    DRIVER_SAYS_NO,
    address,
    connected,
    explained,
    place,
    without_user,
)
from bfsql_neo4j.indexes import id_properties
from bfsql_neo4j.queries import loading
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.staging import Staging
from bfsql_neo4j.writing import Writing

T = TypeVar("T")


async def load_graph(settings: Neo4jSettings, records: Iterable[GraphRecord]) -> LoadReport:
    """Fill a database with the graph of these records, and index it for reading.

    Cancelling the call stops it. A note of the `CancelledError` tells what is in
    the database then, where that is not what was there before.

    Args:
        settings: The database. It has to be empty, unless `replace` names it: then
            everything in it is deleted first.
        records: Nodes, edges and evidence in any order. They are read once, in a
            thread; memory does not grow with their number.

    Returns:
        What was found and made. Edges without both of their nodes are kept out.

    Raises:
        StoreError: The database is not empty or cannot be written; the sentence
            says what is in it now.
        StoreUnavailable: The server does not answer, or not any more.
    """
    report = LoadReport()
    writing = Writing(settings, report)
    async with _session(settings, writing) as session:
        await _check(session, settings)
    folder = Path(tempfile.mkdtemp(prefix="bfsql-load-"))
    stop = threading.Event()
    try:
        staging = Staging(folder, report, stop.is_set)
        try:
            await _in_thread(lambda: staging.take(records), stop)
            labels = await _in_thread(staging.labels, stop)
            by_label = {label: _id_property(settings, label) for label in labels}
            async with _session(settings, writing) as session:
                await writing.write(session, staging, by_label, lambda work: _in_thread(work, stop))
        finally:
            staging.close()
    except sqlite3.Error as error:
        raise StoreError(
            f"The records cannot be sorted in a temporary file: {error}. Make room in "
            f"{folder.parent}, or set TMPDIR to another folder. {writing.left}"
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return report


async def _check(session: AsyncSession, settings: Neo4jSettings) -> None:
    """Look whether the database may be filled, before anything is read.

    Raises:
        StoreError: It holds a graph, and nobody said that it may go.
    """
    ((there,),) = await (await session.run(loading.COUNT)).values()
    named, wanted = without_user(settings.replace or ""), address(settings)
    if there and named != wanted:
        other = f" It names {named!r}, which is not this one." if named else ""
        raise StoreError(
            f"{place(settings)} is not empty: it holds {there:,} nodes, and a load would mix two "
            f"graphs. Choose an empty database, or set replace (--replace {wanted}), which "
            f"deletes everything in this one first.{other}"
        )


def _id_property(settings: Neo4jSettings, label: str) -> str:
    """Where the ids of a label's nodes go: where they will be looked for first."""
    names = id_properties(settings, label)
    if not names:
        raise StoreError(
            f"id_property says nothing of the label {label!r}, so its nodes would have no ids. "
            "Add a property without a label to it, for instance --id-property entity_id."
        )
    return names[0]


@asynccontextmanager
async def _session(settings: Neo4jSettings, writing: Writing) -> AsyncIterator[AsyncSession]:
    """A session for writing, with a sentence for whatever ends it."""
    try:
        async with (
            connected(settings) as driver,
            driver.session(database=settings.database) as session,
        ):
            yield session
    except StoreError as error:
        raise type(error)(f"{error} {writing.left}") from error
    except DRIVER_SAYS_NO as error:
        told = explained(error, settings)
        raise type(told)(f"{told} {writing.left}") from error
    except asyncio.CancelledError as cancelled:
        cancelled.add_note(writing.left)
        raise


async def _in_thread(work: Callable[[], T], stop: threading.Event) -> T:
    """What the work gives; when cancelled, tell it to stop and wait until it does."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()
        raise
