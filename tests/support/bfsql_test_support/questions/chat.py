"""`nox -s benchmarks -- chat URL --model NAME`: a model answers the questions.

Any model with a chat completions API and tool calls will do (OpenAI, Ollama, vLLM, llama.cpp and
others). It has one of the sets of tools and, like the plans, the answer of the schema tool, which
is counted once; or no tools, which shows what it knew anyway. Each question is a separate
conversation. The key is read from OPENAI_API_KEY and sent only to this address.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TextIO

from bfsql.errors import StoreUnavailable
from bfsql.http import (
    Credentials,
    HttpClient,
    HttpRequest,
    NoReply,
    ReplyTooLarge,
    Retryable,
    hide_secrets,
    retry,
)
from bfsql_test_support.questions.command import opened
from bfsql_test_support.questions.kinds import KINDS
from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.stores import Loadable, Side
from bfsql_test_support.questions.suite import (
    SCHEMA,
    Outcome,
    Report,
    definition_tokens,
    questions_about,
)
from bfsql_test_support.questions.toolsets import Call, CallRefused, NoTools
from bfsql_test_support.questions.worlds import Size, World

LANGUAGES = {"six-tools": "neo4j", "cypher": "neo4j", "sparql": "oxigraph", "none": ""}
"""Sets of tools, and the default store of each."""
MAX_REPLY = 16 * 1024 * 1024
PATIENCE = 600.0
"""Seconds for one reply of the model, retries included."""
RETRIES = 3
MARK = "ANSWER:"
WITH_TOOLS = "Answer the question from the graph alone, with as few tool calls as you can; you have"
WITHOUT_TOOLS = "Answer the question from what you know, or guess. It is about this graph:"
INSTRUCTIONS = """\
When you know the answer, end with one line that begins with "{mark}", followed by the answer as \
JSON: {form}. Write names exactly as the graph does."""


class KindOfQuestion(Protocol):
    """What a model is told of the answer to a question, and where it stands in tables."""

    @property
    def name(self) -> str:
        """Its name in reports."""

    @property
    def form(self) -> Form:
        """The form of the answer."""

    @property
    def hint(self) -> str:
        """An addition to the description of the form."""


class ModelQuestion(Protocol):
    """A question for a model."""

    @property
    def kind(self) -> KindOfQuestion:
        """Its kind."""

    @property
    def text(self) -> str:
        """Its text."""

    @property
    def answer(self) -> Any:
        """The right answer, for the transcript."""

    def is_right(self, answer: Any) -> bool:
        """Whether an answer is right."""


class QuestionSet(Loadable, Protocol):
    """A graph with questions about it."""

    def questions(self, every: int = 1) -> Sequence[ModelQuestion]:
        """One question of this many."""


class ModelFailed(Exception):
    """The model's address returned no usable reply; includes the reason."""


class Model:
    """A model behind an OpenAI-compatible address.

    Args:
        url: The base, such as `http://localhost:11434/v1`, or the full `.../chat/completions`.
        key: Sent as a bearer token; None sends none.
    """

    def __init__(self, client: HttpClient, url: str, name: str, key: str | None = None) -> None:
        self._client = client
        base = url.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        self._name = name
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._credentials = Credentials(headers, hidden=[key or ""])

    async def reply(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> dict[str, Any]:
        """The next message of a conversation.

        Args:
            tools: The tools that may be called; without any, the model has to answer.
        """
        body: dict[str, Any] = {"model": self._name, "messages": list(messages)}
        if tools:
            body["tools"] = list(tools)
        try:
            async with asyncio.timeout(PATIENCE):
                return await retry(
                    lambda: self._sent(body), retries=RETRIES, ends=time.monotonic() + PATIENCE
                )
        except TimeoutError as error:
            raise ModelFailed(f"no reply from {self._url} within {PATIENCE:.0f} s") from error
        except StoreUnavailable as error:
            raise ModelFailed(str(error)) from error

    async def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        request = HttpRequest(
            self._url, "POST", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        try:
            reply = await self._client.send(
                request, max_bytes=MAX_REPLY, credentials=self._credentials
            )
        except NoReply as error:
            raise Retryable(f"{self._url} cannot be reached: {error.detail}") from error
        except ReplyTooLarge as error:
            raise ModelFailed(f"{self._url} sent more than {MAX_REPLY:,} bytes") from error
        text = hide_secrets(reply.body.decode(errors="replace"), self._credentials.secrets)
        if reply.status == HTTPStatus.TOO_MANY_REQUESTS or reply.status >= 500:
            wait = reply.retry_after
            raise Retryable(f"{self._url} said {reply.status}: {text[:500]}", wait=wait)
        try:
            message: dict[str, Any] = json.loads(text)["choices"][0]["message"]
        except (ValueError, LookupError, TypeError) as error:
            raise ModelFailed(f"{self._url} said {reply.status}: {text[:500]}") from error
        return message


class Conversation(NamedTuple):
    """How a question was answered.

    Attributes:
        messages: All messages, in the model's format.
        answer: The JSON after the mark, or None.
        failed: Why there is no answer, if there is none.
    """

    messages: list[dict[str, Any]]
    answer: Any
    failed: str = ""


async def converse(
    model: Model, side: Side, schema: str, question: ModelQuestion, calls: int
) -> Conversation:
    """Have a model answer a question.

    Args:
        schema: The answer of the schema tool; without tools, what the graph is about.
        calls: Most calls that it may make.
    """
    form = question.kind.form.value + (f", {question.kind.hint}" if question.kind.hint else "")
    end = INSTRUCTIONS.format(mark=MARK, form=form)
    if tool := side.tools.schema_tool:
        told = f"{WITH_TOOLS} {calls}. {end}\n\nWhat {tool} answers for this graph:\n{schema}"
    else:
        told, calls = f"{WITHOUT_TOOLS} {schema} {end}", 0
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": told},
        {"role": "user", "content": question.text},
    ]
    tools = [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
            },
        }
        for tool in side.tools.definitions()
    ]
    left = calls
    while True:
        try:
            message = await model.reply(messages, tools if left > 0 else [])
        except ModelFailed as failure:
            return Conversation(messages, None, str(failure))
        messages.append(message)
        asked = message.get("tool_calls") or []
        if not asked or left <= 0:
            return _answer(messages, str(message.get("content") or ""))
        for one in asked:
            text = await _called(side, one) if left > 0 else "There are no calls left. Answer now."
            messages.append({"role": "tool", "tool_call_id": one.get("id"), "content": text})
            left -= 1


async def _called(side: Side, asked: dict[str, Any]) -> str:
    """The text of the answer to a call, or of its error."""
    function = asked.get("function") or {}
    name, raw = str(function.get("name")), function.get("arguments") or "{}"
    try:
        arguments = json.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        text = f"The arguments of {name} are no JSON object."
        side.tools.calls.append(Call(name, len(str(raw)), len(text)))
        return text
    try:
        return await side.tools.run(name, arguments)
    except CallRefused as refused:
        return str(refused)


def _answer(messages: list[dict[str, Any]], content: str) -> Conversation:
    _, mark, told = content.rpartition(MARK)
    if not mark:
        return Conversation(messages, None, f"no line begins with {MARK}")
    try:
        return Conversation(messages, json.JSONDecoder().raw_decode(told.strip())[0])
    except ValueError:
        return Conversation(messages, None, f"no JSON behind {MARK}")


async def examine(
    model: Model,
    side: Side,
    questions: Sequence[ModelQuestion],
    *,
    calls: int,
    transcript: TextIO,
    description: str = "",
) -> Report:
    """Ask a model all questions, and write every conversation to a transcript.

    Args:
        calls: Most calls that it may make for one question.
        transcript: Receives a line of JSON for each question.
        description: What the graph is about, in place of a schema where there are no tools.
    """
    tool = side.tools.schema_tool
    schema = await side.tools.run(tool, {}) if tool else description
    outcomes = [Outcome(SCHEMA, tuple(side.tools.calls))] if tool else []
    for question in questions:
        before = len(side.tools.calls)
        talk = await converse(model, side, schema, question, calls)
        right = not talk.failed and question.is_right(talk.answer)
        wrong = None if right else talk.failed or f"{question.text} {talk.answer!r}"
        made = tuple(side.tools.calls[before:])
        outcomes.append(Outcome(question.kind.name, made, wrong))
        line = {
            "kind": question.kind.name,
            "question": question.text,
            "right": right,
            "answer": talk.answer,
            "expected": question.answer,
            "failed": talk.failed,
            "messages": talk.messages,
        }
        print(json.dumps(line, ensure_ascii=False), file=transcript, flush=True)
    key = (side.store, side.name)
    return Report({key: outcomes}, {key: definition_tokens(side.tools)})


def main(arguments: Sequence[str], sets: Mapping[str, Callable[[str | None], QuestionSet]]) -> None:
    """Ask a model the questions.

    Args:
        sets: Reads other sets of questions, by name, from a folder or from the default one.
    """
    parser = argparse.ArgumentParser(prog="chat", description=__doc__)
    parser.add_argument("url", help="base of the address, as http://localhost:11434/v1")
    parser.add_argument("--model", required=True, help="the model that is asked for")
    parser.add_argument("--tools", choices=LANGUAGES, default="six-tools", help="(six-tools)")
    parser.add_argument(
        "--answer-format", choices=("json", "lines"), default="json", help="of the six tools (json)"
    )
    parser.add_argument("--store", help="sqlite, postgres, neo4j (default), oxigraph")
    parser.add_argument("--scale", type=int, default=6, help="size of the world (6)")
    parser.add_argument("--calls", type=int, default=12, help="calls a question at most (12)")
    parser.add_argument("--kinds", nargs="+", help="kinds of question, by name; all by default")
    parser.add_argument("--set", choices=sets, help="questions of others, instead of made-up ones")
    parser.add_argument("--folder", help="the folder of that set")
    parser.add_argument("--every", type=int, default=1, help="ask one question of this many (1)")
    parser.add_argument("--transcript", type=Path, default=Path("transcript.jsonl"))
    given = parser.parse_args(arguments)
    questions: Sequence[ModelQuestion]
    world: Loadable
    if given.set:
        try:
            world = others = sets[given.set](given.folder)
        except FileNotFoundError as error:
            parser.error(str(error))
        questions = others.questions(given.every)
    else:
        world = made_up = World(f"world-{given.scale}", Size.of(given.scale), 11)
        questions = questions_about(made_up)[:: given.every]
    kinds = {kind.name for kind in KINDS} | {question.kind.name for question in questions}
    if unknown := set(given.kinds or ()) - kinds:
        parser.error(f"there is no kind of question {unknown.pop()!r}")
    chosen = [q for q in questions if not given.kinds or q.kind.name in given.kinds]
    asyncio.run(_run(given, world, chosen))


async def _run(
    given: argparse.Namespace, world: Loadable, questions: Sequence[ModelQuestion]
) -> None:
    client = HttpClient(connect_timeout=10)
    try:
        model = Model(client, given.url, given.model, os.environ.get("OPENAI_API_KEY"))
        async with AsyncExitStack() as stack:
            transcript = stack.enter_context(given.transcript.open("w", encoding="utf-8"))
            side = await _side(given, world, stack)
            report = await examine(
                model,
                side,
                questions,
                calls=given.calls,
                transcript=transcript,
                description=world.description,
            )
    finally:
        await client.close()
    print(report.by_kind([*report.outcomes]))
    print(f"\n{report.in_all()}")
    print(*report.wrong(), sep="\n")


async def _side(given: argparse.Namespace, world: Loadable, stack: AsyncExitStack) -> Side:
    """The tools that the command line names, over a graph that is open as long as the stack."""
    language = given.tools.replace("-", "_")
    if language == "none":
        return Side("none", "none", NoTools())
    servers = stack.enter_context(ExitStack())
    opens = opened(given.store or LANGUAGES[given.tools], servers)
    sides = await stack.enter_async_context(opens(world))
    fitting = [side for side in sides if side.language == language]
    return fitting[-1 if given.answer_format == "lines" else 0]  # lines come last
