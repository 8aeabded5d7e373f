"""Opens a graph, keeps what was seen of it, and looks again when it has changed."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Self

from bfsql.embedding import Embedder, EmbeddingFailed
from bfsql_neo4j import searchable
from bfsql_neo4j.connection import place
from bfsql_neo4j.graph import Graph
from bfsql_neo4j.indexes import EVIDENCE_INDEX, Index
from bfsql_neo4j.queries import Queries
from bfsql_neo4j.queries import survey as texts
from bfsql_neo4j.queries.indexing import create_range_index
from bfsql_neo4j.reading import Reader
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.shape import Dialect, Shape
from bfsql_neo4j.survey import Surveyor

log = logging.getLogger("bfsql")

OLD = 60.0
"""Seconds after which it is asked whether there are labels and types that were not seen yet."""
_SHOWN = 5


class Lookout:
    """What is known of one graph.

    Args:
        reader: Its server.
        settings: How it is read.
        dialect: What the server understands.
        embedder: Makes vectors of search texts; None where search goes by names.
    """

    def __init__(
        self, reader: Reader, settings: Neo4jSettings, dialect: Dialect, embedder: Embedder | None
    ) -> None:
        self._reader = reader
        self._settings = settings
        self._embedder = embedder
        self._surveyor = Surveyor(reader, settings, dialect)
        self._dialect = dialect
        self._looking = asyncio.Lock()
        self._looked = 0.0
        self._indexes: list[Index] = []
        self.graph = Graph(Shape.empty(), self._queries(Shape.empty()))
        """What was seen last."""

    @classmethod
    async def open(cls, reader: Reader, settings: Neo4jSettings, embedder: Embedder | None) -> Self:
        """Look for the first time, and say what is unusual.

        Raises:
            ConfigurationError: The embedding will never work as it is configured.
            StoreError: The graph cannot be served as it is.
        """
        lookout = cls(reader, settings, Dialect.of(await reader.agent()), embedder)
        if embedder is not None:
            try:
                await embedder.probe()
            except EmbeddingFailed as failed:
                log.warning("Searches go by names alone until this works: %s", failed)
        await lookout.look()
        lookout.say()
        return lookout

    async def look(self, since: Graph | None = None) -> Graph:
        """Look again.

        Args:
            since: What the caller saw; if others have looked since, that will do.

        Raises:
            StoreError: The graph cannot be served as it is now.
        """
        async with self._looking:
            if since is None or since is self.graph:
                self.graph = await self._seen()
                self._looked = time.monotonic()
            return self.graph

    async def current(self) -> Graph:
        """What is known, after a look where that is old and the graph has new names."""
        known = self.graph
        if time.monotonic() - self._looked < OLD:
            return known
        self._looked = time.monotonic()
        shape = known.shape
        procedures = self._dialect.procedures
        labels = await self._reader.one(texts.labels(procedures))
        types = await self._reader.one(texts.types(procedures))
        seen = (
            {*shape.labels, *shape.excluded},
            {*shape.relationships, *self._settings.exclude_types},
        )
        if seen[0].issuperset(labels) and seen[1].issuperset(types):
            return known
        return await self.look(known)

    async def _seen(self) -> Graph:
        before = self.graph.shape if self._looked else None
        # Only who opens waits for an index: later looks are part of a call.
        patience = 0.0 if self._looked else searchable.PATIENCE
        shape, look = await self._surveyor.look(before), self._surveyor.indexes
        fulltext = vector = None
        if self._dialect.procedures:
            fulltext = await searchable.fulltext(self._settings, shape, look, self._keys, patience)
        if self._embedder is not None and shape.labels:
            vector = await searchable.vector(self._settings, self._embedder, look, patience)
        self._indexes = [index for index, _ in await look() or ()]
        return Graph(
            shape,
            self._queries(shape),
            fulltext=fulltext.name if fulltext else None,
            vector=vector.name if vector else None,
            contains=fulltext is None,
            evidence=any(
                index.name == EVIDENCE_INDEX and index.state == "ONLINE" for index in self._indexes
            ),
            unsearched=_unsearched(shape, fulltext),
        )

    async def _keys(self) -> list[str]:
        found: list[str] = await self._reader.one(texts.KEYS)
        return found

    def _queries(self, shape: Shape) -> Queries:
        settings = self._settings
        return Queries(shape, self._dialect, settings.name_property, settings.alias_property)

    def say(self) -> None:
        """Tell the operator what makes this graph slow, or different from what he may think."""
        shape, where = self.graph.shape, place(self._settings)
        for name, labels in shape.scans.items():
            log.warning(
                "%s has no index for the property %r of %s, so that every look at an id reads all "
                "of these nodes. Create it with %s or with bfsql index --backend neo4j --apply.",
                where,
                name,
                _few(labels),
                create_range_index(labels[0], name),
            )
        for sentence in self.oddities():
            log.warning("%s: %s", where, sentence)
        if self.graph.contains and shape.labels:
            log.warning("%s: search looks at every name, which is slow in a large graph.", where)
        if self._embedder is not None and shape.labels and self.graph.vector is None:
            log.warning(searchable.names_alone(self._settings, self._indexes))

    def oddities(self) -> list[str]:
        """What a reader of answers should know of this graph, a sentence each."""
        shape, said = self.graph.shape, []
        if shape.without_id or shape.unlabelled:
            number = (shape.without_id or 0) + shape.unlabelled
            said.append(
                f"{number} nodes have none of the id properties "
                f"({', '.join(self._settings.id_property)}) or no label; their ids begin with "
                "neo4j:element:."
            )
        if shape.aliased:
            said.append(
                f"{len(shape.aliased)} nodes bear an id that another node bears, too "
                f"({_few(shape.doubled)}); their ids begin with neo4j:element:."
            )
        if self._settings.exclude_labels or self._settings.exclude_types:
            left_out = [*self._settings.exclude_labels, *self._settings.exclude_types]
            said.append(
                f"The operator has left out {_few(left_out)}: such nodes and relationships are in "
                "no answer."
            )
        if self.graph.unsearched:
            said.append(
                f"Search does not find {_few(self.graph.unsearched)} by name, only by id: the "
                "full-text index does not hold them."
            )
        return said


def _unsearched(shape: Shape, index: Index | None) -> tuple[str, ...]:
    if index is None:
        return ()
    return tuple(sorted(set(shape.types) & set(shape.labels) - set(index.labels)))


def _few(names: Any) -> str:
    shown = [repr(name) for name in list(names)[:_SHOWN]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
