"""The soak for twenty seconds, or minutes in a thorough run; `nox -s soak` takes thirty minutes."""

import pytest

from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.soak.run import soak

SECONDS = 300 if THOROUGH else 20


@pytest.mark.slow
# Clients that disconnect leave the SDK's streams unclosed in this process.
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning"
)
def test_a_soak_on_a_store_that_fails_leaves_no_wrong_answer_and_nothing_behind() -> None:
    report = soak(SECONDS, seed=1)
    assert report.faults() == []
    assert report.answers >= 5
    assert sum(report.outages.values()) >= 2
    assert report.idle > 100
