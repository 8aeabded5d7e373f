"""A soak test: a hundred clients and a thousand idle connections, on a store that fails at random.

    python -m bfsql_test_support.soak.run --minutes 30

`bfsql serve` runs as a process over an Oxigraph server, behind a proxy that kills, hangs and
limits the store in turn. Clients of both protocol eras ask small questions, and some about a hub;
others disconnect in the middle of a call. Every answer is compared with the answer of an idle
server. When all clients have left, the server must be as small as before.
"""

import argparse
import asyncio
import contextlib
import json
import logging
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bfsql_test_support.servers.failing_proxy import FailingProxy, failing_proxy
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.process import interrupt_on_signals
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.soak.probe import PAUSE, Probed, probing
from bfsql_test_support.soak.report import Report, Resources

CLIENTS, IDLE, VANISHING = 100, 1_000, 2
IDLE_HOST = "127.0.0.2"
"""Address of the idle connections, so that they count as another client."""
SMALL, HUB_EDGES = 200, 1_000
HUB_SHARE = 0.03
THINK_SECONDS = 10.0
"""A client's mean pause between two calls."""
CALM_SECONDS, OUTAGE_SECONDS = (6.0, 9.0), (1.0, 2.0)
QUIET_CALLS = 40
"""Small calls to the quiet server, whose median is the reference for those of the soak."""
RECOVERY_SECONDS = 3.0
"""Seconds after an outage during which calls may still be affected."""
MEMORY_PAUSE = 2.0
"""Seconds between two measurements of the server's memory."""
SETTLE_SECONDS = 60.0
FILES = 8_192

OPTIONS = (
    *("--deadline", "6", "--cache-ttl", "10", "--max-pause", "1", "--log-level", "warning"),
    *("--max-calls-per-client", "64", "--session-timeout", "20", "--idle-timeout", "20"),
)
EXPENSIVE: tuple[dict[str, Any], ...] = (
    {"seeds": ["hub"], "path": ["--"] * 4, "show": "ends", "measure": "count 1", "limit": 1},
    {"seeds": ["Thing:*"], "path": ["--{1,5}"], "to": ["n1"], "show": "ends", "limit": 1},
    {"seeds": ["hub"], "path": ["--", "--"], "where": ["2 = 0"], "show": "ends", "limit": 1},
    {"seeds": ["*[name~e]"], "facets": ["name:500"], "limit": 0},
    {"seeds": ["hub"], "max_hops": 5, "sort_by": "-name", "limit": 20},
)
OUTAGE = re.compile(
    r"could not be read|not (?:be )?reach|did not answer|too long|within \d|in time|time limit"
    r"|store|busy|too many|try again|Try again"
)
"""Matches the error of a call that failed because of a failing store or a full server."""
CUT = re.compile(
    r"call reached its time limit|search did not finish|store left out|counted in time"
)
"""Matches the notes of an answer that an outage has truncated."""


@dataclass(frozen=True)
class Question:
    """A call, and whether it is a small one."""

    tool: str
    arguments: dict[str, Any]
    small: bool = True


# --- the store ---------------------------------------------------------------------


def triples() -> str:
    """Small things in a ring with cross edges, and a hub that many others point to."""
    label, kind = "http://www.w3.org/2000/01/rdf-schema#label", "urn:bfsql:"
    type_ = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    lines = [f"<{kind}hub> <{type_}> <{kind}Hub> .", f'<{kind}hub> <{label}> "The hub" .']
    for i in range(SMALL):
        node = f"<{kind}n{i}>"
        lines += [f"{node} <{type_}> <{kind}Thing> .", f'{node} <{label}> "Thing number {i}" .']
        lines += [f"{node} <{kind}next> <{kind}n{(i + step) % SMALL}> ." for step in (1, 7)]
    for i in range(HUB_EDGES):
        node = f"<{kind}leaf{i}>"
        lines += [f"{node} <{type_}> <{kind}Leaf> .", f"{node} <{kind}at> <{kind}hub> ."]
    return "\n".join(lines) + "\n"


def questions() -> list[Question]:
    """Small calls of each tool, and some about the hub."""
    found = []
    for i in range(0, SMALL, 4):
        one, other = f"n{i}", f"n{(i + 8) % SMALL}"
        found += [
            Question("bfs_query", {"seeds": [one], "max_hops": 1}),
            Question("bfs_query", {"seeds": [one], "path": ["-next->"], "fields": ["name"]}),
            Question("describe_entity", {"id": one}),
            Question("describe_entities", {"ids": [one, other]}),
            Question("intersect_subgraphs", {"seeds": [one, other], "k": 1}),
        ]
    found.append(Question("search_entities", {"query": "Thing number 17"}))
    for limit in (5, 50, 200):
        hub = {"seeds": ["hub"], "max_hops": 1, "limit": limit}
        found.append(Question("bfs_query", hub, small=False))
    return [*found, *(Question("bfs_query", one, small=False) for one in EXPENSIVE)]


# --- the clients -------------------------------------------------------------------


class Soak:
    """One run.

    Args:
        seconds: How long the clients ask.
        seed: Seed of all random choices.
    """

    def __init__(
        self, served: Served, proxy: FailingProxy, store: OxigraphServer, seconds: float, seed: int
    ) -> None:
        self.report = Report(seconds=seconds)
        self._store_pid = store.process.pid or 0
        self._served, self._proxy = served, proxy
        self._url = f"{served.url}/mcp"
        self._drawn = random.Random(seed)
        self._all = questions()
        self._small = [one for one in self._all if one.small]
        self._large = [one for one in self._all if not one.small]
        self._expected: dict[str, str] = {}
        self._end = 0.0

    async def run(self) -> Report:
        """Run the whole soak."""
        await self._learn()
        with self._probing() as quiet:
            while len(quiet) < QUIET_CALLS:  # noqa: ASYNC110 - a thread fills it
                await asyncio.sleep(PAUSE)
        self.report.quiet = quiet
        self.report.before = self._resources()
        began = time.monotonic()
        self._end = began + self.report.seconds
        eras = ["auto", "legacy"] * (CLIENTS // 2)
        tasks = [
            *(asyncio.ensure_future(self._client(era)) for era in eras),
            *(asyncio.ensure_future(self._vanishing(era)) for era in eras[:VANISHING]),
            asyncio.ensure_future(self._idle()),
            asyncio.ensure_future(self._outages()),
        ]
        with self._probing() as self.report.probed:
            await asyncio.gather(*tasks, self._watch_memory(began))
        await self._settle()
        self.report.log = list(self._served.log)
        return self.report

    def _probing(self) -> contextlib.AbstractContextManager[list[Probed]]:
        calls = [(one.tool, one.arguments) for one in self._small]
        self._drawn.shuffle(calls)
        pids = [self._served.pid, self._store_pid, self._proxy.pid]
        return probing(f"{HOST}:{self._served.port}", pids, calls)

    async def _learn(self) -> None:
        """Fetch the expected answers from the quiet server."""
        async with connected(self._url) as client:
            for question in self._all:
                answer = await client.call_tool(question.tool, question.arguments)
                assert not answer.is_error, answer.content
                self._expected[_key(question)] = _text(answer)

    async def _client(self, era: str) -> None:
        await asyncio.sleep(self._drawn.uniform(0, THINK_SECONDS))
        while not self._is_over():
            try:
                async with connected(self._url, era) as client:
                    for _ in range(self._drawn.randint(5, 50)):
                        if self._is_over():
                            break
                        await self._ask(client)
                        await self._pause(self._drawn.expovariate(1 / THINK_SECONDS))
            except Exception as error:  # noqa: BLE001 - any error is counted
                self._count(_innermost(error))

    async def _ask(self, client: Client) -> None:
        large = self._drawn.random() < HUB_SHARE
        question = self._drawn.choice(self._large if large else self._small)
        answer = await client.call_tool(question.tool, question.arguments)
        text = _text(answer)
        if answer.is_error:
            self._count(text)
        elif text == self._expected[_key(question)]:
            self.report.answers += 1
            self.report.hub_answers += large
        elif CUT.search(text):
            self.report.cut += 1
        else:
            self.report.wrong.append(f"{question}: {text[:500]}")

    def _count(self, text: str) -> None:
        known = self.report.errors if OUTAGE.search(text) else self.report.unexpected
        known[re.sub(r"incident \w+|\d+", "N", text[:200])] += 1

    async def _vanishing(self, era: str) -> None:
        """Clients that disconnect during a call, or while sending a request."""

        async def ask() -> None:
            async with connected(self._url, era) as client:
                question = self._drawn.choice(self._large)
                await client.call_tool(question.tool, question.arguments)

        while not self._is_over():
            asking = asyncio.ensure_future(ask())
            await asyncio.wait([asking], timeout=self._drawn.uniform(0.01, 0.5))
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection(HOST, self._served.port)
                writer.write(
                    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"
                )
                writer.transport.abort()
            self.report.vanished += 2
            await asyncio.sleep(self._drawn.uniform(1, 3))

    async def _idle(self) -> None:
        """Connections that send nothing, reopened when the server has closed them."""
        held: list[asyncio.StreamReader] = []
        writers: dict[asyncio.StreamReader, asyncio.StreamWriter] = {}
        while not self._is_over():
            for reader in [reader for reader in held if reader.at_eof()]:
                held.remove(reader)
                writers.pop(reader).transport.abort()
            for _ in range(min(100, IDLE - len(held))):
                with contextlib.suppress(OSError):
                    reader, writer = await asyncio.open_connection(
                        HOST, self._served.port, local_addr=(_idle_host(), 0)
                    )
                    held.append(reader)
                    writers[reader] = writer
            await asyncio.sleep(0.5)
        self.report.idle = sum(not reader.at_eof() for reader in held)
        for writer in writers.values():
            writer.transport.abort()

    async def _outages(self) -> None:
        """Kill, hang and limit the store in turn, in random order."""
        kinds: list[str] = []
        calm_since = time.monotonic()
        while not self._is_over():
            await asyncio.sleep(self._drawn.uniform(*CALM_SECONDS))
            self.report.calm.append((calm_since, time.monotonic()))
            if self._end - time.monotonic() < OUTAGE_SECONDS[1]:
                break
            kinds = kinds or self._drawn.sample(["kill", "hang", "limit"], 3)
            kind = kinds.pop()
            self.report.outages[kind] += 1
            self._proxy.switch(kind)
            await asyncio.sleep(self._drawn.uniform(*OUTAGE_SECONDS))
            self._proxy.switch("open")
            calm_since = time.monotonic() + RECOVERY_SECONDS

    async def _watch_memory(self, began: float) -> None:
        while not self._is_over():
            self.report.memory.append((time.monotonic() - began, self._resources().megabytes))
            await asyncio.sleep(MEMORY_PAUSE)

    async def _settle(self) -> None:
        """Wait until the server has released its resources."""
        assert self.report.before
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            self.report.after = self._resources()
            self.report.statements = self._proxy.waiting
            if self.report.after.files <= self.report.before.files and not self.report.statements:
                break
            await asyncio.sleep(0.5)

    def _resources(self) -> Resources:
        return Resources.of(self._served.pid)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not beyond the end."""
        await asyncio.sleep(max(0.0, min(seconds, self._end - time.monotonic())))

    def _is_over(self) -> bool:
        return time.monotonic() >= self._end


@contextlib.asynccontextmanager
async def connected(url: str, era: str = "auto") -> AsyncIterator[Client]:
    """A client with its own connections; without TLS, whose certificates take 0.1 s to load."""
    timeout = httpx2.Timeout(30, read=300)
    async with (
        httpx2.AsyncClient(verify=False, timeout=timeout) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


def _key(question: Question) -> str:
    return json.dumps([question.tool, question.arguments])


def _text(answer: Any) -> str:
    return "\n".join(block.text for block in answer.content)


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _idle_host() -> str:
    return IDLE_HOST if sys.platform == "linux" else HOST


def allow_files() -> None:
    """Let this process and those that it starts open `FILES` files, where the system does."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, most))


def soak(seconds: float, seed: int) -> Report:
    """Run one and print its table.

    Args:
        seconds: How long the clients ask.
        seed: Seed of all random choices.
    """
    allow_files()
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # logs streams closed by vanishing clients
    with tempfile.TemporaryDirectory() as folder:
        store = OxigraphServer(Path(folder))
        store.process.start()
        try:
            store.load(triples())
            with failing_proxy(store.port) as proxy:
                endpoint = ("--backend", "sparql", "--endpoint", proxy.url + store.query_path)
                with serving(*endpoint, *OPTIONS) as served:
                    report = asyncio.run(Soak(served, proxy, store, seconds, seed).run())
        finally:
            store.process.kill()
    print(report.table())  # noqa: T201 - its output
    for texts in (report.errors, report.unexpected):
        for text, count in texts.most_common():
            print(f"{count:8} {text}")  # noqa: T201
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a soak from the command line; return 1 if it missed a requirement."""
    parser = argparse.ArgumentParser(description=__doc__, prog="soak")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--log", type=Path, help="file for the log of the server")
    chosen = parser.parse_args(arguments)
    interrupt_on_signals()
    print(f"seed {chosen.seed}")  # noqa: T201 - its output
    report = soak(chosen.minutes * 60, chosen.seed)
    if chosen.log:
        chosen.log.write_text("\n".join(report.log) + "\n", "utf-8")
    for fault in (faults := report.faults()):
        print("FAULT", fault)  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
