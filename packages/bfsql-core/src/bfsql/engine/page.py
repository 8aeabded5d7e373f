"""One page of an answer: a window of nodes, and the edges inside it (`protocol.md` 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bfsql.models import Triple


@dataclass(frozen=True, slots=True)
class Page:
    """A window of the nodes, and what happens to the edges at its borders."""

    ids: Sequence[str]
    triples: Sequence[Triple]
    """Edges whose two ends are in the window."""
    to_earlier: int
    """Edges between the window and the nodes before it."""


def window(ids: Sequence[str], triples: Sequence[Triple], start: int, stop: int) -> Page:
    """The nodes from `start` up to `stop`, and the edges whose two ends are among them."""
    if start == 0 and stop >= len(ids):
        return Page(ids, triples, 0)
    place = {entity_id: position for position, entity_id in enumerate(ids[:stop])}
    inside, to_earlier = [], 0
    for triple in triples:
        one, other = place.get(triple[0], stop), place.get(triple[2], stop)
        first, last = (one, other) if one < other else (other, one)
        if start <= first and last < stop:
            inside.append(triple)
        elif first < start <= last < stop:
            to_earlier += 1
    return Page(ids[start:stop], inside, to_earlier)
