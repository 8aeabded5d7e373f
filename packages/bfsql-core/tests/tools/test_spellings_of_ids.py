"""IRIs and short ids for each other; types that only `other_types` hold."""

import pytest

from bfsql import MemoryBackend, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.rdf import may_be_same

RECORDS = [
    NodeRecord("ex:Foo", "Car", {"name": "Foo car", "other_types": ["Vehicle"]}),
    NodeRecord("http://other.org/x#Bar", "Car", {"name": "bar"}),
    NodeRecord("foaf:knows", "Property", {}),
    EdgeRecord("ex:Foo", "tows", "http://other.org/x#Bar"),
]


@pytest.fixture
async def graph():
    async with open_graph(MemoryBackend(RECORDS)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("http://example.org/Foo", "ex:Foo"),
        ("<http://example.org/cars#Foo>", "ex:Foo"),
        ("o:Bar", "http://other.org/x#Bar"),
        ("<http://other.org/x#Bar>", "http://other.org/x#Bar"),
        ("http://xmlns.com/foaf/0.1/knows", "foaf:knows"),
    ],
)
async def test_an_iri_and_a_short_id_are_taken_for_each_other(graph, written, stored):
    answer = await graph.describe_entity(written)
    assert answer.content["id"] == stored
    assert answer.notes[0].startswith(f'"{written}" was taken as {stored} (')
    answer = await graph.call("bfs_query", {"seeds": ["bar"], "to": [written], "limit": 0})
    assert any(f'"{written}" was taken as {stored}' in note for note in answer.notes)


@pytest.mark.parametrize(
    "written", ["schema:Bar", "http://schema.org/Foo", "http://example.org/oo", "http://", "ex:oo"]
)
async def test_another_namespace_or_last_part_is_another_entity(graph, written):
    with pytest.raises(ToolError, match="no entity has the id or the name"):
        await graph.describe_entity(written)


async def test_an_id_that_differs_only_in_case_is_the_closest():
    names = ["D003", "d003", "D003 a", "D003 b", "D003 c"]
    records = [NodeRecord(f"Q{n}", "Gene", {"name": name}) for n, name in enumerate(names)]
    records.append(NodeRecord("MeSH:D003", "Gene", {"name": "mesna"}))
    async with open_graph(MemoryBackend(records)) as graph:
        told = "The closest known ids: MeSH:D003 .*; Q0 "
        for tool, arguments in (
            ("describe_entity", {"id": "mesh:D003"}),
            ("bfs_query", {"seeds": ["MESH:d003"]}),
        ):
            with pytest.raises(ToolError, match=told):
                await graph.call(tool, arguments)


def test_parts_of_ids_are_compared_whole():
    assert may_be_same("dct:title", "http://purl.org/dc/terms/title")
    assert not may_be_same("dct:title", "http://example.org/title")
    assert not may_be_same("a:x", "b:x")


@pytest.mark.parametrize(
    "arguments",
    [
        {"seeds": ["Vehicle"]},
        {"seeds": ["ex:Foo"], "to": ["Vehicle"]},
        {"seeds": ["Vehicle:*"]},
        {"seeds": ["Vehicle[name=x]"]},
        {"seeds": ["ex:Foo"], "to": ["Vehicle:*"]},
        {"seeds": ["ex:Foo"], "path": ["-tows-> Vehicle"]},
        {"seeds": ["ex:Foo"], "path": ["-tows-> Vehicle[name=x]"]},
        {"seeds": ["ex:Foo"], "where": ["no -tows-> Vehicle"]},
    ],
)
async def test_a_type_among_other_types_is_an_error_that_gives_its_pattern(graph, arguments):
    with pytest.raises(ToolError) as error:
        await graph.call("bfs_query", arguments)
    told = '"Vehicle" is not an entity_type, only one of the other_types of some entities.'
    assert told in str(error.value)
    assert "*[other_types=Vehicle]" in str(error.value)
    answer = await graph.call("bfs_query", {"seeds": ["*[other_types=Vehicle]"]})
    assert [node["id"] for node in answer.content["nodes"]] == ["ex:Foo"]
