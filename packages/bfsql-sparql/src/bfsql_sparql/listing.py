"""The two lists of the schema: whole where the store can give them, otherwise sampled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bfsql.models.rdf import Literal, is_iri
from bfsql_sparql.dataset import Dataset, TimeBudget
from bfsql_sparql.kinds import Kinds
from bfsql_sparql.mapping import Mapping
from bfsql_sparql.published import Partition, published
from bfsql_sparql.queries import schema
from bfsql_sparql.settings import SparqlSettings
from bfsql_sparql.terms import Row
from bfsql_sparql.vocabulary import CLASSES, UNTYPED

MOST = 10_000
"""Names in a list; a store with more is sampled."""
COMPARED = 1_000
"""Types up to which it is looked which of them are ever the one of a node."""
SAMPLE = 20_000
"""Statements that a sample looks at."""
AROUND = 500
"""Nodes near the seeds that a sample looks at."""
SEEDS = 10
"""Nodes that a sample starts from where no seeds are set."""
_FIRST = 0.6  # of the time, before a sample is taken


@dataclass(frozen=True, slots=True)
class Listing:
    """Names that occur, as IRIs."""

    names: frozenset[str]
    whole: bool
    """Whether these are all of them."""


class Lists:
    """Lists the types and predicates of a store.

    Args:
        dataset: The store.
        mapping: How its triples are read.
        settings: With their preset applied.
        kinds: The order of its types.
        marked: Whether nodes are marked with the type that counts.
    """

    def __init__(
        self,
        dataset: Dataset,
        mapping: Mapping,
        settings: SparqlSettings,
        kinds: Kinds,
        *,
        marked: bool,
    ) -> None:
        self._dataset = dataset
        self._mapping = mapping
        self._kinds = kinds
        self._marked = marked
        self._distinct = settings.distinct

    async def types(self, clock: TimeBudget) -> Listing:
        """Types that are the one of a node."""
        mapping = self._mapping
        whole = await self._whole(schema.types(mapping, MOST + 1), clock)
        if whole is None:
            sample = await self._sampled(
                clock,
                schema.some_types(mapping, SAMPLE),
                lambda seeds: schema.types_around(mapping, seeds, AROUND),
                "class",
            )
            return Listing(self._nodes(sample), whole=False)
        # One after the other: each may need the memory of the store for itself.
        best = await self._best(whole, clock)
        untyped = await self._dataset.ask(schema.untyped(mapping), clock.left())
        # Without an answer, a type too many is better than one that no filter can name.
        return Listing(
            self._nodes(best | ({UNTYPED} if untyped is not False else set())), whole=True
        )

    async def predicates(self, clock: TimeBudget) -> Listing:
        """Predicates of edges."""
        mapping = self._mapping
        whole = await self._whole(schema.predicates(mapping, MOST + 1), clock)
        names = whole
        if names is None:
            names = await self._sampled(
                clock,
                schema.some_predicates(mapping, SAMPLE),
                lambda seeds: schema.predicates_around(mapping, seeds, AROUND),
                "property",
            )
        inverse = mapping.inverse
        walked = frozenset(inverse.get(name, name) for name in names)
        return Listing(walked, whole=whole is not None)

    async def _whole(self, query: str, clock: TimeBudget) -> frozenset[str] | None:
        """All names, None where the store gives no whole list."""
        if not self._distinct:
            return None
        found = await self._dataset.select(query, clock.left() * _FIRST)
        if found is None or found.cut or len(found.rows) > MOST:
            return None
        return _names(found.rows)

    async def _best(self, types: frozenset[str], clock: TimeBudget) -> frozenset[str]:
        """Of all types, those that are the one of a node; all where the store cannot tell."""
        if not types or len(types) > COMPARED:
            return types
        ranked = self._kinds.ranked(types)
        query = schema.best_types(self._mapping, ranked, marked=self._marked)
        asked = [query, schema.marked_types(self._mapping, MOST + 1)][: 1 + self._marked]
        found = await asyncio.gather(
            *(self._dataset.select(query, clock.left()) for query in asked)
        )
        if any(one is None or one.cut for one in found):
            return types
        ranks, *marks = [one.rows for one in found if one is not None]
        best = {ranked[int(value.text)] for (value,) in ranks if isinstance(value, Literal)}
        return frozenset(best).union(*map(_names, marks))

    async def _sampled(
        self,
        clock: TimeBudget,
        some: str,
        around: Callable[[Sequence[str]], str],
        partition: Partition,
    ) -> frozenset[str]:
        """Names from a part of the data, from around the seeds, and from what is published."""
        mapping, left = self._mapping, clock.left
        half = left() / 2
        first, kept, described, start = await asyncio.gather(
            self._dataset.select(some, half),
            self._dataset.select(schema.published(partition, MOST), half),
            published(self._dataset, partition, half),
            self._start(half),
        )
        names = _names(first.rows if first else ())
        told = (described | _names(kept.rows if kept else ())) - names
        more = [around(start)] if start else []
        if partition == "property":
            # Published are also those of literals; those that are walked are wanted.
            more += [schema.of_edges(mapping, sorted(told)[:COMPARED])] if told else []
        else:
            names |= told
        found = await asyncio.gather(*(self._dataset.select(query, left()) for query in more))
        return names.union(*(_names(one.rows) for one in found if one))

    async def _start(self, seconds: float) -> Sequence[str]:
        """Nodes to sample around: the operator's, or the most linked of a part of the data."""
        if self._mapping.probe_seeds:
            return self._mapping.probe_seeds
        query = schema.most_linked(self._mapping, SAMPLE, SEEDS)
        found = await self._dataset.select(query, seconds)
        return sorted(_names(found.rows)) if found else ()

    def _nodes(self, types: Iterable[str]) -> frozenset[str]:
        """Types that nodes have: not those of classes, where these are no nodes."""
        kept = frozenset(types)
        return kept if self._mapping.ontology else kept - set(CLASSES)


def _names(found: Iterable[Row]) -> frozenset[str]:
    """The IRIs in the first column."""
    return frozenset(row[0] for row in found if isinstance(row[0], str) and is_iri(row[0]))
