"""Mistakes in the outline of the graph."""

from __future__ import annotations

from dataclasses import replace

from bfsql.memory import MemoryBackend
from bfsql.models import Outline, outline_of


class CountsDanglingEdges(MemoryBackend):
    """Counts all rows of its edge table, including edges with an end that is not a node."""

    async def outline(self) -> Outline:
        right = await super().outline()
        types = self._types
        missing = {end for s, _, o in self._edge_metadata for end in (s, o)} - types.keys()
        counts = {one[:3]: one.edges for one in right.relations}
        for s, p, o in self._edge_metadata:
            if s in missing or o in missing:
                ends = types.get(s, "Thing"), p, types.get(o, "Thing")
                counts[ends] = counts.get(ends, 0) + 1
        return replace(outline_of(right.node_counts, counts))


class OldStatistics(MemoryBackend):
    """Takes its counts from outdated statistics without marking them as a sample."""

    async def outline(self) -> Outline:
        right = await super().outline()
        return replace(right, node_counts={t: n + 5 for t, n in right.node_counts.items()})


class NodesOfASample(MemoryBackend):
    """Gives the numbers of nodes in a sample as numbers of nodes."""

    async def outline(self) -> Outline:
        right = await super().outline()
        halves = {kind: -(-number // 2) for kind, number in right.node_counts.items()}
        return replace(right, node_counts=halves, sampled=True)


class OwnSpelling(MemoryBackend):
    """Spells the predicates of its relations differently from those of its edges."""

    async def outline(self) -> Outline:
        right = await super().outline()
        spelled = [one._replace(predicate=f":{one.predicate}") for one in right.relations]
        return replace(right, relations=spelled)


class RangeOfAllTypes(MemoryBackend):
    """Lists the properties of all types under every type."""

    async def outline(self) -> Outline:
        right = await super().outline()
        every = {one.name: one for of in right.node_properties.values() for one in of}
        described = [every[name] for name in sorted(every)]
        return replace(right, node_properties=dict.fromkeys(right.node_counts, described))


class RoundBounds(MemoryBackend):
    """Rounds the bounds of a range outwards."""

    async def outline(self) -> Outline:
        right = await super().outline()
        return replace(
            right,
            node_properties={
                owner: [
                    replace(one, maximum=one.maximum + 10)
                    if isinstance(one.maximum, int | float)
                    else one
                    for one in of
                ]
                for owner, of in right.node_properties.items()
            },
        )
