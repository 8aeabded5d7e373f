"""Rules of the kit that read the same graphs, tried side by side, so that each is loaded once."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.conformance import RULES, Finding, Rule, Trial, judge
from bfsql.conformance.harness import Fill
from bfsql.models import GraphRecord
from bfsql.testing import BackendSuite, raise_outcome, test_name
from bfsql_trials.conformance import BUSY_SECONDS

OVER_EVERY_GRAPH = (
    "every-node",
    "bfs-bytes",
    "intersect-bytes",
    "entity-bytes",
    "entities-bytes",
    "schema-lists",
    "cached-as-direct",
)
"""Rules that open many graphs one after the other, and nothing but open backends of them."""


class SharedLoads:
    """A store that fills one graph at a time, for several rules that are tried side by side.

    When every rule waits for a graph, the one that most of them wait for is next: the first opens
    it alone, so that it is loaded once, and the others as soon as it is open.

    Args:
        fill: Loads records where the store does not hold them already, and opens a backend.
        rules: How many rules are tried.
    """

    def __init__(self, fill: Fill, rules: int) -> None:
        self._fill = fill
        self._rules = rules
        self._waiting: dict[bytes, list[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def filled(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        """As `fill`, once the turn of these records has come."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(pickle.dumps(list(records)), [])
        waiting.append(turn)
        self._next_turn()
        await turn  # taken out of `_waiting` by now, and `waiting` has those who come after
        async with AsyncExitStack() as opened:
            try:
                backend = await opened.enter_async_context(self._fill(records))
            finally:
                if waiting:
                    waiting.pop(0).set_result(None)
            yield backend

    def ended(self) -> None:
        """A rule has its finding, and will not wait any more."""
        self._rules -= 1
        self._next_turn()

    def _next_turn(self) -> None:
        """Begin the next graph, unless a rule reads one still."""
        if self._waiting and sum(map(len, self._waiting.values())) == self._rules:
            chosen = max(self._waiting, key=lambda records: len(self._waiting[records]))
            self._waiting.pop(chosen).pop(0).set_result(None)


class LoadedTogether(BackendSuite):
    """The kit over a store that is slow to load: each graph is loaded once for several rules.

    `backend_with` has to load nothing when the store holds the same records already.
    """

    findings: ClassVar[Mapping[str, Finding]] = {}

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _nothing_found_yet(cls) -> None:
        cls.findings = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for name in OVER_EVERY_GRAPH:
            setattr(cls, test_name(RULES[name]), _test(RULES[name]))
        super().__init_subclass__(**kwargs)


def _test(rule: Rule) -> Any:
    async def test(self: LoadedTogether, trial: Trial) -> None:
        if not self.findings:
            type(self).findings = await judged_together(trial, self.optouts)
        raise_outcome(self.findings[rule.id])

    test.__name__ = test_name(rule)
    test.__doc__ = f"Rule {rule.id}: {rule.source}."
    return test


async def judged_together(trial: Trial, optouts: Mapping[str, Any]) -> dict[str, Finding]:
    """Try the rules of `OVER_EVERY_GRAPH` side by side; gives the finding of each."""
    assert trial.fill is not None
    loads = SharedLoads(trial.fill, len(OVER_EVERY_GRAPH))
    seconds = BUSY_SECONDS * len(OVER_EVERY_GRAPH)
    shared = replace(trial, fill=loads.filled, rule_seconds=seconds)

    async def judged(name: str) -> Finding:
        try:
            return await judge(RULES[name], shared, optouts.get(name))
        finally:
            loads.ended()

    findings = await asyncio.gather(*map(judged, OVER_EVERY_GRAPH))
    return dict(zip(OVER_EVERY_GRAPH, findings, strict=True))
