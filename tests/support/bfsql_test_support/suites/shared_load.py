"""Rules of the kit, grouped by graph so that each graph is loaded and opened once."""

import asyncio
import pickle
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.models import GraphRecord
from bfsql_test_support.suites.conformance import BUSY_SECONDS
from bfsql_testing.conformance import Finding, Rule, Trial, judge
from bfsql_testing.conformance import rules as registered
from bfsql_testing.conformance.harness import Fill
from bfsql_testing.suite import BackendSuite, raise_outcome, test_name

ALONE = frozenset(("drawn-graphs", "store-returns", "ping-asks"))
"""Rules that open graphs in another thread or stop the store, and so have to run alone."""
SECONDS = 7 * BUSY_SECONDS
"""Time limit per rule; it covers all rules, since each waits for the others most of the time."""


class SharedLoads:
    """A store that holds one graph at a time, for several rules that take turns.

    One rule runs while all others wait for a graph. The next turn goes to a rule that waits for
    the current graph or, if there is none, for the graph that most rules wait for. Rules in
    successive turns share a backend if they open the same graph in the same way.
    """

    def __init__(self, rules: int) -> None:
        self._rules = rules
        self._waiting: dict[bytes, list[asyncio.Future[None]]] = {}
        self._held = b""
        self._open: tuple[Fill, bytes, GraphDbInterface] | None = None
        self._closing = AsyncExitStack()

    def in_turn(self, fill: Fill | None) -> Fill | None:
        """Like `fill`, but it waits for the turn of its records before it opens a backend.

        Args:
            fill: Loads records unless the store already holds them, and opens a backend.
        """
        if fill is None:
            return None

        @asynccontextmanager
        async def filled(records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
            await self._turn(await asyncio.to_thread(pickle.dumps, list(records)))
            yield await self._backend(fill, records)

        return filled

    async def close(self) -> None:
        """Close the open backend, if any."""
        self._open = None
        await self._closing.aclose()

    async def _backend(self, fill: Fill, records: Sequence[GraphRecord]) -> GraphDbInterface:
        if self._open is None or self._open[:2] != (fill, self._held):
            await self.close()
            backend = await self._closing.enter_async_context(fill(records))
            self._open = (fill, self._held, backend)
        return self._open[2]

    def ended(self) -> None:
        """Record that a rule is finished and takes no more turns."""
        self._rules -= 1
        self._next_turn()

    async def _turn(self, records: bytes) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(records, []).append(turn)
        self._next_turn()
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._waiting.get(records, ()):
                self._waiting[records].remove(turn)
            raise

    def _next_turn(self) -> None:
        """Let one rule continue, once all rules are waiting."""
        waiting = Counter({records: len(turns) for records, turns in self._waiting.items()})
        if not waiting.total() or waiting.total() < self._rules:
            return
        if not waiting[self._held]:
            ((self._held, _),) = waiting.most_common(1)
        turn = self._waiting[self._held].pop(0)
        if not turn.done():  # its rule was cancelled, and is about to end
            turn.set_result(None)


class LoadedTogether(BackendSuite):
    """The kit for a store that is slow to load: nearly all rules share one load of each graph.

    The first test runs all rules whose tests are selected, and so takes the time of all of them.
    `backend_with` need not load records that the store already holds.
    """

    findings: ClassVar[Mapping[str, Finding]] = {}

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _nothing_found_yet(cls) -> None:
        cls.findings = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        for rule in registered(*cls._modes()):
            if rule.id not in ALONE:
                setattr(cls, test_name(rule), _test(rule))
        super().__init_subclass__(**kwargs)


def _test(rule: Rule) -> Any:
    async def test(self: LoadedTogether, trial: Trial, request: pytest.FixtureRequest) -> None:
        if not self.findings:
            chosen = _chosen(type(self), request.session.items)
            type(self).findings = await judged_together(chosen, trial, self.optouts)
        raise_outcome(self.findings[rule.id])

    test.__name__ = test_name(rule)
    test.__doc__ = f"Rule {rule.id}: {rule.source}."
    return test


def _chosen(suite: type[LoadedTogether], items: Iterable[pytest.Item]) -> list[Rule]:
    """The rules whose tests in this suite will run, without those that run alone."""
    names = {item.name for item in items if getattr(item, "cls", None) is suite}
    rules = registered(*suite._modes())
    return [rule for rule in rules if rule.id not in ALONE and test_name(rule) in names]


async def judged_together(
    rules: Sequence[Rule], trial: Trial, optouts: Mapping[str, Any]
) -> dict[str, Finding]:
    """Check rules in turns; return the findings by rule id.

    Calls at the same time are last: a server would plan each new query once for each of them.
    """
    rules = sorted(rules, key=lambda rule: rule.id == "concurrent-calls")
    loads = SharedLoads(len(rules))
    ways = {way: loads.in_turn(getattr(trial, way)) for way in ("fill", "read_only", "omitting")}
    shared = replace(trial, **ways, rule_seconds=SECONDS)

    async def judged(rule: Rule) -> Finding:
        try:
            return await judge(rule, shared, optouts.get(rule.id))
        finally:
            loads.ended()

    try:
        findings = await asyncio.gather(*map(judged, rules))
    finally:
        await loads.close()
    return {finding.rule.id: finding for finding in findings}
