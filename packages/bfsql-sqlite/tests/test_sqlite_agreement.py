"""The file gives the same answers as the reference in memory, whatever the records."""

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EvidenceRecord, NodeRecord
from bfsql_sqlite import SqliteBackend, SqliteSettings, load_graph
from bfsql_test_support.suites.agreement import TEXTS, assert_agreed, graphs, values

IDS = st.sampled_from(["a", "b", "B", "ä", "c d", "e'\"", "\0f", "f", "🜁", "%66", ""])
PREDICATES = st.sampled_from(["TREATS", "treats", "is\na"])
RECORDS = graphs(
    IDS,
    PREDICATES,
    st.sampled_from(["drug", "Disease", ""]),
    any_value=values(),
    item={"section": st.none() | TEXTS, "supports": st.booleans()},
)


@given(RECORDS)
@settings(deadline=None, max_examples=80, suppress_health_check=list(HealthCheck))
async def test_the_file_and_the_reference_tell_the_same_of_every_graph(records):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        report = await load_graph(SqliteSettings(path=path), records)
        backend = await SqliteBackend.create(path=path, connections=1)
        try:
            await assert_agreed(backend, records)
            assert await backend.outline() == await MemoryBackend(records).outline()
        finally:
            await backend.close()
    known = {r.id for r in records if isinstance(r, NodeRecord)}
    triples = {(r.subject, r.predicate, r.object) for r in records if isinstance(r, EdgeRecord)}
    assert (report.nodes, report.edges) == (len(known), len(triples))
    assert report.dangling_edges == sum(not {s, o} <= known for s, _, o in triples)
    assert report.unattached_evidence == sum(
        (r.subject, r.predicate, r.object) not in triples
        for r in records
        if isinstance(r, EvidenceRecord)
    )
