"""What a database lacks so that ids and names are found without reading all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from neo4j import AsyncSession

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_neo4j.connection import DRIVER_SAYS_NO, connected, explained, place
from bfsql_neo4j.queries import indexing
from bfsql_neo4j.settings import Neo4jSettings

VECTOR_INDEX = "entity_vectors"
"""Name of a vector index that nobody named."""
EVIDENCE_INDEX = "entity_evidence"
"""Name of the full-text index that finds the relationships whose evidence is from a document."""
PATIENCE = 600.0
"""Seconds to wait until new indexes are filled."""
_LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Index:
    """An index over nodes, as the server describes it."""

    name: str
    type: str
    """`RANGE`, `FULLTEXT`, `VECTOR`, `TEXT`, ..."""
    state: str
    """`ONLINE`, `POPULATING` or `FAILED`."""
    labels: tuple[str, ...]
    properties: tuple[str, ...]
    owned: bool
    """Whether it belongs to a constraint and goes with it."""
    percent: float
    """How much of it is filled, 0 to 100."""
    analyzer: str | None = None
    """How a full-text index makes words of text."""

    def is_for(self, kind: str, labels: Iterable[str], properties: Iterable[str]) -> bool:
        """Whether it is of this type, over these labels and properties."""
        return (self.type, set(self.labels), set(self.properties)) == (
            kind,
            set(labels),
            set(properties),
        )


async def prepare(settings: Neo4jSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """What the database lacks for ids and names to be found quickly.

    Args:
        settings: Which database, and which of its properties are ids and names.
        apply: Whether to create it, and to wait until it is filled.

    Returns:
        The statements, each with its semicolon, so that all of them can be pasted at once.

    Raises:
        StoreError: The server cannot be asked, or refuses.
        StoreUnavailable: It does not answer, or is still filling the indexes.
    """
    async with connected(settings) as driver, driver.session(database=settings.database) as session:
        try:
            lacks = await lacking(session, settings)
            if apply and lacks:
                await make(session, settings, lacks)
        except DRIVER_SAYS_NO as error:
            raise explained(error, settings) from error
    return [f"{text};" for text in lacks]


async def lacking(session: AsyncSession, settings: Neo4jSettings) -> list[str]:
    """The statements that create what is missing, and replace what failed."""
    have = await indexes(session)
    labels = [
        label
        for (label,) in await _rows(session, indexing.LABELS)
        if label not in settings.exclude_labels
    ]
    keys = await property_keys(session)
    lacks: list[str] = []
    for label in labels:
        for name in id_properties(settings, label):
            fine, broken = _of_id(have, label, name)
            bears = name in keys and await _rows(session, indexing.has_property(label, name))
            if bears and not fine:
                lacks += [indexing.drop_index(index.name) for index in broken]
                lacks.append(indexing.create_range_index(label, name))
    lacks += await _fulltext_lacking(session, settings, have, labels, keys)
    return lacks + await vectors_lacking(session, settings, labels)


async def indexes(session: AsyncSession) -> list[Index]:
    """All indexes over properties of nodes, by name."""
    return [
        Index(name, kind, state, tuple(labels or ()), tuple(properties or ()), *others)
        for name, kind, state, labels, properties, *others in await _rows(session, indexing.INDEXES)
    ]


async def property_keys(session: AsyncSession) -> set[str]:
    """The names of all properties in the database."""
    return {key for (key,) in await _rows(session, indexing.PROPERTY_KEYS)}


def id_properties(settings: Neo4jSettings, label: str) -> list[str]:
    """Properties that may hold the id of a label's nodes, best first."""
    return settings.label_id_properties.get(label) or settings.common_id_properties


def searched_properties(
    settings: Neo4jSettings, labels: Iterable[str], keys: Collection[str]
) -> list[str]:
    """Properties that hold names, aliases, descriptions or ids, as far as they occur.

    Args:
        settings: What each of them is called.
        labels: The labels of the graph.
        keys: The names of all properties in it.
    """
    ids = [name for label in labels for name in id_properties(settings, label)]
    names = [*settings.name_property, *settings.alias_property, *settings.description_property]
    return [name for name in dict.fromkeys([*names, *ids]) if name in keys]


def fulltext_index(have: Sequence[Index], settings: Neo4jSettings) -> Index | None:
    """The full-text index that serves search: the one of that name, or the only other over names.

    Args:
        have: All indexes.
        settings: The name, and which properties are names.
    """
    texts = [index for index in have if index.type == "FULLTEXT"]
    named = [index for index in texts if index.name == settings.fulltext_index]
    names = {*settings.name_property, *settings.alias_property}
    others = [index for index in texts if names.intersection(index.properties)]
    if named or len(others) == 1:
        return (named or others)[0]
    return None


async def vectors_lacking(
    session: AsyncSession, settings: Neo4jSettings, labels: Iterable[str]
) -> list[str]:
    """The vector index over `vector_property`, where that is set and there is none.

    Neo4j's vector indexes are over one label: that with the most vectors gets it.
    """
    name = settings.vector_property
    have = [index for index in await indexes(session) if index.type == "VECTOR"]
    if name is None or any(name in i.properties and i.state != "FAILED" for i in have):
        return []
    found = []
    for label in labels:
        ((count, length),) = await _rows(session, indexing.vectors_of(label, name))
        found.append((count, length or 0, label))
    count, length, label = max(found, default=(0, 0, ""))
    if not count or not length:
        return []
    index = settings.vector_index or VECTOR_INDEX
    failed = [indexing.drop_index(i.name) for i in have if name in i.properties]
    return [*failed, indexing.create_vector_index(index, label, name, length)]


async def make(
    session: AsyncSession,
    settings: Neo4jSettings,
    texts: Iterable[str],
    patience: float = PATIENCE,
) -> None:
    """Run statements that create or drop indexes, and return when every index is filled.

    Args:
        session: Each statement is a transaction of its own.
        settings: For the sentences.
        texts: The indexing.
        patience: Seconds to wait at the most.

    Raises:
        StoreError: An index failed that had not failed before.
        StoreUnavailable: One takes longer.
    """
    failed = {index.name for index in await indexes(session) if index.state == "FAILED"}
    for text in texts:
        await (await session.run(_query(text))).consume()
    end = time.monotonic() + patience
    while waiting := _unfinished(await indexes(session), failed, settings):
        if time.monotonic() >= end:
            raise StoreUnavailable(
                f"{place(settings)} is still filling the index {waiting.name!r} after "
                f"{patience:g} s: {waiting.percent:.0f} % are done. It goes on by itself; "
                "SHOW INDEXES tells how far it is."
            )
        await asyncio.sleep(_LOOK_EVERY)


def _unfinished(
    have: Sequence[Index], failed: Collection[str], settings: Neo4jSettings
) -> Index | None:
    """One that is not yet filled.

    Raises:
        StoreError: One failed that is not among `failed`.
    """
    for index in have:
        if index.state == "FAILED" and index.name not in failed:
            raise StoreError(
                f"{place(settings)} could not fill the index {index.name!r}. SHOW INDEXES YIELD "
                f"name, failureMessage says why; {indexing.drop_index(index.name)} removes it."
            )
    return next((index for index in have if index.state == "POPULATING"), None)


def _of_id(have: Sequence[Index], label: str, name: str) -> tuple[list[Index], list[Index]]:
    """The indexes that find a label's nodes by a property: those that work, those that failed."""
    found = [index for index in have if index.is_for("RANGE", [label], [name])]
    failed = [index for index in found if index.state == "FAILED"]
    return [index for index in found if index.state != "FAILED"], failed


async def _fulltext_lacking(
    session: AsyncSession,
    settings: Neo4jSettings,
    have: Sequence[Index],
    labels: Sequence[str],
    keys: Collection[str],
) -> list[str]:
    properties = searched_properties(settings, labels, keys)
    if not labels or not properties or settings.search != "index":
        return []
    index = fulltext_index(have, settings)
    if index is None:
        return [indexing.create_fulltext_index(settings.fulltext_index, labels, properties)]
    bare = [label for label in labels if label not in index.labels]
    missed = [label for label in bare if await _has_any(session, label, properties)]
    if index.state != "FAILED" and not missed:
        return []
    together = sorted({*index.labels, *missed}.intersection(labels)) or list(labels)
    return [
        indexing.drop_index(index.name),
        indexing.create_fulltext_index(
            index.name,
            together,
            dict.fromkeys([*index.properties, *properties]),
            index.analyzer,
        ),
    ]


async def _has_any(session: AsyncSession, label: str, properties: Iterable[str]) -> bool:
    for name in properties:
        if await _rows(session, indexing.has_property(label, name)):
            return True
    return False


async def _rows(session: AsyncSession, text: str) -> list[list[Any]]:
    return await (await session.run(_query(text))).values()


def _query(text: str) -> Any:
    """The driver's types want literal texts; ours are built in `queries` from quoted names."""
    return text
