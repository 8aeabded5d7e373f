"""Whatever the records are, the file answers what the reference in memory answers."""

import string
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"", "\0f", "f", "🜁", "%66", ""])
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na"])
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
    },
)
NODE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXTS,
        "synonyms": st.lists(TEXTS, max_size=2),
        "other_types": st.lists(TEXTS, max_size=2),
        "x": VALUES,
    },
)
EDGE_METADATA = st.fixed_dictionaries(
    {},
    optional={
        "confidence": VALUES,
        "source_documents": st.lists(IDS, max_size=2),
        "provenance": st.lists(ITEMS, max_size=3) | VALUES,
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
        | {"no such id", "\ud800"}
    )
    nodes = sorted(tuple(node) for node in await backend.get_nodes_batch(ids))
    ring = sorted(set(await backend.edges_batch(ids)))
    known = [str(node[0]) for node in nodes]
    return {
        "types": await backend.entity_types(),
        "predicates": await backend.predicates(),
        "nodes": nodes,
        "ring": ring,
        "each ring": {i: sorted(set(await backend.edges_batch([i]))) for i in ids},
        "leaving": {i: sorted(await backend.edges_from(i)) for i in known},
        "entering": {i: sorted(await backend.edges_to(i)) for i in known},
        "node metadata": repr(sorted_keys(await backend.metadata_for_nodes_batch(ids))),
        "edge metadata": repr(sorted_keys(await backend.metadata_for_edges_batch(ring))),
        "provenance": [await backend.provenance_for_node(i, 2) for i in known],
        "all provenance": [await backend.provenance_for_node(i, 1000) for i in known],
    }


def sorted_keys(value: object) -> object:
    """Keys in order; core sorts them in every answer."""
    if isinstance(value, dict):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    return [sorted_keys(item) for item in value] if isinstance(value, list) else value


@given(RECORDS)
@settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
async def test_the_file_and_the_reference_tell_the_same_of_every_graph(
    records: list[GraphRecord],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        report = await load_graph(SqliteSettings(path=path), records)
        backend = await SqliteBackend.create(path=path, connections=1)
        try:
            found = await everything(backend, records)
        finally:
            await backend.close()
    wanted = await everything(MemoryBackend(records), records)
    assert found == wanted
    known = {r.id for r in records if isinstance(r, NodeRecord)}
    triples = {(r.subject, r.predicate, r.object) for r in records if isinstance(r, EdgeRecord)}
    assert (report.nodes, report.edges) == (len(known), len(triples))
    assert report.dangling_edges == sum(not {s, o} <= known for s, _, o in triples)
    assert report.unattached_evidence == sum(
        (r.subject, r.predicate, r.object) not in triples
        for r in records
        if isinstance(r, EvidenceRecord)
    )
