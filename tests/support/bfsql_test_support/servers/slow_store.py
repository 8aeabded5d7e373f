"""A store with slow edges, as a backend that `bfsql serve` finds by its entry point."""

import asyncio
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord, Triple
from bfsql.plugins import BackendPlugin
from bfsql.settings import BackendSettings

NODES = 500
"""Nodes n0, n1, ..., each of them joined to the next."""


class SlowBackend(MemoryBackend):
    """A ring of nodes, whose edges take some seconds.

    Args:
        seconds: How long a statement takes.
        journal: A line is added when a statement begins, ends, or is cancelled.
    """

    def __init__(self, journal: Path, seconds: float = 1.0) -> None:
        names = [f"n{n}" for n in range(NODES)]
        super().__init__(
            [
                *(NodeRecord(name, "Station", {"name": name}) for name in names),
                *(
                    EdgeRecord(one, "LEADS_TO", other)
                    for one, other in zip(names, [*names[1:], names[0]], strict=True)
                ),
            ]
        )
        self._journal, self._seconds = Path(journal), float(seconds)

    async def edges_batch(  # type: ignore[override]  # a store may know no filter
        self, ids: list[str]
    ) -> list[Triple]:
        """The edges of some nodes, after a delay."""
        self._note("began")
        try:
            await asyncio.sleep(self._seconds)
        except asyncio.CancelledError:
            self._note("cancelled")
            raise
        self._note("ended")
        found = [edge for i in ids for edge in (*self._leaving[i], *self._entering[i])]
        return list(dict.fromkeys(found))

    def _note(self, what: str) -> None:
        with self._journal.open("a", encoding="utf-8") as journal:
            journal.write(f"{what}\n")


class SlowSettings(BackendSettings):
    """The arguments of `SlowBackend`."""

    journal: Path
    seconds: float = 1.0


async def _open(settings: SlowSettings) -> SlowBackend:
    return SlowBackend(settings.journal, settings.seconds)


plugin = BackendPlugin("A ring with slow edges.", SlowSettings, _open)


class Journal:
    """A record of a slow store's statements, and the options and environment of its server.

    Args:
        folder: For the journal and the entry point.
    """

    def __init__(self, folder: Path) -> None:
        from bfsql_test_support.distributions import install

        install(folder, "bfsql-slow", slow="bfsql_test_support.servers.slow_store:plugin")
        self.path = folder / "journal"
        self.path.touch()
        paths = [str(folder), os.environ.get("PYTHONPATH", "")]
        self.env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def options(self, seconds: float) -> list[str]:
        """The options of a command that opens the store."""
        return ["--backend", "slow", "--journal", str(self.path), "--seconds", str(seconds)]

    def count(self, what: str) -> int:
        """The number of statements that began, ended or were cancelled."""
        return self.path.read_text(encoding="utf-8").splitlines().count(what)

    async def until(self, condition: Callable[[Self], bool], seconds: float = 60) -> None:
        """Wait until the journal is as expected."""
        end = time.monotonic() + seconds
        while not condition(self):
            assert time.monotonic() < end, self.path.read_text(encoding="utf-8")
            await asyncio.sleep(0.02)
