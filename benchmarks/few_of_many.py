"""The embedded store: a pattern that meets ten of many entities, followed by two steps.

The folder keeps the graphs, which take minutes to load, for the next run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from graphs import records_of
from timing import median

import bfsql
from bfsql_sqlite import SqliteSettings, load_graph

FEW = 10
NODES = 10_000_000
CHUNK = 1_000_000
TURNS = 7


def main(words: list[str]) -> None:
    """Load two graphs, one a hundredth of the other, and print the processor time in each."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=NODES)
    arguments.add_argument("--folder", type=Path)
    given = arguments.parse_args(words)
    with ExitStack() as stack:
        folder = given.folder or Path(
            stack.enter_context(TemporaryDirectory(prefix="bfsql-bench-"))
        )
        print("entities      selection   and two steps   beyond the selection      nodes")
        for nodes in (given.nodes // 100, given.nodes):
            asyncio.run(_report(_loaded(folder, nodes), nodes))


def _loaded(folder: Path, nodes: int) -> Path:
    path = folder / f"{nodes}.db"
    if not path.exists():
        with TemporaryDirectory(dir=folder) as name:
            tables = _write_tables(Path(name), nodes)
            asyncio.run(load_graph(SqliteSettings(path=path), records_of(tables)))
    return path


def _write_tables(folder: Path, nodes: int) -> list[Path]:
    """Entities of which ten each share a batch, and as many edges between random ones."""
    tables, chance = [folder / "nodes.csv", folder / "edges.csv"], np.random.default_rng(7)
    with tables[0].open("w") as entities, tables[1].open("w") as edges:
        entities.write("id,type,batch\n")
        edges.write("subject,predicate,object\n")
        for start in range(0, nodes, CHUNK):
            rows = range(start, min(start + CHUNK, nodes))
            entities.write("".join(f"Q{i},Sample,B{i % (nodes // FEW)}\n" for i in rows))
            ends = chance.integers(0, nodes, (len(rows), 2)).tolist()
            edges.write("".join(f"Q{s},precedes,Q{o}\n" for s, o in ends))
    return tables


async def _report(path: Path, nodes: int) -> None:
    async with bfsql.open_graph("sqlite", path=path) as graph:
        await graph.counted()  # reads the graph meanwhile, in threads of this process
        alone, followed, found = [], [], 0
        for turn in range(TURNS + 1):  # each with a pattern of its own, which no cache has
            patterns = [f"Sample[batch=B{2 * turn + which}]" for which in (0, 1)]
            start = time.process_time()
            answer = await graph.bfs_query([patterns[0]])
            between = time.process_time()
            assert json.loads(answer.text)["seed_count"] == FEW
            start_of_path = time.process_time()
            path_answer = await graph.bfs_query([patterns[1]], path=["-precedes-", "-precedes-"])
            end = time.process_time()
            if turn:  # the first one opens the file
                alone.append(between - start)
                followed.append(end - start_of_path)
                found = json.loads(path_answer.text)["node_count"]
    one, both = median(alone) * 1000, median(followed) * 1000
    print(f"{nodes:10,}{one:12.1f} ms{both:13.1f} ms{both - one:20.1f} ms{found:10,}", flush=True)
