"""The ids and types of nodes in graphs that were not made for BFS-QL."""

import pytest

from bfsql.errors import StoreError
from bfsql.settings import resolve
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.indexes import prepare
from bfsql_neo4j.values import ELEMENT
from bfsql_test_support.case_table import case_table


@pytest.fixture
async def served(settings, cypher, emptied):
    """Makes a graph by a statement, and opens it with its indexes."""
    backends = []

    async def serve(text, **more):
        await cypher(text)
        changed = Neo4jSettings.model_validate({"uri": settings.uri} | more)
        await prepare(changed, True)
        backends.append(await Neo4jBackend.open(changed))
        return backends[-1]

    yield serve
    for backend in backends:
        await backend.close()


async def nodes(backend, *ids):
    return {n.id: n.entity_type for n in await backend.get_nodes_batch(ids)}


async def test_numbers_dates_and_truths_are_ids_and_find_their_way_back(served):
    db = await served(
        "UNWIND [42, 1.5, true, date('2024-02-29'), localdatetime('2024-02-29T12:00'), '007', "
        "'1e3', 1e10, -7] AS id CREATE (n:Thing {entity_id: id, name: 'x'})-[:SELF]->(n)"
    )
    ids = ["42", "1.5", "true", "2024-02-29", "2024-02-29T12:00:00", "007", "1e3", "1.0E10", "-7"]
    assert await nodes(db, *ids) == dict.fromkeys(ids, "Thing")
    assert await nodes(db, "7", "42.0", "+42", "1000", "1.50", "TRUE", "2024-2-29") == {}
    ring = set(await db.edges_batch(ids))
    assert ring == {(i, "self", i) for i in ids}
    assert set(await db.metadata_for_edges_batch(ring)) == ring
    assert [stub.id for stub in await db.search_entities("42")][:1] == ["42"]


async def test_several_properties_count_in_order_and_for_their_labels(served):
    db = await served(
        "CREATE (a:Person {name: 'Ann', title: 'Dr'}), (b:Movie {title: 'Big', name: 'other'}), "
        "(c:Studio {uri: 'u:1'}), (a)-[:IN]->(b), (b)-[:BY]->(c)",
        id_property=["Movie=title", "uri", "name"],
    )
    assert await nodes(db, "Ann", "Dr", "Big", "other", "u:1") == {
        "Ann": "Person",
        "Big": "Movie",
        "u:1": "Studio",
    }
    assert set(await db.edges_batch(["Big"])) == {("Ann", "in", "Big"), ("Big", "by", "u:1")}
    assert (await db.metadata_for_node("Ann"))["name"] == "Ann"
    assert "uri" not in await db.metadata_for_node("u:1")


@case_table(
    ("given", "read"),
    [
        ("entity_id|name", ["entity_id", "name"]),
        (["entity_id | name"], ["entity_id", "name"]),
        ("Movie=title|name,uri", ["Movie=title", "Movie=name", "uri"]),
    ],
)
def test_alternatives_may_be_written_with_bars(given, read):
    assert Neo4jSettings(id_property=given).id_property == read
    if isinstance(given, str):
        environment = {"NEO4J_ID_PROPERTY": given}
        assert resolve(Neo4jSettings, environment=environment).settings.id_property == read


async def test_nodes_without_an_id_or_a_label_are_there_by_their_element(served):
    db = await served(
        "CREATE (a:City {entity_id: 'c'})-[:HAS]->(:Street {name: 'Main Street'}), "
        "(a)-[:HAS]->({entity_id: 'bare'}), (a)-[:HAS]->(:Street {entity_id: ['no', 'id']})"
    )
    ring = set(await db.edges_batch(["c"]))
    others = sorted(o for _, _, o in ring)
    assert len(others) == 3
    assert all(o.startswith(ELEMENT) for o in others)
    found = await nodes(db, *others)
    assert sorted(found.values()) == ["Street", "Street", "owl:Thing"]
    assert await db.edges_to(others[0]) == [("c", "has", others[0])]
    assert set(await db.edges_batch(others)) == ring
    assert set(await db.metadata_for_edges_batch(ring)) == ring
    assert await nodes(db, "bare") == {}
    [street] = await db.search_entities("main street")
    assert (await db.metadata_for_node(street.id))["name"] == "Main Street"
    assert "3 nodes have no label, or none of the id properties" in await db.next_steps()
    assert await nodes(db, ELEMENT, ELEMENT + "x", ELEMENT + "4:x:99") == {}


async def test_two_nodes_with_one_id_are_two_nodes_and_it_is_said(served):
    db = await served(
        "CREATE (a:Person {name: 'Ray'})-[:SAW]->(b:Movie {name: 'Ray'}), "
        "(b)-[:WON]->(:Prize {name: 'Z'})",
        id_property="name",
    )
    assert await nodes(db, "Ray") == {"Ray": "Person"}
    ((_, _, movie),) = set(await db.edges_batch(["Ray"]))
    assert movie.startswith(ELEMENT)
    assert set(await db.edges_batch([movie])) == {("Ray", "saw", movie), (movie, "won", "Z")}
    assert (await db.metadata_for_node(movie))["name"] == "Ray"
    assert "1 nodes have the same id as another node ('Ray')" in await db.next_steps()
    assert {s.entity_type for s in await db.search_entities("ray")} == {"Person", "Movie"}


async def test_a_property_that_tells_nothing_apart_is_refused(served):
    with pytest.raises(StoreError, match="share their id with another"):
        await served(
            "UNWIND range(1, 10010) AS n CREATE (:Person {name: 'same'})", id_property="name"
        )


@pytest.mark.parametrize(
    ("priority", "wanted"),
    [([], "Actor"), (["Person"], "Person"), (["Entity", "Person"], "Entity")],
)
async def test_the_rarest_label_is_the_type_unless_others_are_preferred(served, priority, wanted):
    db = await served(
        "CREATE (:Entity:Person:Actor {entity_id: 'a'}), (:Person:Entity {entity_id: 'p'}), "
        "(:Entity {entity_id: 'e'})",
        type_priority=priority,
        search="contains",
    )
    assert (await db.get_node("a")).entity_type == wanted
    others = sorted({"Entity", "Person", "Actor"} - {wanted})
    assert (await db.metadata_for_node("a"))["other_types"] == others
    found = {n.entity_type for n in await db.get_nodes_batch(["a", "p", "e"])}
    assert set(await db.entity_types()) == found


async def test_types_that_differ_by_case_alone_are_two_predicates(served):
    db = await served(
        "CREATE (a:T {entity_id: 'a'})-[:TREATS {n: 1}]->(b:T {entity_id: 'b'}), "
        "(a)-[:treats {n: 2}]->(b), (a)-[:NEAR {n: 3}]->(b), (a)-[:NEAR {n: 4}]->(b)",
        search="contains",
    )
    assert await db.predicates() == ["TREATS", "near", "treats"]
    edges = await db.edges_batch(["a"])
    metadata = await db.metadata_for_edges_batch(edges)
    assert metadata["a", "treats", "b"] == {"n": 2}
    assert metadata["a", "TREATS", "b"] == {"n": 1}
    assert metadata["a", "near", "b"] == {"n": [3, 4], "multiplicity": 2}
    assert len(await db.edges_from("a")) == 3


async def test_what_is_excluded_is_in_no_answer_and_that_is_said(served):
    db = await served(
        "CREATE (a:T {entity_id: 'a', name: 'x'})-[:TO]->(:T:Secret {entity_id: 's', name: 'x'}), "
        "(a)-[:HIDDEN]->(:T {entity_id: 'b'}), (a)<-[:TO]-(:T {entity_id: 'c'})",
        exclude_labels=["Secret"],
        exclude_types=["HIDDEN"],
    )
    assert await nodes(db, "a", "s", "b") == {"a": "T", "b": "T"}
    assert set(await db.edges_batch(["a", "s", "b"])) == {("c", "to", "a")}
    assert (await db.entity_types(), await db.predicates()) == (["T"], ["to"])
    assert [s.id for s in await db.search_entities("x")] == ["a"]
    assert "excludes 'Secret', 'HIDDEN'" in await db.next_steps()


async def test_odd_names_of_labels_types_and_properties_are_only_names(served):
    db = await served(
        "CREATE (:`a ``b`` \"c\" 'd' \\u005cu0060` {`the ``id```: 'x', `na me`: 'Ex'})-[:`t`` p`]->"
        "(:`{labels}` {`the ``id```: 'y'})",
        id_property=["the `id`"],
        name_property=["na me"],
    )
    assert set(await nodes(db, "x", "y")) == {"x", "y"}
    assert await db.edges_from("x") == [("x", "t` p", "y")]
    assert [s.id for s in await db.search_entities("ex")] == ["x"]


async def test_every_value_of_neo4j_becomes_json(served):
    db = await served(
        "CREATE (:T {entity_id: 'a', d: date('-0044-03-15'), e: date('2024-02-29'), "
        "n: localdatetime('2024-02-29T23:59:59.123456789'), z: datetime('2024-02-29T12:00+01:00'), "
        "p: duration('P1Y2M3DT4H'), w: point({longitude: 1.5, latitude: 2.5}), "
        "c: point({x: 1, y: 2, z: 3})})",
        search="contains",
    )
    metadata = await db.metadata_for_node("a")
    assert metadata == {
        "d": "-0044-03-15",
        "e": "2024-02-29",
        "n": "2024-02-29T23:59:59.123456789",
        "z": "2024-02-29T12:00:00+01:00",
        "p": "P1Y2M3DT4H",
        "w": {"srid": 4326, "longitude": 1.5, "latitude": 2.5},
        "c": {"srid": 9157, "x": 1.0, "y": 2.0, "z": 3.0},
    }


async def test_a_label_that_comes_later_is_known_after_the_next_look(served, cypher):
    db = await served("CREATE (:T {entity_id: 'a'})", search="contains")
    await cypher("MATCH (a:T) CREATE (a)-[:NEW]->(:Later {entity_id: 'l'})")
    assert set(await db.edges_batch(["a"])) == {("a", "new", "l")}
    assert await db.entity_types() == ["Later", "T"]
    assert await nodes(db, "l") == {"l": "Later"}


async def test_a_store_with_no_data_answers_nothing_and_no_error(served):
    db = await served("RETURN 1")
    assert (await db.entity_types(), await db.predicates()) == ([], [])
    assert await nodes(db, "a", ELEMENT + "4:x:1") == {}
    assert await db.search_entities("a") == []
    assert await db.next_steps()
