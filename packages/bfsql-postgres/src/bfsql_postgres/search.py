"""Looking for nodes by what they are called, by likeness of letters, and by vectors."""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

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
from bfsql_postgres.connection import Pool
from bfsql_postgres.schema import Column, Layout, Nodes
from bfsql_postgres.sql import (
    ID_TYPES,
    collated,
    comparable,
    identifier,
    known_ids,
    literal,
    live,
    named,
    relation_name,
    storable,
    text,
)

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


LIMIT = 20
"""Candidates of a search."""

_STUB = "id, type, name"


def searched(nodes: Nodes, alias: str = "n") -> tuple[str, ...]:
    """The expressions that patterns are held against, each worth a trigram index.

    The name comes first, then the id, then the aliases as one text.
    """
    names = [text(alias, column) for column in (nodes.name, nodes.id) if column is not None]
    return (*names, *(expression for expression, _ in _aliases(nodes, alias)))


def _aliases(nodes: Nodes, alias: str) -> list[tuple[str, str]]:
    """Texts that hold the aliases, and how they stand in it: `json`, `lines` or `plain`."""
    found = []
    if (column := nodes.aliases) is not None:
        value = named(alias, column)
        if column.is_json:
            found.append((f"({value}::text)", "json"))
        elif column.is_text_array:
            listed = collated(value, column)
            found.append((f"array_to_string({listed}, E'\\n')", "lines"))
        else:
            found.append((text(alias, column), "plain"))
    if (column := nodes.properties) is not None and column.is_json:
        value = named(alias, column)
        synonyms = f"({value} -> 'synonyms')::text"
        if column.type == "json":
            # The function refuses what the type takes: a NUL, or half of a surrogate pair.
            odd = rf"{value}::text ~ '\\u(0000|[dD][89a-fA-F])'"
            synonyms = f"(CASE WHEN {odd} THEN NULL ELSE {synonyms} END)"
        found.append((synonyms, "json"))
    return found


@dataclass(slots=True)
class Asked:
    """The values of a statement, numbered as it comes to need them."""

    values: list[object] = field(default_factory=list)
    _texts: dict[str, str] = field(default_factory=dict)

    def text(self, value: str) -> str:
        """The parameter that carries a text, one for the same text."""
        if value not in self._texts:
            self._texts[value] = self.mark(value, "text")
        return self._texts[value]

    def mark(self, value: object, kind: str) -> str:
        """A parameter for a value."""
        self.values.append(value)
        return f"${len(self.values)}::{kind}"


class Looks:
    """Statements of a search. A row: id, type, name, then how well it matches.

    Args:
        layout: Where the graph is.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout

    # --- by name ------------------------------------------------------------

    def by_name(
        self, query: str, ids: Sequence[object], patterns: Patterns, types: Sequence[str] | None
    ) -> tuple[str, list[object]]:
        """Nodes whose id, name or aliases are, begin with, or hold what was asked.

        A row's last column is its rank: 0 id, 1 name, 2 alias, 3 beginning of the name, 4 part of
        a name or alias, 5 part of the id, 6 all words of it somewhere.

        Args:
            query: The text itself.
            ids: Ids that the text can be, as they are sent.
            patterns: The text as patterns.
            types: Types to keep, or None.
        """
        asked = Asked()
        exact = [asked.mark(id_, ID_TYPES[self._layout.key]) for id_ in ids]
        marks = Marked(asked, query, patterns)
        kept = None if types is None else asked.mark(list(types), "text[]")
        arms = [self._named(nodes, exact, marks, kept) for nodes in self._layout.nodes]
        return _best(arms, "rank"), asked.values

    def _named(self, nodes: Nodes, exact: list[str], marks: Marked, kept: str | None) -> str:
        ids = [f"{comparable('n', nodes.id, self._layout.key)} = {one}" for one in exact]
        ranks = [(0, test) for test in ids]
        wide = list(ids)
        if marks.text:
            alike, held = _tests(nodes, marks)
            ranks += alike
            wide += held
        if not wide:
            ranks, wide = [(0, "FALSE")], ["FALSE"]
        cases = " ".join(f"WHEN {test} THEN {rank}" for rank, test in sorted(ranks))
        return self._stub(nodes, f"CASE {cases} ELSE 6 END AS rank", f"({' OR '.join(wide)})", kept)

    # --- by likeness --------------------------------------------------------

    def by_likeness(
        self, query: str, types: Sequence[str] | None
    ) -> tuple[str, list[object]] | None:
        """Nodes with a name or alias that the text may be a misspelling of; None without pg_trgm.

        A row's last column is the distance, 0 to 1.
        """
        schema = self._layout.catalogue.trigrams
        if schema is None:
            return None
        asked = Asked()
        kept = None if types is None else asked.mark(list(types), "text[]")
        arms = []
        for nodes in self._layout.nodes:
            names = [text("n", nodes.name)] if nodes.name is not None else []
            names += [expression for expression, _ in _aliases(nodes, "n")]
            if names:
                arms.append(self._alike(nodes, identifier(schema), asked.text(query), names, kept))
        return (_best(arms, "distance"), asked.values) if arms else None

    def _alike(
        self, nodes: Nodes, schema: str, query: str, names: list[str], kept: str | None
    ) -> str:
        tests = [f"{names[0]} OPERATOR({schema}.%) {query}"]
        tests += [f"{query} OPERATOR({schema}.<%) {name}" for name in names]
        measures = [f"{schema}.similarity({names[0]}, {query})"]
        measures += [f"{schema}.word_similarity({query}, {name})" for name in names]
        nearest = f"1 - greatest({', '.join(measures)}) AS distance"
        return self._stub(nodes, nearest, f"({' OR '.join(tests)})", kept)

    # --- by vector ----------------------------------------------------------

    @property
    def embedded(self) -> Nodes | None:
        """The first table of nodes that has vectors."""
        return next((nodes for nodes in self._layout.nodes if nodes.embedding is not None), None)

    def by_vector(
        self, vector: Sequence[float], types: Sequence[str] | None
    ) -> tuple[str, list[object]]:
        """The nodes whose vectors are nearest by cosine.

        A row's last column is the cosine distance, 0 to 2.
        """
        nodes = self.embedded
        assert nodes is not None
        assert nodes.embedding is not None
        asked = Asked()
        schema = self._layout.catalogue.vectors
        kind = "vector" if nodes.embedding.type == "sparsevec" else nodes.embedding.type
        if nodes.embedding.is_vector:
            sent = f"{asked.mark(_written(vector), 'text')}::{_type(nodes.embedding, kind)}"
            distance = f"{_vector(nodes.embedding)} OPERATOR({_own(nodes.embedding)}.<=>) {sent}"
        elif schema is not None:
            own = identifier(schema)
            sent = f"{asked.mark(_written(vector), 'text')}::{own}.vector"
            distance = f"{array(nodes.embedding)}::{own}.vector OPERATOR({own}.<=>) {sent}"
        else:
            distance = _cosine(nodes.embedding, asked.mark(list(vector), "float8[]"))
        kept = None if types is None else asked.mark(list(types), "text[]")
        if nodes.embedding.dimensions == len(vector):
            # Their length is known; a test of it keeps the server from using an index.
            fits = f"{named('n', nodes.embedding)} IS NOT NULL"
        else:
            fits = f"{dimensions(nodes.embedding)} = {asked.mark(len(vector), 'int')}"
        if kept is not None:
            # Before the nearest are looked for: an index would give the nearest of all types.
            inner = self._stub(nodes, f"{named('n', nodes.embedding)} AS vector", fits, kept)
            outer = distance.replace(named("n", nodes.embedding), "typed.vector")
            return (
                f"WITH typed AS MATERIALIZED ({inner})\nSELECT {_STUB}, {outer} AS distance "
                f"FROM typed ORDER BY 4, id LIMIT {LIMIT}"
            ), asked.values
        return (
            self._stub(nodes, f"{distance} AS distance", fits, None)
            + f" ORDER BY {distance} LIMIT {LIMIT}"
        ), asked.values

    # --- shared -------------------------------------------------------------

    def _stub(self, nodes: Nodes, measure: str, condition: str, kept: str | None) -> str:
        kind = text("n", nodes.type)
        name = text("n", nodes.name) if nodes.name is not None else "NULL::text"
        typed = ""
        if kept is not None:
            typed = f" AND coalesce(nullif({kind}, ''), {literal(UNTYPED)}) = ANY ({kept})"
        return (
            f"SELECT {text('n', nodes.id)} AS id, {kind} AS type, {name} AS name, {measure}\n"
            f"FROM {relation_name(nodes.relation)} AS n\n"
            f"WHERE {live('n', nodes)} AND {condition}{typed}"
        )


def vector_size(nodes: Nodes) -> str:
    """The statement that gives the length of one vector that is there."""
    assert nodes.embedding is not None
    value = named("n", nodes.embedding)
    return (
        f"SELECT {dimensions(nodes.embedding)} FROM {relation_name(nodes.relation)} AS n "
        f"WHERE {value} IS NOT NULL AND {live('n', nodes)} LIMIT 1"
    )


# --- patterns ---------------------------------------------------------------


def _tests(nodes: Nodes, marks: Marked) -> tuple[list[tuple[int, str]], list[str]]:
    """Tests by rank, and those of which one has to hold."""
    id_text = text("n", nodes.id)
    ranks = [(5, marks.has_part(id_text))]
    held = [marks.has_part(id_text)]
    if nodes.name is not None:
        name = text("n", nodes.name)
        ranks += [(1, f"lower({name}) = lower({marks.query})")]
        ranks += [(3, marks.begins(name)), (4, marks.has_part(name))]
        held.append(marks.has_words(name))
    for expression, form in _aliases(nodes, "n"):
        ranks += [(2, marks.is_one(expression, form)), (4, marks.has_part(expression, form))]
        held.append(marks.has_words(expression, form))
    return ranks, held


@dataclass(frozen=True, slots=True)
class Patterns:
    """What was asked for, as patterns of `ILIKE`, with wildcards escaped."""

    part: str
    prefix: str
    words: tuple[tuple[str, ...], ...]
    """Each word, escaped."""
    json_spellings: tuple[str, ...]
    """The text as JSON may have it, between its quotes, escaped."""
    json_words: tuple[tuple[str, ...], ...]
    """Each word likewise."""


@dataclass(frozen=True, slots=True)
class Marked:
    """Tests by patterns, which become parameters when a test is made of them."""

    asked: Asked
    text: str
    patterns: Patterns

    @property
    def query(self) -> str:
        """The text itself."""
        return self.asked.text(self.text)

    def begins(self, expression: str) -> str:
        """The test that a text begins with what was asked for."""
        return f"{expression} ILIKE {self.asked.text(self.patterns.prefix)}"

    def has_part(self, expression: str, form: str = "plain") -> str:
        """The test that a text holds what was asked for."""
        spellings = self.patterns.json_spellings
        parts = [f"%{one}%" for one in spellings] if form == "json" else [self.patterns.part]
        return self._any_of(expression, parts)

    def has_words(self, expression: str, form: str = "plain") -> str:
        """The test that a text holds all words of what was asked for."""
        words = self.patterns.json_words if form == "json" else self.patterns.words
        tests = (self._any_of(expression, [f"%{one}%" for one in word]) for word in words)
        return f"({' AND '.join(tests)})"

    def is_one(self, expression: str, form: str) -> str:
        """The test that one of the aliases in a text is what was asked for."""
        if form == "json":
            spellings = self.patterns.json_spellings
            return self._any_of(expression, [f'%"{one}"%' for one in spellings])
        if form == "lines":
            return f"lower({self.query}) = ANY (string_to_array(lower({expression}), E'\\n'))"
        return f"lower({expression}) = lower({self.query})"

    def _any_of(self, expression: str, patterns: Sequence[str]) -> str:
        tests = (f"{expression} ILIKE {self.asked.text(pattern)}" for pattern in patterns)
        return f"({' OR '.join(tests)})"


def _best(arms: list[str], measure: str) -> str:
    """The best of all tables: equal ones by the length of their names, then by id."""
    found = "\nUNION ALL\n".join(arms)
    return (
        f"SELECT {_STUB}, {measure} FROM (\n{found}\n) AS found\n"
        f"ORDER BY {measure}, length(coalesce(name, '')), id COLLATE \"C\" LIMIT {2 * LIMIT}"
    )


# --- vectors ----------------------------------------------------------------


def _own(column: Column) -> str:
    return identifier(column.type_schema)


def _type(column: Column, kind: str) -> str:
    return f"{_own(column)}.{identifier(kind)}"


def _vector(column: Column) -> str:
    value = named("n", column)
    return f"{value}::{_own(column)}.vector" if column.type == "sparsevec" else value


def array(column: Column) -> str:
    """A stored vector as an array of numbers, null where it is none."""
    value = named("n", column)
    if column.is_number_array:
        return f"{value}::float8[]"
    listed = f"translate({value}::text, '[] \t\r\n', '{{}}')"
    return (
        f"(CASE WHEN {value}::text ~ '^\\s*\\[[-+0-9.eE,\\s]+\\]\\s*$' THEN {listed}::float8[] END)"
    )


def dimensions(column: Column) -> str:
    """The length of a stored vector."""
    if column.is_vector:
        own = _own(column)
        return f"{own}.vector_dims({_vector(column)})"
    return f"cardinality({array(column)})"


def _cosine(column: Column, vector: str) -> str:
    """Cosine distance computed without pgvector; the vector asked for has the length 1."""
    return (
        "(SELECT 1 - sum(pair.a * pair.b) / nullif(sqrt(sum(pair.a * pair.a)), 0) "
        f"FROM unnest({array(column)}, {vector}) AS pair (a, b))"
    )


def _written(vector: Sequence[float]) -> str:
    return "[" + ",".join(map(repr, vector)) + "]"
