"""Comparison of a backend with the reference, `MemoryBackend`, over the same records.

    async with both(trial, records) as (mine, wanted):
        await same(mine, wanted, "describe_entity", {"id": "RxNorm:3251"})

A process that checks many backends, as a test suite does, gives the reference the same records and
calls for each of them. So its outcomes are kept.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import lru_cache
from typing import Any, Self

from bfsql.abc import Abilities, GraphDbInterface
from bfsql.errors import ToolError
from bfsql.graph import Graph, open_graph
from bfsql.masking import shorten
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord
from bfsql.tools import Limits
from bfsql_testing.conformance.harness import Broken, Trial

SHOWN = 160
"""Number of characters of an answer that a reason quotes, from the first difference on."""


class PlainReference(MemoryBackend):
    """The reference for a backend without its own evidence: the contract's default."""

    provenance_for_node = GraphDbInterface.provenance_for_node


class Reference:
    """The six tools over the reference for a backend, which is opened for the first new call."""

    def __init__(self, db: GraphDbInterface, records: Sequence[GraphRecord]) -> None:
        default = "provenance_for_node" not in Abilities.of(db).methods
        self._kind = PlainReference if default else MemoryBackend
        self._records, self._time_keys = records, db.time_keys
        content = hashlib.sha256(repr((records, db.time_keys)).encode(errors="surrogatepass"))
        self._outcomes = _outcomes(self._kind, content.digest())
        self._opened = AsyncExitStack()
        self._graph: Graph | None = None

    async def __aenter__(self) -> Self:
        """Wait for the first call."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the graph."""
        await self._opened.aclose()

    async def outcome(self, tool: str, arguments: dict[str, Any]) -> tuple[Any, ...]:
        """The outcome of a call, from an earlier one if a graph of these records had it."""
        request = f"{tool}({arguments!r})"
        if request not in self._outcomes:
            if self._graph is None:
                opening = open_graph(self._kind(self._records, self._time_keys))
                self._graph = await self._opened.enter_async_context(opening)
            self._outcomes[request] = await outcome(self._graph, tool, arguments)
        return self._outcomes[request]


@lru_cache(128)  # graphs, each with outcomes of some 0.2 MB
def _outcomes(kind: type[MemoryBackend], content: bytes) -> dict[str, tuple[Any, ...]]:  # noqa: ARG001
    """The outcomes over records with this digest, by request."""
    return {}


@asynccontextmanager
async def both(
    trial: Trial, records: Sequence[GraphRecord]
) -> AsyncIterator[tuple[Graph, Reference]]:
    """The backend, behind tools and cache, and the reference; over records that a store keeps."""
    async with (
        trial.filled(records) as db,
        open_graph(db) as mine,
        Reference(db, records) as wanted,
    ):
        yield mine, wanted


async def same_either_way(
    db: GraphDbInterface,
    records: Sequence[GraphRecord],
    plain: GraphDbInterface,
    does: str,
    calls: Iterable[tuple[str, dict[str, Any]]],
) -> None:
    """Compare calls of a backend with the reference, and those of `plain`, where core does it."""
    async with open_graph(db) as mine, open_graph(plain) as core, Reference(db, records) as wanted:
        for tool, arguments in calls:
            await same(mine, wanted, tool, arguments)
            try:
                await same(core, wanted, tool, arguments)
            except Broken as broken:
                raise Broken(f"Where core {does}: {broken}") from broken


def uncached(db: GraphDbInterface) -> Graph:
    """The six tools straight over a backend."""
    return Graph(db, "", Limits(), None)


async def outcome(graph: Graph, tool: str, arguments: dict[str, Any]) -> tuple[Any, ...]:
    """The blocks of an answer, or the kind and the argument of an error."""
    try:
        answer = await graph.call(tool, arguments)
    except ToolError as refused:
        return ("refused", refused.kind, refused.argument)
    if tool == "describe_schema" and not arguments.get("seeds"):
        schema = json.loads(answer.text)
        return tuple((k, schema[k]) for k in ("entity_types", "predicates", "comprehensive"))
    return answer.blocks


async def same(mine: Graph, wanted: Reference, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool of both and compare the outcomes.

    Raises:
        Broken: They differ.
    """
    want = await wanted.outcome(tool, arguments)
    have = await outcome(mine, tool, arguments)
    if have != want:
        text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        raise Broken(difference(f"{tool}({shorten(text, SHOWN)})", have, want))


def difference(request: str, have: object, want: object) -> str:
    """The request, and both answers from the first difference on."""
    one, other = str(have), str(want)
    first = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    start = max(0, first - SHOWN // 2)
    return (
        f"{request} gave ...{one[start : start + SHOWN]}..., the reference gives "
        f"...{other[start : start + SHOWN]}..."
    )
