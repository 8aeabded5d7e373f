"""Under row security, a role's answers are those of a database that has only its rows."""

import asyncio
import json
import random
from contextlib import AsyncExitStack
from functools import partial
from types import SimpleNamespace

import httpx2
import pytest

from bfsql.cli.configuration import choose, configure
from bfsql.cli.configured import opened as opened_for
from bfsql.errors import BfsqlError
from bfsql.graph import open_graph
from bfsql.rest.app import application
from bfsql.serving.live import open_live
from bfsql.serving.tokens import TokenOwner
from bfsql.settings import ServeSettings
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
KIND = '"an\'a\\lyst"'
ANN, BOB, EVE = "ann'; RESET ROLE; --\\\" {kind}", "bob", 'eve","sub":"bob'
both_ways = case_table("pooled", {"direct": False, "pooled": True})


@pytest.fixture
async def account(*, database, schema, opened, pgbouncer, load, small_records):
    """An account that may take a role and nothing else; the role sees `b`, `c` and their edge."""
    name = f"{database.name}_{schema}"  # its own: a pooler keeps connections of one that is gone
    role = f"{name} {KIND}"
    to = f"TO {(own := identifier(role))}"
    await database.run(f"CREATE ROLE {name} LOGIN NOINHERIT", f"CREATE ROLE {own}")
    await database.run(f"GRANT {own} TO {name}", f"GRANT USAGE ON SCHEMA {schema} {to}")

    async def guard(hidden, also="TRUE", policy="own"):
        """Show the role all rows but those of some nodes and edges, and others none."""
        others = f"<> ALL (ARRAY[{', '.join(map(literal, hidden))}]::text[]) AND {also}"
        for table, key in KEYS.items():
            await database.run(
                f"GRANT SELECT ON {schema}.{table} {to}",
                f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY",
                f"CREATE POLICY {policy} ON {schema}.{table} {to} USING ({key} {others})",
            )

    def url(*, pooled):
        return (pgbouncer.url if pooled else database.address)(database.name, name)

    async def open_it(*, pooled=False, **settings):
        own = {"role": role, "transaction_pooling": pooled, **settings}
        return await opened(url(pooled=pooled), **own)

    await load(small_records)
    await guard(["a", "a:p:b"])
    yield SimpleNamespace(guard=guard, open=open_it, url=url, prefix=f"{name} ")
    await database.run(f"DROP OWNED BY {own}", f"DROP ROLE {own}, {name}")


async def load_rest(database, schema, graph, hidden):
    """Load what is left of a graph without some nodes and edges."""
    rest = [r for r in graph.records if ":".join(r[1 : 2 + 2 * (r[0] != "node")]) not in hidden]
    place = PostgresSettings(dsn=database.owner_url, schema_=schema)
    await load_graph(place, [KINDS[kind](*own) for kind, *own in rest])


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
        await load_rest(database, alone, graph, hidden)
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


LAB = {"groups": ["lab"]}
TOKENS = {sub: {"realm": {**LAB, "sub": sub}, "kind": KIND} for sub in (ANN, BOB, EVE)}
TOKENS |= {"another role": {"realm": {**LAB, "sub": BOB}, "kind": "x"}, "a file": None}
REFUSED = {"none": LAB, "odd": {**LAB, "sub": "ann\u202e"}, "empty": {**LAB, "sub": ""}}
REFUSED |= {"list": {**LAB, "sub": [ANN]}, "long": {**LAB, "sub": "a" * 256}}
TOKENS |= {name: {"realm": realm, "kind": KIND} for name, realm in REFUSED.items()}
FILE = """
rest = true
max_identities = 2
[backend]
name = "postgres"
dsn = URL
transaction_pooling = POOLED
schema = SCHEMA
role = OWN
[roles.lab]
tokens = ["a file"]
claims = { "realm.groups" = ["lab"] }
[roles.lab.settings]
role = ROLE
claims = { sub = "{realm.sub}" }
"""


class Tokens:
    """Tokens that are numbers of the claims above."""

    async def verify_token(self, token):
        return TokenOwner(name := [*TOKENS][int(token)], claims=TOKENS[name])


def asking(graph, settings):
    """Asks a graph by the name of a token: the status and text of the reply."""
    transport = httpx2.ASGITransport(application(graph, settings, Tokens()))

    async def ask(name, tool="describe_schema", arguments=None):
        headers = {"Authorization": f"Bearer {[*TOKENS].index(name)}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as web:
            reply = await web.post(f"/tools/{tool}", json=arguments or {}, headers=headers)
        return reply.status_code, reply.text

    return ask


@pytest.mark.parametrize(("number", "pooled"), [(0, False), (12, False), (12, True)])
async def test_each_token_has_the_answers_of_its_rows(
    *, database, schema, load, opened, account, tmp_path, number, pooled
):
    graph, draw, asks = drawn_graph(number), random.Random(number), {}
    await load([KINDS[kind](*own) for kind, *own in graph.records])
    values = {"URL": account.url(pooled=pooled), "SCHEMA": schema, "OWN": account.prefix + KIND}
    values["POOLED"] = pooled
    text, file = FILE.replace("ROLE", json.dumps(account.prefix + "{kind}")), tmp_path / "b.toml"
    for name, value in values.items():
        text = text.replace(name, json.dumps(value))
    file.write_text(text, encoding="utf-8")
    configuration = configure(choose(config=file, environment={}))
    settings = configuration.server.settings
    async with AsyncExitStack() as stack:
        for policy, name in (("of_ann", ANN), ("of_bob", BOB)):
            hidden = {node for node in graph.nodes if draw.random() < 0.4}
            hidden |= {":".join(e[:3]) for e in graph.edges if {e[0], e[2]} & hidden}
            also = f"current_setting('request.jwt.claims', true)::json ->> 'sub' = {literal(name)}"
            await account.guard(hidden, also, policy)
            alone = await stack.enter_async_context(database.schema())
            await load_rest(database, alone, graph, hidden)
            store = await opened(schema=alone)
            rest = open_graph(store, limits=settings.served_limits)
            asks[name] = asking(await stack.enter_async_context(rest), ServeSettings(rest=True))
        opens = partial(opened_for, configuration, served=True)
        live = await stack.enter_async_context(open_live(opens, settings))
        ask = asking(live, settings)
        for call in [("describe_schema", {}), *calls_of(graph)[:20]]:
            both = [ask(name, *call) for name in asks] + [own(n, *call) for n, own in asks.items()]
            found = await asyncio.gather(*both)
            assert found[:2] == found[2:], call
        status, text = await ask(EVE)  # she takes the place of the one that was asked first
        assert (status, json.loads(text)["entity_types"]) == (200, [])
        known = live._opened.identities
        assert [json.loads(one)["claims"]["sub"] for _, one in known] == [BOB, EVE]
        for name in (*REFUSED, "a file"):
            status, text = await ask(name)
            assert (status, "the claim realm.sub" in text) == (403, True), name
        status, text = await ask("another role")
        assert (status >= 500, "incident" in text, len(known)) == (True, True, 1)
