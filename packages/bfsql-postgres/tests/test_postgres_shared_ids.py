"""Ids that are in several tables of nodes are told: to the operator, and to whoever asks."""

from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from bfsql_postgres import PostgresBackend, discovery, queries

Open = Callable[..., Awaitable[PostgresBackend]]

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


async def test_two_tables_that_count_from_one_are_told_with_an_example_and_a_cure(
    owner: asyncpg.Connection, opened: Open, schema: str, caplog: pytest.LogCaptureFixture
) -> None:
    await owner.execute(COUNTED)
    backend = await opened(nodes=NODES, edges=EDGES)
    said = f"the id '1' is in {schema}.people and in {schema}.firms."
    for text in (caplog.text, await backend.next_steps()):
        assert said in text
        assert "SELECT 'person:' || id::text AS id" in text
    assert caplog.text.count("shared between") == 1
    # It may be one thing told twice, so that it is served all the same.
    assert await backend.get_nodes_batch(["1"]) == [("1", "Person", {})]


async def test_views_with_a_prefix_before_the_ids_are_the_cure(
    owner: asyncpg.Connection, opened: Open, caplog: pytest.LogCaptureFixture
) -> None:
    await owner.execute(
        COUNTED
        + "CREATE VIEW p AS SELECT 'person:' || id::text AS id, name FROM people;"
        + "CREATE VIEW f AS SELECT 'firm:' || id AS id, name FROM firms;"
        + "CREATE VIEW j AS SELECT 'person:' || person AS person, 'firm:' || firm AS firm FROM jobs"
    )
    backend = await opened(
        nodes=["p: type='Person'", "f: type='Firm'"], edges="j: subject=person, object=firm"
    )
    assert "shared between" not in caplog.text + await backend.next_steps()
    assert {tuple(edge) for edge in await backend.edges_batch(["firm:1"])} == {
        ("person:1", "j", "firm:1"),
        ("person:2", "j", "firm:1"),
    }


@pytest.mark.parametrize("kind", ["bigint", "text", "uuid"])
async def test_tables_are_looked_at_from_both_sides_and_by_what_their_ids_are(
    owner: asyncpg.Connection,
    opened: Open,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:

    monkeypatch.setattr(queries, "SAMPLED", 5)
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
    # The first five of `a` are in no other table; those of `b` are all in `a`.
    backend = await opened(nodes=["a", "b", "c"], edges="e")
    assert "50' is in" in caplog.text or "0050' is in" in caplog.text
    assert ".c" not in (await backend.next_steps()).partition("shared between")[2]


async def test_a_look_that_takes_too_long_is_left(
    owner: asyncpg.Connection,
    opened: Open,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await owner.execute(
        COUNTED + "CREATE VIEW slow AS SELECT id FROM people, LATERAL (SELECT pg_sleep(60)) AS s"
    )
    monkeypatch.setattr(discovery, "SECONDS", 0.1)
    backend = await opened(nodes=["firms", "slow"], edges=EDGES)
    assert "shared between" not in caplog.text
    assert await backend.predicates() == ["jobs"]
