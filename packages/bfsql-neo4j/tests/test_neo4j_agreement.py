"""Whatever the records are, the server answers what the reference in memory answers."""

import string
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bfsql.abc import GraphDbInterface
from bfsql.answers.clean import clean_metadata
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.loader import load_graph

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"`", "42", "007", "4.20", "true", "🜁", ""])
KEPT_CASE = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060"])
# Each example is a load: to make a failing one smaller would take minutes.
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
LOWER = st.sampled_from(["treats", "is\na", "näher `an`"])
TYPES = st.sampled_from(["drug", "Disease", "two words", ""])
TEXTS = st.text(string.printable, max_size=6)
NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.booleans() | NUMBERS | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner | st.none(), max_size=3) | st.dictionaries(TEXTS, inner, max_size=2)
    ),
    max_leaves=4,
)
ITEMS = st.fixed_dictionaries(
    {}, optional={"document_id": IDS, "text_span": TEXTS, "confidence": st.floats(0, 1)}
)
NODE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS,
        "synonyms": st.lists(TEXTS, max_size=2),
        "other_types": st.lists(TEXTS, max_size=2),
        "entity_id": VALUES,
        "x": VALUES,
    },
)
EDGE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "confidence": VALUES,
        "source_documents": st.lists(IDS, max_size=2),
        "provenance": st.lists(ITEMS, max_size=3) | VALUES,
    },
)


def graphs(predicates: st.SearchStrategy[str]) -> st.SearchStrategy[list[GraphRecord]]:
    """Nodes, and edges and evidence of which many find their ends among them."""
    return st.lists(
        st.builds(NodeRecord, IDS, TYPES, NODE_METADATA)
        | st.builds(EdgeRecord, IDS, predicates, IDS, EDGE_METADATA)
        | st.builds(EvidenceRecord, IDS, predicates, IDS, ITEMS),
        max_size=25,
    )


def without_dangling(records: list[GraphRecord]) -> list[GraphRecord]:
    """Neo4j has no relationships without both of their nodes."""
    known = {r.id for r in records if isinstance(r, NodeRecord)}
    return [r for r in records if isinstance(r, NodeRecord) or {r.subject, r.object} <= known]


async def everything(backend: GraphDbInterface, records: list[GraphRecord]) -> dict[str, Any]:
    """All that a backend says of a graph, in an order of its own."""
    ids = sorted({r.id for r in records if isinstance(r, NodeRecord)} | {"no such id", "\ud800"})
    nodes = sorted(tuple(node) for node in await backend.get_nodes_batch(ids))
    ring = sorted(set(await backend.edges_batch(ids)))
    known = [str(node[0]) for node in nodes]
    of_nodes = await backend.metadata_for_nodes_batch(ids)
    of_edges = await backend.metadata_for_edges_batch(ring)
    return {
        "types": await backend.entity_types(),
        "predicates": await backend.predicates(),
        "nodes": nodes,
        "ring": ring,
        "each ring": {i: sorted(set(await backend.edges_batch([i]))) for i in ids},
        "leaving": {i: sorted(await backend.edges_from(i)) for i in known},
        "entering": {i: sorted(await backend.edges_to(i)) for i in known},
        "node metadata": repr({i: clean_metadata(of_nodes[i]) for i in sorted(of_nodes)}),
        "edge metadata": repr({i: clean_metadata(of_edges[i]) for i in sorted(of_edges)}),
    }


async def agree(settings: Neo4jSettings, records: list[GraphRecord], upper: bool) -> None:
    able = without_dangling(records)
    stored = [in_capitals(record) for record in able] if upper else able
    await load_graph(settings, stored)
    backend = await Neo4jBackend.open(settings)
    try:
        found = await everything(backend, able)
    finally:
        await backend.close()
    assert found == await everything(MemoryBackend(able), able)


def in_capitals(record: GraphRecord) -> GraphRecord:
    if isinstance(record, NodeRecord):
        return record
    kind, rest = type(record), (record.subject, record.predicate.upper(), record.object)
    return kind(*rest, record.item if isinstance(record, EvidenceRecord) else record.metadata)


class TestAgreement:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, settings: Neo4jSettings) -> None:
        type(self).settings = settings

    @given(graphs(KEPT_CASE))
    @settings(max_examples=20, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_the_server_and_the_reference_tell_the_same_of_every_graph(
        self, records: list[GraphRecord]
    ) -> None:
        kept = self.settings.model_copy(update={"preserve_case": True})
        await agree(kept, records, upper=False)

    @given(graphs(LOWER))
    @settings(max_examples=10, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_types_in_capitals_are_predicates_in_lower_case(
        self, records: list[GraphRecord]
    ) -> None:
        await agree(self.settings, records, upper=True)
