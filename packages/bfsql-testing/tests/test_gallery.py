"""Every rule catches a faulty backend, and every faulty backend is caught by its rule."""

from __future__ import annotations

import logging

import pytest

from bfsql_test_support.backends.columns import ColumnsOverMemory, TypedStream
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.gallery import GALLERY, Eight, Store, Wrong, trial
from bfsql_testing.conformance import RULES, Rule, isolation, judge

RIGHT = (Eight, Store, ColumnsOverMemory, TypedStream)
"""Base classes of the faulty backends; `test_testing.py` runs the kit on other backends."""
TRIED = {
    "columns": ColumnsOverMemory,
    "nodes": ColumnsOverMemory,
    "outlines": ColumnsOverMemory,
    "streams": TypedStream,
}
"""The backend on which the rules of a module can be tested; `Store` for all other modules."""


@pytest.fixture(autouse=True)
def quiet_and_quick(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Faulty backends fill the log, and some of them never answer."""
    monkeypatch.setattr(isolation, "PATIENCE", 0.5)
    caplog.set_level(logging.CRITICAL + 1)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", GALLERY, ids=lambda wrong: wrong.name)
async def test_a_wrong_backend_is_caught_by_the_rule_meant_for_it(wrong: Wrong) -> None:
    finding = await judge(RULES[wrong.rule], trial(wrong.backend))
    assert finding.outcome == "broken", f"{wrong.rule} lets {wrong.name} pass: {finding.reason}"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_a_rule_is_meant_for_at_least_one_wrong_backend(rule: Rule) -> None:
    assert rule.id in {wrong.rule for wrong in GALLERY}


def able(rule: Rule) -> type:
    """The backend on which a rule can be tested."""
    return TRIED.get(rule.check.__module__.rpartition(".")[2], Store)


CASES = [
    pytest.param(
        rule,
        backend,
        id=f"{rule.id}-{backend.__name__}",
        # These tests' backends make columns of 330,000 edges in the loop.
        marks=[pytest.mark.occupies_loop] if rule.id == "columns-batches" else [],
    )
    for rule in RULES.values()
    for backend in (RIGHT if THOROUGH else [able(rule)])
]


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "backend"), CASES)
async def test_a_right_backend_is_caught_by_no_rule(rule: Rule, backend: type) -> None:
    finding = await judge(rule, trial(backend))
    right = ("holds",) if backend is able(rule) else ("holds", "untried")
    assert finding.outcome in right, finding.reason


@pytest.mark.parametrize("wrong", GALLERY, ids=lambda wrong: wrong.name)
def test_a_wrong_backend_says_in_a_sentence_what_is_wrong_with_it(wrong: Wrong) -> None:
    assert (wrong.backend.__doc__ or "").rstrip().endswith(".")


def test_no_two_wrong_backends_have_one_name() -> None:
    assert len({wrong.name for wrong in GALLERY}) == len(GALLERY)
