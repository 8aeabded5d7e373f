"""Calls of the six tools with numbers of every size, which no store may answer with an incident."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from bfsql import Graph, open_graph
from bfsql.errors import ToolError
from bfsql.models import EdgeRecord, NodeRecord
from bfsql.tools.parameters import PARAMETERS
from bfsql_test_support.depth import THOROUGH
from bfsql_testing.suite import BackendSuite

Call = tuple[str, dict[str, Any]]

RECORDS = [
    NodeRecord("a", "T", {"name": "one", "n": 1}),
    NodeRecord("b", "T", {"name": "two", "n": 2}),
    EdgeRecord("a", "p", "b", {"n": 3}),
]
NUMBERS = [
    *(sign * number for sign in (1, -1) for number in (2**31, 2**63 - 1, 2**63, 2**64, 10**400)),
    *(10**5_000, 1e308, float("inf"), float("-inf"), float("nan"), "9" * 5_000, "1e400"),
    *("-1", "0", "-0", "-0.0", "1e-400", "9007199254740993"),
]
REQUIRED = {
    "describe_schema": {},
    "search_entities": {"query": "one"},
    "bfs_query": {"seeds": ["T:*"]},
    "describe_entity": {"id": "a"},
    "describe_entities": {"ids": ["a"]},
    "intersect_subgraphs": {"seeds": ["a", "b"]},
}
TEXTS = {
    "seeds": ["T[n>%s]", "*[n=%s]"],
    "path": ["-p->{%s}", "-p->{1,%s}", "-->{%s,%s} T[n>%s]"],
    "along": ["-p->{%s}", "-p-> T[n<%s]"],
    "where": ["n>=%s", "n=%s|1", "T.n<%s", "-p-> >= %s", "%s -p-> T >= %s", "%s != 0", "%s.n>1"],
    "measure": ["count %s", "max %s.n", "top %s 1.n"],
    "facets": ["n:%s", "%s.n"],
    "sort_by": ["%s.n", "-%s"],
    "show": ["%s"],
}
BESIDE = [{}, {"path": ["-->"]}, {"along": ["-->"]}, {"max_hops": 1}, {"to": ["b"]}] + [
    {"path": ["-->"], "show": show, "limit": 1} for show in ("walks", "ends")
]


def _calls() -> Iterator[Call]:
    """Every number in every argument of every tool."""
    for tool, parameters in PARAMETERS.items():
        for parameter in parameters:
            for number in NUMBERS:
                written = "9" * 5_000 if number == 10**5_000 else str(number)
                texts = [text.replace("%s", written) for text in TEXTS.get(parameter.name, ())]
                for value in texts or [number]:
                    written_as = [value] if parameter.kind == "texts" else value
                    for beside in BESIDE if tool == "bfs_query" else BESIDE[:1]:
                        yield tool, {**REQUIRED[tool], **beside, parameter.name: written_as}


CALLS: Sequence[Call] = list(_calls())


async def assert_no_incident(graph: Graph, calls: Sequence[Call]) -> None:
    """Make the calls; each is answered, or refused with a sentence."""
    for tool, arguments in calls:
        kind = None
        try:
            await graph.call(tool, arguments)
        except ToolError as error:
            kind = error.kind
        assert kind != "internal", (tool, str(arguments)[:300])


class AnyNumber(BackendSuite):
    """The calls on a store of the kit: some of them every day, and always the same ones."""

    async def test_a_number_of_any_size_is_no_incident(self) -> None:
        calls = CALLS if THOROUGH else Random(0).sample(CALLS, 60)
        async with self.backend_with(RECORDS) as backend, open_graph(backend) as graph:
            await assert_no_incident(graph, calls)
