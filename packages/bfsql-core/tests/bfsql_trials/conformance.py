"""The kit for a backend whose queries are watched."""

from __future__ import annotations

from typing import Any

from bfsql.testing import BackendSuite


class WatchedSuite(BackendSuite):
    """The kit with the texts that the backend has sent, which `backend_with` puts into `texts`."""

    texts: list[str]

    def queries_of(self, backend: Any) -> list[str]:
        return self.texts

    def round_trips_of(self, backend: Any) -> int:
        return len(self.texts)
