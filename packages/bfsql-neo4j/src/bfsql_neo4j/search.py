"""From what a person typed to the entities that may be meant."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from bfsql.embedding import Embedder, EmbeddingFailed, searched_by_names
from bfsql.models.json_values import is_text
from bfsql.models.records import EntityStub
from bfsql_neo4j.graph import Graph
from bfsql_neo4j.lucene import LONGEST, lucene
from bfsql_neo4j.reading import Reader

LIMIT = 20
"""Candidates of a search."""
NEAREST = 50
"""Vectors that are asked for; they are told by their type afterwards, which the index cannot."""
NEAREST_OF_TYPES = 1_000
"""The same where only some types are wanted."""
_EXACT = 1
"""Ranks up to this one are the very name or alias."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A node that may be meant."""

    stub: EntityStub
    rank: tuple[Any, ...]


async def search(
    reader: Reader, graph: Graph, embedder: Embedder | None, query: str, types: Sequence[str] | None
) -> list[EntityStub]:
    """Candidates: exact ids, then exact names and aliases, then words and meaning in turn.

    Args:
        reader: The server.
        graph: What is there.
        embedder: Makes a vector of the query; None for a search by words alone.
        query: What a person would call the entity, or its id.
        types: Types to keep, None for all.
    """
    looks = _Looks(reader, graph, query, types)
    by_id = await looks.ids()
    by_word = sorted(await looks.words(), key=lambda one: one.rank)
    near = await looks.nearest(embedder) if embedder is not None else []
    exact = [one.stub for one in by_word if one.rank[0] <= _EXACT]
    others = [one.stub for one in by_word if one.rank[0] > _EXACT]
    scores = {stub.id: stub.score for stub in near}
    in_turn = chain.from_iterable(zip_longest(others, near)) if near else iter(others)
    found: dict[str, EntityStub] = {}
    for stub in chain(by_id, exact, in_turn):
        if stub is not None:
            found.setdefault(stub.id, stub._replace(score=scores.get(stub.id)))
    return list(found.values())[:LIMIT]


class _Looks:
    """The ways to look for one text."""

    def __init__(
        self, reader: Reader, graph: Graph, query: str, types: Sequence[str] | None
    ) -> None:
        self._reader = reader
        self._graph = graph
        self._query = query
        self._text = query.strip()
        self._types = types
        self._filter = {"types": types, "rank": list(graph.shape.labels)} | graph.parameters

    async def ids(self) -> list[EntityStub]:
        """The nodes whose id it is."""
        asked = [text for text in dict.fromkeys((self._query, self._text)) if is_text(text)]
        elements, parameters = self._graph.asked(asked)
        rows = await self._reader.one(self._graph.queries.stubs(elements=elements), **parameters)
        stubs = [self._stub(row) for row in rows if row[0] in asked]
        wanted = [s for s in stubs if self._types is None or s.entity_type in self._types]
        return sorted(wanted, key=lambda stub: asked.index(stub.id))

    async def words(self) -> list[_Candidate]:
        """The nodes with its words, or with some of them where no node has all."""
        index, queries = self._graph.fulltext, self._graph.queries
        text = self._text[:LONGEST].lower()
        if not (text and is_text(text)):
            return []
        if index is None:
            if not self._graph.contains:
                return []
            rows = await self._reader.one(queries.parts(), called=text, **self._filter)
            return [self._candidate(row) for row in rows]
        for all_words in (True, False):
            asked = lucene(self._text, all_words=all_words)
            if asked is None:
                return []
            rows = await self._reader.one(
                queries.words(), index=index, lucene=asked, called=text, **self._filter
            )
            if rows:
                return [self._candidate(row) for row in rows]
        return []

    async def nearest(self, embedder: Embedder) -> list[EntityStub]:
        """The nodes whose vectors are nearest, with their scores."""
        if self._graph.vector is None or not self._text:
            return []
        try:
            vector = await embedder(self._text)
        except EmbeddingFailed as failed:
            searched_by_names(self._text, failed)
            return []
        rows = await self._reader.one(
            self._graph.queries.nearest(),
            index=self._graph.vector,
            vector=vector,
            most=NEAREST if self._types is None else NEAREST_OF_TYPES,
            **self._filter,
        )
        return [self._stub(row) for row in rows]

    def _stub(self, row: Sequence[Any]) -> EntityStub:
        entity_id, labels, name, _, score = row
        shown = name if isinstance(name, str) else None
        return EntityStub(entity_id, self._graph.type_of(labels), shown, score)

    def _candidate(self, row: Sequence[Any]) -> _Candidate:
        entity_id, _, name, others, score = row
        wanted = folded(self._text)
        called = folded(name) if isinstance(name, str) else ""
        aliases = [folded(other) for other in others if isinstance(other, str)]
        tests = (called == wanted, wanted in aliases, called.startswith(wanted), True)
        rank = (tests.index(True), -score, len(called), entity_id)
        return _Candidate(self._stub(row)._replace(score=None), rank)


def folded(text: str) -> str:
    """Text without accents, case and outer space, for comparison."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold().strip()
