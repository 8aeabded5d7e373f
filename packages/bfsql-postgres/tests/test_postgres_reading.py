"""The schema as the pipeline leaves it, and ids and values that databases are not made for."""

import json

import pytest

from bfsql.errors import StoreError, ToolError
from bfsql.graph import open_graph
from bfsql.models import Edge
from bfsql_test_support.case_table import case_table

SMALLEST = """
DROP TABLE IF EXISTS entity, relationship;
CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text);
CREATE TABLE relationship (subject_id text, predicate text, object_id text);
"""


async def test_two_tables_with_what_is_needed_are_a_graph(owner, opened):
    await owner.execute(
        SMALLEST + "INSERT INTO entity VALUES ('a', 'T'), ('b', NULL);"
        "INSERT INTO relationship VALUES ('a', 'p', 'b')"
    )
    backend = await opened()
    assert await backend.edges_to("b") == [Edge("a", "p", "b")]
    assert await backend.metadata_for_node("a") == {}
    assert await backend.metadata_for_edge(Edge("a", "p", "b")) == {}
    assert await backend.provenance_for_node("a", 5) == {"total": 0, "items": []}
    assert [stub.id for stub in await backend.search_entities("A")] == ["a"]
    assert await backend.entity_types() == ["T", "owl:Thing"]


async def test_a_merged_entity_is_not_there_and_its_edges_are_counted_in_a_note(owner, opened):
    await owner.execute("""
        CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text, name text, status text);
        CREATE TABLE relationship (subject_id text, predicate text, object_id text);
        INSERT INTO entity VALUES ('a', 'T', 'one', NULL), ('b', 'T', 'two', 'canonical'),
            ('gone', 'Old', 'one', 'merged');
        INSERT INTO relationship VALUES ('a', 'p', 'b'), ('a', 'p', 'gone'), ('gone', 'p', 'b');
    """)
    backend = await opened()
    assert await backend.get_nodes_batch(["gone", "a"]) == [("a", "T", {})]
    assert await backend.edges_batch(["gone"]) == []
    assert {tuple(e) for e in await backend.edges_batch(["a"])} == {
        ("a", "p", "b"), ("a", "p", "gone")
    }  # fmt: skip
    with pytest.raises(KeyError):
        await backend.edges_from("gone")
    assert await backend.entity_types() == ["T"]
    assert [stub.id for stub in await backend.search_entities("one")] == ["a"]
    assert await backend.search_entities("gone") == []
    async with open_graph(backend) as graph:
        content = (await graph.bfs_query(["a"], max_hops=2)).content
    assert content["node_count"] == 2
    assert content["edge_count"] == 1
    assert any("2" in note for note in content["notes"])


@pytest.mark.parametrize("kind", ["json", "jsonb"])
async def test_properties_come_up_beside_the_columns(owner, opened, kind):
    await owner.execute(f"""
        CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text, name text,
            confidence float8, synonyms {kind}, properties {kind}, created_at timestamptz);
        CREATE TABLE relationship (id uuid DEFAULT gen_random_uuid(), subject_id text,
            predicate text, object_id text, confidence float8, source_documents {kind},
            properties {kind});
        INSERT INTO entity VALUES
            ('a', 'T', 'Ada', 0.5, '["Countess"]',
             '{{"x": 1, "name": "other", "big": 123456789012345678901,
                "synonyms": ["Countess", "A. L."]}}',
             '2026-03-19T02:45:51.743541Z'),
            ('b', 'T', NULL, NULL, NULL, '[1, "no object"]', NULL),
            ('c', 'T', NULL, NULL, 'null', 'null', NULL),
            ('d', 'T', 'Dee', NULL, '[]', '{{"synonyms": ["Fourth \\"letter\\""]}}', NULL);
        INSERT INTO relationship (subject_id, predicate, object_id, confidence, source_documents,
            properties) VALUES ('a', 'p', 'b', 0.5, '["P1"]', '{{"x": 1}}'),
            ('a', 'p', 'b', 0.75, '["P2"]', '{{"x": 2, "confidence": 3}}');
    """)
    backend = await opened()
    found = await backend.metadata_for_nodes_batch(["a", "b", "c", "d"])
    assert found["a"] == {
        "name": "Ada",
        "confidence": 0.5,
        "synonyms": ["Countess", "A. L."],
        "created_at": "2026-03-19T02:45:51.743541+00:00",
        "x": 1,
        "properties.name": "other",
        "big": 123456789012345678901,
    }
    assert found["b"] == {"properties": [1, "no object"]}
    assert {k: v for k, v in found["c"].items() if v is not None} == {}
    assert await backend.metadata_for_edge(Edge("a", "p", "b")) == {
        "confidence": 0.75,
        "confidences": [0.5, 0.75],
        "multiplicity": 2,
        "properties.confidence": 3,
        "source_documents": ["P1", "P2"],
        "x": [1, 2],
    }
    for query, best in (("countess", "a"), ('fourth "letter"', "d"), ("LETTER", "d")):
        assert [stub.id for stub in await backend.search_entities(query)] == [best]


async def test_json_that_functions_of_the_server_refuse_is_read(owner, opened):
    await owner.execute(
        SMALLEST + "ALTER TABLE entity ADD properties json, ADD name text;"
        "ALTER TABLE relationship ADD properties json;"
        """INSERT INTO entity VALUES ('a', 'T', '{"x": "\\u0000", "y": "\\ud800"}', 'one');"""
        """INSERT INTO relationship VALUES ('a', 'p', 'a', '{"provenance": ["\\u0000"]}')"""
    )
    backend = await opened()
    assert await backend.metadata_for_node("a") == {"name": "one", "x": "\0", "y": "\ud800"}
    assert (await backend.provenance_for_node("a", 5))["total"] == 1
    assert [stub.id for stub in await backend.search_entities("one")] == ["a"]


async def test_evidence_of_both_layouts_joins(owner, opened):
    await owner.execute("""
        CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text);
        CREATE TABLE relationship (id uuid PRIMARY KEY, subject_id text, predicate text,
            object_id text, source_documents json, properties json);
        CREATE TABLE bundle_evidence (id serial, relationship_key text, document_id text,
            section text, text_span text, confidence float8, supports boolean);
        CREATE TABLE evidence (id serial, relationship_id uuid, paper_id text, evidence_type text,
            confidence_score float8, metadata_ jsonb);
        INSERT INTO entity VALUES ('a:1', 'T'), ('b:2', 'T'), ('P3', 'paper');
        INSERT INTO relationship VALUES
            ('00000000-0000-0000-0000-000000000001', 'a:1', 'p:q', 'b:2', '["P3"]',
             '{"provenance": [{"section": "abstract", "sentence": "third",
                "citation_markers": []}]}');
        INSERT INTO bundle_evidence VALUES (1, 'a:1:p:q:b:2', 'P1', NULL, 'first', 0.5, true),
            (2, 'a:1:p:q:b:2:no', 'P1', NULL, 'other', 0.5, true);
        INSERT INTO evidence VALUES (1, '00000000-0000-0000-0000-000000000001', 'P2', 'direct',
            0.25, '{"text_span": "second", "confidence": 1}');
    """)
    backend = await opened()
    metadata = await backend.metadata_for_edge(Edge("a:1", "p:q", "b:2"))
    assert metadata["provenance"] == [
        {"document_id": "P1", "text_span": "first", "confidence": 0.5, "supports": True},
        {
            "document_id": "P2",
            "text_span": "second",
            "confidence": 0.25,
            "evidence_type": "direct",
            "metadata_.confidence": 1,
        },
        {"document_id": "P3", "section": "abstract", "text_span": "third"},
    ]
    assert (await backend.provenance_for_node("a:1", 2))["total"] == 3
    third = await backend.provenance_for_node("P3", 2)
    assert [item["text_span"] for item in third["items"]] == ["third"]


async def test_mentions_are_counted_where_entities_bring_no_count(owner, opened):
    await owner.execute(
        SMALLEST + "CREATE TABLE bundle_mention (entity_id text, document_id text);"
        "INSERT INTO entity VALUES ('a', 'T'), ('b', 'T');"
        "INSERT INTO bundle_mention VALUES ('a', 'P2'), ('a', 'P1'), ('a', 'P2')"
    )
    backend = await opened()
    assert await backend.metadata_for_nodes_batch(["a", "b"]) == {
        "a": {"total_mentions": 3, "supporting_documents": ["P1", "P2"]},
        "b": {},
    }


@case_table("kind", ["vector(100)", "float4[]", "float8[]", "json", "jsonb", "text"])
async def test_an_embedding_is_reported_by_its_length_whatever_its_type(owner, opened, kind):
    await owner.execute(SMALLEST + f"ALTER TABLE entity ADD embedding {kind}")
    numbers = json.dumps([0.5] * 100)
    text = "{" + numbers[1:-1] + "}" if kind.endswith("[]") else numbers
    await owner.execute(f"INSERT INTO entity VALUES ('a', 'T', '{text}'), ('b', 'T', NULL)")
    backend = await opened()
    assert await backend.metadata_for_nodes_batch(["a", "b"]) == {
        "a": {"embedding": "[embedding: 100 numbers]"},
        "b": {},
    }


async def test_other_names_are_a_setting(owner, opened):
    await owner.execute("""
        CREATE TABLE node (id text PRIMARY KEY, entity_type text, label text);
        CREATE TABLE link (subject_id text, verb text, object_id text, id int);
        INSERT INTO node VALUES ('a', 'T', 'Ada'); INSERT INTO link VALUES ('a', 'knows', 'a', 3);
    """)
    backend = await opened(
        names={
            "entity": "node",
            "entity.entity_id": "id",
            "entity.name": "label",
            "relationship": "link",
            "relationship.predicate": "verb",
        }
    )
    assert await backend.metadata_for_node("a") == {"name": "Ada"}
    assert await backend.edges_from("a") == [Edge("a", "knows", "a")]


async def test_what_is_not_there_or_may_not_be_read_is_one_error(owner, opened, database, schema):
    with pytest.raises(StoreError, match="it has no tables") as nothing:
        await opened()
    assert "'entity' with the columns 'entity_id', 'entity_type'" in str(nothing.value)
    assert "'relationship'" in str(nothing.value)
    await owner.execute(SMALLEST.replace("entity_type", "kind"))
    with pytest.raises(StoreError, match="no column 'entity_type'; it has 'entity_id', 'kind'"):
        await opened()
    await owner.execute(
        f"ALTER TABLE entity RENAME kind TO entity_type;"
        f"REVOKE SELECT ON relationship FROM {database.reader}"
    )
    with pytest.raises(StoreError, match=r"GRANT SELECT ON .*relationship.* TO"):
        await opened()
    with pytest.raises(StoreError, match="no schema 'nowhere'"):
        await opened(schema="nowhere")


RING = [("a", "p", "b")]
both_ways = case_table("pooled", {"direct": False, "pooled": True})

STRANGE = [
    "\0",
    "a\0",
    "\0a",
    "\ud800",
    "a\udfff",
    "\udfff\ud800",
    "",
    " ",
    "a" * 100_000,
    "%",
    "'",
]


@both_ways
async def test_ids_that_no_text_can_be_are_unknown(small, pooled):
    backend = await small(pooled=pooled)
    asked = [*STRANGE, "a", *STRANGE]
    assert [node.id for node in await backend.get_nodes_batch(asked)] == ["a"]
    assert {tuple(edge) for edge in await backend.edges_batch(asked)} == set(RING)
    assert list(await backend.metadata_for_nodes_batch(asked)) == ["a"]
    triples = [(s, p, o) for one in STRANGE for s, p, o in ((one, "p", "b"), ("a", one, "b"))]
    assert list(await backend.metadata_for_edges_batch([*triples, *RING])) == RING
    for one in STRANGE:
        for ask in (backend.get_node, backend.metadata_for_node, backend.edges_from):
            with pytest.raises(KeyError):
                await ask(one)
        with pytest.raises(KeyError):
            await backend.metadata_for_edge(Edge("a", one, "b"))
        assert await backend.provenance_for_node(one, 5) == {"total": 0, "items": []}
        assert isinstance(await backend.search_entities(one, [one]), list)
    async with open_graph(backend) as graph:
        for one in ("a\0", "\ud800"):
            with pytest.raises(ToolError) as unknown:
                await graph.bfs_query([one], max_hops=1)
            assert unknown.value.kind in {"unknown_entity", "bad_value"}


@both_ways
async def test_65536_ids_are_one_question(small, pooled):
    backend = await small(pooled=pooled)
    ids = [f"no such id {n}" for n in range(65_533)] + ["a", "b", "c"]
    assert len(ids) == 65_536
    assert sorted(node.id for node in await backend.get_nodes_batch(ids)) == ["a", "b", "c"]
    assert {tuple(edge) for edge in await backend.edges_batch(ids)} == {*RING, ("b", "p", "c")}
    assert sorted(await backend.metadata_for_nodes_batch(ids)) == ["a", "b", "c"]
    triples = [("a", f"no such predicate {n}", "b") for n in range(65_535)] + RING
    assert list(await backend.metadata_for_edges_batch(triples)) == RING
