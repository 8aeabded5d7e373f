"""Sets, groups, measures and walks from a warm cache: the same bytes, each caller its own."""

from typing import Any

import pytest

from bfsql import Graph, Limits, MemoryBackend, open_graph
from bfsql.call import Caller
from bfsql.errors import ToolError
from bfsql.plugins import hookimpl
from bfsql_test_support.backends.columns import ColumnsOverMemory
from bfsql_test_support.ways_in import CALLS, RECORDS, WRONG

NAMING = ("a part of a name", "a misspelt name in a step", "a sum of text")
"""Errors that contain metadata."""
EVERY = [*CALLS.values(), *(("bfs_query", WRONG[label][0]) for label in NAMING)]
CALLERS = (Caller("clerk"), Caller("auditor"), None)


class HidingByCaller:
    """Hides years from clerks, names from auditors, and both from anybody else."""

    @hookimpl
    def redact_metadata(self, metadata: dict[str, Any], caller: Caller | None) -> dict[str, Any]:
        hidden = {"clerk": {"year"}, "auditor": {"name", "synonyms", "dose"}}
        known = {"year", "name", "synonyms"} if caller is None else hidden[caller.client]
        return {key: value for key, value in metadata.items() if key not in known}


async def told(graph: Graph, number: int, caller: Caller | None = None) -> str:
    tool, arguments = EVERY[number]
    try:
        return "\n".join((await graph.call(tool, arguments, caller=caller)).blocks)
    except ToolError as refused:
        return str(refused)


async def cold(backend: type[MemoryBackend], caller: Caller | None, **options: Any) -> list[str]:
    """Every answer by a graph without a cache."""
    async with open_graph(backend(RECORDS), cache_records=0, **options) as graph:
        await graph.counted()
        return [await told(graph, number, caller) for number in range(len(EVERY))]


@pytest.mark.parametrize(
    ("backend", "answer_format"), [(MemoryBackend, "json"), (ColumnsOverMemory, "lines")]
)
async def test_a_warm_cache_changes_no_byte(backend, answer_format):
    limits = Limits(answer_format=answer_format)
    wanted = await cold(backend, None, limits=limits)
    for records in (10_000, 30):  # all answers fit, or they evict each other
        warm = open_graph(backend(RECORDS), cache_records=records, limits=limits)
        async with warm as graph:
            await graph.counted()
            for number in [*range(len(EVERY)), *reversed(range(len(EVERY)))]:
                assert await told(graph, number) == wanted[number], EVERY[number]


@pytest.mark.parametrize("backend", [MemoryBackend, ColumnsOverMemory])
async def test_no_caller_has_the_answer_of_another(backend):
    hooks = [HidingByCaller()]
    wanted = [await cold(backend, caller, hooks=hooks) for caller in CALLERS]
    differing = [one for one in zip(*wanted, strict=True) if len(set(one)) > 1]
    assert len(differing) > len(CALLS) / 2
    async with open_graph(backend(RECORDS), hooks=hooks) as graph:
        await graph.counted()
        for number in range(len(EVERY)):
            for caller, own in zip(CALLERS, wanted, strict=True):
                assert await told(graph, number, caller) == own[number], (EVERY[number], caller)
