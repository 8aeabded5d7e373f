"""The edges of a ring, by one query, or one per direction; those of a hub in windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from bfsql import call
from bfsql.models import Omission, Triple
from bfsql_sparql.batches import NOWHERE, Batches, Question, Windows, counted, read_windows
from bfsql_sparql.dataset import gather_or_cancel, links
from bfsql_sparql.queries import graph as texts
from bfsql_sparql.queries.graph import Direction, Side
from bfsql_sparql.store import Store

BLANK = "the other end is a blank node, which has no id"
"""Why an edge is omitted that no call can show."""
BOUND = "more edges than the server reads for one node"
"""Why edges are omitted that another setting would show."""

Links: TypeAlias = tuple[list[tuple[str, ...]], list[tuple[str, ...]]]
"""Rows of IRIs, and rows with a blank node."""


class Edges:
    """Reads the edges of a ring: of a few nodes by one query, of more by one per direction."""

    def __init__(self, store: Store, batches: Batches) -> None:
        self._dataset = store.dataset
        self._batches = batches
        self._mapping = store.mapping
        self._limit = store.settings.page_size + 1
        self._most = store.settings.max_edges

    async def around(
        self,
        nodes: Sequence[str],
        predicates: Collection[str] | None = None,
        direction: Direction | None = None,
    ) -> list[Triple]:
        """Every edge with one of these nodes at either end; those between two of them come twice.

        Args:
            nodes: IRIs, without duplicates.
            predicates: Ids of the predicates to include; None for all.
            direction: Only edges that leave the nodes, or that enter them; None for both.
        """
        sides = self._sides(predicates, direction)
        # Of a few nodes a request costs more than their edges.
        queries = [sides] if sides and len(nodes) <= 100 else [[side] for side in sides]
        found = await gather_or_cancel(*(self._rows(nodes, some) for some in queries))
        edges = self._as_edges(row for part in found for row in part)
        if direction is None or not self._mapping.inverse:
            return edges
        at, asked = 0 if direction == "out" else 2, set(map(self._mapping.ids.id, nodes))
        return [edge for edge in edges if edge[at] in asked]

    def _sides(self, predicates: Collection[str] | None, direction: Direction | None) -> list[Side]:
        """The triples to read; an edge of an inverse predicate leaves where its triple enters."""
        mapping, inverse = self._mapping, self._mapping.inverse
        ways: tuple[Direction, ...] = ("out", "in") if direction is None else (direction,)
        if predicates is None:
            return [Side(way) for way in (("out", "in") if inverse else ways)]
        wanted = {iri for name in predicates if (iri := mapping.ids.iri(name))}
        straight = {p for p in wanted if p not in inverse and mapping.is_walked(p)}
        turned = {p for p, q in inverse.items() if q in wanted and mapping.is_walked(p)}
        named: dict[Direction, set[str]] = {"out": set(), "in": set()}
        for way in ways:
            named[way] |= straight
            named["in" if way == "out" else "out"] |= turned
        return [Side(way, tuple(sorted(some))) for way, some in named.items() if some]

    async def some(self, most: int) -> tuple[list[Triple], bool]:
        """At most `most` edges of the graph, and whether there are more."""
        reply = await self._dataset.reply(texts.some_edges(self._mapping, most + 1))
        found = links(reply.body)[0]
        return self._as_edges(found), reply.cut is not None or len(found) > most

    async def _rows(self, nodes: Sequence[str], sides: Sequence[Side]) -> list[tuple[str, ...]]:
        mapping, limit = self._mapping, self._limit
        question: Question[str, Links] = Question(
            text=lambda some: texts.ring(some, sides, mapping, limit),
            decode=links,
            count=lambda found: len(found[0]) + len(found[1]),
            harmless=NOWHERE,
        )
        found: list[tuple[str, ...]] = []
        for part in await self._batches.read(nodes, question):
            if not part.cut:
                found += part.rows[0]
                self._omit_blank(part.rows[1], part.keys)
            elif len(sides) > 1:
                found += [row for side in sides for row in await self._rows(part.keys, [side])]
            else:
                found += await self._hub(part.keys[0], sides[0])
        return found

    def _as_edges(self, found: Iterable[tuple[str, ...]]) -> list[Triple]:
        id_, inverse = self._mapping.ids.id, self._mapping.inverse
        if not inverse:
            return [(id_(s), id_(p), id_(o)) for s, p, o in found]
        turned = ((o, inverse[p], s) if p in inverse else (s, p, o) for s, p, o in found)
        return [(id_(s), id_(p), id_(o)) for s, p, o in turned]

    def _omit_blank(self, rows: Iterable[tuple[str, ...]], nodes: Collection[str]) -> None:
        ends: Counter[tuple[str, Direction]] = Counter(
            (row[0], "out") if row[0] in nodes else (row[2], "in") for row in set(rows)
        )
        for (node, direction), number in ends.items():
            self._omit(node, direction, number, BLANK)

    async def _hub(self, node: str, side: Side) -> list[tuple[str, ...]]:
        """At most `max_edges` edges of a node that has too many for one answer."""
        mapping, direction = self._mapping, side.direction
        windows: Windows[tuple[str, ...]] = Windows(
            number=texts.degree(node, side, mapping, blank=False),
            text=lambda after, size: texts.ring_window(node, side, mapping, after, size),
            decode=lambda body: links(body)[0],
            end=lambda row: row[2],
        )
        late: Callable[[int], None] = lambda number: self._omit(
            node, direction, number, "the time limit was reached"
        )
        blank = texts.degree(node, side, mapping, blank=True)
        read, missing = await read_windows(self._dataset, windows, self._most, late)
        if number := await counted(self._dataset, blank):
            self._omit(node, direction, number, BLANK)
        if missing:
            why = BOUND if len(read) >= self._most else "the endpoint did not return them"
            self._omit(node, direction, missing, why)
        if direction == "out":
            return [(node, predicate, end) for predicate, end, _ in read]
        return [(end, predicate, node) for predicate, end, _ in read]

    def _omit(self, node: str, direction: Direction, number: int, reason: str) -> None:
        id_, lasting = self._mapping.ids.id(node), reason == BLANK
        call.omitted(Omission(id_, direction, number, reason, lasting=lasting))
