"""The end of a load: vector types, tables ready for fast reads, and lost connections."""

import asyncio
import json
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from bfsql.answers.clean import clean_metadata
from bfsql.errors import StoreUnavailable
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_test_support.case_table import case_table
from bfsql_test_support.servers.port import HOST

OLD = [NodeRecord("old", "thing")]
NEW = [NodeRecord("a", "thing"), NodeRecord("b", "thing"), EdgeRecord("a", "p", "b")]


async def ids(owner):
    return [row[0] for row in await owner.fetch("SELECT entity_id FROM entity ORDER BY 1")]


# --- vectors ----------------------------------------------------------------


def node(name, *embeddings):
    return [NodeRecord(name, "T", {"embedding": embedding}) for embedding in embeddings]


async def kind(owner):
    return await owner.fetchval(
        "SELECT format_type(atttypid, atttypmod) FROM pg_attribute "
        "WHERE attrelid = 'entity'::regclass AND attname = 'embedding'"
    )


LONG = [0.1 * n for n in range(70)]
WHOLE = list(range(70))


async def test_vectors_of_one_length_are_stored_as_vectors(load, owner):
    await load([*node("a", LONG), *node("b", WHOLE, WHOLE), NodeRecord("c", "T")])
    assert await kind(owner) == "vector(70)"
    rows = dict(await owner.fetch("SELECT entity_id, embedding::text FROM entity"))
    assert json.loads(rows["a"]) == pytest.approx(LONG)
    assert json.loads(rows["b"]) == WHOLE
    assert rows["c"] is None
    assert await owner.fetchval("SELECT count(properties) FROM entity") == 0


@case_table(
    "records",
    {
        "two lengths": [*node("a", LONG), *node("b", LONG[:-1])],
        "a union": [*node("a", LONG, [n + 0.5 for n in WHOLE]), *node("b", LONG)],
        "too long": node("a", [0.5] * 16_001),
    },
)
async def test_vectors_that_are_none_together_are_stored_as_json(load, owner, records):
    await load(records)
    assert await kind(owner) == "json"


@case_table(
    "value", [LONG[:63], [1e39] * 70, [True] * 70, ["1"] * 70, [float("nan")] * 70, "[1, 2]", 7]
)
async def test_what_is_no_vector_stays_in_the_properties(load, owner, value):
    await load([*node("a", LONG), *node("b", value)])
    assert await kind(owner) == "vector(70)"
    properties, vector = await owner.fetchrow(
        "SELECT properties, embedding FROM entity WHERE entity_id = 'b'"
    )
    assert list(json.loads(properties)) == ["embedding"]
    assert vector is None


async def test_without_vectors_the_settings_tell_their_length(settings, owner):
    await load_graph(settings, NEW)
    assert await kind(owner) == "vector"
    await load_graph(settings.model_copy(update={"embedding_dimensions": 384}), NEW)
    assert await kind(owner) == "vector(384)"


@case_table("which", ["database", "old_database"])
async def test_a_vector_is_reported_as_any_backend_tells_it(request, which):
    database = request.getfixturevalue(which)
    records = [
        *(*node("a", LONG), *node("b", WHOLE, [1, 2]), *node("c", LONG[:3]), *node("d", "text")),
        *(*node("e", [1e39] * 70), *node("f", WHOLE, LONG), NodeRecord("g", "T")),
    ]
    memory = MemoryBackend(records)
    async with database.schema() as schema:
        await load_graph(PostgresSettings(dsn=database.owner_url, schema_=schema), records)
        backend = await PostgresBackend.create(database.reader_url, schema=schema)
        for one in "abcdefg":
            found, wanted = [await b.metadata_for_node(one) for b in (backend, memory)]
            assert clean_metadata(found) == clean_metadata(wanted)
        await backend.close()


# --- ready to be read -------------------------------------------------------


async def test_indexes_alone_answer_as_soon_as_a_load_is_done(settings, owner):
    # The test server commits before its log is written, and VACUUM skips such rows.
    dsn = f"{settings.dsn.get_secret_value()}?synchronous_commit=on"
    surely = PostgresSettings(dsn=dsn, schema_=settings.schema_)
    edges = (EdgeRecord(f"n{n}", "NEXT", f"n{n + 1}", {"x": "y" * 100}) for n in range(10_000))
    await load_graph(surely, edges)
    # Not all pages: a table that is written in one go also has empty pages.
    seen, pages, rows = await owner.fetchrow(
        "SELECT relallvisible, relpages, reltuples FROM pg_class WHERE relname = 'relationship' "
        "AND relnamespace = $1::text::regnamespace",
        settings.schema_,
    )
    assert seen > pages / 2
    assert rows == 10_000
    plan = await owner.fetch(
        "EXPLAIN (ANALYZE, TIMING OFF) SELECT object_id FROM relationship WHERE subject_id = 'n17'"
    )
    text = "\n".join(row[0] for row in plan)
    assert "Index Only Scan" in text
    assert "Heap Fetches: 0" in text


# --- connections lost at the end --------------------------------------------


@asynccontextmanager
async def cut_at(server, word, *, heard):
    """A port in front of the server where the connection ends when a word is sent.

    Args:
        server: The server behind the port.
        word: The beginning of a statement.
        heard: Whether the server still receives that statement; its answer is discarded.
    """
    passing = set()

    async def join(reader, writer):
        passing.add(asyncio.current_task())
        back, to = await asyncio.open_connection(HOST, server.port)
        home = asyncio.ensure_future(forward(back, writer))
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                if word in data and not heard:
                    break
                to.write(data)
                await to.drain()
                if word in data:
                    home.cancel()
                    await asyncio.wait([home])
                    await back.read(65_536)
                    break
        home.cancel()
        for end in (to, writer):
            end.close()
            with suppress(ConnectionError):
                await end.wait_closed()

    async def forward(reader, writer):
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()

    listening = await asyncio.start_server(join, HOST, 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()
        await listening.wait_closed()
        await asyncio.gather(*passing)


def through(settings, server, port):
    url = settings.dsn.get_secret_value().replace(f":{server.port}/", f":{port}/")
    return PostgresSettings(dsn=f"{url}?sslmode=disable", schema_=settings.schema_)


@pytest.mark.parametrize("heard", [True, False])
async def test_a_connection_lost_at_the_commit_is_not_called_unchanged(
    postgres, settings, load, owner, heard
):
    await load(OLD)
    async with cut_at(postgres, b"COMMIT;", heard=heard) as port:
        with pytest.raises(StoreUnavailable) as lost:
            await load_graph(through(settings, postgres, port), NEW)
    assert "lost while the new graph was being put in place" in str(lost.value)
    assert "is in place is unknown" in str(lost.value)
    assert "unchanged" not in str(lost.value)
    assert await ids(owner) == (["a", "b"] if heard else ["old"])
    assert (await load(NEW)).nodes == 2


async def test_a_load_cancelled_at_the_commit_says_that_it_does_not_know(
    settings, load, monkeypatch
):
    await load(OLD)
    committing = asyncio.Event()
    commit = asyncpg.transaction.Transaction.commit

    async def slowly(transaction):
        committing.set()
        await asyncio.Event().wait()
        await commit(transaction)

    monkeypatch.setattr(asyncpg.transaction.Transaction, "commit", slowly)
    work = asyncio.ensure_future(load(NEW))
    await committing.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError) as cancelled:
        await work
    assert "is in place is unknown" in "".join(cancelled.value.__notes__)


async def test_a_load_whose_vacuum_fails_is_done(postgres, settings, load, owner, caplog):
    await load(OLD)
    async with cut_at(postgres, b"VACUUM", heard=False) as port:
        report = await load_graph(through(settings, postgres, port), NEW)
    assert (report.nodes, report.edges) == (2, 1)
    assert await ids(owner) == ["a", "b"]
    assert "The new graph is in place. VACUUM failed" in caplog.text
