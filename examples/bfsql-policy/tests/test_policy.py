"""The three settings, over a graph in memory."""

import json
from contextlib import AbstractAsyncContextManager

import pytest
from bfsql_policy import Policy

import bfsql
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord

EVIDENCE = [{"document_id": "d:1", "text_span": "Helm plays Maria.", "confidence": 0.9}]
GRAPH: list[GraphRecord] = [
    NodeRecord("film:1", "Film", {"name": "Maria", "year": 1927, "crew": [{"email": "a@b.c"}]}),
    NodeRecord("role:1", "Role", {"name": "Maria"}),
    EdgeRecord("role:1", "IN", "film:1", {"email": "d@e.f", "provenance": EVIDENCE}),
]


def opened(**policy: str) -> AbstractAsyncContextManager[bfsql.Graph]:
    settings = {f"BFSQL_POLICY_{name.upper()}": value for name, value in policy.items()}
    return bfsql.open_graph(bfsql.MemoryBackend(GRAPH), hooks=[Policy(settings)])


async def test_a_refused_tool_is_answered_with_a_sentence_and_the_others_work() -> None:
    async with opened(refuse="describe_entity, bfs_query") as graph:
        with pytest.raises(bfsql.ToolError, match="does not allow describe_entity") as refused:
            await graph.describe_entity("film:1")
        assert refused.value.kind == "refused"
        assert (await graph.search_entities("Maria")).content["result"]


async def test_a_redacted_key_leaves_no_answer_at_any_level() -> None:
    async with opened(redact="email,text_span") as graph:
        answers = [
            await graph.bfs_query(["film:1"], 1),
            await graph.describe_entity("film:1"),
            await graph.describe_entities(["film:1", "role:1"]),
        ]
    for answer in answers:
        assert "@" not in answer.text
        assert "plays Maria" not in answer.text
    assert json.loads(answers[1].text)["year"] == 1927
    assert json.loads(answers[1].text)["provenance"]["items"][0]["document_id"] == "d:1"


async def test_redacted_provenance_leaves_only_what_the_evidence_is_for() -> None:
    async with opened(redact="provenance") as graph:
        answer = await graph.describe_entity("film:1")
    [item] = answer.content["provenance"]["items"]
    assert item == {"subject": "role:1", "predicate": "IN", "object": "film:1"}


async def test_a_redacted_name_is_not_in_search_results_either() -> None:
    async with opened(redact="name") as graph:
        assert "Maria" not in (await graph.search_entities("Maria")).text


@pytest.mark.parametrize("prefer", ["Film,Role", "Role"])
async def test_the_types_that_are_preferred_come_first(prefer: str) -> None:
    async with opened(prefer=prefer) as graph:
        hits = (await graph.search_entities("Maria")).content["result"]
    assert hits[0]["entity_type"] == prefer.split(",", maxsplit=1)[0]
