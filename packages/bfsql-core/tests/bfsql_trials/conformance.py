"""The kit for a backend whose server stops, and for one whose queries are watched."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

from bfsql.testing import BackendSuite
from bfsql_servers.process import stopped

BUSY_SECONDS = 300.0
"""Time for a rule: the bound catches a store that hangs, and no machine that is busy."""


class ServedSuite(BackendSuite):
    """The kit with a server that can be gone."""

    rule_seconds = BUSY_SECONDS
    server: Any

    def store_gone(self, backend: Any) -> AbstractAsyncContextManager[None]:
        return stopped(self.server)


class WatchedSuite(BackendSuite):
    """The kit with the texts that the backend has sent, which `backend_with` puts into `texts`."""

    rule_seconds = BUSY_SECONDS
    texts: list[str]

    def queries_of(self, backend: Any) -> list[str]:
        return self.texts

    def round_trips_of(self, backend: Any) -> int:
        return len(self.texts)
