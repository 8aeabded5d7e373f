"""A key by which the data call the name means `name`, wherever a call names a property."""

import pytest

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.models.name_keys import ANY_TYPE, NameKeys
from bfsql_test_support.tool_calls import read

RECORDS = [
    NodeRecord("s1", "samples", {"name": "DNA"}),
    NodeRecord("s2", "samples", {"name": "RNA"}),
    NodeRecord("s3", "samples"),
    NodeRecord("f1", "Film", {"name": "Heat"}),
    NodeRecord("f2", "Film", {"name": "DNA"}),
    NodeRecord("b1", "Book", {"name": "B", "title": "Heat"}),
    *(EdgeRecord(f"s{n}", "in", "f1", {"material": "tape"}) for n in (1, 2, 3)),
    EdgeRecord("b1", "of", "f1"),
]
KEYS = NameKeys(
    [("samples", "material"), ("Film", "title"), (ANY_TYPE, "label"), (ANY_TYPE, "code")],
    [("Book", "title"), ("Book", "code")],
)


class Store(MemoryBackend):
    def name_keys(self) -> NameKeys:
        return KEYS


def query(seeds, **others):
    return {"seeds": seeds.split(), **others}


WALK = {"seeds": ["f1"], "path": ["<-in- samples"], "show": "ends"}


@pytest.mark.parametrize(
    ("arguments", "ids"),
    [
        (query("samples[material=DNA]"), "s1"),
        (query("samples.material=DNA"), "s1"),
        (query("*[material=DNA]"), "s1"),
        (query("samples|Film[material~NA]"), "s1 s2"),
        ({"seeds": ["samples[no material]"]}, "s3"),
        (query("Film[title=Heat]"), "f1"),
        (query("Book[title=Heat]"), "b1"),
        (query("*[title=Heat]"), "b1"),
        (query("samples:*", where=["samples.material=RNA"]), "s2"),
        (query("*[label=DNA]"), "f2 s1"),
        (query("samples[label=DNA]"), "s1"),
        (query("samples|Book[label~N][material=RNA]"), "s2"),
        (query("f1", where=["label=DNA", "samples.label~A"]), "s1"),
        (query("samples[code=DNA]"), "s1"),
        (query("Book|samples[code=DNA]"), ""),
        (query("Film:*", sort_by="label"), "f2 f1"),
        (query("f1", where=["material=DNA", "in.material=tape"]), "f1 b1 s1"),
        (query("samples:*", sort_by="-material"), "s2 s1 s3"),
        (query("Film:*", sort_by="title"), "f2 f1"),
        (query("f1", path=["<-in- samples[material=DNA]"], show="ends"), "s1"),
        (query("f1", path=["<-in- [material=DNA]"], show="ends"), "s1"),
        (query("f1", path=["<-in[material=DNA]- samples"], show="ends"), ""),
        (query("*:*", where=["-in-> Film[title=Heat]"]), "s1 s2 s3"),
        ({**WALK, "where": ["material=RNA"]}, "s2"),
        ({**WALK, "where": ["1.samples.material=RNA"]}, "s2"),
        ({**WALK, "sort_by": "-material"}, "s2 s1 s3"),
    ],
)
async def test_conditions_and_order_take_the_key(arguments, ids):
    async with open_graph(Store(RECORDS)) as graph:
        answer = await read(graph, "bfs_query", **arguments)
        assert [node["id"] for node in answer["nodes"]] == ids.split()
        assert not any("nothing has" in note.lower() for note in answer.get("notes", ()))


async def test_facets_measures_and_fields_take_the_key():
    async with open_graph(Store(RECORDS)) as graph:
        facets = ["material", "1.samples.material", "1.in.material"]
        asked = {**WALK, "facets": facets, "measure": ["max 1.material"], "fields": ["material"]}
        answer = await read(graph, "bfs_query", **asked)
        assert [answer["facets"][key]["distinct"] for key in facets] == [2, 2, 1]
        assert [node.get("measure") for node in answer["nodes"]] == ["DNA", "RNA", None]
        assert answer["nodes"][0]["metadata"] == {"name": "DNA"}
        assert answer["notes"][0] == 'fields: "material" is the name of samples.'
        two = await read(graph, "bfs_query", seeds=["f1", "b1"], fields=["title"])
        shown = {node["id"]: node["metadata"] for node in two["nodes"]}
        assert (shown["f1"], shown["b1"]) == ({"name": "Heat"}, {"name": "B", "title": "Heat"})
        usage = (await read(graph, "describe_schema"))["tool_usage_notes"]
        assert usage.endswith('"title" is the name of Film. "material" is the name of samples.')


async def test_a_key_means_itself_where_the_store_knows_no_other_name():
    async with open_graph(MemoryBackend(RECORDS)) as graph:
        answer = await read(graph, "bfs_query", seeds=["samples[material=DNA]"])
        assert answer["node_count"] == 0
