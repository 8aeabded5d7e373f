"""Every store gives the same answers as the reference in memory, whatever the records."""

import string
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bfsql.answers.clean import clean_metadata
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_test_support.suites.agreement import assert_agreed, graphs, values, without_dangling

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
# Each example needs a load, so shrinking would take minutes.
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]
TYPES = st.sampled_from(["drug", "Disease", "two words", "schema:Person", ""])
TEXTS = st.text(string.printable + "\0äé\u202e🜁", max_size=6) | IDS
VALUES = values(TEXTS, null=False)
GRAPHS = graphs(
    IDS,
    PREDICATES,
    TYPES,
    texts=TEXTS,
    any_value=VALUES,
    node={
        "name": TEXTS | VALUES,
        "synonyms": st.lists(TEXTS, max_size=2) | VALUES,
        "other_types": st.lists(TYPES, max_size=2) | VALUES,
        "description": VALUES,
        "": VALUES,
    },
)


def emptied(store):
    """The store without what other tests left on its server, which may read all graphs as one."""
    if store.server is not None:
        store.server.clear()
    return store


async def agree(store, records):
    # In RDF, an edge makes nodes of its ends, so the loader leaves out dangling edges.
    able = without_dangling(records)
    async with store.filled(able) as backend:
        await assert_agreed(backend, able, cleaned=clean_metadata, singly=3)


class TestAgreement:
    @pytest.fixture(autouse=True, scope="class", params=["oxigraph", "fuseki", "virtuoso", "rdf4j"])
    @classmethod
    def _store(cls, request, place):
        cls.store = emptied(place(request.param))

    @given(GRAPHS)
    @settings(max_examples=8, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_every_store_and_the_reference_tell_the_same_of_every_graph(self, records):
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
"""Values that some stores do not distinguish, or write differently."""


@pytest.mark.parametrize("name", ["oxigraph", "fuseki", "virtuoso", "rdf4j"])
async def test_values_that_stores_confuse_come_back_as_they_were(name, place):
    nodes = [NodeRecord(f"n:{n}", "T", {"value": one}) for n, one in enumerate(CONFUSED)]
    iris = [NodeRecord("http://e.org/a", "T"), NodeRecord("urn:b", "http://e.org/a")]
    edges = [EdgeRecord(node.id, "p", "urn:b", node.metadata) for node in nodes]
    await agree(emptied(place(name)), [*iris, *nodes, *edges])


async def test_the_entity_with_the_empty_id_may_be_a_document(place):
    items = [{"document_id": ""}, {"document_id": "b"}]
    nodes = [NodeRecord(id_, "T") for id_ in ("", "a", "b", "c")]
    await agree(
        emptied(place("oxigraph")), [*nodes, EdgeRecord("a", "p", "c", {"provenance": items})]
    )


@pytest.mark.parametrize(
    ("name", "form"), [("oxigraph", "rdf-1.2"), ("fuseki", "rdf-1.2"), ("rdf4j", "rdf-star")]
)
async def test_statements_about_edges_come_back_from_each_form(name, form, place):
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
    await agree(emptied(place(name, write_statements=form)), records)
