"""Reads which nodes exist, and their types, names and metadata (`protocol.md` 8 and 9)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from bfsql import call
from bfsql.models import Metadata, Omission
from bfsql.models.merge import merge_metadata, sorted_union
from bfsql.models.rdf import Literal, in_languages, language_rank, value_of
from bfsql.models.rdf_types import UNTYPED, TypeRanking
from bfsql_sparql.batches import (
    Batches,
    BatchReply,
    Windows,
    has_row_each,
    read_windows,
    rows_question,
)
from bfsql_sparql.dataset import Row, Term, rows
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.queries import graph as texts
from bfsql_sparql.store import Store


class Nodes:
    """Reads nodes; they are IRIs, without duplicates."""

    def __init__(self, store: Store, batches: Batches) -> None:
        self._dataset = store.dataset
        self._batches = batches
        self._mapping = store.mapping
        self._limit = store.settings.page_size + 1
        self._ranking = store.capabilities.ranking
        self._marked = store.capabilities.marked

    async def types(self, nodes: Sequence[str]) -> dict[str, str]:
        """The main type of each node that exists, as IRIs."""
        ranked = await self._all_types(nodes)
        found = {node: types[0] for node, types in ranked.items() if self._mapping.counts(types[0])}
        untyped = [node for node in nodes if node not in ranked]
        if untyped:
            found |= dict.fromkeys(await self._existing(untyped), UNTYPED)
        return found

    async def metadata(
        self, nodes: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by IRI, of the nodes that exist; with `keys`, only from their properties."""
        names = None if keys is None else self._mapping.read_for(keys)
        question = rows_question(
            lambda some: texts.properties(some, self._mapping, names, self._limit)
        )
        by_node: dict[str, dict[str, list[Term]]] = {}
        asked = frozenset(nodes)
        for part in await self._batches.read(nodes, question):
            for subject, predicate, value in await self._all_rows(part, names):
                if subject in asked and value is not None:
                    properties = by_node.setdefault(str(subject), {})
                    properties.setdefault(str(predicate), []).append(value)
        bare = [node for node in nodes if node not in by_node]
        if bare:
            by_node |= {node: {} for node in await self._existing(bare)}
        found = {node: self._metadata(properties) for node, properties in by_node.items()}
        return {node: metadata for node, metadata in found.items() if metadata is not None}

    async def some(self, most: int) -> tuple[list[str], bool]:
        """At most `most` nodes of the graph, as IRIs, and whether there are more."""
        reply = await self._dataset.reply(texts.some_nodes(self._mapping, most + 1))
        found = [str(node) for (node,) in rows(reply.body)]
        return found, reply.cut is not None or len(found) > most

    # --- types --------------------------------------------------------------

    async def _existing(self, nodes: Sequence[str]) -> list[str]:
        """The given nodes that exist; only those without a type need a query."""
        question = rows_question(
            lambda some: texts.existing_nodes(some, self._mapping, self._limit), has_row_each
        )
        found = {row[0] for part in await self._batches.read(nodes, question) for row in part.rows}
        return [node for node in nodes if node in found]

    async def _all_types(self, nodes: Sequence[str]) -> dict[str, list[str]]:
        """All types of each node that has any, the main one first."""
        question = rows_question(
            lambda some: texts.types(some, self._mapping, marked=self._marked, limit=self._limit)
        )
        found = [row for part in await self._batches.read(nodes, question) for row in part.rows]
        ranked = ranked_types(found, self._ranking)
        return {node: ranked[node] for node in nodes if node in ranked}

    # --- metadata -----------------------------------------------------------

    async def _all_rows(self, part: BatchReply[str, list[Row]], names: texts.Names) -> list[Row]:
        if not part.cut:
            return part.rows
        node = part.keys[0]
        windows: Windows[Row] = Windows(
            number=texts.number_of_properties(node, self._mapping, names),
            text=lambda after, size: texts.properties_window(
                node, self._mapping, names, after, size
            ),
            decode=rows,
            end=lambda row: getattr(row[2], "text", ""),
        )
        read, missing = await read_windows(self._dataset, windows, most=100_000)
        if missing:
            id_ = self._mapping.ids.id(node)
            reason = "some of its property values, because it has too many"
            call.omitted(Omission(id_, "out", missing, reason))
        return [(node, *row[:2]) for row in read] or part.rows

    def _metadata(self, properties: dict[str, list[Term]]) -> Metadata | None:
        """The metadata of one node; None if it is omitted with the ontology."""
        mapping = self._mapping
        marks = properties.pop(mapping.primary, [])
        types = [one for name in mapping.types for one in properties.get(name, ())]
        first, *others = self._ranking.of_node(_iris(marks), _iris(types))
        if not self._mapping.counts(first):
            return None
        literals = texts_of(properties, mapping)
        name, synonyms = take_names(literals, mapping)
        derived: dict[str, Any] = {} if name is None else {"name": name}
        if synonyms:
            derived["synonyms"] = sorted_union(synonyms)
        derived |= self._take_description(literals)
        if others:
            derived["other_types"] = sorted_union(map(mapping.ids.id, others))
        # A property of such a name precedes values derived from others: the loader wrote it because
        # the others could not express the value.
        return derived | {mapping.ids.id(name): merged(all_) for name, all_ in literals.items()}

    def _take_description(self, literals: dict[str, list[Literal]]) -> dict[str, Any]:
        """Remove and return the best description; others stay under their properties."""
        for name in self._mapping.descriptions:
            if name in literals:
                best, *others = sorted(
                    literals.pop(name), key=lambda one: preference(one, self._mapping)
                )
                more = {self._mapping.ids.id(name): merged(others)} if others else {}
                return {"description": value_of(best), **more}
        return {}


def ranked_types(found: Iterable[Row], ranking: TypeRanking) -> dict[str, list[str]]:
    """All types of each node that has any, the main one first.

    Args:
        found: Rows of a node, the type it is marked with, and types, each None if it has none.
        ranking: The order of types.
    """
    marks: dict[str, list[str]] = {}
    types: dict[str, list[str]] = {}
    for node, mark, *columns in found:
        if isinstance(mark, str):
            marks.setdefault(str(node), []).append(mark)
        for one in columns:
            if isinstance(one, str):
                types.setdefault(str(node), []).append(one)
    return {
        node: ranking.of_node(marks.get(node, ()), types.get(node, ()))
        for node in dict.fromkeys((*types, *marks))
    }


def merged(literals: Iterable[Literal]) -> Any:
    """The value of a property: that of its only literal, or of several as a sorted list."""
    values = [value_of(literal) for literal in literals]
    if len(values) == 1:
        return values[0]
    return merge_metadata([{"": value} for value in values])[""]


def _iris(terms: Iterable[Term]) -> Collection[str]:
    return [term for term in terms if isinstance(term, str)]


# --- texts and names --------------------------------------------------------


def texts_of(
    properties: Mapping[str, Sequence[Term]], mapping: RdfMapping
) -> dict[str, list[Literal]]:
    """The literals of each property that has any; of texts, those in the wanted languages.

    If a property has none in these languages, all its texts are included.
    """
    found = {}
    for name, values in properties.items():
        literals = [one for one in values if isinstance(one, Literal)]
        wanted = literals
        if mapping.languages and any(one.language for one in literals):
            wanted = [one for one in literals if in_languages(one, mapping.languages)] or literals
        if wanted:
            found[name] = wanted
    return found


def take_names(
    literals: dict[str, list[Literal]], mapping: RdfMapping
) -> tuple[str | None, list[str]]:
    """Remove the labels and aliases of a node, and return its name and all other names.

    The name is in a wanted language, if any label is. It is from the best property with such
    a label, and in the best language there; among equals it is the first by code point.
    """

    def is_foreign(text: Literal) -> bool:
        return text.language is not None and not in_languages(text, mapping.languages)

    ranked = sorted(
        (is_foreign(one), at, preference(one, mapping), str(value_of(one)))
        for at, name in enumerate(mapping.labels)
        for one in literals.pop(name, ())
    )
    labels = [label for *_, label in ranked]
    aliases = [str(value_of(one)) for name in mapping.aliases for one in literals.pop(name, ())]
    best = labels[0] if labels else None
    return best, [*aliases, *(label for label in labels if label != best)]


def preference(text: Literal, mapping: RdfMapping) -> tuple[int, str, str]:
    """Sort key of texts in several languages, as in `language_rank`."""
    rank = language_rank(text.language, mapping.preferred)
    return rank, (text.language or "").casefold(), text.text
