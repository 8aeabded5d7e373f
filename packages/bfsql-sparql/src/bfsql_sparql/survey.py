"""What is known of a store beyond its triples: its types and predicates, and what it can do."""

from __future__ import annotations

import asyncio
import logging
from typing import Self

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.errors import StoreUnavailable
from bfsql_sparql.dataset import Dataset, TimeBudget
from bfsql_sparql.kinds import Kinds
from bfsql_sparql.listing import Listing, Lists
from bfsql_sparql.mapping import Mapping
from bfsql_sparql.presets import hint
from bfsql_sparql.probing import working_dialect
from bfsql_sparql.queries import schema
from bfsql_sparql.settings import SparqlSettings

PROBE = 5.0
"""Seconds for each question of the opening."""
MOST_SUBCLASSES = 50_000
"""Pairs of classes that are read; a store with more is read without."""
_SHARE = 0.4  # of the time of a call that one list may take: it needs two, and more
_FORMS = {
    "reification": schema.reification,
    "rdf-star": schema.quoted_triples,
    "rdf-1.2": schema.reifiers,
    "wikibase": schema.wikibase,
}

_log = logging.getLogger(__name__)


class Survey:
    """A store as it was when it was opened, and its lists as they are now.

    Args:
        dataset: The store.
        mapping: How its triples are read.
        settings: With their preset applied.
        kinds: The order of its types.
        statements: Forms of statements about edges that occur.
        primary: Whether nodes are marked with the type that counts.
        fulltext: The search that works: a dialect, or `contains`.
    """

    def __init__(
        self,
        dataset: Dataset,
        mapping: Mapping,
        settings: SparqlSettings,
        *,
        kinds: Kinds,
        statements: frozenset[str] = frozenset(),
        primary: bool = False,
        fulltext: str = "contains",
    ) -> None:
        self.kinds = kinds
        self.statements = statements
        self.primary = primary
        self.fulltext = fulltext
        self._mapping = mapping
        self._settings = settings
        self._lists = Lists(dataset, mapping, settings, kinds, marked=primary)
        self._types: Listing | None = None
        self._predicates: Listing | None = None

    @classmethod
    async def open(cls, dataset: Dataset, mapping: Mapping, settings: SparqlSettings) -> Self:
        """Look at a store: a few short questions at once, none of which has to be answered.

        Args:
            dataset: The store.
            mapping: How its triples are read.
            settings: With their preset applied.
        """
        kinds, statements, marked, fulltext = await asyncio.gather(
            _kinds(dataset, mapping),
            _statements(dataset, mapping),
            _holds(dataset, schema.marks(mapping)),
            working_dialect(dataset, mapping, settings, PROBE),
        )
        return cls(
            dataset,
            mapping,
            settings,
            kinds=kinds,
            statements=statements,
            primary=marked,
            fulltext=fulltext,
        )

    async def entity_types(self) -> list[str]:
        """Every type that is the one of a node, as ids, sorted; or some, where there is no list."""
        clock = TimeBudget(self._settings.schema_timeout, _SHARE)
        self._types = await self._lists.types(clock)
        return self._ids(self._types)

    async def predicates(self) -> list[str]:
        """Every predicate of an edge, as ids, sorted; or some, where there is no list."""
        clock = TimeBudget(self._settings.schema_timeout, _SHARE)
        self._predicates = await self._lists.predicates(clock)
        return self._ids(self._predicates)

    async def comprehensive(self) -> bool:
        """Whether the lists were whole when they were last asked for."""
        if self._types is None:
            await self.entity_types()
        if self._predicates is None:
            await self.predicates()
        return all(one is not None and one.whole for one in (self._types, self._predicates))

    async def next_steps(self) -> str:
        """How to begin in this store, and what its lists are worth."""
        parts = [DEFAULT_NEXT_STEPS, *filter(None, [hint(self._settings)])]
        if not await self.comprehensive():
            parts.append(
                "The types and predicates listed here are a sample, because this store is too "
                "large or too slow for a whole list: others occur, and work as filters just as "
                "well. The schema_summary of each answer tells those that its nodes and edges "
                "have; the operator can name entities to sample around (--probe-seed)."
            )
        return " ".join(parts)

    def _ids(self, listing: Listing) -> list[str]:
        return sorted({self._mapping.ids.id(name) for name in listing.names})


async def _holds(dataset: Dataset, query: str) -> bool:
    """Whether a store says yes; no where it does not answer."""
    try:
        return bool(await dataset.ask(query, PROBE))
    except StoreUnavailable as error:
        _log.warning("a question about the store had no answer: %s", error)
        return False


async def _statements(dataset: Dataset, mapping: Mapping) -> frozenset[str]:
    if mapping.statements == "none":
        return frozenset()
    if mapping.statements != "auto":
        return frozenset((mapping.statements,))
    asked = [_holds(dataset, query(mapping)) for query in _FORMS.values()]
    found = await asyncio.gather(*asked)
    return frozenset(form for form, occurs in zip(_FORMS, found, strict=True) if occurs)


async def _kinds(dataset: Dataset, mapping: Mapping) -> Kinds:
    query = schema.subclasses(mapping, MOST_SUBCLASSES + 1)
    try:
        found = await dataset.select(query, PROBE)
    except StoreUnavailable as error:
        _log.warning("the classes of the store could not be read: %s", error)
        found = None
    if found is None or found.cut or len(found.rows) > MOST_SUBCLASSES:
        # A part of the pairs would rank types by chance, and differently the next time.
        return Kinds(mapping.type_priority, mapping.type_namespaces)
    pairs = [(str(class_), str(above)) for class_, above in found.rows]
    return Kinds(mapping.type_priority, mapping.type_namespaces, pairs)
