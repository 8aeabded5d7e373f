"""The process of a server: started, watched until it is ready, stopped or killed, restarted."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

PAUSE = 0.02
"""Seconds between two checks of a process."""
LOG_TAIL = 2000
"""Characters of the log that an error shows."""
SETPRIV = shutil.which("setpriv") if sys.platform == "linux" else None
ENDING_WITH_PARENT = [SETPRIV, "--pdeathsig", "KILL"] if SETPRIV else []
"""Before a command: Linux kills it when the thread that started it ends, even by SIGKILL."""
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="servers")
"""The thread that starts all servers: it lasts as long as this process, unlike asyncio's."""


def interrupt_on_signals() -> None:
    """Raise KeyboardInterrupt on SIGINT and SIGTERM, so that what was started is stopped.

    A shell that starts a program in the background makes it ignore SIGINT, and child processes
    inherit that; and SIGTERM would end the program at once.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


class ServerFailed(Exception):
    """A server did not start or stop; includes the end of its log."""


@dataclass
class ServerProcess:
    """A command that serves until it is stopped.

    Attributes:
        log: The file for its output. There are no pipes, since a server with a full pipe hangs.
        gentle: The signal for a clean shutdown.
        patience: Seconds that starting and stopping may take, each.
        account: Arguments of `subprocess.Popen` for the account that it runs as.
        environment: Variables in addition to this process's own.
    """

    command: list[str]
    log: Path
    ready: Callable[[], bool]
    gentle: signal.Signals = signal.SIGTERM
    patience: float = 60.0
    account: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def pid(self) -> int | None:
        """Its process id, None while it does not run."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if self._process and running else None

    def family(self) -> list[psutil.Process]:
        """The process and all processes that it started, as long as it runs."""
        if self.pid is None:
            return []
        parent = psutil.Process(self.pid)
        return [parent, *parent.children(recursive=True)]

    def start(self) -> None:
        """Start, and return when it is ready."""
        if self.pid is not None:
            return
        process = self._process = _STARTER.submit(self._spawn).result()
        deadline = time.monotonic() + self.patience
        while not self.ready():
            if self._ended(PAUSE):
                raise ServerFailed(self._told(f"ended with code {process.returncode}"))
            if time.monotonic() > deadline:
                self.kill()
                raise ServerFailed(self._told(f"was not ready after {self.patience:g} s"))

    def stop(self) -> None:
        """Stop cleanly, or by force if that takes longer than `patience`."""
        if self._process is None or self.pid is None:
            return
        self._process.send_signal(self.gentle)
        if not self._ended(self.patience):
            self.kill()
            raise ServerFailed(self._told(f"did not stop within {self.patience:g} s"))

    def kill(self) -> None:
        """Kill it and all processes that it started, like a crash."""
        if self._process is None:
            return
        family = self.family()
        for process in family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self._process.wait()
        deadline = time.monotonic() + self.patience
        while any(map(is_alive, family)):
            if time.monotonic() > deadline:
                raise ServerFailed(self._told("lives on after SIGKILL"))
            time.sleep(PAUSE)

    def _spawn(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*ENDING_WITH_PARENT, *self.command],
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.environment},
                start_new_session=True,  # Ctrl-C reaches only the tests, which stop their servers
                **self.account,
            )

    def _ended(self, seconds: float) -> bool:
        assert self._process is not None
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _told(self, what: str) -> str:
        tail = self.log.read_text(errors="replace")[-LOG_TAIL:]
        return f"{Path(self.command[0]).name} {what}; its log ends with:\n{tail}"


class Server:
    """A server on a port of 127.0.0.1, which is one process."""

    port: int
    process: ServerProcess

    @property
    def pid(self) -> int | None:
        """Its process id, None while it does not run."""
        return self.process.pid

    def start(self) -> None:
        """Start, and return when it can be used."""
        self.process.start()

    def stop(self) -> None:
        """Close all connections and stop cleanly."""
        self.process.stop()

    def kill(self) -> None:
        """Kill it, like a crash; `start` recovers the data on disk."""
        self.process.kill()

    def restart(self) -> None:
        """Stop and start on the same port; data that was only in memory is lost."""
        self.stop()
        self.start()


@asynccontextmanager
async def stopped(server: Any) -> AsyncIterator[None]:
    """A context in which a server of any kind is stopped."""
    await asyncio.to_thread(server.stop)
    try:
        yield
    finally:
        await asyncio.to_thread(server.start)


def is_alive(process: psutil.Process) -> bool:
    """Whether a process still runs; a zombie does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
