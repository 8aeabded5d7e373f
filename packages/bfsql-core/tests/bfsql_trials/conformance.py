"""The kit for a backend whose server stops, one whose queries are watched, and for a variant."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from bfsql.conformance import RULES
from bfsql.testing import BackendSuite, test_name
from bfsql_servers.process import stopped

BUSY_SECONDS = 300.0
"""Time for a rule: the bound catches a store that hangs, and no machine that is busy."""

ASKED_AGAIN = frozenset(
    {
        *("intersect-bytes", "entities-bytes", "cached-as-direct", "same-errors"),
        *("stable-answers", "fresh-answers", "search-stable"),
    }
)
"""Rules that ask a store in other orders what other rules ask it: a variant need not be tried."""

_Suite = TypeVar("_Suite", bound=type[BackendSuite])


def trying(*ids: str) -> Callable[[_Suite], _Suite]:
    """Of the kit, these rules alone: for a variant of a store on which the whole kit is tried.

    Args:
        ids: The rules that read what the variant does differently.
    """
    strangers = set(ids) - set(RULES)
    assert not strangers, f"no rules: {strangers}"

    def chosen(suite: _Suite) -> _Suite:
        for rule in RULES.values():
            if rule.id not in ids:
                setattr(suite, test_name(rule), None)
        return suite

    return chosen


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
