"""Indexes: finds and creates those that a database lacks, and chooses those for search."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neo4j import AsyncSession

from bfsql.errors import StoreError, StoreUnavailable, listing
from bfsql_neo4j import index_queries, schema_queries
from bfsql_neo4j.connection import DRIVER_ERRORS, open_driver, place, translate_error
from bfsql_neo4j.id_templates import id_template
from bfsql_neo4j.settings import Neo4jSettings, for_all, for_labels

VECTOR_INDEX = "entity_vectors"
"""Name of the vector index if the settings name none."""
MOST_SCANNED = 200_000
"""Nodes whose names are compared if there is no full-text index."""
POLL = 0.1
"""Seconds between two checks of an index that is being populated."""


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
    """Whether it belongs to a constraint and is dropped with it."""
    percent: float
    """Percentage of it that is populated, 0 to 100."""
    config: Mapping[str, Any]
    """Its `indexConfig`: the analyzer of a full-text index, the dimensions of a vector index."""

    def covers(self, label: str, names: tuple[str, ...]) -> bool:
        """Whether it is over this label and these properties."""
        return self.labels == (label,) and self.properties == names


def read_indexes(rows: Iterable[Sequence[Any]]) -> list[Index]:
    """Indexes by name, from the rows of `index_queries.INDEXES`."""
    found = [
        Index(
            name,
            kind,
            state,
            tuple(labels or ()),
            tuple(properties or ()),
            owned,
            percent,
            (options or {}).get("indexConfig") or {},
        )
        for name, kind, state, labels, properties, owned, percent, options in rows
    ]
    return sorted(found, key=lambda index: index.name)


async def indexes(session: AsyncSession) -> list[Index]:
    """All indexes over properties of nodes, and the one over evidence, by name."""
    return read_indexes(await _one(session, index_queries.INDEXES))


async def property_keys(session: AsyncSession) -> set[str]:
    """The names of all properties in the database."""
    return set(await _one(session, schema_queries.KEYS))


def id_properties(settings: Neo4jSettings, label: str) -> list[str]:
    """Properties or templates that may be the id of nodes with a label, best first."""
    return for_labels(settings.id_property).get(label) or for_all(settings.id_property)


def searched_properties(
    settings: Neo4jSettings, labels: Iterable[str], keys: Collection[str]
) -> list[str]:
    """Properties among `keys` that hold names, aliases, descriptions or ids."""
    ids = [name for label in labels for name in id_properties(settings, label)]
    names = [*settings.name_properties, *settings.alias_property, *settings.description_property]
    return [name for name in dict.fromkeys([*names, *ids]) if name in keys]


def fulltext_index(have: Sequence[Index], settings: Neo4jSettings) -> Index | None:
    """The full-text index for search: the one that settings name, or the only one over names."""
    texts = [index for index in have if index.type == "FULLTEXT"]
    named = [index for index in texts if index.name == settings.fulltext_index]
    names = {*settings.name_properties, *settings.alias_property}
    others = [index for index in texts if names.intersection(index.properties)]
    return (named or others)[0] if named or len(others) == 1 else None


def vector_index(have: Sequence[Index], settings: Neo4jSettings) -> Index | None:
    """The vector index for search: the one that the settings name, or the only one."""
    vectors = [index for index in have if index.type == "VECTOR"]
    if settings.vector_index is not None:
        return next((index for index in vectors if index.name == settings.vector_index), None)
    return vectors[0] if len(vectors) == 1 else None


# --- bfsql index ----------------------------------------------------------------


async def prepare(settings: Neo4jSettings, apply: bool) -> list[str]:  # noqa: FBT001 - the contract's
    """Find the indexes that the database lacks for fast lookups by id and name.

    Args:
        settings: The database, and the properties that are ids and names.
        apply: Whether to create them, and to wait until they are populated.

    Returns:
        The statements, each with its semicolon, so that all of them can be pasted at once.

    Raises:
        StoreError: The server refuses.
        StoreUnavailable: The server does not answer, or is still populating the indexes.
    """
    async with (
        open_driver(settings) as driver,
        driver.session(database=settings.database) as session,
    ):
        try:
            lacks = await _lacking(session, settings)
            if apply and lacks:
                await make(session, settings, lacks)
        except DRIVER_ERRORS as error:
            raise translate_error(error, settings) from error
    return [f"{text};" for text in lacks]


async def _lacking(session: AsyncSession, settings: Neo4jSettings) -> list[str]:
    """The statements that create missing indexes and replace failed ones."""
    have = await indexes(session)
    found = sorted(await _one(session, schema_queries.labels(procedures=True)))
    labels = [label for label in found if label not in settings.exclude_labels]
    keys = await property_keys(session)
    lacks: list[str] = []
    for label in labels:
        for names in (id_template(item).names for item in id_properties(settings, label)):
            same = [
                index
                for index in have
                if index.type == "RANGE"
                and set(index.labels) == {label}
                and index.properties == names
            ]
            if all(index.state == "FAILED" for index in same) and (
                keys.issuperset(names)
                and await _rows(session, index_queries.has_property(label, names[0]))
            ):
                lacks += [index_queries.drop_index(index.name) for index in same]
                lacks.append(index_queries.create_range_index(label, *names))
    lacks += await _fulltext_lacking(session, settings, have, labels, keys)
    return lacks + await vectors_lacking(session, settings, labels)


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
        return [index_queries.create_fulltext_index(settings.fulltext_index, labels, properties)]
    bare = [label for label in labels if label not in index.labels]
    missed = [label for label in bare if await _has_any(session, label, properties)]
    if index.state != "FAILED" and not missed:
        return []
    together = sorted({*index.labels, *missed}.intersection(labels)) or list(labels)
    every = dict.fromkeys([*index.properties, *properties])
    analyzer = index.config.get("fulltext.analyzer")
    return [
        index_queries.drop_index(index.name),
        index_queries.create_fulltext_index(index.name, together, every, analyzer),
    ]


async def fulltext_for_load(
    session: AsyncSession, settings: Neo4jSettings, labels: Collection[str]
) -> list[str]:
    """The statements after which search finds the nodes of these labels in a newly filled database.

    Args:
        session: A session of the database, from which the former index was dropped.
        settings: Name the properties that hold names.
        labels: All labels.
    """
    wanted = searched_properties(settings, sorted(labels), await property_keys(session))
    if not wanted:
        return []
    return [index_queries.create_fulltext_index(settings.fulltext_index, sorted(labels), wanted)]


async def _has_any(session: AsyncSession, label: str, properties: Iterable[str]) -> bool:
    for name in properties:
        if await _rows(session, index_queries.has_property(label, name)):
            return True
    return False


async def vectors_lacking(
    session: AsyncSession, settings: Neo4jSettings, labels: Iterable[str]
) -> list[str]:
    """The vector index over `vector_property`, if that is set and there is no such index.

    Neo4j's vector indexes are over one label: the label with the most vectors gets it.
    """
    name = settings.vector_property
    if name is None:
        return []
    have = [index for index in await indexes(session) if index.type == "VECTOR"]
    if any(name in index.properties and index.state != "FAILED" for index in have):
        return []
    found = []
    for label in labels:
        ((count, length),) = await _rows(session, index_queries.vectors_of(label, name))
        found.append((count, length or 0, label))
    count, length, label = max(found, default=(0, 0, ""))
    if not count or not length:
        return []
    index = settings.vector_index or VECTOR_INDEX
    failed = [index_queries.drop_index(i.name) for i in have if name in i.properties]
    return [*failed, index_queries.create_vector_index(index, label, name, length)]


async def make(
    session: AsyncSession, settings: Neo4jSettings, texts: Iterable[str], patience: float = 600.0
) -> None:
    """Run statements that create or drop indexes, and wait until every index is populated.

    Args:
        session: Each statement is a transaction of its own.
        settings: Used in error messages.
        texts: The statements.
        patience: Most seconds to wait.

    Raises:
        StoreError: An index failed that had not already failed.
        StoreUnavailable: Populating the indexes takes longer.
    """
    failed = {index.name for index in await indexes(session) if index.state == "FAILED"}
    for text in texts:
        await (await session.run(_literal(text))).consume()
    end = time.monotonic() + patience
    while waiting := _unfinished(await indexes(session), failed, settings):
        if time.monotonic() >= end:
            raise StoreUnavailable(
                f"{place(settings)} is still building the index {waiting.name!r} after "
                f"{patience:g} s: {waiting.percent:.0f} % is done. It continues on its own; SHOW "
                "INDEXES shows the progress."
            )
        await asyncio.sleep(POLL)


def _unfinished(
    have: Sequence[Index], failed: Collection[str], settings: Neo4jSettings
) -> Index | None:
    """An index that is not yet populated; raises if one failed that is not among `failed`."""
    for index in have:
        if index.state == "FAILED" and index.name not in failed:
            raise StoreError(
                f"{place(settings)} could not build the index {index.name!r}. SHOW INDEXES YIELD "
                f"name, failureMessage shows the reason; {index_queries.drop_index(index.name)} "
                "removes it."
            )
    return next((index for index in have if index.state == "POPULATING"), None)


async def _rows(session: AsyncSession, text: str) -> list[list[Any]]:
    return await (await session.run(_literal(text))).values()


async def _one(session: AsyncSession, text: str) -> Any:
    [[value]] = await _rows(session, text)
    return value


def _literal(text: str) -> Any:
    """The driver's types require literal texts; ours are built in `queries`."""
    return text


# --- messages about the indexes of search ----------------------------------------


def no_vector_index(settings: Neo4jSettings, have: Sequence[Index]) -> str:
    """The warning that an embedding is useless without a vector index, and how to create one."""
    names = ", ".join(repr(index.name) for index in have if index.type == "VECTOR")
    if settings.vector_index is not None:
        lack = f"no vector index named {settings.vector_index!r} (there are {names or 'none'})"
    elif names:
        lack = f"several vector indexes ({names}); --vector-index has to name one of them"
    else:
        lack = "no vector index"
    name = settings.vector_property or "PROPERTY"
    index = settings.vector_index or VECTOR_INDEX
    create = index_queries.create_vector_index(index, "LABEL", name, None)
    return (
        f"{place(settings)} has {lack}: searches compare names only. bfsql index --backend neo4j "
        f"--vector-property {name} --apply creates one, or {create}."
    )


def check_state(index: Index, settings: Neo4jSettings) -> None:
    """Raise `StoreError` if the index failed."""
    if index.state == "FAILED":
        raise StoreError(
            f"The index {index.name!r} of {place(settings)} failed and cannot be queried. SHOW "
            "INDEXES YIELD name, failureMessage shows the reason. Remove it with "
            f"{index_queries.drop_index(index.name)} and create it again with bfsql index "
            "--backend neo4j --apply."
        )


def no_fulltext_index(have: Iterable[Index], indexed: Collection[str]) -> str:
    """What search does without a full-text index, or a choice; `indexed` names have another."""
    several = [index.name for index in have if index.type == "FULLTEXT"]
    lack = "There is no full-text index on names"
    cure = "bfsql index --backend neo4j --apply creates one"
    if len(several) > 1:
        lack = f"There are several full-text indexes ({', '.join(several)})"
        cure = "--fulltext-index chooses one of them"
    names = f", beginnings of names by the indexes on {listing([*indexed], 5)}," if indexed else ""
    return (
        f"{lack}, so search compares ids{names} and parts of the names of at most "
        f"{MOST_SCANNED:,} nodes, and does not find misspelt names; {cure}."
    )
