"""A graph that came in several loads is the one that came in one."""

import json
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from bfsql_trials.appending import SeveralLoads, several_loads
from hypothesis import HealthCheck, given, settings

from bfsql_sqlite import SqliteSettings, load_graph

_TRIPLE = "a.id, predicate.name, b.id"
_EDGES = "edge JOIN node AS a ON a.n = s JOIN predicate USING (p) JOIN node AS b ON b.n = o"
CONTENTS = [
    "SELECT id, type.name, metadata FROM detail JOIN node USING (n) JOIN type USING (t) ORDER BY 1",
    f"SELECT {_TRIPLE}, items, metadata FROM {_EDGES} ORDER BY 1, 2, 3",
    (
        f"SELECT d.id, {_TRIPLE}, supplied.items FROM {_EDGES} JOIN supplied USING (e) "
        "JOIN node AS d ON d.n = supplied.n ORDER BY 1, 2, 3, 4"
    ),
    (
        "SELECT r, id, type.name, entry.name, folded, others FROM entry JOIN node USING (n) "
        "JOIN type ON type.t = entry.t ORDER BY 1"
    ),
    "SELECT text, kind, r, type.name FROM label JOIN type USING (t) ORDER BY 1, 2, 3",
    "SELECT text, entries FROM gram ORDER BY 1",
    "SELECT name FROM type ORDER BY 1",
    "SELECT name FROM predicate ORDER BY 1",
    "SELECT id FROM node ORDER BY 1",
    "SELECT value FROM meta WHERE key = 'next_steps'",
]
"""Everything that answers are made of, without the numbers that stand for names."""


def contents(path: Path) -> list[list[tuple[Any, ...]]]:
    with closing(sqlite3.connect(path)) as graph:
        return [[tuple(map(plain, row)) for row in graph.execute(query)] for query in CONTENTS]


def plain(value: Any) -> Any:
    """Metadata with its keys in order, as answers have them."""
    if isinstance(value, str) and value.startswith("{"):
        return json.dumps(json.loads(value), sort_keys=True)
    return value


@given(several_loads(12))
@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
async def test_several_loads_make_the_file_that_one_load_makes(several: SeveralLoads) -> None:
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
