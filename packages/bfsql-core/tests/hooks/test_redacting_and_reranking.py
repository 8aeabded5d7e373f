"""Hooks that redact metadata and rerank candidates."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import bfsql
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, Metadata, NodeRecord
from bfsql.tools import Limits
from bfsql_test_support.backends.columns import PlainColumns
from bfsql_test_support.backends.in_memory import CountingBackend
from bfsql_test_support.hooks import Failing, Hiding, Ranking
from bfsql_test_support.tool_calls import asked, if_it_fits

EVERY_TOOL: list[tuple[str, dict[str, Any]]] = [
    ("describe_schema", {}),
    ("search_entities", {"query": "n:"}),
    ("search_entities", {"query": "xyzzy 1"}),
    ("bfs_query", {"seeds": ["n:0"], "max_hops": 2}),
    ("bfs_query", {"seeds": ["n:0"], "max_hops": 1, "min_mentions": 2}),
    ("intersect_subgraphs", {"seeds": ["n:1", "n:2"], "k": 2}),
    ("describe_entity", {"id": "n:0"}),
    ("describe_entities", {"ids": ["n:0", "n:1"]}),
]
NOTE = "withheld, because the server's redaction"


def blank(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: blank(item) for key, item in value.items()}
    if isinstance(value, list):
        return [blank(item) for item in value]
    return "***" if isinstance(value, str) else value


@pytest.mark.parametrize(("tool", "arguments"), EVERY_TOOL)
async def test_metadata_leaves_no_tool_unredacted(secretive, tool, arguments):
    hiding = Hiding(lambda kind, key, metadata: blank(metadata))
    limits = Limits(stripped=())
    async with bfsql.open_graph(secretive, limits=limits, hooks=[hiding]) as graph:
        for _ in ("cold", "warm"):
            answer = await asked(graph, tool, **arguments)
            sent = "".join(answer.blocks).replace('Nothing matches "xyzzy 1"', "")
            assert "xyzzy" not in sent
            assert NOTE not in sent


@pytest.mark.parametrize(("tool", "arguments"), EVERY_TOOL[1:])
async def test_a_redaction_that_fails_lets_nothing_through_and_says_so(secretive, tool, arguments):
    async with bfsql.open_graph(secretive, limits=Limits(stripped=()), hooks=[Failing()]) as graph:
        answer = await asked(graph, tool, **arguments)
    assert "xyzzy" not in "".join(answer.blocks).replace('Nothing matches "xyzzy 1"', "")
    assert NOTE in " ".join(answer.notes)


async def test_no_name_leaves_in_the_error_for_an_unknown_id(secretive):
    async with bfsql.open_graph(secretive, hooks=[Failing()]) as graph:
        with pytest.raises(bfsql.ToolError) as unknown:
            await graph.describe_entity("n:xyzzy")
    assert "Nothing similar" in str(unknown.value)
    assert "n:0" not in str(unknown.value)
    assert "xyzzy 0" not in str(unknown.value)


@pytest.mark.parametrize("returned", [None, 3, "text", [1]])
async def test_a_redaction_that_returns_no_metadata_lets_nothing_through(
    secretive, returned, caplog
):
    hiding = Hiding(lambda kind, key, metadata: returned)
    async with bfsql.open_graph(secretive, hooks=[hiding]) as graph:
        answer = await asked(graph, "describe_entities", ids=["n:0", "n:1"])
    assert "xyzzy" not in answer.text
    assert NOTE in answer.notes[-1]
    assert len([m for m in caplog.messages if "redact_metadata" in m]) == 1, "once a call"


async def test_one_record_that_fails_leaves_the_others(secretive):
    def redact(kind: str, key: Any, metadata: dict[str, Any]) -> dict[str, Any]:
        if key == "n:1":
            raise ValueError
        return metadata

    async with bfsql.open_graph(secretive, hooks=[Hiding(redact)]) as graph:
        answer = await asked(graph, "describe_entities", ids=["n:0", "n:1"])
    assert "xyzzy 0" in answer.text
    assert "xyzzy 1" not in answer.text
    assert answer.notes[-1].startswith("The metadata of 1 record read")


async def test_every_kind_of_record_comes_with_its_key(secretive):
    seen: dict[str, set[Any]] = {}

    def redact(kind: str, key: Any, metadata: dict[str, Any]) -> dict[str, Any]:
        seen.setdefault(kind, set()).add(key)
        return metadata

    async with bfsql.open_graph(secretive, hooks=[Hiding(redact)]) as graph:
        await graph.bfs_query("n:1", 1)
        await graph.describe_entity("n:1")
    assert seen == {
        "node": {"n:0", "n:1"},
        "edge": {("n:0", "NEAR", "n:1")},
        "evidence": {("n:0", "NEAR", "n:1")},
    }


async def test_what_a_redaction_changes_in_place_stays_out_of_the_cache(secretive):
    emptied = []

    def redact(kind: str, key: Any, metadata: dict[str, Any]) -> dict[str, Any]:
        emptied.append("xyzzy" in str(metadata))
        if "deep" in metadata:
            metadata["deep"][0].clear()
        return metadata

    async with bfsql.open_graph(secretive, hooks=[Hiding(redact)]) as graph:
        answers = {(await graph.describe_entities("n:1")).text for _ in range(3)}
        assert (await graph.db.metadata_for_node("n:1"))["deep"] == [{"a": "xyzzy"}]
    assert answers == {'[{"id":"n:1","entity_type":"Thing","deep":[{}],"name":"xyzzy 1"}]'}
    assert all(emptied)


async def test_the_budget_is_kept_by_what_leaves(secretive):
    padded = Hiding(lambda kind, key, metadata: {"long": "*" * 900})
    async with bfsql.open_graph(secretive, hooks=[padded, Failing()]) as failing:
        for budget in (500, 600):
            answer = await if_it_fits(
                failing, "bfs_query", seeds=["n:0"], max_hops=1, max_tokens=budget
            )
            assert answer is None or len(answer.text.encode()) <= 3 * budget
    async with bfsql.open_graph(secretive, hooks=[padded]) as graph:
        answer = await asked(graph, "bfs_query", seeds=["n:0"], max_hops=1, max_tokens=700)
    assert len(answer.text.encode()) <= 3 * 700
    assert any("token budget" in note for note in answer.notes)


async def test_filters_do_not_tell_what_was_redacted():
    nodes = [NodeRecord("n:0", "Thing", {"total_mentions": 1})]
    hiding = Hiding(lambda kind, key, metadata: {})
    async with bfsql.open_graph(MemoryBackend(nodes), hooks=[hiding]) as graph:
        answer = await graph.bfs_query("n:0", 1, min_mentions=5)
    assert answer.content["node_count"] == 1


async def test_a_hook_costs_no_call_but_the_whole_records_of_hits():
    counts = []
    for hooks in ((), [Hiding(lambda kind, key, metadata: metadata)]):
        backend = CountingBackend([NodeRecord(f"n:{i}", "Thing", {"name": "x"}) for i in range(3)])
        async with bfsql.open_graph(backend, hooks=hooks) as graph:
            await graph.bfs_query("n:0", 1)
            await graph.search_entities("x")
        counts.append(backend.calls)
    assert counts[1] - counts[0] == {"metadata_for_nodes_batch": 1}


async def _found(backend: MemoryBackend, hook: object) -> list[str]:
    async with bfsql.open_graph(backend, hooks=[hook]) as graph:
        answer = await asked(graph, "search_entities", query="xyzzy")
    return [hit["id"] for hit in answer.content["result"]]


async def test_candidates_come_in_the_order_of_the_hook(secretive):
    assert await _found(secretive, Ranking(lambda found: found[::-1])) == [
        "n:3",
        "n:2",
        "n:1",
        "n:0",
    ]


async def test_what_a_hook_leaves_out_follows_and_nothing_is_lost(secretive):
    assert await _found(secretive, Ranking(lambda found: [found[2], found[2]])) == [
        "n:2", "n:0", "n:1", "n:3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "rank",
    [
        lambda found: None,
        lambda found: [found[0]._replace(id="n:99")],
        lambda found: [1],
        lambda found: found.clear() or found,
    ],
)
async def test_an_order_that_is_none_leaves_the_one_there_was(secretive, rank):
    assert await _found(secretive, Ranking(rank)) == ["n:0", "n:1", "n:2", "n:3"]


class Bringing(PlainColumns):
    """Columns that read metadata together with the types of nodes."""

    @property
    def node_metadata(self) -> Mapping[str, Metadata]:
        return {"n:0": {"salary": 3}, "n:1": {"salary": 1}, "n:2": {"salary": 2}}


class ColumnsThatBring(MemoryBackend):
    def columns(self) -> Bringing:
        near = [("n:0", "near", "n:1"), ("n:0", "near", "n:2")]
        return Bringing(dict.fromkeys(("n:0", "n:1", "n:2"), "Thing"), near)


@pytest.mark.parametrize("backend", [MemoryBackend, ColumnsThatBring])
@pytest.mark.parametrize(
    "asking",
    [
        {"where": ["salary>1"]},
        {"where": ["Thing.salary>1"]},
        {"where": ["near.salary>1"]},
        {"where": ["salary~3"]},
        {"sort_by": "-salary"},
        {"fields": ["salary"]},
        {"path": ["-near->"], "where": ["1.salary=2"], "sort_by": "salary"},
    ],
)
async def test_a_hidden_key_can_neither_filter_nor_sort_nor_be_shown(backend, asking):
    """The answer equals that of a graph whose records lack the key."""

    def graph(salaries: Sequence[int | None]) -> list[NodeRecord | EdgeRecord]:
        known = [{"salary": salary} if salary else {} for salary in salaries]
        people = [NodeRecord(f"n:{i}", "Thing", {"name": "x"} | known[i]) for i in range(3)]
        return [*people, *(EdgeRecord("n:0", "near", f"n:{i}", known[i]) for i in (1, 2))]

    hiding = Hiding(
        lambda kind, key, metadata: {k: v for k, v in metadata.items() if k != "salary"}
    )
    answers = []
    bare: Any = (MemoryBackend, [None] * 3, [])
    for kind, salaries, hooks in ((backend, [3, 1, 2], [hiding]), bare):
        call = {"seeds": ["n:0"], **({} if "path" in asking else {"max_hops": 1}), **asking}
        async with bfsql.open_graph(kind(graph(salaries)), hooks=hooks) as opened:
            answers.append((await asked(opened, "bfs_query", **call)).text)
    assert answers[0] == answers[1]
