"""The two lists of the schema: complete if the store can return them, otherwise sampled."""

from __future__ import annotations

import asyncio
import typing
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.models.rdf import WELL_KNOWN, Literal, is_iri
from bfsql.models.rdf_types import UNTYPED
from bfsql_sparql.dataset import Dataset, Reply, Row, TimeBudget, rows
from bfsql_sparql.mapping import CLASSES, RdfMapping
from bfsql_sparql.queries import schema as texts
from bfsql_sparql.queries.graph import number_of_edges, number_of_nodes
from bfsql_sparql.settings import hint
from bfsql_sparql.store import Store

MOST = 10_000
"""Names in a list; a store with more is sampled."""
TYPE_LIMIT = 1_000
"""Number of types up to which those that are never a main type are excluded."""
SAMPLE = 20_000
"""Statements that a sample reads."""

Partition: typing.TypeAlias = typing.Literal["class", "property"]
"""The units into which the vocabulary VoID divides a dataset."""


@dataclass(frozen=True, slots=True)
class Listing:
    """Names that occur, as IRIs."""

    names: frozenset[str]
    whole: bool
    """Whether these are all names."""


class Schema:
    """Lists the types and predicates of a store."""

    def __init__(self, store: Store) -> None:
        self._dataset = store.dataset
        self._mapping = store.mapping
        self._settings = store.settings
        self._capabilities = store.capabilities
        self._types: Listing | None = None
        self._predicates: Listing | None = None
        self._unwritable = set[str]()
        # Held while a list is read, so that no other call reads it at the same time.
        self._reading_types, self._reading_predicates = asyncio.Lock(), asyncio.Lock()

    async def entity_types(self) -> list[str]:
        """Every main type of a node, as ids, sorted; or some, if there is no full list."""
        async with self._reading_types:
            self._types = await self._list_types(self._budget())
        return self._ids(self._types)

    async def predicates(self) -> list[str]:
        """Every predicate of an edge, as ids, sorted; or some, if there is no full list."""
        async with self._reading_predicates:
            self._predicates = await self._list_predicates(self._budget())
        return self._ids(self._predicates)

    async def comprehensive(self) -> bool:
        """Whether the lists were complete at the last request."""
        async with self._reading_types:
            self._types = self._types or await self._list_types(self._budget())
        async with self._reading_predicates:
            self._predicates = self._predicates or await self._list_predicates(self._budget())
        return self._types.whole and self._predicates.whole

    async def number_of_edges(self) -> int | None:
        """The number of edges; None if the store does not count them."""
        found = await self._numbers(number_of_edges(self._mapping), self._budget())
        return None if found is None else found[()]

    async def counts(self, edges: int) -> tuple[Counter[str], Counter[tuple[str, str, str]]] | None:
        """The nodes by type and the edges by relation, as the store counts them.

        Args:
            edges: The number of edges, which the relations have to have in all: an endpoint may
                cut an answer silently.

        Returns:
            None if the store does not count them, or cannot tell main types from others.
        """
        mapping, budget = self._mapping, self._budget()
        async with self._reading_types:
            listing = self._types or await self._list_types(budget)
        names = {*listing.names, *CLASSES} - {UNTYPED}
        if not listing.whole or len(names) > TYPE_LIMIT or mapping.inverse:
            return None
        marks = sorted(names) if self._capabilities.marked else []
        ranked = self._capabilities.ranking.ranked(names)
        type_of = {str(place): name for place, name in enumerate([*marks, *ranked])}
        # One after the other, because each may need the whole memory of the store.
        of_types = await self._numbers(texts.number_by_type(mapping, marks, ranked), budget)
        of_relations = await self._numbers(texts.number_by_relation(mapping, marks, ranked), budget)
        if of_types is None or of_relations is None:
            return None
        nodes = Counter({type_of[place]: number for (place,), number in of_types.items()})
        if UNTYPED in listing.names:
            every = await self._numbers(number_of_nodes(mapping), budget)
            if every is None:
                return None
            nodes[UNTYPED] += every[()] - nodes.total()
        relations = Counter[tuple[str, str, str]]()
        for (s, p, o), number in of_relations.items():
            relations[type_of.get(s, UNTYPED), p, type_of.get(o, UNTYPED)] += number
        if relations.total() != edges:
            return None
        id_, is_part = mapping.ids.id, mapping.counts
        by_relation = {
            (id_(s), id_(p), id_(o)): number
            for (s, p, o), number in relations.items()
            if is_part(s) and is_part(o)
        }
        by_type = {id_(name): number for name, number in nodes.items() if is_part(name)}
        return Counter(by_type), Counter(by_relation)

    async def _numbers(self, query: str, budget: TimeBudget) -> dict[tuple[str, ...], int] | None:
        """The numbers in the last column of a query by its other columns, as texts."""
        return await self._dataset.read(query, budget.seconds_left(), _numbers)

    async def next_steps(self) -> str:
        """Advice on starting in this store, and whether its lists are samples."""
        parts = [DEFAULT_NEXT_STEPS, *filter(None, [hint(self._settings)])]
        if not await self.comprehensive():
            parts.append(
                "The types and predicates listed here are a sample, because this store is too "
                "large or too slow for a complete list: others occur, and work as filters just "
                "as well. The schema_summary of each answer lists those of its nodes and edges; "
                "the operator can name entities to sample around (--probe-seed)."
            )
        if self._unwritable:
            number = len(self._unwritable)
            parts.append(
                f"Types and predicates whose IRIs no query can contain: {number}, left out."
            )
        return " ".join(parts)

    def _budget(self) -> TimeBudget:
        # A call needs two such lists, and more.
        return TimeBudget(self._settings.schema_timeout, 0.4)

    def _ids(self, listing: Listing) -> list[str]:
        return sorted({self._mapping.ids.id(name) for name in listing.names})

    # --- the lists ----------------------------------------------------------

    async def _list_types(self, budget: TimeBudget) -> Listing:
        """Types that are the main type of a node."""
        mapping = self._mapping
        whole = await self._whole(texts.types(mapping, MOST + 1), budget)
        if whole is None:
            sample = await self._sampled(budget, texts.some_types, texts.types_around, "class")
            return Listing(self._nodes(sample), whole=False)
        # One after the other, because each may need the whole memory of the store.
        best = await self._best(whole, budget)
        untyped = await self._is_any_untyped(budget)
        # If there is no answer, a type too many is better than one that no filter can name.
        names = best if untyped is False else best | {UNTYPED}
        return Listing(self._nodes(names), whole=True)

    async def _is_any_untyped(self, budget: TimeBudget) -> bool | None:
        """Whether there is a node without a type; None if the store cannot tell."""
        mapping, left, ask = self._mapping, budget.seconds_left, self._dataset.ask
        if await ask(texts.untyped(mapping, 1_000), left()):
            return True
        # To look at the types of every node takes Oxigraph ten times as long as to count.
        number = await self._numbers(texts.number_of_untyped(mapping), TimeBudget(left() * 0.6))
        return number[()] > 0 if number else await ask(texts.untyped(mapping), left())

    async def _list_predicates(self, budget: TimeBudget) -> Listing:
        """Predicates of edges."""
        mapping = self._mapping
        whole = await self._whole(texts.predicates(mapping, MOST + 1), budget)
        names = whole
        if names is None:
            names = await self._sampled(
                budget, texts.some_predicates, texts.predicates_around, "property"
            )
        walked = frozenset(mapping.inverse.get(name, name) for name in names)
        return Listing(walked, whole=whole is not None)

    async def _whole(self, query: str, budget: TimeBudget) -> frozenset[str] | None:
        """All names, None if the store does not return a complete list."""
        if not self._settings.distinct:
            return None
        # The remaining time is for a sample.
        found = await self._dataset.select(query, budget.seconds_left() * 0.6)
        if found is None or found.cut or len(found.rows) > MOST:
            return None
        names = _names(found.rows)
        self._unwritable |= {row[0] for row in found.rows if isinstance(row[0], str)} - names
        return names

    async def _best(self, types: frozenset[str], budget: TimeBudget) -> frozenset[str]:
        """The given types that are the main type of a node; all if the store cannot tell."""
        if not types or len(types) > TYPE_LIMIT:
            return types
        ranked = self._capabilities.ranking.ranked(types)
        query = texts.best_types(self._mapping, ranked, marked=self._capabilities.marked)
        asked = [query, texts.marked_types(self._mapping, MOST + 1)][
            : 1 + self._capabilities.marked
        ]
        found = await asyncio.gather(
            *(self._dataset.select(query, budget.seconds_left()) for query in asked)
        )
        if any(one is None or one.cut for one in found):
            return types
        ranks, *marks = [one.rows for one in found if one is not None]
        best = {ranked[int(value.text)] for (value,) in ranks if isinstance(value, Literal)}
        return frozenset(best).union(*map(_names, marks))

    async def _sampled(
        self,
        budget: TimeBudget,
        some: Callable[[RdfMapping, int], str],
        around: Callable[[RdfMapping, Sequence[str], int], str],
        partition: Partition,
    ) -> frozenset[str]:
        """Names from a part of the data, from around the seeds, and from published descriptions."""
        mapping, left = self._mapping, budget.seconds_left
        half = left() / 2
        first, kept, described, start = await asyncio.gather(
            self._dataset.select(some(mapping, SAMPLE), half),
            self._dataset.select(texts.published(partition, MOST), half),
            _described(self._dataset, partition, half),
            self._start(half),
        )
        names = _names(first.rows if first else ())
        more_names = (described | _names(kept.rows if kept else ())) - names
        more = [around(mapping, start, 500)] if start else []  # at most 500 nodes near them
        if partition == "property":
            # Published names include those of literals; only followed ones are wanted.
            more += [texts.of_edges(mapping, sorted(more_names)[:TYPE_LIMIT])] if more_names else []
        else:
            names |= more_names
        found = await asyncio.gather(*(self._dataset.select(query, left()) for query in more))
        return names.union(*(_names(one.rows) for one in found if one))

    async def _start(self, seconds: float) -> Sequence[str]:
        """Nodes to sample around: the operator's, or the most linked in a part of the data."""
        if self._mapping.probe_seeds:
            return self._mapping.probe_seeds
        query = texts.most_linked(self._mapping, SAMPLE, 10)
        found = await self._dataset.select(query, seconds)
        return sorted(_names(found.rows)) if found else ()

    def _nodes(self, types: Iterable[str]) -> frozenset[str]:
        """Types of nodes: without those of classes if classes are not nodes."""
        kept = frozenset(types)
        return kept if self._mapping.ontology else kept - set(CLASSES)


def _numbers(reply: Reply) -> dict[tuple[str, ...], int] | None:
    texts_of = (
        [one.text if isinstance(one, Literal) else str(one or "") for one in row]
        for row in rows(reply.body)
    )
    return None if reply.cut else {tuple(key): int(number) for *key, number in texts_of}


def _names(found: Iterable[Row]) -> frozenset[str]:
    """The IRIs in the first column."""
    return frozenset(row[0] for row in found if isinstance(row[0], str) and is_iri(row[0]))


async def _described(
    dataset: Dataset, partition: Partition, seconds: float, most: int = 4_000_000
) -> frozenset[str]:
    """The classes or properties that the store's service description names; none without one.

    The standard has it at the endpoint's own address, for a GET without a query; the vocabulary
    VoID names the classes and properties there. rdflib takes seconds for `most` bytes.
    """
    document = await dataset.description(seconds) if seconds > 0 else None
    if document is None or len(document) > most:
        return frozenset()
    return await asyncio.to_thread(_objects, document, WELL_KNOWN["void"] + partition)


def _objects(document: bytes, property_: str) -> frozenset[str]:
    import rdflib  # this and the guard take long to import, and few stores are sampled

    from bfsql.sources.rdf_guard import TurtleGuard

    graph, guard = rdflib.Graph(bind_namespaces="none"), TurtleGuard("the service description")
    try:
        for piece in (document, b""):
            guard.feed(piece)
        graph.parse(data=document, format="turtle")
    except Exception:  # noqa: BLE001 - rdflib raises what its parts raise; a description is optional
        return frozenset()
    found = map(str, graph.objects(None, rdflib.URIRef(property_)))
    return frozenset(filter(is_iri, found))
