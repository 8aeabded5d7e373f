"""`bfsql index`: missing indexes, as statements to read, paste or apply."""

import pytest

from bfsql.errors import StoreError, StoreUnavailable
from bfsql.models import NodeRecord
from bfsql_neo4j.connection import open_driver
from bfsql_neo4j.indexes import fulltext_index, indexes, make, prepare
from bfsql_neo4j.load.loader import load_graph

FILMS = """
CREATE (keanu:Person:Actor {name: 'Keanu Reeves', born: 1964})
CREATE (matrix:Movie {title: 'The Matrix', tagline: 'Welcome to the Real World'})
CREATE (keanu)-[:ACTED_IN {roles: ['Neo']}]->(matrix)
CREATE (:Chunk {text: 'a label without ids and names'})
"""
BY_LABEL = {"id_property": ["Person=name", "Movie=title"]}


@pytest.fixture
async def films(emptied, cypher):
    await cypher(FILMS)


@pytest.fixture
def asked(settings):
    """`prepare`, with other settings."""

    async def ask(apply=False, **other):
        return await prepare(settings.model_copy(update=other), apply)

    return ask


async def test_the_statements_are_shown_and_nothing_is_made(films, asked, cypher):
    # `db.propertyKeys()` keeps the names of removed properties, so the last statement may list more
    # of them on a server that other tests have used.
    lacks = await asked(**BY_LABEL)
    assert lacks[:2] == [
        "CREATE INDEX IF NOT EXISTS FOR (n:`Movie`) ON (n.`title`);",
        "CREATE INDEX IF NOT EXISTS FOR (n:`Person`) ON (n.`name`);",
    ]
    assert len(lacks) == 3
    assert lacks[2].startswith(
        "CREATE FULLTEXT INDEX `entity_names` FOR (n:`Actor`|`Chunk`|`Movie`|`Person`) "
        "ON EACH [n.`name`, n.`title`"
    )
    assert await cypher("SHOW INDEXES WHERE type <> 'LOOKUP'") == []


async def test_an_order_of_id_properties_is_looked_up_for_each_label(films, asked):
    assert (await asked(id_property=["name", "title"]))[:-1] == [
        "CREATE INDEX IF NOT EXISTS FOR (n:`Actor`) ON (n.`name`);",
        "CREATE INDEX IF NOT EXISTS FOR (n:`Movie`) ON (n.`title`);",
        "CREATE INDEX IF NOT EXISTS FOR (n:`Person`) ON (n.`name`);",
    ]


async def test_what_is_pasted_or_applied_is_lacking_no_more(films, asked, cypher):
    first, *others = await asked(**BY_LABEL)
    await cypher(first)
    assert await asked(**BY_LABEL) == others
    assert await asked(apply=True, **BY_LABEL) == others
    assert await asked(apply=True, **BY_LABEL) == []
    assert {state for (state,) in await cypher("SHOW INDEXES YIELD state")} == {"ONLINE"}
    found = "CALL db.index.fulltext.queryNodes('entity_names', 'keanu') YIELD node RETURN node.born"
    assert await cypher(found) == [[1964]]


async def test_a_constraint_is_an_index_too(films, asked, cypher):
    await cypher("CREATE CONSTRAINT FOR (n:Movie) REQUIRE n.title IS UNIQUE")
    assert not [text for text in await asked(**BY_LABEL) if "(n:`Movie`) ON" in text]


async def test_excluded_labels_get_none(films, asked):
    lacks = await asked(id_property=["name", "title"], exclude_labels=["Actor", "Chunk"])
    assert not [text for text in lacks if "Actor" in text or "Chunk" in text]
    assert len(lacks) == 3


async def test_searching_without_an_index_needs_none(films, asked):
    assert not [text for text in await asked(search="contains") if "FULLTEXT" in text]


async def test_another_index_over_names_serves_search(films, asked, settings, cypher):
    texts = "CREATE FULLTEXT INDEX people FOR (n:Person|Movie|Actor) ON EACH [n.name, n.title]"
    await cypher(texts)
    assert not [text for text in await asked(**BY_LABEL) if "FULLTEXT" in text]
    await cypher("CREATE FULLTEXT INDEX notes FOR (n:Chunk) ON EACH [n.text]")
    async with open_driver(settings) as driver, driver.session() as session:
        found = fulltext_index(await indexes(session), settings)
    assert found is not None
    assert found.name == "people"
    await cypher("CREATE FULLTEXT INDEX more FOR (n:Person) ON EACH [n.name]")
    assert [text for text in await asked(**BY_LABEL) if "FULLTEXT INDEX `entity_names`" in text]


async def test_a_label_that_came_later_is_added_to_the_full_text_index(films, asked, cypher):
    await asked(apply=True, **BY_LABEL)
    await cypher("CREATE (:Studio {name: 'Warner'}), (:Page {text: 'nothing to find'})")
    drop, create = await asked(**BY_LABEL)
    assert drop == "DROP INDEX `entity_names` IF EXISTS;"
    assert "(n:`Actor`|`Chunk`|`Movie`|`Person`|`Studio`)" in create
    assert await asked(apply=True, **BY_LABEL) == [drop, create]
    assert await asked(**BY_LABEL) == []


async def test_an_index_made_anew_keeps_its_analyzer(films, asked, cypher):
    await cypher(
        "CREATE FULLTEXT INDEX entity_names FOR (n:Person) ON EACH [n.name] "
        "OPTIONS {indexConfig: {`fulltext.analyzer`: 'standard-folding'}}"
    )
    await asked(apply=True, **BY_LABEL)
    found = "SHOW INDEXES YIELD name, options WHERE name = 'entity_names' RETURN options"
    ((options,),) = await cypher(found)
    assert options["indexConfig"]["fulltext.analyzer"] == "standard-folding"
    assert await asked(**BY_LABEL) == []


async def test_an_index_that_failed_is_dropped_and_made_anew(emptied, asked, cypher):
    await cypher("CREATE (:Book {entity_id: $long}), (:Book {entity_id: 'b'})", long="x" * 9_000)
    await cypher("CREATE INDEX books FOR (n:Book) ON (n.entity_id)")
    await until_failed(cypher)
    lacks = await asked()
    assert lacks[:2] == [
        "DROP INDEX `books` IF EXISTS;",
        "CREATE INDEX IF NOT EXISTS FOR (n:`Book`) ON (n.`entity_id`);",
    ]
    with pytest.raises(StoreError, match="could not build the index 'index_"):
        await asked(apply=True)
    await cypher("MATCH (n:Book) WHERE size(n.entity_id) > 10 DELETE n")
    await asked(apply=True)
    assert await asked() == []


async def until_failed(cypher):
    while ["FAILED"] not in await cypher("SHOW INDEXES YIELD state"):
        pass


async def test_an_index_of_somebody_else_that_failed_is_no_matter(emptied, asked, settings, cypher):
    await cypher("CREATE (:Book {text: $long})", long="x" * 9_000)
    await cypher("CREATE INDEX texts FOR (n:Book) ON (n.text)")
    await until_failed(cypher)
    await cypher("CREATE (:Person {entity_id: '1'})")
    assert "DROP INDEX `texts` IF EXISTS;" not in await asked(apply=True)
    assert (await load_graph(settings, [NodeRecord("a", "A")])).nodes == 1


async def test_names_with_quotes_and_backslashes_can_be_pasted(emptied, asked, cypher):
    await load_odd(cypher)
    lacks = await asked(id_property=["the `id` \\u0060"])
    for text in lacks:
        await cypher(text)
    assert await asked(id_property=["the `id` \\u0060"]) == []


async def load_odd(cypher):
    await cypher(
        "CREATE (n:`A ``label`` \\u005cu0060`) SET n += $properties",
        properties={"the `id` \\u0060": "1", "name": "odd"},
    )


async def test_vectors_get_an_index_where_a_property_is_named(emptied, asked, cypher):
    await cypher("UNWIND [[1.0, 0.0], [0.0, 1.0]] AS v CREATE (:Word {name: 'w', vector: v})")
    await cypher("CREATE (:Rare {name: 'r', vector: [1.0, 1.0, 1.0]})")
    assert not [text for text in await asked() if "VECTOR" in text]
    *_, text = await asked(apply=True, vector_property="vector")
    assert text.startswith(
        "CREATE VECTOR INDEX `entity_vectors` FOR (n:`Word`) ON (n.`vector`) "
        "OPTIONS {indexConfig: {`vector.dimensions`: 2,"
    )
    assert await asked(vector_property="vector") == []
    near = "CALL db.index.vector.queryNodes('entity_vectors', 1, [0.9, 0.1]) YIELD node RETURN node"
    assert len(await cypher(near)) == 1
    assert await asked(vector_property="nowhere") == []


async def test_an_empty_database_lacks_nothing(emptied, asked):
    assert await asked() == []


async def test_after_a_load_nothing_is_lacking(asked, settings):
    await load_graph(settings, [NodeRecord("a", "A", {"name": "one"}), NodeRecord("b", "B")])
    assert await asked() == []


async def test_waiting_ends_with_how_far_it_is(films, settings, cypher):
    await cypher("UNWIND range(1, 60000) AS i CREATE (:Person {name: 'person ' + i})")
    text = "CREATE INDEX IF NOT EXISTS FOR (n:Person) ON (n.name)"
    async with open_driver(settings) as driver, driver.session() as session:
        with pytest.raises(StoreUnavailable, match=r"still building the index .* after 0 s: \d+ %"):
            await make(session, settings, [text], patience=0)
        await make(session, settings, [text])
