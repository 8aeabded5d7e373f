"""Suites of the kit for servers that stop, for observed queries, and for variants of a store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.servers.process import stopped
from bfsql_testing.conformance import RULES
from bfsql_testing.suite import BackendSuite, test_name

BUSY_SECONDS = 300.0
"""Time limit per rule: long enough for a busy machine, short enough to catch a hanging store."""

ASKED_AGAIN = frozenset(
    {
        *("intersect-bytes", "entities-bytes", "cached-as-direct", "same-errors"),
        *("stable-answers", "fresh-answers", "search-stable"),
    }
)
"""Rules that repeat the requests of other rules in another order; variants need not run them."""

ASKED_TOGETHER = ASKED_AGAIN | {
    # All graphs of the kit; each store has drawn ones, and the rules of each part of an answer.
    *("bfs-bytes", "entity-bytes", "every-node", "schema-lists"),
    # The statements of other rules, for the answers of whole tools.
    *("nodes-bytes", "asking-bytes", "tools-answer"),
}
"""Rules in which a store differs only if it differs in another rule, too.

The embedded store, Postgres, and files of RDF have all rules every day.
"""

OF_ENGINES = frozenset(
    {
        *("drawn-graphs", "every-edge", "whole-hub", "edge-evidence", "evidence-counted"),
        *("nodes-list", "nodes-conditions", "outline-names", "outline-counts", "ids-no-patterns"),
        *("found-by-id", "found-by-name", "search-misspelt", "search-types", "search-any-text"),
        *("search-id-first", "search-name-next", "search-crowd", "search-types-first"),
        *("round-trips", "may-write-not", "edges-part", "edge-metadata-keys", "stream-types"),
    }
)
"""Rules that found differences between engines with the same query language."""

_Suite = TypeVar("_Suite", bound=type[BackendSuite])


def trying(*ids: str) -> Callable[[_Suite], _Suite]:
    """Run only these rules: for a variant of a store that the whole kit is run on elsewhere.

    A thorough run has all rules.

    Args:
        ids: The rules that concern what the variant does differently.
    """
    strangers = set(ids) - set(RULES)
    assert not strangers, f"no rules: {strangers}"

    def chosen(suite: _Suite) -> _Suite:
        suite.everyday = frozenset(ids)  # type: ignore[attr-defined]
        for rule in RULES.values():
            if rule.id not in ids and not THOROUGH:
                setattr(suite, test_name(rule), None)
        return suite

    return chosen


class ServedSuite(BackendSuite):
    """The kit with a server that can be stopped."""

    rule_seconds = BUSY_SECONDS
    server: Any

    def store_gone(self, backend: Any) -> AbstractAsyncContextManager[None]:
        return stopped(self.server)


class WatchedSuite(BackendSuite):
    """The kit with the query texts that the backend has sent; `backend_with` sets `texts`."""

    rule_seconds = BUSY_SECONDS
    texts: list[str]

    def queries_of(self, backend: Any) -> list[str]:
        return self.texts

    def round_trips_of(self, backend: Any) -> int:
        return len(self.texts)
