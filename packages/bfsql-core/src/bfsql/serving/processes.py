"""Worker processes, which share the port of a server over HTTP: `bfsql serve --workers N`.

The process that was started forks them, passes its signals on to them, and replaces those that
end. It answers nothing itself, and has neither threads nor an event loop, which a fork would copy.
The admin port has a process of its own, which asks each worker on a port of loopback.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import signal
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bfsql.errors import BfsqlError
from bfsql.serving.address import bind, check_exposure
from bfsql.serving.admin import Health, admin_application, admin_listener, admin_server
from bfsql.serving.graphs import modules
from bfsql.serving.logs import log_to_stderr
from bfsql.serving.metrics import text_of
from bfsql.serving.run import Worker
from bfsql.settings import ServeSettings

if TYPE_CHECKING:
    from prometheus_client.core import Metric
    from starlette.responses import Response

log = logging.getLogger("bfsql")

_ONE_VALUE = ("bfsql_info", "process_start_time_seconds")
_SILENT = 'HTTP/1.1 503\r\n\r\n{"ready": false, "reasons": ["No worker answers."], "age": null}\n'
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_PAUSE = 60.0
"""Most seconds until ended processes are replaced; a second, if none ended for twice as long."""


def serve_workers(
    settings: ServeSettings, read: Callable[[], object], work: Callable[..., object]
) -> None:
    """Serve with several processes until the operator stops the server.

    Args:
        settings: Address and number of workers.
        read: Called on SIGHUP, so that workers that begin later have the new settings.
        work: Serves in a worker, by the arguments `on_listening` and `worker` of `serve_http`.
    """
    log_to_stderr(settings)
    check_exposure(settings)
    for module in (*modules(settings), "bfsql.explore.record", "bfsql.serving.draining"):
        import_module(module)  # once, into memory that all share
    apart = sys.platform == "linux"  # the only system that shares connections among listeners
    with (
        bind(settings.host, settings.port, shared=apart) as listener,
        admin_listener(settings) as admin,
    ):
        listener.at_a_time = 1  # or one worker would take all connections that come together
        listen: Callable[[], socket.socket] = lambda: listener
        if apart:
            listen = partial(bind, settings.host, listener.getsockname()[1], shared=True)
            listener.shutdown(socket.SHUT_RD)  # it only keeps the port
        parent = _Parent(read, settings.workers)
        own = [bind("127.0.0.1", 0) if admin else None for _ in range(settings.workers)]
        workers = [Worker(listen, one, parent.lifeline, parent.got) for one in own]
        parent.works += [partial(work, worker=one) for one in workers]
        if admin is not None:
            parent.works.append(lambda: asyncio.run(_serve_admin(settings, admin, workers)))
        parent.watch()


class _Parent:
    """Starts the processes, watches them, and passes signals on.

    The first starts alone, so that what keeps it from starting is said once and ends the command.
    Those that follow the workers end by themselves when the lifeline does.
    """

    def __init__(self, read: Callable[[], object], workers: int) -> None:
        self.works: list[Callable[..., object]] = []
        self.got: list[int] = []
        self.lifeline, held = os.pipe()
        self._held = os.fdopen(held, "wb")
        self._read, self._workers, self._stopping = read, workers, False
        self._begun = mmap.mmap(-1, 1)  # which the first process sets
        self._pids: dict[int, int] = {}
        self._due, self._pause = 0.0, 1.0

    def watch(self) -> None:
        """Return when the workers have ended; in each process, exit."""
        for number in _SIGNALS:
            signal.signal(number, lambda got, _: self.got.append(got))
        while not self._stopping or min(self._pids, default=self._workers) < self._workers:
            for place in range(len(self.works) if self._begun[0] else 1):
                if place in self._pids:
                    self._note_end(place)
                elif self._due <= time.monotonic() and not self._stopping:
                    self._start(place)
            time.sleep(0.1)
            while self.got:
                self._pass_on(self.got.pop())
        self._held.close()
        for pid in self._pids.values():
            os.waitpid(pid, 0)

    def _start(self, place: int) -> None:
        if pid := os.fork():
            self._pids[place] = pid
            return
        self._held.close()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        first = {} if self._begun[0] else {"on_listening": lambda _: self._begun.write(b"1")}
        self.works[place](**first)
        raise SystemExit

    def _note_end(self, place: int) -> None:
        pid, status = os.waitpid(self._pids[place], os.WNOHANG)
        if not pid:
            return
        del self._pids[place]
        code, now = os.waitstatus_to_exitcode(status), time.monotonic()
        if self._stopping:
            return
        if not self._begun[0]:
            raise SystemExit(max(code, 1))
        if now > self._due:
            self._pause = 1.0 if now > self._due + 2 * _PAUSE else min(2 * self._pause, _PAUSE)
            self._due = now + self._pause
        how = f"exit code {code}" if code >= 0 else signal.strsignal(-code)
        log.error("Process %d ended (%s); the next starts in %d s.", pid, how, self._pause)

    def _pass_on(self, number: int) -> None:
        if number == signal.SIGHUP:
            with suppress(BfsqlError):  # which each worker reports, and goes on
                self._read()
        elif self._stopping:
            self._held.close()  # which ends them at once
        else:
            self._stopping, number = True, signal.SIGTERM
        for pid in self._pids.values():
            os.kill(pid, number)


async def _serve_admin(
    settings: ServeSettings, listener: socket.socket, workers: Sequence[Worker]
) -> None:
    """Serve the admin port from the answers of the workers until the parent has ended."""
    from starlette.responses import Response

    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    asyncio.get_running_loop().add_reader(workers[0].lifeline, os._exit, 0)
    counted: dict[Any, float] = defaultdict(float)

    async def ask(path: str) -> list[str]:
        return await asyncio.gather(*(_answer(one.admin, path) for one in workers if one.admin))

    async def health(path: str) -> Response:
        said = [text for text in await ask(path) if text] or [_SILENT]
        # By their status: one worker that hangs is to be noticed, and one that can be asked is
        # enough, as one that cannot start accepts no connections.
        head, _, text = (max if path == "/livez" else min)(said).partition("\r\n\r\n")
        kind = "application/json" if path == "/readyz" else "text/plain"
        return Response(text, int(head.split()[1]), media_type=kind)

    async def measure(accept: str) -> tuple[bytes, str]:
        texts = [text.partition("\r\n\r\n")[2] for text in await ask("/metrics")]
        return text_of(_sums(texts, counted), accept)

    server = admin_server(admin_application(health, measure), settings)
    await server.serve(sockets=[listener])


async def _answer(worker: socket.socket, path: str) -> str:
    """What a worker answers, with its head; nothing if it does not in time."""
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with suppress(OSError, TimeoutError):
        async with asyncio.timeout(Health.probe_seconds):
            reader, writer = await asyncio.open_connection(*worker.getsockname())
            with closing(writer):
                writer.write(request.encode())
                return (await reader.read()).decode()
    return ""


def _sums(texts: Iterable[str], counted: dict[Any, float]) -> Iterable[Metric]:
    """The sums of the metrics of workers, of whom each has a text.

    In `counted` are the counters of each by their keys, and under 0 those of workers that ended.
    """
    from prometheus_client.core import Metric
    from prometheus_client.parser import text_string_to_metric_families

    families: dict[str, Metric] = {}
    sums: dict[Any, float] = defaultdict(float)
    for worker, text in enumerate(texts, 1):
        for one in text_string_to_metric_families(text):
            families.setdefault(one.name, Metric(one.name, one.documentation, one.type))
            for sample in one.samples:
                key = one.name, sample.name, *sample.labels.items()
                if one.type in {"counter", "histogram"}:
                    if sample.value < counted[worker, *key]:
                        counted[0, *key] += counted[worker, *key]
                    counted[worker, *key] = sample.value
                else:
                    sums[key] = sample.value + (0 if one.name in _ONE_VALUE else sums[key])
    for (_, *rest), value in counted.items():
        sums[tuple(rest)] += value
    for (family, name, *labels), value in sums.items():
        if family in families:
            families[family].add_sample(name, dict(labels), value)
    return families.values()
