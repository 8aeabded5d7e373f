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
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from bfsql.errors import BfsqlError
from bfsql.memory_account import default_of_a_call, default_of_all_calls
from bfsql.serving.address import bind, check_exposure
from bfsql.serving.admin import Health, admin_application, admin_listener, admin_server
from bfsql.serving.graphs import modules
from bfsql.serving.logs import log_to_stderr
from bfsql.settings import ServeSettings

if TYPE_CHECKING:
    import socket

    from prometheus_client.core import Metric

log = logging.getLogger("bfsql")

_DIVIDED = ("max_calls", "max_calls_per_client", "max_waiting", "calls_per_minute")
_OF_FIRST = ("bfsql_info", "process_start_time_seconds")
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_LONGEST_PAUSE = 60.0
"""Most seconds until a process is replaced; one that lasted for longer is replaced in a second."""


class Worker(NamedTuple):
    """What a worker has from its parent."""

    listener: socket.socket
    admin: socket.socket | None
    lifeline: int
    """A pipe that ends with the parent."""
    early: list[int]
    """Signals that came before they could be handled."""


def share(settings: ServeSettings) -> dict[str, Any]:
    """The settings of a worker: its part of the bounds of all calls, which are at least 1 each."""
    from bfsql.serving.connections import most_connections

    bounds = {name: getattr(settings, name) for name in _DIVIDED}
    bounds["max_connections"] = most_connections(settings.max_connections)
    parts = {name: bound and max(1, bound // settings.workers) for name, bound in bounds.items()}
    memory = (settings.max_memory or default_of_all_calls()) // settings.workers
    # A call that may take more than all calls of its worker would be asked to come again for ever.
    of_a_call = min(settings.max_call_memory or default_of_a_call(), memory)
    return {**parts, "max_memory": memory, "max_call_memory": of_a_call}


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
    parent = _Parent(read)
    with ExitStack() as stack:
        listener = stack.enter_context(bind(settings.host, settings.port))
        admin = stack.enter_context(admin_listener(settings))
        ports = []
        for _ in range(settings.workers):
            own = admin and stack.enter_context(bind("127.0.0.1", 0))
            ports += [own.getsockname()[1]] if own else []
            worker = Worker(listener, own, parent.lifeline, parent.got)
            parent.processes.append(_Process(partial(work, worker=worker)))
        if admin is not None:
            serve = partial(_serve_admin, settings, admin, ports, parent.lifeline)
            parent.processes.append(_Process(serve))
        parent.watch(settings.workers)


@dataclass
class _Process:
    """A process, or the next one that takes its place."""

    work: Callable[..., object]
    pid: int = 0
    began: float = 0.0
    due: float = 0.0
    pause: float = 0.5


class _Parent:
    """Starts the processes, watches them, and passes signals on.

    The first starts alone, so that what keeps it from starting is said once and ends the command.

    Args:
        read: As for `serve_workers`.
    """

    def __init__(self, read: Callable[[], object]) -> None:
        self.processes: list[_Process] = []
        self.got: list[int] = []
        self.lifeline, held = os.pipe()
        self._held = os.fdopen(held, "wb")
        self._read, self._stopping = read, False
        self._begun = mmap.mmap(-1, 1)  # which the first process sets

    def watch(self, workers: int) -> None:
        """Return when all have ended, the first of which are workers; in each, exit."""
        for number in _SIGNALS:
            signal.signal(number, lambda got, _: self.got.append(got))
        while not self._stopping or any(one.pid for one in self.processes[:workers]):
            for one in self.processes if self._begun[0] else self.processes[:1]:
                self._replace(one)
            time.sleep(0.1)
            while self.got:
                self._pass_on(self.got.pop())
        self._held.close()
        for one in self.processes[workers:]:
            if one.pid:
                os.waitpid(one.pid, 0)

    def _pass_on(self, number: int) -> None:
        if number == signal.SIGHUP:
            with suppress(BfsqlError):  # which each worker reports, and goes on
                self._read()
        elif self._stopping:
            self._held.close()  # they end at once
        else:
            self._stopping, number = True, signal.SIGTERM
        for one in self.processes:
            if one.pid:
                os.kill(one.pid, number)

    def _replace(self, one: _Process) -> None:
        """Start a process if it is due; note if it has ended, and when the next one is due."""
        now = time.monotonic()
        if one.pid:
            pid, status = os.waitpid(one.pid, os.WNOHANG)
            if pid:
                one.pid, code = 0, os.waitstatus_to_exitcode(status)
                if not self._begun[0] and not self._stopping:
                    raise SystemExit(max(code, 1))
                lasted = now - one.began > _LONGEST_PAUSE
                one.pause = 1.0 if lasted else min(2 * one.pause, _LONGEST_PAUSE)
                one.due = now + one.pause
                if not self._stopping:
                    how = f"exit code {code}" if code >= 0 else signal.strsignal(-code)
                    log.error(
                        "Process %d ended (%s); the next starts in %d s.", pid, how, one.pause
                    )
        elif one.due <= now and not self._stopping:
            one.began, one.pid = now, os.fork()
            if not one.pid:
                self._held.close()
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                first = (
                    {} if self._begun[0] else {"on_listening": lambda _: self._begun.write(b"1")}
                )
                one.work(**first)
                raise SystemExit


def _serve_admin(
    settings: ServeSettings, listener: socket.socket, ports: Sequence[int], lifeline: int
) -> None:
    """Serve the admin port from the answers of the workers until the parent has ended."""
    from starlette.responses import PlainTextResponse, Response

    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sums = _Sums()

    async def all_of(path: str) -> list[str]:
        return await asyncio.gather(*(_asked(port, path) for port in ports))

    async def health(path: str) -> Response:
        said = [text for text in await all_of(path) if text] or ["No worker answers.\n"]
        # One that cannot start accepts no connections, which is no reason to stop the others.
        text = (min if path == "/livez" else max)(said, key=_is_good)
        return PlainTextResponse(text, 200 if _is_good(text) else 503)

    async def measure(accept: str) -> tuple[bytes, str]:
        return sums.text(await all_of("/metrics"), accept)

    async def serve() -> None:
        asyncio.get_running_loop().add_reader(lifeline, os._exit, 0)
        app = admin_application(health, measure)
        await admin_server(app, settings).serve(sockets=[listener])

    asyncio.run(serve())


def _is_good(text: str) -> bool:
    return text.startswith(("ok", '{"ready": true'))


async def _asked(port: int, path: str) -> str:
    """What a worker answers; nothing if it does not in time."""
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    try:
        async with asyncio.timeout(Health.probe_seconds):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with closing(writer):
                writer.write(head.encode())
                return (await reader.read()).partition(b"\r\n\r\n")[2].decode()
    except (OSError, TimeoutError):
        return ""


_Key: TypeAlias = tuple[Any, ...]
"""The name of a metric, that of a sample, and its labels."""


class _Sums:
    """Sums of what the workers measure. A counter goes on where a worker is replaced."""

    def __init__(self) -> None:
        self._last: defaultdict[int, defaultdict[_Key, float]]
        self._last = defaultdict(lambda: defaultdict(float))
        self._ended: defaultdict[_Key, float] = defaultdict(float)

    def text(self, texts: Iterable[str], accept: str) -> tuple[bytes, str]:
        """The sums for a header `Accept`, and the content type, from the text of each worker."""
        from prometheus_client.core import Metric
        from prometheus_client.exposition import choose_encoder
        from prometheus_client.parser import text_string_to_metric_families

        families: dict[str, Metric] = {}
        sums: defaultdict[_Key, float] = defaultdict(float)
        for worker, text in enumerate(texts):
            last = self._last[worker]
            for one in text_string_to_metric_families(text):
                families.setdefault(one.name, Metric(one.name, one.documentation, one.type))
                for sample in one.samples:
                    key = one.name, sample.name, *sample.labels.items()
                    if one.type in {"counter", "histogram"}:
                        self._ended[key] += last[key] if sample.value < last[key] else 0
                        last[key] = sample.value
                    elif not worker or one.name not in _OF_FIRST:
                        sums[key] += sample.value
        for counted in (*self._last.values(), self._ended):
            for key, value in counted.items():
                sums[key] += value
        for (family, name, *labels), value in sums.items():
            if family in families:
                families[family].add_sample(name, dict(labels), value)
        encoder, content_type = choose_encoder(accept)
        return encoder(SimpleNamespace(collect=families.values)), content_type
