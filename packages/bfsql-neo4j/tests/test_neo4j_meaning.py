"""A real graph searched by meaning, with a real model and a vector index of the server.

The names of drugs, hormones, diseases, symptoms and organs get a vector, some 260 of medlit's 1,900
nodes: embedding all of them takes half a minute or more, mostly for the titles of papers.
"""

import asyncio

import pytest

from bfsql.errors import ConfigurationError, EmbeddingFailed, StoreError
from bfsql.graph import open_graph
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.indexes import prepare
from bfsql_neo4j.load.loader import load_graph
from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.suites.medlit import DESCRIPTION, nearest, with_vectors

NEAREST = 20


@pytest.fixture(scope="module")
def loaded(medlit_records, medlit_vectors, neo4j_server):
    """A server with medlit, its vectors, and an index over the nodes that have one.

    A vector index covers one label, so the nodes with a vector get one in common.
    """
    settings = Neo4jSettings(uri=neo4j_server.uri, type_priority=["Searched"])
    asyncio.run(load_graph(settings, with_vectors(medlit_records, medlit_vectors)))
    asyncio.run(_labelled(neo4j_server))
    asked = settings.model_copy(update={"vector_property": "embedding"})
    [text] = [text for text in asyncio.run(prepare(asked, True)) if "VECTOR" in text]
    assert "(n:`Searched`) ON (n.`embedding`)" in text
    return settings


async def _labelled(server):
    from neo4j import AsyncGraphDatabase

    async with AsyncGraphDatabase.driver(server.uri) as driver:
        await driver.execute_query("MATCH (n) WHERE n.embedding IS NOT NULL SET n:Searched")


@pytest.fixture
async def backend(loaded, minilm):
    opened = await Neo4jBackend.create(uri=loaded.uri, embedding_fn=minilm.embed_one)
    yield opened
    await opened.close()


async def test_a_description_finds_what_it_describes(backend, medlit_vectors, minilm):
    cosines = nearest(medlit_vectors, minilm.embed_one(DESCRIPTION))
    scores = {i: (1 + cosine) / 2 for i, cosine in cosines}
    found = list(await backend.search_entities(DESCRIPTION))
    near = [stub for stub in found if stub.score is not None]
    assert {stub.id for stub in near} >= {i for i, _ in cosines[:3]}
    for stub in near:
        assert stub.score == pytest.approx(scores[stub.id], abs=0.01)  # the index rounds vectors
        assert 0 <= stub.score <= 1
    drugs = list(await backend.search_entities(DESCRIPTION, ["drug"]))
    assert {stub.entity_type for stub in drugs} == {"drug"}
    assert "RxNorm:3251" in [stub.id for stub in drugs[:4]]  # desmopressin, though no name says so


async def test_an_exact_name_comes_first_whatever_is_near(backend):
    for query, best in (
        ("Desmopressin", "RxNorm:3251"),
        ("RxNorm:3251", "RxNorm:3251"),
        ("cushing syndrome", "MeSH:D003480"),
    ):
        found = list(await backend.search_entities(query))
        assert found[0].id == best
        assert len({stub.id for stub in found}) == len(found) <= NEAREST
    async with open_graph(backend) as graph:
        metadata = (await graph.describe_entity("RxNorm:3251")).content
        assert metadata["embedding"] == "[embedding: 384 numbers]"


# --- what is missing, late or wrong -------------------------------------------


@pytest.fixture
async def words(neo4j_server, cypher, emptied):
    """Two nodes with two-dimensional vectors, and only the index of names."""
    await cypher(
        "CREATE (:T {entity_id: 'a', name: 'Ann', v: [1.0, 0.1]}), "
        "(:T {entity_id: 'b', name: 'Bob', v: [0.1, 1.0]})"
    )
    settings = Neo4jSettings(uri=neo4j_server.uri)
    await prepare(settings, True)
    return settings


def towards(text):
    """A two-dimensional embedding."""
    return [1.0, 0.0] if "first" in text else [0.0, 1.0]


async def test_without_a_vector_index_searches_go_by_names_and_it_is_said(words, caplog):
    asked = {"uri": words.uri, "embedding_fn": towards}
    backend = await Neo4jBackend.create(**asked)
    assert [stub.id for stub in await backend.search_entities("ann")] == ["a"]
    assert not await backend.search_entities("the first")
    await backend.close()
    [told] = [text for text in caplog.messages if "vector" in text]
    assert "has no vector index: searches compare names only" in told
    assert "bfsql index --backend neo4j --vector-property PROPERTY --apply" in told
    assert "CREATE VECTOR INDEX `entity_vectors` FOR (n:`LABEL`) ON (n.`PROPERTY`)" in told
    await prepare(words.model_copy(update={"vector_property": "v"}), True)
    caplog.clear()
    backend = await Neo4jBackend.create(**asked)
    assert [stub.id for stub in await backend.search_entities("the first")] == ["a", "b"]
    await backend.close()
    assert "vector" not in caplog.text


async def test_several_vector_indexes_or_an_unknown_one_are_said(words, cypher, caplog):
    for name in ("one", "two"):
        await cypher(
            f"CREATE VECTOR INDEX {name} FOR (n:T) ON (n.v{name}) OPTIONS {{indexConfig: "
            "{`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}"
        )
    await (await Neo4jBackend.create(uri=words.uri, embedding_fn=towards)).close()
    assert "several vector indexes ('one', 'two'); --vector-index has" in caplog.text
    caplog.clear()
    other = await Neo4jBackend.create(uri=words.uri, embedding_fn=towards, vector_index="three")
    await other.close()
    assert "no vector index named 'three' (there are 'one', 'two')" in caplog.text


async def test_vectors_of_another_length_are_refused(words):
    await prepare(words.model_copy(update={"vector_property": "v"}), True)
    with pytest.raises(StoreError, match="produces vectors of 3 dimensions, but the index"):
        await Neo4jBackend.create(uri=words.uri, embedding_fn=lambda text: [1.0, 2.0, 3.0])


async def test_a_function_that_never_works_is_refused(words):
    with pytest.raises(ConfigurationError, match="did not return a vector"):
        await Neo4jBackend.create(uri=words.uri, embedding_fn=lambda text: "no vector")


async def test_a_service_that_is_not_there_costs_the_meaning_and_not_the_graph(words, caplog):
    await prepare(words.model_copy(update={"vector_property": "v"}), True)
    nobody = f"http://{HOST}:{free_port()}/v1"
    async with open_graph("neo4j", uri=words.uri, embedding=nobody) as graph:
        answer = (await graph.search_entities("ann")).content
    assert [entity["id"] for entity in answer["result"]] == ["a"]
    assert "Searches compare names only, until this is corrected" in caplog.text


async def test_a_function_that_fails_at_times_is_reported_in_the_answer_s_notes(words, caplog):
    await prepare(words.model_copy(update={"vector_property": "v"}), True)
    well = [True]

    def sometimes(text):
        if not well[0]:
            raise EmbeddingFailed("The model is asleep.")
        return towards(text)

    backend = await Neo4jBackend.create(uri=words.uri, embedding_fn=sometimes)
    async with open_graph(backend) as graph:
        assert (await graph.search_entities("the first")).content["result"][0]["id"] == "a"
        well[0] = False
        answer = await graph.search_entities("ann")
        assert [entity["id"] for entity in answer.content["result"]] == ["a"]
        assert "name" in str(answer.content["notes"]), answer.content
        assert "The model is asleep. The search compares names only." in caplog.text
        well[0] = True
        assert (await graph.search_entities("the first one")).content["result"][0]["id"] == "a"
    await backend.close()


async def test_a_model_that_wakes_up_with_another_length_is_reported_and_names_are_found(
    words, caplog
):
    await prepare(words.model_copy(update={"vector_property": "v"}), True)
    well = [False]

    def later(text):
        if not well[0]:
            raise EmbeddingFailed("The model is asleep.")
        return [1.0, 2.0, 3.0]

    backend = await Neo4jBackend.create(uri=words.uri, embedding_fn=later)
    well[0] = True
    assert [stub.id for stub in await backend.search_entities("ann")] == ["a"]
    assert "3 dimensions instead of 2" in caplog.text
    await backend.close()
