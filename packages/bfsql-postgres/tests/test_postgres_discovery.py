"""Graphs in tables other than kgraph's, mapped by settings, and ids that several tables share."""

from decimal import Decimal
from uuid import UUID

import pytest

from bfsql.errors import ConfigurationError, StoreError
from bfsql.models import Edge
from bfsql.settings import resolve
from bfsql_postgres import PostgresSettings, discovery, queries
from bfsql_postgres.settings import id_parts
from bfsql_test_support.case_table import case_table

PEOPLE = """
CREATE TABLE people (
    person_id int PRIMARY KEY, "Full Name" text, nicknames text[], born date, height numeric,
    photo bytea, secret text, tags jsonb, vector float8[], words tsvector, mood interval
);
CREATE TABLE jobs (id int PRIMARY KEY, person bigint, company bigint, since int);
CREATE TABLE companies (company_id bigint PRIMARY KEY, name text, kind text);
INSERT INTO people VALUES
    (1, 'Ada Lovelace', ARRAY['Enchantress', 'Ada "the" first'], '1815-12-10', 1.65,
     '\\x0102', 's', '{"a": [1, 2.50]}', array_fill(0.5::float8, ARRAY[100]), 'x', '1 day'),
    (2, 'Caesar', NULL, '0044-03-15 BC', 'NaN', NULL, NULL, '[]', ARRAY[1, 2], NULL, NULL);
INSERT INTO companies VALUES (10, 'Analytical Engines', 'Maker'), (11, NULL, NULL);
INSERT INTO jobs VALUES (1, 1, 10, 1833), (2, 1, 10, 1842), (3, 2, 11, NULL), (4, 2, 99, NULL),
    (5, NULL, 10, 1);
"""
SETTINGS = {
    "nodes": [
        "people: id=person_id, name=\"Full Name\", type='Person', aliases=nicknames",
        "companies: id=company_id, type=kind",
    ],
    "edges": "jobs: subject=person, predicate='works for', object=company, metadata=since",
}


async def test_whole_numbers_of_several_widths_are_ids(owner, opened):
    await owner.execute(PEOPLE)
    backend = await opened(**SETTINGS)
    ids = ["1", "2", "10", "11", "99", "01", "+1", "x", "", "9223372036854775808", " 1", "\u0661"]
    assert sorted(await backend.get_nodes_batch(ids)) == [
        ("1", "Person", {}),
        ("10", "Maker", {}),
        ("11", "owl:Thing", {}),
        ("2", "Person", {}),
    ]
    assert {tuple(edge) for edge in await backend.edges_batch(["1", "01"])} == {
        ("1", "works for", "10")
    }
    assert await backend.edges_from("2") == [
        Edge("2", "works for", "11"),
        Edge("2", "works for", "99"),
    ]
    assert {tuple(edge) for edge in await backend.edges_batch(["10"])} == {("1", "works for", "10")}
    with pytest.raises(KeyError):
        await backend.edges_to("99")
    assert await backend.entity_types() == ["Maker", "Person", "owl:Thing"]
    assert await backend.predicates() == ["works for"]
    assert (await backend.outline()).node_counts == {"Maker": 1, "Person": 2, "owl:Thing": 1}


async def test_every_type_of_column_comes_as_something_to_read(owner, opened):
    await owner.execute(PEOPLE)
    backend = await opened(**SETTINGS)
    found = await backend.metadata_for_nodes_batch(["1", "2", "11"])
    assert found["1"] == {
        "name": "Ada Lovelace",
        "synonyms": ["Enchantress", 'Ada "the" first'],
        "born": "1815-12-10",
        "height": Decimal("1.65"),
        "photo": "[photo: 2 bytes of binary data]",
        "secret": "s",
        "tags": {"a": [1, 2.5]},
        "vector": "[vector: 100 numbers]",
        "mood": "P1D",
    }
    assert found["2"]["born"] == "0044-03-15 BC"
    assert found["2"]["vector"] == [1, 2]
    assert found["11"] == {}
    assert await backend.metadata_for_edges_batch([("1", "works for", "10")]) == {
        ("1", "works for", "10"): {"since": [1833, 1842], "multiplicity": 2}
    }


async def test_names_and_aliases_of_all_tables_are_searched(owner, opened):
    await owner.execute(PEOPLE)
    backend = await opened(**SETTINGS)

    async def best(query, *types):
        return [stub.id for stub in await backend.search_entities(query, list(types))]

    assert await best("ada lovelace") == ["1"]
    assert await best("enchantress") == ["1"]
    assert await best('Ada "the" first') == ["1"]
    assert await best("engines") == ["10"]
    assert await best("engines", "Person") == []
    assert await best("11") == ["11"]
    assert await best("11", "owl:Thing") == ["11"]
    assert await best("Lovelase") == ["1"]


async def test_a_column_with_the_name_of_a_key_of_metadata_is_not_lost(owner, opened):
    await owner.execute("""
        CREATE TABLE drugs (id text, title text, name int, aliases text[], synonyms text);
        INSERT INTO drugs VALUES ('a', 'Aspirin', 7, ARRAY['ASA'], 'Acetylsalicylic acid'),
            ('b', 'Ibuprofen', NULL, NULL, 'Brufen'), ('c', 'Codeine', 8, ARRAY['Codein'], NULL);
        CREATE TABLE e (subject text, object text);
    """)
    backend = await opened(nodes="drugs: name=title, aliases=aliases", edges="e")
    assert await backend.metadata_for_nodes_batch(["a", "b", "c"]) == {
        "a": {"name": "Aspirin", "columns.name": 7, "synonyms": ["ASA", "Acetylsalicylic acid"]},
        "b": {"name": "Ibuprofen", "synonyms": "Brufen"},
        "c": {"name": "Codeine", "columns.name": 8, "synonyms": ["Codein"]},
    }
    for query, wanted in (("asa", "a"), ("acetylsalicylic acid", "a"), ("Brufen", "b")):
        assert [one.id for one in await backend.search_entities(query)] == [wanted]
    backend = await opened(nodes="drugs: aliases=synonyms, metadata=synonyms|name", edges="e")
    assert await backend.metadata_for_node("a") == {"name": 7, "synonyms": "Acetylsalicylic acid"}


async def test_views_uuids_and_quoted_names_work(owner, opened):
    await owner.execute("""
        CREATE TABLE "odd ""table" ("the id" uuid PRIMARY KEY, "kind;--" varchar(9), "größe" int);
        INSERT INTO "odd ""table" VALUES ('6f3a1b2c-0000-4000-8000-000000000001', 'A', 3),
            ('6f3a1b2c-0000-4000-8000-000000000002', 'B', NULL);
        CREATE VIEW links AS SELECT 'next'::text AS kind, a."the id" AS a, b."the id" AS b, 7 AS w
        FROM "odd ""table" AS a JOIN "odd ""table" AS b ON a."größe" = 3 AND b."größe" IS NULL;
    """)
    backend = await opened(
        nodes=[{"table": '"odd ""table"', "id": "the id", "type": "kind;--"}],
        edges=["links: subject=a, predicate=kind, object=b"],
    )
    one, two = (f"6f3a1b2c-0000-4000-8000-00000000000{n}" for n in (1, 2))
    assert await backend.get_nodes_batch([one, one.upper(), "x"]) == [(one, "A", {})]
    assert [tuple(edge) for edge in await backend.edges_batch([two])] == [(one, "next", two)]
    assert await backend.metadata_for_edge(Edge(one, "next", two)) == {"w": 7}
    assert await backend.metadata_for_node(one) == {"größe": 3}
    assert [stub.id for stub in await backend.search_entities(one)] == [one]
    assert await backend.provenance_for_node(one, 20) == {"total": 0, "items": []}


async def test_ids_of_different_types_are_compared_as_text_and_the_log_says_so(
    owner, opened, caplog
):
    await owner.execute("""
        CREATE TYPE mood AS ENUM ('fine', 'bad');
        CREATE TABLE a (id numeric, kind mood, at timestamptz, states mood[], ids uuid[]);
        CREATE TABLE b (subject text, object inet);
        INSERT INTO a VALUES (1.50, 'bad', 'infinity', '{fine,bad}',
            '{6f3a1b2c-0000-4000-8000-000000000001}');
        INSERT INTO b VALUES ('1.50', '::1');
    """)
    backend = await opened(nodes="a: type=kind", edges="b")
    assert await backend.get_nodes_batch(["1.50", "1.5"]) == [("1.50", "bad", {})]
    assert [tuple(edge) for edge in await backend.edges_batch(["1.50"])] == [
        ("1.50", "b", "::1/128")
    ]
    assert await backend.metadata_for_node("1.50") == {
        "at": "infinity",
        "states": ["fine", "bad"],
        "ids": [str(UUID("6f3a1b2c-0000-4000-8000-000000000001"))],
    }
    assert "compared as text" in caplog.text


async def test_a_row_of_its_own_may_have_passages(owner, opened):
    await owner.execute("""
        CREATE TABLE n (id text); INSERT INTO n VALUES ('a'), ('b'), ('paper');
        CREATE TABLE e (subject text, object text, provenance jsonb);
        INSERT INTO e VALUES ('a', 'b', '[{"text_span": "x", "document_id": "paper"}]'),
            ('b', 'a', NULL);
    """)
    backend = await opened(nodes="n", edges="e: predicate='of'")
    for entity_id in ("a", "paper"):
        found = await backend.provenance_for_node(entity_id, 5)
        assert found["total"] == 1
        assert found["items"][0]["text_span"] == "x"


async def test_what_is_in_two_tables_has_the_type_of_the_first_and_all_of_the_rest(owner, opened):
    await owner.execute("""
        CREATE TABLE one (id text, name text, x int); INSERT INTO one VALUES ('a', 'Ada', 1);
        CREATE TABLE two (id text, name text, y int); INSERT INTO two VALUES ('a', 'A. L.', 2);
        CREATE TABLE e (subject text, object text); INSERT INTO e VALUES ('a', 'a');
    """)
    backend = await opened(nodes=["one", "two"], edges="e")
    assert await backend.get_nodes_batch(["a"]) == [("a", "one", {})]
    assert await backend.metadata_for_node("a") == {
        "name": "Ada", "synonyms": ["A. L."], "other_types": ["two"], "x": 1, "y": 2
    }  # fmt: skip
    assert await backend.edges_from("a") == [Edge("a", "e", "a")]


@case_table(
    ("given", "said"),
    [
        ({"nodes": "people", "edges": ""}, "but edges does not"),
        ({"nodes": "people: id person", "edges": "x"}, "cannot be read"),
        (
            {"nodes": "people: aliasses=nicknames", "edges": "x"},
            "'aliasses' is not .* Did you mean aliases[?] The keys are table, metadata, properties",
        ),
        ({"nodes": "people", "edges": "x: Subject=a"}, "'Subject' .* Did you mean subject[?]"),
        ({"nodes": "people", "edges": ({"table": "x", "colour": "a"},)}, "'colour' is not a key"),
        ({"nodes": 'people: name="Full Name', "edges": "x"}, 'has a " that nothing closes'),
        ({"nodes": "order.items: id=order.items:id", "edges": "x"}, 'id="order.items":id'),
        ({"names": {"entitty": "x"}}, "did you mean entity"),
    ],
)
def test_a_mapping_that_cannot_be_read_is_a_sentence(given, said):
    with pytest.raises(ConfigurationError, match=said):
        resolve(PostgresSettings, options=given)


def test_pieces_of_the_command_line_become_tables_again():
    text = 'a.people: id=pid, name="Full Name", type=\'Per son\', metadata=born|"d|ied"; cities'
    found = resolve(PostgresSettings, options={"nodes": (text, "more"), "edges": "e"}).settings
    people, cities, more = found.nodes
    assert people.path == ("a", "people")
    assert (people.id, people.name, people.type) == ("pid", "Full Name", "'Per son'")
    assert people.metadata == ("born", "d|ied")
    assert (cities.path, more.path) == ((None, "cities"), (None, "more"))


def test_tables_are_shown_in_the_form_in_which_they_are_read():
    nodes = [
        {
            "table": '"order.items"',
            "id": '"order.items":id',
            "type": "'it''s'",
            "metadata": ["a b"],
        },
        {"table": "sales.the people", "id": "the id", "name": "Name", "aliases": "also: known"},
        {"table": "plain", "metadata": []},
    ]
    edges = ({"table": "e", "subject": "a", "predicate": "of what", "properties": "more"},)
    given = resolve(PostgresSettings, options={"nodes": nodes, "edges": edges}).settings
    shown = {key: list(map(str, getattr(given, key))) for key in ("nodes", "edges")}
    assert shown["nodes"][1] == 'sales."the people": id="the id", name=Name, aliases="also: known"'
    again = resolve(PostgresSettings, options=shown).settings
    assert list(map(str, again.nodes)) == shown["nodes"]
    assert [one.path for one in again.nodes] == [one.path for one in given.nodes]
    assert [id_parts(one.id) for one in again.nodes] == [id_parts(one.id) for one in given.nodes]
    kept = {"metadata", "name", "aliases", "type", "predicate", "properties"}
    for one, other in zip([*given.nodes, *given.edges], [*again.nodes, *again.edges], strict=True):
        assert one.model_dump(include=kept) == other.model_dump(include=kept)


async def test_what_lacks_is_said_all_at_once(owner, opened):
    await owner.execute("CREATE TABLE a (id text); CREATE TABLE b (subject text, obj text)")
    with pytest.raises(StoreError) as lacks:
        await opened(nodes=["a: type=kind", "absent"], edges="b")
    said = str(lacks.value)
    assert "has no column 'kind'; it has 'id'" in said
    assert "no table 'absent'; it has 'a', 'b'" in said
    assert "has no column 'object'; it has 'subject', 'obj'" in said


COUNTED = """
CREATE TABLE people (id serial PRIMARY KEY, name text);
CREATE TABLE firms (id serial PRIMARY KEY, name text);
CREATE TABLE jobs (person int, firm int);
INSERT INTO people (name) VALUES ('Ada'), ('Bob');
INSERT INTO firms (name) VALUES ('Engines');
INSERT INTO jobs VALUES (1, 1), (2, 1);
"""
NODES = ["people: type='Person'", "firms: type='Firm'"]
EDGES = "jobs: subject=person, object=firm"


async def test_two_tables_that_count_from_one_are_reported_with_an_example_and_a_cure(
    owner, opened, schema, caplog
):
    await owner.execute(COUNTED)
    backend = await opened(nodes=NODES, edges=EDGES)
    said = f"the id '1' is in {schema}.people and in {schema}.firms."
    for text in (caplog.text, await backend.next_steps()):
        assert said in text
        assert "SELECT 'person:' || id::text AS id" in text
    assert caplog.text.count("share ids") == 1
    # Both rows may describe the same thing, so it is served all the same.
    assert await backend.get_nodes_batch(["1"]) == [("1", "Person", {})]


async def test_views_with_a_prefix_before_the_ids_are_the_cure(owner, opened, caplog):
    await owner.execute(
        COUNTED
        + "CREATE VIEW p AS SELECT 'person:' || id::text AS id, name FROM people;"
        + "CREATE VIEW f AS SELECT 'firm:' || id AS id, name FROM firms;"
        + "CREATE VIEW j AS SELECT 'person:' || person AS person, 'firm:' || firm AS firm FROM jobs"
    )
    backend = await opened(
        nodes=["p: type='Person'", "f: type='Firm'"], edges="j: subject=person, object=firm"
    )
    assert "share ids" not in caplog.text + await backend.next_steps()
    assert {tuple(edge) for edge in await backend.edges_batch(["firm:1"])} == {
        ("person:1", "j", "firm:1"),
        ("person:2", "j", "firm:1"),
    }


@pytest.mark.parametrize("kind", ["bigint", "text", "uuid"])
async def test_tables_are_looked_at_from_both_sides_and_by_what_their_ids_are(
    owner, opened, caplog, monkeypatch, kind
):

    monkeypatch.setattr(queries, "SAMPLE_IDS", 5)
    made = {
        "bigint": "n",
        "text": "'i' || lpad(n::text, 4, '0')",
        "uuid": "lpad(n::text, 32, '0')::uuid",
    }[kind]
    ids = f"SELECT {made} FROM generate_series({{}}, 100) AS n"
    await owner.execute(
        f"CREATE TABLE a (id {kind} PRIMARY KEY); INSERT INTO a {ids.format(1)};"
        f"CREATE TABLE b (id {kind} PRIMARY KEY); INSERT INTO b {ids.format(50)};"
        f"CREATE TABLE c (id {kind} PRIMARY KEY); INSERT INTO c {ids.format(101)};"
        f"CREATE TABLE e (subject {kind}, object {kind})"
    )
    # The first five ids of `a` are in no other table; those of `b` are all in `a`.
    backend = await opened(nodes=["a", "b", "c"], edges="e")
    assert "50' is in" in caplog.text or "0050' is in" in caplog.text
    assert ".c" not in (await backend.next_steps()).partition("share ids")[2]


async def test_a_look_that_takes_too_long_is_left(owner, opened, caplog, monkeypatch):
    await owner.execute(
        COUNTED + "CREATE VIEW slow AS SELECT id FROM people, LATERAL (SELECT pg_sleep(60)) AS s"
    )
    monkeypatch.setattr(discovery, "SECONDS", 0.1)
    backend = await opened(nodes=["firms", "slow"], edges=EDGES)
    assert "share ids" not in caplog.text
    assert await backend.predicates() == ["jobs"]
