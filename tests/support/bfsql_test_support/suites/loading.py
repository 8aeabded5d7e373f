"""Tests of loading into SQL stores, and processes that load and can be killed."""

import asyncio
import datetime as dt
import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from multiprocessing.connection import Connection
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest

from bfsql.loading import load as load_files
from bfsql.models import EdgeRecord, Metadata, NodeRecord
from bfsql.plugins import BackendPlugin
from bfsql_testing.loader_suite import Load, LoaderSuite, many

ReadMetadata = Callable[[str], Awaitable[Metadata]]
"""Reads the metadata of a node; raises `KeyError` for an id that was not loaded."""

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


def load_and_tell(begun: Connection, number: int, load: Callable[..., Any], *how: Any) -> None:
    """Load `many` records; runs in a separate process, which can be killed.

    Args:
        begun: Receives True when the load begins.
    """
    settings, *options = how
    begun.send(True)
    asyncio.run(load(settings, many(number), *options))


def load_files_and_tell(begun: Connection, plugin: BackendPlugin, settings: Any, *how: Any) -> None:
    """Load files; runs in a separate process, which can be killed.

    Args:
        begun: Receives True when the load begins.
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


class SqlLoaderSuite(LoaderSuite):
    """The rules for a loader that fills SQL tables, whose metadata are JSON.

    Requires also the fixture `metadata`, a `ReadMetadata`.
    """

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
    async def test_memory_does_not_grow_with_the_edges(self, load: Load) -> None:
        async def peak(number: int) -> int:
            edges = (EdgeRecord(f"n{i % 500}", "P", f"n{i % 501}", {"i": i}) for i in range(number))
            with traced_memory() as most:
                await load(edges)
                return most()

        few, more = await peak(15_000), await peak(60_000)
        assert more < 1.3 * few
