"""Search: finds the entities that a typed text may mean.

One statement searches by id, name, alias, beginning, part and words; a second one by trigram
similarity, if the first found little; further ones by each word, if nothing was found; another by
meaning, if entities have vectors and an embedder can turn the text into one.
"""
# ruff: noqa: S608 - these texts are made of quoted names and of parts of this package

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from bfsql import call
from bfsql.embedding import Embedder, searched_by_names
from bfsql.errors import EmbeddingFailed
from bfsql.models.matching import MOST_SHARING, NameQuery
from bfsql.models.merge import UNTYPED
from bfsql.models.records import EntityStub
from bfsql_postgres.connection import Pool
from bfsql_postgres.ids import equals, known_ids
from bfsql_postgres.schema import Column, Layout, Nodes
from bfsql_postgres.sql import (
    ID_TYPES,
    Parameters,
    collated,
    identifier,
    json_patterns,
    literal,
    live,
    named,
    pattern,
    relation_name,
    storable,
    text,
    union,
)

LIMIT = 20
"""Most candidates of a search."""
LONGEST = 1_000
"""Most characters of a text that is searched as a name; no name is longer."""

SCAN_LIMIT = 100_000
"""Rows of a table that are compared in one of several tables without an index for names; whole
names are compared in a hundred times as many, which takes as long.
"""

_PUNCTUATION = ".,;:!?()[]{}<>\"'"
"""Characters at the edges of words that do not belong to them."""

Statement = tuple[str, list[object]]
"""A statement of a search with its values. A row: id, type, name, then the quality of the match."""


@dataclass(frozen=True, slots=True)
class Search:
    """Finds nodes of one graph; without an embedder only by name."""

    pool: Pool
    layout: Layout
    embedder: Embedder | None = None

    async def __call__(self, query: str, node_types: Sequence[str] | None) -> list[EntityStub]:
        """Candidates, best first, at most `LIMIT`, of the given types or of all."""
        if not query or not storable((query, *(node_types or ())), self.layout.codec):
            return []
        types = node_types or None
        (exact, named), near = await asyncio.gather(
            self._by_name(query, types), self._by_meaning(query, types)
        )
        if not named and not near and len(query) <= LONGEST:
            named = await self._sharing(query, types)
        return _fused(exact, named, near)

    async def _by_name(
        self, query: str, types: Sequence[str] | None
    ) -> tuple[list[str], list[EntityStub]]:
        """Ids that match exactly, and all matches."""
        text = query.strip()
        ids = [one for name, one in known_ids((query, text), self.layout).items() if name]
        statement, values = by_name(self.layout, text, ids, types)
        rows = await self.pool.fetch(statement, *values)
        for nodes in filter(partial(_is_cut, self.layout), _of_types(self.layout, types)):
            reason = (
                f"{SCAN_LIMIT:,} of about {nodes.relation.rows:,.0f} rows of {nodes.relation.name} "
                "were compared; `bfsql index --apply` adds an index"
            )
            call.omitted(call.Omission(text, "search", reason=reason))
        last_exact, enough, shortest = 2, 5, 3  # rank of an alias; matches; letters
        exact = [row[0] for row in rows if row[3] <= last_exact]
        if not exact and len(rows) < enough and shortest <= len(text) <= LONGEST:
            rows += await self._similar(text, types)
        return exact, list(map(_stub, rows))

    async def _similar(self, text: str, types: Sequence[str] | None) -> list[Any]:
        """Names the text may misspell, among those with the most trigrams in common."""
        statement = by_similarity(self.layout, text, types)
        rows = await self.pool.fetch(statement[0], *statement[1]) if statement else []
        wanted = NameQuery(text)
        matches = [wanted.match(row[0], row[2], (row[4] or "").split("\n")) for row in rows]
        alike = [(match.order, row) for match, row in zip(matches, rows, strict=True) if match]
        return [row for _, row in sorted(alike, key=itemgetter(0))]

    async def _sharing(self, text: str, types: Sequence[str] | None) -> list[EntityStub]:
        """Nodes that share a rare word with the text."""
        wanted, found = NameQuery(text), dict[str, Any]()
        for word in sorted(wanted.significant_words):
            statement, values = by_name(self.layout, word, [], types)
            rows = await self.pool.fetch(statement, *values)
            if MOST_SHARING < len(rows) < 2 * LIMIT:  # many have it as a part of a word
                rows = [row for row in rows if word in wanted.shared_words(row[0], row[2], ())]
            if len(rows) <= MOST_SHARING:
                found |= {row[0]: row for row in rows}
        return list(map(_stub, found.values()))

    async def _by_meaning(self, query: str, types: Sequence[str] | None) -> list[EntityStub]:
        if self.embedder is None or self.layout.embedded is None or not query.strip():
            return []
        try:
            vector = _normalized(await self.embedder(query.strip()))
            if vector is None:
                return []
            statement, values = by_vector(self.layout, self.layout.embedded, vector, types)
            left = call.remaining()
            # If the time is not enough for comparing vectors, the rest is for name matches.
            rows = await self.pool.fetch(
                statement, *values, seconds=None if left is None else left * 0.7
            )
        except EmbeddingFailed as failed:
            searched_by_names(query, failed)
            return []
        except TimeoutError:
            slow = "Comparing the vectors took too long"
            cure = "`bfsql index --backend postgres` prints an index that helps"
            searched_by_names(query, EmbeddingFailed(f"{slow}; {cure}."))
            return []
        stubs = [
            _stub(row)._replace(score=min(1.0, max(0.0, 1.0 - row[3])))
            for row in rows
            if row[3] is not None and not math.isnan(row[3])
        ]
        return sorted(stubs, key=lambda stub: (-(stub.score or 0.0), stub.id))


def _stub(row: Any) -> EntityStub:
    return EntityStub(row[0], row[1] or UNTYPED, row[2])


def _fused(exact: list[str], named: list[EntityStub], near: list[EntityStub]) -> list[EntityStub]:
    """Exact ids, names and aliases first; then both lists by reciprocal rank fusion."""
    worth: dict[str, float] = {}
    for stubs in (named, near):
        for place, one in enumerate(dict.fromkeys(stub.id for stub in stubs)):
            # Reciprocal rank fusion, with its usual constant.
            worth[one] = worth.get(one, 0.0) + 1 / (60 + place)
    # Of two stubs with one id, the one with a score is shown.
    by_id = {stub.id: stub for stub in (*named, *near)}
    # Sorting is stable, so names stay in order if nothing else was searched.
    order = dict.fromkeys([*exact, *sorted(worth, key=lambda one: -worth[one])])
    return [by_id[one] for one in order][:LIMIT]


def _normalized(vector: Sequence[float]) -> list[float] | None:
    length = math.sqrt(math.fsum(x * x for x in vector))
    return [x / length for x in vector] if length > 0 else None


# --- statements ------------------------------------------------------------------


def by_name(
    layout: Layout, query: str, ids: Sequence[object], types: Sequence[str] | None
) -> Statement:
    """Nodes whose id, name or aliases equal, begin with, or contain the text.

    The last column is the rank: 0 id (one of `ids`, as sent), 1 name, 2 alias, 3 beginning of the
    name, 4 part of a name or alias, 5 part of the id, 6 all of its words anywhere.
    """
    sent = Parameters()
    exact = [sent.add(id_, ID_TYPES[layout.key]) for id_ in ids]
    tests = _TextTests(sent, query)
    kept = sent.types(types)
    arms = []
    for nodes in _of_types(layout, types):
        wide = [f"({equals('n', nodes.id, one, layout)})" for one in exact]
        ranks = [(0, test) for test in wide]
        if _is_cut(layout, nodes):
            arms += _exact(nodes, wide, sent.text(query), kept)
        if query:
            more_ranks, more = _name_tests(nodes, tests)
            ranks += more_ranks
            wide += more
        if not wide:
            ranks, wide = [(0, "FALSE")], ["FALSE"]
        cases = " ".join(f"WHEN {test} THEN {rank}" for rank, test in sorted(ranks))
        condition = f"({' OR '.join(wide)})"
        rank = f"CASE {cases} ELSE 6 END AS rank"
        arms.append(_stubs(nodes, rank, condition, kept, _source(layout, nodes)))
    return _best(arms, "rank"), sent.values


def _of_types(layout: Layout, types: Sequence[str] | None) -> Sequence[Nodes]:
    """The tables that may have nodes of some types, at least one."""
    some = [
        nodes
        for nodes in layout.nodes
        if types is None or isinstance(nodes.type, Column) or (nodes.type or UNTYPED) in types
    ]
    return some or layout.nodes[:1]


def _is_cut(layout: Layout, nodes: Nodes) -> bool:
    """Whether a table is too large for comparing all of its names, and lacks an index for that."""
    here = nodes.relation
    trigrams = sum(one.valid and one.opclasses[0].endswith("_trgm_ops") for one in here.indexes)
    return layout.key == "prefixed" and here.rows > SCAN_LIMIT and trigrams < len(searched(nodes))


def _source(layout: Layout, nodes: Nodes) -> str:
    name = relation_name(nodes.relation)
    readable = ", ".join(map(identifier, nodes.relation.columns))
    return f"(SELECT {readable} FROM {name} LIMIT {SCAN_LIMIT})" if _is_cut(layout, nodes) else name


def _exact(nodes: Nodes, ids: Sequence[str], query: str, types: str | None) -> list[str]:
    """Selects of the nodes of a large table by id, and by the exact name."""
    found = [_stubs(nodes, "0 AS rank", f"({' OR '.join(ids)})", types)] if ids else []
    if nodes.name is not None and (
        nodes.relation.leads(nodes.name.name) or nodes.relation.rows <= 100 * SCAN_LIMIT
    ):
        found.append(_stubs(nodes, "1 AS rank", f"{text('n', nodes.name)} = {query}", types))
    return found


def _name_tests(nodes: Nodes, tests: _TextTests) -> tuple[list[tuple[int, str]], list[str]]:
    """Tests by rank, and the tests of which one has to hold."""
    id_text = text("n", nodes.id)
    ranks = [(5, tests.has_part(id_text))]
    wide = [tests.has_part(id_text)]
    if nodes.name is not None:
        name = text("n", nodes.name)
        ranks += [(1, f"lower({name}) = lower({tests.query})")]
        ranks += [(3, tests.begins(name)), (4, tests.has_part(name))]
        wide.append(tests.has_words(name))
    for expression, form in _aliases(nodes, "n"):
        ranks += [(2, tests.is_one(expression, form)), (4, tests.has_part(expression, form))]
        wide.append(tests.has_words(expression, form))
    return ranks, wide


def by_similarity(layout: Layout, query: str, types: Sequence[str] | None) -> Statement | None:
    """Nodes with a name or alias that the text may be a misspelling of; None without pg_trgm.

    The last columns are the trigram distance, 0 to 1, and the aliases as one text.
    """
    if layout.catalogue.trigrams is None:
        return None
    schema = identifier(layout.catalogue.trigrams)
    sent = Parameters()
    kept = sent.types(types)
    arms = []
    for nodes in _of_types(layout, types):
        if _is_cut(layout, nodes):
            continue
        names = [text("n", nodes.name)] if nodes.name is not None else []
        aliases = [expression for expression, _ in _aliases(nodes, "n")]
        names += aliases
        if names:
            like = sent.text(query)
            tests = [f"{names[0]} OPERATOR({schema}.%) {like}"]
            tests += [f"{like} OPERATOR({schema}.<%) {name}" for name in names]
            measures = [f"{schema}.similarity({names[0]}, {like})"]
            measures += [f"{schema}.word_similarity({like}, {name})" for name in names]
            nearest = (
                f"1 - greatest({', '.join(measures)}) AS distance, "
                f"concat_ws(E'\\n', {', '.join(aliases) or 'NULL'}) AS aliases"
            )
            arms.append(_stubs(nodes, nearest, f"({' OR '.join(tests)})", kept))
    return (_best(arms, "distance", "aliases"), sent.values) if arms else None


def by_vector(
    layout: Layout, nodes: Nodes, vector: Sequence[float], types: Sequence[str] | None
) -> Statement:
    """The nodes whose vectors are nearest by cosine to a vector of length 1.

    The last column is the cosine distance, 0 to 2.
    """
    sent = Parameters()
    column = nodes.embedding
    assert column is not None
    stored = named("n", column)
    distance = _distance(layout, column, vector, sent)
    kept = sent.types(types)
    if column.dimensions == len(vector):
        # Their length is known; testing it would keep the server from using an index.
        fits = f"{stored} IS NOT NULL"
    else:
        fits = f"{_dimensions(column)} = {sent.add(len(vector), 'int')}"
    if kept is None:
        nearest = _stubs(nodes, f"{distance} AS distance", fits, None)
        return f"{nearest} ORDER BY {distance} LIMIT {LIMIT}", sent.values
    # Filtered before the search for the nearest, since an index would return the nearest of all
    # types.
    typed = _stubs(nodes, f"{stored} AS vector", fits, kept)
    outer = distance.replace(stored, "typed.vector")
    return (
        f"WITH typed AS MATERIALIZED ({typed})\nSELECT {_STUB}, {outer} AS distance "
        f"FROM typed ORDER BY 4, id LIMIT {LIMIT}"
    ), sent.values


def searched(nodes: Nodes, alias: str = "n") -> tuple[str, ...]:
    """The expressions that patterns are matched against, each a candidate for a trigram index.

    The name comes first, then the id, then the aliases as one text.
    """
    names = [text(alias, column) for column in (nodes.name, nodes.id) if column is not None]
    return (*names, *(expression for expression, _ in _aliases(nodes, alias)))


def vector_size(nodes: Nodes) -> str:
    """The statement that selects the length of one stored vector."""
    assert nodes.embedding is not None
    value = named("n", nodes.embedding)
    return (
        f"SELECT {_dimensions(nodes.embedding)} FROM {relation_name(nodes.relation)} AS n "
        f"WHERE {value} IS NOT NULL AND {live('n', nodes)} LIMIT 1"
    )


_STUB = "id, type, name"


def _stubs(
    nodes: Nodes, measure: str, condition: str, types: str | None, source: str | None = None
) -> str:
    kind = text("n", nodes.type)
    name = text("n", nodes.name) if nodes.name is not None else "NULL::text"
    typed = ""
    if types is not None:
        typed = f" AND coalesce(nullif({kind}, ''), {literal(UNTYPED)}) = ANY ({types})"
    return (
        f"SELECT {text('n', nodes.id)} AS id, {kind} AS type, {name} AS name, {measure}\n"
        f"FROM {source or relation_name(nodes.relation)} AS n\n"
        f"WHERE {live('n', nodes)} AND {condition}{typed}"
    )


def _best(arms: list[str], measure: str, *more: str) -> str:
    """The best rows of all tables; ties are ordered by the length of the name, then by id."""
    return (
        f"SELECT {', '.join((_STUB, measure, *more))} FROM (\n{union(arms)}\n) AS found\n"
        f"ORDER BY {measure}, length(coalesce(name, '')), id COLLATE \"C\" LIMIT {2 * LIMIT}"
    )


def _aliases(nodes: Nodes, alias: str) -> list[tuple[str, str]]:
    """Expressions with the aliases, each with its form: `json`, `lines` or `plain`."""
    found = []
    synonyms = [column for key, column in nodes.metadata if key == "synonyms"]
    for own in synonyms if nodes.aliases is not None else ():
        value = named(alias, own)
        if own.is_json:
            found.append((f"({value}::text)", "json"))
        elif own.is_text_array:
            found.append((f"array_to_string({collated(value, own)}, E'\\n')", "lines"))
        else:
            found.append((text(alias, own), "plain"))
    if (column := nodes.properties) is not None and column.is_json:
        value = named(alias, column)
        inner = f"({value} -> 'synonyms')::text"
        if column.type == "json":
            # The function rejects texts that the type accepts: with a NUL or a lone surrogate.
            odd = rf"{value}::text ~ '\\u(0000|[dD][89a-fA-F])'"
            inner = f"(CASE WHEN {odd} THEN NULL ELSE {inner} END)"
        found.append((inner, "json"))
    return found


class _TextTests:
    """Tests of expressions against `ILIKE` patterns, which become parameters when they are used."""

    def __init__(self, sent: Parameters, query: str) -> None:
        self._sent = sent
        self._query = query
        whole = query[:LONGEST]
        words = tuple(dict.fromkeys(w for one in whole.split() if (w := one.strip(_PUNCTUATION))))
        kept = sorted(words, key=len, reverse=True)[:8] or [whole]
        self._plain, self._json = pattern(whole), json_patterns(whole)
        self._words: dict[str, list[tuple[str, ...]]] = {
            "plain": [(pattern(word),) for word in kept],
            "json": [json_patterns(word) for word in kept],
        }

    @property
    def query(self) -> str:
        """The text itself."""
        return self._sent.text(self._query)

    def begins(self, expression: str) -> str:
        """The expression begins with the text."""
        return f"{expression} ILIKE {self._sent.text(f'{self._plain}%')}"

    def has_part(self, expression: str, form: str = "plain") -> str:
        """The expression contains the text."""
        return self._any_of(expression, self._json if form == "json" else (self._plain,))

    def has_words(self, expression: str, form: str = "plain") -> str:
        """The expression contains all words of the text."""
        words = self._words["json" if form == "json" else "plain"]
        return f"({' AND '.join(self._any_of(expression, word) for word in words)})"

    def is_one(self, expression: str, form: str) -> str:
        """One of the aliases in the expression equals the text."""
        if form == "json":
            return self._any_of(expression, [f'"{one}"' for one in self._json])
        if form == "lines":
            return f"lower({self.query}) = ANY (string_to_array(lower({expression}), E'\\n'))"
        return f"lower({expression}) = lower({self.query})"

    def _any_of(self, expression: str, parts: Sequence[str]) -> str:
        tests = (f"{expression} ILIKE {self._sent.text(f'%{part}%')}" for part in parts)
        return f"({' OR '.join(tests)})"


# --- vectors ----------------------------------------------------------------------


def _distance(layout: Layout, column: Column, vector: Sequence[float], sent: Parameters) -> str:
    """The cosine distance of a stored vector, computed by pgvector if it is installed."""
    extension = (
        column.type_schema if column.is_vector else layout.catalogue.extensions.get("vector")
    )
    if extension is None:
        stored, given = _array(column), sent.add(list(vector), "float8[]")
        return (
            "(SELECT 1 - sum(pair.a * pair.b) / nullif(sqrt(sum(pair.a * pair.a)), 0) "
            f"FROM unnest({stored}, {given}) AS pair (a, b))"
        )
    own = identifier(extension)
    kind = column.type if column.is_vector and column.type != "sparsevec" else "vector"
    stored = _vector(column) if column.is_vector else f"{_array(column)}::{own}.vector"
    given = sent.add(f"[{','.join(map(repr, vector))}]", "text")
    return f"{stored} OPERATOR({own}.<=>) {given}::{own}.{kind}"


def _vector(column: Column) -> str:
    cast = f"::{identifier(column.type_schema)}.vector" if column.type == "sparsevec" else ""
    return f"{named('n', column)}{cast}"


def _array(column: Column) -> str:
    """A stored vector as an array of numbers, null if it is not one."""
    value = named("n", column)
    if column.is_number_array:
        return f"{value}::float8[]"
    listed = f"translate({value}::text, '[] \t\r\n', '{{}}')"
    return (
        f"(CASE WHEN {value}::text ~ '^\\s*\\[[-+0-9.eE,\\s]+\\]\\s*$' THEN {listed}::float8[] END)"
    )


def _dimensions(column: Column) -> str:
    """The length of a stored vector."""
    if column.is_vector:
        return f"{identifier(column.type_schema)}.vector_dims({_vector(column)})"
    return f"cardinality({_array(column)})"
