"""The embedded store: loading, cold answers compared with SQL written by hand, search."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

from graphs import HUB, name_of
from remote import Question, questions
from sql_by_hand import SqliteByHand, copy_graph
from timing import Pair, median, side_by_side

import bfsql

LOADER = """
import asyncio, json, sys, time
from pathlib import Path
from bfsql import plugins
from bfsql.settings import resolve
from graphs import heavy_tailed

path, nodes, edges, hub = Path(sys.argv[1]), *map(int, sys.argv[2:])
plugin = plugins.load("sqlite")
start = time.perf_counter()
settings = resolve(plugin.settings, options={"path": path}).settings
report = asyncio.run(plugin.load(settings, heavy_tailed(nodes, edges, hub)))
print(json.dumps([time.perf_counter() - start, report.nodes, report.edges]))
"""


def report_loading(path: Path, nodes: int, edges: int, hub: int) -> None:
    """Print import time, peak memory of the importing process, and size of the file."""
    arguments = [str(path), *map(str, (nodes, edges, hub))]
    here = Path(__file__).parent
    output = subprocess.run(
        [sys.executable, "-c", LOADER, *arguments], check=True, capture_output=True, cwd=here
    ).stdout
    seconds, have_nodes, have_edges = json.loads(output)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"loading       {have_nodes:,} nodes and {have_edges:,} triples in {seconds:.1f} s")
    print(f"              {edges / seconds:,.0f} edges a second (goal: 100,000)")
    print(f"              peak memory {peak:,.0f} MB, file {path.stat().st_size / 1e6:,.0f} MB")


async def report_answers(path: Path, nodes: int, turns: int) -> None:
    """Compare cold answers with the floor, then time searches."""
    floor = path.with_name("floor.db")
    async with bfsql.open_graph("sqlite", path=path) as graph:
        await copy_graph(graph.db, [HUB, *map(name_of, range(nodes))], floor)
    print(
        "\ncold answers, cache on, processor time  by hand      ours   ratio (goal: topology 1.5)"
    )
    for question in questions(nodes):
        pair = await _against_floor(path, floor, question, turns)
        print(
            f"{pair.what:36}{pair.floor * 1000:8.1f} ms{pair.ours * 1000:8.1f} ms"
            f"{pair.ratio:8.2f}   (slowest turn {pair.spread:.2f} of the fastest)"
        )
    await _report_search(path, nodes)


async def _against_floor(path: Path, tables: Path, question: Question, turns: int) -> Pair:
    seed, hops, full = question.seed, question.hops, question.full
    limits = bfsql.Limits(max_tokens=0, deadline=None)

    async def ours() -> bytes:
        answer = await opened.bfs_query([seed], hops, topology_only=not full)
        return answer.text.encode()

    async def floor() -> bytes:
        return await by_hand.answer(seed, hops, full=full)

    fastest: Pair | None = None
    for _ in range(turns):  # both are reopened, so that both are cold
        by_hand = SqliteByHand(tables)
        async with bfsql.open_graph("sqlite", path=path, limits=limits) as opened:
            pair = await side_by_side(question.what, ours, floor, 1)
        by_hand.close()
        if fastest is None:
            fastest = pair
        slowest = max(fastest.ours * fastest.spread, pair.ours)
        best = min(fastest.ours, pair.ours)
        fastest = Pair(question.what, best, min(fastest.floor, pair.floor), slowest / best)
    assert fastest is not None
    return fastest


async def _report_search(path: Path, nodes: int) -> None:
    print("\nsearch                                   median   slowest")
    last, one = f"kalomimi {nodes - 1}", f"kamolini {nodes // 8}"
    async with bfsql.open_graph("sqlite", path=path) as graph:
        for query in ("name 7", "kalomine", "puraso", last, one):
            took = []
            for types in ([], ["gene"], ["drug"], ["paper"], ["author"]):
                start = time.perf_counter()
                await graph.search_entities(query, node_types=types)
                took.append(time.perf_counter() - start)
            print(f"{query:36}{median(took) * 1000:8.1f} ms{max(took) * 1000:8.1f} ms")
