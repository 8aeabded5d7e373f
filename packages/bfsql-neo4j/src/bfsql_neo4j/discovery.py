"""Reads the schema of a graph, and again when the graph has changed.

Counts of labels and relationship types are cheap, since the server keeps them. Finding out which
labels occur together, and whether two nodes have the same id, takes a scan of all nodes, which is
done up to `SCAN_LIMIT` nodes. Beyond that, a label is a type if some node has it and no label of
higher rank; the server stops at the first such node.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Self

from bfsql.abc import chunks
from bfsql.embedding import Embedder, EmbeddingFailed
from bfsql.errors import StoreError, StoreUnavailable, listing
from bfsql.models.merge import UNTYPED
from bfsql_neo4j import index_queries, schema_queries
from bfsql_neo4j.connection import Reader, place
from bfsql_neo4j.id_templates import id_template
from bfsql_neo4j.indexes import (
    POLL,
    Index,
    check_state,
    fulltext_index,
    no_fulltext_index,
    no_vector_index,
    read_indexes,
    vector_index,
)
from bfsql_neo4j.schema import Dialect, GraphSchema, predicates, ranked
from bfsql_neo4j.settings import Neo4jSettings, for_labels

log = logging.getLogger("bfsql")

SCAN_LIMIT = 1_000_000
"""Number of nodes up to which all are scanned."""
MAX_AGE = 60.0
"""Seconds after which labels and types are compared with those of the last reading."""
OPENING_PATIENCE = 10.0
"""Seconds that opening a graph waits for an index that is still being populated."""


class SchemaMonitor:
    """The current schema of one graph.

    Args:
        reader: Its server.
        settings: How to read the graph.
        dialect: The Cypher dialect of the server.
        embedder: Makes vectors of search texts; None to search by name only.
    """

    def __init__(
        self, reader: Reader, settings: Neo4jSettings, dialect: Dialect, embedder: Embedder | None
    ) -> None:
        self._reader = reader
        self._settings = settings
        self._embedder = embedder
        self._dialect = dialect
        self._reading = asyncio.Lock()
        self._read_at: float | None = None
        self._indexes: list[Index] | None = None
        self.schema = GraphSchema.empty(dialect, settings)
        """The result of the last reading."""

    @classmethod
    async def open(cls, reader: Reader, settings: Neo4jSettings, embedder: Embedder | None) -> Self:
        """Read the schema for the first time, and log anything unusual.

        Raises:
            ConfigurationError: The embedding cannot work as configured.
            StoreError: The graph cannot be served.
        """
        monitor = cls(reader, settings, Dialect.of(await reader.agent()), embedder)
        if embedder is not None:
            try:
                await embedder.probe()
            except EmbeddingFailed as failed:
                log.warning("Searches compare names only, until this is corrected: %s", failed)
        await monitor.refresh()
        monitor.log_warnings()
        return monitor

    async def refresh(self, since: GraphSchema | None = None) -> GraphSchema:
        """Read the schema again.

        Args:
            since: The caller's schema; a newer one is returned without reading.

        Raises:
            StoreError: The graph can no longer be served.
        """
        async with self._reading:
            if since is None or since is self.schema:
                self.schema = await self._read()
                self._read_at = time.monotonic()
            return self.schema

    async def current(self) -> GraphSchema:
        """The schema; read again if it is older than `MAX_AGE` and the graph has new names."""
        known = self.schema
        if self._read_at is not None and time.monotonic() - self._read_at < MAX_AGE:
            return known
        self._read_at = time.monotonic()
        labels = await self._reader.one(schema_queries.labels(self._dialect.procedures))
        types = await self._reader.one(schema_queries.types(self._dialect.procedures))
        if {*known.labels, *known.excluded}.issuperset(labels) and (
            {*known.predicates, *self._settings.exclude_types}.issuperset(types)
        ):
            return known
        return await self.refresh(known)

    # --- reading ------------------------------------------------------------

    async def _read(self) -> GraphSchema:
        # Only opening waits for an index: later readings are part of a call.
        patience = OPENING_PATIENCE if self._read_at is None else 0.0
        self._indexes = await listed_indexes(self._reader, self._dialect)
        schema, labels_borne = await self._read_names()
        schema = _with_id_indexes(schema, self._indexes)
        schema = await self._with_types(schema, labels_borne)
        fulltext = vector = None
        by_index = self._dialect.procedures and self._settings.search == "index"
        if by_index and schema.labels:
            fulltext = await self._fulltext_index(patience)
        if self._embedder is not None and schema.labels:
            vector = await self._vector_index(self._embedder, patience)
        return replace(
            schema,
            fulltext=fulltext.name if fulltext else None,
            vector=vector.name if vector else None,
            evidence=any(
                index.name == index_queries.EVIDENCE_INDEX and index.state == "ONLINE"
                for index in self._indexes or ()
            ),
            unsearched=_unsearched(schema, fulltext),
            name_indexes=self._name_indexes(schema) if by_index and fulltext is None else None,
        )

    async def _read_names(self) -> tuple[GraphSchema, int]:
        """Labels, relationship types and id properties, and the total number of labels on nodes."""
        reader, dialect, settings = self._reader, self._dialect, self._settings
        labels = await reader.one(schema_queries.labels(dialect.procedures))
        counts = await existing_counts(reader, dialect, labels, schema_queries.nodes_of)
        names = await reader.one(schema_queries.types(dialect.procedures))
        types = await existing_counts(reader, dialect, names, schema_queries.relationships_of)
        kept = {label: n for label, n in counts.items() if label not in settings.exclude_labels}
        followed = tuple(sorted(set(types) - set(settings.exclude_types)))
        by_rank = ranked(kept, settings, self.schema.labels)
        own, called = for_labels(settings.id_property), for_labels(settings.name_property)
        schema = replace(
            GraphSchema.empty(dialect, settings),
            label_ids={label: ids for label, ids in own.items() if label in by_rank},
            label_names={label: names for label, names in called.items() if label in by_rank},
            labels=by_rank,
            excluded=tuple(sorted(set(counts) - set(kept))),
            followed=followed if len(followed) < len(types) else None,
            predicates=predicates(followed, preserve_case=settings.preserve_case),
        )
        return schema, sum(counts.values())

    async def _with_types(self, schema: GraphSchema, labels_borne: int) -> GraphSchema:
        """Determine which labels are types of nodes, and which nodes have an id of their own."""
        nodes = await self._reader.one(schema_queries.NODES)
        if nodes > SCAN_LIMIT:
            uncounted: dict[str, int | None] = dict.fromkeys(await self._types(schema))
            unlabelled = max(0, nodes - labels_borne)  # lower bound
            if unlabelled:
                uncounted[UNTYPED] = None
            return replace(schema, types=uncounted, unlabelled=unlabelled, without_id=None)
        label_sets = await self._reader.one(schema_queries.LABEL_SETS)
        unlabelled = sum(number for labels, number in label_sets if not labels)
        types = dict(schema.count_types(label_sets))
        return await self._with_ids(replace(schema, types=types, unlabelled=unlabelled))

    async def _types(self, schema: GraphSchema) -> list[str]:
        """Labels that are the type of a node."""
        labels = list(schema.labels)
        if not labels:
            return []
        found = await self._reader.one(schema_queries.labels_that_are_types(labels), names=labels)
        return [label for label, is_type in zip(labels, found, strict=True) if is_type]

    async def _with_ids(self, schema: GraphSchema) -> GraphSchema:
        """Count the nodes without an id, and find those that share an id."""
        found = await self._reader.one(schema_queries.id_counts(schema), **schema.parameters)
        without = sum(number for text, number in found if text is None)
        schema = replace(schema, without_id=without - schema.unlabelled)
        shared = {text: number for text, number in found if text is not None}
        if not shared:
            return schema
        others = sum(shared.values()) - len(shared)
        if others > 10_000:  # every statement has their element ids
            raise StoreError(_too_many(self._settings, shared))
        bearers = await self._reader.one(
            schema_queries.bearers(schema), ids=list(shared), **schema.parameters
        )
        # Of several nodes with an id, the first by element id keeps it and the others use their
        # element id. The order is that of the number at its end, which grows.
        aliased = [
            element
            for _, elements in bearers
            for element in sorted(elements, key=lambda text: (len(text), text))[1:]
        ]
        return replace(schema, aliased=tuple(aliased), shared_ids=tuple(sorted(shared)[:3]))

    # --- the indexes of search ----------------------------------------------

    async def _fulltext_index(self, patience: float) -> Index | None:
        """The full-text index for search; raises if it failed, or if settings name another one."""
        settings = self._settings
        index = await self._filled(fulltext_index, patience)
        if index is not None:
            check_state(index, settings)
        elif "fulltext_index" in settings.model_fields_set:
            raise StoreError(
                f"{place(settings)} has no full-text index named {settings.fulltext_index!r}. "
                "Correct --fulltext-index, or create it with bfsql index --backend neo4j --apply."
            )
        return index

    def _name_indexes(self, schema: GraphSchema) -> dict[str, tuple[str, ...]]:
        """The properties of names with the labels that have an index on them."""
        found: dict[str, tuple[str, ...]] = {}
        for index in self._indexes or ():
            if index.type in ("RANGE", "TEXT") and index.state == "ONLINE":
                [*names], [*labels] = index.properties, set(index.labels) & set(schema.labels)
                if len(names) == 1 and names[0] in schema.searched:
                    found[names[0]] = tuple(sorted({*found.get(names[0], ()), *labels}))
        return {name: labels for name, labels in found.items() if labels}

    async def _vector_index(self, embedder: Embedder, patience: float) -> Index | None:
        """The vector index for an embedder; sets the embedder's `dimensions` to those of the index.

        Raises:
            StoreError: The index failed, or is for vectors of another length.
        """
        index = await self._filled(vector_index, patience)
        if index is None:
            return None
        check_state(index, self._settings)
        length = index.config.get("vector.dimensions")
        if length is not None and embedder.dimensions not in (None, length):
            raise StoreError(
                f"{embedder.name} produces vectors of {embedder.dimensions} dimensions, but the "
                f"index {index.name!r} of {place(self._settings)} is for {length}. Configure the "
                "model that produced the stored vectors."
            )
        embedder.dimensions = embedder.dimensions or length
        return index

    async def _filled(
        self, chosen: Callable[[Sequence[Index], Neo4jSettings], Index | None], patience: float
    ) -> Index | None:
        """An index, populated as far as `patience` in seconds allows."""
        end = time.monotonic() + patience
        while True:
            index = chosen(self._indexes or (), self._settings)
            if index is None or index.state != "POPULATING":
                return index
            if time.monotonic() >= end:
                log.warning(
                    "The index %r is still being built (%.0f %%); until it is complete, searches "
                    "may miss entities.",
                    index.name,
                    index.percent,
                )
                return index
            await asyncio.sleep(POLL)
            self._indexes = await listed_indexes(self._reader, self._dialect)

    # --- warnings -----------------------------------------------------------

    def log_warnings(self) -> None:
        """Log anything that makes this graph slow, or that its operator may not expect."""
        schema, where = self.schema, place(self._settings)
        for name, labels in schema.scans.items():
            log.warning(
                "%s has no index on the property %r of %s, so every lookup of an id reads all of "
                "these nodes. Create it with %s or with bfsql index --backend neo4j --apply.",
                where,
                name,
                _few(labels),
                index_queries.create_range_index(labels[0], *id_template(name).names),
            )
        for sentence in self.peculiarities():
            log.warning("%s: %s", where, sentence)
        if schema.fulltext is None and schema.name_indexes is None and schema.labels:
            log.warning("%s: search compares every name, which is slow in a large graph.", where)
        if self._embedder is not None and schema.labels and schema.vector is None:
            log.warning(no_vector_index(self._settings, self._indexes or ()))

    def peculiarities(self) -> list[str]:
        """Facts about this graph that a reader of answers should know, a sentence each."""
        schema, settings = self.schema, self._settings
        sentences = []
        if schema.without_id or schema.unlabelled:
            number = (schema.without_id or 0) + schema.unlabelled
            sentences.append(
                f"{number} nodes have no label, or none of the id properties "
                f"({', '.join(settings.id_property)}); their ids begin with neo4j:element:."
            )
        if schema.aliased:
            sentences.append(
                f"{len(schema.aliased)} nodes have the same id as another node "
                f"({_few(schema.shared_ids)}); their ids begin with neo4j:element:."
            )
        if settings.exclude_labels or settings.exclude_types:
            left_out = [*settings.exclude_labels, *settings.exclude_types]
            sentences.append(
                f"The operator excludes {_few(left_out)}: answers do not contain such nodes and "
                "relationships."
            )
        if schema.name_indexes is not None and schema.labels:
            sentences.append(no_fulltext_index(self._indexes or (), schema.name_indexes))
        if schema.unsearched:
            sentences.append(
                f"Search does not find {_few(schema.unsearched)} by name, only by id: they are "
                "not in the full-text index."
            )
        return sentences


async def existing_counts(
    reader: Reader, dialect: Dialect, names: Sequence[str], pattern: Callable[[str], str]
) -> dict[str, int]:
    """Labels or types with their counts, without those that occur no more.

    `pattern` gives what matches one of them.
    """
    counts: dict[str, int] = {}
    for some in chunks(names, 100):
        numbers = await reader.one(schema_queries.counts(dialect, list(map(pattern, some))))
        counts |= zip(some, numbers, strict=True)
    return {name: number for name, number in counts.items() if number}


async def listed_indexes(reader: Reader, dialect: Dialect) -> list[Index] | None:
    """All indexes; None if the server does not list them, or not for this role."""
    if not dialect.procedures:
        return None
    try:
        return read_indexes(await reader.one(index_queries.INDEXES))
    except StoreUnavailable:
        raise
    except StoreError as error:
        log.warning("Indexes cannot be listed, so search uses none: %s", error)
        return None


def _with_id_indexes(schema: GraphSchema, found: Sequence[Index] | None) -> GraphSchema:
    """The schema with the labels that have an index by id; without a list, all labels do."""
    online = {
        (index.labels, index.properties)
        for index in found or ()
        if index.type == "RANGE" and index.state == "ONLINE"
    }
    seeks: dict[str, tuple[str, ...]] = {}
    scans: dict[str, tuple[str, ...]] = {}
    for label in schema.labels:
        for name in schema.id_properties([label]):
            indexed = found is None or ((label,), id_template(name).names) in online
            labels = seeks if indexed else scans
            labels[name] = (*labels.get(name, ()), label)
    return replace(schema, seeks=seeks, scans=scans)


def _unsearched(schema: GraphSchema, fulltext: Index | None) -> tuple[str, ...]:
    """Types whose nodes are not in the full-text index."""
    if fulltext is None:
        return ()
    return tuple(sorted(set(schema.types) & set(schema.labels) - set(fulltext.labels)))


def _too_many(settings: Neo4jSettings, shared: Mapping[str, int]) -> str:
    example = max(shared, key=lambda text: (shared[text], text))
    return (
        f"{place(settings)} has {sum(shared.values())} nodes that share their id with another "
        f"({shared[example]} are {example!r}), so {', '.join(settings.id_property)} does not "
        "identify nodes. Name a property that does with --id-property; Label=property applies to "
        "one label."
    )


def _few(names: Collection[str]) -> str:
    return listing([*map(repr, names)], 5)
