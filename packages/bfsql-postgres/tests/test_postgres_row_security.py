"""Under row security, a role's answers are those of a database that has only its rows."""

import asyncio
import random
from types import SimpleNamespace

import pytest

from bfsql.errors import BfsqlError
from bfsql_postgres import PostgresSettings, load_graph, outline
from bfsql_postgres.sql import identifier, literal
from bfsql_test_support.answer_comparison import calls_of
from bfsql_test_support.case_table import case_table
from bfsql_test_support.drawn_answers import KINDS, answer
from bfsql_test_support.drawn_answers import opened as counted
from bfsql_test_support.drawn_graphs import drawn_graph

CLAIMS = {"groups": ["lab's \\ own"], "sub": "ann"}
CLAIMED = "current_setting('request.jwt.claims', true)::json #>> '{groups,0}' = 'lab''s \\ own'"
TRIPLE = "subject_id || ':' || predicate || ':' || object_id"
KEYS = {"entity": "entity_id", "relationship": TRIPLE, "bundle_evidence": "relationship_key"}
both_ways = case_table("pooled", {"direct": False, "pooled": True})


@pytest.fixture
async def account(*, database, schema, opened, pgbouncer, load, small_records):
    """An account that may take a role and nothing else; the role sees `b`, `c` and their edge."""
    name = f"{database.name}_{schema}"  # its own: a pooler keeps connections of one that is gone
    role = f'{name} "an\'a\\lyst"'
    to = f"TO {(own := identifier(role))}"
    await database.run(f"CREATE ROLE {name} LOGIN NOINHERIT", f"CREATE ROLE {own}")
    await database.run(f"GRANT {own} TO {name}", f"GRANT USAGE ON SCHEMA {schema} {to}")

    async def guard(hidden, also="TRUE"):
        """Show the role all rows but those of some nodes and edges, and others none."""
        others = f"<> ALL (ARRAY[{', '.join(map(literal, hidden))}]::text[]) AND {also}"
        for table, key in KEYS.items():
            await database.run(
                f"GRANT SELECT ON {schema}.{table} {to}",
                f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY",
                f"CREATE POLICY own ON {schema}.{table} {to} USING ({key} {others})",
            )

    async def open_it(*, pooled=False, **settings):
        url = (pgbouncer.url if pooled else database.address)(database.name, name)
        return await opened(url, **{"role": role, "transaction_pooling": pooled, **settings})

    await load(small_records)
    await guard(["a", "a:p:b"])
    yield SimpleNamespace(guard=guard, open=open_it)
    await database.run(f"DROP OWNED BY {own}", f"DROP ROLE {own}, {name}")


@both_ways
@pytest.mark.parametrize("number", [0, 4, 12])
async def test_a_role_has_the_answers_of_its_rows(
    *, database, load, opened, account, number, pooled
):
    graph, draw = drawn_graph(number), random.Random(number)
    hidden = {node for node in graph.nodes if draw.random() < 0.3}
    edges = [edge for edge in graph.edges if {edge[0], edge[2]} & hidden or draw.random() < 0.2]
    hidden |= {":".join(edge[:3]) for edge in edges}
    await load([KINDS[kind](*own) for kind, *own in graph.records])
    assert await (await account.open()).entity_types() == []  # a load removes policies alone
    await account.guard(hidden, CLAIMED)
    async with database.schema() as alone:
        rest = [r for r in graph.records if ":".join(r[1 : 2 + 2 * (r[0] != "node")]) not in hidden]
        place = PostgresSettings(dsn=database.owner_url, schema_=alone)
        await load_graph(place, [KINDS[kind](*own) for kind, *own in rest])
        role, other = await account.open(pooled=pooled, claims=CLAIMS), await opened(schema=alone)
        async with counted(role, "", graph.limits) as one, counted(other, "", graph.limits) as two:
            for call in [("describe_schema", {}), *calls_of(graph)[:30]]:
                assert await answer(one, *call) == await answer(two, *call), call


@both_ways
async def test_no_connection_keeps_a_role(account, opened, pooled):
    role, other = await account.open(pooled=pooled), await opened(pooled=pooled)
    for _ in range(3):
        late = asyncio.ensure_future(role.outline())
        await asyncio.sleep(0.002)
        late.cancel()
        found = await asyncio.gather(*(one.entity_types() for one in [role, other] * 10))
        assert found == [["T", "U"], []] * 10


async def test_no_statistics_of_hidden_rows_are_used(account, owner, monkeypatch, caplog):
    caplog.set_level("INFO")
    await owner.execute("ANALYZE")
    monkeypatch.setattr(outline, "COUNT_LIMIT", 1)
    backend = await account.open(schema_timeout=1e-6)
    assert {one.rows for one in backend._layout.relations.values()} == {0}
    found = await backend.outline()
    assert (found.sampled, [one.edges for one in found.relations]) == (False, [1])
    assert "lyst\"' sees: row security applies to it in 3 of 3 tables." in caplog.text


@both_ways
async def test_a_role_that_cannot_be_taken_is_an_error(account, pooled):
    wrong = {"no'one": "does not exist", "postgres": "permission denied", "none": "leave it out"}
    for name, told in wrong.items():
        with pytest.raises(BfsqlError, match=told) as caught:
            await account.open(role=name, pooled=pooled)
        assert name == "none" or f'run: GRANT "{name}" TO "graphs_' in str(caught.value)
