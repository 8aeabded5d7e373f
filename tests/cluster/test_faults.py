"""A graph on three Cassandra nodes, served by JanusGraph servers and as many `bfsql` replicas.

Clients walk while one part of the cluster after the other fails. Each answer is compared with that
of the same graph in memory. `nox -s cluster` runs all faults, with two servers and without pauses
between calls; other runs one, with one server and a smaller graph.
"""

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

NODES, EDGES, LEAVES = (150, 600, 60) if THOROUGH else (50, 150, 40)
CLIENTS = 4
SHORT = 0.0 if THOROUGH else 0.4
"""Most seconds between two calls of a client while single parts fail."""
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
    for one, other in sorted(drawn | {(0, number) for number in range(1, LEAVES)}):
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


CUT = re.compile(r"call reached its time limit|could not be read|store left out|did not finish")
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
    """What clients saw in the time of one fault, or before the first one."""

    name: str
    right: int = 0
    partial: list[Any] = field(default_factory=list)
    """Answers with less than there is, which say so in a note."""
    wrong: list[Any] = field(default_factory=list)
    errors: list[tuple[int, str]] = field(default_factory=list)
    """The client, and what it read."""

    def check(self, most: int) -> None:
        """Check that each client met at most so many errors, each in a sentence."""
        print(  # noqa: T201 - the table in docs/how-to/past-one-machine.md
            f"{self.name}: {self.right} right, {len(self.partial)} with a note, "
            f"{len(self.wrong)} wrong, {len(self.errors)} errors"
        )
        assert not self.wrong, self.wrong[:3]
        of_clients = Counter(client for client, _ in self.errors)
        assert max(of_clients.values(), default=0) <= most, (self.name, self.errors[:5])
        for _, text in self.errors:
            assert "Traceback" not in text


class Walk:
    """Clients that walk, and what they see of each fault.

    Args:
        pause: Most seconds that a client waits between two calls.
    """

    def __init__(
        self, url: str, answers: Mapping[tuple[int, str], Any], clients: int, pause: float
    ) -> None:
        self.seen = Seen("no fault")
        self._url, self._answers, self._pause = url, answers, pause
        self._done = False
        self._calls = itertools.count()
        self._under_way: dict[int, int] = {}
        """The call of each client."""
        self._tasks = [asyncio.create_task(self._walk(client)) for client in range(clients)]

    @asynccontextmanager
    async def fault(self, name: str, most: int = 1) -> AsyncIterator[None]:
        """A fault, whose time lasts until all calls of it have ended and later ones are right.

        Args:
            most: The most errors that a client may meet.
        """
        await self.until_right()
        self.seen.check(most=0)
        self.seen = Seen(name)
        yield
        await self.until_right()
        self.seen.check(most)
        self.seen = Seen("no fault")

    async def until_right(self) -> None:
        """Wait until the calls under way have ended, and some more answers were right."""
        end = asyncio.get_running_loop().time() + PATIENCE
        before, under_way = self.seen.right, set(self._under_way.items())
        while self.seen.right < before + 3 * CLIENTS or under_way & self._under_way.items():
            found = f"{self.seen.right - before} right answers in {PATIENCE} s: {self.seen}"
            assert asyncio.get_running_loop().time() < end, found[:1_000]
            await asyncio.sleep(0.1)

    async def end(self) -> None:
        """Stop the clients."""
        self._done = True
        await asyncio.gather(*self._tasks)

    async def _walk(self, client: int) -> None:
        chance = random.Random(client)
        while not self._done:
            self._under_way[client] = next(self._calls)
            try:
                async with connected(self._url) as session:
                    while not self._done:
                        del self._under_way[client]
                        await asyncio.sleep(chance.uniform(0, self._pause))
                        self._under_way[client] = next(self._calls)
                        await self._call(client, session, chance)
            except (httpx2.HTTPError, MCPError, ExceptionGroup) as error:
                self.seen.errors.append((client, repr(error)[:300]))

    async def _call(self, client: int, session: Client, chance: random.Random) -> None:
        number, start = chance.randrange(len(CALLS)), f"n{chance.randrange(NODES)}"
        found, error = await asked(session, number, start)
        if error:
            self.seen.errors.append((client, error))
        elif found == self._answers[number, start]:
            self.seen.right += 1
        else:
            said = any(CUT.search(note) for note in found.get("notes", ()))
            (self.seen.partial if said else self.seen.wrong).append((CALLS[number], start, found))


@asynccontextmanager
async def walking(
    replicas: Sequence[Served],
    answers: Mapping[tuple[int, str], Any],
    clients: int = CLIENTS,
    pause: float = SHORT,
) -> AsyncIterator[Walk]:
    """Clients that walk until the end of the block; arguments as for `Walk`."""
    async with balanced([one.port for one in replicas]) as url:
        walk = Walk(url, answers, clients, pause)
        try:
            yield walk
        finally:
            await walk.end()
        walk.seen.check(most=0)


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


async def test_a_cassandra_node_that_is_killed_is_not_noticed(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    node = cluster.nodes[2]
    async with walking(replicas, answers) as walk:
        async with walk.fault("a Cassandra node is killed"):
            await asyncio.to_thread(node.kill)
        if THOROUGH:
            async with walk.fault("it comes back"):
                await asyncio.to_thread(node.start)


@in_depth
async def test_a_janusgraph_server_that_is_killed_costs_one_error_at_most(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    server = cluster.servers[0]
    async with walking(replicas, answers) as walk:
        async with walk.fault("a JanusGraph server is killed"):
            await asyncio.to_thread(server.kill)
        async with walk.fault("it comes back"):
            await asyncio.to_thread(server.start)


@in_depth
@pytest.mark.parametrize("part", ["node", "server"])
async def test_a_part_that_hangs_is_passed_over(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any], part: str
) -> None:
    pid = (cluster.nodes[1] if part == "node" else cluster.servers[0]).pid
    assert pid is not None
    async with walking(replicas, answers) as walk, walk.fault(f"a {part} hangs"):
        os.kill(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(12)
        finally:
            os.kill(pid, signal.SIGCONT)


@in_depth
async def test_a_replica_that_is_killed_costs_one_error_at_most(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    with _serving([server.uri for server in cluster.servers]) as third:
        async with walking([*replicas, third], answers) as walk, walk.fault("a replica is killed"):
            third.process.kill()


@in_depth
async def test_a_rolling_restart_of_all_is_hardly_noticed(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    async with walking(replicas, answers) as walk:
        for number, one in enumerate((*cluster.nodes, *cluster.servers)):
            async with walk.fault(f"restart {number + 1}"):
                await asyncio.to_thread(one.restart)


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
    async with walking(replicas, answers) as walk, walk.fault("the other comes back"):
        await asyncio.to_thread(two[1].start)


@in_depth
async def test_minutes_of_faults_at_random_leave_no_wrong_answer(
    cluster: Cluster, replicas: list[Served], answers: Mapping[tuple[int, str], Any]
) -> None:
    chance, faults = random.Random(1), itertools.count(1)
    end = asyncio.get_running_loop().time() + SECONDS
    async with walking(replicas, answers, CROWD, PAUSE) as walk:
        while asyncio.get_running_loop().time() < end:
            one = chance.choice((*cluster.nodes, *cluster.servers))
            async with walk.fault(f"{next(faults)}: {type(one).__name__}"):
                await asyncio.to_thread(chance.choice((one.kill, one.stop)))
                await asyncio.sleep(chance.uniform(1, 5))
                await asyncio.to_thread(one.start)
