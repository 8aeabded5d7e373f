"""Bounds, the deadline and cancellation are checked between the batches of a ring."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import Graph, Limits, MemoryBackend, ToolError, open_graph
from bfsql.abc import GraphDbInterface
from bfsql.integers import IntArray, Ring
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_test_support import graph_strategies, tool_calls
from bfsql_test_support.backends.columns import ColumnsOverMemory, PlainColumns, TypedStream
from bfsql_test_support.suites.agreement import assert_same_answers

BATCH = 50
SPOKES = 1_000
PAUSE = 0.05
"""Seconds between two batches of a slow store."""
DEADLINE = 1.5
WHOLE = 200
"""Number of batches of a hub that a slow store reads in 10 s."""


class Given:
    """Record of what a store has read.

    Args:
        pause: Seconds before each batch of a large ring.
    """

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self.rings: list[int] = []
        """Number of edges of each ring so far."""
        self.batches = 0
        """Number of batches of large rings."""
        self.under_way = 0
        self.begun = asyncio.Event()
        """An event that the first batch of a large ring sets."""

    @contextmanager
    def ring(self) -> Iterator[None]:
        """A context for reading a ring."""
        self.rings.append(0)
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    async def batch(self, size: int) -> None:
        """Record a batch before it is yielded; pause if it belongs to a large ring."""
        if size == BATCH:
            await asyncio.sleep(self.pause)
            self.batches += 1
            self.begun.set()
        self.rings[-1] += size


class CountedColumns(ColumnsOverMemory):
    """A backend with columns that records what is read from them."""

    class Counted(PlainColumns):
        """Columns that record what is read."""

        given: Given

        async def rings(self, handles: IntArray, **part: Any) -> AsyncGenerator[Ring]:
            with self.given.ring():
                async for ring in super().rings(handles, **part):
                    await self.given.batch(len(ring.subjects))
                    yield ring

    kind = Counted

    def __init__(self, records: Sequence[GraphRecord], pause: float = 0) -> None:
        super().__init__(records, BATCH)
        self.given = Given(pause)

    def columns(self) -> PlainColumns:
        columns = super().columns()
        columns.given = self.given  # type: ignore[attr-defined]
        return columns


class CountedStream(TypedStream):
    """A backend with typed rows that records what is read."""

    def __init__(self, records: Sequence[GraphRecord], pause: float = 0) -> None:
        super().__init__(records, BATCH)
        self.given = Given(pause)

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[Any]:
        with self.given.ring():
            async for rows in super().edges_stream(ids):
                await self.given.batch(len(rows))
                yield rows


def near_a_hub(spokes: int = SPOKES) -> list[GraphRecord]:
    """A graph with a start, a neighbour of it, and a hub next to the neighbour."""
    names = ["start", "other", "beside", "hub", *(f"s:{number:05}" for number in range(spokes))]
    triples = [
        ("start", "TREATS", "beside"),
        ("other", "TREATS", "beside"),
        ("beside", "causes", "hub"),
        *(("hub", "causes", name) for name in names[4:]),
    ]
    nodes = [NodeRecord(name, "Gene", {"name": name}) for name in names]
    return [*nodes, *(EdgeRecord(*triple) for triple in triples)]


@asynccontextmanager
async def opened(way: str, limits: Limits, **options: Any) -> AsyncIterator[tuple[Graph, Given]]:
    """The graph of `near_a_hub` in columns or in rows, with or without a cache."""
    kind = CountedColumns if way == "columns" else CountedStream
    pause = options.pop("pause", 0)
    backend = kind(near_a_hub(**options), pause)
    if way == "rows":
        yield Graph(backend, "", limits, None), backend.given
        return
    async with open_graph(backend, limits=limits) as graph:
        yield graph, backend.given


async def same_as_at_its_depth(answer: dict[str, Any], tool: str, depth: str, why: str) -> None:
    """Check a stopped answer against the whole answer at the depth that it states."""
    note = answer["notes"][-1]
    [finished] = re.findall(rf"Stopped at {depth}=(\d) of 3, because {why}", note)
    # An intersection contains the edges among its outermost nodes, and at k=2 the hub is one of
    # them: if its ring cannot be read, the answer is that of k=1.
    assert int(finished) == 2 or (tool == "intersect_subgraphs" and int(finished) == 1)
    exact = await whole(tool, **{depth: int(finished)})
    assert without(answer, depth, "notes") == without(exact, depth, "notes", "complete")


async def whole(tool: str, **depth: int) -> dict[str, Any]:
    """The reference's answer at a depth."""
    graph = Graph(MemoryBackend(near_a_hub()), "", Limits(max_tokens=0), None)
    return await stubs(graph, tool, **depth)


async def stubs(graph: Graph, tool: str, **depth: int) -> dict[str, Any]:
    """The answer of a graph without metadata, which could exceed the deadline."""
    answer: dict[str, Any] = await tool_calls.read(
        graph, tool, seeds=SEEDS, topology_only=True, **depth
    )
    return answer


NAMES = ("columns", "rows", "rows in a cache")
WAYS = pytest.mark.parametrize("way", NAMES)
SEEDS = ["start", "other"]
CALLS = pytest.mark.parametrize(
    ("tool", "depth"), [("bfs_query", "max_hops"), ("intersect_subgraphs", "k")]
)


def without(answer: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key not in keys}


@WAYS
@CALLS
async def test_a_bound_in_the_middle_of_a_hub_gives_the_last_whole_ring(way, tool, depth):
    for bound in ("nodes", "edges"):
        async with opened(way, Limits(max_tokens=0, **{f"max_{bound}": 300})) as (graph, given):
            answer = await stubs(graph, tool, **{depth: 3})
        await same_as_at_its_depth(answer, tool, depth, f".* limit on {bound}")
        assert given.under_way == 0, "the ring was left"
        assert given.rings[2] <= 300 + BATCH, bound


@WAYS
@CALLS
async def test_a_bound_in_the_first_ring_is_an_error_that_names_the_hub(way, tool, depth):
    for bound in ("nodes", "edges"):
        async with opened(way, Limits(**{f"max_{bound}": 300})) as (graph, given):
            with pytest.raises(ToolError, match=f"hub and 1 more .*300 {bound}") as refused:
                await tool_calls.asked(graph, tool, seeds=["hub", "start"], **{depth: 1})
        assert refused.value.kind == "too_large"
        assert given.under_way == 0
        assert given.rings[0] <= 300 + BATCH, bound


@given(
    case=graph_strategies.hubs_with_seeds(),
    depth=st.integers(1, 4),
    bound=st.sampled_from(["nodes", "edges"]),
    most=st.integers(2, 40),
    batch=st.sampled_from([1, 3, 1000]),
)
async def test_every_way_stops_at_the_same_ring_with_the_same_bytes(
    *, case, depth, bound, most, batch
):
    graph, seeds = case
    limits = Limits(**{f"max_{bound}": most})
    backends = [
        MemoryBackend(graph.records),
        ColumnsOverMemory(graph.records, batch),
        TypedStream(graph.records, batch),
    ]
    graphs = [Graph(db, "", limits, None) for db in backends]
    async with open_graph(backends[2], limits=limits) as cached:
        graphs.append(cached)
        await assert_same_answers(graphs, "bfs_query", seeds=seeds, max_hops=depth)
        await assert_same_answers(graphs, "intersect_subgraphs", seeds=seeds, k=depth)


async def test_more_seeds_than_the_bound_on_nodes_are_refused_in_every_way():
    ids = ["a", "b", "c"]
    records: list[GraphRecord] = [NodeRecord(one, "Drug") for one in ids]
    records += [EdgeRecord(one, "TREATS", one) for one in ids]
    backend = TypedStream(records, 1)
    async with open_graph(backend, limits=Limits(max_nodes=2)) as cached:
        for graph in (cached, Graph(backend, "", Limits(max_nodes=2), None)):
            with pytest.raises(ToolError, match="limit of 2 nodes"):
                await tool_calls.asked(graph, "bfs_query", seeds=ids, max_hops=1)


# With a store that returns a batch every 50 ms. At most this many pauses fit into the deadline;
# on a busy machine, fewer do.

MOST_BATCHES = int(DEADLINE / PAUSE)


@pytest.mark.slow
@CALLS
async def test_a_deadline_in_the_middle_of_a_hub_gives_the_last_whole_ring(tool, depth):
    limits = Limits(max_tokens=0, deadline=DEADLINE)

    async def stopped(way: str) -> dict[str, Any]:
        async with opened(way, limits, spokes=WHOLE * BATCH, pause=PAUSE) as (graph, given):
            answer = await stubs(graph, tool, **{depth: 3})
            await _nothing_more(given)
        return answer

    for answer in await asyncio.gather(*map(stopped, NAMES)):  # each waits most of the time
        await same_as_at_its_depth(answer, tool, depth, "this call reached its time limit")


@pytest.mark.slow
async def test_a_deadline_in_the_first_ring_is_an_error_that_names_the_hub():
    limits = Limits(deadline=DEADLINE)

    async def refused(way: str) -> ToolError:
        async with opened(way, limits, spokes=WHOLE * BATCH, pause=PAUSE) as (graph, given):
            with pytest.raises(ToolError, match=r"hub could not be read within 1\.5 s") as error:
                await tool_calls.asked(graph, "bfs_query", seeds=["hub"], max_hops=2)
            await _nothing_more(given)
        return error.value

    for error in await asyncio.gather(*map(refused, NAMES)):
        assert error.kind == "deadline"


@WAYS
async def test_a_call_that_is_cancelled_reads_no_further_batch(way):
    async with opened(way, Limits(), spokes=WHOLE * BATCH, pause=PAUSE) as (graph, given):
        asked = asyncio.ensure_future(graph.bfs_query(["start"], 3))
        await given.begun.wait()
        asked.cancel()
        await asyncio.wait([asked])
        assert asked.cancelled()
        await _nothing_more(given)


async def _nothing_more(given: Given) -> None:
    """Check that the current ring was abandoned in time, and that no further batch is read."""
    for _ in range(3):  # a shared call of the cache ends once its last caller has left
        await asyncio.sleep(0)
    assert given.under_way == 0
    read = given.batches
    await asyncio.sleep(3 * PAUSE)
    assert 0 < given.batches == read <= MOST_BATCHES


async def test_evidence_of_a_hub_past_the_bound_is_an_error_with_a_sentence():
    class Default(MemoryBackend):
        """Uses the default implementation, which searches the node's edges for evidence."""

        provenance_for_node = GraphDbInterface.provenance_for_node

    edges = [EdgeRecord("hub", "has", f"n{number}") for number in range(50)]
    backend = Default([NodeRecord("hub", "Hub"), *edges])
    async with open_graph(backend, limits=Limits(max_edges=10)) as graph:
        with pytest.raises(ToolError, match="limit of 10 edges") as refused:
            await graph.describe_entity("hub")
    assert refused.value.kind == "too_large"
