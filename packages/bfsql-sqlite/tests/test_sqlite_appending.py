"""Several loads make the same graph as one load."""

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from hypothesis import HealthCheck, given, settings

from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.successive_loads import several_loads

CONTENTS = [
    "SELECT * FROM node ORDER BY n",
    "SELECT * FROM detail ORDER BY n",
    "SELECT * FROM edge ORDER BY e",
    "SELECT * FROM evidence ORDER BY n, e",
    *(f"SELECT * FROM {name} ORDER BY k" for name in ("entries", "offsets", "node_types")),
    "SELECT * FROM entry ORDER BY n",
    "SELECT * FROM block ORDER BY b",
    "SELECT * FROM posting ORDER BY b, term",
    "SELECT * FROM type ORDER BY t",
    "SELECT * FROM predicate ORDER BY p",
    "SELECT key, value FROM meta WHERE key <> 'load' ORDER BY key",
]
"""All contents on which answers depend."""


def contents(path):
    with closing(sqlite3.connect(path)) as graph:
        return [[tuple(map(plain, row)) for row in graph.execute(query)] for query in CONTENTS]


def plain(value):
    """Metadata with sorted keys, as in answers."""
    if isinstance(value, str) and value.startswith("{"):
        return json.dumps(json.loads(value), sort_keys=True)
    return value


@given(several_loads(12))
@settings(deadline=None, max_examples=12, suppress_health_check=list(HealthCheck))
async def test_several_loads_make_the_file_that_one_load_makes(several):
    with tempfile.TemporaryDirectory() as folder:
        apart, together = Path(folder, "apart.db"), Path(folder, "together.db")
        for load in several.loads:
            found = await load_graph(
                SqliteSettings(path=apart), load.records, several.options(load)
            )
        report = await load_graph(
            SqliteSettings(path=together), several.everything, several.options()
        )
        assert contents(apart) == contents(together)
        assert (found.nodes, found.edges, found.evidence, found.dangling_edges) == (
            report.nodes,
            report.edges,
            report.evidence,
            report.dangling_edges,
        )
        assert found.dangling_examples == report.dangling_examples
