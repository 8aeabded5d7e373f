"""Runs rules against a backend and returns a finding for each, within a time limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from bfsql.errors import StoreUnavailable
from bfsql_testing.conformance.capabilities import OptOut
from bfsql_testing.conformance.harness import RULES, Broken, Rule, Trial, Untried

Outcome: TypeAlias = Literal["holds", "broken", "excused", "needless", "unreachable", "untried"]
"""`excused` is broken with an opt-out, `needless` an opt-out from a rule that holds."""

FAILED: frozenset[Outcome] = frozenset(("broken", "needless", "unreachable"))
"""Outcomes with which a backend fails."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one rule."""

    rule: Rule
    outcome: Outcome
    reason: str = ""
    """The reason why the rule does not hold."""
    seconds: float = 0.0
    """Duration of the check in seconds."""
    oddities: tuple[str, ...] = ()
    """Unusual properties of the store; not a fault of the backend."""
    error: BaseException | None = None
    """The exception that the check raised."""

    @property
    def minor(self) -> bool:
        """Whether it is a violation of a convention or of advice."""
        return self.outcome == "broken" and self.rule.level != "duty"


async def judge(rule: Rule, trial: Trial, optout: OptOut | None = None) -> Finding:
    """Check one rule.

    Args:
        rule: Of the registry.
        trial: The ways to open the backend.
        optout: The author's opt-out from this rule.
    """
    began, odd_before = time.monotonic(), len(trial.oddities)
    outcome, reason, error = await _tried(rule, trial)
    if optout and outcome == "broken":
        outcome, reason = "excused", f"{optout} ({reason})"
    elif optout and outcome == "holds":
        outcome = "needless"
        reason = f"The rule holds, although it is declared as {optout} Remove the opt-out."
    elif optout and outcome == "untried":
        outcome, reason = "excused", str(optout)
    oddities = tuple(trial.oddities[odd_before:])
    return Finding(rule, outcome, reason, time.monotonic() - began, oddities, error)


async def judge_all(
    rules: Iterable[Rule],
    trial: Trial,
    optouts: Mapping[str, OptOut] | None = None,
    *,
    seconds: float | None = None,
    told: Callable[[Finding], None] = lambda _: None,
) -> list[Finding]:
    """Check rules one after the other.

    Args:
        rules: In the order of the report.
        trial: The ways to open the backend.
        optouts: By id of the rule.
        seconds: Time for all of them; rules that do not fit are not tried.
        told: Called with each finding as it is made.
    """
    end = None if seconds is None else time.monotonic() + seconds
    findings = []
    for rule in rules:
        left = None if end is None else end - time.monotonic()
        finding = await _in_time(judge(rule, trial, (optouts or {}).get(rule.id)), rule, left)
        findings.append(finding)
        told(finding)
    return findings


async def _in_time(finding: Awaitable[Finding], rule: Rule, left: float | None) -> Finding:
    try:
        async with asyncio.timeout(left):
            await asyncio.sleep(0)  # without time left, this is where it ends
            return await finding
    except TimeoutError:
        close = getattr(finding, "close", None)
        if close is not None:
            close()
        return Finding(rule, "untried", "The time limit of the whole check was reached.")


async def _tried(  # noqa: PLR0911 - one line an outcome
    rule: Rule, trial: Trial
) -> tuple[Outcome, str, BaseException | None]:
    try:
        async with asyncio.timeout(trial.rule_seconds) as timer:
            await rule.check(trial)
    except Untried as untried:
        return "untried", str(untried), untried
    except Broken as broken:
        notes = getattr(broken, "__notes__", ())  # of hypothesis: the graph that broke the rule
        return "broken", "\n".join([str(broken), *(note[:2_000] for note in notes)]), broken
    except StoreUnavailable as gone:
        return "unreachable", f"The store does not answer: {gone}", gone
    except TimeoutError as late:
        if timer.expired():
            return "broken", f"No answer within {trial.rule_seconds:g} s.", late
        return "broken", _unexpected(late), late
    except Exception as fault:  # noqa: BLE001 - whatever a backend raises is a finding
        return "broken", await _wrong_types(trial) + _unexpected(fault), fault
    return "holds", "", None


async def _wrong_types(trial: Trial) -> str:
    """A sentence on a method that returns the wrong type, from which other errors follow."""
    try:
        async with asyncio.timeout(trial.rule_seconds):
            await RULES["return-types"].check(trial)
    except Exception as wrong:  # noqa: BLE001 - another error is that of the rule itself
        return f"{wrong} " if isinstance(wrong, Broken) else ""
    return ""


def _unexpected(fault: BaseException) -> str:
    where = fault.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" in {where.tb_frame.f_code.co_qualname}, line {where.tb_lineno}" if where else ""
    return f"It raised {type(fault).__name__}: {fault}{place}."
