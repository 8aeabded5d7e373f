"""Makes `bfsql_trials` importable: what several test modules try the six tools with."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))
settings.register_profile("everyday", deadline=None, max_examples=50)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("BFSQL_EXAMPLES", "everyday"))


@pytest.fixture(scope="session")
def medlit() -> Path:
    """The medlit bundle: 36 papers on Cushing disease as a graph."""
    beside = Path(__file__).parents[4] / "shared" / "data" / "medlit"
    path = Path(os.environ.get("BFSQL_MEDLIT", beside))
    if not (path / "entities.jsonl").exists():
        pytest.skip("the medlit bundle is not here; BFSQL_MEDLIT names its folder")
    return path
