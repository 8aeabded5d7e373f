"""Loading: what is written, what is refused, and what remains after a failed load."""

from dataclasses import replace

import pytest

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_gremlin import GremlinSettings
from bfsql_gremlin.load import loader, rows
from bfsql_gremlin.load.loader import load_graph
from bfsql_gremlin.plugin import plugin
from bfsql_testing import EVERYTHING, Kind, LoaderSuite

IDS = "g.V().values('entity_id')"
COUNT = "g.E().count()"
DESCRIBED = "g.V().order().by('entity_id').map { [it.get().label(), it.get().keys().sort()] }"
GRAPH: list[GraphRecord] = [
    NodeRecord("a", "Small Molecule", {"name": "one", "synonyms": ["uno"], "dose": 1, "n": None}),
    NodeRecord("b", "Drug", {"name": "two", "dose": 2, "entity_id": "another"}),
    EdgeRecord("a", "TREATS", "b", {"confidence": 0.5, "how": {"dose": 1}}),
    EvidenceRecord("a", "TREATS", "b", {"text_span": "It does.", "document_id": "a"}),
]


class TestTinkerGraph(LoaderSuite):
    plugin = replace(plugin, load=load_graph)  # which another process can import
    keeps = EVERYTHING - {Kind.DANGLING_EDGES, Kind.LONG_IDS, Kind.NUL_CHARACTERS, Kind.BINARY}
    whole_or_nothing = False
    cancelled_note = "No vertex in it has been changed."

    @pytest.fixture
    def settings(self, tinkergraph):
        return GremlinSettings(uri=[tinkergraph.uri])

    @pytest.fixture
    def contents(self, settings, script):
        async def contents():
            return sorted(await script(settings, IDS))

        return contents


@pytest.fixture(params=["tinkergraph", "janusgraph"])
def settings(request):
    """Settings of each engine."""
    return GremlinSettings(uri=[request.getfixturevalue(request.param).uri])


async def test_types_are_labels_and_what_is_not_of_one_kind_is_json(settings, script):
    report = await load_graph(settings, GRAPH)
    assert (report.nodes, report.edges, report.evidence) == (2, 1, 1)
    nodes = await script(settings, DESCRIBED)
    assert nodes == [
        ["Small Molecule", ["dose", "entity_id", "name", "provenance__edges", "synonyms__json"]],
        ["Drug", ["dose", "entity_id", "entity_id__json", "name"]],
    ]
    assert sorted(await script(settings, "g.V().values('dose')")) == [1, 2]
    values = await script(settings, "g.E().valueMap()")
    assert values[0] | {"provenance__json": ""} == {
        "confidence": 0.5,
        "how__json": '{"dose":1}',
        "provenance__json": "",
    }


async def test_a_batch_whose_answer_is_lost_is_written_once(settings, script, monkeypatch):
    """Of vertices, because they are looked up first; of edges, because the last one is."""
    sent = {"nodes": 0, "edges": 0}
    write_nodes = loader.GremlinWriter._write_nodes

    async def twice(self, batch):
        sent["nodes"] += 1
        await write_nodes(self, batch)
        return await write_nodes(self, batch)

    async def lost(self, traversal, *, again=True):
        found = await rows_of(self, traversal, again=again)
        if not again and not sent["edges"]:
            sent["edges"] += 1
            raise StoreUnavailable("the answer was lost")
        return found

    rows_of = loader.Client.rows
    monkeypatch.setattr(loader.GremlinWriter, "_write_nodes", twice)
    monkeypatch.setattr(loader.Client, "rows", lost)
    await load_graph(settings, GRAPH)
    assert sent == {"nodes": 1, "edges": 1}
    assert sorted(await script(settings, IDS)) == ["a", "b"]
    assert await script(settings, COUNT) == [1]


async def test_a_load_that_ends_early_says_what_is_there_and_what_to_run(
    settings, script, monkeypatch
):
    monkeypatch.setattr(rows, "NODES", 10)
    write_nodes = loader.GremlinWriter._write_nodes

    async def third_fails(self, batch):
        if self._written[0] == 20:
            raise StoreUnavailable("The server went away.")
        return await write_nodes(self, batch)

    monkeypatch.setattr(loader.GremlinWriter, "_write_nodes", third_fails)
    with pytest.raises(StoreError, match=r"20 of 50 vertices and 0 of 0 edges .* --replace"):
        await load_graph(settings, [NodeRecord(f"n{i}", "T") for i in range(50)])
    assert len(await script(settings, IDS)) == 20
    monkeypatch.undo()
    await load_graph(settings, GRAPH)
    assert sorted(await script(settings, IDS)) == ["a", "b"]


async def test_ids_of_the_engine_cannot_be_loaded(settings):
    own = settings.model_copy(update={"id_property": "~id"})
    with pytest.raises(StoreError, match="Name a property with --id-property"):
        await load_graph(own, GRAPH)


async def test_what_a_label_of_janusgraph_cannot_be_is_refused_by_the_record(janusgraph):
    settings = GremlinSettings(uri=[janusgraph.uri])
    report = await load_graph(
        settings,
        [
            *GRAPH,
            NodeRecord("c", 'a "quoted" type'),
            NodeRecord("d", "~hidden"),
            EdgeRecord("a", "name", "b"),
            EdgeRecord("a", "key", "b"),
            EdgeRecord("a", "", "b"),
        ],
    )
    assert (report.nodes, report.edges, report.refused) == (2, 1, 5)
    told = " ".join(map(str, report.refusals))
    for reason in ("a quotation mark or a brace", "begins with ~", "also the name of a property"):
        assert reason in told


async def test_a_property_of_another_type_in_the_schema_of_janusgraph_is_json(janusgraph, script):
    """JanusGraph fixes the type of a property for ever."""
    settings = GremlinSettings(uri=[janusgraph.uri])
    for value in (7, "seven"):
        await load_graph(settings, [NodeRecord("a", "T", {"seven": value})])
    assert await script(settings, "g.V().valueMap()") == [
        {"entity_id": ["a"], "seven__json": ['"seven"']}
    ]
