"""`nox -s benchmarks -- questions`: run all plans on real stores, by kind and in total."""

import argparse
import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bfsql_test_support import results
from bfsql_test_support.questions.stores import (
    Loadable,
    Side,
    in_neo4j,
    in_postgres,
    in_sparql,
    in_sqlite,
)
from bfsql_test_support.questions.suite import Report, Sum, questions_about
from bfsql_test_support.questions.worlds import Size, World
from bfsql_test_support.servers.folder import folder
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.postgres import PostgresServer
from bfsql_test_support.servers.process import Server

STORES = ("sqlite", "postgres", "neo4j", "oxigraph")
SCALES = (1, 6, 20)
GOAL = 1.5
"""Characters of our answers, as a multiple of those of Cypher."""

Opening = Callable[[Loadable], AbstractAsyncContextManager[list[Side]]]


def main(arguments: Sequence[str]) -> None:
    """Run the suite."""
    parser = argparse.ArgumentParser(prog="questions", description=__doc__)
    parser.add_argument("stores", nargs="*", default=STORES, help=f"of {', '.join(STORES)}; all")
    parser.add_argument(
        "--scale", type=int, nargs="+", default=SCALES, help="sizes of the worlds (1 6 20)"
    )
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/")
    given = parser.parse_args(arguments)
    if unknown := set(given.stores) - set(STORES):
        parser.error(f"there is no store {unknown.pop()}; there are {', '.join(STORES)}")
    asyncio.run(run(given.stores, given.scale, save=given.save))


async def run(stores: Sequence[str], scales: Sequence[int], *, save: bool = False) -> None:
    """Run all plans over a world of each scale in each store, and print the tables."""
    report, rows = Report(), []
    with ExitStack() as stack:
        opening = {store: opened(store, stack) for store in stores}
        for seed, scale in enumerate(scales, 11):
            world = World(f"world-{scale}", Size.of(scale), seed)
            questions = questions_about(world)
            nodes, edges = world.graph.number_of_nodes(), world.graph.number_of_edges()
            print(f"{world.name}: {nodes:,} nodes, {edges:,} edges, {len(questions)} questions")
            for store, opens in opening.items():
                start = time.perf_counter()
                async with opens(world) as sides:
                    for side in sides:
                        await report.add(side, questions)
                        asked = report.outcomes[side.store, side.name][-len(questions) - 1 :]
                        tokens = report.tokens[side.store, side.name]
                        rows.append(result(world, side, Sum.of(asked), tokens))
                print(f"    {store}: {time.perf_counter() - start:.1f} s")
    if save:
        results.save("questions", rows, ("world", "store", "tools"))
    for table in tables(report):
        print(f"\n{table}")


def result(world: World, side: Side, found: Sum, tokens: int) -> dict[str, Any]:
    """A row of `benchmarks/results/questions.json`; the schema counts as a question."""
    where = {"world": world.name, "store": side.store, "tools": side.name}
    return where | asdict(found) | {"definitions": tokens}


def tables(report: Report) -> list[str]:
    """The tables of a report, its wrong answers, and the figures that have goals."""
    sides = list(report.outcomes)
    store = "neo4j" if ("neo4j", "cypher") in sides else sides[0][0]
    compared = [side for side in sides if side[0] == store]
    found = [report.by_kind(compared), report.in_all(), *report.wrong()]
    if ("neo4j", "cypher") in sides:
        cypher = Sum.of(report.outcomes["neo4j", "cypher"])
        for name in ("six tools", "six tools, lines"):
            ours = Sum.of(report.outcomes["neo4j", name])
            found.append(
                f"{name} beside cypher: {ours.calls} and {cypher.calls} calls (goal: no more), "
                f"{ours.answers / cypher.answers:.2f} x the characters of answers (goal: {GOAL} x)"
            )
    return found


def opened(store: str, stack: ExitStack) -> Opening:
    """A function that loads a world into a store, whose server runs until the stack ends."""
    place = stack.enter_context(folder())
    if store == "sqlite":
        return lambda world: in_sqlite(world, place)
    server: Any = _server(store, place)
    server.start()
    stack.callback(server.kill if store == "neo4j" else server.stop)
    opens: Any = {"postgres": in_postgres, "neo4j": in_neo4j, "oxigraph": in_sparql}[store]
    return lambda world: opens(world, server)


def _server(store: str, place: Path) -> Server:
    match store:
        case "postgres":
            return PostgresServer.embedded(place)
        case "neo4j":
            return Neo4jServer(place)
        case _:
            return OxigraphServer(place)
