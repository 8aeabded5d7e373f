"""What the tests of all distributions share: `bfsql_trials`, real servers and graph, hypothesis.

`pytest --hypothesis-profile=thorough` draws twenty times as many graphs.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent

sys.path[:0] = [str(ROOT / "packages" / "bfsql-core" / "tests"), str(ROOT / "tests")]
from bfsql_servers.missing import missing  # noqa: E402 - found on the path just set

pytest_plugins = ["bfsql_servers.fixtures"]

# In CI the same examples every time: what fails there fails at home, and no draw is a bad day's.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("everyday", deadline=None, max_examples=50, derandomize=IN_CI)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.load_profile("everyday")


# A shell that starts the tests in the background has them ignore these, and whatever they start
# would ignore them too: the tests of Ctrl-C could not end it. Whoever ends the tests otherwise
# ends them likewise, so that no server stays behind.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)  # xdist reads the marks in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes run the tests: one for all of a backend, so its servers start once.

    Core needs none, so that each of its files may run anywhere, and so may those beside it.
    """
    for item in items:
        first, second, *_ = item.path.relative_to(ROOT).parts
        backend = first == "packages" and second != "bfsql-core"
        group = second if backend else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def medlit() -> Path:
    """The medlit bundle: 36 papers on Cushing disease as a graph."""
    beside = ROOT.parent / "shared" / "data" / "medlit"
    path = Path(os.environ.get("BFSQL_MEDLIT", beside))
    if not (path / "entities.jsonl").exists():
        missing("medlit", "the medlit bundle is not here; BFSQL_MEDLIT names its folder")
    return path
