"""Appending and removing: the result is that of one load of all that remains."""

import asyncio
import datetime as dt
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from bfsql_trials.agreement import assert_agreed, graphs, values
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from bfsql.answers.clean import clean_metadata
from bfsql.errors import LoadRefused, SourceError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql.models.merge import UNTYPED, created_node, evidence_items
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.loader import load_graph
from bfsql_neo4j.values import ELEMENT
from bfsql_servers.process import PAUSE

APPENDING = LoadOptions(LoadMode.APPEND)


@pytest.fixture
def append(settings: Neo4jSettings):
    def load(records: Sequence[GraphRecord], **options: Any):
        return load_graph(settings, records, LoadOptions(LoadMode.APPEND, **options))

    return load


@pytest.fixture
def load(settings: Neo4jSettings):
    return lambda records: load_graph(settings, records)


async def nodes_of(cypher) -> list[Any]:
    return await cypher("MATCH (n) RETURN labels(n), properties(n) ORDER BY n.entity_id")


async def edges_of(cypher) -> list[Any]:
    return await cypher(
        "MATCH (a)-[r]->(b) RETURN a.entity_id AS s, type(r) AS p, b.entity_id AS o, properties(r) "
        "ORDER BY s, p, o"
    )


async def test_nodes_and_edges_that_are_there_merge_with_new_ones(load, append, cypher) -> None:
    await load(
        [
            NodeRecord("a", "Drug", {"name": "A", "year": 1}),
            NodeRecord("b", "Drug"),
            NodeRecord("idle", "Other"),
            EdgeRecord("a", "P", "b", {"confidence": 0.5}),
            EdgeRecord("a", "P", "idle"),
        ]
    )
    report = await append(
        [
            NodeRecord("a", "Gene", {"name": "Alpha", "year": 2}),
            NodeRecord("c", "Gene"),
            EdgeRecord("a", "P", "b", {"confidence": 0.9}),
            EdgeRecord("c", "P", "b"),
            EvidenceRecord("a", "P", "b", {"text_span": "so", "document_id": "d"}),
            EvidenceRecord("a", "P", "idle", {"text_span": "also", "document_id": "d"}),
        ]
    )
    assert (report.nodes, report.edges, report.evidence) == (4, 3, 2)
    assert (report.duplicate_nodes, report.duplicate_edges) == (1, 1)
    assert report.unattached_evidence == 0
    assert (await nodes_of(cypher))[0] == [
        ["Drug"],
        {
            "entity_id": "a",
            "name": "A",
            "synonyms": ["Alpha"],
            "year": [1, 2],
            "other_types": ["Gene"],
        },
    ]
    first, second, idle, new = await edges_of(cypher)
    assert {first[3]["confidence"], second[3]["confidence"]} == {0.5, 0.9}
    assert ("provenance__json" in first[3]) != ("provenance__json" in second[3])
    assert "provenance__json" in idle[3]
    assert new[0] == "c"


async def test_only_what_changes_is_written(load, append, cypher) -> None:
    await load([NodeRecord("a", "A"), NodeRecord("b", "A"), EdgeRecord("a", "P", "b", {"n": 1})])
    await cypher("MATCH (n) SET n.mark = 1 WITH n MATCH (n)-[r]->() SET r.mark = 1")
    before = await cypher("MATCH (n) RETURN elementId(n), n.mark ORDER BY n.entity_id")
    report = await append([EdgeRecord("a", "P", "b", {"n": 2}), EdgeRecord("b", "P", "a")])
    assert (report.nodes, report.edges, report.duplicate_edges) == (2, 2, 1)
    assert before == await cypher("MATCH (n) RETURN elementId(n), n.mark ORDER BY n.entity_id")
    found = await cypher("MATCH ()-[r]->() RETURN r.n AS n, r.mark ORDER BY n")
    assert found == [[1, 1], [2, None], [None, None]]


async def test_an_index_is_extended_where_new_nodes_and_evidence_need_it(
    load, append, cypher, emptied
) -> None:
    found = "CALL db.index.fulltext.queryNodes('entity_names', $q) YIELD node RETURN node.entity_id"
    of = (
        "CALL db.index.fulltext.queryRelationships('entity_evidence', $q) "
        "YIELD relationship AS r RETURN type(r) AS kind ORDER BY kind"
    )
    when = "SHOW INDEXES YIELD name, id WHERE name = 'entity_names' RETURN id"
    await load([NodeRecord("a", "A", {"name": "first"}), EdgeRecord("a", "P", "a")])
    made = await cypher(when)
    await append([NodeRecord("b", "A", {"name": "second"})])
    assert await cypher(when) == made
    passage = {"document_id": "doc", "text_span": "so"}
    await append(
        [
            NodeRecord("c", "C", {"synonyms": ["third"]}),
            EdgeRecord("a", "Q", "c", {"provenance": [passage]}),
            EvidenceRecord("a", "P", "a", passage),
        ]
    )
    told: list[tuple[str, float | None]] = []
    more = {**passage, "text_span": "more"}
    report = await append(
        [EvidenceRecord("a", "Q", "c", more)], progress=lambda *one: told.append(one)
    )
    assert report.evidence == 3
    assert told[-1] == ("writing", 1.0)
    assert await cypher(found, q="third") == [["c"]]
    assert await cypher(found, q="first") == [["a"]]
    assert await cypher(of, q="doc") == [["P"], ["Q"]]
    ranges = "SHOW RANGE INDEXES YIELD labelsOrTypes AS l RETURN l[0] AS l ORDER BY l"
    assert await cypher(ranges) == [["A"], ["C"]]


async def test_a_type_that_was_a_default_gives_way(append, cypher, settings, emptied) -> None:
    by_type = settings.model_copy(update={"id_property": ["Drug=code", "entity_id"]})
    made = LoadOptions(LoadMode.APPEND, create_nodes=True, default_type="Node")
    report = await load_graph(by_type, [EdgeRecord("a", "P", "b")], made)
    assert (report.nodes, report.created_nodes) == (2, 2)
    report = await load_graph(by_type, [NodeRecord("a", "Drug", {"dose": 1})], made)
    assert (report.nodes, report.created_nodes, report.edges) == (2, 0, 1)
    assert await cypher("MATCH (n) RETURN labels(n), properties(n) ORDER BY n.entity_id") == [
        [["Node"], {"entity_id": "b", "name": "b"}],
        [["Drug"], {"code": "a", "dose": 1}],
    ]


async def test_what_is_removed_is_counted_and_what_was_not_there_is_named(
    load, append, cypher
) -> None:
    await load(
        [
            *(NodeRecord(name, "A") for name in "abcd"),
            EdgeRecord("a", "TREATS", "b"),
            EdgeRecord("a", "TREATS", "b"),
            EdgeRecord("b", "P", "b"),
            EdgeRecord("b", "P", "c"),
            EdgeRecord("c", "P", "d", {"n": 1}),
            EdgeRecord("d", "P", "d"),
        ]
    )
    report = await append(
        [NodeRecord("c", "New"), EdgeRecord("c", "P", "d", {"n": 2}), EdgeRecord("d", "P", "b")],
        remove=[
            NodeRecord("b", ""),
            NodeRecord("gone", ""),
            NodeRecord("half \ud800", ""),
            EdgeRecord("a", "treats", "b"),
            EdgeRecord("c", "P", "d"),
            EdgeRecord("c", "P", "a"),
            EdgeRecord("d", "P", "nowhere"),
            EvidenceRecord("d", "P", "d", {"text_span": "names nothing"}),
        ],
    )
    assert (report.removed_nodes, report.removed_edges) == (1, 4)
    assert report.not_there == 4
    assert sorted(report.not_there_examples) == [
        "edge 'c' 'P' 'a'",
        "edge 'd' 'P' 'nowhere'",
        "node 'gone'",
        "node 'half \\ud800'",
    ]
    assert (report.nodes, report.edges) == (3, 2)
    assert (report.dangling_edges, report.dangling_examples) == (1, ["b"])
    assert [labels for labels, _ in await nodes_of(cypher)] == [["A"], ["A"], ["A"]]
    assert await edges_of(cypher) == [["c", "P", "d", {"n": 2}], ["d", "P", "d", {}]]
    report = await append([], remove=[NodeRecord(name, "") for name in "acd"])
    assert (report.nodes, report.edges, report.removed_edges) == (0, 0, 2)


async def test_a_graph_that_is_not_worth_loading_changes_nothing(load, append, cypher) -> None:
    dangling: list[GraphRecord] = [EdgeRecord("x", "P", "y")]
    await load([NodeRecord("a", "A")])
    with pytest.raises(LoadRefused, match="all 1 edges dangle"):
        await append(dangling, require_nodes=True)
    with pytest.raises(LoadRefused, match="would have no node"):
        await append([], remove=[NodeRecord("a", "")], require_nodes=True)
    with pytest.raises(SourceError, match="strict"):
        await append([NodeRecord("b", "A"), NodeRecord("c", "C\0")], strict=True)
    assert await nodes_of(cypher) == [[["A"], {"entity_id": "a"}]]
    assert (await append(dangling, require_nodes=True, create_nodes=True)).nodes == 3


# --- databases of other tools -------------------------------------------------


@pytest.fixture
async def films(cypher, emptied, settings: Neo4jSettings) -> Neo4jSettings:
    await cypher(
        "CREATE (k:Person:Actor {name: 'Keanu', born: date('1964-09-02'), code: 7}) "
        "CREATE (m:Movie {title: 'Matrix', length: duration('PT2H')}) "
        "CREATE (k)-[:ACTED_IN {roles: ['Neo']}]->(m) "
        "CREATE (:Person {name: 'Far', at: datetime('2024-01-01T00:00[Europe/Berlin]')}) "
        "CREATE (:Person {born: 1900}) CREATE ({name: 'no label'})"
    )
    named = ["Person=code", "Person=name", "title"]
    return settings.model_copy(update={"id_property": named, "type_priority": ["Actor"]})


async def test_a_node_of_another_tool_keeps_its_labels_and_the_value_of_its_id(
    films, cypher
) -> None:
    report = await load_graph(
        films,
        [
            NodeRecord("7", "Person", {"name": "K. Reeves", "code": "x"}),
            NodeRecord("Far away", "Person"),
            EdgeRecord("7", "ACTED_IN", "Matrix", {"roles": ["Thomas"]}),
            EdgeRecord("Matrix", "SEEN_BY", "Far"),
            EvidenceRecord("7", "ACTED_IN", "Matrix", {"text_span": "so"}),
        ],
        APPENDING,
    )
    assert (report.nodes, report.edges, report.evidence) == (6, 2, 1)
    ((labels, properties),) = await cypher("MATCH (n:Actor) RETURN labels(n), properties(n)")
    assert labels == ["Person", "Actor"]
    assert properties["code"] == 7
    assert properties["code__json"] == '"x"'
    assert properties["born"].to_native() == dt.date(1964, 9, 2)
    roles = await cypher("MATCH ()-[r:ACTED_IN]->() RETURN r.roles AS roles ORDER BY roles")
    assert roles == [[["Neo"]], [["Thomas"]]]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (NodeRecord("Matrix", "Movie", {"year": 1999}), "in the property 'length' of the node"),
        (NodeRecord("Far", "Person"), "'at' of the node 'Far', the value '2024-01-01T00:00:00"),
    ],
)
async def test_what_merging_would_change_is_refused(films, cypher, record, said: str) -> None:
    before = await cypher("MATCH (n) RETURN properties(n) ORDER BY elementId(n)")
    with pytest.raises(LoadRefused, match=said):
        await load_graph(films, [NodeRecord("new", "Person"), record], APPENDING)
    assert before == await cypher("MATCH (n) RETURN properties(n) ORDER BY elementId(n)")


async def test_a_node_without_an_id_of_its_own_is_named_by_edges_alone(films, cypher) -> None:
    ((element,),) = await cypher("MATCH (n:Person {born: 1900}) RETURN elementId(n)")
    with pytest.raises(LoadRefused, match="without an id property"):
        await load_graph(films, [NodeRecord(ELEMENT + element, "Person")], APPENDING)
    edge = EdgeRecord("7", "KNOWS", ELEMENT + element)
    assert (await load_graph(films, [edge], APPENDING)).edges == 2


# --- interrupted appends ------------------------------------------------------

_APPEND = """
import asyncio, sys
from bfsql.models import NodeRecord
from bfsql.memory import MemoryBackend
from bfsql.models.load import LoadMode, LoadOptions
from bfsql.models.merge import UNTYPED, created_node, evidence_items
from bfsql_neo4j import Neo4jSettings, loader, rows
rows.BATCH = 20
new = (NodeRecord(f"n{n}", "New") for n in range(2_000))
asyncio.run(loader.load_graph(Neo4jSettings(uri=sys.argv[1]), new, LoadOptions(LoadMode.APPEND)))
"""
OLD: list[GraphRecord] = [NodeRecord("old", "Old", {"name": "x"}), EdgeRecord("old", "P", "old")]


async def begun(cypher) -> None:
    while not (await cypher("MATCH (n:New) RETURN count(n)"))[0][0]:  # noqa: ASYNC110 - no event
        await asyncio.sleep(PAUSE)


async def test_an_append_that_is_killed_leaves_what_was_there_and_can_be_run_again(
    load, append, cypher, settings
) -> None:
    await load(OLD)
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", _APPEND, settings.uri)
    await begun(cypher)
    process.kill()
    await process.wait()
    ((number,),) = await cypher("MATCH (n:New) RETURN count(n)")
    assert 0 < number < 2_000
    old = await cypher("MATCH (n:Old)-[r]->(n) RETURN properties(n), properties(r)")
    assert old == [[{"entity_id": "old", "name": "x"}, {}]]
    report = await append([NodeRecord(f"n{n}", "New") for n in range(2_000)])
    assert (report.nodes, report.duplicate_nodes, report.edges) == (2_001, number, 1)


async def test_an_append_that_is_cancelled_states_what_is_there(
    load, append, cypher, monkeypatch
) -> None:
    monkeypatch.setattr("bfsql_neo4j.rows.BATCH", 20)
    await load(OLD)
    new = [NodeRecord(f"n{n}", "New") for n in range(2_000)]
    work = asyncio.ensure_future(append(new, remove=[EdgeRecord("old", "P", "old")]))
    await begun(cypher)
    work.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await work
    (note,) = caught.value.__notes__
    assert "of what was to be added" in note
    assert "of 2,000 nodes" in note
    assert "What was to be removed may have been removed. Everything else" in note
    assert "--append" in note


# --- any graph ----------------------------------------------------------------

IDS = st.sampled_from(["a", "b", "B", "c d", "42", "007", "true", ""])
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na"])
TYPES = st.sampled_from(["drug", "Disease", "two words", ""])
VALUES = values(null=False)
WITHOUT_SHRINKING = [Phase.explicit, Phase.reuse, Phase.generate]


def triple(record: Any) -> tuple[str, str, str]:
    return record.subject, record.predicate, record.object


def told_apart(record: GraphRecord) -> GraphRecord:
    """The record with its evidence changed so that no two pieces with the same text contradict."""

    def apart(item: Any) -> Any:
        return {**item, "text_span": repr(item)} if isinstance(item, dict) else item

    if isinstance(record, EvidenceRecord):
        return EvidenceRecord(*triple(record), apart(record.item))
    have = record.metadata.get("provenance")
    if isinstance(record, NodeRecord) or not isinstance(have, list):
        return record
    return EdgeRecord(*triple(record), {**record.metadata, "provenance": [*map(apart, have)]})


def removed(records: Sequence[GraphRecord], gone: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records that remain after removal."""
    ids = {r.id for r in gone if isinstance(r, NodeRecord)}
    triples = {triple(r) for r in gone if isinstance(r, EdgeRecord)}
    return [
        r
        for r in records
        if ids.isdisjoint([r.id] if isinstance(r, NodeRecord) else [r.subject, r.object])
        and (isinstance(r, NodeRecord) or triple(r) not in triples)
    ]


def completed(records: Sequence[GraphRecord]) -> list[GraphRecord]:
    """The records with nodes for all ends of edges, and without evidence for missing edges."""
    triples = {triple(r) for r in records if isinstance(r, EdgeRecord)}
    kept = [r for r in records if not isinstance(r, EvidenceRecord) or triple(r) in triples]
    ends = {end: None for s, _, o in triples for end in (s, o)}
    return [*kept, *(created_node(end, UNTYPED) for end in ends)]


class TestAnySplit:
    @pytest.fixture(autouse=True)
    def _on_the_server(self, settings: Neo4jSettings) -> None:
        type(self).settings = settings.model_copy(update={"preserve_case": True})

    @given(
        st.lists(
            graphs(IDS, PREDICATES, TYPES, any_value=VALUES, node={"entity_id": VALUES}).map(
                lambda records: [*map(told_apart, records)]
            ),
            min_size=2,
            max_size=3,
        ),
        st.data(),
    )
    @settings(max_examples=2, phases=WITHOUT_SHRINKING, suppress_health_check=list(HealthCheck))
    async def test_adding_and_removing_gives_what_one_load_of_all_that_stays_gives(
        self, parts: list[list[GraphRecord]], data: st.DataObject
    ) -> None:
        stays: list[GraphRecord] = []
        for place, part in enumerate(parts):
            some = [record for record in stays if data.draw(st.integers(0, 4)) == 0]
            options = LoadOptions(
                LoadMode.APPEND if place else LoadMode.REPLACE, some, create_nodes=True
            )
            report = await load_graph(self.settings, part, options)
            stays = completed([*removed(stays, some), *part])
        backend = await Neo4jBackend.open(self.settings)
        try:
            await assert_agreed(backend, stays, cleaned=clean_metadata)
        finally:
            await backend.close()
        edges = MemoryBackend(stays)._edge_metadata
        assert report.edges == len(edges)
        assert report.evidence == sum(len(evidence_items(e, m)) for e, m in edges.items())
        assert report.nodes == len({r.id for r in stays if isinstance(r, NodeRecord)})
