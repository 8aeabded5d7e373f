"""Graph files written by a test, and the records that the readers make of them."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from bfsql.models import EdgeRecord, EvidenceRecord, GraphStream, NodeRecord, Refusal
from bfsql.models.load import SourceAccount
from bfsql.sources import SourceOptions, open_sources


@dataclass
class Sorted:
    nodes: list[NodeRecord]
    edges: list[EdgeRecord]
    evidence: list[EvidenceRecord]
    refusals: list[Refusal]
    account: SourceAccount | None = None

    @property
    def triples(self) -> list[tuple[str, str, str]]:
        return [(e.subject, e.predicate, e.object) for e in self.edges]

    @property
    def reasons(self) -> list[tuple[int | None, str]]:
        return [(refusal.line, refusal.reason) for refusal in self.refusals]

    def metadata(self, id_: str) -> list[dict[str, Any]]:
        return [node.metadata for node in self.nodes if node.id == id_ and node.metadata]

    def types(self, id_: str) -> set[str]:
        return {node.entity_type for node in self.nodes if node.id == id_} - {""}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        return path

    return written


@pytest.fixture(scope="session")
def sort_out() -> Callable[[GraphStream], Sorted]:
    def sorted_out(stream: GraphStream) -> Sorted:
        found: dict[type, list[Any]] = {
            NodeRecord: [],
            EdgeRecord: [],
            EvidenceRecord: [],
            Refusal: [],
        }
        for record in stream:
            found[type(record)].append(record)
        return Sorted(*found.values())

    return sorted_out


@pytest.fixture
def read(write, sort_out):
    def written_and_read(name: str, content: str | bytes, **options: Any) -> Sorted:
        (source,) = open_sources([write(name, content)], SourceOptions(**options))
        return replace(sort_out(source.records), account=source.account)

    return written_and_read


@pytest.fixture
def films():
    """A film, an actor, and two edges between them."""
    graph = nx.MultiDiGraph()
    graph.add_node("f1", type="film", name="Big", year=1988, good=True)
    graph.add_node("p1", type="person", name="Tom", score=1.5)
    graph.add_edge("p1", "f1", key="acted_in", role="Josh")
    graph.add_edge("p1", "f1", key="liked")
    return graph
