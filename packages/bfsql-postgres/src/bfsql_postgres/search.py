"""From what a person types to the entities that may be meant.

By id, name, alias, beginning, part and words in one statement; by likeness of
letters in a second one, when that found little; by meaning in a third, where
entities have vectors and something makes one of the text.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bfsql import call
from bfsql.embedding import Embedder, searched_by_names
from bfsql.errors import EmbeddingFailed
from bfsql.models.merge import UNTYPED
from bfsql.models.records import EntityStub
from bfsql_postgres.decoding import known_ids, storable
from bfsql_postgres.layout import Layout
from bfsql_postgres.pool import Pool
from bfsql_postgres.queries.looking import LIMIT, Looks, Patterns

ENOUGH = 5
"""So many matches, or an exact one, and a misspelling is not looked for."""
EXACT = 2
"""The rank up to which a match is exact: id, name, alias."""
MOST_WORDS = 8
"""Words that are looked for, the longest first."""
SHORTEST = 3
"""Letters from which on a misspelling is looked for."""
LONGEST = 1_000
"""Characters of a text that is looked for as a name; no name is longer."""
SMOOTHING = 60
"""Of two lists the better places count more, but not overwhelmingly: 1 / (60 + place)."""
VECTOR_SHARE = 0.7
"""Of the time that remains, what comparing vectors may take; names alone do otherwise."""

_AROUND = ".,;:!?()[]{}<>\"'"
"""What stands around words and belongs to none."""


@dataclass(slots=True)
class Search:
    """Looks for nodes in one graph.

    Args:
        pool: Where statements run.
        layout: Where the graph is.
        embedder: Makes vectors of texts; None for names alone.
    """

    pool: Pool
    layout: Layout
    embedder: Embedder | None = None
    looks: Looks = field(init=False)

    def __post_init__(self) -> None:
        self.looks = Looks(self.layout)

    async def __call__(self, query: str, node_types: Sequence[str] | None) -> list[EntityStub]:
        """Candidates, best first, at most `LIMIT`.

        Args:
            query: What a person would call the entity, or its id.
            node_types: Types to keep, or None for all.
        """
        if not query or not storable((query, *(node_types or ())), self.layout.codec):
            return []
        types = node_types or None
        named, near = await asyncio.gather(
            self._by_name(query, types), self._by_meaning(query, types)
        )
        return _together(named, near)

    async def _by_name(self, query: str, types: Sequence[str] | None) -> list[_Hit]:
        text = query.strip()
        ids = [one for name, one in known_ids((query, text), self.layout).items() if name]
        statement, values = self.looks.by_name(text, ids, patterns(text[:LONGEST]), types)
        rows = await self.pool.fetch(statement, *values)
        hits = [_Hit(_stub(row), exact=row[3] <= EXACT) for row in rows]
        if len(hits) < ENOUGH and not any(hit.exact for hit in hits):
            hits += await self._by_likeness(text, types)
        return hits

    async def _by_likeness(self, text: str, types: Sequence[str] | None) -> list[_Hit]:
        if not SHORTEST <= len(text) <= LONGEST:
            return []
        asked = self.looks.by_likeness(text, types)
        if asked is None:
            return []
        rows = await self.pool.fetch(asked[0], *asked[1])
        return [_Hit(_stub(row)) for row in rows]

    async def _by_meaning(self, query: str, types: Sequence[str] | None) -> list[_Hit]:
        if self.embedder is None or self.looks.embedded is None or not query.strip():
            return []
        try:
            vector = _of_length_one(await self.embedder(query.strip()))
            if vector is None:
                return []
            statement, values = self.looks.by_vector(vector, types)
            left = call.remaining()
            rows = await self.pool.fetch(
                statement, *values, seconds=None if left is None else left * VECTOR_SHARE
            )
        except EmbeddingFailed as failed:
            searched_by_names(query, failed)
            return []
        except TimeoutError:
            slow = "Comparing the vectors took too long"
            cure = "`bfsql index --backend postgres` prints the index that helps"
            searched_by_names(query, EmbeddingFailed(f"{slow}; {cure}."))
            return []
        hits = [
            _Hit(_stub(row)._replace(score=min(1.0, max(0.0, 1.0 - row[3]))))
            for row in rows
            if row[3] is not None and not math.isnan(row[3])
        ]
        return sorted(hits, key=lambda hit: (-(hit.stub.score or 0.0), hit.stub.id))


@dataclass(frozen=True, slots=True)
class _Hit:
    stub: EntityStub
    exact: bool = False


def _stub(row: Any) -> EntityStub:
    return EntityStub(row[0], row[1] or UNTYPED, row[2])


def _together(named: list[_Hit], near: list[_Hit]) -> list[EntityStub]:
    """Exact ids, names and aliases first; then both lists, each place by its worth."""
    scored = {hit.stub.id: hit.stub for hit in near}
    first = [hit.stub for hit in named if hit.exact]
    worth: dict[str, float] = {}
    for hits in (named, near):
        for place, one in enumerate(dict.fromkeys(hit.stub.id for hit in hits)):
            worth[one] = worth.get(one, 0.0) + 1 / (SMOOTHING + place)
    by_id = {hit.stub.id: hit.stub for hit in (*near, *named)}
    # Where only names were looked at their order stands; sorting keeps that of equals.
    rest = sorted(
        dict.fromkeys(hit.stub.id for hit in (*named, *near)), key=lambda one: -worth[one]
    )
    order = dict.fromkeys([*(stub.id for stub in first), *rest])
    return [scored.get(one, by_id[one]) for one in order][:LIMIT]


def _of_length_one(vector: Sequence[float]) -> list[float] | None:
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [x / length for x in vector] if length > 0 else None


def patterns(text: str) -> Patterns:
    """A text as patterns: its wildcards are letters, its words count one by one."""
    words = tuple(dict.fromkeys(w for one in text.split() if (w := one.strip(_AROUND))))
    kept = sorted(words, key=len, reverse=True)[:MOST_WORDS] or [text]
    return Patterns(
        part=f"%{_escaped(text)}%",
        prefix=f"{_escaped(text)}%",
        words=tuple((_escaped(word),) for word in kept),
        json_spellings=_json_spellings(text),
        json_words=tuple(_json_spellings(word) for word in kept),
    )


def _escaped(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", text)


def _json_spellings(text: str) -> tuple[str, ...]:
    """What a text looks like in JSON: `json` keeps escapes that `jsonb` resolves."""
    spellings = (json.dumps(text, ensure_ascii=False), json.dumps(text))
    return tuple(dict.fromkeys(_escaped(spelling[1:-1]) for spelling in spellings))
