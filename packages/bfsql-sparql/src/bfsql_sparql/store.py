"""An opened store and its capabilities, determined by a few short concurrent queries.

A query that fails or times out counts as 'not supported'.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TypeVar

from bfsql.errors import StoreUnavailable
from bfsql.models.rdf_types import MOST_SUBCLASSES, TypeRanking
from bfsql_sparql.dataset import Dataset
from bfsql_sparql.dialects import DIALECTS, SearchTerms, search_terms
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.queries import schema
from bfsql_sparql.queries.search import by_words
from bfsql_sparql.settings import SparqlSettings

PROBE = 5.0
"""Time limit in seconds for each query at opening."""
PORTABLE = "contains"
"""The search that every store supports."""
_SHORTEST = 4

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The findings about a store at opening."""

    ranking: TypeRanking
    """The order of the store's types."""
    statements: frozenset[str] = frozenset()
    """Forms of statements about edges that occur."""
    marked: bool = False
    """Whether nodes are marked with their main type."""
    search: str = PORTABLE
    """The search that works: a dialect, or `contains`."""


@dataclass(frozen=True, slots=True)
class Store:
    """A store, its mapping and its capabilities."""

    dataset: Dataset
    """Answers the queries."""
    mapping: RdfMapping
    """How to read its triples."""
    settings: SparqlSettings
    """With their preset applied."""
    capabilities: Capabilities

    @classmethod
    async def open(cls, dataset: Dataset, mapping: RdfMapping, settings: SparqlSettings) -> Store:
        """Determine the capabilities of a store."""
        ranking, statements, marked, search = await asyncio.gather(
            _type_ranking(dataset, mapping),
            _statement_forms(dataset, mapping),
            _holds(dataset, schema.marks(mapping)),
            _working_search(dataset, mapping, settings),
        )
        return cls(dataset, mapping, settings, Capabilities(ranking, statements, marked, search))


async def _unless_unavailable(answer: Awaitable[T], unknown: T, what: str) -> T:
    """An answer, or `unknown` if the store is not available."""
    try:
        return await answer
    except StoreUnavailable as error:
        _log.warning("%s: %s", what, error)
        return unknown


async def _holds(dataset: Dataset, query: str) -> bool:
    """The answer to an ASK query; False if there is no answer."""
    what = "a query about the store was not answered"
    return bool(await _unless_unavailable(dataset.ask(query, PROBE), None, what))


async def _statement_forms(dataset: Dataset, mapping: RdfMapping) -> frozenset[str]:
    if mapping.statements != "auto":
        return frozenset((mapping.statements,)) - {"none"}
    forms = schema.statement_forms(mapping)
    found = await asyncio.gather(*(_holds(dataset, query) for query in forms.values()))
    return frozenset(form for form, occurs in zip(forms, found, strict=True) if occurs)


async def _type_ranking(dataset: Dataset, mapping: RdfMapping) -> TypeRanking:
    query = schema.subclasses(mapping, MOST_SUBCLASSES + 1)
    what = "the classes of the store could not be read"
    found = await _unless_unavailable(dataset.select(query, PROBE), None, what)
    if found is None or found.cut or len(found.rows) > MOST_SUBCLASSES:
        # A part of the pairs would rank types arbitrarily, and differently the next time.
        return TypeRanking(mapping.type_priority, mapping.type_namespaces)
    pairs = [(str(class_), str(above)) for class_, above in found.rows]
    return TypeRanking(mapping.type_priority, mapping.type_namespaces, pairs)


async def _working_search(dataset: Dataset, mapping: RdfMapping, settings: SparqlSettings) -> str:
    """The search of the settings, or the first that finds an existing label."""
    if settings.search != "auto":
        return settings.search
    what = "which full-text search the store has is unknown"
    return await _unless_unavailable(_first_working_search(dataset, mapping), PORTABLE, what)


async def _first_working_search(dataset: Dataset, mapping: RdfMapping) -> str:
    known = await _some_word(dataset, mapping)
    if known is None:
        return PORTABLE
    wanted, property_ = known
    # These find literals; other servers would begin with all labels to join several properties.
    alone = replace(mapping, labels=(property_,), aliases=())
    queries = {
        name: f"SELECT ?s WHERE {{ {by_words(one.search(wanted, by), (), mapping, 1)} }}"
        for name, one in DIALECTS.items()
        for by in [alone if name in ("graphdb", "stardog", "qlever") else mapping]
        if one.search is not None and one.is_probed
    }
    # Other servers refuse the search of Virtuoso at once; Virtuoso takes long to plan the others.
    first, *others = queries
    for names in ([first], others):
        found = await asyncio.gather(*(dataset.select(queries[name], PROBE) for name in names))
        for name, one in zip(names, found, strict=True):
            if one and one.rows:
                return name
    return PORTABLE


async def _some_word(dataset: Dataset, mapping: RdfMapping) -> tuple[SearchTerms, str] | None:
    """A word of a label, long enough to be in any index, and the property of that label."""
    labels = await dataset.select(schema.some_labels(mapping, 20), PROBE)
    for label, *by in labels.rows if labels else ():
        terms = search_terms(getattr(label, "text", ""), 10)
        word = max(terms.words, key=len) if terms else ""
        if terms and len(word) >= _SHORTEST:
            property_ = str(next(filter(None, by), mapping.labels[0]))
            return terms._replace(text=word, words=(word,)), property_
    return None
