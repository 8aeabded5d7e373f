"""What the tests of all distributions share: `bfsql_trials`, the real graph, hypothesis.

`pytest --hypothesis-profile=thorough` draws twenty times as many graphs.
"""

import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent

sys.path.insert(0, str(ROOT / "packages" / "bfsql-core" / "tests"))
# In CI the same examples every time: what fails there fails at home, and no draw is a bad day's.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("everyday", deadline=None, max_examples=50, derandomize=IN_CI)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("everyday")


def missing(what: str, reason: str) -> NoReturn:
    """Skip where something is not here; fail where `BFSQL_REQUIRE` says that it must be."""
    if what in os.environ.get("BFSQL_REQUIRE", "").split(","):
        pytest.fail(f"{reason} (and BFSQL_REQUIRE names {what})")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def medlit() -> Path:
    """The medlit bundle: 36 papers on Cushing disease as a graph."""
    beside = ROOT.parent / "shared" / "data" / "medlit"
    path = Path(os.environ.get("BFSQL_MEDLIT", beside))
    if not (path / "entities.jsonl").exists():
        missing("medlit", "the medlit bundle is not here; BFSQL_MEDLIT names its folder")
    return path
