"""`nox -s benchmarks -- chat URL --model NAME`: a model answers the questions.

Any model with a chat completions API and tool calls will do (OpenAI, Ollama, vLLM, llama.cpp and
others). It has one of the sets of tools and, like the plans, the answer of the schema tool, which
is counted once. Each question is a separate conversation. The key is read from OPENAI_API_KEY and
sent only to this address.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple, TextIO

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
from bfsql_test_support.questions.kinds.kind import Question
from bfsql_test_support.questions.stores import Side
from bfsql_test_support.questions.suite import (
    SCHEMA,
    Outcome,
    Report,
    definition_tokens,
    questions_about,
)
from bfsql_test_support.questions.toolsets import Call, CallRefused
from bfsql_test_support.questions.worlds import Size, World

LANGUAGES = {"six-tools": "neo4j", "cypher": "neo4j", "sparql": "oxigraph"}
"""Sets of tools, and the default store of each."""
MAX_REPLY = 16 * 1024 * 1024
PATIENCE = 600.0
"""Seconds for one reply of the model, retries included."""
RETRIES = 3
MARK = "ANSWER:"
INSTRUCTIONS = """\
Answer the question from the graph alone, with as few tool calls as you can; you have {calls}. \
When you know the answer, end with one line that begins with "{mark}", followed by the answer as \
JSON: {form}. Write names exactly as the graph does.

What {tool} answers for this graph:
{schema}"""


class ModelFailed(Exception):
    """The model's address returned no usable reply; includes the reason."""


class Model:
    """A model behind an OpenAI-compatible address.

    Args:
        client: Sends the requests.
        url: The base, such as `http://localhost:11434/v1`, or the full `.../chat/completions`.
        name: The name of the requested model.
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
            messages: The conversation so far.
            tools: The tools that may be called; without any, the model has to answer.

        Raises:
            ModelFailed: There is no message.
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
    model: Model, side: Side, schema: str, question: Question, calls: int
) -> Conversation:
    """Have a model answer a question.

    Args:
        model: The model.
        side: The tools that it may use.
        schema: The answer of the schema tool.
        question: The question.
        calls: Most calls that it may make.
    """
    form = question.kind.form.value + (f", {question.kind.hint}" if question.kind.hint else "")
    told = {"calls": calls, "mark": MARK, "form": form, "tool": side.tools.schema_tool}
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": INSTRUCTIONS.format(**told, schema=schema)},
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
    questions: Sequence[Question],
    *,
    calls: int,
    transcript: TextIO,
) -> Report:
    """Ask a model all questions, and write every conversation to a transcript.

    Args:
        model: The model.
        side: The tools that it may use.
        questions: The questions to ask.
        calls: Most calls that it may make for one question.
        transcript: Receives a line of JSON for each question.
    """
    schema = await side.tools.run(side.tools.schema_tool, {})
    outcomes = [Outcome(SCHEMA, tuple(side.tools.calls))]
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


def main(arguments: Sequence[str]) -> None:
    """Ask a model the questions.

    Args:
        arguments: Command-line arguments after `chat`.
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
    parser.add_argument("--transcript", type=Path, default=Path("transcript.jsonl"))
    given = parser.parse_args(arguments)
    if unknown := set(given.kinds or ()) - {kind.name for kind in KINDS}:
        parser.error(f"there is no kind of question {unknown.pop()!r}")
    asyncio.run(_run(given))


async def _run(given: argparse.Namespace) -> None:
    world = World(f"world-{given.scale}", Size.of(given.scale), 11)
    questions = [q for q in questions_about(world) if not given.kinds or q.kind.name in given.kinds]
    language = given.tools.replace("-", "_")
    client = HttpClient(connect_timeout=10)
    try:
        model = Model(client, given.url, given.model, os.environ.get("OPENAI_API_KEY"))
        with ExitStack() as stack, given.transcript.open("w", encoding="utf-8") as transcript:
            opens = opened(given.store or LANGUAGES[given.tools], stack)
            async with opens(world) as sides:
                fitting = [side for side in sides if side.language == language]
                side = fitting[-1 if given.answer_format == "lines" else 0]  # lines come last
                report = await examine(
                    model, side, questions, calls=given.calls, transcript=transcript
                )
    finally:
        await client.close()
    print(report.by_kind([*report.outcomes]))
    print(f"\n{report.in_all()}")
    print(*report.wrong(), sep="\n")
