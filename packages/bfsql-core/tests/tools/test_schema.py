"""The schema describes the graph, and answers never contradict it."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from bfsql.answers.schema_text import relations_around
from bfsql.cache import CachedGraphDb
from bfsql.call import Limits
from bfsql.errors import ToolError
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord, outline_of
from bfsql.tools import describe_schema
from bfsql.tools import schema as schemas
from bfsql.tools.describe_schema import COUNTING, MOST_DIRECTIONS, UNCOUNTED
from bfsql_test_support import graph_strategies, tool_calls

TRIALS: list[GraphRecord] = [
    NodeRecord("d1", "Disease", {"name": "Gout"}),
    NodeRecord("d2", "Disease", {"name": "Flu"}),
    *(
        NodeRecord(f"t{i}", "Trial", {"name": f"Trial {i}", "phase": 1 + i % 3, "year": 1998 + i})
        for i in range(28)
    ),
    *(EdgeRecord(f"t{i}", "studies", "d1") for i in range(20)),
    *(
        EdgeRecord(f"t{i}", "follows", f"t{i + 1}", {"confidence": i / 10, "text_span": "..."})
        for i in range(5)
    ),
]


async def schema_of(backend: Any, **limits: Any) -> dict[str, Any]:
    async with open_graph(backend, limits=Limits(**limits), hooks=()) as graph:
        document: dict[str, Any] = await tool_calls.read(graph, "describe_schema")
        return document


async def test_the_schema_shows_relations_and_properties():
    document = await schema_of(MemoryBackend(TRIALS))
    assert document["relations"] == ["Trial -studies-> Disease (20)", "Trial -follows-> Trial (5)"]
    assert (document["relations_from"], document["comprehensive"]) == ("all", True)
    assert document["entity_types"] == ["Disease", "Trial"]
    assert document["predicates"] == ["follows", "studies"]
    assert document["properties"] == {
        "Disease": ["name"],
        "Trial": ["name", "phase: 1 | 2 | 3", "year: 1998..2025"],
        "follows": ["confidence: 0.0..0.4"],
    }
    assert "notes" not in document


async def test_the_ends_of_a_range_have_a_few_digits():
    records = [NodeRecord(f"n{i}", "T", {"x": 1 / (i + 3), "y": i * 10**9}) for i in range(3)]
    document = await schema_of(MemoryBackend(records))
    assert document["properties"]["T"] == ["x: 0.2..0.3333", "y: 0..2000000000"]


async def test_keys_that_traversals_strip_are_not_shown():
    document = await schema_of(MemoryBackend(TRIALS), stripped=("confidence",))
    assert document["properties"]["follows"] == ["text_span: ..."]


async def test_a_property_of_a_predicate_that_is_called_like_a_type_is_distinguished():
    records = [NodeRecord("a", "x", {"k": 1}), EdgeRecord("a", "x", "a", {"l": 2})]
    document = await schema_of(MemoryBackend(records))
    assert document["properties"] == {"x": ["k: 1"], "-x->": ["l: 2"]}


async def test_a_hundred_relations_are_listed_and_the_others_counted():
    records = [NodeRecord("a", "T"), *(EdgeRecord("a", f"p{i:03}", "a") for i in range(130))]
    document = await schema_of(MemoryBackend(records))
    assert len(document["relations"]) == 100
    assert any("100 most frequent of 130" in note for note in document["notes"])


async def test_values_beyond_the_common_ones_are_noted_without_a_number_that_may_be_of_a_sample():
    records = [NodeRecord(f"n{i}", "T", {"country": f"c{i % 11:02}"}) for i in range(44)]
    document = await schema_of(MemoryBackend(records))
    [text] = document["properties"]["T"]
    assert text.endswith("c07 | ...")
    assert document["notes"] == [
        "... marks properties that have more values than the 8 most frequent ones."
    ]


class Sampling(MemoryBackend):
    """A store that knows the relations of a sample, the second of them more often."""

    async def outline(self):
        return outline_of({}, {("T", "p", "T"): 1, ("T", "q", "T"): 2}, sampled=True)


async def test_relations_of_a_sample_are_called_that_and_have_no_numbers():
    document = await schema_of(Sampling([NodeRecord("a", "T"), EdgeRecord("a", "r", "a")]))
    assert list(document)[1:4] == ["comprehensive", "relations_from", "notes"]
    assert (document["comprehensive"], document["relations_from"]) == (True, "sample")
    assert document["relations"] == ["T -q-> T", "T -p-> T"]
    assert any("sample" in note for note in document["notes"])


async def test_a_bare_predicate_has_no_direction_that_only_a_sample_suggests():
    async with open_graph(Sampling([NodeRecord("a", "T"), EdgeRecord("a", "p", "a")])) as graph:
        await graph.counted()
        with pytest.raises(ToolError, match="both are possible"):
            await graph.bfs_query(["a"], path=["p"])


@pytest.mark.parametrize(
    ("call", "part"),
    [
        ({"seeds": ["T:*"], "where": ["no -pp->"]}, 'no predicate "pp". The nearest: p'),
        ({"seeds": ["T[no -p-> Tt]"]}, 'no type "Tt". The nearest: T'),
        ({"seeds": ["a"], "path": ["-p-> T[-pp->]"]}, 'no predicate "pp". The nearest: p'),
    ],
)
async def test_a_condition_on_relations_takes_no_name_that_a_sample_lacks(call, part):
    class Partly(MemoryBackend):
        async def comprehensive(self):
            return False

    async with open_graph(Partly([NodeRecord("a", "T"), EdgeRecord("a", "p", "a")])) as graph:
        with pytest.raises(ToolError, match="only names that describe_schema lists") as error:
            await graph.call("bfs_query", call)
    assert part in str(error.value)


async def test_a_store_without_an_outline_answers_as_before():
    class Untold(MemoryBackend):
        async def outline(self):
            return None

    document = await schema_of(Untold(TRIALS))
    assert {"relations", "relations_from", "properties", "notes"}.isdisjoint(document)


async def test_a_known_outline_costs_a_call_no_task():
    async with open_graph(MemoryBackend(TRIALS)) as graph:
        await graph.counted()
        known = graph.graph_schema
        counting = known._counting
        await graph.bfs_query(["Trial:*"], where=["no -studies-> Disease"], limit=0)
        await graph.describe_schema()
        assert known._counting is counting


async def test_a_call_that_does_not_wait_for_the_outline_ends_before_it_is_counted():
    counted, during = asyncio.Event(), []

    class Watched(MemoryBackend):
        async def outline(self):
            counted.set()
            return await super().outline()

        async def metadata_for_nodes_batch(self, ids, keys=None):
            await asyncio.sleep(0)
            during.append(counted.is_set())
            return await super().metadata_for_nodes_batch(ids, keys)

    async with open_graph(Watched(TRIALS)) as graph:
        await graph.bfs_query(["Trial:*"])
        await counted.wait()
    assert during
    assert not any(during)


async def test_a_store_whose_outline_fails_is_asked_once_and_answers_without(caplog):
    class Failing(MemoryBackend):
        asked = 0

        async def outline(self):
            self.asked += 1
            raise RuntimeError("no statistics")

    store = Failing(TRIALS)
    async with open_graph(store) as graph:
        for _ in range(3):
            assert "relations" not in await tool_calls.read(graph, "describe_schema")
    assert store.asked == 1
    assert "no statistics" in caplog.text


async def test_an_outline_that_takes_long_is_awaited_in_the_background(monkeypatch):
    monkeypatch.setattr(schemas, "WAIT_SECONDS", 0.01)

    class Slow(MemoryBackend):
        gate = asyncio.Event()
        asked = 0

        async def outline(self):
            self.asked += 1
            await self.gate.wait()
            return await super().outline()

    store = Slow(TRIALS)
    async with open_graph(store) as graph:
        first = await tool_calls.read(graph, "describe_schema")
        assert first["notes"] == [COUNTING]
        assert "relations" not in first
        one_hop = await graph.bfs_query(["d1"], 1)
        store.gate.set()
        await asyncio.sleep(0.01)
        assert "relations" in await tool_calls.read(graph, "describe_schema")
        assert (await graph.bfs_query(["d1"], 1)).text == one_hop.text
    assert store.asked == 1


async def test_closing_the_graph_ends_the_counting():
    class Endless(MemoryBackend):
        cancelled = False

        async def outline(self):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled = True
                raise

    store = Endless(TRIALS)
    async with open_graph(store) as graph:
        graph.graph_schema.count()
        await asyncio.sleep(0.01)
    assert store.cancelled


@pytest.mark.parametrize("tokens", [1_500, 2_500, 4_000])
async def test_relations_and_properties_that_do_not_fit_the_budget_are_counted(tokens):
    records: list[GraphRecord] = [NodeRecord("a", "T")]
    records += [EdgeRecord("a", f"predicate_{i:03}", "a", {"weight": 1}) for i in range(90)]
    document = await schema_of(MemoryBackend(records), max_tokens=tokens)
    shown = len(document.get("relations", ()))
    assert len(document["predicates"]) == 90 or shown == 0
    assert shown == 90 or document["notes"]


async def test_a_redacting_hook_leaves_relations_and_no_properties():
    from bfsql.plugins import hookimpl

    class Hide:
        @hookimpl
        def redact_metadata(self, kind, key, metadata):
            return {k: v for k, v in metadata.items() if k != "phase"}

    async with open_graph(MemoryBackend(TRIALS), hooks=[Hide()]) as graph:
        document = await tool_calls.read(graph, "describe_schema")
    assert document["relations"]
    assert "properties" not in document


# --- staleness ----------------------------------------------------------------


class Growing(MemoryBackend):
    """A store whose graph is replaced while it is served."""

    def grow(self, records: list[GraphRecord]) -> None:
        """Replace the graph by these records."""
        MemoryBackend.__init__(self, records)


async def test_a_store_that_was_empty_at_the_start_is_asked_again():
    seconds = [0.0]
    store = Growing()
    db = CachedGraphDb(store, clock=lambda: seconds[0])
    graph = Graph(db, "", Limits(), None)
    empty = await tool_calls.read(graph, "describe_schema")
    assert empty["entity_types"] == []
    assert any("no nodes and no edges" in note for note in empty["notes"])
    assert await tool_calls.read(graph, "search_entities", query="Gout") == []
    store.grow(TRIALS)
    seconds[0] = 10.0
    document = await tool_calls.read(graph, "describe_schema")
    assert document["entity_types"] == ["Disease", "Trial"]
    assert document["relations"]
    assert len(await tool_calls.read(graph, "search_entities", query="Gout")) == 1


class ReadsLong(MemoryBackend):
    """Returns no types before it may."""

    async def entity_types(self) -> list[str]:
        self.readings += 1
        await self.may_return.wait()
        return await super().entity_types()


async def test_lists_that_are_still_being_read_when_serving_begins_are_not_read_again():
    backend = ReadsLong(TRIALS)
    backend.readings, backend.may_return = 0, asyncio.Event()
    async with open_graph(backend, hooks=()) as graph:
        assert graph.schema is None
        backend.may_return.set()
        document = await tool_calls.read(graph, "describe_schema")
    assert document["entity_types"] == ["Disease", "Trial"]
    assert backend.readings == 1


async def test_closing_the_graph_ends_the_reading_of_lists():
    backend = ReadsLong(TRIALS)
    backend.readings, backend.may_return = 0, asyncio.Event()
    before = asyncio.all_tasks()
    async with open_graph(backend, hooks=()) as graph:
        assert graph.schema is None
    async with asyncio.timeout(5):
        await asyncio.gather(*asyncio.all_tasks() - before, return_exceptions=True)


async def test_a_type_that_an_answer_contains_is_a_valid_filter_at_once():
    store = Growing([NodeRecord("a", "T", {"name": "A"}), NodeRecord("d1", "T")])
    async with open_graph(store) as graph:
        assert (await tool_calls.read(graph, "describe_schema"))["entity_types"] == ["T"]
        store.grow([*TRIALS, NodeRecord("a", "T", {"name": "A"})])
        surveyed = await tool_calls.read(graph, "bfs_query", seeds=["t1"], max_hops=1)
        assert "Disease" in surveyed["schema_summary"]["entity_types_found"]
        found = await graph.bfs_query(
            ["t1"], 1, node_types=["Disease"], predicates=["studies"], topology_only=False
        )
        assert found.notes == ()
        told = await tool_calls.read(graph, "describe_schema")
        assert told["entity_types"] == ["Disease", "T", "Trial"]
        assert json.dumps(told["relations"]).count("studies") == 1


async def test_a_type_is_called_unknown_only_after_the_schema_was_read_again(monkeypatch):
    monkeypatch.setattr(schemas, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(schemas, "SLOW_FACTOR", 0)
    store = Growing([NodeRecord("t1", "T", {"name": "A"})])
    async with open_graph(store) as graph:
        store.grow(TRIALS)
        answer = await graph.bfs_query(["t1"], 1, node_types=["Disease"])
        assert answer.notes == ()
        [note] = (await graph.bfs_query(["t1"], 1, node_types=["Diseases"])).notes
        assert '"Diseases"' in note


async def test_an_answer_that_has_a_type_does_not_say_that_the_graph_lacks_it():
    store = Growing([NodeRecord("t1", "T", {"name": "A"})])
    async with open_graph(store) as graph:
        await graph.describe_schema()
        store.grow(TRIALS)  # before the lists are due to be read again
        answer = await graph.bfs_query(["t1"], 1, node_types=["Disease", "Nothing"])
        [note] = answer.notes
        assert '"Nothing"' in note
        assert "Disease" in answer.content["schema_summary"]["entity_types_found"]
        assert (await graph.search_entities("Gout", node_types=["Disease"])).notes == ()


# --- around entities ----------------------------------------------------------


async def test_edges_to_ids_without_a_node_are_noted_wherever_edges_are_counted():
    gone = [EdgeRecord("t1", "cites", "gone:1"), EdgeRecord("gone:1", "cites", "t1")]
    async with open_graph(MemoryBackend([*TRIALS, *gone])) as graph:
        notes = [
            (await graph.describe_schema(["t1"])).content["notes"],
            (await graph.describe_entity("t1")).content["notes"],
            (await graph.bfs_query(["t1"])).content["notes"],
        ]
    [told] = notes[0]
    assert told.startswith("2 edges were left out: the graph has no node for 1 id at the other end")
    assert notes == [[told]] * 3


async def test_an_entity_without_edges_has_a_schema_of_itself():
    async with open_graph(MemoryBackend(TRIALS)) as graph:
        document = await tool_calls.read(graph, "describe_schema", seeds=["d2"])
        with pytest.raises(ToolError, match="d9") as refused:
            await graph.call("describe_schema", {"seeds": ["d9"]})
    assert document["relations"] == []
    assert document["node_counts"] == {"Disease": 1}
    assert refused.value.argument == "seeds"


@given(graph_strategies.graphs_with_seeds(seeds=3))
@settings(max_examples=30)
async def test_relations_around_entities_are_those_of_their_edges(case):
    drawn_graph, seeds = case
    store = MemoryBackend(drawn_graph.records)
    types = {n.id: n.entity_type for n in await store.get_nodes_batch(list(drawn_graph.ids))}
    ring = {edge for edge in await store.edges_batch(seeds) if {edge[0], edge[2]} <= types.keys()}
    counts = Counter((types[s], p, types[o]) for s, p, o in ring)
    async with open_graph(store, hooks=()) as graph:
        document = await tool_calls.read(graph, "describe_schema", seeds=seeds)
        entity = await tool_calls.read(graph, "describe_entity", id=seeds[0])
    assert document["relations"] == list(relations_around(counts).relations)
    assert document["edge_count"] == len(ring)
    steps = Counter(f"-{p}->" for s, p, _ in ring if s == seeds[0])
    steps.update(f"<-{p}-" for _, p, o in ring if o == seeds[0])
    assert entity.get("edges", {}) == steps
    assert list(entity.get("edges", {}).values()) == sorted(steps.values(), reverse=True)


# --- edges by predicate and direction -----------------------------------------


async def test_edges_that_cannot_be_counted_in_time_are_said(monkeypatch):
    monkeypatch.setattr(describe_schema, "COUNT_SECONDS", 0.01)

    class Slow(MemoryBackend):
        async def edges_batch(self, ids, *, predicates=None, direction=None):
            await asyncio.Event().wait()

    async with open_graph(Slow(TRIALS)) as graph:
        entity = await tool_calls.read(graph, "describe_entity", id="d1")
    assert entity["notes"] == [UNCOUNTED]
    assert "edges" not in entity


async def test_edges_of_very_many_predicates_are_bounded():
    many = MOST_DIRECTIONS + 20
    records = [NodeRecord("a", "T"), NodeRecord("b", "T")]
    edges = [EdgeRecord("a", f"p{i:03}", "b") for i in range(many)]
    async with open_graph(MemoryBackend([*records, *edges])) as graph:
        entity = await tool_calls.read(graph, "describe_entity", id="a")
    assert len(entity["edges"]) == MOST_DIRECTIONS
    [note] = entity["notes"]
    assert f"of {many}" in note


async def test_metadata_called_edges_keeps_a_place_of_its_own():
    records = [NodeRecord("a", "T", {"edges": 7}), EdgeRecord("a", "p", "a")]
    async with open_graph(MemoryBackend(records)) as graph:
        entity = await tool_calls.read(graph, "describe_entity", id="a")
    assert entity["edges"] == {"-p->": 1, "<-p-": 1}
    assert entity["metadata.edges"] == 7
