"""A soak: a hundred clients and a thousand idle connections, on a store that fails at random.

    python -m bfsql_servers.soak --seconds 1800

`bfsql serve` runs as a process over an Oxigraph server, behind a proxy that kills, hangs and
limits the store in turn. Clients of both protocol eras ask small questions, and some about a hub;
others vanish in the middle of a call. Every answer is compared with the one that a quiet server
gave. When all clients have left, the server has to be as small as before.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import logging
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import psutil
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bfsql_servers.oxigraph import OxigraphServer
from bfsql_servers.port import HOST
from bfsql_servers.served import Served, serving

CLIENTS, IDLE, VANISHING = 100, 1_000, 2
IDLE_HOST = "127.0.0.2"
"""Where the idle connections come from, so that they are another client's."""
SMALL, HUB_EDGES = 200, 1_000
HUB_SHARE = 0.03
THINK_SECONDS = 10.0
"""A client's mean pause between two calls."""
CALM_SECONDS, OUTAGE_SECONDS = (6.0, 9.0), (1.0, 2.0)
RECOVERY_SECONDS = 3.0
"""After an outage, until when calls are still expected to feel it."""
SETTLE_SECONDS = 60.0
FILES = 8_192

OPTIONS = (
    *("--deadline", "6", "--cache-ttl", "10", "--max-pause", "1", "--log-level", "warning"),
    *("--max-calls-per-client", "64", "--session-timeout", "10", "--idle-timeout", "20"),
)
OUTAGE = re.compile(
    r"could not be read|not (?:be )?reach|did not answer|too long|within \d|in time|time for this"
    r"|store|busy|too many|try again|Try again",
)
"""What the error of a call says that a failing store, or a full server, has ended."""
CUT = re.compile(
    r"time for this call was up|search was not finished|store left out|counted in time"
)
"""What the notes of an answer say that an outage has cut."""


@dataclass(frozen=True)
class Question:
    """A call, and whether it is a small one."""

    tool: str
    arguments: dict[str, Any]
    small: bool = True


@dataclass(frozen=True)
class Resources:
    """What a process holds."""

    megabytes: float
    files: int
    threads: int
    processor_seconds: float

    @classmethod
    def of(cls, pid: int) -> Resources:
        process = psutil.Process(pid)
        with process.oneshot():
            size = process.memory_info().rss / 1e6
            spent = process.cpu_times()
            seconds = round(spent.user + spent.system, 1)
            return cls(round(size, 1), process.num_fds(), process.num_threads(), seconds)


@dataclass
class Report:
    """What a soak saw."""

    seconds: float = 0.0
    answers: int = 0
    hub_answers: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    unexpected: Counter[str] = field(default_factory=Counter)
    cut: int = 0
    vanished: int = 0
    idle: int = 0
    outages: Counter[str] = field(default_factory=Counter)
    quiet_median: float = 0.0
    small_calls: list[tuple[float, float]] = field(default_factory=list)
    """Start and seconds of each small call that was answered."""
    calm: list[tuple[float, float]] = field(default_factory=list)
    """Begin and end of the times without an outage, recovery aside."""
    before: Resources | None = None
    early: Resources | None = None
    after: Resources | None = None
    lag: float = 0.0
    """The longest that this process was late itself: other work on the machine."""
    statements: int = 0
    log: list[str] = field(default_factory=list)

    def calm_seconds(self) -> list[float]:
        """Seconds of the small calls of calm times, sorted."""
        return sorted(
            seconds
            for start, seconds in self.small_calls
            if any(begin <= start and start + seconds <= end for begin, end in self.calm)
        )

    def table(self) -> str:
        """The figures, a line each."""
        calm = self.calm_seconds()
        slowest, p99 = (calm[-1], calm[int(len(calm) * 0.99)]) if calm else (0.0, 0.0)
        rows = {
            "seconds": f"{self.seconds:.0f}",
            "answers, all as before": f"{self.answers}, {self.hub_answers} about the hub",
            "answers cut by an outage, with a note": self.cut,
            "errors that outages allow": sum(self.errors.values()),
            "other errors": dict(self.unexpected) or 0,
            "wrong answers": len(self.wrong),
            "outages": dict(self.outages),
            "clients that vanished": self.vanished,
            "idle connections at the end": self.idle,
            "small call on the quiet server, median": f"{self.quiet_median * 1000:.1f} ms",
            "small calls in calm times": f"{len(calm)}, median "
            f"{statistics.median(calm or [0]) * 1000:.1f} ms, 99 % {p99 * 1000:.1f} ms, slowest "
            f"{slowest * 1000:.1f} ms ({slowest / (self.quiet_median or 1):.1f} x)",
            "this process was late by at most": f"{self.lag * 1000:.1f} ms",
            "process before": self.before,
            "process after a third": self.early,
            "process after": self.after,
            "statements left": self.statements,
            "lines logged": len(self.log),
            "tracebacks logged": sum("Traceback (most" in line for line in self.log),
        }
        return "\n".join(f"{name:40} {value}" for name, value in rows.items())

    def faults(self) -> list[str]:
        """What the soak has to hold and did not."""
        assert self.before is not None
        assert self.early is not None
        assert self.after is not None
        found = [f"wrong: {one}" for one in self.wrong[:5]]
        found += [f"unexpected error: {text} ({n})" for text, n in self.unexpected.items()]
        if self.after.files > self.before.files + 20:
            found.append(f"files: {self.before.files} before, {self.after.files} after")
        if self.after.threads > self.before.threads + 10:
            found.append(f"threads: {self.before.threads} before, {self.after.threads} after")
        if self.after.megabytes > self.early.megabytes * 1.5 + 50:
            found.append(f"memory: {self.early.megabytes} MB early, {self.after.megabytes} after")
        if self.statements:
            found.append(f"{self.statements} statements are left at the store")
        return found


# --- the store ---------------------------------------------------------------------


class FailingProxy:
    """A TCP proxy in front of an HTTP server, which can kill, hang or limit it.

    Attributes:
        mode: `open`, `kill` (connections are reset), `hang` (nothing passes) or `limit` (requests
            are answered with 503).
    """

    def __init__(self, port: int) -> None:
        self.mode = "open"
        self._port = port
        self._passing = asyncio.Event()
        self._passing.set()
        self._open: dict[asyncio.StreamWriter, bool] = {}
        self._tasks: set[asyncio.Task[None] | None] = set()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Its URL, while it serves."""
        server = await asyncio.start_server(self._serve, HOST, 0, backlog=200)
        try:
            yield f"http://{HOST}:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            self.switch("kill")
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def switch(self, mode: str) -> None:
        """Begin or end an outage."""
        self.mode = mode
        if mode == "hang":
            self._passing.clear()
        else:
            self._passing.set()
        if mode == "kill":
            self._cut()

    @property
    def waiting(self) -> int:
        """Requests that the store has got and not answered."""
        return sum(self._open.values())

    def _cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = False
        self._tasks.add(task := asyncio.current_task())
        try:
            if self.mode == "kill":
                return
            back, there = await asyncio.open_connection(HOST, self._port)
            try:
                pumps = [
                    asyncio.ensure_future(self._requests(reader, there, writer)),
                    asyncio.ensure_future(self._answers(back, writer)),
                ]
                _, left = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
                for pump in left:
                    pump.cancel()
                await asyncio.gather(*pumps, return_exceptions=True)
            finally:
                there.transport.abort()
        except OSError:
            pass
        finally:
            self._tasks.discard(task)
            del self._open[writer]
            writer.transport.abort()

    async def _requests(
        self,
        reader: asyncio.StreamReader,
        there: asyncio.StreamWriter,
        writer: asyncio.StreamWriter,
    ) -> None:
        while data := await reader.read(65_536):
            if self.mode == "limit":
                writer.write(
                    b"HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
                    b"Connection: close\r\n\r\n"
                )
                await writer.drain()
                await asyncio.sleep(0.2)  # what is still on its way would reset the answer
                return
            await self._passing.wait()
            self._open[writer] = True
            there.write(data)
            await there.drain()

    async def _answers(self, back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await back.read(65_536):
            await self._passing.wait()
            writer.write(data)
            await writer.drain()
            self._open[writer] = False


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
    """Small ones of each tool, and a few about the hub."""
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
    return found


# --- the clients -------------------------------------------------------------------


class Soak:
    """One run.

    Args:
        served: The server.
        proxy: In front of its store.
        seconds: How long the clients ask.
        seed: Of all that is drawn.
    """

    def __init__(self, served: Served, proxy: FailingProxy, seconds: float, seed: int) -> None:
        self.report = Report(seconds=seconds)
        self._served, self._proxy = served, proxy
        self._url = f"{served.url}/mcp"
        self._drawn = random.Random(seed)
        self._all = questions()
        self._small = [one for one in self._all if one.small]
        self._large = [one for one in self._all if not one.small]
        self._expected: dict[str, str] = {}
        self._end = 0.0

    async def run(self) -> Report:
        """The whole of it."""
        await self._learn()
        await asyncio.sleep(1)
        self.report.before = self._resources()
        began = time.monotonic()
        self._end = began + self.report.seconds
        eras = ["auto", "legacy"] * (CLIENTS // 2)
        tasks = [
            *(asyncio.ensure_future(self._client(era)) for era in eras),
            *(asyncio.ensure_future(self._vanishing(era)) for era in eras[:VANISHING]),
            asyncio.ensure_future(self._idle()),
            asyncio.ensure_future(self._outages()),
            asyncio.ensure_future(self._lag()),
        ]
        await asyncio.sleep(self.report.seconds / 3)
        self.report.early = self._resources()
        await asyncio.gather(*tasks)
        await self._settle()
        self.report.log = list(self._served.log)
        return self.report

    async def _learn(self) -> None:
        """The right answers, and how long small ones take, from the quiet server."""
        seconds = []
        async with connected(self._url) as client:
            for question in self._all:
                began = time.monotonic()
                answer = await client.call_tool(question.tool, question.arguments)
                if question.small:
                    seconds.append(time.monotonic() - began)
                assert not answer.is_error, answer.content
                self._expected[_key(question)] = _text(answer)
        self.report.quiet_median = statistics.median(seconds)

    async def _client(self, era: str) -> None:
        await asyncio.sleep(self._drawn.uniform(0, THINK_SECONDS))
        while not self._is_over():
            try:
                async with connected(self._url, era) as client:
                    for _ in range(self._drawn.randint(5, 50)):
                        if self._is_over():
                            break
                        await self._ask(client)
                        await asyncio.sleep(self._drawn.expovariate(1 / THINK_SECONDS))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
                self._count(_innermost(error))

    async def _ask(self, client: Client) -> None:
        large = self._drawn.random() < HUB_SHARE
        question = self._drawn.choice(self._large if large else self._small)
        began = time.monotonic()
        answer = await client.call_tool(question.tool, question.arguments)
        seconds, text = time.monotonic() - began, _text(answer)
        if answer.is_error:
            self._count(text)
        elif text == self._expected[_key(question)]:
            self.report.answers += 1
            self.report.hub_answers += large
            if not large:
                self.report.small_calls.append((began, seconds))
        elif CUT.search(text):
            self.report.cut += 1
        else:
            self.report.wrong.append(f"{question}: {text[:500]}")

    def _count(self, text: str) -> None:
        known = self.report.errors if OUTAGE.search(text) else self.report.unexpected
        known[re.sub(r"incident \w+|\d+", "N", text[:200])] += 1

    async def _vanishing(self, era: str) -> None:
        """Clients that leave in the middle of a call, or of a request."""

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
        """Connections that send nothing, opened again when the server has closed them."""
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
        """The store is killed, hung and limited in turn, in an order that is drawn."""
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

    async def _lag(self) -> None:
        while not self._is_over():
            began = time.monotonic()
            await asyncio.sleep(0.05)
            self.report.lag = max(self.report.lag, time.monotonic() - began - 0.05)

    async def _settle(self) -> None:
        """Wait until the server has given back what it held."""
        assert self.report.before
        until = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < until:
            self.report.after = self._resources()
            self.report.statements = self._proxy.waiting
            if self.report.after.files <= self.report.before.files and not self.report.statements:
                break
            await asyncio.sleep(0.5)

    def _resources(self) -> Resources:
        return Resources.of(self._served.process.pid)

    def _is_over(self) -> bool:
        return time.monotonic() >= self._end


@contextlib.asynccontextmanager
async def connected(url: str, era: str = "auto") -> AsyncIterator[Client]:
    """A client of its own connections; without TLS, whose certificates take 0.1 s to read."""
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


def allow_files(count: int = FILES) -> None:
    """Let this process and those that it starts open that many files, where the system does."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = count if most == resource.RLIM_INFINITY else min(count, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, most))


def soak(seconds: float, seed: int, say: Callable[[str], None] = print) -> Report:
    """Run one and print its table.

    Args:
        seconds: How long the clients ask.
        seed: Of all that is drawn.
        say: Prints.
    """
    allow_files()
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # clients that vanish close their streams
    with tempfile.TemporaryDirectory() as folder:
        store = OxigraphServer(Path(folder))
        store.process.start()
        try:
            store.load(triples())
            report = asyncio.run(_soaked(store.port, store.query_path, seconds, seed))
        finally:
            store.process.kill()
    say(report.table())
    for texts in (report.errors, report.unexpected):
        for text, count in texts.most_common():
            say(f"{count:8} {text}")
    return report


async def _soaked(port: int, path: str, seconds: float, seed: int) -> Report:
    proxy = FailingProxy(port)
    async with proxy.listening() as url:
        stack = contextlib.ExitStack()
        options = ("--backend", "sparql", "--endpoint", url + path, *OPTIONS)
        served = await asyncio.to_thread(stack.enter_context, serving(*options))
        try:
            return await Soak(served, proxy, seconds, seed).run()
        finally:
            await asyncio.to_thread(stack.close)


def main(arguments: Sequence[str] | None = None) -> int:
    """What `nox -s soak` runs; 1 where something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, prog="soak")
    parser.add_argument("--seconds", type=float, default=1_800)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000))
    parser.add_argument("--log", type=Path, help="file for the log of the server")
    chosen = parser.parse_args(arguments)
    print(f"seed {chosen.seed}")  # noqa: T201 - its output
    report = soak(chosen.seconds, chosen.seed)
    if chosen.log:
        chosen.log.write_text("\n".join(report.log) + "\n", "utf-8")
    for fault in (faults := report.faults()):
        print("FAULT", fault)  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
