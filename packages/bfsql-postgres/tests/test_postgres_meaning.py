"""A real graph searched by meaning, with a real model and vectors in every type of column.

The names of drugs, hormones, diseases, symptoms and organs get a vector, some 260 of medlit's 1,900
nodes: embedding all of them takes half a minute or more, mostly for the titles of papers. The
others have none, as in a pipeline that embeds only the entities that it resolved.
"""

import math

import asyncpg
import pytest

from bfsql.graph import open_graph
from bfsql.models import NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_postgres.connection import OWN_WAY
from bfsql_postgres.indexes import prepare
from bfsql_test_support.case_table import case_table
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.suites.medlit import DESCRIPTION, nearest, with_vectors

DIMENSIONS = 384

COLUMNS = [
    ("database", "vector(384)"),
    ("database", "vector"),
    ("database", "float8[]"),
    ("database", "jsonb"),
    ("old_database", "float8[]"),
    ("old_database", "text"),
]
if THOROUGH:  # each type of column is on a server, and each server has several
    COLUMNS += [("database", "text"), ("old_database", "jsonb")]


@pytest.fixture(scope="module")
def types(medlit_records):
    return {
        record.id: record.entity_type for record in medlit_records if isinstance(record, NodeRecord)
    }


@pytest.fixture(params=COLUMNS, ids=" ".join)
async def backend(request, medlit_records, medlit_vectors, minilm):
    """medlit with its vectors in a column of each type, opened by the reader."""
    which, kind = request.param
    database = request.getfixturevalue(which)

    async def load(schema):
        settings = PostgresSettings(dsn=database.owner_url, schema_=schema)
        await load_graph(settings, medlit_records)

    schema = await database.schema_with("medlit, with vectors", load)
    owner = await asyncpg.connect(
        database.owner_url, server_settings={"search_path": f"{schema},public"}
    )
    await owner.execute(f"ALTER TABLE entity DROP embedding, ADD embedding {kind}")
    around = "{%s}" if kind.endswith("[]") else "[%s]"
    await owner.executemany(
        f"UPDATE entity SET embedding = $2::text::{kind} WHERE entity_id = $1",
        [(i, around % ",".join(map(repr, vector))) for i, vector in medlit_vectors.items()],
    )
    await owner.close()
    opened = await PostgresBackend.create(
        database.reader_url, schema=schema, embedding_fn=minilm.embed_one
    )
    yield opened
    await opened.close()


async def test_a_description_finds_what_it_describes(backend, medlit_vectors, types, minilm):
    # No name contains these words, so all results are found by meaning.
    asked = nearest(medlit_vectors, minilm.embed_one(DESCRIPTION))
    found = await backend.search_entities(DESCRIPTION)
    assert [stub.id for stub in found] == [i for i, _ in asked][:20]
    assert [stub.score for stub in found] == pytest.approx([s for _, s in asked][:20], abs=1e-5)
    assert found[0].id == "DBPedia:Urinary_bladder"

    # Desmopressin is the drug that stops it, but no name and no passage says so.
    drugs = await backend.search_entities(DESCRIPTION, ["drug"])
    assert [stub.id for stub in drugs] == [i for i, _ in asked if types[i] == "drug"][:20]
    assert "RxNorm:3251" in [stub.id for stub in drugs[:3]]
    assert {stub.entity_type for stub in drugs} == {"drug"}

    for query, best in (
        (
            "tumour of the pituitary gland",
            {"MeSH:D049913", "prov:2cca40e10e3544a9bbbaaaf85503e95b"},
        ),
        ("synthetic vasopressin", {"RxNorm:3251"}),
    ):
        among = ["disease"] if "tumour" in query else ["drug"]
        stubs = await backend.search_entities(query, among)
        assert best <= {stub.id for stub in stubs[: len(best)]}


async def test_an_exact_name_comes_first_whatever_is_near(backend):
    for query, best in (
        ("Desmopressin", "RxNorm:3251"),
        ("cortisol", "RxNorm:5492"),
        ("RxNorm:3251", "RxNorm:3251"),
        ("cushing syndrome", "MeSH:D003480"),
    ):
        found = await backend.search_entities(query)
        assert found[0].id == best
        assert len({stub.id for stub in found}) == len(found) <= 20
        assert all(stub.score is None or 0 <= stub.score <= 1 for stub in found)
    async with open_graph(backend) as graph:
        result = (await graph.search_entities("Desmopressin")).content["result"]
        assert result[0]["id"] == "RxNorm:3251"
        assert result[0]["score"] == pytest.approx(1, abs=1e-5)
        metadata = (await graph.describe_entity("RxNorm:3251")).content
        assert metadata["embedding"] == f"[embedding: {DIMENSIONS} numbers]"


# --- a graph with vectors ---------------------------------------------------


@case_table("which", ["database", "old_database"])
async def test_a_graph_that_brings_vectors_is_searched_by_meaning_as_it_is_loaded(
    request, medlit_records, medlit_vectors, minilm, which
):
    database = request.getfixturevalue(which)
    async with database.schema() as schema:
        settings = PostgresSettings(
            dsn=database.owner_url, schema_=schema, embedding="module:function"
        )
        report = await load_graph(settings, with_vectors(medlit_records, medlit_vectors))
        assert (report.nodes, report.refused) == (1_900, 0)
        told = await prepare(settings, apply=True)
        if which == "database":
            assert [text for text in told if "hnsw" in text] == told != []
        assert await prepare(settings, apply=False) == []
        backend = await PostgresBackend.create(
            database.reader_url, schema=schema, embedding_fn=minilm.embed_one
        )
        assert (await backend.search_entities(DESCRIPTION))[0].id == "DBPedia:Urinary_bladder"
        drugs = await backend.search_entities(DESCRIPTION, ["drug"])
        assert "RxNorm:3251" in [stub.id for stub in drugs[:3]]
        metadata = await backend.metadata_for_node("RxNorm:3251")
        assert metadata["embedding"] == f"[embedding: {DIMENSIONS} numbers]"
        await backend.close()


async def test_the_index_that_is_reported_is_the_one_that_a_search_uses(
    database, schema, owner, settings
):
    from bfsql_postgres.discovery import layout_of
    from bfsql_postgres.search import by_vector

    some = [
        NodeRecord(f"n{n}", "T", {"embedding": [math.sin(n * k) for k in range(1, 65)]})
        for n in range(2_000)
    ]
    await load_graph(settings, some)
    wanted = settings.model_copy(update={"embedding": "module:function"})
    (told,) = await prepare(wanted, apply=True)
    assert 'USING hnsw ("embedding" "public".vector_cosine_ops)' in told
    layout = await layout_of(owner, settings)
    assert layout.embedded is not None
    statement, values = by_vector(layout, layout.embedded, [1.0, *[0.0] * 63], None)
    await owner.execute(f"SET random_page_cost = {OWN_WAY['random_page_cost']}")
    rows = await owner.fetch(f"EXPLAIN {statement}", *values)
    plan = "\n".join(row[0] for row in rows)
    assert "Index Scan using entity_embedding_idx" in plan, plan


async def test_the_index_that_a_search_by_meaning_lacks_is_reported_at_the_start(
    database, schema, settings, caplog
):
    await load_graph(settings, [NodeRecord("a", "T", {"embedding": [0.5] * 64})])
    for embedding_fn, told in ((None, False), (lambda _: [1.0] * 64, True)):
        backend = await PostgresBackend.create(
            database.reader_url, schema=schema, embedding_fn=embedding_fn
        )
        await backend.close()
        assert ("Indexes that make this graph fast are missing: 1." in caplog.text) is told


async def test_a_vector_of_another_length_than_the_column_has_finds_nothing(
    database, schema, settings
):
    nobody_yet = settings.model_copy(update={"embedding_dimensions": 64})
    await load_graph(nobody_yet, [NodeRecord("a", "T", {"name": "Ada"})])
    backend = await PostgresBackend.create(
        database.reader_url, schema=schema, embedding_fn=lambda _: [1.0, 0.0]
    )
    await database.run(
        f"UPDATE {schema}.entity SET embedding = array_fill(0.5, ARRAY[64])::public.vector"
    )
    assert [stub.id for stub in await backend.search_entities("Ada")] == ["a"]
    assert await backend.search_entities("something else") == []
    await backend.close()


async def test_vectors_whose_type_does_not_tell_their_length_are_spoken_of(owner, settings, caplog):
    await load_graph(settings, [NodeRecord("a", "T", {"embedding": [0.5] * 64})])
    await owner.execute("ALTER TABLE entity ALTER embedding TYPE vector")
    wanted = settings.model_copy(update={"embedding": "module:function"})
    assert await prepare(wanted, apply=True) == []
    assert "does not declare their length, so they cannot be indexed" in caplog.text
    statement = caplog.text[caplog.text.index("ALTER TABLE") :].splitlines()[0]
    assert statement.endswith('ALTER COLUMN "embedding" TYPE "public"."vector"(64)')
    await owner.execute(statement)
    (told,) = await prepare(wanted, apply=True)
    assert "hnsw" in told
