"""A graph on three Cassandra nodes, served by JanusGraph servers and as many `bfsql` replicas.

Clients walk without pause while one part of the cluster after the other fails. Each answer is
compared with that of the same graph in memory. `nox -s cluster` runs all faults, with two servers;
other runs one, with one server.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError

from bfsql import MemoryBackend, open_graph
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_gremlin import GremlinSettings
from bfsql_gremlin.load.loader import load_graph
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.balancer import balanced
from bfsql_test_support.servers.cluster import Cluster
from bfsql_test_support.servers.serve_process import Served, serving

pytestmark = pytest.mark.slow

NODES, EDGES = 150, 600
CLIENTS = 4
CROWD, PAUSE = 50, 10.0
"""Clients of the minutes of faults, and most seconds between two calls of one of them."""
SECONDS = 600
"""Seconds of calls while parts fail at random."""
PATIENCE = 60
DEADLINE = 20

in_depth = pytest.mark.skipif(not THOROUGH, reason="`nox -s cluster` runs all faults")


def records() -> Iterator[GraphRecord]:
    """A graph with a hub; the same each time."""
    chance = random.Random(7)
    for number in range(NODES):
        yield NodeRecord(f"n{number}", f"T{number % 3}", {"name": f"Name {number}"})
    drawn = {(chance.randrange(NODES), chance.randrange(NODES)) for _ in range(EDGES)}
    for one, other in sorted(drawn | {(0, number) for number in range(1, 60)}):
        yield EdgeRecord(f"n{one}", f"p{(one + other) % 4}", f"n{other}")


@pytest.fixture(scope="module")
def replicas(cluster: Cluster) -> Iterator[list[Served]]:
    """A stateless server for each JanusGraph server, which it prefers, of the graph."""
    uris = [server.uri for server in cluster.servers]
    asyncio.run(load_graph(GremlinSettings(uri=uris), records()))
    with ExitStack() as running:
        orders = (uris, uris[::-1])[: len(uris)]
        yield [running.enter_context(_serving(order)) for order in orders]


def _serving(uris: Sequence[str]) -> Any:
    named = [option for uri in uris for option in ("--uri", uri)]
    options = ("--backend", "gremlin", "--stateless", "--deadline", str(DEADLINE), *named)
    # Answers are not reused: each call has to walk.
    return serving(*options, "--cache-ttl", "0.001", "--max-calls-per-client", "1000")


CUT = re.compile(r"time for this call was up|could not be read|store left out|not finished")
CALLS: tuple[dict[str, Any], ...] = (
    {"max_hops": 1},
    {"max_hops": 2, "limit": 20},
    {"max_hops": 1, "node_types": ["T1"], "limit": 10},
    {"path": ["-p1->", "--"], "show": "ends"},
)


async def expected() -> Mapping[tuple[int, str], Any]:
    """The answer to each call from each node."""
    async with open_graph(MemoryBackend(records())) as graph:
        return {
            (number, f"n{start}"): (await graph.bfs_query([f"n{start}"], **call)).content
            for number, call in enumerate(CALLS)
            for start in range(NODES)
        }


@dataclass
class Seen:
    """What clients saw."""

    right: int = 0
    partial: list[Any] = field(default_factory=list)
    """Answers with less than there is, which say so in a note."""
    wrong: list[Any] = field(default_factory=list)
    errors: list[tuple[int, str]] = field(default_factory=list)
    """The client, and what it read."""

    def check(self, most: int = 1) -> None:
        """Check that each client met at most so many errors, each in a sentence."""
        assert not self.wrong, self.wrong[:3]
        of_clients = Counter(client for client, _ in self.errors)
        assert max(of_clients.values(), default=0) <= most, self.errors[:5]
        for _, text in self.errors:
            assert "Traceback" not in text


@asynccontextmanager
async def walking(
    replicas: Sequence[Served],
    answers: Mapping[tuple[int, str], Any],
    clients: int = CLIENTS,
    pause: float = 0.0,
) -> AsyncIterator[Seen]:
    """Clients that walk until the end of the block.

    Args:
        replicas: The servers, behind a proxy.
        answers: The right answers.
        clients: Number of clients.
        pause: Most seconds that a client waits between two calls.
    """
    seen, done = Seen(), asyncio.Event()
    chances = [random.Random(client) for client in range(clients)]
    async with balanced([one.port for one in replicas]) as url:

        async def calls(client: int, session: Client) -> None:
            chance = chances[client]
            while not done.is_set():
                await asyncio.sleep(chance.uniform(0, pause))
                number, start = chance.randrange(len(CALLS)), f"n{chance.randrange(NODES)}"
                found, error = await asked(session, number, start)
                if error:
                    seen.errors.append((client, error))
                elif found == answers[number, start]:
                    seen.right += 1
                else:
                    said = any(CUT.search(note) for note in found.get("notes", ()))
                    (seen.partial if said else seen.wrong).append((CALLS[number], start, found))

        async def walk(client: int) -> None:
            while not done.is_set():
                try:
                    async with connected(url) as session:
                        await calls(client, session)
                except (httpx2.HTTPError, MCPError, ExceptionGroup) as error:
                    seen.errors.append((client, repr(error)[:300]))

        tasks = [asyncio.create_task(walk(client)) for client in range(clients)]
        try:
            yield seen
        finally:
            done.set()
            await asyncio.gather(*tasks)


def connected(url: str) -> Client:
    """A client of a server or of the proxy in front of several."""
    return Client(f"{url}/mcp", read_timeout_seconds=PATIENCE)


async def asked(client: Client, number: int, start: str) -> tuple[Any, str]:
    """The answer to a call, and the text of an error."""
    answer = await client.call_tool("bfs_query", {"seeds": [start], **CALLS[number]})
    text = getattr(answer.content[0], "text", "")
    return answer.structured_content, text if answer.is_error else ""


@pytest.fixture(scope="module")
def answers() -> Mapping[tuple[int, str], Any]:
    return asyncio.run(expected())


async def until_right(seen: Seen) -> None:
    """Wait until some more answers were right."""
    before = seen.right
    end = asyncio.get_running_loop().time() + PATIENCE
    while seen.right < before + 3 * CLIENTS:
        found = f"{seen.right - before} right answers in {PATIENCE} s: {seen}"[:1_000]
        assert asyncio.get_running_loop().time() < end, found
        await asyncio.sleep(0.1)


async def test_a_cassandra_node_that_is_killed_is_not_noticed(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    async with walking(replicas, answers) as seen:
        await until_right(seen)
        await asyncio.to_thread(cluster.nodes[2].kill)
        await until_right(seen)
        if THOROUGH:
            await asyncio.to_thread(cluster.nodes[2].start)
            await until_right(seen)
    seen.check()


@in_depth
async def test_a_janusgraph_server_that_is_killed_costs_one_error_at_most(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    async with walking(replicas, answers) as seen:
        await until_right(seen)
        await asyncio.to_thread(cluster.servers[0].kill)
        await until_right(seen)
        await asyncio.to_thread(cluster.servers[0].start)
        await until_right(seen)
    seen.check()


@in_depth
@pytest.mark.parametrize("part", ["node", "server"])
async def test_a_part_that_hangs_is_passed_over(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any], part: str
) -> None:
    pid = (cluster.nodes[1] if part == "node" else cluster.servers[0]).pid
    assert pid is not None
    async with walking(replicas, answers) as seen:
        await until_right(seen)
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(12)
        finally:
            os.kill(pid, signal.SIGCONT)
        await until_right(seen)
    seen.check()


@in_depth
async def test_a_replica_that_is_killed_costs_one_error_at_most(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    with _serving([server.uri for server in cluster.servers]) as third:
        async with walking([*replicas, third], answers) as seen:
            await until_right(seen)
            third.process.kill()
            await until_right(seen)
    seen.check()


@in_depth
async def test_a_rolling_restart_of_all_is_not_noticed(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    parts = (*cluster.nodes, *cluster.servers)
    async with walking(replicas, answers) as seen:
        for one in parts:
            await asyncio.to_thread(one.restart)
            await until_right(seen)
    seen.check(most=len(parts))


@in_depth
async def test_without_a_quorum_calls_say_so_and_the_next_one_works(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    two = cluster.nodes[1:]
    for one in two:
        await asyncio.to_thread(one.kill)
    for number, served in itertools.product(range(len(CALLS)), replicas):
        began = asyncio.get_running_loop().time()
        async with connected(served.url) as client:
            _, error = await asked(client, number, "n0")
        assert "store" in error
        assert asyncio.get_running_loop().time() - began < DEADLINE + 2
    await asyncio.to_thread(two[0].start)
    async with walking(replicas, answers) as seen:
        await until_right(seen)
    await asyncio.to_thread(two[1].start)
    seen.check()


@in_depth
async def test_minutes_of_faults_at_random_leave_no_wrong_answer(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    chance, faults = random.Random(1), 0
    end = asyncio.get_running_loop().time() + SECONDS
    async with walking(replicas, answers, CROWD, PAUSE) as seen:
        while asyncio.get_running_loop().time() < end:
            one = chance.choice((*cluster.nodes, *cluster.servers))
            await asyncio.to_thread(chance.choice((one.kill, one.stop)))
            faults += 1
            await asyncio.sleep(chance.uniform(1, 5))
            await asyncio.to_thread(one.start)
            await until_right(seen)
    counts = f"{len(seen.partial)} with a note, {len(seen.errors)} errors"
    print(f"{faults} faults, {seen.right} right answers, {counts}")  # noqa: T201
    seen.check(most=faults)
