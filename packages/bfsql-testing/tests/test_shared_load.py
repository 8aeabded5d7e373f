"""Rules that run together have the same findings as alone, with one backend per graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord
from bfsql_test_support.gallery import GALLERY
from bfsql_test_support.suites.shared_load import judged_together
from bfsql_testing.conformance import RULES, Trial

TRIED = ("every-node", "schema-lists", "own-edges", "read-rights", "search-crowd")


class Loading:
    """Counts the loads and the opened backends of a class."""

    def __init__(self, backend: type) -> None:
        self.backend = backend
        self.held: str | None = None
        self.loads: Counter[str] = Counter()
        self.opened: Counter[str] = Counter()
        self.open = 0

    @asynccontextmanager
    async def filled(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        if self.held != repr(records):
            self.held = repr(records)
            self.loads[self.held] += 1
        self.opened[self.held] += 1
        self.open += 1
        yield self.backend(records)
        self.open -= 1
        assert self.held == repr(records), "another graph was loaded under an open backend"


async def found(backend: type) -> tuple[dict[str, str], Loading]:
    """The outcome of each rule, and the counts of loads and backends."""
    loading = Loading(backend)
    trial = Trial(fill=loading.filled, read_only=loading.filled)
    findings = await judged_together([RULES[name] for name in TRIED], trial, {})
    assert not loading.open
    return {name: finding.outcome for name, finding in findings.items()}, loading


@pytest.mark.slow
async def test_each_graph_is_loaded_and_opened_once() -> None:
    outcomes, loading = await found(MemoryBackend)
    assert outcomes == dict.fromkeys(TRIED, "holds")
    assert set(loading.loads.values()) == {1}
    assert loading.opened == loading.loads


@pytest.mark.slow
async def test_a_wrong_backend_is_caught_and_the_other_rules_go_on() -> None:
    wrong = next(one for one in GALLERY if one.rule == "every-node")
    outcomes, _ = await found(wrong.backend)
    assert outcomes["every-node"] == "broken"
    assert outcomes["schema-lists"] == "holds"
