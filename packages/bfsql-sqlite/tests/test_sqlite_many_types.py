"""Graphs with very many types or predicates, and paths from very many entities."""

import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import schema_statistics
from bfsql.graph import open_graph
from bfsql.models import EdgeRecord, NodeRecord
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.case_table import case_table

pytestmark = pytest.mark.slow

MANY = 100_000


@given(st.lists(st.integers(-1, 12)), st.integers(1, 30))
def test_a_sample_is_evenly_spaced_places_of_each_kind(kinds, most):
    chosen = schema_statistics._spread(np.array(kinds, np.int32), most).tolist()
    counts = Counter(kind for kind in kinds if kind >= 0)
    each = max(1, most // max(1, len(counts)))
    expected = []
    for kind in sorted(counts, key=lambda kind: (-counts[kind], kind))[:most]:
        places = [place for place, other in enumerate(kinds) if other == kind]
        expected += places if len(kinds) <= most else places[:: max(1, -(-len(places) // each))]
    assert chosen == sorted(expected)


@case_table("of_nodes", [True, False])
async def test_very_many_types_or_predicates_are_described_soon(tmp_path, of_nodes):
    records = [NodeRecord("a", "T", {}), NodeRecord("b", "T", {})]
    for number in range(MANY):
        node, edge = NodeRecord(f"n{number}", f"T{number}", {}), EdgeRecord("a", f"P{number}", "b")
        records.append(node if of_nodes else edge)
    await load_graph(SqliteSettings(path=tmp_path / "g.db"), records)
    began = time.process_time()
    async with open_graph("sqlite", path=tmp_path / "g.db") as graph:
        assert (await graph.describe_schema()).text
        await graph.counted()
        counted, _ = await graph.graph_schema.outline()
    assert counted is not None
    relations = len(counted.relations) + counted.relations_left_out
    assert (len(counted.node_counts) if of_nodes else relations) >= MANY
    assert time.process_time() - began < 5


async def test_a_path_begins_at_100_000_entities_of_a_pattern(tmp_path):
    records = [NodeRecord(f"c{n}", "Compound") for n in range(10)]
    for n in range(MANY + 9):
        records.append(NodeRecord(f"t{n}", "Trial", {"phase": n // MANY}))
        records.append(EdgeRecord(f"t{n}", "tests", f"c{n % 10}"))
    await load_graph(SqliteSettings(path=tmp_path / "g.db"), records)
    path = {"seeds": ["Trial[phase=0]"], "path": ["-tests-> Compound"], "show": "ends"}
    async with open_graph("sqlite", path=tmp_path / "g.db") as graph:
        answer = (await graph.bfs_query(**path, measure="count 0", limit=2)).content
    assert (answer["seed_count"], answer["edge_count"]) == (MANY, MANY)
    assert [(one["id"], one["measure"]) for one in answer["nodes"]] == [
        ("c0", MANY // 10),
        ("c1", MANY // 10),
    ]
