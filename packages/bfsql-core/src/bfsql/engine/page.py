"""One page of an answer: a window of nodes, and the edges inside it (`protocol.md` 4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bfsql.models import Triple


@dataclass(frozen=True, slots=True)
class Page:
    """A window of the nodes, and what happens to the edges at its borders."""

    ids: Sequence[str]
    triples: Sequence[Triple]
    """Edges whose two ends are in the window."""
    to_earlier: int
    """Edges between the window and the nodes before it."""


class Windows:
    """The windows of an answer that begin at the same node, of any length.

    A budget tries many lengths: an edge is placed once, so that trying one
    costs as much as what is in it, and not as much as the whole answer.

    Args:
        ids: All nodes, in the order of the answer.
        triples: All edges, sorted.
        start: Where the windows begin.
        longest: Nodes of the longest one.
    """

    def __init__(
        self, ids: Sequence[str], triples: Sequence[Triple], start: int, longest: int
    ) -> None:
        self._ids = ids
        self._triples = triples
        self._start = start
        self._end = start + longest

    def of(self, count: int) -> Page:
        """The window of so many nodes, and the edges whose two ends are among them."""
        stop = self._start + count
        if self._start == 0 and stop >= len(self._ids):
            return Page(self._ids, self._triples, 0)
        inside, crossing = self._placed
        edges = inside[: bisect_left(inside, stop, key=_last)]
        triples = sorted(triple for _, triple in edges)
        return Page(self._ids[self._start : stop], triples, bisect_left(crossing, stop))

    @cached_property
    def _placed(self) -> tuple[list[tuple[int, Triple]], list[int]]:
        """Edges inside the longest window by their later end; later ends of those that enter it."""
        start, end = self._start, self._end
        place = {entity_id: position for position, entity_id in enumerate(self._ids[:end])}
        inside: list[tuple[int, Triple]] = []
        crossing: list[int] = []
        for triple in self._triples:
            one, other = place.get(triple[0], end), place.get(triple[2], end)
            first, last = (one, other) if one < other else (other, one)
            if start <= first and last < end:
                inside.append((last, triple))
            elif first < start <= last < end:
                crossing.append(last)
        inside.sort(key=_last)
        return inside, sorted(crossing)


def _last(placed: tuple[int, Triple]) -> int:
    return placed[0]
