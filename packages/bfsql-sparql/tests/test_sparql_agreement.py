"""Whatever the records are, every store answers what the reference in memory answers."""

import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bfsql.abc import GraphDbInterface
from bfsql.answers.clean import clean_metadata
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord

IDS = st.sampled_from(
    [
        "a",
        "b",
        "B",
        "ä",
        "c d",
        "e'\"`<>{}|^\\",
        "42",
        "007",
        "%41",
        "A",
        "🜁",
        "",
        "http://e.org/a%20b",
    ]
)
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na", "a`b\\u0060", "schema:knows"])
# Each example is a load: to make a failing one smaller would take minutes.
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
TYPES = st.sampled_from(["drug", "Disease", "two words", "schema:Person", ""])
TEXTS = st.text(string.printable + "\0äé\u202e🜁", max_size=6) | IDS
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
        "name": TEXTS | VALUES,
        "synonyms": st.lists(TEXTS, max_size=2) | VALUES,
        "other_types": st.lists(TYPES, max_size=2) | VALUES,
        "description": VALUES,
        "x": VALUES,
        "": VALUES,
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
GRAPHS = st.lists(
    st.builds(NodeRecord, IDS, TYPES, NODE_METADATA)
    | st.builds(EdgeRecord, IDS, PREDICATES, IDS, EDGE_METADATA)
    | st.builds(EvidenceRecord, IDS, PREDICATES, IDS, ITEMS),
    max_size=25,
)


def without_dangling(records: list[GraphRecord]) -> list[GraphRecord]:
    """An edge makes nodes of its ends, so the loader keeps out those that have none."""
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
        "each ring": {i: sorted(set(await backend.edges_batch([i]))) for i in known[:3]},
        "leaving": {i: sorted(await backend.edges_from(i)) for i in known[:3]},
        "entering": {i: sorted(await backend.edges_to(i)) for i in known[:3]},
        "node metadata": repr({i: clean_metadata(of_nodes[i]) for i in sorted(of_nodes)}),
        "edge metadata": repr({i: clean_metadata(of_edges[i]) for i in sorted(of_edges)}),
        "evidence": repr([await backend.provenance_for_node(i, 100) for i in known]),
    }


async def agree(store: Any, records: list[GraphRecord]) -> None:
    able = without_dangling(records)
    async with store.filled(able) as backend:
        found = await everything(backend, able)
    assert found == await everything(MemoryBackend(able), able)


class TestAgreement:
    @pytest.fixture(
        autouse=True,
        scope="class",
        params=["files", "oxigraph", "fuseki", "virtuoso", "rdf4j"],
    )
    @classmethod
    def _store(cls, request: pytest.FixtureRequest, place: Callable[..., Any]) -> None:
        cls.store = place(request.param)

    @given(GRAPHS)
    @settings(max_examples=15, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_every_store_and_the_reference_tell_the_same_of_every_graph(
        self, records: list[GraphRecord]
    ) -> None:
        await agree(self.store, records)


CONFUSED: list[Any] = [
    [1, "1"],
    [True, "1"],
    [False, True],
    [1.5, "1.5"],
    ["007", "7", "7.0"],
    ["A", "a", "\u00e4", "a\u0308"],
    ["", " "],
    [-(2**31), 2**31 - 1],
    [2**31, 2**63],
    [0.1, 0.25, 123456.0, 1e16, 5e-324],
    [0.30000000000000004],
    -0.0,
    "http://e.org/a",
    ["http://e.org/a", "urn:b"],
    "w" * 70_000,
    "a\\u0041\\",
]
"""Values that one store or another does not tell apart, or writes in its own way."""


@pytest.mark.parametrize("name", ["files", "oxigraph", "fuseki", "virtuoso", "rdf4j"])
async def test_values_that_stores_confuse_come_back_as_they_were(name: str, place) -> None:
    nodes = [NodeRecord(f"n:{n}", "T", {"value": one}) for n, one in enumerate(CONFUSED)]
    iris = [NodeRecord("http://e.org/a", "T"), NodeRecord("urn:b", "http://e.org/a")]
    edges = [EdgeRecord(node.id, "p", "urn:b", node.metadata) for node in nodes]
    await agree(place(name), [*iris, *nodes, *edges])


@pytest.mark.parametrize(
    ("name", "form"),
    [("oxigraph", "rdf-1.2"), ("fuseki", "rdf-1.2"), ("files", "rdf-1.2"), ("rdf4j", "rdf-star")],
)
async def test_statements_about_edges_come_back_from_each_form(name, form, place) -> None:
    told = {"confidence": 0.5, "note": "first", "docs": ["b", "a"], "nested": {"a": [1, None]}}
    item = {"document_id": "d", "text_span": "It does."}
    records: list[GraphRecord] = [
        *(NodeRecord(id_, "T") for id_ in "abd"),
        EdgeRecord("a", "p", "b", told),
        EdgeRecord("a", "p", "b", {"confidence": 0.75}),
        EdgeRecord("a", "q", "b"),
        EdgeRecord("b", "p", "a", {"note": "the other way"}),
        EvidenceRecord("a", "p", "b", item),
    ]
    await agree(place(name, write_statements=form), records)
