"""A graph that is opened while the modules of its transport are being imported."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from bfsql.graph import Graph

GraphFactory: TypeAlias = "Callable[[], AbstractAsyncContextManager[Graph]]"
"""Opens the graph in the server's event loop."""

_GC_THRESHOLDS = (100_000, 50, 100)
"""Collecting less often takes a tenth off a hub of 60,000 edges (decision 0001)."""


@asynccontextmanager
async def opened(graph_factory: GraphFactory, transport: str) -> AsyncIterator[tuple[Graph, Any]]:
    """The open graph and the transport's module, imported meanwhile.

    Args:
        graph_factory: Opens the graph.
        transport: Name of the module, whose imports take as long as opening does.
    """

    def import_ahead() -> None:
        with suppress(ImportError):  # raised again below, where it is heard
            import_module(transport)

    importing = threading.Thread(target=import_ahead, daemon=True)
    importing.start()
    async with graph_factory() as graph:
        await asyncio.to_thread(importing.join)
        module = import_module(transport)
        gc.set_threshold(*_GC_THRESHOLDS)
        yield graph, module
