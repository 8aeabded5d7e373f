"""Under row security, a role's answers are those of a database that has only its rows."""

import json
import logging
import random

import pytest

from bfsql.errors import StoreError
from bfsql_postgres import PostgresSettings, load_graph, outline, search
from bfsql_test_support.answer_comparison import calls_of
from bfsql_test_support.case_table import case_table
from bfsql_test_support.drawn_answers import KINDS, answer, opened as counted
from bfsql_test_support.drawn_graphs import drawn_graph
from bfsql_test_support.servers.database import Database

CLAIMS = {"groups": ["lab's \\ own"], "sub": "ann"}
CLAIMED = "current_setting('request.jwt.claims', true)::json #>> '{groups,0}' = 'lab''s \\ own'"
TABLES = ("entity", "relationship", "bundle_evidence")


@pytest.fixture
async def analyst(database):
    """A role with an odd name, which the reader may take and has no rights of by itself."""
    role = f'{database.name} "an\'a\\lyst"'
    await database.run(
        f'CREATE ROLE {quoted(role)}',
        f"ALTER ROLE {database.reader} NOINHERIT",
        f"GRANT {quoted(role)} TO {database.reader}",
    )
    yield role
    await database.run(f"DROP OWNED BY {quoted(role)}", f"DROP ROLE {quoted(role)}")


def quoted(name):
    return '"{}"'.format(name.replace('"', '""'))


def array(texts):
    return "ARRAY[{}]::text[]".format(", ".join("'{}'".format(t.replace("'", "''")) for t in texts))


async def guard(database, schema, role, gone, edges=(), also="TRUE"):
    """Show a role all rows but those of some nodes and edges, and others none."""
    keys = array(":".join(edge) for edge in edges)
    ends = " AND ".join(f"{end} <> ALL ({array(gone)})" for end in ("subject_id", "object_id"))
    key = "subject_id || ':' || predicate || ':' || object_id"
    shown = (
        f"entity_id <> ALL ({array(gone)})",
        f"{ends} AND {key} <> ALL ({keys})",
        f"relationship_key <> ALL ({keys})",
    )
    await database.run(
        f"GRANT USAGE ON SCHEMA {schema} TO {quoted(role)}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {quoted(role)}",
        *(f"ALTER TABLE {schema}.{table} ENABLE ROW LEVEL SECURITY" for table in TABLES),
        *(
            f"CREATE POLICY own ON {schema}.{table} TO {quoted(role)} USING ({test} AND {also})"
            for table, test in zip(TABLES, shown, strict=True)
        ),
    )


async def loaded(database, schema, records):
    await load_graph(PostgresSettings(dsn=database.owner_url, schema_=schema), records)


@case_table("pooled", {"direct": False, "pooled": True})
@pytest.mark.parametrize("number", [0, 1, 4, 9, 12])
async def test_a_role_has_the_answers_of_its_rows(database, schema, opened, analyst, number, pooled):
    graph, draw = drawn_graph(number), random.Random(number)
    gone = {node for node in graph.nodes if draw.random() < 0.3}
    triples = {edge[:3] for edge in graph.edges}
    lost = {t for t in triples if {t[0], t[2]} & gone or draw.random() < 0.2}
    own = [r for r in graph.records if (r[1] in gone if r[0] == "node" else tuple(r[1:4]) in lost)]
    rest = [r for r in graph.records if r not in own]
    made = lambda some: [KINDS[kind](*values) for kind, *values in some]
    async with database.schema() as whole:
        await loaded(database, whole, made(graph.records))
        await loaded(database, schema, made(rest))
        await guard(database, whole, analyst, gone, lost, CLAIMED)
        seen = await opened(schema=whole, role=analyst, claims=CLAIMS, pooled=pooled)
        alone = await opened(pooled=pooled)
        async with (
            counted(seen, graph.form, graph.limits) as seen,
            counted(alone, graph.form, graph.limits) as alone,
        ):
            for call in [("describe_schema", {}), *calls_of(graph)[:40]]:
                assert await answer(seen, *call) == await answer(alone, *call), call
