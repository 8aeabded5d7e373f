"""Small graphs with the six tools over them."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bfsql.cache import CachedGraphDb
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql.tools import Limits
from bfsql_test_support.backends.recording import Watch, watched

RECORDS: list[GraphRecord] = [
    NodeRecord("RxNorm:3251", "Drug", {"name": "Desmopressin", "synonyms": ["DDAVP"]}),
    NodeRecord("MeSH:D003480", "Disease", {"name": "Cushing Syndrome"}),
    NodeRecord("MeSH:D047748", "Disease", {"name": "Cushing Disease"}),
    NodeRecord("7", "Gene", {"name": "Seven"}),
    EdgeRecord("RxNorm:3251", "TREATS", "MeSH:D003480"),
    EdgeRecord("RxNorm:3251", "TREATS", "MeSH:D047748"),
    EdgeRecord("7", "CAUSES", "MeSH:D003480"),
]


@pytest.fixture
def over() -> Callable[..., Graph]:
    """Makes a graph over any backend."""

    def made(backend: Any, **limits: Any) -> Graph:
        return Graph(CachedGraphDb(backend), "Drugs.", Limits(**limits), None)

    return made


@pytest.fixture
def store() -> tuple[MemoryBackend, Watch]:
    """The backend, and a record of the calls that reached it."""
    return watched(MemoryBackend)(RECORDS)


@pytest.fixture
def graph(over: Callable[..., Graph], store: tuple[MemoryBackend, Watch]) -> Graph:
    """Drugs and what they treat."""
    return over(store[0])


@pytest.fixture
def refusal(graph: Graph) -> Callable[..., Awaitable[ToolError]]:
    """Calls a tool, and returns the error that it raises."""

    async def refused(tool: str, arguments: Any) -> ToolError:
        with pytest.raises(ToolError) as caught:
            await graph.call(tool, arguments)
        error = caught.value
        sentence = str(error)
        assert sentence.rstrip().endswith(".")
        assert sentence.isprintable(), "a sentence hides nothing"
        assert len(sentence) < 1_000
        return error

    return refused
