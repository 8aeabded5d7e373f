"""The embedded store: entities selected by properties, compared with SQL over their records."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from graphs import TYPES, name_of, word
from timing import side_by_side

from bfsql.models import NodeRecord, PropertyCondition
from bfsql_sqlite import SqliteBackend, SqliteSettings, bulk, load_graph
from bfsql_sqlite.property_spill import PropertySpill

NODES = 1_000_000

_BY_HAND = {"=": "{0} = ?", ">=": "{0} >= ?", "<": "{0} < ?", "~": "instr({0}, ?) > 0"}
_CONDITIONS = (
    PropertyCondition("status", "=", ("closed",)),
    PropertyCondition("year", "=", ("2004",)),
    PropertyCondition("name", "=", (f"{word(77)} {word(11)} 77",)),
    PropertyCondition("year", ">=", ("2010",)),
    PropertyCondition("score", "<", ("0.1",)),
    PropertyCondition("name", "~", (f"{word(77)} {word(11)}",)),
    PropertyCondition("name", "~", ("ka",)),
)
_SHARE = """
SELECT sum(length(kinds) + length(texts) + coalesce(length(folded), 0)) FROM property_value
UNION ALL SELECT sum(length(codes)) FROM property_order
UNION ALL SELECT sum(coalesce(length(nodes), 0) + length(codes)) FROM property_code
"""


def report(turns: int, nodes: int = NODES) -> None:
    """Print the share of a file that its columns take, and the time of selections."""
    asyncio.run(_report_loading(turns, nodes // 5))
    with TemporaryDirectory(prefix="bfsql-bench-") as folder:
        path = Path(folder) / "graph.db"
        records = map(_record, range(nodes))
        asyncio.run(load_graph(SqliteSettings(path=path), records))
        with closing(sqlite3.connect(path)) as graph:
            columns = sum(size for (size,) in graph.execute(_SHARE))
        size = path.stat().st_size
        print(f"\n{nodes:,} entities, file {size / 1e6:,.0f} MB")
        print(f"columns of properties: {size / (size - columns):.2f} x the file (goal: 1.25)")
        asyncio.run(_report_selections(path, turns))


class _NoColumns(PropertySpill):
    """Collects and writes nothing."""

    def add(self, nodes: object, metadata: object) -> None:
        pass

    def write(self, graph: object) -> None:
        pass


async def _report_loading(turns: int, nodes: int) -> None:
    records = list(map(_record, range(nodes)))

    async def load(spill: type[PropertySpill]) -> bytes:
        with (
            TemporaryDirectory(prefix="bfsql-bench-") as folder,
            patch.object(bulk, "PropertySpill", spill),
        ):
            await load_graph(SqliteSettings(path=Path(folder) / "graph.db"), records)
        return b""

    pair = await side_by_side(
        "load", partial(load, PropertySpill), partial(load, _NoColumns), turns
    )
    print(
        f"\nload of {nodes:,} entities without edges, processor time: {pair.ours:.1f} s, without "
        f"columns of properties {pair.floor:.1f} s, {pair.ratio:.2f} x (goal: 1.15)"
    )


async def _report_selections(path: Path, turns: int) -> None:
    print("selected, warm, processor time       by hand      ours   ratio (goal: 100 ms)")
    backend = await SqliteBackend.create(path=path)
    with closing(sqlite3.connect(path)) as graph:
        for one in _CONDITIONS:
            pair = await side_by_side(
                one.property_text,
                partial(_ours, backend, one),
                partial(_by_hand, graph, one),
                turns,
            )
            print(
                f"{pair.what:36}{pair.floor * 1000:8.1f} ms{pair.ours * 1000:8.1f} ms"
                f"{pair.ratio:8.3f}   (slowest turn {pair.spread:.2f} of the fastest)"
            )
    await backend.close()


async def _ours(backend: SqliteBackend, condition: PropertyCondition) -> bytes:
    nodes = backend.columns().nodes(None, [condition])
    batches = [batch.handles async for batch in nodes]
    return np.sort(np.concatenate(batches)).tobytes()


async def _by_hand(graph: sqlite3.Connection, condition: PropertyCondition) -> bytes:
    value = f"json_extract(metadata, '$.{condition.key}')"
    [literal] = condition.literals
    if literal.number is None:
        value = f"lower({value})"
    rows = graph.execute(
        f"SELECT n FROM detail WHERE {_BY_HAND[condition.operator].format(value)} ORDER BY n",
        (literal.text if literal.number is None else literal.number,),
    )
    return np.fromiter((n for (n,) in rows), np.int32).tobytes()


def _record(number: int) -> NodeRecord:
    return NodeRecord(
        name_of(number),
        TYPES[number % len(TYPES)],
        {
            "name": f"{word(number)} {word(number // 7)} {number}",
            "year": 1950 + number * 7 % 76,
            "status": ("open", "closed", "terminated")[number % 3],
            "score": round(number * 0.6180339 % 1, 6),
            "founded": f"{1990 + number % 36}-{number % 12 + 1:02}-{number % 28 + 1:02}",
        },
    )
