"""The results of searches, with and without the extensions, by text and by meaning."""

import json
import math
from contextlib import AsyncExitStack

import asyncpg
import pytest

from bfsql.errors import StoreError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_test_support.case_table import case_table
from bfsql_test_support.servers.database import kept

DRUGS = [
    NodeRecord("d:1", "drug", {"name": "Desmopressin", "synonyms": ["DDAVP", "Minirin"]}),
    NodeRecord("d:2", "drug", {"name": "Vasopressin", "synonyms": ["ADH"]}),
    NodeRecord("d:3", "drug", {"name": "Aspirin 50%"}),
    NodeRecord("d:4", "drug", {"name": "Aspirin 500"}),
    NodeRecord("d_5", "drug", {"name": "snake_case"}),
    NodeRecord("dx5", "drug", {"name": "snakeXcase"}),
    NodeRecord("p:1", "paper", {"name": "On desmopressin in Cushing disease"}),
    NodeRecord("p:2", "paper", {"name": 'A "quoted" \\ name'}),
    NodeRecord("p:3", "paper", {"name": "Ångström", "synonyms": ["Überschall"]}),
    NodeRecord("x", "", {}),
    EdgeRecord("d:1", "in", "p:1"),
]


@pytest.fixture
async def opened(database, schema):
    """Loads records into `schema`, and opens a backend over it by settings."""
    async with AsyncExitStack() as stack:

        async def open_it(records=None, **settings):
            if records is not None:
                await load_graph(PostgresSettings(dsn=database.owner_url, schema_=schema), records)
            backend = await PostgresBackend.create(database.reader_url, schema=schema, **settings)
            stack.push_async_callback(backend.close)
            return backend

        yield open_it


EXPECTED = [
    ("d:1", ["d:1"]),
    ("desmopressin", ["d:1", "p:1"]),
    (" DESMOPRESSIN ", ["d:1", "p:1"]),
    ("minirin", ["d:1"]),
    ("DDA", ["d:1"]),
    ("pressin", ["d:2", "d:1", "p:1"]),
    ("disease cushing", ["p:1"]),
    ("50%", ["d:3"]),
    ("%", ["d:3"]),
    ("e_c", ["d_5"]),
    ("d_5", ["d_5"]),
    ("\\", ["p:2"]),
    ('"quoted"', ["p:2"]),
    ("ångström", ["p:3"]),
    ("überschall", ["p:3"]),
    ("x", ["x", "dx5"]),
    ("\0", []),
    ("\ud800", []),
    ("", []),
    ("   ", []),
    ("zzzz", []),
]


async def test_a_text_finds_what_bears_it(opened):
    backend = await opened(DRUGS)
    for query, ids in EXPECTED:
        found = [stub.id for stub in await backend.search_entities(query)]
        assert found[: len(ids) or 1] == ids, query


async def test_a_misspelling_finds_its_entity_where_trigrams_are_there(opened, postgres):
    backend = await opened(DRUGS)
    for query, best in (("desmopresin", "d:1"), ("minirinn", "d:1"), ("cusshing diseas", "p:1")):
        assert [stub.id for stub in await backend.search_entities(query)][:1] == [best]
    assert [s.id for s in await backend.search_entities("desmopresin", ["paper"])] == ["p:1"]
    async with postgres.database("citext") as bare, bare.schema() as schema:
        await load_graph(PostgresSettings(dsn=bare.owner_url, schema_=schema), DRUGS)
        without = await PostgresBackend.create(bare.reader_url, schema=schema)
        assert await without.search_entities("desmopresin") == []
        assert [s.id for s in await without.search_entities("desmopressin")] == ["d:1", "p:1"]
        await without.close()


async def test_extensions_in_a_schema_of_their_own_are_found(postgres):
    async with postgres.database("citext") as database, database.schema() as schema:
        await database.run(
            "CREATE SCHEMA ext",
            f"GRANT USAGE ON SCHEMA ext TO {database.reader}, {database.owner}",
            "CREATE EXTENSION pg_trgm SCHEMA ext",
            "CREATE EXTENSION vector SCHEMA ext",
        )
        await load_graph(PostgresSettings(dsn=database.owner_url, schema_=schema), DRUGS)
        owner = await asyncpg.connect(database.owner_url)
        await owner.execute(f"UPDATE {schema}.entity SET embedding = '[1, 0]'")
        await owner.close()
        backend = await PostgresBackend.create(
            database.reader_url, schema=schema, embedding_fn=lambda text: [1.0, 0.0]
        )
        assert next(s.id for s in await backend.search_entities("desmopresin")) == "d:1"
        assert (await backend.search_entities("desmopresin"))[0].score == 1.0
        assert (await backend.metadata_for_node("x"))["embedding"] == "[embedding: 2 numbers]"
        await backend.close()


# --- by meaning -------------------------------------------------------------

TURNS = {"d:1": 0.0, "d:2": 0.1, "p:1": 0.2, "p:2": 2.0, "p:3": math.pi}
STORED = {
    "vector(3)": "[%s]", "vector": "[%s]", "halfvec(3)": "[%s]", "float8[]": "{%s}",
    "float4[]": "{%s}", "json": "[%s]", "jsonb": "[%s]", "text": "[%s]",
}  # fmt: skip


def turned(angle):
    return [3 * math.cos(angle), 3 * math.sin(angle), 0.0]


async def stored(owner, kind, pattern):
    await owner.execute(f"ALTER TABLE entity DROP embedding, ADD embedding {kind}")
    for entity_id, angle in TURNS.items():
        text = pattern % ", ".join(map(repr, turned(angle)))
        await owner.execute(
            f"UPDATE entity SET embedding = '{text}' WHERE entity_id = $1", entity_id
        )


@pytest.fixture(scope="module", params=["vector", "citext"])
def extended(request, postgres):
    """A database with only pgvector, and one without it."""
    yield from kept(postgres.database(request.param))


@case_table("kind", list(STORED))
async def test_vectors_of_every_type_are_compared(extended, kind):
    database = extended
    if "vector" not in database.extensions and "vec" in kind:
        return
    async with database.schema() as schema:
        await load_graph(PostgresSettings(dsn=database.owner_url, schema_=schema), DRUGS)
        owner = await asyncpg.connect(
            database.owner_url, server_settings={"search_path": f"{schema},public"}
        )
        await stored(owner, kind, STORED[kind])
        await owner.close()
        backend = await PostgresBackend.create(
            database.reader_url, schema=schema, embedding_fn=lambda text: turned(0.0)
        )
        found = await backend.search_entities("hormone that stops urination")
        assert [stub.id for stub in found] == ["d:1", "d:2", "p:1", "p:2", "p:3"]
        wanted = [max(0.0, math.cos(angle)) for angle in TURNS.values()]
        assert [stub.score for stub in found] == pytest.approx(wanted, abs=2e-3)
        papers = await backend.search_entities("hormone that stops urination", ["paper"])
        assert [stub.id for stub in papers] == ["p:1", "p:2", "p:3"]
        exact = await backend.search_entities('A "quoted" \\ name')
        assert exact[0].id == "p:2"
        await backend.close()


async def test_vectors_of_another_length_are_an_error_at_start(opened, owner):
    await (await opened(DRUGS)).close()
    await owner.execute("UPDATE entity SET embedding = '[1, 2, 3]'")
    with pytest.raises(StoreError, match=r"have 3 numbers, and .* produces 2"):
        await opened(embedding_fn=lambda text: [1.0, 0.0])


async def test_without_a_vector_a_search_goes_by_names_and_the_log_says_so(opened, owner, caplog):
    await (await opened(DRUGS)).close()
    await owner.execute("UPDATE entity SET embedding = '[1, 2, 3]'")

    async def embed(text):
        if text == "word":
            return [1.0, 0.0, 0.0]
        raise OSError("no such host")

    backend = await opened(embedding_fn=embed)
    found = await backend.search_entities("desmopressin")
    assert [(stub.id, stub.score) for stub in found] == [("d:1", None), ("p:1", None)]
    assert "compares names only" in caplog.text


async def test_damaged_vectors_are_passed_over(opened, owner):
    await (await opened(DRUGS)).close()
    await owner.execute("ALTER TABLE entity DROP embedding, ADD embedding json")
    for entity_id, value in (
        ("d:1", [1, 0]), ("d:2", None), ("d:3", {"a": 1}), ("d:4", ["x", "y"]), ("d_5", [1]),
        ("x", [0, 0]),
    ):  # fmt: skip
        await owner.execute(
            "UPDATE entity SET embedding = $2 WHERE entity_id = $1", entity_id, json.dumps(value)
        )
    backend = await opened(embedding_fn=lambda text: [1.0, 0.0])
    assert [s.id for s in await backend.search_entities("nothing of that name")] == ["d:1"]


async def test_what_shares_a_rare_word_is_found_where_nothing_has_all_words(opened):
    reports = [
        NodeRecord(f"r:{n}", "Report", {"name": f"Report {n} of the centre"}) for n in range(9)
    ]
    records = [*reports, NodeRecord("m:1", "Memo", {"name": "Memo on Zelkrat"})]
    backend = await opened(records)
    assert [one.id for one in await backend.search_entities("report on zelkrat")] == ["m:1"]
    assert await backend.search_entities("annual report") == []
