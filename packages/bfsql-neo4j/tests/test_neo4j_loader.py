"""Loading: what is written, what is refused, and what remains after a failed load."""

import asyncio
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import pytest

from bfsql.errors import LoadRefused, StoreError, StoreUnavailable
from bfsql.loading.intake import Worker
from bfsql.loading.staging import PRAGMAS, Staging
from bfsql.models import EdgeRecord, EvidenceRecord, LoadReport, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.load.loader import load_graph
from bfsql_neo4j.load.rows import BATCH, BATCH_BYTES, MAX_ID_BYTES, PLAIN, GraphRows, check
from bfsql_neo4j.plugin import plugin
from bfsql_neo4j.values import from_properties
from bfsql_test_support.case_table import case_table
from bfsql_test_support.servers.process import PAUSE
from bfsql_test_support.suites.loading import traced_memory
from bfsql_testing import EVERYTHING, Kind, LoaderSuite

OLD = [NodeRecord("old", "Old", {"name": "what was there"})]


def many(number):
    for n in range(number):
        yield NodeRecord(f"n{n}", "Many", {"name": f"number {n}"})
        yield EdgeRecord(f"n{n}", "AFTER", f"n{max(n - 1, 0)}")


async def ids(cypher):
    return sorted(i for (i,) in await cypher("MATCH (n) RETURN n.entity_id"))


async def index_texts(cypher):
    rows = await cypher(
        "SHOW INDEXES YIELD type, labelsOrTypes, properties, state "
        "WHERE type <> 'LOOKUP' AND state = 'ONLINE' RETURN type, labelsOrTypes, properties"
    )
    return sorted((kind, sorted(labels), sorted(names)) for kind, labels, names in rows)


@pytest.fixture
def load(settings):
    return lambda records: load_graph(settings, records)


class TestLoads(LoaderSuite):
    plugin = replace(plugin, load=load_graph)  # which another process can import
    keeps = EVERYTHING - {Kind.BINARY, Kind.DANGLING_EDGES, Kind.LONG_IDS, Kind.NUL_CHARACTERS}
    whole_or_nothing = False
    cancelled_note = "No node in it has been changed."

    @pytest.fixture
    def settings(self, settings):
        return settings

    @pytest.fixture
    def contents(self, cypher):
        return lambda: ids(cypher)


# --- what is written ----------------------------------------------------------


async def test_types_are_labels_predicates_are_types_and_metadata_is_properties(load, cypher):
    report = await load(
        [
            EdgeRecord("a", "TREATS", "b", {"confidence": 0.5, "how": {"dose": 1}}),
            NodeRecord("a", "Small Molecule", {"name": "one", "synonyms": ["uno"], "n": None}),
            NodeRecord("a", "Drug", {"name": "eins"}),
            NodeRecord("b", "", {"entity_id": "another id", "x__json": "text"}),
        ]
    )
    assert replace(report, place="") == LoadReport(
        nodes=2,
        edges=1,
        duplicate_nodes=1,
        retyped_nodes=1,
        retyped_examples=["a (Small Molecule, Drug)"],
    )
    nodes = await cypher("MATCH (n) RETURN labels(n), properties(n) ORDER BY n.entity_id")
    assert nodes[0] == [
        ["Small Molecule"],
        {"entity_id": "a", "name": "one", "synonyms": ["eins", "uno"], "other_types": ["Drug"]},
    ]
    assert nodes[1] == [
        ["owl:Thing"],
        {"entity_id": "b", "entity_id__json": '"another id"', "x__json__json": '"text"'},
    ]
    edges = await cypher(
        "MATCH (a)-[r]->(b) RETURN a.entity_id, type(r), b.entity_id, properties(r)"
    )
    assert edges == [["a", "TREATS", "b", {"confidence": 0.5, "how__json": '{"dose":1}'}]]


@case_table("name", ["\\u0060) x", "\\u0041", "\\\\u0041", "`\\", "\\u005cu0060"])
async def test_what_cypher_would_unescape_in_a_name_stays_as_it_is(load, cypher, name):
    await load([NodeRecord("a", name), EdgeRecord("a", name, "a", {name: 1})])
    assert await cypher("MATCH (n)-[r]->() RETURN labels(n), type(r), properties(r)") == [
        [[name], name, {name: 1}]
    ]


async def test_parallel_records_are_parallel_relationships_and_evidence_joins_the_first(
    load, cypher
):
    report = await load(
        [
            EvidenceRecord("a", "P", "b", {"document_id": "d1", "text_span": "so"}),
            NodeRecord("a", "A"),
            NodeRecord("b", "A"),
            EdgeRecord("a", "P", "b", {"n": 1, "provenance": [{"text_span": "own"}]}),
            EdgeRecord("a", "P", "b", {"n": 2, "provenance": "said"}),
            EvidenceRecord("a", "Q", "b", {"text_span": "of no edge"}),
            EvidenceRecord("a", "P", "gone", {"text_span": "of an edge that is kept out"}),
            EdgeRecord("a", "P", "gone"),
        ]
    )
    assert (report.edges, report.duplicate_edges) == (1, 1)
    assert (report.evidence, report.unattached_evidence) == (3, 2)
    assert (report.dangling_edges, report.dangling_examples) == (1, ["gone"])
    rows = await cypher("MATCH ()-[r]->() RETURN properties(r) ORDER BY r.n")
    first, second = (from_properties(properties) for (properties,) in rows)
    assert second == {"n": 2}
    assert sorted(item["text_span"] for item in first["provenance"]) == ["own", "said", "so"]


async def test_what_a_document_supplied_is_found_by_its_id(load, cypher):
    await load(
        [
            NodeRecord("a", "A"),
            EdgeRecord("a", "P", "a", {"provenance": [{"document_id": "doc: 1/a b"}]}),
            EdgeRecord("a", "Q", "a", {"provenance__documents": ["the record's own"]}),
            EvidenceRecord("a", "Q", "a", {"document_id": "doc: 2"}),
            EvidenceRecord("a", "Q", "a", {"document_id": "longer than any id" * 5_000}),
            EvidenceRecord("a", "Q", "a", {"document_id": {"unhashable": "and no id"}}),
            EvidenceRecord("a", "Q", "a", {"document_id": "half \ud800"}),
            EvidenceRecord("a", "P", "a", {"document_id": "doc: 2", "text_span": "so"}),
        ]
    )
    found = (
        "CALL db.index.fulltext.queryRelationships('entity_evidence', $document) "
        "YIELD relationship AS r RETURN type(r) AS kind, properties(r) ORDER BY kind"
    )
    ((kind, properties),) = await cypher(found, document=r"doc\:\ 1\/a\ b")
    assert kind == "P"
    assert from_properties(properties).keys() == {"provenance"}
    rows = await cypher(found, document=r"doc\:\ 2")
    assert [kind for kind, _ in rows] == ["P", "Q"]
    assert from_properties(rows[1][1])["provenance__documents"] == ["the record's own"]
    assert await cypher(found, document="doc") == []


async def test_an_empty_graph_leaves_an_empty_database(load, cypher, emptied):
    await load(OLD)
    assert replace(await load([]), place="") == LoadReport()
    assert await ids(cypher) == []
    assert await index_texts(cypher) == []


async def test_many_records_are_written_in_many_transactions(load, cypher, monkeypatch):
    monkeypatch.setattr("bfsql_neo4j.load.rows.BATCH", 500)
    number = 2 * 500 + 7
    report = await load(many(number))
    assert (report.nodes, report.edges) == (number, number)
    assert await cypher("MATCH (n) RETURN count(n), count(DISTINCT n.entity_id)") == [
        [number, number]
    ]
    assert await cypher("MATCH ()-[r:AFTER]->() RETURN count(r)") == [[number]]


async def test_ids_go_where_the_settings_look_for_them(settings, cypher, emptied):
    by_label = settings.model_copy(update={"id_property": ["Person=name", "Person=x", "title"]})
    await load_graph(
        by_label,
        [NodeRecord("Keanu", "Person", {"name": "K. Reeves"}), NodeRecord("Matrix", "Movie")],
    )
    assert sorted(await cypher("MATCH (n) RETURN labels(n), properties(n)")) == [
        [["Movie"], {"title": "Matrix"}],
        [["Person"], {"name": "Keanu", "name__json": '"K. Reeves"'}],
    ]
    assert ("RANGE", ["Movie"], ["title"]) in await index_texts(cypher)
    assert ("RANGE", ["Person"], ["name"]) in await index_texts(cypher)


async def test_a_label_without_a_place_for_its_ids_is_reported_before_anything_is_written(
    settings, load, cypher
):
    await load(OLD)
    people = settings.model_copy(update={"id_property": ["Person=name"]})
    with pytest.raises(StoreError, match="has no property for the label 'Movie'"):
        await load_graph(people, [NodeRecord("Matrix", "Movie")])
    assert await ids(cypher) == ["old"]


# --- indexes ------------------------------------------------------------------


async def test_ids_and_names_are_indexed_and_indexes_of_a_former_load_are_gone(
    load, cypher, emptied
):
    await load(OLD)
    await cypher("CREATE INDEX mine FOR (n:Old) ON (n.born)")
    await load([NodeRecord("a", "A", {"title": "x"}), NodeRecord("b", "B", {"synonyms": ["y"]})])
    texts = await index_texts(cypher)
    assert [text for text in texts if text[0] == "RANGE"] == [
        ("RANGE", ["A"], ["entity_id"]),
        ("RANGE", ["B"], ["entity_id"]),
        ("RANGE", ["Old"], ["born"]),
    ]
    ((_, labels, names),) = [text for text in texts if text[0] == "FULLTEXT"]
    assert labels == ["A", "B"]
    assert {"title", "synonyms", "entity_id"} <= set(names)
    found = "CALL db.index.fulltext.queryNodes('entity_names', $q) YIELD node RETURN node.entity_id"
    assert await cypher(found, q="y") == [["b"]]


# --- what is refused ----------------------------------------------------------


async def test_what_neo4j_cannot_hold_is_refused_by_the_record_and_the_rest_is_loaded(load, cypher):
    deep = []
    deep.append(deep)
    report = await load(
        [
            NodeRecord("fine", "A", {"\ud800": "\ud800", "": 1, "a\0": 2}),
            NodeRecord("half \ud800", "A"),
            NodeRecord("half", "A\ud800"),
            NodeRecord("nul", "A\0"),
            NodeRecord("x" * (MAX_ID_BYTES + 1), "A"),
            NodeRecord("x" * MAX_ID_BYTES, "A"),
            NodeRecord("deep", "A", {"k": deep}),
            EdgeRecord("fine", "", "fine"),
            EdgeRecord("fine", "P\0", "fine"),
            EdgeRecord("fine", "P", "fine\ud800"),
            EvidenceRecord("fine", "P\ud800", "fine", {}),
        ]
    )
    assert await ids(cypher) == ["fine", "x" * MAX_ID_BYTES]
    assert report.refused == 9
    told = [str(refusal) for refusal in report.refusals]
    assert all(text.isascii() and len(text) < 500 for text in told)
    for words, number in [
        ("half of a surrogate pair", 4),
        ("contains U+0000", 2),
        ("8,001 bytes", 1),
        ("or contains itself", 1),
        ("predicate is empty", 1),
    ]:
        assert sum(words in text for text in told) == number, words


@case_table("mode", [LoadMode.NEW, LoadMode.APPEND])
async def test_a_database_with_nodes_is_filled_only_when_that_is_asked_for(
    mode, settings, load, cypher
):
    await load([*OLD, EdgeRecord("old", "P", "old"), EdgeRecord("old", "P", "old")])
    with pytest.raises(LoadRefused) as caught:
        await load_graph(settings, many(3), LoadOptions(mode))
    assert "already contains a graph of 1 node and 1 edge. --replace deletes" in str(caught.value)
    assert "load into another database (--database) or server (--uri)." in str(caught.value)
    await cypher("MATCH (n) DETACH DELETE n")
    report = await load_graph(settings, many(3), LoadOptions(mode))
    assert (report.nodes, report.place) == (3, settings.uri)


# --- interrupted loads ----------------------------------------------------------


async def test_a_constraint_that_the_graph_breaks_is_reported_with_what_is_there(
    load, cypher, emptied
):
    await cypher("CREATE CONSTRAINT one_name FOR (n:B) REQUIRE n.name IS UNIQUE")
    twins = [NodeRecord(str(n), "B", {"name": "twin"}) for n in range(2)]
    with pytest.raises(StoreError) as caught:
        await load([NodeRecord("a", "A"), *twins])
    assert "has a constraint that this graph violates" in str(caught.value)
    assert "of the new graph, 1 of 3 nodes and 0 of 0 relationships are in" in str(caught.value)
    assert "was there before" not in str(caught.value)
    assert "replace" in str(caught.value)
    assert await ids(cypher) == ["a"]
    await cypher("DROP CONSTRAINT one_name")
    assert (await load(twins)).nodes == 2


async def test_a_full_disk_is_reported(load, cypher, monkeypatch):
    await load(OLD)
    limit = "PRAGMA page_size = 512; PRAGMA max_page_count = 100;"
    monkeypatch.setattr("bfsql.loading.staging.PRAGMAS", limit + PRAGMAS)
    with pytest.raises(StoreError, match=r"in a temporary file: .* full") as caught:
        await load(many(50_000))
    assert str(caught.value).endswith("No node in it has been changed.")
    assert await ids(cypher) == ["old"]


async def test_a_load_that_is_interrupted_on_the_command_line_says_what_is_there(
    settings, load, cypher, tmp_path
):
    await load(OLD)
    source = tmp_path / "many.csv"
    source.write_text("id,type\n" + "".join(f"{n},Many\n" for n in range(2_000)))
    command = ["load", source, "--backend", "neo4j", "--uri", settings.uri, "--replace"]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from bfsql_neo4j.load import rows; rows.BATCH = 20\n"
        "from bfsql.cli import main; main()",
        *command,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    while not (await cypher("MATCH (n:Many) RETURN count(n)"))[0][0]:
        assert process.returncode is None
        await asyncio.sleep(PAUSE)
    process.send_signal(signal.SIGINT)
    said = (await process.communicate())[1].decode()
    assert process.returncode == 130
    incomplete = (
        "Interrupted: The load is incomplete: the previous graph may have been deleted, and "
    )
    assert said.startswith(incomplete)
    assert "of 2,000 nodes and 0 of 0 relationships are in the database" in said
    assert "Load again with --replace" in said
    assert (await load(many(3))).nodes == 3
    assert len(await ids(cypher)) == 3


# --- servers that refuse ------------------------------------------------------


async def test_a_server_that_is_not_there_is_reported():
    with pytest.raises(StoreUnavailable) as caught:
        await load_graph(Neo4jSettings(uri="bolt://127.0.0.1:9"), OLD)
    assert "Neo4j at bolt://127.0.0.1:9 does not answer" in str(caught.value)
    assert "NEO4J_URI" in str(caught.value)


@case_table("uri", ["http://localhost:7474", "localhost:7687", "", "bolt://[::1"])
async def test_an_address_that_is_none_is_reported(uri):
    with pytest.raises(StoreError, match="NEO4J_URI has to look like bolt://localhost:7687"):
        await load_graph(Neo4jSettings(uri=uri), OLD)


async def test_a_database_that_is_not_there_is_reported(settings):
    elsewhere = settings.model_copy(update={"database": "nowhere"})
    with pytest.raises(StoreError, match=r"The database 'nowhere' of Neo4j at .* does not exist"):
        await load_graph(elsewhere, OLD)


async def test_a_wrong_password_is_reported_and_not_shown(guarded_neo4j):
    settings = Neo4jSettings(uri=guarded_neo4j.uri, username="neo4j", password="wrong-secret")
    with pytest.raises(StoreError) as caught:
        await load_graph(settings, OLD)
    assert "rejected the login of 'neo4j'" in str(caught.value)
    assert "wrong-secret" not in str(caught.value)
    with pytest.raises(StoreError, match="rejected the login of users without a password"):
        await load_graph(Neo4jSettings(uri=guarded_neo4j.uri), OLD)


# --- bounds -------------------------------------------------------------------


def staging_of(folder, records, ids_in_memory=BATCH):
    staging = Staging(folder, Worker(), check=check, codec=PLAIN, ids_in_memory=ids_in_memory)
    staging.take(records)
    staging.merge_nodes()
    staging.find_passages()
    return staging


def test_memory_does_not_grow_with_the_records(tmp_path, monkeypatch):
    small = 1_000  # tracing every allocation is slow
    monkeypatch.setattr("bfsql_neo4j.load.rows.BATCH", small)
    monkeypatch.setattr("bfsql.loading.staging.BATCH", small)

    def peak(number):
        folder = tmp_path / str(number)
        folder.mkdir()
        with traced_memory() as most:
            with closing(staging_of(folder, many(number), ids_in_memory=small)) as staging:
                rows = GraphRows(staging)
                for batch in staging.with_own_ids(rows.nodes({"Many": "entity_id"})):
                    staging.note_own_ids([(row[0], str(row[0])) for row in batch.rows])
                assert sum(len(batch.rows) for batch in rows.relationships()) == number
            return most()

    few, more = peak(2 * small), peak(8 * small)
    assert more < 1.3 * few


def test_a_batch_is_bounded_in_rows_and_in_bytes(tmp_path):
    size = BATCH_BYTES // 3 + 1
    nodes = (NodeRecord(str(n), "A", {"text": "x" * size}) for n in range(5))
    with closing(staging_of(tmp_path, nodes)) as staging:
        rows = GraphRows(staging)
        sizes = [len(batch.rows) for batch in rows.nodes({"A": "entity_id"})]
    assert sizes == [2, 2, 1]
