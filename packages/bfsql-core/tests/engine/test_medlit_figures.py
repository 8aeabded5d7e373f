"""The figures that the protocol's author publishes, for the graph that they come from."""

import json

import pytest

from bfsql import Limits, MemoryBackend, open_graph
from bfsql.answers import Draft, SubgraphWriter
from bfsql.engine import bfs_query
from bfsql.models import BfsQuery
from bfsql.sources import read_all
from bfsql_test_support import tool_calls
from bfsql_test_support.suites.medlit import MedlitSuite

DESMOPRESSIN = "RxNorm:3251"
CUSHING = "MeSH:D003480"


@pytest.fixture(scope="module")
def backend(medlit):
    return MemoryBackend(read_all([medlit]))


@pytest.fixture
async def graph(backend):
    async with open_graph(backend, limits=Limits(max_tokens=0)) as opened:
        yield opened


class TestFigures(MedlitSuite):
    """The suite that every store has to pass."""


async def test_the_three_sizes_of_an_answer_are_near_the_published_ones(graph, backend):
    query = {"seeds": [DESMOPRESSIN], "max_hops": 2}
    topology = await tool_calls.asked(graph, "bfs_query", **query, topology_only=True)
    stripped = await tool_calls.asked(graph, "bfs_query", **query)
    result = await bfs_query(backend, BfsQuery(**query))
    full = Draft(SubgraphWriter(stripped=()), result).answer()
    tool_calls.check("bfs_query", full)
    sizes = [len(answer.text) for answer in (topology, stripped, full)]
    assert sizes == [pytest.approx(14_000, rel=0.15), pytest.approx(57_000, rel=0.15), sizes[2]]
    assert sizes[2] == pytest.approx(110_000, rel=0.15)


async def test_pages_of_the_hub_hold_what_the_notes_say(graph):
    whole = await tool_calls.read(graph, "bfs_query", seeds=[CUSHING], max_hops=1)
    edges = []
    for offset in range(0, whole["node_count"], 10):
        page = await tool_calls.read(
            graph, "bfs_query", seeds=[CUSHING], max_hops=1, limit=10, offset=offset
        )
        edges.append(len(page["edges"]))
    assert (whole["node_count"], whole["edge_count"]) == (33, 32)
    assert edges == [9, 0, 0, 0]


async def test_a_default_budget_of_20_000_tokens_holds_the_whole_answer_or_says_what_it_lacks(
    backend,
):
    async with open_graph(backend) as opened:
        for hops in (1, 2, 3):
            answer = await tool_calls.asked(
                opened, "bfs_query", seeds=[DESMOPRESSIN], max_hops=hops
            )
            assert -(-len(answer.text.encode()) // 3) <= 20_000
            lacking = [n for n in answer.content["nodes"] if "metadata" not in n]
            missing = answer.content["node_count"] - len(answer.content["nodes"])
            assert bool(lacking or missing) <= bool(answer.notes)


async def test_a_paper_brings_back_the_passages_that_traversals_leave_out(graph):
    edges = (await tool_calls.read(graph, "bfs_query", seeds=[DESMOPRESSIN], max_hops=1))["edges"]
    assert not any("provenance" in edge["metadata"] for edge in edges)
    paper = await tool_calls.asked(graph, "describe_entity", id="PMC11128938")
    items = json.loads(paper.text)["provenance"]["items"]
    assert items
    assert all(item["text_span"] for item in items)
