"""Whatever the records are, the tables answer what the reference in memory answers."""

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.abc import GraphDbInterface
from bfsql.answers.clean import clean
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_servers.database import Database

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"", "a:b", "b:a", "🜁", "%66", "\\", "x\ny"])
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na", "a:b", "b"])
TEXTS = st.text(string.printable, max_size=6)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "document_id": IDS,
        "text_span": TEXTS,
        "section": st.none() | TEXTS,
        "confidence": st.floats(0, 1),
        "supports": st.booleans(),
        "start_offset": st.integers(0, 9),
        "evidence_type": TEXTS,
        "x": VALUES,
    },
)
NODE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS,
        "synonyms": st.lists(TEXTS, max_size=2) | VALUES,
        "other_types": st.lists(TEXTS, max_size=2),
        "status": st.sampled_from(["canonical", "merged", 3]),
        "confidence": VALUES,
        "embedding": st.sampled_from(
            [[0.5] * 64, [0.5] * 64, [1, -2] * 32, [0.25] * 65, [1e300] * 64, [0.5] * 3, "text"]
        ),
        "properties": VALUES,
        "x": VALUES,
    },
)
EDGE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "confidence": VALUES,
        "source_documents": st.lists(IDS, max_size=2),
        "provenance": st.lists(ITEMS, max_size=3) | VALUES,
        "id": VALUES,
    },
)
RECORDS = st.lists(
    st.builds(NodeRecord, IDS, st.sampled_from(["drug", "Disease", ""]), NODE_METADATA)
    | st.builds(EdgeRecord, IDS, PREDICATES, IDS, EDGE_METADATA)
    | st.builds(EvidenceRecord, IDS, PREDICATES, IDS, ITEMS),
    max_size=25,
)


async def everything(backend: GraphDbInterface, records: list[GraphRecord]) -> dict[str, object]:
    """All that a backend says of a graph, in an order of its own."""
    ids = sorted(
        {r.id for r in records if isinstance(r, NodeRecord)}
        | {i for r in records if not isinstance(r, NodeRecord) for i in (r.subject, r.object)}
        | {"no such id", "\ud800", "\0a", ""}
    )
    nodes = sorted(tuple(node) for node in await backend.get_nodes_batch(ids))
    ring = sorted({(s, p, o) for s, p, o in await backend.edges_batch(ids)})
    each = {i: sorted({(s, p, o) for s, p, o in await backend.edges_batch([i])}) for i in ids}
    known = [str(node[0]) for node in nodes]
    return {
        "types": await backend.entity_types(),
        "predicates": await backend.predicates(),
        "advice": await backend.next_steps(),
        "nodes": nodes,
        "ring": ring,
        "each ring": each,
        "leaving": {i: sorted(set(await backend.edges_from(i))) for i in known},
        "entering": {i: sorted(set(await backend.edges_to(i))) for i in known},
        "node metadata": repr(in_order(await backend.metadata_for_nodes_batch(ids))),
        "edge metadata": repr(in_order(await backend.metadata_for_edges_batch(ring))),
        "provenance": [await backend.provenance_for_node(i, 2) for i in known],
        "all provenance": [await backend.provenance_for_node(i, 1000) for i in known],
    }


def in_order(value: object) -> object:
    """Keys in order and vectors by their length, as core has them in every answer."""
    if isinstance(value, dict):
        shown = {key: clean(one, key) if key == "embedding" else one for key, one in value.items()}
        return {key: in_order(shown[key]) for key in sorted(shown)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("layout", ["bundle_evidence", "evidence"])
@given(records=RECORDS)
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
async def test_the_tables_and_the_reference_tell_the_same_of_every_graph(
    database: Database, layout: str, records: list[GraphRecord]
) -> None:
    async with database.schema() as schema:
        owner = PostgresSettings(dsn=database.owner_url, schema_=schema, evidence_layout=layout)
        await load_graph(owner, records)
        backend = await PostgresBackend.create(database.reader_url, schema=schema, pool_size=1)
        try:
            found = await everything(backend, records)
        finally:
            await backend.close()
    assert found == await everything(MemoryBackend(records), records)
