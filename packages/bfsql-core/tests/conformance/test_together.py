"""Rules that are tried together find what they find alone, with one load for each graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest
from bfsql_trials import together
from bfsql_trials.together import judged_together
from conformance.gallery import GALLERY

from bfsql.abc import GraphDbInterface
from bfsql.conformance import Trial
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord

RULES = ("every-node", "entities-bytes", "schema-lists")


class Loading:
    """Counts the loads of backends of a class."""

    def __init__(self, backend: type) -> None:
        self.backend = backend
        self.held: str | None = None
        self.loads: Counter[str] = Counter()

    @asynccontextmanager
    async def filled(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        if self.held != repr(records):
            self.held = repr(records)
            self.loads[self.held] += 1
        yield self.backend(records)
        assert self.held == repr(records), "another graph was loaded under an open backend"


@pytest.mark.slow
async def test_each_graph_is_loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "OVER_EVERY_GRAPH", RULES)
    loading = Loading(MemoryBackend)
    findings = await judged_together(Trial(fill=loading.filled), {})
    assert {name: found.outcome for name, found in findings.items()} == dict.fromkeys(
        RULES, "holds"
    )
    assert set(loading.loads.values()) == {1}


@pytest.mark.slow
async def test_a_wrong_backend_is_caught_and_the_other_rules_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(together, "OVER_EVERY_GRAPH", RULES)
    wrong = next(one for one in GALLERY if one.rule == "every-node")
    findings = await judged_together(Trial(fill=Loading(wrong.backend).filled), {})
    assert findings["every-node"].outcome == "broken"
    assert findings["schema-lists"].outcome == "holds"
