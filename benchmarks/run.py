"""Benchmarks in one command: `nox -s benchmarks -- embedded postgres neo4j gremlin sparql`.

Ratios within one run hold on any machine; seconds hold for the machine in use. No benchmark fails
because it is slow: the goals are printed next to the figures. By default a store takes minutes; the
goals are for `--nodes 100000 --edges 1000000 --hub 85000`.
`embedded --edges 10000000`, without `--nodes`, measures a graph with realistic hubs, compared with
columns by hand and, with `--old`, with another commit.

`questions` runs the suite of questions, `outside` runs those of others, `chat` has a model answer
them, `recall` searches for misspelt names, and `hostile` makes the most expensive calls; each has
its own options (`--help` after its name).
`few` asks for ten of ten million entities in the embedded store, and what lies two steps from them.
`crowd` counts the calls a second that one process and several workers answer.
`forms` counts the characters of answers in JSON and in lines. `explore` measures the page of
`bfsql explore` in Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from bfsql.interpreter import rare_collections
from bfsql_test_support.servers.process import interrupt_on_signals

_WITH_OPTIONS = {"few": "few_of_many"} | {
    name: name for name in ("crowd", "hostile", "peers", "recall", "valid_time")
}
"""Modules with a `main` that reads the arguments after the name."""
STORES = ("embedded", "postgres", "neo4j", "gremlin", "sparql")


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # each line as it comes
    interrupt_on_signals()
    if sys.argv[1:2] == ["questions"]:
        from bfsql_test_support.questions import command

        command.main(sys.argv[2:])
    elif sys.argv[1:2] == ["chat"]:
        from outside import command as outside

        from bfsql_test_support.questions import chat

        sets = {name: partial(outside.datasets, name) for name in outside.DATASETS}
        chat.main(sys.argv[2:], sets)
    elif sys.argv[1:2] == ["outside"]:
        from outside import command as outside

        outside.main(sys.argv[2:])
    elif module := _WITH_OPTIONS.get("".join(sys.argv[1:2])):
        import_module(module).main(sys.argv[2:])
    elif sys.argv[1:2] == ["forms"]:
        import forms

        forms.report()
    elif sys.argv[1:2] == ["explore"]:
        import explore

        explore.report(turns=3)
    else:
        _measure()


def _measure() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("stores", nargs="*", help=f"of {', '.join(STORES)}; all by default")
    arguments.add_argument("--nodes", type=int, help="nodes of the graph (20,000)")
    arguments.add_argument("--edges", type=int, help="edges of the graph (200,000)")
    arguments.add_argument("--hub", type=int, default=17_000, help="neighbours of the hub")
    arguments.add_argument("--turns", type=int, default=5, help="turns of each comparison")
    large = arguments.add_argument_group("embedded, with --edges and without --nodes")
    large.add_argument("--old", metavar="PYTHON", help="of an environment with another commit")
    large.add_argument(
        "--folder",
        type=Path,
        help="keeps the tables nodes.csv and edges.csv and the other commit's old.db, "
        "and uses those of an earlier run",
    )
    given = arguments.parse_args()
    if unknown := set(given.stores) - set(STORES):
        arguments.error(f"there is no store {unknown.pop()}; there are {', '.join(STORES)}")
    size = (given.nodes or 20_000, given.edges or 200_000, given.hub)
    with rare_collections(600):  # as the server does
        for store in given.stores or STORES:
            if store == "embedded" and given.edges and not given.nodes:
                _report_large(given)
            else:
                _report(store, size, given.turns)


def _report_large(given: argparse.Namespace) -> None:
    import large

    with ExitStack() as stack:
        folder = given.folder or stack.enter_context(TemporaryDirectory(prefix="bfsql-bench-"))
        large.report(large.Files(Path(folder), given.old), given.edges, given.turns)


def _report(store: str, size: tuple[int, int, int], turns: int) -> None:
    if store == "embedded":
        import embedded
        import guards
        import selection
        import starting
        import through_hub

        with TemporaryDirectory(prefix="bfsql-bench-") as folder:
            path = Path(folder) / "graph.db"
            embedded.report_loading(path, *size)
            asyncio.run(embedded.report_answers(path, size[0], turns))
            starting.report_start(path, turns)
            asyncio.run(starting.report_tool_path(path, size[0], turns))
            asyncio.run(guards.report(path, size[0], turns))
        asyncio.run(through_hub.report())
        selection.report(turns)
    elif store == "postgres":
        import postgres

        asyncio.run(postgres.report(*size, turns))
    elif store == "gremlin":
        import gremlin_store

        asyncio.run(gremlin_store.report(*size, turns))
    elif store == "neo4j":
        import neo4j_store

        asyncio.run(neo4j_store.report(*size, turns))
    else:
        import sparql_store

        asyncio.run(sparql_store.report(*size, turns))


if __name__ == "__main__":
    main()
