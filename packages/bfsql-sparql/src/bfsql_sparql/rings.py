"""The edges of a ring, by one query a direction (chapter 8: "the batch")."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from bfsql import call
from bfsql.models import Omission, Triple
from bfsql_sparql.batches import NOWHERE, Batches, Question, Windows, counted, read_windows
from bfsql_sparql.dataset import Dataset, gather
from bfsql_sparql.mapping import RdfMapping
from bfsql_sparql.queries import graph as texts
from bfsql_sparql.queries.graph import Direction
from bfsql_sparql.results import links
from bfsql_sparql.settings import SparqlSettings

BLANK = "the other end is a blank node, which has no id"
"""Why an edge is left out that no call can show."""
BOUND = "more edges than the server reads of one node"
"""Why edges are left out that another setting would show."""

Links: TypeAlias = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]
"""Rows of IRIs, and rows with a blank node."""


class Rings:
    """Reads edges.

    Args:
        dataset: The store.
        batches: How large its queries are.
        mapping: How triples are read.
        settings: `page_size` and `max_edges` are used.
    """

    def __init__(
        self, dataset: Dataset, batches: Batches, mapping: RdfMapping, settings: SparqlSettings
    ) -> None:
        self._dataset = dataset
        self._batches = batches
        self._mapping = mapping
        self._limit = settings.page_size + 1
        self._most = settings.max_edges

    async def around(self, nodes: Sequence[str]) -> list[Triple]:
        """Every edge with one of these nodes at either end; one between two of them comes twice.

        Args:
            nodes: IRIs, without duplicates.
        """
        out, into = await gather(self._edges(nodes, "out"), self._edges(nodes, "in"))
        return out + into

    async def one_way(self, node: str, direction: Direction) -> list[Triple]:
        """The edges that leave a node, or that enter it, each once."""
        if not self._mapping.inverse:
            found = await self._edges([node], direction)
        else:  # an edge of an inverse predicate leaves where its triple enters
            at = 0 if direction == "out" else 2
            id_ = self._mapping.ids.id(node)
            found = [edge for edge in await self.around([node]) if edge[at] == id_]
        return list(dict.fromkeys(found))

    async def _edges(self, nodes: Sequence[str], direction: Direction) -> list[Triple]:
        mapping, limit = self._mapping, self._limit
        question: Question[str, Links] = Question(
            text=lambda some: texts.ring(some, direction, mapping, limit),
            decode=links,
            count=lambda found: len(found[0]) + len(found[1]),
            harmless=NOWHERE,
        )
        found: list[tuple[str, ...]] = []
        for part in await self._batches.read(nodes, question):
            if part.cut:
                found += await self._hub(part.keys[0], direction)
            else:
                found += part.rows[0]
                self._omit_blank(part.rows[1], direction)
        return self._as_edges(found)

    def _as_edges(self, found: Iterable[tuple[str, ...]]) -> list[Triple]:
        id_, inverse = self._mapping.ids.id, self._mapping.inverse
        if not inverse:
            return [(id_(s), id_(p), id_(o)) for s, p, o in found]
        turned = ((o, inverse[p], s) if p in inverse else (s, p, o) for s, p, o in found)
        return [(id_(s), id_(p), id_(o)) for s, p, o in turned]

    def _omit_blank(self, rows: Iterable[tuple[str, ...]], direction: Direction) -> None:
        at = 0 if direction == "out" else 2
        for node, number in Counter(row[at] for row in set(rows)).items():
            self._omit(node, direction, number, BLANK)

    async def _hub(self, node: str, direction: Direction) -> list[tuple[str, ...]]:
        """The edges of a node that are too many for one answer, `max_edges` at the most."""
        mapping = self._mapping
        windows: Windows[tuple[str, ...]] = Windows(
            number=texts.degree(node, direction, mapping, blank=False),
            text=lambda after, size: texts.ring_window(node, direction, mapping, after, size),
            decode=_pairs,
            end=lambda row: row[2],
        )
        late: Callable[[int], None] = lambda number: self._omit(
            node, direction, number, "the time was up"
        )
        blank = texts.degree(node, direction, mapping, blank=True)
        read = await read_windows(self._dataset, windows, self._most, late)
        if number := await counted(self._dataset, blank):
            self._omit(node, direction, number, BLANK)
        if read.missing:
            why = BOUND if len(read.rows) >= self._most else "the endpoint did not give them"
            self._omit(node, direction, read.missing, why)
        if direction == "out":
            return [(node, predicate, end) for predicate, end, _ in read.rows]
        return [(end, predicate, node) for predicate, end, _ in read.rows]

    def _omit(self, node: str, direction: Direction, number: int, reason: str) -> None:
        id_, lasting = self._mapping.ids.id(node), reason == BLANK
        call.omitted(Omission(id_, direction, number, reason, lasting=lasting))


def _pairs(body: bytes) -> list[tuple[str, ...]]:
    return links(body)[0]
