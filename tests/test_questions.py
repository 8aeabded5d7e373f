"""The suite of questions: true answers, the plans on real stores, and a scripted model."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bfsql.http import HttpClient
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.questions.chat import MARK, Model, examine
from bfsql_test_support.questions.kinds import KINDS
from bfsql_test_support.questions.kinds.kind import Question
from bfsql_test_support.questions.stores import Side, in_neo4j, in_postgres, in_sparql, in_sqlite
from bfsql_test_support.questions.suite import Report, Sum, questions_about
from bfsql_test_support.questions.toolsets import NoTools
from bfsql_test_support.questions.worlds import Size, World
from bfsql_test_support.servers.embedding_service import json_body
from bfsql_test_support.servers.neo4j import Neo4jServer
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.postgres import PostgresServer
from bfsql_test_support.servers.stub import Asked, Said, answering

SOME = 4
"""Where a question takes long, one of this many kinds is asked."""


@pytest.fixture(scope="module")
def world() -> World:
    """A small world."""
    return World("small", Size.of(1), 11)


@pytest.fixture(scope="module")
def questions(world: World) -> list[Question]:
    """One question of every kind."""
    return questions_about(world)


def test_a_world_is_the_same_each_time(world: World) -> None:
    again = World("again", Size.of(1), 11)
    other = World("other", Size.of(1), 12)
    assert [*again.records()] == [*world.records()]
    assert [*other.records()] != [*world.records()]


def test_every_kind_has_a_question_about_the_smallest_world(questions: list[Question]) -> None:
    assert [question.kind.name for question in questions] == [kind.name for kind in KINDS]
    assert len({question.text for question in questions}) == len(KINDS) >= 30


async def test_plans_are_right_in_the_embedded_store(
    world: World, questions: list[Question], tmp_path: Path
) -> None:
    async with in_sqlite(world, tmp_path) as [side, lines]:
        json_answers = await plans_are_right(side, questions)
        in_lines = await plans_are_right(lines, questions)
    assert in_lines.calls == json_answers.calls
    assert in_lines.answers < json_answers.answers / 2


async def test_plans_are_right_in_postgres(
    world: World, questions: list[Question], postgres: PostgresServer
) -> None:
    async with in_postgres(world, postgres) as [side, _]:
        await plans_are_right(side, questions)


async def test_plans_are_right_in_neo4j_and_ours_take_no_more_calls_than_cyphers(
    world: World, questions: list[Question], neo4j_server: Neo4jServer, tmp_path: Path
) -> None:
    # This server takes 0.1 s for each new query, and a question takes several.
    some = questions if THOROUGH else questions[:: 2 * SOME]
    others = questions[::SOME] if THOROUGH else questions[SOME :: 2 * SOME]
    async with in_neo4j(world, neo4j_server) as [ours, _, cypher]:
        cyphers = await plans_are_right(cypher, some)
        await plans_are_right(ours, others)
    async with in_sqlite(world, tmp_path) as [embedded, _]:
        assert (await plans_are_right(embedded, some)).calls <= cyphers.calls


async def test_plans_are_right_in_oxigraph(
    world: World, questions: list[Question], oxigraph: OxigraphServer
) -> None:
    async with in_sparql(world, oxigraph) as [ours, _, sparql]:
        await plans_are_right(sparql, questions)
        await plans_are_right(ours, questions[1::SOME])


async def plans_are_right(side: Side, questions: list[Question]) -> Sum:
    report = Report()
    await report.add(side, questions)
    assert report.wrong() == []
    [outcomes] = report.outcomes.values()
    found = Sum.of(outcomes)
    assert found.right == len(questions) + 1  # the schema
    return found


# --- a model --------------------------------------------------------------------

Script = Callable[[list[dict[str, Any]], bool], dict[str, Any]]
"""Returns the next message, given the conversation and whether there are tools."""


@contextmanager
def scripted(script: Script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that speaks chat completions, and the requests it has received."""
    asked: list[dict[str, Any]] = []

    def respond(one: Asked) -> Said:
        body = json.loads(one.body)
        asked.append({"path": one.path, "key": one.headers["authorization"], **body})
        message = {"role": "assistant", **script(body["messages"], "tools" in body)}
        return json_body(200, {"choices": [{"index": 0, "message": message}]})

    with answering(respond) as url:
        yield f"{url}/v1", asked


def call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


async def examined(
    side: Side, questions: list[Question], script: Script, calls: int = 3, about: str = ""
) -> tuple[Report, list[dict[str, Any]], list[dict[str, Any]]]:
    """Examine a scripted model; return the report, the transcript's lines, and the requests."""
    transcript = io.StringIO()
    client = HttpClient()
    try:
        with scripted(script) as (url, asked):
            model = Model(client, url, "scripted", "sesame")
            told = {"calls": calls, "transcript": transcript, "description": about}
            report = await examine(model, side, questions, **told)
    finally:
        await client.close()
    return report, [json.loads(line) for line in transcript.getvalue().splitlines()], asked


@pytest.fixture
async def side(world: World, tmp_path: Path) -> Any:
    async with in_sqlite(world, tmp_path) as [side, _]:
        yield side


async def test_a_model_is_given_tools_and_schema_and_its_answer_is_judged(
    side: Side, questions: list[Question]
) -> None:
    [question] = [q for q in questions if q.kind.name == "trials that test a compound"]

    def script(messages: list[dict[str, Any]], has_tools: bool) -> dict[str, Any]:
        if messages[-1]["role"] == "user":
            return call("search_entities", query=question.about["compound"])
        assert question.about["compound"] in messages[-1]["content"]
        return {"content": f"They are these.\n{MARK} {json.dumps(question.answer[::-1])}"}

    report, [line], [first, second] = await examined(side, [question], script)
    assert report.wrong() == []
    assert line["right"] is True
    assert line["messages"][-1]["content"].startswith("They are these.")
    assert first["path"] == "/v1/chat/completions"
    assert first["key"] == "Bearer sesame"
    names = [tool["function"]["name"] for tool in first["tools"]]
    assert "bfs_query" in names
    assert "Trial" in first["messages"][0]["content"]
    assert second["messages"][-1]["role"] == "tool"
    [outcomes] = report.outcomes.values()
    assert [outcome.calls[0].tool for outcome in outcomes] == ["describe_schema", "search_entities"]
    assert "trials that test a compound" in report.by_kind([*report.outcomes])


async def test_a_model_that_keeps_calling_is_stopped_and_a_wrong_answer_is_reported(
    side: Side, questions: list[Question]
) -> None:
    def script(messages: list[dict[str, Any]], has_tools: bool) -> dict[str, Any]:
        if has_tools:
            return call("search_entities", query="x")
        return {"content": f'{MARK} ["nobody"]'}

    report, [line], asked = await examined(side, questions[:1], script, calls=2)
    assert [("tools" in one) for one in asked] == [True, True, False]
    assert line["right"] is False
    assert line["answer"] == ["nobody"]
    assert len(report.wrong()) == 1


async def test_a_model_without_tools_answers_at_once_from_what_it_knows(
    questions: list[Question],
) -> None:
    def script(messages: list[dict[str, Any]], has_tools: bool) -> dict[str, Any]:
        assert not has_tools
        return {"content": f"{MARK} {json.dumps(questions[0].answer)}"}

    side = Side("none", "none", NoTools())
    report, [line], [asked] = await examined(side, questions[:1], script, about="Towns.")
    assert report.wrong() == []
    assert line["right"] is True
    system = asked["messages"][0]["content"]
    assert system.startswith("Answer the question from what you know, or guess. It is about this")
    assert "graph: Towns. When you know the answer, end with" in system
    [[outcome]] = report.outcomes.values()
    assert outcome.calls == ()


async def test_what_a_model_gets_wrong_in_form_is_told_to_it_and_counted(
    side: Side, questions: list[Question]
) -> None:
    def script(messages: list[dict[str, Any]], has_tools: bool) -> dict[str, Any]:
        if len(messages) == 2:
            asked = call("bfs_query")
            asked["tool_calls"][0]["function"]["arguments"] = "{broken"
            return asked
        if len(messages) == 4:
            assert messages[-1]["content"] == "The arguments of bfs_query are no JSON object."
            return call("query_graph", seeds=["x"])
        assert "query_graph" in messages[-1]["content"]
        return {"content": "I give up."}

    report, [line], _ = await examined(side, questions[:1], script)
    assert line["failed"] == f"no line begins with {MARK}"
    [[_, outcome]] = report.outcomes.values()
    assert [made.tool for made in outcome.calls] == ["bfs_query", "query_graph"]


async def test_a_model_that_cannot_be_reached_is_an_answer_that_failed(
    side: Side, questions: list[Question], bad_endpoint: Any
) -> None:
    from bfsql_test_support.servers.bad_replies import refused

    bad_endpoint.always(refused(400, "no such model"))
    client = HttpClient()
    transcript = io.StringIO()
    try:
        model = Model(client, bad_endpoint.url, "none")
        report = await examine(model, side, questions[:1], calls=1, transcript=transcript)
    finally:
        await client.close()
    [wrong] = report.wrong()
    assert "400" in wrong
    assert "no such model" in wrong
