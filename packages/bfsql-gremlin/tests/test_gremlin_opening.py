"""Opening: what is found out about a graph, its indexes, and who may write; what is Gremlin."""

import logging

import pytest
from pydantic import ValidationError

from bfsql.errors import ConfigurationError, StoreError
from bfsql.graph import open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_gremlin import GremlinBackend, GremlinSettings, queries
from bfsql_gremlin.connection import Client
from bfsql_gremlin.discovery import JanusGraphSchema
from bfsql_gremlin.indexes import lacking, prepare, quoted
from bfsql_gremlin.load.loader import load_graph

INERT = ["').drop()", "'; g.V().drop().iterate(); '", "${g.V().drop().iterate()}", '"""', "\\E.*"]


@pytest.fixture(params=["tinkergraph", "janusgraph"])
def settings(request):
    """Settings of each engine."""
    return GremlinSettings(uri=[request.getfixturevalue(request.param).uri])


async def test_every_traversal_that_reads_is_refused_to_write(settings):
    client = Client(settings)
    for written in (
        queries.source().add_v("T"),
        queries.source().V().property("x", 1),
        queries.source().V().drop(),
        queries.source().E().drop(),
        queries.source().merge_v({}),
    ):
        with pytest.raises(StoreError, match="not read only"):
            await client.rows(written)
    await client.close()


async def test_whether_the_client_may_write_is_found_out_without_writing(settings, script):
    await load_graph(settings, [NodeRecord("a", "T")])
    opened = await GremlinBackend.open(settings)
    assert "withStrategies(ReadOnlyStrategy.instance())" in (await opened.may_write() or "")
    await opened.close()
    reader = settings.model_copy(update={"traversal_source": "r"})
    opened = await GremlinBackend.open(reader)
    assert await opened.may_write() is None
    await opened.close()
    assert await script(settings, "g.V().count()") == [1]


async def test_texts_of_a_model_are_never_gremlin(settings, script):
    await load_graph(settings, [NodeRecord("a", "T", {"name": "A"}), EdgeRecord("a", "p", "a")])
    opened = await GremlinBackend.open(settings)
    async with open_graph(opened) as graph:
        for text in INERT:
            assert await opened.get_nodes_batch([text]) == []
            assert await opened.edges_batch([text, "a"], predicates=[text]) == []
            assert await opened.search_entities(text) == []
            assert await opened.search_entities("A", [text]) == []
            assert await opened.metadata_for_nodes_batch(["a"], [text]) == {"a": {}}
            await graph.bfs_query(["a"], where=[f'"{text}"=1'] if '"' not in text else [])
    await opened.close()
    assert await script(settings, "g.V().count()") == [1]


async def test_names_of_the_settings_are_never_groovy_of_janusgraph(janusgraph):
    for text in ("it's", "a\\", "a'; 1/0; '", "${1/0}", "a\nb"):
        client = Client(GremlinSettings(uri=[janusgraph.uri]))
        assert await client.script(quoted(text)) == [text]
        await client.close()


async def test_what_is_sent_is_seen_in_the_log_of_the_server(tinkergraph):
    """Bytecode that cannot write, with the texts of the caller as arguments; its only script."""
    opened = await GremlinBackend.create(tinkergraph.uri)
    before = len(tinkergraph.log.read_text())
    await opened.edges_batch(["seen in the log"], predicates=["')drop('"])
    await opened.search_entities("seen in the log")
    await opened.close()
    sent = [
        line for line in tinkergraph.log.read_text()[before:].splitlines() if "requested: " in line
    ]
    assert len(sent) >= 3
    assert all("withStrategies" in line and "ReadOnlyStrategy" in line for line in sent)
    assert not any("drop()" in line for line in sent)
    assert "seen in the log" in sent[0]


# --- indexes ------------------------------------------------------------------------


async def test_missing_indexes_of_janusgraph_are_proposed_made_and_used(janusgraph, script, caplog):
    settings = GremlinSettings(uri=[janusgraph.uri], id_property="code")
    await script(settings, "g.V().drop().iterate(); g.addV('T').property('code','c1').iterate();1")
    caplog.set_level(logging.WARNING, "bfsql")
    opened = await GremlinBackend.open(settings)
    assert "no index on the property 'code'" in caplog.text
    assert "bfsql index --backend gremlin --apply" in caplog.text
    await opened.close()
    [proposed] = await prepare(settings, False)
    assert "m.buildIndex('bfsql_code', " in proposed
    assert "REINDEX" in proposed
    assert await prepare(settings, True) == [proposed]
    assert await prepare(settings, False) == []
    caplog.clear()
    opened = await GremlinBackend.open(settings)
    assert "no index" not in caplog.text
    assert [node.id for node in await opened.get_nodes_batch(["c1"])] == ["c1"]
    await opened.close()


def test_a_mixed_index_is_proposed_only_where_there_is_a_backend():
    settings = GremlinSettings()
    without, with_backend = (
        JanusGraphSchema([[], [], {"name": "String", "title": "Integer"}, backends])
        for backends in ([], ["search"])
    )
    assert len(lacking(settings, without)) == 1
    [_, names] = lacking(settings, with_backend)
    assert "buildMixedIndex('search')" in names
    assert "'name'" in names
    assert "'title'" not in names


async def test_other_engines_are_said_to_have_no_list_of_indexes(tinkergraph):
    with pytest.raises(StoreError, match="is not JanusGraph, or takes no scripts"):
        await prepare(GremlinSettings(uri=[tinkergraph.uri]), False)


# --- settings -------------------------------------------------------------------------


def test_addresses_that_cannot_be_used_are_said(each):
    for uri in ["localhost:8182", "http://localhost", "ws://", "ws://u:p@host"]:
        with each(uri), pytest.raises(ValidationError, match="the address"):
            GremlinSettings(uri=[uri])


async def test_several_addresses_come_from_the_environment(tinkergraph, monkeypatch):
    monkeypatch.setenv("GREMLIN_URI", f"{tinkergraph.uri}, {tinkergraph.uri}")
    opened = await GremlinBackend.create()
    assert opened._settings.uri == [tinkergraph.uri] * 2
    await opened.close()
    monkeypatch.setenv("GREMLIN_URI", "nonsense")
    with pytest.raises(ConfigurationError):
        await GremlinBackend.create()


async def test_certificates_without_tls_are_said(tmp_path):
    with pytest.raises(StoreError, match=r"ca_file .* no effect"):
        await GremlinBackend.create("ws://localhost:8182", ca_file=tmp_path)
    with pytest.raises(StoreError, match="cannot be read"):
        await GremlinBackend.create("wss://localhost:8182", ca_file=tmp_path / "none.pem")
