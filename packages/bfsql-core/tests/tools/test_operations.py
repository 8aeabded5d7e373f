"""Search, description and schema: the contents of answers and notes."""

import asyncio
import itertools
import json
import logging

import pytest

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable, ToolError
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, EntityStub, EvidenceRecord, NodeRecord, Omission
from bfsql.tools import third_of_bytes
from bfsql_test_support import tool_calls
from bfsql_test_support.backends.in_memory import BareBackend
from bfsql_test_support.backends.recording import watched


async def test_entities_come_in_the_order_asked_each_once_and_unknown_ones_in_a_note(graph):
    answer = await tool_calls.asked(
        graph, "describe_entities", ids=["7", "nobody", "RxNorm:3251", "7", "no one"]
    )
    assert [record["id"] for record in json.loads(answer.text)] == ["7", "RxNorm:3251"]
    [note] = answer.notes
    assert '"nobody", "no one"' in note
    assert "provenance" not in answer.text


async def test_a_list_answer_is_the_array_itself_and_its_notes_follow(graph):
    whole = await graph.describe_entities(["7"])
    assert whole.blocks == (whole.text,)
    assert whole.content == {"result": json.loads(whole.text)}
    lacking = await graph.describe_entities(["7", "nobody"])
    assert lacking.blocks == (whole.text, "\n".join(lacking.notes))
    assert lacking.content == {"result": json.loads(whole.text), "notes": list(lacking.notes)}
    only_unknown = await graph.describe_entities("nobody")
    assert only_unknown.text == "[]"
    assert len(only_unknown.blocks) == 2


async def test_an_object_answer_is_one_block_with_its_notes_inside(graph):
    answer = await graph.bfs_query("RxNorm:3251", 1, node_types=["Druk"])
    assert answer.blocks == (answer.text,)
    assert json.loads(answer.text) == answer.content


async def test_a_flat_record_hides_neither_its_own_fields_nor_the_metadata(over):
    metadata = {"id": "other", "notes": "n", "provenance": "p", "entity_type": "x", "name": "A"}
    document = await tool_calls.read(
        over(MemoryBackend([NodeRecord("a", "T", metadata)])), "describe_entity", id="a"
    )
    assert document == {
        "id": "a",
        "entity_type": "T",
        "metadata.entity_type": "x",
        "metadata.id": "other",
        "name": "A",
        "metadata.notes": "n",
        "metadata.provenance": "p",
    }


def with_evidence(count: int) -> list[object]:
    edges = [
        EdgeRecord("a", "p", f"b{i:03}", {"strongest_evidence_quote": "q"}) for i in range(count)
    ]
    said = [
        EvidenceRecord("a", "p", f"b{i:03}", {"document_id": f"d{i}", "text_span": "It does."})
        for i in range(count)
    ]
    nodes = [NodeRecord("a", "T"), *(NodeRecord(f"b{i:03}", "T") for i in range(count))]
    return [*nodes, *edges, *said]


async def test_a_description_has_twenty_items_of_evidence_and_their_total(over):
    graph = over(MemoryBackend(with_evidence(30)))
    document = await tool_calls.read(graph, "describe_entity", id="a")
    assert document["provenance"]["total"] == 30
    assert len(document["provenance"]["items"]) == 20
    assert document["provenance"]["items"][0] == {
        "subject": "a",
        "predicate": "p",
        "object": "b000",
        "document_id": "d0",
        "text_span": "It does.",
    }
    assert document["notes"] == ["provenance: the first 20 of 30 items."]


async def test_a_document_shows_the_evidence_that_it_supplied(over):
    graph = over(MemoryBackend([*with_evidence(3), NodeRecord("d1", "Paper")]))
    document = await tool_calls.read(graph, "describe_entity", id="d1")
    assert [item["object"] for item in document["provenance"]["items"]] == ["b001"]
    assert "notes" not in document


async def test_the_default_evidence_reads_fifty_edges_and_says_so(over):
    backend, watch = watched(BareBackend)(with_evidence(60))
    document = await tool_calls.read(over(backend), "describe_entity", id="a")
    assert document["provenance"]["total"] is None
    assert len(document["provenance"]["items"]) == 20
    assert "first 50 edges" in document["notes"][0]
    assert watch.count("metadata_for_edge") == 50


async def test_an_entity_without_evidence_has_no_provenance(graph):
    assert "provenance" not in await tool_calls.read(graph, "describe_entity", id="7")


async def test_a_backend_that_gives_more_evidence_than_asked_for_is_cut(over):
    class Generous(MemoryBackend):
        async def provenance_for_node(self, entity_id, limit):
            return await super().provenance_for_node(entity_id, 10_000)

    document = await tool_calls.read(over(Generous(with_evidence(30))), "describe_entity", id="a")
    assert len(document["provenance"]["items"]) == 20
    assert document["notes"] == ["provenance: the first 20 of 30 items."]


async def test_what_a_backend_leaves_out_is_reported_by_every_tool(over):
    class Limited(MemoryBackend):
        async def get_nodes_batch(self, ids):
            call.omitted(Omission("a", "in", 7))
            return await super().get_nodes_batch(ids)

        async def search_entities(self, query, node_types=None):
            call.omitted(Omission("a", "in", 7))
            return await super().search_entities(query, node_types)

    graph = over(Limited(with_evidence(2)))
    for _ in range(2):
        for tool, arguments in (
            ("describe_entity", {"id": "a"}),
            ("describe_entities", {"ids": ["a"]}),
            ("search_entities", {"query": "a"}),
            ("bfs_query", {"seeds": ["a"], "max_hops": 1}),
            ("intersect_subgraphs", {"seeds": ["a", "b000"], "k": 1}),
        ):
            answer = await tool_calls.asked(graph, tool, **arguments)
            assert [n for n in answer.notes if "At least 7 incoming edges of a" in n], tool


async def test_hits_without_names_get_them_from_one_batch(over):
    class Nameless(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            found = await super().search_entities(query, node_types)
            return [EntityStub("odd", "T", "Kept"), *(s._replace(name=None) for s in found)]

    backend, watch = watched(Nameless)(
        [NodeRecord(f"n{i:02}", "T", {"name": f"N {i}"}) for i in range(9)]
    )
    asked: list[list[str]] = []

    class Counting(type(backend)):  # type: ignore[misc]
        async def metadata_for_nodes_batch(self, ids):
            asked.append(list(ids))
            return await super().metadata_for_nodes_batch(ids)

    backend.__class__ = Counting
    hits = await tool_calls.read(over(backend), "search_entities", query="n0")
    assert [hit.get("name") for hit in hits] == [*(f"N {i}" for i in range(9)), "Kept"]
    assert len(asked) == 1
    assert watch.count("search_entities") == 1


async def test_a_search_gives_twenty_hits_at_the_most(over):
    class Many(MemoryBackend):
        async def search_entities(self, query, node_types=None):
            return [EntityStub(f"n{i}", "T") for i in range(1_000)]

    assert len(await tool_calls.read(over(Many()), "search_entities", query="n")) == 20


async def test_a_search_that_finds_nothing_says_what_to_try(graph):
    answer = await tool_calls.asked(graph, "search_entities", query="zzz", node_types=["Drug"])
    assert answer.text == "[]"
    [note] = answer.notes
    assert '"zzz"' in note
    assert "Drug" in note
    assert "node_types" in note


@pytest.mark.parametrize("tokens", [1_500, 3_000, 20_000])
async def test_a_schema_too_long_for_the_budget_is_thinned_evenly_with_true_totals(over, tokens):
    records = [NodeRecord(f"n{i}", f"type number {i:05}") for i in range(8_000)]
    records += [EdgeRecord("n0", f"predicate {i:05}", "n1") for i in range(4_000)]
    graph = over(MemoryBackend(records), max_tokens=tokens)
    answer = await tool_calls.asked(graph, "describe_schema")
    document = json.loads(answer.text)
    assert third_of_bytes(answer.text.encode()) <= tokens
    assert document["comprehensive"] is False
    [note] = document["notes"]
    types, predicates = document["entity_types"], document["predicates"]
    assert f"{len(types)} of 8000 entity types" in note
    assert f"{len(predicates)} of 4000 predicates" in note
    assert types == sorted(types)
    if len(types) > 10:
        numbers = [int(name.split()[-1]) for name in types]
        steps = [b - a for a, b in itertools.pairwise(numbers)]
        assert max(steps) - min(steps) <= 1
        assert abs(len(types) - 2 * len(predicates)) <= 2


async def test_a_schema_is_valid_under_the_smallest_budget(over):
    records = [NodeRecord(f"n{i}", f"type number {i:05}") for i in range(100)]
    document = await tool_calls.read(
        over(MemoryBackend(records), max_tokens=500), "describe_schema"
    )
    assert len(document["entity_types"]) < 20
    assert f"{len(document['entity_types'])} of 100 entity types" in document["notes"][0]


SECRET = "postgres://user:hunter2@host/db"


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (StoreError(SECRET), "store"),
        (StoreUnavailable(SECRET), "store"),
        (ConnectionError(SECRET), "internal"),
        (RecursionError(SECRET), "internal"),
    ],
)
async def test_a_fault_shows_an_incident_and_nothing_of_the_inside(
    graph, store, caplog, fault, kind
):
    store[1].failures = [fault]
    with caplog.at_level(logging.WARNING, logger="bfsql"), pytest.raises(ToolError) as caught:
        await graph.describe_schema()
    error = caught.value
    assert (error.kind, error.argument) == (kind, None)
    assert "hunter2" not in str(error)
    incident = str(error).split("incident ")[1].rstrip(".")
    [record] = caplog.records
    assert incident in record.getMessage()
    assert "@host/db" in caplog.text
    assert record.levelname == ("WARNING" if isinstance(fault, StoreUnavailable) else "ERROR")
    if isinstance(fault, StoreError):  # its sentence has the reason
        assert record.exc_info is None
    else:
        assert record.exc_info is not None
        assert record.exc_info[1] is fault
    assert await graph.describe_schema()


async def test_an_error_of_the_store_has_a_traceback_in_a_log_for_debugging(graph, store, caplog):
    store[1].failures = [fault := StoreError("The table nodes is missing.")]
    with caplog.at_level(logging.DEBUG, logger="bfsql"), pytest.raises(ToolError):
        await graph.describe_schema()
    [record] = [one for one in caplog.records if "incident" in one.getMessage()]
    assert record.getMessage().endswith("the store refused the call: The table nodes is missing.")
    assert record.exc_info[1] is fault


async def test_hits_whose_names_come_too_late_are_given_without_and_said(over):
    class Nameless(BareBackend):
        async def search_entities(self, query):
            return [stub._replace(name=None) for stub in await super().search_entities(query)]

        async def metadata_for_node(self, entity_id):
            await asyncio.Event().wait()

    graph = over(Nameless([NodeRecord("a", "T", {"name": "Alpha"})]), deadline=0.05)
    answer = await graph.search_entities("Alpha")
    assert json.loads(answer.text) == [
        {"id": "a", "entity_type": "T", "score": None, "match": "other"}
    ]
    [note] = answer.notes
    assert note.startswith("The names of some hits are missing")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("describe_schema", {}),
        ("search_entities", {"query": "x"}),
        ("bfs_query", {"seeds": ["7"], "max_hops": 1}),
        ("describe_entity", {"id": "7"}),
        ("describe_entities", {"ids": ["7"]}),
        ("intersect_subgraphs", {"seeds": ["7", "RxNorm:3251"], "k": 1}),
    ],
)
async def test_a_store_that_does_not_answer_in_time_is_said_and_left(over, store, tool, arguments):
    backend, watch = store
    watch.gate = asyncio.Event()
    with pytest.raises(ToolError, match=r"within 0\.01 s") as caught:
        await over(backend, deadline=0.01).call(tool, arguments)
    assert caught.value.kind == "deadline"
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert watch.cancelled, "the store's work is stopped"


async def test_a_cancelled_call_stops_the_stores_work(graph, store):
    _, watch = store
    watch.gate = asyncio.Event()
    asking_now = asyncio.create_task(graph.bfs_query("7", 1))
    await watch.arrived.wait()
    asking_now.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking_now
    await asyncio.sleep(0)
    assert sorted(watch.cancelled) == ["edges_batch", "get_nodes_batch"]
