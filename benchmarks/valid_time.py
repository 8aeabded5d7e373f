"""`nox -s benchmarks -- time`: the ring of a hub under `at`, as a multiple of the same without.

Each edge has a day from which and a day until which it holds. Both calls read every edge: `at` is a
period in which all hold. The caches are empty, but for whether nodes have dates.
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from graphs import HUB, name_of
from pydantic import SecretStr
from timing import PROCESSOR, WALL, timed

from bfsql import Limits
from bfsql.cache import CachedGraphDb
from bfsql.graph import Graph
from bfsql.models import EdgeRecord, GraphRecord, LoadOptions, NodeRecord
from bfsql.plugins import registry
from bfsql.settings import BackendSettings
from bfsql_test_support.servers.folder import folder

DATES: dict[str, Any] = {"valid_from": ["since"], "valid_until": ["until"]}
FIRST_DAY = date(1990, 1, 1)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stores", nargs="*", help=f"of {', '.join(_STORES)}; all by default")
    parser.add_argument("--edges", type=int, default=60_000, help="edges of the hub (60,000)")
    parser.add_argument("--turns", type=int, default=5, help="turns of each comparison")
    given = parser.parse_args(arguments)
    print(f"{given.edges:,} edges of a hub    processor time, wall time (goal: 1.5 x)")
    for store in given.stores or _STORES:
        asyncio.run(_report(store, given.edges, given.turns))


def hub_with_dates(edges: int, seed: int = 7) -> Iterator[GraphRecord]:
    """A hub whose edges hold for up to ten years each, from a day between 1990 and 2014."""
    chance = random.Random(seed)
    yield NodeRecord(HUB, "firm", {"name": "the hub"})
    for number in range(edges):
        yield NodeRecord(name_of(number), "person", {"name": f"person {number}"})
        start = FIRST_DAY + timedelta(chance.randrange(9_000))
        until = start + timedelta(1 + chance.randrange(3_650))
        dates = {"since": start.isoformat(), "until": until.isoformat()}
        yield EdgeRecord(name_of(number), "WORKS_FOR", HUB, dates)


async def _report(store: str, edges: int, turns: int) -> None:
    with ExitStack() as stack:
        name, start = _STORES[store]
        settings, plugin = start(stack), registry.load(name)
        assert plugin.load is not None
        await plugin.load(settings, hub_with_dates(edges), LoadOptions())
        backend = await registry.open_backend(name, plugin, settings)
        try:
            for clock in (PROCESSOR, WALL):
                took = dict[str | None, list[float]]()
                for turn in range(2 * turns):
                    at = "1990..2030" if turn % 2 else None
                    cached = CachedGraphDb(backend)  # empty, so that every turn is cold
                    await cached.has_nodes_with(backend.time_keys.keys)
                    seconds, _ = await timed(partial(_ask, cached, at, edges), clock)
                    await cached.release()
                    took.setdefault(at, []).append(seconds)
                whole, dated = map(min, took.values())
                name = "wall" if clock is WALL else "processor"
                print(f"{store:10} {name:10} {whole:6.3f} s {dated:6.3f} s  {dated / whole:5.2f} x")
        finally:
            await backend.close()


async def _ask(cached: CachedGraphDb, at: str | None, edges: int) -> bytes:
    graph = Graph(cached, "", Limits(max_tokens=0, deadline=None), schema=None)
    given = {"at": at} if at else {}
    answer = await graph.bfs_query([HUB], 1, limit=0, topology_only=True, **given)
    if answer.content["edge_count"] != edges:
        raise SystemExit(f"{answer.content['edge_count']:,} edges in place of {edges:,}")
    return answer.text.encode()


def _sqlite(stack: ExitStack) -> BackendSettings:
    from bfsql_sqlite import SqliteSettings

    return SqliteSettings(path=stack.enter_context(folder()) / "graph.db", **DATES)


def _postgres(stack: ExitStack) -> BackendSettings:
    from bfsql_postgres import PostgresSettings
    from bfsql_test_support.servers.postgres import PostgresServer

    server = _started(PostgresServer.embedded, stack)
    return PostgresSettings(dsn=SecretStr(server.url()), **DATES)


def _neo4j(stack: ExitStack) -> BackendSettings:
    from bfsql_neo4j import Neo4jSettings
    from bfsql_test_support.servers.neo4j import Neo4jServer

    return Neo4jSettings(uri=_started(Neo4jServer.large, stack).uri, preserve_case=True, **DATES)


def _oxigraph(stack: ExitStack) -> BackendSettings:
    from bfsql_sparql import SparqlSettings
    from bfsql_test_support.servers.oxigraph import OxigraphServer

    server = _started(OxigraphServer, stack)
    return SparqlSettings(
        endpoint=server.query_url, update_endpoint=server.update_url, base="urn:bfsql:", **DATES
    )


def _started(make: Callable[[Path], Any], stack: ExitStack) -> Any:
    server = make(stack.enter_context(folder()))
    stack.callback(server.stop)
    server.start()
    return server


_STORES: dict[str, tuple[str, Callable[[ExitStack], BackendSettings]]] = {
    "sqlite": ("sqlite", _sqlite),
    "postgres": ("postgres", _postgres),
    "neo4j": ("neo4j", _neo4j),
    "oxigraph": ("sparql", _oxigraph),
}
"""By name: the plugin, and its settings for a store that is started for the run."""
