"""The rules of the conformance kit as pytest classes.

Every rule of the kit is a test of its own.

    class TestMine(BackendSuite):
        optouts = {"dangling-ends": never("The store has no edges without nodes.")}

        @asynccontextmanager
        async def backend_with(self, records):
            fill_my_store(records)
            async with open_my_backend() as backend:
                yield backend

A store that can only be read has `backend` instead of `backend_with`. Both may be methods that
return an async context manager, or fixtures of the class that give what such a method would: a
function of the records, or an open backend.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar

import pytest

from bfsql.abc import GraphDbInterface
from bfsql.models import GraphRecord
from bfsql_testing.conformance import (
    EVERYTHING,
    FAILED,
    RULES,
    Finding,
    Kind,
    Mode,
    OptOut,
    Rule,
    Trial,
    judge,
    never,
    notimpl,
    notyet,
    rules,
)
from bfsql_testing.conformance.harness import EXAMPLES, RULE_SECONDS, SAMPLE

pytest.register_assert_rewrite("bfsql_testing.loader_suite")
from bfsql_testing.loader_suite import LoaderSuite  # noqa: E402 - with asserts that show values

__all__ = ["BackendSuite", "Kind", "LoaderSuite", "never", "notimpl", "notyet"]

Opened = AbstractAsyncContextManager[GraphDbInterface]


class BackendSuite:
    """The rules that every correct backend keeps; subclass it as `Test...`.

    With `backend_with`, the kit fills stores and compares with the reference;
    with `backend` alone, it checks on an existing store what needs no reference.
    """

    keeps: ClassVar[frozenset[Kind]] = EVERYTHING
    """The kinds of values that the store keeps: `EVERYTHING - {Kind.BINARY}`, say."""
    optouts: ClassVar[Mapping[str, OptOut]] = {}
    """Rules that do not hold, by id, each with its reason."""
    sample: ClassVar[Sequence[str]] = ()
    """Ids to examine in a store that is only read; otherwise the kit searches for some."""
    words: ClassVar[Sequence[str]] = ()
    """Words to search for in that case."""
    sample_size: ClassVar[int] = SAMPLE
    """Number of nodes to examine."""
    examples: ClassVar[int] = EXAMPLES
    """Number of graphs that hypothesis generates."""
    rule_seconds: ClassVar[float] = RULE_SECONDS
    """Seconds that one rule may take; a rule that takes longer is broken."""

    def backend_with(self, records: Sequence[GraphRecord]) -> Opened:
        """An open backend whose store holds exactly these records; for `async with`."""
        raise AssertionError(
            f"backend_with of {type(self).__name__} is not defined: {len(records)}"
        )

    def backend(self) -> Opened:
        """An open backend over an existing store; for `async with`."""
        raise AssertionError(f"backend of {type(self).__name__} is not given")

    def read_only_with(self, records: Sequence[GraphRecord]) -> Opened:
        """Like `backend_with`, but the backend is opened with only the right to read."""
        raise AssertionError(f"read_only_with is not defined: {len(records)}")

    def omitting_with(self, records: Sequence[GraphRecord]) -> Opened:
        """Like `backend_with`, but the backend has to leave out edges of a node with 200."""
        raise AssertionError(f"omitting_with is not defined: {len(records)}")

    def queries_of(self, backend: Any) -> Sequence[str] | None:
        """The query texts that the backend has sent so far; None if they cannot be observed."""
        return None

    def round_trips_of(self, backend: Any) -> int | None:
        """The number of round trips so far; None if they cannot be counted."""
        return None

    def store_gone(self, backend: Any) -> AbstractAsyncContextManager[None] | None:
        """A context in which the store is unreachable; None if that cannot be arranged."""
        return None

    @pytest.fixture
    def trial(self, request: pytest.FixtureRequest) -> Trial:
        """The ways to open the backend that this class defines."""
        filling = {
            name: _definition(self, name, request) if self._gives(name) else None
            for name in ("backend_with", "read_only_with", "omitting_with")
        }
        return Trial(
            fill=filling["backend_with"],
            open=_opening(_definition(self, "backend", request))
            if self._gives("backend")
            else None,
            read_only=filling["read_only_with"],
            omitting=filling["omitting_with"],
            queries=self.queries_of,
            round_trips=self.round_trips_of,
            gone=self.store_gone,
            keeps=self.keeps,
            sample=self.sample,
            words=self.words,
            size=self.sample_size,
            examples=self.examples,
            rule_seconds=self.rule_seconds,
        )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Add a test to the class for every rule that its ways of opening allow."""
        super().__init_subclass__(**kwargs)
        for rule in rules(*cls._modes()):
            name = test_name(rule)
            if not hasattr(cls, name):
                setattr(cls, name, _test(rule))

    @classmethod
    def _gives(cls, name: str) -> bool:
        return getattr(cls, name) is not getattr(BackendSuite, name)

    @classmethod
    def _modes(cls) -> list[Mode]:
        return ["filling", "reading"] if cls._gives("backend_with") else ["reading"]

    def test_every_opt_out_names_a_rule(self) -> None:
        """A reason for a rule that does not exist would hide a spelling mistake."""
        strangers = sorted(set(self.optouts) - set(RULES))
        assert not strangers, f"optouts names {strangers}; the rules are: {', '.join(RULES)}."


def test_name(rule: Rule) -> str:
    """The name of a rule's test: its sentence."""
    return "test_" + re.sub(r"\W+", "_", rule.behaviour).strip("_").lower()


test_name.__test__ = False  # type: ignore[attr-defined]  # a name for tests, none itself


def _test(rule: Rule) -> Callable[[BackendSuite, Trial], Awaitable[None]]:
    async def test(self: BackendSuite, trial: Trial) -> None:
        raise_outcome(await judge(rule, trial, self.optouts.get(rule.id)))

    test.__name__ = test_name(rule)
    test.__qualname__ = f"BackendSuite.{test.__name__}"
    test.__doc__ = f"Rule {rule.id}: {rule.source}."
    marked: Callable[[BackendSuite, Trial], Awaitable[None]] = pytest.mark.asyncio(test)
    return marked


def raise_outcome(finding: Finding) -> None:
    """Raise the pytest outcome of a finding, with its reason.

    Raises:
        pytest.fail.Exception: The rule does not hold, or an opt-out is needless.
        pytest.xfail.Exception: The author opted out, or the rule is advice and does not hold.
        pytest.skip.Exception: It could not be tested.
    """
    if finding.outcome == "broken" and finding.rule.level == "advice":
        pytest.xfail(f"This is advice: {finding.reason}")
    if finding.outcome in FAILED:
        __tracebackhide__ = True
        failure = f"{finding.reason}\nrule {finding.rule.id}; {finding.rule.source}"
        raise pytest.fail.Exception(failure, pytrace=False) from finding.error
    if finding.outcome == "excused":
        pytest.xfail(finding.reason)
    if finding.outcome == "untried":
        pytest.skip(finding.reason)


def _definition(suite: BackendSuite, name: str, request: pytest.FixtureRequest) -> Any:
    """What the author defines under a name: the value of a fixture, or else the method."""
    try:
        return request.getfixturevalue(name)
    except pytest.FixtureLookupError:
        return getattr(suite, name)


def _opening(backend: Any) -> Callable[[], Opened]:
    """A way to open the backend, also from one that a fixture opened and will close."""
    if isinstance(backend, GraphDbInterface):
        return lambda: contextlib.nullcontext(backend)
    opening: Callable[[], Opened] = backend
    return opening
