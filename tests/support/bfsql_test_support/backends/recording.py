"""Backends that record the calls they receive, and can be made to wait or fail."""

import asyncio
import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from bfsql.abc import GraphDbInterface

B = TypeVar("B", bound=GraphDbInterface)

METHODS = (
    "search_entities", "edges_from", "edges_to", "get_node", "metadata_for_node",
    "metadata_for_edge", "entity_types", "predicates", "get_nodes_batch", "edges_batch",
    "metadata_for_nodes_batch", "metadata_for_edges_batch", "provenance_for_node",
)  # fmt: skip


class Watch:
    """The calls that a backend has received, and how it handles the next ones."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.cancelled: list[str] = []
        self.failures: list[BaseException] = []
        """Errors that the next calls raise, one each."""
        self.gate: asyncio.Event | None = None
        """An event that calls wait for, if any."""
        self.arrived = asyncio.Event()
        """An event that the first call sets."""

    def count(self, method: str) -> int:
        """The number of calls to a method."""
        return sum(name == method for name, _ in self.calls)

    def single_keys(self) -> Counter[tuple[str, Any]]:
        """How often each key was requested, alone or in a batch."""
        keys: Counter[tuple[str, Any]] = Counter()
        for method, asked in self.calls:
            many = asked[0] if method.endswith("_batch") else [asked]
            keys.update((method, str(key)) for key in many)
        return keys

    async def passed(self, method: str, asked: tuple[Any, ...]) -> None:
        """Record a call; wait at the gate, and fail if a failure is due."""
        self.calls.append((method, asked))
        self.arrived.set()
        if self.gate is not None:
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.cancelled.append(method)
                raise
        if self.failures:
            raise self.failures.pop(0)


def watched(kind: type[B]) -> Callable[..., tuple[B, Watch]]:
    """A factory for backends of this class with their watch; inherited methods are not watched."""

    def method(name: str) -> Any:
        original = getattr(kind, name)

        @functools.wraps(original)
        async def called(self: Any, *asked: Any, **named: Any) -> Any:
            await self.watch.passed(name, (*asked, *named.values()))
            return await original(self, *asked, **named)

        return called

    own = {name: method(name) for name in METHODS if name in vars(kind)}
    watched_kind: Any = type(f"Watched{kind.__name__}", (kind,), own)

    def made(*args: Any) -> tuple[B, Watch]:
        backend = watched_kind(*args)
        backend.watch = Watch()
        return backend, backend.watch

    return made
