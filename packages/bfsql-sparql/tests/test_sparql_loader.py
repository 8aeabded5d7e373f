"""Loading into real servers: all or nothing, into the right graph, with clear errors."""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from click.testing import CliRunner

from bfsql.cli import bfsql
from bfsql.errors import ConfigurationError, LoadRefused, StoreError, StoreUnavailable
from bfsql.loading import load as load_files
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sparql import SparqlBackend, SparqlSettings
from bfsql_sparql.load import leftovers, loader
from bfsql_sparql.load.loader import load_graph
from bfsql_sparql.plugin import plugin
from bfsql_test_support.servers.bad_replies import refused, reset, results, silence
from bfsql_testing import EVERYTHING, Kind, LoaderSuite

NEW = LoadOptions(LoadMode.NEW)
OLD = "<urn:old> <urn:is> <urn:there> .\n"
OTHER = "urn:graph:other"
GRAPH: list[GraphRecord] = [
    NodeRecord("a", "T", {"name": "one"}),
    NodeRecord("b", "T"),
    EdgeRecord("a", "p", "b", {"note": "told"}),
    EdgeRecord("a", "p", "gone"),
    EvidenceRecord("a", "p", "b", {"document_id": "b", "text_span": "It does."}),
]


@pytest.fixture
def server(sparql_server):
    """Each of the four servers, with one statement in its graph and one in another."""
    sparql_server.clear()
    sparql_server.load(OLD)
    sparql_server.load(OLD, OTHER)
    return sparql_server


@pytest.fixture
def settings(server, place):
    """Settings that name the server and its graph."""
    given: SparqlSettings = place(server.name).settings
    return given


def is_as_it_was(server):
    """Whether both graphs still hold one statement each, and there is no third graph."""
    graphs = {row["g"] for row in server.select("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")}
    ours = {graph for graph in graphs if "loading" in graph}
    there = f"GRAPH <{server.graph}> {{ {OLD} }}" if server.graph else OLD
    own = server.select(f"SELECT ?s {{ {there} }}") if server.graph else [{}]
    return not ours and len(own) == 1 and server.count(OTHER) == 1 and count(server) == 1


def count(server):
    """Statements in the graph that is loaded into; the default graph of RDF4J is a union."""
    if server.graph is None and server.name == "rdf4j":
        (row,) = server.select(
            "SELECT (COUNT(*) AS ?n) { ?s ?p ?o FILTER NOT EXISTS { GRAPH ?g { ?s ?p ?o } } }"
        )
        hidden = server.ask(f"ASK {{ {OLD} }}")  # the other graph contains it as well
        return int(row["n"]) + hidden
    return server.count()


class TestLoads(LoaderSuite):
    plugin = replace(plugin, load=load_graph)  # which another process can import
    keeps = EVERYTHING - {Kind.BINARY, Kind.DANGLING_EDGES}
    cancelled_note = "Nothing in "

    @pytest.fixture
    def settings(self, empty):
        return empty

    @pytest.fixture
    def contents(self, oxigraph):
        """All statements; blank nodes are not written."""

        async def contents():
            rows = oxigraph.select(
                "SELECT ?g ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"
            )
            return sorted(tuple(row.get(name, "") for name in "gspo") for row in rows)

        return contents


async def test_a_graph_that_is_there_stays_unless_it_is_to_be_replaced(each, server, settings):
    for mode in [LoadMode.NEW, LoadMode.APPEND]:
        with each(mode):
            advice = r"a graph of 2 nodes and 1 edge\. --replace deletes it; to keep it, .* --graph"
            with pytest.raises(LoadRefused, match=advice):
                await load_graph(settings, GRAPH, LoadOptions(mode))
            assert is_as_it_was(server)


async def test_a_load_fills_or_replaces_its_graph_and_no_other(server, settings):
    server.clear()
    server.load(OLD, OTHER)
    report = await load_graph(settings, GRAPH, NEW)  # what other graphs hold is no hindrance
    assert report.nodes == 2
    place = f"the graph <{server.graph}>" if server.graph else "the default graph"
    assert report.place == f"{place} of {server.update_url}"
    server.load(OLD)
    report = await load_graph(settings, GRAPH)
    assert (report.nodes, report.edges, report.evidence, report.dangling_edges) == (2, 1, 1, 1)
    # Two types, a name and an edge; of its statement, three parts, two values and a document.
    assert count(server) == 4 + 6 + (server.name == "rdf4j")
    await load_graph(settings.model_copy(update={"write_statements": "none"}), GRAPH)
    assert count(server) == 4 + (server.name == "rdf4j")
    await load_graph(settings, [])
    assert count(server) == (server.name == "rdf4j")
    assert server.count(OTHER) == 1


async def test_a_load_that_is_cancelled_while_it_writes_takes_back_what_it_wrote(
    server, settings, monkeypatch
):
    monkeypatch.setattr(loader, "STATEMENTS", 1)
    monkeypatch.setattr(loader, "IN_TEMPLATE", 1)
    written = asyncio.Event()
    write = loader.SparqlWriter._insert

    async def watched(self, *arguments):
        await write(self, *arguments)
        written.set()

    monkeypatch.setattr(loader.SparqlWriter, "_insert", watched)
    many = [NodeRecord(f"n:{number}", "T") for number in range(2_000)]
    task = asyncio.ensure_future(load_graph(settings, many))
    await asyncio.wait_for(written.wait(), 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await task
    assert cancelled.value.__notes__[0].startswith("Nothing in ")
    assert is_as_it_was(server)


async def test_updates_are_as_large_as_virtuoso_takes_them(virtuoso, place, monkeypatch):
    monkeypatch.setattr(loader, "IN_TEMPLATE", 8_000)  # more than the server accepts
    virtuoso.clear()
    many = [NodeRecord(f"n:{number}", "T", {"name": "x" * 100}) for number in range(3_000)]
    report = await load_graph(place("virtuoso").settings, many)
    assert report.nodes == 3_000
    assert virtuoso.count() == 6_000


async def test_iris_of_files_are_the_iris_of_the_store(server, settings, tmp_path):
    file = tmp_path / "g.ttl"
    file.write_text(
        "@prefix dbr: <http://e.org/> .\n@prefix x: <http://x.org/#> .\n"
        'dbr:a a x:T ; x:p dbr:b ; x:q "text", 7 .\n'
    )
    await load_files(plugin, settings, [file])
    graph = f"FROM <{server.graph}> " if server.graph else ""
    found = server.select(f"SELECT ?p ?o {graph}WHERE {{ <http://e.org/a> ?p ?o }}")
    assert {(row["p"], row["o"]) for row in found} == {
        ("http://www.w3.org/1999/02/22-rdf-syntax-ns#type", "http://x.org/#T"),
        ("http://x.org/#p", "http://e.org/b"),
        ("http://x.org/#q", "text"),
        ("http://x.org/#q", "7"),
    }


async def test_an_edge_that_rdf_reads_as_a_type_is_refused(settings):
    report = await load_graph(settings, [*GRAPH, EdgeRecord("a", "rdf:type", "b")])
    assert report.refused == 1
    assert "its predicate rdf:type denotes types" in report.refusals[0].reason


async def test_settings_that_name_no_place_are_a_sentence(each):
    for given, words in [
        ({}, "set update_endpoint, or SPARQL_UPDATE_URL"),
        ({"endpoint": "http://localhost/query"}, "set update_endpoint"),
        ({"graph": ["urn:a", "urn:b"]}, "graph is urn:a, urn:b, but a load fills one"),
        ({"graph": ["all"]}, "graph is all, but a load fills one"),
    ]:
        with each(given, words), pytest.raises(ConfigurationError, match=words):
            await load_graph(SparqlSettings(**given), GRAPH)


async def test_virtuoso_without_a_graph_is_told_to_name_one(virtuoso, place):
    settings = place("virtuoso").settings.model_copy(update={"graph": []})
    with pytest.raises(StoreError, match="name the graph to fill with --graph"):
        await load_graph(settings, GRAPH)


async def test_a_wrong_login_to_fuseki_is_reported_without_the_password(guarded_fuseki):
    url = guarded_fuseki.update_url
    for login in ({}, {"username": "reader", "password": "hunter2"}):
        with pytest.raises(StoreError) as wrong:
            await load_graph(SparqlSettings(update_endpoint=url, **login), GRAPH)
        assert "hunter2" not in str(wrong.value)
        assert "login" in str(wrong.value)


async def test_the_address_of_fuseki_for_queries_takes_no_updates(fuseki):
    with pytest.raises(StoreError, match=r"ends in /update .* Nothing in the default graph of"):
        await load_graph(SparqlSettings(update_endpoint=fuseki.query_url), GRAPH)


async def test_a_server_that_is_not_there_is_a_sentence():
    nowhere = SparqlSettings(update_endpoint="http://127.0.0.1:9/update")
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await load_graph(nowhere, GRAPH)


def until(text, then):
    """Answers updates that contain a text with `then`, and accepts all others."""
    return lambda asked: then if text.encode() in asked.body else results()


async def test_what_cannot_be_taken_back_is_named(bad_endpoint):
    answers = iter([results(), results(), refused(500, "disk full"), *[reset()] * 5])
    bad_endpoint.always(lambda _: next(answers))
    settings = SparqlSettings(update_endpoint=bad_endpoint.url)
    with pytest.raises(StoreError) as wrong:
        await load_graph(settings, GRAPH[:1])
    said = str(wrong.value)
    assert "disk full" in said
    assert "Nothing in the default graph of" in said
    assert "this update removes it: DROP SILENT GRAPH <urn:bfsql:loading:" in said


async def test_a_last_step_without_an_answer_is_reported_as_that(bad_endpoint):
    bad_endpoint.always(until("MOVE GRAPH", reset()))
    settings = SparqlSettings(update_endpoint=bad_endpoint.url)
    with pytest.raises(
        StoreUnavailable, match=r"Whether the default graph of .* was changed is unknown"
    ):
        await load_graph(settings, GRAPH)


async def test_an_update_is_sent_again_only_where_nothing_was_done(bad_endpoint):
    busy = refused(429, "slow down", **{"Retry-After": "0"})
    bad_endpoint.then(busy, results(), results(), busy)
    await load_graph(SparqlSettings(update_endpoint=bad_endpoint.url), GRAPH)
    sent = [request.body for request in bad_endpoint.requests]
    # Two probes, one mark of the load, two updates with nodes and edges, the last step; and two of
    # these were repeated.
    assert len(sent) == 8
    assert sent[0] == sent[1]
    assert sent[3] == sent[4]


async def test_a_batch_that_takes_too_long_is_not_sent_again(bad_endpoint):
    bad_endpoint.always(until("entityType", silence(30)))
    records = [NodeRecord("a", "T", {"other_types": ["U"]})]
    settings = SparqlSettings(update_endpoint=bad_endpoint.url, query_timeout=0.3)
    with pytest.raises(StoreUnavailable, match="Nothing in the default graph of"):
        await load_graph(settings, records)
    assert sum(b"entityType" in request.body for request in bad_endpoint.requests) == 1


KILLED = """
import asyncio, os, signal, sys
from bfsql.models import NodeRecord
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_sparql import SparqlSettings
from bfsql_sparql.load.loader import load_graph

def progress(what, part):
    if what == "writing":
        os.kill(os.getpid(), signal.SIGKILL)

options = LoadOptions(LoadMode.REPLACE, progress=progress)
settings = SparqlSettings(update_endpoint=sys.argv[1])
asyncio.run(load_graph(settings, [NodeRecord("a", "T", {"name": "one"})], options))
"""


def left_in(server):
    """The graphs of unfinished loads in a store."""
    graphs = {row["g"] for row in server.select("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")}
    return {graph for graph in graphs if "loading" in graph}


async def test_what_a_killed_load_has_left_goes_with_the_next_one(oxigraph):
    oxigraph.clear()
    command = [sys.executable, "-c", KILLED, oxigraph.update_url]
    killed = await asyncio.to_thread(subprocess.run, command, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(left_in(oxigraph)) == 2  # the written data, and the mark of the load
    number = "01234567-0123-0123-0123-0123456789ab"
    under_way = f"urn:bfsql:loading:{number}"
    marked = f"INSERT DATA {{ GRAPH <{under_way}:owner> {{ {leftovers.mark(under_way)} }} }}"
    settings = SparqlSettings(endpoint=oxigraph.query_url, update_endpoint=oxigraph.update_url)
    with leftovers.load_lock(number):
        oxigraph.update(marked)
        await load_graph(settings, GRAPH)
        assert left_in(oxigraph) == {f"{under_way}:owner"}
    await load_graph(settings, GRAPH)
    assert not left_in(oxigraph)


async def test_no_graph_goes_because_a_statement_calls_it_a_load(oxigraph):
    oxigraph.clear()
    owner = '<urn:bfsql:/owner> "elsewhere 0"'
    oxigraph.update(
        f"INSERT DATA {{ GRAPH <urn:mine> {{ <urn:mine> {owner} . <urn:bfsql:loading:x> {owner} }} "
        f"GRAPH <urn:mine:owner> {{ <urn:mine> {owner} }} }}"
    )
    settings = SparqlSettings(endpoint=oxigraph.query_url, update_endpoint=oxigraph.update_url)
    await load_graph(settings, GRAPH)
    assert (oxigraph.count("urn:mine"), oxigraph.count("urn:mine:owner")) == (2, 1)


def test_a_load_into_an_rdf_file_names_what_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nodes.csv").write_text("id,type\na,T\n", encoding="utf-8")
    for options in ([], ["--dry-run"]):
        told = CliRunner().invoke(bfsql, ["load", "nodes.csv", "--path", "books.ttl.gz", *options])
        assert (told.exit_code, told.stdout) == (2, "")
        assert "bfsql load SOURCE --path books.db" in told.stderr


@pytest.fixture
def empty(oxigraph, place):
    """Settings that name an empty graph."""
    oxigraph.clear()
    settings: SparqlSettings = place("oxigraph").settings
    return settings


async def test_ends_of_edges_are_nodes_without_a_statement(oxigraph, empty):
    records = [EdgeRecord("a", "p", "b"), EdgeRecord("b", "p", "c"), NodeRecord("b", "T")]
    options = LoadOptions(LoadMode.NEW, create_nodes=True, require_nodes=True)
    report = await load_graph(empty, records, options)
    assert (report.nodes, report.edges, report.created_nodes) == (3, 2, 2)
    assert oxigraph.count() == 2 + 1
    assert (await described(empty))[0] == {"a": "owl:Thing", "b": "T", "c": "owl:Thing"}


async def described(settings):
    """The types and the metadata of the nodes a, b and c, as far as they exist."""
    ids = ["a", "b", "c"]
    backend = await SparqlBackend.open(settings)
    try:
        types = {node.id: node.entity_type for node in await backend.get_nodes_batch(ids)}
        return types, dict(await backend.metadata_for_nodes_batch(ids))
    finally:
        await backend.close()


async def test_only_replacing_asks_no_question(empty):
    blind = empty.model_copy(update={"endpoint": None})
    with pytest.raises(ConfigurationError, match="set endpoint, or SPARQL_ENDPOINT_URL"):
        await load_graph(blind, GRAPH, NEW)
    assert (await load_graph(blind, GRAPH)).nodes == 2
