"""The SPARQL servers of the test session: each answers, loads, clears its data, and restarts."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode
from urllib.request import Request

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.downloads import fetched
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.debian import unpack
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.fuseki import FusekiServer
from bfsql_test_support.servers.maven import Artifact, fetch
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.process import is_alive
from bfsql_test_support.servers.sparql import FORM, Login, Refused, SparqlServer, opener
from bfsql_test_support.servers.unavailable import Unavailable
from bfsql_test_support.servers.virtuoso import FEW_ROWS, MAX_ROWS, VirtuosoServer

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ANOTHER_GRAPH = "http://x.test/graph"
ALICE = (
    f'<http://x.test/alice> <{LABEL}> "Alice \\"Al\\" O\\u0027Neill \\\\ é"@en .\n'
    "<http://x.test/alice> <http://x.test/knows> <http://x.test/bob> .\n"
)
STATEMENT = "<http://x.test/a> <http://x.test/p> <http://x.test/b> ."

RESTARTED = ["oxigraph", "virtuoso", *(("fuseki", "rdf4j") if THOROUGH else ())]
"""Servers that are stopped and started; Java takes seconds, and their class is the same."""


@pytest.fixture
def empty(sparql_server: SparqlServer) -> Iterator[SparqlServer]:
    """Each of the servers, empty before and after a test."""
    sparql_server.clear()
    yield sparql_server
    sparql_server.clear()


def test_a_server_answers_what_was_loaded_and_forgets_it_when_cleared(empty: SparqlServer) -> None:
    assert empty.count() == 0
    empty.load(ALICE)
    empty.load(STATEMENT)
    assert empty.count() == 3, "loading adds to what is there"
    empty.load(STATEMENT.encode(), ANOTHER_GRAPH)
    assert empty.count(ANOTHER_GRAPH) == 1
    query = f"SELECT ?name WHERE {{ <http://x.test/alice> <{LABEL}> ?name }}"
    assert empty.select(query) == [{"name": 'Alice "Al" O\'Neill \\ é'}]
    knows = "ASK { ?s <http://x.test/knows> ?o }"
    assert empty.ask(knows)
    assert not empty.ask("ASK { ?s <http://x.test/hates> ?o }")
    with pytest.raises(Refused, match=f"{empty.name} said 400"):
        empty.select("SELECT nothing")
    empty.clear()
    assert not empty.ask(knows)
    assert (empty.count(), empty.count(ANOTHER_GRAPH)) == (0, 0)


def test_its_addresses_update_and_store(empty: SparqlServer) -> None:
    statement = f"GRAPH <{empty.graph}> {{ {STATEMENT} }}" if empty.graph else STATEMENT
    empty.update(f"INSERT DATA {{ {statement} }}")
    assert empty.count() == 1
    for graph, triples in ((None, 3), (ANOTHER_GRAPH, 2)):
        SparqlServer.load(empty, ALICE, graph)
        assert empty.count(graph) == triples
    url = f"{empty.store_url}?graph={quote(ANOTHER_GRAPH, safe='')}"
    asked = Request(url, headers={"Accept": "application/n-triples, text/plain;q=0.5"})
    with opener(url, empty.auth).open(asked, timeout=10) as answer:
        assert b"<http://x.test/knows>" in answer.read()


@pytest.mark.parametrize("sparql_server", RESTARTED, indirect=True)
def test_it_starts_again_on_the_same_port_and_leaves_no_process_behind(empty: SparqlServer) -> None:
    before, address = empty.process.family(), empty.query_url
    assert before
    empty.restart()
    assert not any(map(is_alive, before))
    assert empty.query_url == address
    empty.load(ALICE)
    assert empty.count() == 2
    before = empty.process.family()
    empty.kill()
    assert not any(map(is_alive, before))
    assert empty.pid is None
    empty.start()
    empty.load(STATEMENT)
    assert empty.ask("ASK { ?s <http://x.test/p> ?o }")


def test_oxigraph_stops_a_query_at_its_time_limit() -> None:
    with folder() as place:
        server = _oxigraph(place)
        server.start()
        try:
            server.load(_statements(500))
            with pytest.raises((Refused, OSError, ValueError)) as stopped:
                server.select("SELECT (COUNT(*) AS ?n) { ?a ?p ?b . ?c ?q ?d . ?e ?r ?f }")
            assert not isinstance(stopped.value, TimeoutError)  # of the client
        finally:
            server.kill()


def test_the_text_index_of_fuseki_finds_words_of_what_is_there_now(
    fuseki_text: FusekiServer,
) -> None:
    fuseki_text.clear()
    fuseki_text.load(ALICE)
    other = "<http://www.w3.org/2004/02/skos/core#altLabel>"
    fuseki_text.load(f'<http://x.test/carol> {other} "Alison" .')
    for predicate, who in ((f"<{LABEL}>", "alice"), (other, "carol")):
        query = (
            "PREFIX text: <http://jena.apache.org/text#> "
            f'SELECT ?s {{ (?s ?score) text:query ({predicate} "ali*" 10) }}'
        )
        assert fuseki_text.select(query) == [{"s": f"http://x.test/{who}"}]
        fuseki_text.clear()
        assert fuseki_text.select(query) == []
        fuseki_text.load(f'<http://x.test/carol> {other} "Alison" .')
    fuseki_text.clear()


@pytest.mark.parametrize("login", [None, Login("basic", "reader", "wrong")])
def test_a_guarded_fuseki_needs_its_password(
    guarded_fuseki: FusekiServer, login: Login | None
) -> None:
    guarded_fuseki.load(STATEMENT)
    assert guarded_fuseki.count() == 1
    body = urlencode({"query": "ASK {}"}).encode()
    for url in (guarded_fuseki.query_url, guarded_fuseki.update_url):
        with pytest.raises(Refused, match="said 401"):
            guarded_fuseki.send(url, body, FORM, login)
    guarded_fuseki.clear()


@pytest.mark.parametrize(("which", "limit"), [("virtuoso", MAX_ROWS), ("small_virtuoso", FEW_ROWS)])
def test_virtuoso_cuts_at_its_row_limit_with_a_word_in_the_headers_alone(
    which: str, limit: int, request: pytest.FixtureRequest
) -> None:
    server: VirtuosoServer = request.getfixturevalue(which)
    server.clear()
    server.load(_statements(limit + 1))
    assert server.count() == limit + 1
    query = f"SELECT ?s FROM <{server.graph}> WHERE {{ ?s ?p ?o }}"
    assert len(server.select(query)) == limit
    with opener(server.query_url, None).open(f"{server.query_url}?query={quote(query)}") as answer:
        assert answer.headers["X-SPARQL-MaxRows"] == str(limit)
    server.clear()


def test_virtuoso_finds_words_of_what_was_loaded_and_keeps_its_data(
    virtuoso: VirtuosoServer,
) -> None:
    virtuoso.clear()
    virtuoso.load(ALICE)
    query = "SELECT ?s { ?s ?p ?name . ?name bif:contains \"'neill'\" }"
    assert virtuoso.select(query) == [{"s": "http://x.test/alice"}]
    virtuoso.restart()
    assert virtuoso.count() == 2
    virtuoso.clear()


@pytest.mark.parametrize("login", [None, Login("digest", "dba", "wrong")])
def test_virtuoso_lets_nobody_write_without_its_password(
    virtuoso: VirtuosoServer, login: Login | None
) -> None:
    body = urlencode({"update": f"INSERT DATA {{ GRAPH <{virtuoso.graph}> {{ {STATEMENT} }} }}"})
    with pytest.raises(Refused, match="said 401"):
        virtuoso.send(virtuoso.update_url, body.encode(), FORM, login)
    with pytest.raises(Refused):
        virtuoso.send(virtuoso.query_url, body.encode(), FORM)


def test_statements_that_virtuoso_refuses_are_an_error(virtuoso: VirtuosoServer) -> None:
    with pytest.raises(Refused, match="isql"):
        virtuoso.sql("SELECT nothing;")


def test_what_cannot_be_fetched_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("BFSQL_CACHE", str(tmp_path / "cache"))
    artifact = Artifact("x.test", "thing", "1")
    with pytest.raises(Unavailable, match="no Maven here to fetch thing"):
        fetched("thing", lambda made: fetch(made, artifact))
    with pytest.raises(Unavailable, match="no apt here to fetch thing; install it"):
        fetched("thing", lambda made: unpack(made, "thing", otherwise="install it"))
    assert list((tmp_path / "cache").iterdir()) == []


def _statements(number: int) -> str:
    return "".join(f'<http://x.test/{n}> <http://x.test/p> "{n}" .\n' for n in range(number))


def _oxigraph(place: Path) -> OxigraphServer:
    try:
        return OxigraphServer(place, time_limit=1)
    except Unavailable as none:
        missing("oxigraph", str(none))
