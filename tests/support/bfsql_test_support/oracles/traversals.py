"""Expected answers, computed with networkx as simply as possible."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx

from bfsql.models import NodeRecord, Triple, merge_node_records
from bfsql_test_support.graph_strategies import Drawn


@dataclass(frozen=True)
class Expected:
    """The whole answer, before it is cut into pages."""

    ids: list[str]
    triples: list[Triple]
    dangling_edges: int
    dangling_ids: int


class Oracle:
    """A drawn graph in networkx."""

    def __init__(self, drawn: Drawn) -> None:
        records: dict[str, list[NodeRecord]] = {}
        for record in drawn.records:
            if isinstance(record, NodeRecord):
                records.setdefault(record.id, []).append(record)
        self.nodes = {i: merge_node_records(described) for i, described in records.items()}
        self._all = drawn.triples
        self.whole = {t for t in drawn.triples if t[0] in self.nodes and t[2] in self.nodes}
        self._graph: Any = nx.Graph()
        self._graph.add_nodes_from(self.nodes)
        self._graph.add_edges_from((s, o) for s, _, o in self.whole)

    def bfs(
        self,
        seeds: Sequence[str],
        hops: int,
        exclude_node_types: Sequence[str] = (),
        min_mentions: int = 1,
    ) -> Expected:
        """The union of neighbourhoods (`protocol.md` 1, 3, 5, 8)."""
        far = self._nearest(seeds, hops)
        kept = {i for i in far if self.stays(i, exclude_node_types, min_mentions)}
        seen = {t for t in self._all if min(far.get(t[0], hops), far.get(t[2], hops)) < hops}
        gone = [{t[0], t[2]} - self.nodes.keys() for t in seen]
        return Expected(
            sorted(kept, key=lambda i: (far[i], i)),
            sorted(t for t in seen if t[0] in kept and t[2] in kept),
            sum(bool(ends) for ends in gone),
            len(set().union(*gone)),
        )

    def intersection(
        self,
        seeds: Sequence[str],
        k: int,
        exclude_node_types: Sequence[str] = (),
        min_mentions: int = 1,
    ) -> tuple[list[str], list[Triple]]:
        """The nodes within `k` hops of every seed, and the edges among them (`protocol.md` 6)."""
        near = [set(self._nearest([seed], k)) for seed in seeds]
        far = self._nearest(seeds, k)
        kept = {
            i for i in set.intersection(*near) if self.stays(i, exclude_node_types, min_mentions)
        }
        induced = sorted(t for t in self.whole if t[0] in kept and t[2] in kept)
        return sorted(kept, key=lambda i: (far[i], i)), induced

    def _nearest(self, seeds: Sequence[str], hops: int) -> dict[str, int]:
        far = nx.multi_source_dijkstra_path_length(self._graph, set(seeds), cutoff=hops)
        return {i: int(distance) for i, distance in far.items()}

    def stays(
        self, entity_id: str, exclude_node_types: Sequence[str] = (), min_mentions: int = 1
    ) -> bool:
        """Whether the two filters that remove nodes keep this one."""
        entity_type, metadata = self.nodes[entity_id]
        mentions = metadata.get("total_mentions")
        counts = isinstance(mentions, int | float) and not isinstance(mentions, bool)
        return entity_type not in exclude_node_types and not (counts and mentions < min_mentions)
