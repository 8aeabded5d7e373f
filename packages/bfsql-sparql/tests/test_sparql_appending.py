"""Appending and removing: the result is that of one load of the remaining records."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from bfsql_trials.appending import SeveralLoads, several_loads
from hypothesis import HealthCheck, Phase, given, settings

from bfsql.errors import ConfigurationError, LoadRefused, SourceError
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_servers.sparql import SparqlServer
from bfsql_sparql import SparqlBackend, SparqlSettings
from bfsql_sparql.loader import load_graph

APPEND = LoadOptions(LoadMode.APPEND)
OTHER = "urn:graph:other"
IDS = ("a", "b", "c", "d")

Held = dict[str, Any]


@pytest.fixture
def server(sparql_server: SparqlServer) -> SparqlServer:
    sparql_server.clear()
    return sparql_server


@pytest.fixture
def there(server: SparqlServer, place: Callable[..., Any]) -> SparqlSettings:
    settings: SparqlSettings = place(server.name).settings
    return settings


async def held(settings: SparqlSettings, ids: Sequence[str] = IDS) -> Held:
    """Everything that the backend returns about some ids."""
    backend = await SparqlBackend.open(settings)
    try:
        nodes = await backend.get_nodes_batch(ids)
        edges = sorted(set(await backend.edges_batch(ids)))
        return {
            "nodes": sorted((node.id, node.entity_type) for node in nodes),
            "metadata": await backend.metadata_for_nodes_batch(ids),
            "edges": await backend.metadata_for_edges_batch(edges),
            "types": await backend.entity_types(),
            "evidence": {id_: await backend.provenance_for_node(id_, 50) for id_ in ids},
        }
    finally:
        await backend.close()


GRAPH: list[GraphRecord] = [
    NodeRecord("a", "T", {"name": "one", "year": 1999}),
    NodeRecord("b", "T", {"name": "two", "synonyms": ["deux"]}),
    EdgeRecord("a", "p", "b", {"confidence": 0.5, "note": "told"}),
    EdgeRecord("b", "q", "a"),
    EvidenceRecord("a", "p", "b", {"document_id": "d", "text_span": "It does."}),
]
MORE: list[GraphRecord] = [
    NodeRecord("a", "U", {"name": "eins", "year": 2000}),
    NodeRecord("c", "", {}),
    EdgeRecord("a", "p", "b", {"confidence": 0.75}),
    EdgeRecord("b", "q", "a"),
    EdgeRecord("b", "p", "c", {"note": "new"}),
    EvidenceRecord("b", "q", "a", {"document_id": "d", "text_span": "It does, too."}),
    EvidenceRecord("a", "p", "b", {"text_span": "It does.", "section": "end"}),
]


async def test_appending_gives_what_one_load_gives(
    server: SparqlServer, there: SparqlSettings
) -> None:
    await load_graph(there, [*GRAPH, *MORE])
    once = await held(there)
    statements = server.count()
    server.load("<urn:old> <urn:is> <urn:there> .", OTHER)
    await load_graph(there, GRAPH)
    report = await load_graph(there, MORE, APPEND)
    assert (report.nodes, report.edges) == (3, 3)
    assert (report.duplicate_nodes, report.duplicate_edges) == (1, 2)
    assert await held(there) == once
    assert server.count() == statements + (server.name == "rdf4j")
    assert server.count(OTHER) == 1


async def test_removing_leaves_what_one_load_of_the_rest_gives(
    server: SparqlServer, there: SparqlSettings
) -> None:
    rest = [GRAPH[1], NodeRecord("c", "T", {"name": "drei"}), EdgeRecord("b", "q", "c", {"n": 1})]
    await load_graph(there, rest)
    once, statements = await held(there), server.count()
    await load_graph(there, [*GRAPH, *rest[1:], EdgeRecord("b", "p", "c", {"n": 2})])
    away = [NodeRecord("a", ""), NodeRecord("ü", ""), EdgeRecord("b", "p", "c")]
    away += [EdgeRecord("b", "p", "b")]
    report = await load_graph(there, [], replace(APPEND, remove=away))
    assert (report.removed_nodes, report.removed_edges, report.not_there) == (1, 3, 2)
    assert report.not_there_examples == ["node '\\xfc'", "edge 'b' 'p' 'b'"]
    assert (report.nodes, report.edges) == (2, 1)
    assert await held(there) == once
    assert server.count() == statements


class TestSeveralLoads:
    """The same for graphs drawn by Hypothesis."""

    @pytest.fixture(autouse=True, scope="class", params=["reification", "rdf-1.2"])
    @classmethod
    def _there(cls, request: pytest.FixtureRequest, place: Callable[..., Any]) -> None:
        cls.there = place("oxigraph", write_statements=request.param).settings

    @given(several_loads(8))
    @settings(
        deadline=None,
        max_examples=6,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    async def test_several_loads_say_what_one_says(self, several: SeveralLoads) -> None:
        # Unless it creates nodes, a load omits edges whose ends come only in a later load.
        several = replace(several, create_nodes=True)
        ids = sorted({id_ for record in several.everything for id_ in ends(record)})
        stays = NodeRecord("stays", "T")  # nothing can be removed from an empty graph
        together = await load_graph(self.there, [stays, *several.everything], several.options())
        once = await held(self.there, ids)
        await load_graph(self.there, [stays])
        for load in several.loads:
            apart = await load_graph(self.there, load.records, several.options(load))
        assert await held(self.there, ids) == once
        assert (apart.nodes, apart.edges) == (together.nodes, together.edges)


def ends(record: GraphRecord) -> tuple[str, ...]:
    return (record.id,) if isinstance(record, NodeRecord) else (record.subject, record.object)


# --- on one server: independent of the server -----------------------------------


@pytest.fixture
def empty(oxigraph: SparqlServer, place: Callable[..., Any]) -> SparqlSettings:
    oxigraph.clear()
    settings: SparqlSettings = place("oxigraph").settings
    return settings


async def test_what_readers_leave_out_of_a_node_stays(
    oxigraph: SparqlServer, empty: SparqlSettings
) -> None:
    label, type_ = "http://www.w3.org/2000/01/rdf-schema#label", "rdf:type"
    old = f'<urn:x> <{label}> "Cologne"@en , "Köln"@de ; <urn:born> "1248-08-15"^^<urn:date> ;'
    oxigraph.update(f"PREFIX rdf: <{RDF}> INSERT DATA {{ {old} {type_} <urn:City>, <urn:A> }}")
    await load_graph(empty, [NodeRecord("urn:x", "", {"note": "here", "name": "Cologne"})], APPEND)
    assert oxigraph.count() == 5 + 2  # the note, and which of the two types counts
    assert oxigraph.ask(f'ASK {{ <urn:x> <{label}> "Köln"@de }}')
    await load_graph(empty, [], replace(APPEND, remove=[NodeRecord("urn:x", "")]))
    assert oxigraph.count() == 0


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


@pytest.mark.parametrize(
    ("name", "form"), [("oxigraph", "rdf-1.2"), ("fuseki", "rdf-1.2"), ("rdf4j", "rdf-star")]
)
async def test_statements_of_each_form_go_with_their_edges(
    name: str, form: str, place: Callable[..., Any]
) -> None:
    there = place(name, write_statements=form)
    there.server.clear()
    few = [NodeRecord("b", "T"), NodeRecord("c", "T"), EdgeRecord("b", "p", "c", {"n": 1})]
    await load_graph(there.settings, few)
    statements = there.server.count()
    more = [
        NodeRecord("a", "T"),
        EdgeRecord("a", "p", "b", {"n": 2}),
        EdgeRecord("c", "p", "a", {"n": 3}),
    ]
    await load_graph(there.settings, [*few, *more, EdgeRecord("c", "p", "b", {"n": 4})])
    away = [NodeRecord("a", ""), EdgeRecord("c", "p", "b")]
    report = await load_graph(there.settings, [], replace(APPEND, remove=away))
    assert (report.removed_nodes, report.removed_edges) == (1, 3)
    assert there.server.count() == statements


async def test_statement_nodes_of_wikibase_go_with_their_edges(
    oxigraph: SparqlServer, empty: SparqlSettings
) -> None:
    base = "http://www.wikidata.org"
    names = f"PREFIX wd: <{base}/entity/> PREFIX wdt: <{base}/prop/direct/> "
    names += f"PREFIX p: <{base}/prop/> PREFIX ps: <{base}/prop/statement/> "
    names += f"PREFIX pq: <{base}/prop/qualifier/> PREFIX s: <{base}/entity/statement/> "
    claim = "wd:{0} wdt:P1 wd:{1} ; p:P1 s:{0}{1} . s:{0}{1} ps:P1 wd:{1} ; pq:P2 'x' . "
    claims = claim.format("Q1", "Q2") + claim.format("Q2", "Q3") + claim.format("Q3", "Q1")
    oxigraph.update(f"{names} INSERT DATA {{ {claims} }}")
    wikibase = empty.model_copy(update={"statements": "wikibase"})
    report = await load_graph(wikibase, [], replace(APPEND, remove=[NodeRecord("wd:Q1", "")]))
    assert report.removed_nodes == 1
    assert oxigraph.count() == 4  # the statements of one claim


async def test_ends_of_edges_are_nodes_without_a_statement(
    oxigraph: SparqlServer, empty: SparqlSettings
) -> None:
    edges = [EdgeRecord("a", "p", "b"), EdgeRecord("b", "p", "c")]
    options = LoadOptions(LoadMode.NEW, create_nodes=True, require_nodes=True)
    report = await load_graph(empty, edges, options)
    assert (report.nodes, report.edges, report.created_nodes) == (3, 2, 3)
    assert oxigraph.count() == 2
    report = await load_graph(
        empty,
        [NodeRecord("b", "T"), EdgeRecord("c", "p", "d")],
        replace(options, mode=LoadMode.APPEND),
    )
    assert (report.nodes, report.created_examples) == (4, ["d"])
    assert oxigraph.count() == 2 + 2
    told = await held(empty)
    assert told["nodes"] == [("a", "owl:Thing"), ("b", "T"), ("c", "owl:Thing"), ("d", "owl:Thing")]


async def test_ends_of_edges_have_a_type_that_is_asked_for(empty: SparqlSettings) -> None:
    options = LoadOptions(LoadMode.NEW, create_nodes=True, default_type="Node")
    await load_graph(empty, [EdgeRecord("a", "p", "b")], options)
    assert (await held(empty))["metadata"] == {"a": {"name": "a"}, "b": {"name": "b"}}
    later = [NodeRecord("a", "T", {"name": "one"})]
    await load_graph(empty, later, replace(options, mode=LoadMode.APPEND))
    told = await held(empty)
    assert told["nodes"] == [("a", "T"), ("b", "Node")]
    assert told["metadata"] == {"a": {"name": "one"}, "b": {"name": "b"}}


@pytest.mark.parametrize("mode", [LoadMode.NEW, LoadMode.APPEND, LoadMode.REPLACE])
async def test_a_graph_that_would_be_worth_nothing_is_refused(
    mode: LoadMode, oxigraph: SparqlServer, empty: SparqlSettings
) -> None:
    options = LoadOptions(mode, require_nodes=True)
    with pytest.raises(LoadRefused, match="all 1 edges dangle"):
        await load_graph(empty, [EdgeRecord("a", "p", "b")], options)
    with pytest.raises(LoadRefused, match="would have no node"):
        await load_graph(empty, [], options)
    assert oxigraph.count() == 0


async def test_nothing_can_be_removed_from_an_empty_graph(empty: SparqlSettings) -> None:
    with pytest.raises(LoadRefused, match=r"is empty\. Name the right graph with --graph"):
        await load_graph(empty, [], replace(APPEND, remove=[NodeRecord("a", "")]))


async def test_only_replacing_asks_no_question(empty: SparqlSettings) -> None:
    blind = empty.model_copy(update={"endpoint": None})
    with pytest.raises(ConfigurationError, match="set endpoint, or SPARQL_ENDPOINT_URL"):
        await load_graph(blind, GRAPH, APPEND)
    assert (await load_graph(blind, GRAPH)).nodes == 2


async def test_a_strict_load_ends_at_what_cannot_be_written(
    oxigraph: SparqlServer, empty: SparqlSettings
) -> None:
    with pytest.raises(SourceError, match="the load is strict"):
        await load_graph(empty, [EdgeRecord("a", "rdf:type", "b")], replace(APPEND, strict=True))
    assert oxigraph.count() == 0


async def test_progress_is_told_to_the_end(empty: SparqlSettings) -> None:
    told: list[tuple[str, float | None]] = []
    await load_graph(empty, GRAPH, replace(APPEND, progress=lambda *one: told.append(one)))
    assert told[-1] == ("writing", 1.0)
