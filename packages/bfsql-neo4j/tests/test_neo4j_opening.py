"""Errors when a graph cannot be opened, and that the right settings work afterwards."""

import asyncio
import gc
import os
from functools import partial

import pytest

from bfsql.errors import BfsqlError, StoreUnavailable
from bfsql.graph import open_graph
from bfsql_neo4j import Neo4jSettings, discovery
from bfsql_neo4j.indexes import prepare
from bfsql_test_support.case_table import case_table
from bfsql_test_support.command_line import refused
from bfsql_test_support.missing import missing
from bfsql_test_support.servers.certificates import CA, make_certificates
from bfsql_test_support.servers.neo4j import PASSWORD
from bfsql_test_support.servers.port import HOST, free_port

WRONG = "guess-me"
ONE = "CREATE (:T {entity_id: 'a', name: 'Ann'})-[:TO]->(:T {entity_id: 'b', name: 'Bob'})"
LONG = "x" * 40_000
"""Longer than Lucene's limit for one term."""


@pytest.fixture(autouse=True)
def _nothing_is_set(monkeypatch):
    for name in [name for name in os.environ if name.startswith(("NEO4J_", "BFSQL_"))]:
        if not name.startswith(("BFSQL_REQUIRE", "BFSQL_NEO4J_J", "BFSQL_NEO4J_H")):
            monkeypatch.delenv(name)


@pytest.fixture
async def empty(neo4j_server, emptied):
    return neo4j_server.uri


@pytest.fixture
async def small(empty, cypher):
    """A server with two nodes, and all indexes."""
    await cypher(ONE)
    await prepare(Neo4jSettings(uri=empty), True)
    return empty


@pytest.fixture
def secured(guarded_neo4j):
    """Settings of a server with TLS and a password."""
    if guarded_neo4j.ca is None:
        missing("openssl", "there is no openssl to make certificates with")
    uri = guarded_neo4j.uri.replace("bolt://", "bolt+s://")
    # On a busy machine, TLS takes longer than a call usually waits for a connection.
    patient = {"search": "contains", "connect_timeout": 60.0}
    return {"uri": uri, "password": PASSWORD, "ca_file": guarded_neo4j.ca, **patient}


async def refusal(**settings):
    """The error raised on opening, which must contain no secret."""
    with pytest.raises(BfsqlError) as told:
        async with open_graph("neo4j", **settings):
            pass
    assert WRONG not in str(told.value)
    assert PASSWORD not in str(told.value)
    return told.value


async def types(**settings):
    async with open_graph("neo4j", **settings) as graph:
        return (await graph.describe_schema()).content["entity_types"]


# --- logins, databases and addresses ------------------------------------------


async def test_several_wrong_passwords_are_reported_and_then_their_rate(guarded_neo4j):
    asked = {"uri": guarded_neo4j.uri, "search": "contains"}
    told = await refusal(**asked, password=WRONG)
    assert "rejected the login of 'neo4j'" in str(told)
    assert not isinstance(told, StoreUnavailable)
    async with asyncio.timeout(30):
        while not isinstance(told, StoreUnavailable):
            told = await refusal(**asked, password=WRONG)
        assert "temporarily refuses 'neo4j' after several wrong passwords" in str(told)
        while isinstance(told, StoreUnavailable):  # until the server lifts the block, after 5 s
            try:
                assert await types(**asked, password=PASSWORD) == []
                break
            except StoreUnavailable as again:
                told = again
    told = await refusal(**asked)
    assert "rejected the login of users without a password" in str(told)


async def test_a_database_that_is_not_there_is_named(small):
    told = await refusal(uri=small, database="nowhere")
    assert "The database 'nowhere' of Neo4j" in str(told)
    assert "NEO4J_DATABASE" in str(told)
    told = await refusal(uri=small.replace("bolt", "neo4j"), database="nowhere")
    assert "The database 'nowhere' of Neo4j" in str(told)
    assert await types(uri=small.replace("bolt", "neo4j")) == ["T"]


@case_table("uri", ["http://localhost:7474", "localhost:7687", f"me:{WRONG}@h:1"])
async def test_an_address_without_a_scheme_of_bolt_is_told_how_one_looks(uri):
    told = await refusal(uri=uri)
    assert "bolt://localhost:7687" in str(told)


async def test_a_port_that_nobody_listens_on_is_reported():
    told = await refusal(uri=f"bolt://{HOST}:{free_port()}")
    assert isinstance(told, StoreUnavailable)
    assert "Start it, or correct NEO4J_URI" in str(told)


@case_table("scheme", ["bolt", "bolt+s", "neo4j"])
async def test_a_server_that_accepts_and_says_nothing_is_waited_for_no_longer_than_said(
    silent, scheme
):
    async with asyncio.timeout(10):
        told = await refusal(uri=f"{scheme}://{HOST}:{silent}", connect_timeout=0.3)
    assert isinstance(told, StoreUnavailable)
    assert "does not answer" in str(told)


# --- TLS ----------------------------------------------------------------------


@case_table("scheme", ["bolt+s", "neo4j+s"])
async def test_a_server_whose_certificate_the_file_vouches_for_is_read(secured, scheme):
    uri = secured["uri"].replace("bolt+s", scheme)
    assert await types(**secured | {"uri": uri}) == []
    unchecked = secured["uri"].replace("bolt+s", "bolt+ssc")
    assert await types(**secured | {"uri": unchecked, "ca_file": None}) == []


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # of the driver, after a handshake
async def test_a_certificate_that_nobody_vouches_for_is_refused(secured, tmp_path):
    told = await refusal(**secured | {"ca_file": None})
    assert "presents a certificate that this computer does not trust" in str(told)
    assert "--ca-file" in str(told)
    assert make_certificates(tmp_path / "other")
    other = tmp_path / "other" / CA
    told = await refusal(**secured | {"ca_file": other})
    assert f"presents a certificate that cannot be verified with {other}" in str(told)
    told = await refusal(**secured | {"uri": secured["uri"].replace(HOST, "localhost")})
    assert "not valid for 'localhost'" in str(told)
    told = await refusal(
        **secured | {"uri": secured["uri"].replace("bolt", "neo4j"), "ca_file": other}
    )
    assert "With bolt:// instead of neo4j://, the error is more specific" in str(told)
    gc.collect()  # while warnings are ignored


@case_table("scheme", ["bolt", "neo4j", "bolt+ssc"])
async def test_certificates_that_would_be_of_no_use_are_reported(secured, scheme):
    told = await refusal(**secured | {"uri": secured["uri"].replace("bolt+s", scheme)})
    assert f"addressed with {scheme}://, which" in str(told)
    assert f"Write {scheme.partition('+')[0]}+s:// in NEO4J_URI" in str(told)


async def test_a_file_that_holds_no_certificate_is_reported(secured, tmp_path):
    for text in (None, "no certificate"):
        file = tmp_path / "ca.pem"
        if text is not None:
            file.write_text(text)
        told = await refusal(**secured | {"ca_file": file})
        assert f"ca_file ({file}), the certificates to trust, cannot be read" in str(told)


async def test_a_server_without_tls_is_reported(empty):
    told = await refusal(uri=empty.replace("bolt", "bolt+s"))
    assert "does not answer" in str(told) or "could not agree on TLS" in str(told)


# --- indexes ------------------------------------------------------------------


async def test_the_index_that_is_missing_is_reported_as_bfsql_index_makes_it(empty, cypher, caplog):
    await cypher(ONE)
    assert await types(uri=empty) == ["T"]
    assert "There is no full-text index on names, so search compares" in caplog.text
    assert "bfsql index --backend neo4j --apply creates one" in caplog.text
    caplog.clear()
    [text] = [text for text in await prepare(Neo4jSettings(uri=empty), False) if "FULL" in text]
    await cypher(text)
    assert await types(uri=empty) == ["T"]
    assert "full-text" not in caplog.text


async def test_a_full_text_index_that_is_chosen_has_to_be_there(empty, cypher):
    await cypher(ONE)
    told = str(await refusal(uri=empty, fulltext_index="other"))
    assert "has no full-text index named 'other'. Correct --fulltext-index" in told


async def test_an_index_that_is_still_filled_is_waited_for_or_reported(
    empty, cypher, caplog, monkeypatch
):
    monkeypatch.setattr(discovery, "OPENING_PATIENCE", 0.0)
    await cypher(
        "WITH reduce(text = '', i IN range(1, 300) | text + ' word' + i) AS text "
        "UNWIND range(1, 6000) AS i "
        "CALL (i, text) { CREATE (:T {entity_id: 'n' + i, name: text}) } IN TRANSACTIONS"
    )
    make = "CREATE FULLTEXT INDEX entity_names FOR (n:T) ON EACH [n.name]"
    async with asyncio.timeout(60):
        while "The index 'entity_names' is still being built (" not in caplog.text:
            await cypher("DROP INDEX entity_names IF EXISTS")
            await cypher(make)
            assert await types(uri=empty) == ["T"]
    caplog.clear()
    await cypher("DROP INDEX entity_names")
    await cypher(make)
    monkeypatch.setattr(discovery, "OPENING_PATIENCE", 60.0)
    async with open_graph("neo4j", uri=empty) as graph:
        assert await cypher("SHOW FULLTEXT INDEXES YIELD state") == [["ONLINE"]]
        assert (await graph.search_entities("word7")).content["result"]
    assert "being filled" not in caplog.text


async def test_an_index_that_failed_is_reported_with_what_drops_it(empty, cypher):
    await cypher("CREATE (:T {entity_id: 'a', name: $long})", long=LONG)
    await cypher(
        "CREATE FULLTEXT INDEX entity_names FOR (n:T) ON EACH [n.name] "
        "OPTIONS {indexConfig: {`fulltext.analyzer`: 'keyword'}}"
    )
    async with asyncio.timeout(20):
        while await cypher("SHOW FULLTEXT INDEXES YIELD state") != [["FAILED"]]:
            pass
    told = str(await refusal(uri=empty))
    assert "The index 'entity_names' of Neo4j" in told
    assert "failed and cannot be queried" in told
    assert "DROP INDEX `entity_names` IF EXISTS" in told
    await cypher("MATCH (n:T) SET n.name = 'Ann'")
    await prepare(Neo4jSettings(uri=empty), True)
    assert await types(uri=empty) == ["T"]


# --- data in the store --------------------------------------------------------


async def test_an_id_property_that_no_node_has_leaves_ids_that_can_be_walked(small, caplog):
    async with open_graph("neo4j", uri=small, id_property="isbn") as graph:
        [ann] = (await graph.search_entities("ann")).content["result"]
        assert ann["id"].startswith("neo4j:element:")
        assert (await graph.bfs_query(seeds=[ann["id"]], max_hops=1)).content["node_count"] == 2
        assert "2 nodes have no label, or none of the id properties (isbn)" in str(
            (await graph.describe_schema()).content
        )
    assert "2 nodes have no label, or none of the id properties (isbn)" in caplog.text


async def test_odd_labels_and_types_are_types_and_predicates_of_every_tool(empty, cypher):
    label, kind = "a `b` \"c\" 'd' \\u0060 {e}", "to `x` \\u0060) RETURN 1 //"
    spelled = {name: name.replace("\\", "\\u005c").replace("`", "``") for name in (label, kind)}
    await cypher(
        f"CREATE (:`{spelled[label]}` {{entity_id: 'a', name: 'Ann'}})-[:`{spelled[kind]}` "
        f"{{since: 1}}]->(:`{spelled[label]}`:`x y` {{entity_id: 'b'}})"
    )
    await prepare(Neo4jSettings(uri=empty), True)
    async with open_graph("neo4j", uri=empty, preserve_case=True) as graph:
        schema = (await graph.describe_schema()).content
        assert (schema["entity_types"], schema["predicates"]) == ([label, "x y"], [kind])
        [ann] = (await graph.search_entities("ann", node_types=[label])).content["result"]
        answer = (await graph.bfs_query(seeds=["a"], max_hops=1, predicates=[kind])).content
        assert answer["edges"] == [
            {"subject": "a", "predicate": kind, "object": "b", "metadata": {"since": 1}}
        ]
        assert ann["entity_type"] == label
    excluded = {"exclude_labels": ["x y"], "exclude_types": [kind]}
    assert await types(uri=empty, **excluded) == [label]


# --- on the command line ------------------------------------------------------


said = partial(refused, "neo4j", secret=WRONG)


async def test_a_server_on_the_command_line_ends_with_the_sentence(empty, cypher, silent):
    await cypher(ONE)
    unknown = ("serve", "--fulltext-index", "other")
    assert "has no full-text index" in await said(*unknown, NEO4J_URI=empty)
    quiet = f"bolt://{HOST}:{silent}"
    text = await said("serve", "--connect-timeout", "0.3", code=1, NEO4J_URI=quiet)
    assert "does not answer" in text


async def test_a_question_on_the_command_line_ends_with_the_sentence(guarded_neo4j):
    command = "describe-schema"
    text = await said(command, NEO4J_URI=guarded_neo4j.uri, NEO4J_PASSWORD=WRONG)
    assert "rejected the login of 'neo4j'" in text or "temporarily refuses" in text
    assert "not start with a Bolt scheme" in await said(
        command, NEO4J_URI=f"http://me:{WRONG}@{HOST}:1"
    )


async def test_a_user_to_impersonate_is_sent_to_the_server(secured):
    told = await refusal(**secured, impersonate="ann")
    assert "act as 'ann': Impersonation is not supported in community edition. The" in str(told)
