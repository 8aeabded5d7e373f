"""Tests of loading for every store: a load is atomic, and its report counts what was found.

The module of a store provides the fixtures that `LoaderSuite` names, and adds tests that are
specific to the store:

    class TestLoads(SqlLoaderSuite):
        @pytest.fixture
        def contents(self, file: Path) -> Contents: ...
"""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import pickle
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from bfsql.loading import load as load_files
from bfsql.models import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    LoadReport,
    Metadata,
    NodeRecord,
)
from bfsql.plugins import BackendPlugin

Load = Callable[[Iterable[GraphRecord]], Awaitable[LoadReport]]
"""Replaces the contents of the store with the graph of these records."""
Contents = Callable[[], Awaitable[Any]]
"""Reads the contents of the store, and everything that an interrupted load could leave behind."""
ReadMetadata = Callable[[str], Awaitable[Metadata]]
"""Reads the metadata of a node; raises `KeyError` for an id that was not loaded."""

LoadElsewhere = tuple[Callable[..., Awaitable[LoadReport]], Any]
"""A loader and its settings, both picklable."""

Source = Callable[[Callable[[], object]], Iterator[GraphRecord]]
"""Generates records, and calls the given function when the load is to be cancelled."""

OLD: list[GraphRecord] = [NodeRecord("old", "thing")]
"""The contents of a store before a load that fails."""

_PASSAGE = {"text_span": "A treats B.", "document_id": "a"}
_ITSELF: dict[str, object] = {}
_ITSELF["it"] = _ITSELF
_VALUES: dict[Any, Any] = {
    "day": dt.date(2024, 2, 29),
    "moment": dt.datetime(2024, 2, 29, 12, tzinfo=dt.UTC),
    "time": dt.time(1, 2),
    "length": dt.timedelta(days=1, seconds=2),
    "price": Decimal("0.10"),
    "exact": Decimal("0.1234567890123456789012345"),
    "decimals": [Decimal(3), Decimal("1E+999999"), Decimal("NaN")],
    "huge": 10**400,
    "far too huge": 1 << 20_000,
    "large": 1.7976931348623157e308,
    "whole": 1.0,
    "nan": [float("nan"), float("inf"), -float("inf")],
    "bytes": b"\xff\x00",
    "set": {"b", "a"},
    "mapping": MappingProxyType({"a": 1}),
    "other": UUID(int=1),
    "half": "\ud800 and \U0001f600",
    "nul": "\ud800 and \U0001f600 \0",
    1: ("tuple", None, True),
}
_AS_JSON: dict[str, Any] = {
    "day": "2024-02-29",
    "moment": "2024-02-29T12:00:00+00:00",
    "time": "01:02:00",
    "length": "P1DT2S",
    "price": 0.1,
    "exact": "0.1234567890123456789012345",
    "decimals": [3, "1E+999999", "NaN"],
    "huge": 10**400,
    "far too huge": f"{1 << 20_000:#x}",
    "large": 1.7976931348623157e308,
    "whole": 1.0,
    "nan": ["NaN", "Infinity", "-Infinity"],
    "bytes": "/wA=",
    "set": ["a", "b"],
    "mapping": {"a": 1},
    "other": "00000000-0000-0000-0000-000000000001",
    "half": "\ud800 and \U0001f600",
    "nul": "\ud800 and \U0001f600 \0",
    "1": ["tuple", None, True],
}

_INTERRUPTED_LOAD = """
import asyncio, itertools, os, pickle, signal, sys
from bfsql.models import NodeRecord
def endless():
    for i in itertools.count():
        if i == 12_000:
            os.kill(os.getpid(), signal.SIGINT)
        yield NodeRecord(str(i), "thing")
load_graph, settings = pickle.load(sys.stdin.buffer)
try:
    asyncio.run(load_graph(settings, endless()))
except KeyboardInterrupt:
    sys.exit(7)
"""


def many(number: int) -> Iterator[GraphRecord]:
    """A chain of this many nodes; the last edge ends at an id that is not a node."""
    for i in range(number):
        yield NodeRecord(f"n{i}", "thing", {"name": f"name {i}"})
        yield EdgeRecord(f"n{i}", "NEXT", f"n{i + 1}", {"confidence": 0.5})


def load_and_tell(begun: Connection, number: int, load: Callable[..., Any], *how: Any) -> None:
    """Load `many` records; runs in a separate process, which can be killed.

    Args:
        begun: Receives True when the load begins.
        number: Number of nodes.
        load: The loader.
        *how: Settings and options of the loader.
    """
    settings, *options = how
    begun.send(True)
    asyncio.run(load(settings, many(number), *options))


def load_files_and_tell(begun: Connection, plugin: BackendPlugin, settings: Any, *how: Any) -> None:
    """Load files; runs in a separate process, which can be killed.

    Args:
        begun: Receives True when the load begins.
        plugin: Plugin of the store.
        settings: Settings of the plugin.
        *how: The files and the options.
    """
    paths, options = how
    begun.send(True)
    asyncio.run(load_files(plugin, settings, paths, how=options))


@contextmanager
def traced_memory() -> Iterator[Callable[[], int]]:
    """Trace allocations; yields a function that returns the peak of bytes in use."""
    gc.collect()
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def cancel(load: Load, source: Source) -> BaseException:
    """Cancel a load when its source requests it, and return the error that ends it."""
    reached, loop = asyncio.Event(), asyncio.get_running_loop()
    work = asyncio.ensure_future(load(source(lambda: loop.call_soon_threadsafe(reached.set))))
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await work
    return caught.value


class LoaderSuite:
    """A load that ends early changes nothing.

    Requires the fixtures `load`, a `Load` into the test's empty store, and its `contents`.
    """

    NOTE = ""
    """Start of the note on the error when a load is cancelled while it reads; "" for no note."""

    @pytest.fixture
    async def before(self, load: Load, contents: Contents) -> Any:
        """The result of `contents` after a first load."""
        await load(OLD)
        held = await contents()
        assert "old" in str(held)
        return held

    async def test_a_failing_source_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        def breaking() -> Iterator[GraphRecord]:
            yield from many(20_000)
            raise RuntimeError("the source broke")

        with pytest.raises(RuntimeError, match=r"^the source broke$"):
            await load(breaking())
        assert await contents() == before

    async def test_a_load_that_is_cancelled_while_it_reads_stops_and_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        def endless(begun: Callable[[], object]) -> Iterator[GraphRecord]:
            while True:
                yield from many(10_000)
                begun()

        error = await cancel(load, endless)
        notes = getattr(error, "__notes__", [])
        assert [note.startswith(self.NOTE) for note in notes] == [True] * bool(self.NOTE)
        assert await contents() == before


class SqlLoaderSuite(LoaderSuite):
    """The same for a load into SQL tables, and what the load reports and keeps.

    Also requires the fixtures `metadata`, a `ReadMetadata`, and `load_elsewhere`.
    """

    async def test_the_report_counts_what_was_found(self, load: Load) -> None:
        report = await load(
            [
                EdgeRecord("a", "TREATS", "b", {"confidence": 0.5}),
                NodeRecord("a", "drug", {"name": "A"}),
                NodeRecord("a", "chemical", {"name": "Alpha"}),
                NodeRecord("b", "", {}),
                EdgeRecord("a", "TREATS", "b", {"confidence": 0.9, "provenance": [_PASSAGE]}),
                EdgeRecord("a", "TREATS", "ghost"),
                EdgeRecord("ghost", "TREATS", "ghost"),
                EvidenceRecord("a", "TREATS", "b", _PASSAGE),
                EvidenceRecord("a", "CAUSES", "b", {"text_span": "nobody says so"}),
                EvidenceRecord("x", "TREATS", "y", {"text_span": "nobody at all"}),
            ]
        )
        assert replace(report, place="") == LoadReport(
            nodes=2,
            edges=3,
            evidence=1,
            duplicate_nodes=1,
            duplicate_edges=1,
            dangling_edges=2,
            dangling_examples=["ghost"],
            described_ends=2,
            undescribed_ends=1,
            undescribed_sample=["ghost"],
            unattached_evidence=2,
        )

    async def test_values_of_every_kind_become_json_without_loss(
        self, load: Load, metadata: ReadMetadata
    ) -> None:
        report = await load([NodeRecord("a", "t", _VALUES), NodeRecord("b", "t", _ITSELF)])
        assert (report.nodes, report.refused) == (1, 1)
        assert "nested too deeply" in report.refusals[0].reason
        found = await metadata("a")
        assert found == _AS_JSON
        assert isinstance(found["whole"], float)
        with pytest.raises(KeyError):
            await metadata("b")

    @pytest.mark.slow
    async def test_a_load_that_is_cancelled_while_it_merges_changes_nothing(
        self, load: Load, contents: Contents, before: Any
    ) -> None:
        def then_merge(taken: Callable[[], object]) -> Iterator[GraphRecord]:
            yield from many(60_000)
            taken()

        await cancel(load, then_merge)
        assert await contents() == before
        assert (await load(many(2))).nodes == 2

    async def test_an_interrupt_from_the_keyboard_changes_nothing(
        self, load: Load, load_elsewhere: LoadElsewhere, contents: Contents, before: Any
    ) -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _INTERRUPTED_LOAD, stdin=asyncio.subprocess.PIPE
        )
        await asyncio.wait_for(process.communicate(pickle.dumps(load_elsewhere)), 60)
        assert process.returncode == 7
        assert await contents() == before
        assert (await load(many(2))).nodes == 2

    @pytest.mark.slow
    async def test_memory_does_not_grow_with_the_edges(self, load: Load) -> None:
        async def peak(number: int) -> int:
            edges = (EdgeRecord(f"n{i % 500}", "P", f"n{i % 501}", {"i": i}) for i in range(number))
            with traced_memory() as most:
                await load(edges)
                return most()

        few, more = await peak(15_000), await peak(60_000)
        assert more < 1.3 * few
