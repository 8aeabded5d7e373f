"""Search by names, for unusual inputs too, with and without the full-text index, and by meaning."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql import open_graph
from bfsql.embedding import Embedder
from bfsql.errors import StoreError
from bfsql_neo4j import Neo4jBackend
from bfsql_neo4j.indexes import prepare
from bfsql_neo4j.search import lucene, run_together

GRAPH = (
    "CREATE (:Band {entity_id: 'b:1', name: 'AC/DC', synonyms: ['Acca Dacca']}), "
    "(:Band {entity_id: 'b:2', name: 'Café Tacvba'}), "
    "(:Album {entity_id: 'a:1', title: 'Back in Black', description: 'hard rock of 1980'}), "
    "(:Album {entity_id: 'a:2', title: 'Black', synonyms: 'The Black One'}), "
    "(:Album {entity_id: 'a:3', name: 7})"
)
RAISING = [
    *(
        "AC/DC",
        '"',
        "\\",
        "AND",
        "OR",
        "NOT",
        "+",
        "-",
        "!",
        "~",
        "^",
        "&&",
        "||",
        "foo (",
        "[a TO",
    ),
    *("a:b:c", "", " ", "*", "-matrix", "foo:bar", "a^b", "{", "x" * 40_000, "a " * 5_000, "\0"),
]


def vector(text):
    """A three-dimensional embedding."""
    return {"loud": [1.0, 0.1, 0.0], "quiet": [0.0, 0.1, 1.0]}.get(text, [0.3, 1.0, 0.3])


@pytest.fixture
async def music(settings, cypher, emptied):
    await cypher(GRAPH)
    return settings


@pytest.fixture(params=["index", "contains"])
async def db(request, music):
    asked = music.model_copy(update={"search": request.param})
    await prepare(asked, True)
    backend = await Neo4jBackend.open(asked)
    yield backend
    await backend.close()


async def ids(db, text, *types):
    return [stub.id for stub in await db.search_entities(text, list(types) or None)]


async def test_ids_names_and_aliases_are_found_either_way(db):
    assert (await ids(db, "b:1"))[:1] == ["b:1"]
    assert (await ids(db, "AC/DC"))[:1] == ["b:1"]
    assert (await ids(db, "acca dacca"))[:1] == ["b:1"]
    assert await ids(db, "black") == ["a:2", "a:1"]
    assert await ids(db, "black", "Band") == []
    [black, *_] = await db.search_entities("black", ["Album"])
    assert black == ("a:2", "Album", "Black", None)


@pytest.mark.parametrize("index", ["CREATE INDEX FOR (n:City) ON (n.name)", None])
@pytest.mark.parametrize("longer", ["DROLO, ", "Drolo, Drolo "])
async def test_a_whole_name_is_found_without_a_full_text_index_however_many_names_contain_it(
    settings, cypher, emptied, longer, index
):
    many = "UNWIND range(1, 600) AS n CREATE (:City {entity_id: 'a:' + n, name: $longer + n})"
    await cypher(many, longer=longer)
    await cypher("CREATE (:City {entity_id: 'z:1', name: 'Drolo'})")
    for statement in filter(None, (index, "CALL db.awaitIndexes(30)")):
        await cypher(statement)
    backend = await Neo4jBackend.open(settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bfsql_neo4j.search.MOST_SCANNED", 300)
        async with open_graph(backend) as graph:
            notes = (await graph.bfs_query(["Drolo"])).notes
    compared = "names that begin with its text" if index else "whole names"
    assert notes[0] == '"Drolo" was taken as z:1 (City).'
    assert f"beyond the first 300 of 601 nodes only {compared} were compared" in notes[-1]
    await backend.close()


async def test_no_text_raises(db):
    for text in RAISING:
        await db.search_entities(text)


async def test_typos_and_beginnings_are_found_by_the_index(music):
    await prepare(music, True)
    db = await Neo4jBackend.open(music)
    assert (await ids(db, "bakc in blakc"))[:1] == ["a:1"]
    assert (await ids(db, "back bla"))[:1] == ["a:1"]
    assert (await ids(db, "tacvba concert"))[:1] == ["b:2"]
    assert (await ids(db, "cafétacbva"))[:1] == ["b:2"]
    assert (await ids(db, "cafeTcavba"))[:1] == ["b:2"]
    assert await ids(db, "foo:bar") == []
    await db.close()


@given(st.text(max_size=30))
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
def test_a_query_has_no_special_character_that_is_not_escaped(text):
    query = lucene(text)
    if query is None:
        return
    quoted, bare, at = False, [], 0
    while at < len(query):
        if query[at] == "\\":
            at += 2
            continue
        quoted ^= query[at] == '"'
        if not quoted:
            bare.append(query[at])
        at += 1
    assert not quoted
    assert not set("/[]{}!:?&|=<>-") & set(bare)


async def test_meaning_finds_what_words_do_not_and_has_a_score(music, cypher):
    await cypher("MATCH (n) WHERE n.entity_id = 'b:1' SET n.v = [1.0, 0.0, 0.0], n:Thing")
    await cypher("MATCH (n) WHERE n.entity_id = 'b:2' SET n.v = [0.0, 0.0, 1.0], n:Thing")
    await cypher(
        "CREATE VECTOR INDEX meanings FOR (n:Thing) ON (n.v) OPTIONS {indexConfig: "
        "{`vector.dimensions`: 3, `vector.similarity_function`: 'cosine'}}"
    )
    await prepare(music, True)
    db = await Neo4jBackend.open(music, Embedder.of(vector))
    found = list(await db.search_entities("quiet"))
    assert [stub.id for stub in found] == ["b:2", "b:1"]
    assert found[0].score is not None
    assert found[1].score is not None
    assert 1 >= found[0].score > found[1].score >= 0
    exact = list(await db.search_entities("AC/DC"))
    assert exact[0].id == "b:1"
    assert await ids(db, "quiet", "Album") == []
    await db.close()
    with pytest.raises(StoreError, match="produces vectors of 2 dimensions"):
        await Neo4jBackend.open(music, Embedder.of(lambda text: [1.0, 2.0]))


async def test_an_index_of_another_name_serves_and_several_have_to_be_named(music, cypher):
    await cypher("CREATE FULLTEXT INDEX mine FOR (n:Band|Album) ON EACH [n.name, n.title]")
    db = await Neo4jBackend.open(music)
    assert (await ids(db, "back in black"))[:1] == ["a:1"]
    await db.close()
    await cypher("CREATE FULLTEXT INDEX other FOR (n:Band) ON EACH [n.name]")
    db = await Neo4jBackend.open(music)
    steps = await db.next_steps()
    assert "several full-text indexes (mine, other), so search compares ids and " in steps
    assert "--fulltext-index chooses one of them" in steps
    await db.close()
    named = music.model_copy(update={"fulltext_index": "other"})
    db = await Neo4jBackend.open(named)
    assert "Search does not find 'Album' by name" in await db.next_steps()
    await db.close()


def test_words_run_together_with_an_error_are_split_in_a_bounded_number_of_places():
    assert run_together("VnalamChakel").startswith("(+vnal~1 +amchakel~2) (+vnala~1")
    assert run_together("x" * 300).count("+") <= 16
    assert run_together("a short one") is None
    assert run_together("a-b:c d") is None
