"""Every figure of the embedded default, in one command: `nox -s benchmarks`.

Ratios of one run hold on any machine; seconds are of the machine at hand.
Nothing here fails for being slow: the goals stand beside the figures.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import tempfile
from pathlib import Path

import embedded
import starting


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--nodes", type=int, default=100_000, help="nodes of the graph")
    arguments.add_argument("--edges", type=int, default=1_000_000, help="edges of the graph")
    arguments.add_argument("--hub", type=int, default=60_000, help="neighbours of the hub")
    arguments.add_argument("--turns", type=int, default=5, help="turns of each comparison")
    given = arguments.parse_args()
    gc.set_threshold(100_000, 50, 100)  # as the server does
    with tempfile.TemporaryDirectory(prefix="bfsql-bench-") as folder:
        path = Path(folder) / "graph.db"
        embedded.report_loading(path, given.nodes, given.edges, given.hub)
        asyncio.run(embedded.report_answers(path, given.turns))
        starting.report_start(path, given.turns)
        asyncio.run(starting.report_tool_path(path, given.turns))


if __name__ == "__main__":
    main()
