"""Figures side by side, in one command: `nox -s benchmarks -- embedded postgres neo4j sparql`.

Ratios of one run hold on any machine; seconds are of the machine at hand.
Nothing here fails for being slow: the goals stand beside the figures.
By default a store takes minutes; the goals are for `--nodes 100000 --edges 1000000 --hub 85000`.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # the servers of the tests

STORES = ("embedded", "postgres", "neo4j", "sparql")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("stores", nargs="*", help=f"of {', '.join(STORES)}; all by default")
    arguments.add_argument("--nodes", type=int, default=20_000, help="nodes of the graph")
    arguments.add_argument("--edges", type=int, default=200_000, help="edges of the graph")
    arguments.add_argument("--hub", type=int, default=17_000, help="neighbours of the hub")
    arguments.add_argument("--turns", type=int, default=5, help="turns of each comparison")
    given = arguments.parse_args()
    if unknown := set(given.stores) - set(STORES):
        arguments.error(f"there is no store {unknown.pop()}; there are {', '.join(STORES)}")
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # each line as it comes
    gc.set_threshold(100_000, 50, 100)  # as the server does
    size = (given.nodes, given.edges, given.hub)
    for store in given.stores or STORES:
        _report(store, size, given.turns)


def _report(store: str, size: tuple[int, int, int], turns: int) -> None:
    if store == "embedded":
        import embedded
        import starting

        with tempfile.TemporaryDirectory(prefix="bfsql-bench-") as folder:
            path = Path(folder) / "graph.db"
            embedded.report_loading(path, *size)
            asyncio.run(embedded.report_answers(path, size[0], turns))
            starting.report_start(path, turns)
            asyncio.run(starting.report_tool_path(path, size[0], turns))
    elif store == "postgres":
        import postgres

        asyncio.run(postgres.report(*size, turns))
    elif store == "neo4j":
        import neo4j_store

        asyncio.run(neo4j_store.report(*size, turns))
    else:
        import sparql_store

        asyncio.run(sparql_store.report(*size, turns))


if __name__ == "__main__":
    main()
