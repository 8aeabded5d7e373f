"""Every rule catches a faulty backend, and every faulty backend is caught by its rule."""

import logging

import pytest

from bfsql_test_support.backends.columns import ColumnsOverMemory, TypedStream
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.gallery import GALLERY, Eight, Store, Wrong, trial
from bfsql_testing.conformance import RULES, isolation, judge

RIGHT = (Eight, Store, ColumnsOverMemory, TypedStream)
"""Base classes of the faulty backends; `test_testing.py` runs the kit on other backends."""
TRIED = {
    "columns": ColumnsOverMemory,
    "nodes": ColumnsOverMemory,
    "outline": ColumnsOverMemory,
    "stream": TypedStream,
}
"""By the first word of a rule, the backend on which it can be tested; `Store` for all others."""


@pytest.fixture(autouse=True)
def quiet_and_quick(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Faulty backends fill the log, and some of them never answer."""
    monkeypatch.setattr(isolation, "PATIENCE", 0.5)
    caplog.set_level(logging.CRITICAL + 1)


@pytest.mark.slow
@pytest.mark.occupies_loop  # those of columns make them in the loop
@pytest.mark.parametrize("wrong", GALLERY, ids=lambda wrong: f"{wrong.rule}: {wrong.mistake}")
async def test_a_wrong_backend_is_caught_by_the_rule_meant_for_it(wrong: Wrong) -> None:
    finding = await judge(RULES[wrong.rule], trial(wrong.backend))
    assert finding.outcome == "broken", f"{wrong.rule} lets it pass: {finding.reason}"


def test_each_rule_is_meant_for_a_wrong_backend_and_each_mistake_is_a_sentence() -> None:
    assert {wrong.rule for wrong in GALLERY} == RULES.keys()
    assert [wrong for wrong in GALLERY if not wrong.mistake.endswith(".")] == []


BACKENDS = [
    # It makes columns of 330,000 edges in the loop.
    pytest.param(one, marks=[pytest.mark.occupies_loop] * (one is ColumnsOverMemory))
    for one in (RIGHT if THOROUGH else RIGHT[1:])
]


def able(rule: str) -> type:
    """The backend on which a rule can be tested."""
    return TRIED.get(rule.partition("-")[0], Store)


@pytest.mark.slow
@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_right_backend_is_caught_by_no_rule(backend: type) -> None:
    tried = [rule for rule in RULES.values() if THOROUGH or backend is able(rule.id)]
    for rule in tried:
        finding = await judge(rule, trial(backend))
        right = ("holds",) if backend is able(rule.id) else ("holds", "untried")
        assert finding.outcome in right, f"{rule.id}: {finding.reason}"
