"""Every rule catches a wrong backend, every wrong backend is caught by the rule meant for it."""

from __future__ import annotations

import logging

import pytest
from bfsql_trials.backends import BareBackend
from bfsql_trials.columns import ColumnsOverMemory, TypedStream
from conformance.gallery import GALLERY, Eight, Store, Wrong, trial

from bfsql.conformance import RULES, Rule, isolation, judge
from bfsql.memory import MemoryBackend

RIGHT = (MemoryBackend, BareBackend, Eight, Store, ColumnsOverMemory, TypedStream)


@pytest.fixture(autouse=True)
def quiet_and_quick(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Wrong backends fill the log, and some never answer."""
    monkeypatch.setattr(isolation, "PATIENCE", 0.5)
    caplog.set_level(logging.CRITICAL + 1)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("wrong", GALLERY, ids=lambda wrong: wrong.name)
async def test_a_wrong_backend_is_caught_by_the_rule_meant_for_it(wrong: Wrong) -> None:
    finding = await judge(RULES[wrong.rule], trial(wrong.backend))
    assert finding.outcome == "broken", f"{wrong.rule} lets {wrong.name} pass: {finding.reason}"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_is_meant_for_at_least_one_wrong_backend(rule: Rule) -> None:
    assert rule.id in {wrong.rule for wrong in GALLERY}


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("backend", RIGHT)
@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
async def test_a_right_backend_is_caught_by_no_rule(backend: type, rule: Rule) -> None:
    finding = await judge(rule, trial(backend))
    assert finding.outcome in ("holds", "untried"), finding.reason


class Whole(ColumnsOverMemory, TypedStream):
    """A graph in memory with every optional ability."""


@pytest.mark.slow
async def test_every_rule_can_be_tried_on_a_store_that_gives_every_way() -> None:
    outcomes = {}
    for rule in RULES.values():
        of_abilities = rule.check.__module__.endswith((".columns", ".outlines", ".streams"))
        backend = Whole if of_abilities else Store
        outcomes[rule.id] = (await judge(rule, trial(backend))).outcome
    assert set(outcomes.values()) == {"holds"}, outcomes


@pytest.mark.parametrize("wrong", GALLERY, ids=lambda wrong: wrong.name)
def test_a_wrong_backend_says_in_a_sentence_what_is_wrong_with_it(wrong: Wrong) -> None:
    assert (wrong.backend.__doc__ or "").rstrip().endswith(".")


def test_no_two_wrong_backends_have_one_name() -> None:
    assert len({wrong.name for wrong in GALLERY}) == len(GALLERY)
