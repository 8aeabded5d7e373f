"""Hooks that watch calls, and hooks that refuse them."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

import bfsql
from bfsql.call import Caller
from bfsql.memory import MemoryBackend
from bfsql.models import NodeRecord, Triple
from bfsql.plugins import hookimpl
from bfsql.tools import Limits
from bfsql_test_support.hooks import Failing, Refusing, Watcher


async def test_a_watcher_is_told_of_a_call_with_the_values_that_were_used(secretive):
    watcher = Watcher()
    async with bfsql.open_graph(secretive, hooks=[watcher]) as graph:
        answer = await graph.call("bfs_query", {"seeds": "n:0", "max_hops": "1"})
    [seen] = watcher.seen
    assert seen["tool"] == "bfs_query"
    assert seen["arguments"]["seeds"] == ["n:0"]
    assert seen["arguments"]["max_hops"] == 1
    assert seen["arguments"]["topology_only"] is False
    assert seen["caller"] is None
    assert seen["outcome"].size == len(answer.text.encode())
    assert seen["outcome"].rows == {"nodes": 4, "edges": 3}
    assert seen["outcome"].error is None
    assert seen["seconds"] > 0


@pytest.mark.parametrize(
    ("tool", "arguments", "rows"),
    [
        ("describe_schema", {}, {"entity_types": 1, "predicates": 1}),
        ("search_entities", {"query": "xyzzy"}, {"items": 4}),
        ("describe_entity", {"id": "n:1"}, {"items": 1}),
        ("describe_entities", {"ids": ["n:1", "n:2", "n:9"]}, {"items": 2}),
        ("intersect_subgraphs", {"seeds": ["n:1", "n:2"], "k": 1}, {"nodes": 1, "edges": 0}),
    ],
)
async def test_rows_say_how_much_of_what_an_answer_holds(secretive, tool, arguments, rows):
    watcher = Watcher()
    async with bfsql.open_graph(secretive, hooks=[watcher]) as graph:
        await graph.call(tool, arguments, caller=Caller("someone", "a subject"))
    assert watcher.seen[0]["outcome"].rows == rows
    assert watcher.seen[0]["caller"] == Caller("someone", "a subject")


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("bfs_qery", {}, "unknown_tool"),
        ("bfs_query", ["n:0"], "bad_value"),
        ("bfs_query", {"seed": "n:0"}, "unknown_argument"),
        ("describe_entity", {"id": "n:9", "at": None}, "unknown_entity"),
    ],
)
async def test_a_watcher_is_told_of_a_wrong_call_too(secretive, tool, arguments, kind):
    watcher = Watcher()
    async with bfsql.open_graph(secretive, hooks=[watcher]) as graph:
        with pytest.raises(bfsql.ToolError):
            await graph.call(tool, arguments)
    [seen] = watcher.seen
    assert (seen["tool"], seen["outcome"].error, seen["outcome"].rows) == (tool, kind, {})
    assert seen["arguments"] == (arguments if isinstance(arguments, dict) else {})


class Hanging(MemoryBackend):
    """Never returns from the middle of a traversal."""

    reached = asyncio.Event()

    async def edges_batch(self, ids: Sequence[str]) -> list[Triple]:
        self.reached.set()
        await asyncio.Event().wait()
        return []


async def test_a_watcher_is_told_of_a_call_that_was_cancelled():
    watcher = Watcher()
    hanging = Hanging([NodeRecord("n:0", "Thing", {})])
    async with bfsql.open_graph(hanging, hooks=[watcher]) as graph:
        asking = asyncio.ensure_future(graph.bfs_query("n:0", 1))
        await hanging.reached.wait()
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
    assert watcher.seen[0]["outcome"].error == "cancelled"


async def test_a_refusal_is_an_answer_and_the_store_is_not_asked(secretive):
    watcher = Watcher()
    async with bfsql.open_graph(secretive, hooks=[Refusing("Not today."), watcher]) as graph:
        with pytest.raises(bfsql.ToolError, match=r"^Not today\.$") as refused:
            await graph.describe_entity("n:0")
    assert refused.value.kind == "refused"
    assert watcher.seen[0]["outcome"].error == "refused"


@pytest.mark.parametrize("verdict", [True, "", 3])
async def test_a_refusal_without_a_sentence_is_reported_and_is_none(secretive, verdict, caplog):
    async with bfsql.open_graph(secretive, hooks=[Refusing(verdict)]) as graph:
        assert (await graph.describe_entity("n:0")).text
    assert f"it returned {verdict!r}, not a sentence" in caplog.text


async def test_what_a_hook_does_to_its_arguments_changes_nothing(secretive):
    class Meddling:
        @hookimpl
        def refuse_call(self, arguments: dict[str, Any]) -> None:
            arguments["seeds"].append("n:1")
            arguments["max_hops"] = 5

    watcher = Watcher()
    async with bfsql.open_graph(secretive, hooks=[Meddling(), watcher]) as graph:
        answer = await graph.bfs_query(["n:0"], 1)
    assert (answer.content["seeds"], answer.content["max_hops"]) == (["n:0"], 1)


async def test_a_policy_that_takes_too_long_ends_with_the_call(secretive, caplog):
    class Waiting:
        @hookimpl
        async def refuse_call(self) -> None:
            await asyncio.Event().wait()

    limits = Limits(deadline=0.01)
    async with bfsql.open_graph(secretive, limits=limits, hooks=[Waiting()]) as graph:
        with pytest.raises(bfsql.ToolError) as late:
            await graph.describe_entity("n:0")
    assert late.value.kind == "deadline"
    assert "The hook refuse_call of the plugin Waiting failed: TimeoutError" in caplog.text


async def test_a_plugin_that_fails_everywhere_breaks_no_answer_and_is_reported(secretive, caplog):
    async with bfsql.open_graph(secretive, hooks=()) as graph:
        wanted = (await graph.search_entities("n:0")).content["result"][0]["id"]
    watcher = Watcher()
    with caplog.at_level(logging.ERROR, "bfsql.hooks"):
        async with bfsql.open_graph(secretive, hooks=[Failing(), watcher]) as graph:
            found = await graph.search_entities("n:0")
    assert found.content["result"][0]["id"] == wanted
    assert watcher.seen[0]["outcome"].error is None
    for hook, why in [
        ("watch_call", "watcher"),
        ("refuse_call", "policy"),
        ("redact_metadata", "redaction"),
        ("rerank_candidates", "order"),
    ]:
        sentence = f"The hook {hook} of the plugin Failing failed: RuntimeError: broken {why}"
        assert caplog.messages.count(sentence) == 1
