"""Rings: small ones by one statement with the types of their ends, large ones by a cursor."""

import asyncio
from contextlib import aclosing

import asyncpg
import pytest

from bfsql import call, open_graph
from bfsql_postgres import backend, connection
from bfsql_test_support.case_table import case_table

both_ways = case_table("pooled", {"direct": False, "pooled": True})


async def rows_of(graph, ids):
    return [tuple(row) async for batch in graph.edges_stream(list(ids)) for row in batch]


async def assert_typed(graph, ids, *, typed=True):
    """Check that the edges equal those of `edges_batch`, with the types of `get_nodes_batch`."""
    rows = await rows_of(graph, ids)
    ring = sorted(tuple(edge) for edge in await graph.edges_batch(ids))
    assert sorted(row[:3] for row in rows) == ring
    assert ring
    if not typed:
        assert {len(row) for row in rows} == {3}
        return
    ends = {end for s, _, o in ring for end in (s, o)}
    types = {node.id: node.entity_type for node in await graph.get_nodes_batch(list(ends))}
    assert [row[3:] for row in rows] == [(types.get(s), types.get(o)) for s, _, o, *_ in rows]


TABLES = """
DROP TABLE IF EXISTS {nodes}, {edges};
CREATE TABLE {nodes} (id {key} PRIMARY KEY, kind text);
CREATE TABLE {edges} (subject {key}, predicate text, object {key});
INSERT INTO {nodes} SELECT (lpad(i::text, 32, '0')::{via})::{key},
    (ARRAY['T', 'Ü', '', NULL])[1 + i % 4] FROM generate_series(1, 12) AS i;
INSERT INTO {edges} SELECT (lpad(i::text, 32, '0')::{via})::{key}, 'p' || i % 2,
    (lpad(((i * 5 + 1) % 16)::text, 32, '0')::{via})::{key} FROM generate_series(0, 15) AS i;
INSERT INTO {edges} SELECT * FROM {edges} LIMIT 3;
INSERT INTO {edges} SELECT subject, NULL, object FROM {edges} LIMIT 1;
CREATE INDEX ON {edges} (subject); CREATE INDEX ON {edges} (object, subject);
"""


@both_ways
@case_table(("key", "via"), [("text", "text"), ("int", "numeric"), ("uuid", "uuid")])
async def test_types_of_both_ends_come_with_the_edges_whatever_ids_are(
    owner, opened, key, via, pooled
):
    await owner.execute(TABLES.format(nodes="n", edges="e", key=key, via=via))
    graph = await opened(nodes="n: type=kind", edges="e: predicate=predicate", pooled=pooled)
    ids = [row[0] for row in await owner.fetch("SELECT subject::text FROM e")]
    for asked in (ids, ids[1:2], ids[5:7]):
        await assert_typed(graph, [*asked, "no id"])
    assert await rows_of(graph, []) == await rows_of(graph, ["no id", "\0"]) == []


async def test_the_first_of_several_tables_gives_the_type_and_a_constant_is_one(owner, opened):
    await owner.execute(TABLES.format(nodes="n", edges="e", key="text", via="text"))
    await owner.execute("""
        CREATE TABLE m (id text, kind text); CREATE INDEX ON m (id);
        INSERT INTO m SELECT id, 'second' FROM n LIMIT 6;
        INSERT INTO m SELECT lpad('13', 32, '0'), unnest(ARRAY['z', 'ä', 'y', 'Z']);
        INSERT INTO m VALUES (lpad('14', 32, '0'), NULL), (lpad('14', 32, '0'), 'a'), (NULL, 'x');
        CREATE TABLE c (id text PRIMARY KEY); INSERT INTO c VALUES (lpad('15', 32, '0'));
        CREATE TABLE f (subject text, object text);
        INSERT INTO f SELECT object, subject FROM e;
        CREATE INDEX ON f (subject); CREATE INDEX ON f (object);
    """)
    ids = [row[0] for row in await owner.fetch("SELECT subject FROM e")]
    for first, second in (("n: type=kind", "m: type=kind"), ("m: type=kind", "n: type=kind")):
        graph = await opened(nodes=[first, second, "c: type='It''s'"], edges=["e", "f"])
        await assert_typed(graph, ids)
        rows = await rows_of(graph, ids)
        found = {row[0].lstrip("0"): row[3] for row in rows}
        assert [found[i] for i in ("13", "14", "15", "")] == ["Z", "owl:Thing", "It's", None]


async def test_merged_entities_have_no_type(owner, opened):
    await owner.execute("""
        CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text, status text);
        CREATE TABLE relationship (subject_id text, predicate text, object_id text);
        CREATE INDEX ON relationship (subject_id); CREATE INDEX ON relationship (object_id);
        INSERT INTO entity VALUES ('a', 'T', NULL), ('b', 'U', 'canonical'), ('m', 'V', 'merged');
        INSERT INTO relationship VALUES ('a', 'p', 'b'), ('a', 'p', 'm'), ('m', 'p', 'b'),
            ('a', 'p', 'a'), ('gone', 'p', 'b');
    """)
    graph = await opened()
    assert sorted(await rows_of(graph, ["a", "m", "gone"]), key=str) == [
        ("a", "p", "a", "T", "T"),
        ("a", "p", "a", "T", "T"),
        ("a", "p", "b", "T", "U"),
        ("a", "p", "m", "T", None),
    ]


@pytest.mark.parametrize(
    ("made", "node"),
    [
        ("CREATE VIEW v AS SELECT * FROM n", "v"),
        ("ALTER TABLE n DROP CONSTRAINT n_pkey", "n"),
        ("DROP INDEX e_subject_idx", "n"),
        ('ALTER TABLE n ALTER id TYPE text COLLATE "C"', "n"),
        ('ALTER TABLE e ALTER object TYPE text COLLATE "C"', "n"),
        ("ALTER TABLE n ALTER id TYPE char(32)", "n"),
    ],
    ids=["view", "no index of nodes", "no index of edges", "collations", "ends", "types"],
)
async def test_what_no_index_finds_comes_without_types(owner, opened, made, node):
    await owner.execute(TABLES.format(nodes="n", edges="e", key="text", via="text") + made)
    graph = await opened(nodes=f"{node}: type=kind", edges="e: predicate=predicate")
    await assert_typed(graph, [f"{i:032}" for i in range(16)], typed=False)


@pytest.mark.parametrize(("key", "via"), [("text", "text"), ("int", "numeric"), ("uuid", "uuid")])
async def test_nodes_of_several_statements_are_those_of_one(owner, opened, key, via, monkeypatch):
    await owner.execute(TABLES.format(nodes="n", edges="e", key=key, via=via))
    ids = [row[0] for row in await owner.fetch("SELECT subject::text FROM e")]
    graph = await opened(nodes="n: type=kind", edges="e: predicate=predicate")
    few = await graph.get_nodes_batch(ids)
    monkeypatch.setattr(backend, "CHUNK", 5)
    assert sorted(await graph.get_nodes_batch(ids)) == sorted(few)
    assert len(few) == 12


# --- large ------------------------------------------------------------------


@pytest.fixture
async def hub(owner, monkeypatch):
    """A node with 1,000 edges, which counts as a large ring; returns the ids of all nodes."""
    monkeypatch.setattr(backend, "SMALL", 60)
    monkeypatch.setattr(backend, "FEW", 5)
    monkeypatch.setattr(connection, "BATCH", 100)
    await owner.execute("""
        CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text);
        CREATE TABLE relationship (subject_id text, predicate text, object_id text);
        CREATE INDEX ON relationship (subject_id); CREATE INDEX ON relationship (object_id);
        INSERT INTO entity SELECT 'n' || i, 'T' FROM generate_series(0, 1000) AS i;
        INSERT INTO relationship SELECT 'n0', 'p', 'n' || i FROM generate_series(1, 1000) AS i;
    """)
    return [f"n{i}" for i in range(1001)]


@both_ways
@case_table("batch", [100, 300])
async def test_a_large_ring_comes_in_pieces_of_batches_without_types(
    opened, hub, pooled, batch, monkeypatch
):
    monkeypatch.setattr(connection, "BATCH", batch)
    monkeypatch.setattr(connection, "PIECE", 200)
    graph = await opened(pooled=pooled, pool_size=1)
    sizes = [len(rows) async for rows in graph.edges_stream(["n0"])]
    assert sizes == ([100] * 10 if batch == 100 else [200, 100] * 3 + [100])
    await assert_typed(graph, ["n0"], typed=False)
    await assert_typed(graph, hub[1:], typed=False)
    await assert_typed(graph, hub[1:4])


@both_ways
async def test_a_ring_that_is_left_half_way_gives_its_connection_back(
    opened, hub, pooled, database
):
    graph = await opened(pooled=pooled, pool_size=1)
    watcher = await asyncpg.connect(database.superuser_url)
    for _ in range(3):
        async with aclosing(graph.edges_stream(["n0"])) as batches:
            async for _ in batches:
                break
        assert len(await graph.edges_batch(["n0"])) == 1000
    busy = await watcher.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND state <> 'idle'",
        database.reader,
    )
    await watcher.close()
    assert busy == 0


async def test_streams_leave_connections_for_what_is_read_between_their_batches(opened, hub):
    graph = await opened(pool_size=2, connect_timeout=5.0)

    async def read():
        types = [await graph.get_nodes_batch(hub[:9]) async for _ in graph.edges_stream(["n0"])]
        return len(types)

    assert await asyncio.gather(*(read() for _ in range(4))) == [10] * 4


@pytest.mark.parametrize("pooled", [False, True])
async def test_a_ring_that_is_cancelled_or_late_half_way_ends_on_the_server(
    opened, owner, hub, pooled, database
):
    # Its third batch takes a minute.
    await owner.execute("""
        ALTER TABLE relationship RENAME TO quick;
        CREATE VIEW relationship AS SELECT subject_id, predicate, object_id FROM quick
        WHERE object_id <> 'n250' OR (SELECT count(*) FROM pg_sleep(60)) > 0;
    """)
    graph = await opened(pooled=pooled, pool_size=1)
    watcher = await asyncpg.connect(database.superuser_url)
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    got = []

    async def read():
        got.extend([len(rows) async for rows in graph.edges_stream(hub[:6])])

    async def until(number):
        async with asyncio.timeout(30):  # half of what the batch would take
            while await watcher.fetchval(sleeping) != number:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)

    reading = asyncio.ensure_future(read())
    await until(1)
    reading.cancel()
    await until(0)
    with pytest.raises(asyncio.CancelledError):
        await reading
    with call.scope(seconds=0.3), pytest.raises(TimeoutError):
        await read()
    await until(0)
    assert len(await graph.get_nodes_batch(hub)) == 1001
    assert set(got) <= {100}
    await watcher.close()


async def test_a_path_begins_at_100_000_entities_of_a_pattern(owner, opened):
    await owner.execute("""
        CREATE TABLE entity (entity_id text PRIMARY KEY, entity_type text, properties jsonb);
        CREATE TABLE relationship (subject_id text, predicate text, object_id text);
        INSERT INTO entity SELECT 't' || i, 'Trial', jsonb_build_object('phase', i / 100000)
            FROM generate_series(0, 100008) AS i;
        INSERT INTO entity SELECT 'c' || i, 'Compound', NULL FROM generate_series(0, 9) AS i;
        INSERT INTO relationship SELECT 't' || i, 'tests', 'c' || i % 10
            FROM generate_series(0, 100008) AS i;
        CREATE INDEX ON relationship (subject_id); CREATE INDEX ON relationship (object_id);
        ANALYZE;
    """)
    path = {"seeds": ["Trial[phase=0]"], "path": ["-tests-> Compound"], "show": "ends"}
    async with open_graph(await opened()) as graph:
        answer = (await graph.bfs_query(**path, measure="count 0", limit=2)).content
    assert (answer["seed_count"], answer["edge_count"]) == (100_000, 100_000)
    assert [(one["id"], one["measure"]) for one in answer["nodes"]] == [
        ("c0", 10_000),
        ("c1", 10_000),
    ]
