"""Search: finds the entities that a typed text may mean."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from bfsql import call
from bfsql.embedding import Embedder, EmbeddingFailed, searched_by_names
from bfsql.models.json_values import distinct_texts, is_text
from bfsql.models.matching import allowed_errors
from bfsql.models.merge import fold
from bfsql.models.records import EntityStub, Omission
from bfsql_neo4j import queries
from bfsql_neo4j.connection import Reader
from bfsql_neo4j.indexes import MOST_SCANNED
from bfsql_neo4j.schema import GraphSchema

MAX_CHARS = 256
"""Most characters of a text that are searched."""

_SPECIAL = re.compile(r'([+\-&|!(){}\[\]^"~*?:\\/<>=])')
_IN_QUOTES = re.compile(r'(["\\])')
_OUTER = re.compile(r"^\W+|\W+$")

RankedStub = tuple[tuple[Any, ...], EntityStub]
"""A candidate preceded by its rank."""


async def search(
    reader: Reader,
    schema: GraphSchema,
    embedder: Embedder | None,
    query: str,
    types: Sequence[str] | None,
) -> list[EntityStub]:
    """Candidates: exact ids, then exact names and aliases, then words and meaning in turn.

    Args:
        reader: The server.
        schema: Its graph.
        embedder: Makes a vector of the query; None for a search by words only.
        query: What a person would call the entity, or its id.
        types: Types to include, None for all.
    """
    text = query.strip()
    by_id = await _with_id(reader, schema, query, types)
    by_word = await _with_words(reader, schema, text, types)
    near = await _nearest(reader, schema, embedder, text, types) if embedder is not None else []
    exact = [stub for rank, stub in by_word if rank[0] in {0, 1}]  # a name or an alias
    others = [stub for rank, stub in by_word if rank[0] not in {0, 1}]
    scores = {stub.id: stub.score for stub in near}
    in_turn = chain.from_iterable(zip_longest(others, near)) if near else iter(others)
    found: dict[str, EntityStub] = {}
    for stub in chain(by_id, exact, in_turn):
        if stub is not None:
            found.setdefault(stub.id, stub._replace(score=scores.get(stub.id)))
    return list(found.values())[:20]


async def _with_id(
    reader: Reader, schema: GraphSchema, query: str, types: Sequence[str] | None
) -> list[EntityStub]:
    """The nodes whose id is the query."""
    ids = distinct_texts((query, query.strip()))
    statement, parameters = queries.stubs(schema, ids)
    rows = await reader.one(statement, **parameters)
    stubs = [_stub(schema, row) for row in rows if row[0] in ids]
    wanted = [stub for stub in stubs if types is None or stub.entity_type in types]
    return sorted(wanted, key=lambda stub: ids.index(stub.id))


async def _with_words(
    reader: Reader, schema: GraphSchema, text: str, types: Sequence[str] | None
) -> list[RankedStub]:
    """The nodes with all of the words, or with some of them if none has all, by rank.

    If none has any, two words run together are looked for.
    """
    called = text[:MAX_CHARS].lower()
    if not (called and is_text(called)):
        return []
    parameters: dict[str, Any] = {"called": called} | _filter(schema, types)
    rows: list[Any] = []
    if schema.name_indexes is not None:
        rows = await _without_fulltext(reader, schema, text, parameters)
    elif schema.fulltext is None:
        rows = await reader.one(queries.search_by_part_of_name(schema), **parameters)
    else:
        statement = queries.search_by_words(schema)
        for wanted in (lucene(text), lucene(text, all_words=False), run_together(text)):
            if wanted is not None and not rows:
                rows = await reader.one(
                    statement, index=schema.fulltext, lucene=wanted, **parameters
                )
    return sorted(
        ((_rank(row, text), _stub(schema, row)) for row in rows), key=lambda ranked: ranked[0]
    )


async def _without_fulltext(
    reader: Reader, schema: GraphSchema, text: str, parameters: Mapping[str, Any]
) -> list[Any]:
    """Candidates by indexes on names, and by a scan of the first nodes; reports a partial scan."""
    typed, types, found = text[:MAX_CHARS], parameters["types"], dict[str, Any]()
    if schema.name_indexes:
        spellings = {typed, typed.lower(), typed.upper(), typed.title(), typed.capitalize()}
        statement, more = queries.search_by_indexes(schema, sorted(spellings))
        found |= {row[0]: row for row in await reader.one(statement, **parameters, **more)}
    statement = queries.search_by_part_of_name(schema, types, MOST_SCANNED)
    found |= {row[0]: row for row in await reader.one(statement, **parameters)}
    nodes = sum(n for label, n in schema.labels.items() if types is None or label in types)
    if nodes > MOST_SCANNED:
        compared = "names that begin with its text"
        if not schema.name_indexes:
            compared = "whole names"
            statement = queries.search_by_part_of_name(schema, types, 0)
            try:
                async with call.time_limit(0.5):
                    found |= {row[0]: row for row in await reader.one(statement, **parameters)}
            except TimeoutError:
                compared = "ids"
        why = (
            f"there is no full-text index, so beyond the first {MOST_SCANNED:,} of {nodes:,} nodes "
            f"only {compared} were compared; bfsql index --apply creates one"
        )
        call.omitted(Omission(text, "search", reason=why))
    return list(found.values())


async def _nearest(
    reader: Reader, schema: GraphSchema, embedder: Embedder, text: str, types: Sequence[str] | None
) -> list[EntityStub]:
    """The nodes whose vectors are nearest, with their scores."""
    if schema.vector is None or not text:
        return []
    try:
        vector = await embedder(text)
    except EmbeddingFailed as failed:
        searched_by_names(text, failed)
        return []
    # Types are filtered afterwards, since the index cannot filter them.
    rows = await reader.one(
        queries.nearest(schema),
        index=schema.vector,
        vector=vector,
        most=50 if types is None else 1_000,
        **_filter(schema, types),
    )
    return [_stub(schema, row) for row in rows]


def _filter(schema: GraphSchema, types: Sequence[str] | None) -> dict[str, Any]:
    return {"types": types, "rank": list(schema.labels)} | schema.parameters


def _stub(schema: GraphSchema, row: Sequence[Any]) -> EntityStub:
    entity_id, labels, name, _, score = row
    shown = name if isinstance(name, str) else None
    return EntityStub(entity_id, schema.type_of(labels), shown, score)


def _rank(row: Sequence[Any], text: str) -> tuple[Any, ...]:
    """An exact name ranks first, then an alias, a beginning, and any other hit."""
    entity_id, _, name, others, score = row
    wanted = fold(text)
    called = fold(name) if isinstance(name, str) else ""
    aliases = [fold(other) for other in others if isinstance(other, str)]
    tests = (called == wanted, wanted in aliases, called.startswith(wanted), True)
    return tests.index(True), -score, len(called), entity_id


# --- queries of the full-text index ---------------------------------------------


def lucene(text: str, *, all_words: bool = True) -> str | None:
    """A query of the full-text index for a text; None if it has no words.

    The whole phrase counts most, then words as typed, as beginnings, and misspelt.
    No character of the text is syntax to Lucene: phrases are in quotes, and
    elsewhere every special character is escaped.

    Args:
        text: What a person typed.
        all_words: Whether a hit has to have all of the words.
    """
    text = " ".join(text[:MAX_CHARS].split())
    # Lucene refuses queries of more than 1,024 parts.
    words = [word for word in text.split(" ") if re.search(r"\w", word)][:16]
    if not words:
        return None
    required = "+" if all_words else ""
    each = " ".join(f"{required}({_word(word)})" for word in words)
    return f"{phrase(text)}^8 ({each})"


def run_together(text: str) -> str | None:
    """A query for two words that are written as one, with typing errors in them.

    None if the longest word of the text is too short for that.
    """
    word = max(text[:MAX_CHARS].lower().split(), key=len, default="")
    splits = _apart(word, least=4)
    middle = len(splits) // 2  # eight of them, since Lucene refuses queries of too many parts
    parts = [
        " ".join(f"+{part}~{allowed_errors(part)}" for part in split)
        for split in splits[max(0, middle - 4) : middle + 4]
    ]
    return " ".join(f"({part})" for part in parts) or None


def phrase(text: str) -> str:
    """The text between quotes."""
    return '"' + _IN_QUOTES.sub(r"\\\1", text) + '"'


def _word(word: str) -> str:
    plain = _OUTER.sub("", word).lower()
    core, errors = _SPECIAL.sub(r"\\\1", plain), allowed_errors(plain)
    misspelt = f" {core}~{errors}^0.5" if errors else ""
    apart = "".join(f" {phrase(f'{one} {other}')}^0.5" for one, other in _apart(plain))
    return f"{phrase(word)}^4 {core}*{misspelt}{apart}"


def _apart(word: str, least: int = 3, most: int = 24) -> list[tuple[str, str]]:
    """The ways to split a word, in its first `most` letters, into two of at least `least`."""
    places = range(least, min(len(word), most) - least + 1)
    return [(word[:place], word[place:]) for place in places] if word.isalpha() else []
