"""Ids that are chosen: reversible, stable, different for all nodes; templates; odd databases."""

import logging

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st
from pydantic import ValidationError

from bfsql.errors import StoreError
from bfsql.graph import open_graph
from bfsql.plugins import Proposal
from bfsql_neo4j import Neo4jBackend, Neo4jSettings
from bfsql_neo4j.id_templates import IdTemplate, id_template
from bfsql_neo4j.proposal import propose, with_proposal
from bfsql_test_support.case_table import case_table

TEXT = st.text(st.sampled_from("aB1%/: 25F"), min_size=1, max_size=4)
NUMBER = st.integers(-3, 30)
MIXED = st.one_of(TEXT, NUMBER, st.floats(-2, 2), st.booleans())
ODD = "A: b=|,{}%"
"""A label with the characters that have a meaning in the setting."""
KEYS = {
    "Text": (("name", TEXT),),
    "Product": (("id", NUMBER),),
    "Category": (("id", NUMBER),),
    "Line": (("a", MIXED), ("b", TEXT)),
    "Mixed": (("value", MIXED),),
    ODD: (("id", NUMBER),),
    "Indexed": (("code", TEXT),),
    "Bare": (("size", NUMBER),),
}
"""The keys of eight labels; the last two have no constraint."""


def rows(label):
    """Nodes of a label: properties, and their labels; some nodes lack a property of the key."""
    names = [name for name, _ in KEYS[label]]
    values = st.tuples(*(value for _, value in KEYS[label]))
    others = st.sampled_from(["", "", "", "Text", "Product"])
    lists = st.lists(st.tuples(values, others), max_size=6, unique_by=lambda row: repr(row[0]))
    return lists.map(
        lambda found: [
            [dict(zip(names, keys, strict=True)) | second, [label, *filter(None, [other])]]
            for n, (keys, other) in enumerate(found)
            for second in [{"name": f"{label} {n}"} if other else {}]
        ]
    )


GRAPHS = st.fixed_dictionaries({label: rows(label) for label in KEYS}).map(
    lambda found: [row for some in found.values() for row in some]
)


@pytest.fixture
async def constrained(cypher, emptied):
    """An empty database with a constraint or an index for each label but one."""
    for label, keys in KEYS.items():
        quoted = f"`{label}`"
        on = ", ".join(f"n.{name}" for name, _ in keys)
        if label == "Indexed":
            await cypher(f"CREATE INDEX FOR (n:{quoted}) ON ({on})")
        elif label != "Bare":
            await cypher(f"CREATE CONSTRAINT FOR (n:{quoted}) REQUIRE ({on}) IS UNIQUE")


@given(GRAPHS)
@examples(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
async def test_ids_are_different_reversible_and_stable(cypher, settings, constrained, graph):
    await cypher("MATCH (n) DETACH DELETE n")
    await cypher(
        # One statement for each node, since those whose keys are equal to Neo4j are refused.
        "UNWIND $rows AS row CALL (row) { CREATE (n:$(row[1])) SET n = row[0] } "
        "IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE",
        rows=graph,
    )
    await cypher("MATCH (a), (b) WHERE a <> b WITH a, b LIMIT 20 CREATE (a)-[:NEXT]->(b)")
    chosen = with_proposal(settings, await propose(settings))
    ids = []
    for given_ in (settings, chosen):
        db = await Neo4jBackend.open(given_)
        nodes = [node async for part in db.nodes_stream() for node in part]
        ids.append([node.id for node in nodes])
        assert sorted(await db.get_nodes_batch(ids[-1])) == sorted(nodes)
        metadata = await db.metadata_for_nodes_batch(ids[-1])
        edges = set(await db.edges_batch(ids[-1]))
        await db.close()
        assert metadata.keys() == set(ids[-1])
        assert {end for s, _, o in edges for end in (s, o)} <= set(ids[-1])
    [[number]] = await cypher("MATCH (n) RETURN count(n)")
    [[relationships]] = await cypher("MATCH ()-[r]->() RETURN count(r)")
    assert len(set(ids[0])) == number
    assert len(edges) == relationships
    assert ids[0] == ids[1]


@given(TEXT, st.lists(st.tuples(TEXT, st.text(max_size=4)), min_size=1, max_size=3))
def test_a_template_reads_its_own_ids(prefix, parts):
    names = tuple(f"p{n}" for n, _ in enumerate(parts))
    template = id_template(IdTemplate.over(prefix, names))
    assert template == IdTemplate(prefix, names)
    values = [value for _, value in parts]
    texts = values
    if len(values) > 1:
        texts = [value.replace("%", "%25").replace("/", "%2F") for value in values]
    assert values in [
        [key if isinstance(key, str) else None for key in one]
        for one in template.keys(prefix + "/".join(texts))
    ]
    assert not list(template.keys(f"x{prefix}"[:1] + "0" * 9)) or not prefix


@case_table("item", ["A={", "A=x{a}y{b}", "A={a}-{b}", "A={a}{b}", "A={a}x"])
def test_what_is_no_template_is_a_sentence(item):
    if item == "A={":
        assert Neo4jSettings(id_property=[item]).id_property == [item]  # a property of that name
        return
    with pytest.raises(ValidationError, match="is not a template of an id"):
        Neo4jSettings(id_property=[item])


# --- odd databases ----------------------------------------------------------------


async def hits(settings, text):
    """The beginnings of ids, and the names, that a search finds."""
    async with open_graph("neo4j", uri=settings.uri) as graph:
        found = (await graph.search_entities(text)).content["result"]
        return [(one["id"][:14], one["name"]) for one in found]


async def test_without_any_constraint_ids_are_element_ids_with_a_line_to_run(
    cypher, settings, emptied, caplog
):
    await cypher("UNWIND range(1, 3) AS n CREATE (:`A thing` {code: 'c' + n, size: 1})")
    with caplog.at_level(logging.INFO, "bfsql"):
        assert await hits(settings, "c2") == [("neo4j:element:", "c2")]
    [sentence] = (await propose(settings)).left_out
    assert "REQUIRE n.`code` IS UNIQUE, or add --id-property A thing=code." in sentence
    assert sentence in caplog.text
    assert "Chosen: name_property = name, title, label, A thing=code" in caplog.text
    statement = sentence[sentence.index("CREATE") : sentence.index(", or add")]
    await cypher(statement)
    [chosen, _] = (await propose(settings)).settings
    assert chosen.value == ["A thing=code"]


async def test_a_role_that_may_not_list_indexes_is_served(cypher, settings, emptied, monkeypatch):
    await cypher("CREATE (:Person {name: 'Ann'})-[:KNOWS]->(:Person {name: 'Bob'})")
    # The Community edition has no roles: a privilege that is missing is an error of the statement.
    refused = "SHOW INDEXES YIELD nothing RETURN collect(nothing)"
    monkeypatch.setattr("bfsql_neo4j.index_queries.INDEXES", refused)
    [sentence] = (await propose(settings)).left_out
    assert sentence.startswith("This role may not list constraints and indexes, so ids are ele")
    async with open_graph("neo4j", uri=settings.uri) as graph:
        [hit] = (await graph.search_entities("ann")).content["result"]
        answer = (await graph.bfs_query(seeds=[hit["id"]], max_hops=1)).content
        assert {node["metadata"]["name"] for node in answer["nodes"]} == {"Ann", "Bob"}


async def test_names_that_are_numbers_or_lists_or_do_not_differ(cypher, settings, emptied):
    await cypher(
        "UNWIND range(1, 4) AS n CREATE (:Badge {name: n, owner: 'o' + n}) "
        "CREATE (:Staff {title: 'Clerk', surname: 's' + n, code_id: 'x' + n}) "
        "CREATE (:Group {name: ['a', 'b'], size: n}) CREATE (:Void {size: n}) "
        "CREATE (:Plain {name: 'same ' + n})"
    )
    proposed = await propose(settings)
    [names] = [one.value for one in proposed.settings if one.field == "name_property"]
    assert names == ["name", "title", "label", "Badge=owner", "Staff=surname"]
    assert any(
        "Nodes of Group, Void have no text that tells most of them apart" in sentence
        for sentence in proposed.left_out
    )


async def test_what_the_loader_wrote_is_read_as_before(cypher, settings, emptied):
    await cypher("CREATE CONSTRAINT FOR (n:T) REQUIRE n.name IS UNIQUE")
    await cypher("CREATE (:T {entity_id: 'T:1', name: 'one'}), (:U {entity_id: 'U:1'})")
    assert await propose(settings) == Proposal()
    await cypher("CREATE (:V {isbn: 'x'})")
    assert (await propose(settings)).settings[0].value == ["entity_id"]
    await cypher("CREATE CONSTRAINT FOR (n:V) REQUIRE n.isbn IS UNIQUE")
    assert (await propose(settings)).settings[0].value == ["V=isbn", "entity_id"]


async def test_equal_texts_of_two_labels_get_the_label_in_front(cypher, settings, emptied):
    for label in ("City", "Film", "Person"):
        await cypher(f"CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.name IS UNIQUE")
    await cypher("CREATE (:City {name: 'Chicago'}), (:Film {name: 'Chicago'})")
    await cypher("CREATE (:Person:Star {name: 'Ann'})")
    [chosen] = (await propose(settings)).settings
    assert chosen.value == ["City=City:{name}", "Film=Film:{name}", "Person=name"]


async def test_a_name_beyond_the_scanned_nodes_is_found_by_its_index_and_the_answer_says_so(
    cypher, settings, emptied, monkeypatch
):
    await cypher("CREATE CONSTRAINT FOR (n:Person) REQUIRE n.name IS UNIQUE")
    await cypher("UNWIND range(1, 30) AS n CREATE (:Person {name: 'Person ' + n})")
    monkeypatch.setattr("bfsql_neo4j.search.MOST_SCANNED", 10)
    async with open_graph("neo4j", uri=settings.uri) as graph:
        whole = await graph.search_entities("person 29")
        assert [hit["id"] for hit in whole.content["result"]] == ["Person 29"]
        [note] = whole.content["notes"]
        assert "beyond the first 10 of 30 nodes" in note
        assert "bfsql index --apply" in note
        schema = (await graph.describe_schema()).text
        assert "There is no full-text index" in schema


async def test_a_property_that_is_unique_no_more_is_reported_with_both_nodes(
    cypher, settings, emptied
):
    await cypher("CREATE INDEX FOR (n:Part) ON (n.code)")
    await cypher("CREATE (:Part {code: 'a'})-[:FITS]->(:Part {code: 'b'})")
    async with open_graph("neo4j", uri=settings.uri) as graph:
        await cypher("CREATE (:Part {code: 'a'})")
        answer = (await graph.bfs_query(seeds=["a"], max_hops=1)).content
    assert answer["seeds"] == ["a"]
    bearers = await cypher("MATCH (n:Part {code: 'a'}) RETURN elementId(n)")
    assert len(bearers) == 2
    assert any(all(element in note for (element,) in bearers) for note in answer["notes"])


async def test_nothing_is_written(cypher, settings, emptied):
    await cypher("CREATE CONSTRAINT FOR (n:Person) REQUIRE n.name IS UNIQUE")
    await cypher("CREATE (:Person {name: 'Ann'})")
    counted = "MATCH (n) RETURN count(n), collect(properties(n))"
    before = await cypher(counted), len(await cypher("SHOW INDEXES"))
    await propose(settings)
    assert (await cypher(counted), len(await cypher("SHOW INDEXES"))) == before


async def test_a_load_does_not_write_ids_of_a_template(settings, emptied):
    from bfsql.models import NodeRecord
    from bfsql_neo4j.load.loader import load_graph

    made = settings.model_copy(update={"id_property": ["T=T:{id}"]})
    with pytest.raises(StoreError, match="give --id-property T=entity_id"):
        await load_graph(made, [NodeRecord("a", "T")])
