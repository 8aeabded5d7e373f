"""A model in place of the plans: conversations with a scripted one, each arm, and what fails."""

import asyncio
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bfsql.http import HttpClient
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.case_table import case_table
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.questions import chat
from bfsql_test_support.questions import model as models
from bfsql_test_support.questions.chat import Arm, examine
from bfsql_test_support.questions.command import opened
from bfsql_test_support.questions.conversation import MARK, answer_in
from bfsql_test_support.questions.files import GraphFile
from bfsql_test_support.questions.kinds.kind import Question
from bfsql_test_support.questions.model import Model
from bfsql_test_support.questions.stores import Side, in_sqlite
from bfsql_test_support.questions.suite import questions_about
from bfsql_test_support.questions.toolsets import CallRefused, NoTools, Toolset
from bfsql_test_support.questions.worlds import Size, World
from bfsql_test_support.servers.embedding_service import json_body
from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.servers.stub import Asked, Said, answering


@pytest.fixture(scope="module")
def world() -> World:
    """The world of `--scale 1`."""
    return World("world-1", Size.of(1), 11)


@pytest.fixture(scope="module")
def questions(world: World) -> list[Question]:
    """One question of every kind."""
    return questions_about(world)


Script = Callable[[list[dict[str, Any]], list[str]], dict[str, Any]]
"""Returns the next message, given the conversation and the names of the tools."""
USED = {"prompt_tokens": 100, "completion_tokens": 7}


@contextmanager
def scripted(script: Script) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The address of a server that speaks chat completions, and the requests it has received."""
    asked: list[dict[str, Any]] = []

    def respond(one: Asked) -> Said:
        body = json.loads(one.body)
        asked.append({"path": one.path, "key": one.headers.get("authorization"), **body})
        names = [tool["function"]["name"] for tool in body.get("tools", ())]
        message = {"role": "assistant", **script(body["messages"], names)}
        return json_body(200, {"choices": [{"index": 0, "message": message}], "usage": USED})

    with answering(respond) as url:
        yield f"{url}/v1", asked


def call(name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": function}]}


async def examined(
    tools: Toolset, questions: list[Question], script: Script, calls: int = 3, about: str = ""
) -> tuple[Arm, list[dict[str, Any]], list[dict[str, Any]]]:
    """Examine a scripted model; return what it did, the records, and the requests."""
    records, client, arm = io.StringIO(), HttpClient(), Arm("tools")
    try:
        with scripted(script) as (url, asked):
            model = Model(client, url, "scripted", "sesame")
            told: Any = {"calls": calls, "records": records, "description": about}
            assert await examine(model, arm, tools, questions, **told) == ""
    finally:
        await client.close()
    return arm, [json.loads(line) for line in records.getvalue().splitlines()], asked


@pytest.fixture
async def side(world: World, tmp_path: Path) -> Any:
    async with in_sqlite(world, tmp_path) as [side, _]:
        yield side


async def test_a_model_is_given_tools_and_schema_and_its_answer_is_judged(
    side: Side, questions: list[Question]
) -> None:
    [question] = [q for q in questions if q.kind.name == "trials that test a compound"]

    def script(messages: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
        if messages[-1]["role"] == "user":
            return call("search_entities", query=question.about["compound"])
        assert question.about["compound"] in messages[-1]["content"]
        return {"content": f"They are these.\n**{MARK}** {json.dumps(question.answer[::-1])}"}

    arm, [line], [first, second] = await examined(side.tools, [question], script)
    assert line["right"] is True
    assert line["messages"][-1]["content"].startswith("They are these.")
    assert first["path"] == "/v1/chat/completions"
    assert first["key"] == "Bearer sesame"
    names = [tool["function"]["name"] for tool in first["tools"]]
    assert "bfs_query" in names
    assert "Trial" in first["messages"][0]["content"]
    assert second["messages"][-1]["role"] == "tool"
    assert [made.tool for made in arm.calls] == ["describe_schema", "search_entities"]
    read = sum(made.answer for made in arm.calls)
    assert arm.cells() == ["tools", "1/1", "1.000", "2", f"{read:,}", f"{arm.definitions:,}",
                           "200", "14"]  # fmt: skip
    assert arm.definitions == len(chat.compact(first["tools"])) + len(side.tools.instructions)


async def test_a_model_that_keeps_calling_is_stopped_and_a_wrong_answer_is_reported(
    side: Side, questions: list[Question]
) -> None:
    def script(messages: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
        if names:
            return call("search_entities", query="x")
        return {"content": f'{MARK} ["nobody"]'}

    arm, [line], asked = await examined(side.tools, questions[:1], script, calls=2)
    assert [("tools" in one) for one in asked] == [True, True, False]
    assert line["right"] is False
    assert line["answer"] == ["nobody"]
    assert [outcome.wrong for outcome in arm.outcomes] == [f"{questions[0].text} ['nobody']"]


async def test_a_model_without_tools_answers_at_once_from_what_it_knows(
    questions: list[Question],
) -> None:
    def script(messages: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
        assert not names
        return {"content": f"{MARK} {json.dumps(questions[0].answer)}"}

    arm, [line], [asked] = await examined(NoTools(), questions[:1], script, about="Towns.")
    assert line["right"] is True
    system = asked["messages"][0]["content"]
    assert system.startswith("Answer the question from what you know, or guess. It is about this")
    assert "graph: Towns. When you know the answer, end with" in system
    assert (arm.calls, arm.definitions) == ([], 0)


async def test_what_a_model_gets_wrong_in_form_is_told_to_it_and_counted(
    side: Side, questions: list[Question]
) -> None:
    first, second = questions[:2]

    def script(messages: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
        if messages[1]["content"] == second.text:
            return {"content": f"{MARK} [[{{}}]]"}
        if len(messages) == 2:
            asked = call("bfs_query")
            asked["tool_calls"][0]["function"]["arguments"] = "{broken"
            return asked
        if len(messages) == 4:
            assert messages[-1]["content"] == "The arguments of bfs_query are no JSON object."
            return call("query_graph", seeds=["x"])
        assert "query_graph" in messages[-1]["content"]
        return {"content": "I give up."}

    arm, lines, _ = await examined(side.tools, [first, second], script)
    assert [line["failed"] for line in lines] == [f"no line begins with {MARK}", ""]
    assert [(line["right"], line["f1"]) for line in lines] == [(False, 0)] * 2
    assert [made.tool for made in arm.calls[1:]] == ["bfs_query", "query_graph"]


def test_an_answer_is_read_from_what_models_write_around_it() -> None:
    for text in ('{} ["a"]', '**{}** `["a"]`', '{}\n```json\n["a"]\n```', 'x {} 1\n{} ["a"] so'):
        assert answer_in(text.format(MARK, MARK)) == (["a"], "")
    assert answer_in("a") == (None, f"no line begins with {MARK}")
    assert answer_in(f"{MARK} a") == (None, f"no JSON behind {MARK}")


# --- the command, over real stores ------------------------------------------------


@pytest.mark.slow
def test_each_arm_answers_by_the_calls_of_the_plans(
    world: World, questions: list[Question], tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    """The model makes the calls of the plans, and reads the same answers as they do."""
    chosen = questions if THOROUGH else questions[::9]
    plans = asyncio.run(planned(world, chosen, tmp_path))

    def script(messages: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
        [question] = [one for one in chosen if one.text == messages[1]["content"]]
        calls = plans["six_tools" if "bfs_query" in names else "sparql"][question.text]
        made = [one["content"] for one in messages if one["role"] == "tool"]
        if names and len(made) < len(calls):
            return call(calls[len(made)][0], **calls[len(made)][1])
        assert not names or made == [text for *_, text in calls]
        return {"content": f"{MARK} {json.dumps(question.answer if names else 'who knows')}"}

    monkeypatch.setenv("A_KEY", "sesame")
    saved = tmp_path / "records.jsonl"
    kinds = [question.kind.name for question in chosen]
    with scripted(script) as (url, asked):
        options = ["--scale", "1", "--save", str(saved), "--api-key-env", "A_KEY"]
        chat.main(["--base-url", url, "--model", "m-1", *options, "--kinds", *kinds], {})
    written = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written[-5:]]
    table = {row[0]: dict(zip(rows[0], row, strict=True)) for row in (rows[0], *rows[2:])}
    right = f"{len(chosen)}/{len(chosen)}"
    assert (table["tools"]["right"], table["tools"]["F1"]) == (right, "1.000")
    assert (table["query"]["right"], table["query"]["F1"]) == (right, "1.000")
    assert table["none"]["right"] == f"0/{len(chosen)}"
    for arm, language in (("tools", "six_tools"), ("query", "sparql")):
        calls = sum(map(len, plans[language].values()))
        assert table[arm]["calls"] == str(1 + calls)
        assert table[arm]["prompt tokens"] == f"{100 * (calls + len(chosen)):,}"
        assert int(table[arm]["of definitions"].replace(",", "")) > 400
        assert table[arm]["model"] == "m-1"
    assert {one["key"] for one in asked} == {"Bearer sesame"}
    assert "BFS-QL" in asked[0]["messages"][0]["content"]  # the server's instructions
    records = [json.loads(line) for line in saved.read_text("utf-8").splitlines()]
    assert Counter(one["arm"] for one in records) == dict.fromkeys(chat.ARMS, len(chosen))


async def planned(world: World, questions: list[Question], folder: Path) -> dict[str, Any]:
    """By language and question: the calls of the plans, with their answers."""
    found: dict[str, Any] = {}
    with ExitStack() as servers:
        async with in_sqlite(world, folder) as ours, opened("oxigraph", servers)(world) as others:
            for side in (ours[1], others[-1]):
                for question in questions:
                    calls: list[Any] = []
                    tools = side.tools
                    inner = tools._answer

                    async def noted(tool: str, given: Any, calls=calls, inner=inner) -> str:
                        try:
                            text = await inner(tool, given)
                        except CallRefused as refused:
                            calls.append((tool, given, str(refused)))
                            raise
                        calls.append((tool, given, text))
                        return text

                    tools._answer = noted
                    await getattr(question.kind, side.language)(tools, **question.about)
                    tools._answer = inner
                    found.setdefault(side.language, {})[question.text] = calls
    return found


# --- questions of a file ------------------------------------------------------------

SHIPS = """@prefix ex: <http://example.org/> . @prefix no: <http://example.net/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ada a ex:Ship ; rdfs:label "Ada" ; ex:built 1999 ; ex:called ex:a , ex:b .
ex:a a ex:Port ; rdfs:label "Aland" . ex:b a ex:Port ; rdfs:label "Bari" .
"""
QUERY = "SELECT ?n { ?s rdfs:label 'Ada' ; ex:called ?p . ?p rdfs:label ?n }"


@pytest.mark.slow
def test_questions_of_a_file_are_asked_about_its_graph(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "ships.ttl").write_text(SHIPS, "utf-8")
    (tmp_path / "asked.jsonl").write_text(
        '{"question": "Where did Ada call?", "answer": ["Bari", "Aland"]}\n\n'
        '{"question": "When was Ada built?", "answer": 1999}\n', "utf-8"
    )  # fmt: skip

    def script(messages: list[dict[str, Any]], names: list[str]) -> dict[str, Any]:
        if messages[-1]["role"] == "user" and "bfs_query" in names:
            return call("bfs_query", seeds=["Ada"])
        if messages[-1]["role"] == "user" and names:
            assert "ex:" in messages[0]["content"]
            return call("read_sparql", query=QUERY)
        if messages[-1]["role"] == "tool":
            assert "Aland" in messages[-1]["content"]
        return {"content": f'{MARK} {"1999.0" if "built" in messages[1]["content"] else ["Aland"]}'
                .replace("'", '"')}  # fmt: skip

    given = ["--questions", str(tmp_path / "asked.jsonl"), "--graph", str(tmp_path / "ships.ttl")]
    with scripted(script) as (url, _):
        chat.main(["--base-url", url, "--model", "m", *given], {})
        ships = asyncio.run(loaded(tmp_path / "ships.ttl"))
        given[-1] = str(ships)
        with pytest.raises(SystemExit):
            chat.main(["--base-url", url, "--model", "m", *given], {})
    out, err = capsys.readouterr()
    rows = [line.split() for line in out.splitlines() if line.startswith("| ")]
    found = [(row[1], row[3], row[5]) for row in rows if row[1] != "arm"]
    arms = ("tools", "query", "none", "tools")
    assert found[:4] == [(arm, "1/2", "0.833") for arm in arms]
    assert "Where did Ada call? ['Aland']" in out
    assert "The arm query needs the file from which ships was loaded: --graph." in err


async def loaded(path: Path) -> Path:
    """A graph file with the graph of another file."""
    made = path.with_suffix(".db")
    await load_graph(SqliteSettings(path=made), GraphFile.of(path).records())
    return made


# --- what fails -----------------------------------------------------------------------

SMALL = (
    "--scale",
    "1",
    "--kinds",
    "trials that test a compound",
    "coauthors",
    "papers about a hub",
)
FAILURES: dict[str, tuple[Said | None, str, str]] = {
    "no server": (None, "none", "cannot be reached: "),
    "a key that is refused": (
        Said(401, b'{"error": "who?"}'), "none", "Set NO_KEY to a key of this address, or name"
    ),
    "an unknown model": (Said(404, b"no model m"), "none", "404: no model m\nCheck --model"),
    "a model without tools": (
        Said(400, b"m does not support tools"), "tools", "m takes no tools here. Choose"
    ),
    "a server without tools": (
        Said(500, b"tools param requires --jinja flag"), "tools", "m takes no tools here."
    ),
    "a server that fails": (
        Said(503, b"out of memory"), "none", "3 questions in a row have no reply, the"
    ),
    "no JSON": (Said(200, b"<html>"), "none", "said 200: <html>"),
    "JSON of another kind": (Said(200, b"[1]"), "none", "said 200: [1]"),
}  # fmt: skip


@pytest.mark.slow
@case_table("said, arm, told", FAILURES)
def test_a_run_that_cannot_go_on_ends_with_a_sentence(
    said: Said | None, arm: str, told: str, capsys: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(models, "RETRIES", 0)
    options = ["--model", "m", "--api-key-env", "NO_KEY", "--arms", arm, *SMALL]
    with answering(lambda _: said or Said()) as url:
        address = url if said else f"http://{HOST}:{free_port()}/v1"
        with pytest.raises(SystemExit) as ended:
            chat.main(["--base-url", address, *options], {})
    out, err = capsys.readouterr()
    assert ended.value.code == 1
    assert told in err
    assert f"| {arm} " in out


def test_a_busy_address_is_asked_again_and_a_model_that_calls_nothing_is_named(capsys: Any) -> None:
    asked: list[Asked] = []

    def respond(one: Asked) -> Said:
        asked.append(one)
        if len(asked) < 3:
            return Said((429, 502)[len(asked) - 1], b"later", {"Retry-After": "0"})
        return json_body(200, {"choices": [{"message": {"content": f"{MARK} []"}}]})

    with answering(respond) as url:
        chat.main(["--base-url", url, "--model", "m", "--arms", "tools", *SMALL], {})
    written = capsys.readouterr().out
    assert len(asked) == 5
    assert "m called no tool in the arm tools: it may have no tool calling." in written
    assert "not counted" in written


def test_what_is_asked_for_wrongly_is_said(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "asked.jsonl").write_text('{"question": "a", "answer": 1}\n{"q": 1}\n', "utf-8")
    graph, questions = (
        ("--graph", str(tmp_path / "g.db")),
        ("--questions", f"{tmp_path}/asked.jsonl"),
    )
    (tmp_path / "g.db").touch()
    for options, told in (
        (graph, "--questions and --graph go together"),
        ((*graph, *questions), "asked.jsonl:2: a line is {"),
        (("--kinds", "riddles"), "there is no kind of question 'riddles'"),
        ((*questions, "--graph", "nowhere.ttl"), "nowhere.ttl"),
    ):
        with pytest.raises(SystemExit):
            chat.main(["--base-url", "http://x", "--model", "m", "--scale", "1", *options], {})
        assert told in capsys.readouterr().err
