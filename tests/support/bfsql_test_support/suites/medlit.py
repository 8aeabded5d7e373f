"""Tests of medlit for every store: the figures that the protocol's author publishes for it.

The module of a store provides the fixture `backend`, open over the records of `medlit_records`,
and adds tests that are specific to the store:

    class TestMedlit(MedlitSuite, SameGraph, MisspelledNames):
        \"\"\"In a file.\"\"\"
"""

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.call import Limits
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord, LoadReport, NodeRecord
from bfsql_test_support.case_table import case_table
from bfsql_test_support.tool_calls import of_all, worked_calls

DESMOPRESSIN = "RxNorm:3251"
CUSHING_SYNDROME = "MeSH:D003480"
CUSHING_DISEASE = "DBPedia:Cushing's_disease"
PAPER = "PMC11128938"
EMBEDDED = {"drug", "hormone", "disease", "symptom", "anatomicalstructure"}
"""Types whose nodes get vectors, about 260 of 1,900; all would take half a minute or more."""
DESCRIPTION = "hormone that stops urination"
"""A query that shares no word with any name."""

Triples = set[tuple[str, str, str]]
Vectors = dict[str, list[float]]
"""Vectors by id."""


def assert_whole(report: LoadReport) -> None:
    """Check the counts in the report of a load of medlit."""
    assert (report.nodes, report.edges + report.duplicate_edges) == (1_900, 2_184)


def with_vectors(records: Iterable[GraphRecord], vectors: Vectors) -> list[GraphRecord]:
    """The records, with their vectors as the metadata key `embedding`."""
    return [
        replace(record, metadata={**record.metadata, "embedding": vectors[record.id]})
        if isinstance(record, NodeRecord) and record.id in vectors
        else record
        for record in records
    ]


def nearest(vectors: Vectors, asked: list[float]) -> list[tuple[str, float]]:
    """Ids with their cosine similarities, best first; all vectors have unit length."""
    cosines = {
        i: math.fsum(a * b for a, b in zip(vector, asked, strict=True))
        for i, vector in vectors.items()
    }
    return sorted(cosines.items(), key=lambda one: -one[1])


async def ring(backend: GraphDbInterface, ids: Iterable[str]) -> Triples:
    """The edges at these ids."""
    return {(s, p, o) for s, p, o in await backend.edges_batch(sorted(ids))}


async def call(graph: Graph, tool: str, **arguments: Any) -> Any:
    """The decoded answer of a tool."""
    return json.loads((await graph.call(tool, arguments)).text)


class MedlitSuite:
    """Schema, neighbours and search, through the backend's methods and through the tools."""

    limits = Limits()

    @staticmethod
    def spelled(predicates: list[str]) -> list[str]:
        """Predicates of the records in the spelling of the backend."""
        return predicates

    async def test_the_outline_counts_nodes_and_relations(
        self, backend: GraphDbInterface, medlit_records: list[GraphRecord]
    ) -> None:
        outline = await backend.outline()
        if outline is None:
            pytest.skip("The store gives no outline.")
        wanted = await MemoryBackend(medlit_records).outline()
        assert outline.node_counts == wanted.node_counts
        spelled = {(s, self.spelled([p])[0], o): edges for s, p, o, edges, _ in wanted.relations}
        assert {(s, p, o): edges for s, p, o, edges, _ in outline.relations} == spelled
        assert not outline.sampled
        drug = {one.name: one for one in outline.node_properties["drug"]}
        assert {"name", "total_mentions"} <= drug.keys()
        assert (drug["total_mentions"].minimum, drug["total_mentions"].maximum) == (1, 11)

    async def test_the_schema_counts_nodes_and_has_calls_that_find_something(
        self, backend: GraphDbInterface, medlit_records: list[GraphRecord]
    ) -> None:
        async with open_graph(backend, limits=self.limits) as graph:
            calls = await worked_calls(graph)
            found = [await call(graph, "bfs_query", **of_all(one)) for one in calls.values()]
            schema = await call(graph, "describe_schema")
        assert all(answer["node_count"] for answer in found)
        assert schema["node_counts"] == (await MemoryBackend(medlit_records).outline()).node_counts
        assert "by type" not in schema["next_steps"]

    async def test_the_tools_give_the_published_figures(self, backend: GraphDbInterface) -> None:
        async with open_graph(backend, limits=self.limits) as graph:
            schema = await call(graph, "describe_schema")
            assert (len(schema["entity_types"]), len(schema["predicates"])) == (19, 16)
            seed = [DESMOPRESSIN]
            two = await call(graph, "bfs_query", seeds=seed, max_hops=2, topology_only=True)
            assert (len(two["nodes"]), len(two["edges"])) == (84, 99)
            both = [DESMOPRESSIN, CUSHING_SYNDROME]
            one = await call(graph, "bfs_query", seeds=both, max_hops=1, topology_only=True)
            assert (len(one["nodes"]), len(one["edges"])) == (35, 37)
            common = await call(graph, "intersect_subgraphs", seeds=both, k=1)
            found = {node["id"] for node in common["nodes"]} - set(both)
            assert found == {PAPER, CUSHING_DISEASE}

    @case_table(
        ("query", "best"),
        [
            ("desmopressin", DESMOPRESSIN),
            (DESMOPRESSIN, DESMOPRESSIN),
            ("Cushing Syndrome", CUSHING_SYNDROME),
        ],
    )
    async def test_names_find_their_entities(
        self, backend: GraphDbInterface, query: str, best: str
    ) -> None:
        assert next(stub.id for stub in await backend.search_entities(query)) == best


class SameGraph:
    """For a store that keeps ids, predicates, metadata and evidence unchanged."""

    async def test_nodes_edges_metadata_and_evidence_are_as_in_memory(
        self, backend: GraphDbInterface, medlit_records: list[GraphRecord]
    ) -> None:
        memory = MemoryBackend(medlit_records)
        ids = [record.id for record in medlit_records if isinstance(record, NodeRecord)]
        edges = sorted(await ring(memory, ids))
        assert sorted(await ring(backend, ids)) == edges
        for mine, wanted in (
            (backend.metadata_for_nodes_batch(ids), memory.metadata_for_nodes_batch(ids)),
            (backend.metadata_for_edges_batch(edges), memory.metadata_for_edges_batch(edges)),
        ):
            assert await mine == await wanted
        nodes = await backend.get_nodes_batch(ids)
        assert sorted(nodes) == sorted(await memory.get_nodes_batch(ids))
        for entity_id in (DESMOPRESSIN, CUSHING_SYNDROME, PAPER):
            found = await backend.provenance_for_node(entity_id, 20)
            assert found == await memory.provenance_for_node(entity_id, 20)
            assert found["total"] > 0


class MisspelledNames:
    """For a store that finds names similar to the query."""

    @case_table(
        ("query", "best"), [("desmopresin", DESMOPRESSIN), ("cushing disease", CUSHING_DISEASE)]
    )
    async def test_similar_names_find_their_entities(
        self, backend: GraphDbInterface, query: str, best: str
    ) -> None:
        assert next(stub.id for stub in await backend.search_entities(query)) == best


class NoMatches:
    """For a store whose search returns only entities that visibly match the query."""

    async def test_a_query_without_a_match_finds_nothing_or_what_is_spelt_alike(
        self, backend: GraphDbInterface
    ) -> None:
        async with open_graph(backend) as graph:
            for query in ("aspirin", "Parkinson disease"):
                answer = await graph.search_entities(query)
                assert json.loads(answer.text) == []
                assert answer.notes[0].startswith(f'Nothing matches "{query}".')
            answer = await graph.search_entities("Boston")
            hits = json.loads(answer.text)
            assert {hit["match"] for hit in hits} <= {"similar"}
            assert [hit["name"] for hit in hits] in ([], ["Marek Ros\u0142on"])
            spelt = 'No entity is called "Boston"; these are spelt alike.'
            assert answer.notes[0] == spelt if hits else answer.notes[0].startswith("Nothing")
