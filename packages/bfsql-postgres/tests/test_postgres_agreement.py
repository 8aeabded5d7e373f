"""The tables give the same answers as the reference in memory, whatever the records."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.answers.clean import clean
from bfsql.memory import MemoryBackend
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_test_support.suites.agreement import TEXTS, assert_agreed, graphs, values

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"", "a:b", "b:a", "🜁", "%66", "\\", "x\ny"])
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na", "a:b", "b"])
VALUES = values()
RECORDS = graphs(
    IDS,
    PREDICATES,
    st.sampled_from(["drug", "Disease", ""]),
    any_value=VALUES,
    item={
        "section": st.none() | TEXTS,
        "supports": st.booleans(),
        "start_offset": st.integers(0, 9),
        "evidence_type": TEXTS,
        "x": VALUES,
    },
    node={
        "synonyms": st.lists(TEXTS, max_size=2) | VALUES,
        "status": st.sampled_from(["canonical", "merged", 3]),
        "confidence": VALUES,
        "embedding": st.sampled_from(
            [[0.5] * 64, [0.5] * 64, [1, -2] * 32, [0.25] * 65, [1e300] * 64, [0.5] * 3, "text"]
        ),
        "properties": VALUES,
    },
    edge={"id": VALUES},
)


def in_order(value):
    """Sorted keys, and vectors abbreviated to their lengths, as core shows them in every answer."""
    if isinstance(value, dict):
        shown = {key: clean(one, key) if key == "embedding" else one for key, one in value.items()}
        return {key: in_order(shown[key]) for key in sorted(shown)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("layout", ["bundle_evidence", "evidence"])
@given(records=RECORDS)
@settings(deadline=None, max_examples=10, suppress_health_check=list(HealthCheck))
async def test_the_tables_and_the_reference_tell_the_same_of_every_graph(database, layout, records):
    async with database.schema() as schema:
        owner = PostgresSettings(dsn=database.owner_url, schema_=schema, evidence_layout=layout)
        await load_graph(owner, records)
        backend = await PostgresBackend.create(database.reader_url, schema=schema, pool_size=1)
        try:
            await assert_agreed(backend, records, cleaned=in_order)
            wanted = await MemoryBackend(records).outline()
            assert (await backend.outline()).node_counts == wanted.node_counts
        finally:
            await backend.close()
