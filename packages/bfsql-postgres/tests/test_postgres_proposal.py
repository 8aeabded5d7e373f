"""Databases as they are: the mapping that keys and foreign keys propose."""

import asyncio
import json
import re
import shlex
import time

import asyncpg
import hypothesis
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from bfsql import call, open_graph
from bfsql.cli import bfsql
from bfsql.errors import ConfigurationError, StoreError
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeRecord, NodeRecord
from bfsql.plugins import Proposal
from bfsql.settings import resolve
from bfsql_postgres import PostgresBackend, PostgresSettings, discovery, queries, search, topology
from bfsql_postgres.indexes import missing_indexes
from bfsql_test_support.case_table import case_table
from bfsql_test_support.suites.agreement import assert_agreed

IDS = st.text(st.sampled_from("aA:%3\\'\" ä\U0001f701"), min_size=1, max_size=4)

# --- unusual tables ----------------------------------------------------------------

ODD = """
CREATE SCHEMA sales; CREATE SCHEMA "hr team";
CREATE TABLE sales.person (id int PRIMARY KEY, name text);
CREATE TABLE "hr team".person (id int PRIMARY KEY, boss int REFERENCES "hr team".person,
    label text, title text, seller_id int REFERENCES sales.person);
CREATE TABLE "select" ("group" text PRIMARY KEY, "1" int NOT NULL, "from" text);
CREATE TABLE "a:b%c" (id int PRIMARY KEY, "selectId" text REFERENCES "select");
CREATE TABLE a (b text PRIMARY KEY, c_id int UNIQUE);
CREATE TABLE c (id int PRIMARY KEY, a_id text REFERENCES a, again_id text REFERENCES a,
    again text REFERENCES a);
ALTER TABLE a ADD FOREIGN KEY (c_id) REFERENCES c DEFERRABLE INITIALLY DEFERRED;
CREATE TABLE lines (doc int, line text, day date, words text, PRIMARY KEY (doc, line, day));
CREATE TABLE marks (id int PRIMARY KEY, doc int, line text, day date,
    FOREIGN KEY (day, doc, line) REFERENCES lines (day, doc, line));
CREATE TABLE follows (one int REFERENCES sales.person, other int REFERENCES sales.person,
    since int);
CREATE TABLE keyless (x int); CREATE TABLE empty (id int PRIMARY KEY, a_b text REFERENCES a);
CREATE TABLE other_key (id int PRIMARY KEY, c int REFERENCES a (c_id));
CREATE TABLE days (id int, at date, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
CREATE TABLE secret (id int PRIMARY KEY, name text);
CREATE VIEW seen AS SELECT 1 AS id;
INSERT INTO sales.person VALUES (1, '7'), (2, NULL);
INSERT INTO "hr team".person VALUES (1, 1, 'x', 'Clerk', 2), (2, 1, 'y', 'Clerk', NULL),
    (3, NULL, 'z', 'Clerk', NULL);
INSERT INTO "select" VALUES ('k:1', 3, 'Où'), ('%', 4, 'là');
INSERT INTO "a:b%c" VALUES (1, 'k:1'), (2, '%');
BEGIN; INSERT INTO a VALUES ('x', 1); INSERT INTO c VALUES (1, 'x', 'x', NULL); COMMIT;
INSERT INTO lines VALUES (1, 'a:b', '2020-02-03', 'w'), (1, 'a%3Ab', '2020-02-03', 'v');
INSERT INTO marks VALUES (1, 1, 'a%3Ab', '2020-02-03');
INSERT INTO follows VALUES (1, 2, 1999), (1, 2, 2001), (2, NULL, 3), (2, 2, NULL);
INSERT INTO days VALUES (1, '2020-05-06'), (1, '2021-05-06');
INSERT INTO other_key VALUES (1, 1);
CREATE TABLE "new\nline" (id int PRIMARY KEY); CREATE TABLE "\x1b[31m" (id int PRIMARY KEY);
CREATE VIEW "a\u202eb" AS SELECT 1 AS id;
CREATE TABLE odd_key ("i\nd" int PRIMARY KEY); INSERT INTO odd_key VALUES (1);
CREATE TABLE odd_columns (id int PRIMARY KEY, "a\nid" text REFERENCES a, "na\u202eme" text,
    code int, "b\u200bid" int REFERENCES "new\nline");
INSERT INTO odd_columns VALUES (1, 'x', 'n', 5, NULL);
"""
OF_LINES = {"doc": 1, "day": "2020-02-03"}
ODD_RECORDS = [
    NodeRecord("sales.person:1", "sales.person", {"name": "7"}),
    NodeRecord("sales.person:2", "sales.person", {}),
    NodeRecord("hr team.person:1", "hr team.person", {"name": "x", "title": "Clerk"}),
    NodeRecord("hr team.person:2", "hr team.person", {"name": "y", "title": "Clerk"}),
    NodeRecord("hr team.person:3", "hr team.person", {"name": "z", "title": "Clerk"}),
    EdgeRecord("hr team.person:1", "boss", "hr team.person:1"),
    EdgeRecord("hr team.person:2", "boss", "hr team.person:1"),
    EdgeRecord("hr team.person:1", "seller", "sales.person:2"),
    NodeRecord("select:k:1", "select", {"name": "Où", "1": 3}),
    NodeRecord("select:%", "select", {"name": "là", "1": 4}),
    NodeRecord("a%3Ab%25c:1", "a:b%c"),
    NodeRecord("a%3Ab%25c:2", "a:b%c"),
    EdgeRecord("a%3Ab%25c:1", "select", "select:k:1"),
    EdgeRecord("a%3Ab%25c:2", "select", "select:%"),
    NodeRecord("a:x", "a"),
    NodeRecord("c:1", "c"),
    EdgeRecord("a:x", "c", "c:1"),
    EdgeRecord("c:1", "a", "a:x"),
    EdgeRecord("c:1", "again_id", "a:x"),
    NodeRecord("lines:1:a%3Ab:2020-02-03", "lines", {"name": "w", "line": "a:b"} | OF_LINES),
    NodeRecord("lines:1:a%253Ab:2020-02-03", "lines", {"name": "v", "line": "a%3Ab"} | OF_LINES),
    NodeRecord("marks:1", "marks"),
    EdgeRecord("marks:1", "lines", "lines:1:a%253Ab:2020-02-03"),
    EdgeRecord("sales.person:1", "follows", "sales.person:2", {"since": 1999}),
    EdgeRecord("sales.person:1", "follows", "sales.person:2", {"since": 2001}),
    EdgeRecord("sales.person:2", "follows", "sales.person:2"),
    NodeRecord("days:1:2020-05-06", "days", {"id": 1, "at": "2020-05-06"}),
    NodeRecord("days:1:2021-05-06", "days", {"id": 1, "at": "2021-05-06"}),
    NodeRecord("odd_columns:1", "odd_columns", {"na\u202eme": "n", "code": 5, "a\nid": "x"}),
    NodeRecord("other_key:1", "other_key", {"c": 1}),
]
LEFT_OUT = """
Tables and columns of keys are left out whose names have characters that cannot be printed: \
'public'.'\\x1b[31m', 'public'.'a\\u202eb', 'public'.'new\\nline', 'public'.'odd_key'.'i\\nd', \
'public'.'odd_columns'.'a\\nid', 'public'.'odd_columns'.'b\\u200bid'. Have their owner rename them.
Tables without a primary key are left out: keyless. Give them one, or add a line to nodes, as in \
"keyless: id=keyless:COLUMN".
Foreign keys are left out that refer to other columns than the primary key: other_key.c. To read \
the first one, have the owner run: CREATE VIEW "public"."other_key_c" AS SELECT subject."id" AS \
subject_1, object."b" AS object_1 FROM "public"."other_key" AS subject JOIN "public"."a" AS object \
ON subject."c" = object."c_id"; Then add a line to edges: "other_key_c: \
subject=other_key:subject_1, object=a:object_1, predicate='c'".
Tables without rows: empty.
Views and foreign tables are left out: seen. To add one, give its key in a line of nodes, as in \
"seen: id=seen:COLUMN".
"""


@pytest.fixture
async def odd(postgres):
    """A database with tables of unusual names, keys and rights."""
    async with postgres.database() as database:
        yield database


async def test_unusual_tables_are_read_or_named(odd):
    connection = await asyncpg.connect(odd.superuser_url)
    await connection.execute(ODD)
    await connection.close()
    await odd.run(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {odd.reader}")
    for schema in ("sales", "hr team"):
        await odd.grant_schema(schema)
    await odd.run(f"REVOKE ALL ON secret FROM {odd.reader}")
    settings = PostgresSettings(dsn=odd.reader_url)
    proposal = await discovery.propose(settings)
    assert proposal.withheld == "1 table without SELECT: secret"
    usage = f'GRANT USAGE ON SCHEMA "public" TO "{odd.reader}"; '
    assert proposal.remedy == f'{usage}GRANT SELECT ON "public"."secret" TO "{odd.reader}";'
    assert "\n".join(proposal.left_out) == LEFT_OUT.strip().replace("ROLE", odd.reader)
    backend = await PostgresBackend.open(settings)
    try:
        assert (await backend.next_steps()).endswith("not in this graph: bfsql doctor lists them.")
        await assert_agreed(backend, ODD_RECORDS, evidence=False)
        counts, wanted = await backend.outline(), await MemoryBackend(ODD_RECORDS).outline()
        assert (counts.node_counts, counts.relations) == (wanted.node_counts, wanted.relations)
        never = ["sales.person:01", "person:1", "sales.person:", "sales.person", "c:x", "days:1"]
        assert await backend.get_nodes_batch([*never, "lines:1:a:b:2020-02-03", "a:b%c:1"]) == []
        assert await backend.edges_batch([*never, "lines:1:a%3ab:2020-02-03"]) == []
    finally:
        await backend.close()
    given = {one.field: one.value for one in proposal.settings}
    printed = resolve(PostgresSettings, options={**given, "dsn": odd.reader_url}).settings
    assert await discovery.propose(printed) == Proposal()
    table = {one.field: one.tables for one in proposal.settings}
    written = resolve(PostgresSettings, options={"dsn": odd.reader_url}, table=table).settings
    assert (written.nodes, written.edges) == (printed.nodes, printed.edges)
    connection = await asyncpg.connect(odd.reader_url)
    try:
        layouts = [await discovery.layout_of(connection, one) for one in (settings, printed)]
    finally:
        await connection.close()
    assert layouts[0].nodes == layouts[1].nodes
    assert layouts[0].edges == layouts[1].edges


async def test_tables_without_foreign_keys_are_refused_with_a_line_that_runs(owner, opened):
    await owner.execute("CREATE TABLE parts (id int PRIMARY KEY, parent_id int)")
    with pytest.raises(StoreError, match="1 tables with a key and no foreign key") as refused:
        await opened()
    nodes, edges = re.findall(r'"([^"]+)"', str(refused.value))
    await owner.execute("INSERT INTO parts VALUES (1, NULL), (2, 1)")
    backend = await opened(nodes=nodes, edges=edges)
    assert await backend.edges_from("parts:2") == [Edge("parts:2", "parent", "parts:1")]


async def test_lines_for_tables_with_points_and_spaces_run_as_they_are_printed(
    owner, opened, database, schema
):
    await owner.execute(f"""
        CREATE TABLE "order.items" (id int PRIMARY KEY, "of" int REFERENCES "order.items");
        CREATE TABLE "the ""$ list" (id int); CREATE VIEW "a.view" AS SELECT 1 AS id;
        INSERT INTO "order.items" VALUES (1, NULL), (2, 1); INSERT INTO "the ""$ list" VALUES (3);
        CREATE TABLE "{schema}.x" (id int PRIMARY KEY); CREATE TABLE x (id int PRIMARY KEY);
        INSERT INTO "{schema}.x" VALUES (4); INSERT INTO x VALUES (5);
    """)
    proposal = await discovery.propose(PostgresSettings(dsn=database.reader_url, schema_=schema))
    nodes, edges = (one.value for one in proposal.settings)
    for sentence in proposal.left_out:
        if found := re.search(r"as in (.*)\.$", sentence):
            nodes = [*nodes, *shlex.split(found[1].replace("COLUMN", "id"))]
    backend = await opened(nodes=json.dumps(nodes), edges=json.dumps(edges))
    other = f"{schema}.{schema}%252Ex:4"
    ids = ["order.items:2", 'the "$ list:3', "a.view:1", other, "x:5"]
    assert {one.id for one in await backend.get_nodes_batch(ids)} == set(ids)
    assert await backend.edges_from(ids[0]) == [Edge(ids[0], "of", "order.items:1")]


RIGHTS = """
CREATE TABLE people (id int PRIMARY KEY, name text, boss int REFERENCES people);
CREATE TABLE firms (id int PRIMARY KEY, name text);
CREATE TABLE jobs (person int REFERENCES people, firm int REFERENCES firms, since int,
    PRIMARY KEY (person, firm));
"""


async def test_missing_rights_are_named_with_the_statements_that_give_them(owner, database, schema):
    settings = PostgresSettings(dsn=database.reader_url, schema_=schema)
    await owner.execute(RIGHTS)
    every = f'"{database.reader}"'
    for granted, names in (
        ("SELECT", "firms, jobs, people"),
        ("GRANT SELECT (name) ON people TO {0}", "firms, jobs, people.boss, id"),
        ("GRANT SELECT (id, name) ON people TO {0}; GRANT SELECT ON jobs TO {0}", None),
        ("GRANT SELECT ON firms TO {0}; GRANT SELECT (id, name) ON people TO {0}", None),
        (
            "GRANT SELECT ON firms, people TO {0}; GRANT SELECT (person, since) ON jobs TO {0}",
            "jobs.firm",
        ),
    ):
        await owner.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {every}")
        await owner.execute(granted.format(every))
        try:
            found = await discovery.propose(settings)
            said = f"{found.withheld}. Have their owner run: {found.remedy}"
            assert not [one for one in found.left_out if "GRANT" in one]
        except StoreError as refused:
            said = str(refused)
        assert "entity" not in said
        of_rights = (
            r"(?:The role .* may not read|\d tables? without SELECT:) (.*)\. Have .*: (GR.*)"
        )
        [(denied, grants)] = re.findall(of_rights, said)
        assert names in (None, denied)
        await owner.execute(grants)
        proposal = await discovery.propose(settings)
        assert len(proposal.settings[1].value) == 2
        assert all(sentence.startswith("Tables without rows") for sentence in proposal.left_out)
    await owner.execute("".join(f"CREATE TABLE t{n} (id int PRIMARY KEY);" for n in range(9)))
    await owner.execute(f"REVOKE ALL ON ALL TABLES IN SCHEMA {schema} FROM {every}")
    with pytest.raises(StoreError, match=r"and 4 more.* SELECT ON ALL TABLES IN SCHEMA "):
        await discovery.propose(settings)


async def test_a_foreign_key_to_another_unique_column_is_read_by_the_view_and_line_of_its_sentence(
    owner, opened, database, schema
):
    await owner.execute("""
        CREATE TABLE lands (id int PRIMARY KEY, "Code" text UNIQUE NOT NULL, name text);
        CREATE TABLE towns (id int, at int, land text REFERENCES lands ("Code"), in_id int
            REFERENCES lands, gone int REFERENCES lands, PRIMARY KEY (at, id));
        INSERT INTO lands VALUES (7, 'DE', 'Germany');
        INSERT INTO towns VALUES (1, 2, 'DE', 7, NULL), (2, 2, NULL, NULL, 7);
    """)
    settings = PostgresSettings(dsn=database.reader_url, schema_=schema)
    proposal = await discovery.propose(settings)
    [sentence] = proposal.left_out
    found = re.fullmatch(r'.*: towns.land. .* run: (.*;) .* edges: "(.*)".', sentence)
    assert found is not None
    view, line = found.groups()
    await owner.execute(view)
    nodes, edges = (one.value for one in proposal.settings)
    backend = await opened(nodes=nodes, edges=[*edges, line])
    assert sorted(await backend.edges_to("lands:7")) == [
        ("towns:2:1", "in", "lands:7"),
        ("towns:2:1", "land", "lands:7"),
        ("towns:2:2", "gone", "lands:7"),
    ]


@case_table(
    ("nodes", "edges", "said"),
    [
        ("n: id=n:", "e: subject=n:a, object=n:b", "cannot be read"),
        ({"table": "n", "id": "n:"}, "e: subject=n:a, object=n:b", "is not an id"),
        ({"table": "n", "id": ":id"}, "e: subject=n:a, object=n:b", "is not an id"),
        (
            "n: id=n:id",
            "e: subject=a, object=n:b",
            "begin with a column, and those of nodes with n",
        ),
        ("n: id=n:id", "e: subject=n:a, object=m:b", "begin with 'm', and those of nodes with n"),
        ("n: id=n:key", "e: subject=n:a, object=n:b", "no column 'key'"),
    ],
)
async def test_ids_with_constants_that_do_not_fit_are_named(owner, opened, nodes, edges, said):
    await owner.execute("DROP TABLE IF EXISTS n, e")
    await owner.execute("CREATE TABLE n (id int PRIMARY KEY); CREATE TABLE e (a int, b int)")
    with pytest.raises((ConfigurationError, StoreError), match=said):
        await opened(nodes=[nodes], edges=edges)


# --- ids ---------------------------------------------------------------------------

KEYS = {
    "whole": (("bigint",), st.tuples(st.integers(-(2**63), 2**63 - 1))),
    "small": (("smallint",), st.tuples(st.integers(-(2**15), 2**15 - 1))),
    "texts": (("text",), st.tuples(IDS)),
    "short": (("varchar(9)",), st.tuples(IDS)),
    "fixed": (("char(9)",), st.tuples(IDS.filter(lambda text: not text.endswith(" ")))),
    "uuids": (("uuid",), st.tuples(st.uuids())),
    "dates": (("int", "date"), st.tuples(st.integers(0, 9), st.dates())),
    "pairs": (("text", "varchar(9)"), st.tuples(IDS, IDS)),
    "trios": (("int", "text", "uuid"), st.tuples(st.integers(0, 9), IDS, st.uuids())),
    "other": (("numeric", "bool"), st.tuples(st.decimals(0, 9, places=2), st.booleans())),
}
"""Types of keys, with strategies for their values."""


@given(rows=st.fixed_dictionaries({n: st.sets(key, max_size=9) for n, (_, key) in KEYS.items()}))
@hypothesis.settings(deadline=None, max_examples=5, suppress_health_check=list(HealthCheck))
async def test_ids_are_unique_and_lead_back_to_their_rows(database, rows):
    async def fill(schema):
        await database.run(
            f"SET ROLE {database.owner}", f"SET search_path = {schema}", *map(_keyed, KEYS)
        )

    schema = await database.schema_with("keys of all kinds", fill)
    owner = await asyncpg.connect(database.owner_url, server_settings={"search_path": schema})
    for name, some in rows.items():
        marks = ", ".join(f"${place + 1}" for place in range(len(KEYS[name][0])))
        await owner.execute(f"TRUNCATE {name} CASCADE")
        await owner.executemany(f"INSERT INTO {name} VALUES ({marks})", list(some))
        await owner.execute(f"INSERT INTO of_{name} SELECT row_number() OVER (), * FROM {name}")
    await owner.close()
    backend = await PostgresBackend.create(database.reader_url, schema=schema, pool_size=1)
    try:
        listed = [node async for nodes in backend.nodes_stream() for node in nodes]
        ids = [node.id for node in listed]
        assert len(ids) == len(set(ids)) == 2 * sum(map(len, rows.values()))
        assert sorted(await backend.get_nodes_batch(ids)) == sorted(listed)
        edges = {tuple(edge) for edge in await backend.edges_batch(ids)}
        assert {s for s, _, _ in edges} | {o for _, _, o in edges} == set(ids)
        assert len(edges) == len(ids) / 2
        for node in listed:
            assert (await backend.get_node(node.id)).entity_type == node.entity_type
        wrong = (
            [f"{one} " for one in ids] + [one.upper() for one in ids] + [one[:-1] for one in ids]
        )
        assert {one.id for one in await backend.get_nodes_batch(wrong)} <= set(ids)
    finally:
        await backend.close()


def _keyed(name):
    kinds, _ = KEYS[name]
    columns = [f"k{place}" for place in range(len(kinds))]
    typed = ", ".join(f"{c} {kind}" for c, kind in zip(columns, kinds, strict=True))
    listed = ", ".join(columns)
    return (
        f"CREATE TABLE {name} ({typed}, PRIMARY KEY ({listed}));"
        f"CREATE TABLE of_{name} (id int PRIMARY KEY, {typed}, "
        f"FOREIGN KEY ({listed}) REFERENCES {name})"
    )


# --- cost --------------------------------------------------------------------------


MANY = """
DO $$ BEGIN
    CREATE TABLE t0 (id int PRIMARY KEY, name text);
    FOR i IN 1..499 LOOP
        EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, before_id int REFERENCES t%s, '
            'half int REFERENCES t%s, a text, b text, c text, d text)', i, i - 1, i / 2);
    END LOOP;
    INSERT INTO t6 VALUES (1, NULL, NULL, 'x');
    INSERT INTO t7 VALUES (1, 1, NULL, 'y'), (2, 1, NULL, 'z');
END $$;
"""


async def test_five_hundred_tables_are_proposed_in_two_seconds(odd, opened):
    await odd.run(MANY)
    await odd.grant_schema("public")
    settings = PostgresSettings(dsn=odd.reader_url)
    begun = time.process_time()
    proposal = await discovery.propose(settings)
    assert time.process_time() - begun < 2
    assert [len(one.value) for one in proposal.settings] == [500, 998]
    backend = await opened(odd.reader_url, schema="public")
    assert [one.id for one in await backend.search_entities("z", ["t7"])] == ["t7:2"]
    ids = [f"t{number}:1" for number in range(500)]
    edges = {tuple(edge) for edge in await backend.edges_batch(ids)}
    assert edges == {("t7:1", "before", "t6:1"), ("t7:2", "before", "t6:1")}
    assert len(await backend.metadata_for_nodes_batch(ids)) == 2


BIG = """
CREATE TABLE customers (id int PRIMARY KEY, name text);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, note text);
CREATE TABLE items (order_id int REFERENCES orders, customer_id int REFERENCES customers,
    number int, PRIMARY KEY (order_id, customer_id));
INSERT INTO customers SELECT i, 'Customer ' || i FROM generate_series(1, 20000) AS i;
INSERT INTO orders SELECT i, i, 'Note ' || i FROM generate_series(1, 20000) AS i;
INSERT INTO items SELECT i, i, 1 FROM generate_series(1, 20000) AS i;
CREATE INDEX ON orders (customer_id); CREATE INDEX ON items (customer_id);
ANALYZE customers, orders, items;
"""


async def test_lookups_use_the_indexes_of_keys(owner, settings):
    await owner.execute(BIG)
    layout = await discovery.layout_of(owner, settings)
    part = topology.WHOLE._replace(prefixes=frozenset({"orders", "customers"}))
    ids = ["orders:7", "customers:9"]
    for statement, values in (
        (topology.ring(layout, part), [ids]),
        (topology.small_ring(layout, 100, part), [ids, 2]),
        (topology.nodes(layout, part), [ids]),
        (queries.node_metadata(layout).statement, [ids, 100]),
        (queries.edge_metadata(layout).statement, [ids[:1], ["items"], ids[1:], 100]),
    ):
        plan = "\n".join(row[0] for row in await owner.fetch(f"EXPLAIN {statement}", *values))
        assert "Seq Scan" not in plan, plan
    assert [one.relation.name for one in missing_indexes(layout)] == []


async def test_a_search_of_a_large_table_without_an_index_is_bounded_and_says_so(
    owner, opened, monkeypatch
):
    await owner.execute(BIG)
    monkeypatch.setattr(search, "SCAN_LIMIT", 1_000)
    backend = await opened()
    for query, found in (
        ("Customer 20000", ["customers:20000"]),
        ("customers:15000", ["customers:15000"]),
        ("customer 700", ["customers:700"]),
        ("stomer 19999", []),
    ):
        with call.scope() as scope:
            assert [one.id for one in await backend.search_entities(query)][:1] == found
        reasons = sorted(one.reason or "" for one in scope.omissions)
        assert len(reasons) == 2
        assert reasons[0].startswith("1,000 of about 20,000 rows of customers were compared")
    with call.scope() as scope:
        assert await backend.search_entities("stomer 19999", ["items"]) == []
    await owner.execute("""
        CREATE INDEX ON customers USING gin (name public.gin_trgm_ops);
        CREATE INDEX ON customers USING gin (('customers:' || id::text) public.gin_trgm_ops);
    """)
    backend = await opened()
    with call.scope() as scope:
        found = await backend.search_entities("stomer 19999", ["customers"])
    assert ([one.id for one in found], scope.omissions) == (["customers:19999"], ())


async def test_the_columns_of_a_composite_key_are_properties(database, owner, schema):
    await owner.execute("""
        CREATE TABLE sensors (id int PRIMARY KEY, name text);
        CREATE TABLE readings (sensor_id int REFERENCES sensors, day date, hour int, value float8,
            PRIMARY KEY (sensor_id, day, hour));
        INSERT INTO sensors VALUES (1, 'north');
        INSERT INTO readings SELECT 1, date '2020-12-30' + n, n, n / 2.0
            FROM generate_series(0, 5) n;
    """)
    await database.grant_schema(schema)
    settings = {"dsn": database.reader_url, "schema_": schema}
    async with open_graph("postgres", **settings) as graph:
        await graph.counted()
        schema_text = (await graph.describe_schema()).text
        assert "day" in schema_text
        assert "hour" in schema_text
        asked = {"seeds": ["readings:*"], "where": ["day>=2021-01-01", "hour<4"]}
        answer = await graph.call(
            "bfs_query", {**asked, "fields": ["day"], "facets": ["hour"], "sort_by": "-day"}
        )
        assert [(one["id"], one["metadata"]) for one in answer.content["nodes"]] == [
            ("readings:1:2021-01-02:3", {"day": "2021-01-02"}),
            ("readings:1:2021-01-01:2", {"day": "2021-01-01"}),
        ]
        assert "sensor_id" not in schema_text  # it is the edge to the sensor


@pytest.mark.slow
async def test_a_table_that_may_be_withheld_on_purpose_is_one_line_without_a_warning(
    database, owner, schema, caplog
):
    await owner.execute("CREATE TABLE a (id int PRIMARY KEY, name text, b_id int REFERENCES a);")
    await owner.execute("INSERT INTO a VALUES (1, 'x', 1); CREATE TABLE wages (id int PRIMARY KEY)")
    await database.grant_schema(schema)
    await owner.execute(f'REVOKE ALL ON wages FROM "{database.reader}"')
    runner, grants = CliRunner(env={"BFSQL_POSTGRES_DSN": database.reader_url}), list[str]()
    for more in ([], ["--verbose"]):
        doctor = ["doctor", "--backend", "postgres", "--schema", schema, "--json", *more]
        result = await asyncio.to_thread(runner.invoke, bfsql, doctor)
        findings = json.loads(result.stdout)
        [found] = [one for one in findings if one["subject"] == "left out"]
        assert (found["state"], found["text"]) == ("ok", "1 table without SELECT: wages")
        grants.append(found["cure"])
        assert "GRANT" not in str([one for one in findings if one != found])
    assert (grants[0], grants[1][:11]) == ("", "GRANT USAGE")
    with caplog.at_level("INFO", "bfsql"):
        backend = await PostgresBackend.create(dsn=database.reader_url, schema_=schema)
        await backend.close()
    said = [one for one in caplog.records if one.getMessage().startswith(("Chosen", "Left out"))]
    assert {one.levelname for one in said} == {"INFO"}
    assert "GRANT" not in caplog.text
