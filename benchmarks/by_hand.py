"""The floor: a traversal written by hand for one store, with one statement per ring.

It uses tuples, sets, and the project's own order and encoder, so that the comparison
shows the cost of engine, cache and backend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import Any

from bfsql.answers import encode
from bfsql.answers.clean import clean_metadata
from bfsql.call import STRIPPED

Triple = tuple[str, str, str]


class ByHand(ABC):
    """The traversal written by hand, with four statements of a store."""

    @abstractmethod
    async def ring(self, ids: list[str]) -> list[Triple]:
        """The edges of these nodes, in both directions."""

    @abstractmethod
    async def types(self, ids: list[str]) -> dict[str, str]:
        """The types of these nodes."""

    @abstractmethod
    async def node_details(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        """Metadata of these nodes."""

    @abstractmethod
    async def edge_details(self, triples: list[Triple]) -> list[dict[str, Any]]:
        """Metadata of these edges, in their order."""

    async def answer(self, seed: str, hops: int, *, full: bool) -> bytes:
        """The answer to a `bfs_query`."""
        rings: list[list[str]] = [[seed]]
        seen, edges = {seed}, set[Triple]()
        for _ in range(hops):
            ring = await self.ring(rings[-1])
            found: set[str] = set()
            for s, p, o in ring:
                edges.add((s, p, o))
                found.add(s)
                found.add(o)
            found -= seen
            seen |= found
            rings.append(sorted(found))
        ids = [i for ring_ids in rings for i in ring_ids]
        types = await self.types(ids)
        if len(types) < len(ids):  # some ends of edges are not nodes
            ids = [i for i in ids if i in types]
            edges = {(s, p, o) for s, p, o in edges if s in types and o in types}
        triples = sorted(edges)
        of_types = Counter(types[i] for i in ids)
        of_predicates = Counter(p for _, p, _ in triples)
        return encode(
            {
                "seeds": [seed],
                "max_hops": hops,
                "node_count": len(ids),
                "edge_count": len(triples),
                "schema_summary": {
                    "entity_types_found": sorted(of_types),
                    "predicates_found": sorted(of_predicates),
                    "node_counts": dict(sorted(of_types.items())),
                    "edge_counts": dict(sorted(of_predicates.items())),
                },
                "nodes": await self._full_nodes(ids, types) if full else _stubs(ids, types),
                "edges": await self._full_edges(triples) if full else _bare(triples),
            }
        )

    async def _full_nodes(self, ids: list[str], types: dict[str, str]) -> list[dict[str, Any]]:
        detail = await self.node_details(ids)
        return [
            {"id": i, "entity_type": types[i], "metadata": clean_metadata(detail[i])} for i in ids
        ]

    async def _full_edges(self, triples: list[Triple]) -> list[dict[str, Any]]:
        detail = await self.edge_details(triples)
        return [
            {**edge, "metadata": clean_metadata(metadata, STRIPPED)}
            for edge, metadata in zip(_bare(triples), detail, strict=True)
        ]


def _stubs(ids: list[str], types: dict[str, str]) -> list[dict[str, Any]]:
    return [{"id": i, "entity_type": types[i]} for i in ids]


def _bare(triples: list[Triple]) -> list[dict[str, Any]]:
    return [{"subject": s, "predicate": p, "object": o} for s, p, o in triples]
