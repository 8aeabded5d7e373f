"""Under row security, a role's answers are those of a database that has only its rows."""

import asyncio
import logging
import random

import pytest

from bfsql.errors import ConfigurationError, StoreError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import PostgresSettings, load_graph, outline
from bfsql_postgres.sql import identifier, literal
from bfsql_test_support.answer_comparison import calls_of
from bfsql_test_support.case_table import case_table
from bfsql_test_support.drawn_answers import KINDS, answer
from bfsql_test_support.drawn_answers import opened as counted
from bfsql_test_support.drawn_graphs import drawn_graph

CLAIMS = {"groups": ["lab's \\ own"], "sub": "ann"}
CLAIMED = "current_setting('request.jwt.claims', true)::json #>> '{groups,0}' = 'lab''s \\ own'"
RECORDS = [NodeRecord(f"t{i:02}", "Trial") for i in range(30)]
RECORDS += [EdgeRecord(f"t{i:02}", "follows", f"t{i + 1:02}") for i in range(29)]
both_ways = case_table("pooled", {"direct": False, "pooled": True})


@pytest.fixture
async def role(database, schema):
    """A role, whose name has to be quoted, and an account that may take it and nothing else."""
    account = f"{database.name}_{schema}"  # its own: a pooler keeps connections of one that is gone
    role = f'{account} "an\'a\\lyst"'
    own = identifier(role)
    creating = (f"CREATE ROLE {account} LOGIN NOINHERIT", f"CREATE ROLE {own}")
    await database.run(*creating, f"GRANT {own} TO {account}")
    yield role
    await database.run(f"DROP OWNED BY {own}", f"DROP ROLE {own}, {account}")


@pytest.fixture
def seen(database, schema, opened, pgbouncer, role):
    """Opens `schema` as the account and the role."""

    async def open_it(*, pooled=False, **settings):
        url = (pgbouncer.url if pooled else database.address)(database.name, role.split()[0])
        return await opened(url, **{"role": role, "transaction_pooling": pooled, **settings})

    return open_it


@pytest.fixture
def guard(database, schema, role):
    """Shows the role all rows but those of some nodes and edges, and others none."""

    async def run(nodes, edges=(), also="TRUE"):
        names, keys = (
            f"<> ALL (ARRAY[{', '.join(map(literal, texts))}]::text[])"
            for texts in (nodes, map(":".join, edges))
        )
        ends = f"subject_id {names} AND object_id {names}"
        tests = {
            "entity": f"entity_id {names}",
            "relationship": f"{ends} AND subject_id || ':' || predicate || ':' || object_id {keys}",
            "bundle_evidence": f"relationship_key {keys}",
        }
        to = f"TO {identifier(role)}"
        await database.run(f"GRANT USAGE ON SCHEMA {schema} {to}")
        for table, test in tests.items():
            await database.run(
                f"GRANT SELECT ON {schema}.{table} {to}",
                f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY",
                f"CREATE POLICY own ON {schema}.{table} {to} USING ({test} AND {also})",
            )

    return run


@pytest.fixture
async def guarded(load, guard):
    """A graph of which the role sees the last ten nodes."""
    await load(RECORDS)
    await guard([f"t{i:02}" for i in range(20)])


@both_ways
@pytest.mark.parametrize("number", [0, 4, 12])
async def test_a_role_has_the_answers_of_its_rows(
    *, database, load, opened, seen, guard, number, pooled
):
    graph, draw = drawn_graph(number), random.Random(number)
    gone = {node for node in graph.nodes if draw.random() < 0.3}
    triples = sorted({edge[:3] for edge in graph.edges})
    lost = [[*t] for t in triples if {t[0], t[2]} & gone or draw.random() < 0.2]
    rest = [r for r in graph.records if r[1] not in gone and r[1:4] not in lost]
    await load([KINDS[kind](*own) for kind, *own in graph.records])
    await guard(gone, lost, CLAIMED)
    async with database.schema() as alone:
        place = PostgresSettings(dsn=database.owner_url, schema_=alone)
        await load_graph(place, [KINDS[kind](*own) for kind, *own in rest])
        role, other = await seen(pooled=pooled, claims=CLAIMS), await opened(schema=alone)
        async with counted(role, "", graph.limits) as one, counted(other, "", graph.limits) as two:
            for call in [("describe_schema", {}), *calls_of(graph)[:30]]:
                assert await answer(one, *call) == await answer(two, *call), call


@both_ways
async def test_no_connection_keeps_a_role(guarded, seen, opened, pooled):
    role, other = await seen(pooled=pooled), await opened(pooled=pooled)
    for _ in range(3):
        late = asyncio.ensure_future(role.outline())
        await asyncio.sleep(0.002)
        late.cancel()
        found = await asyncio.gather(*(one.entity_types() for one in [role, other] * 10))
        assert found == [["Trial"], []] * 10


async def test_no_statistics_of_hidden_rows_are_used(guarded, seen, owner, monkeypatch, caplog):
    caplog.set_level(logging.INFO, logger="bfsql.postgres")
    await owner.execute("ANALYZE")
    monkeypatch.setattr(outline, "COUNT_LIMIT", 20)
    backend = await seen(schema_timeout=1e-6)
    assert {one.rows for one in backend._layout.relations.values()} == {0}
    found = await backend.outline()
    assert (found.sampled, [one.edges for one in found.relations]) == (False, [9])
    assert "lyst\"' sees: row security applies to it in 3 of 3 tables." in caplog.text


async def test_the_rights_are_those_of_the_role(guarded, opened, database, schema, role):
    superuser = await opened(database.superuser_url, role=role)
    assert await superuser.may_write() is None
    await database.run(f"GRANT UPDATE ON {schema}.entity TO {identifier(role)}")
    assert f"{role!r} may change the table" in await superuser.may_write()


WRONG = {"no'one": 'role "no\'one" does not exist', "postgres": 'permission denied to set role "'}


@case_table("name, told", [*WRONG.items(), ("none", "leave it out for the account's own")])
async def test_a_role_that_cannot_be_taken_is_an_error(seen, name, told):
    for pooled in (False, True):
        with pytest.raises((StoreError, ConfigurationError)) as caught:
            await seen(role=name, pooled=pooled)
        assert told in str(caught.value)
        assert (f'GRANT "{name}" TO "graphs_' in str(caught.value)) == (name in WRONG)


async def test_a_load_leaves_row_security_on(guarded, seen, load):
    backend = await seen()
    assert await backend.entity_types() == ["Trial"]
    await load(RECORDS)
    assert await backend.entity_types() == []
