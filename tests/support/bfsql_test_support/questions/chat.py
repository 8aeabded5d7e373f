"""`nox -s benchmarks -- chat --base-url URL --model NAME`: a model answers the questions.

Any model behind an OpenAI-compatible address will do (`model`). It is asked three times, in arms:
with the six tools of `bfsql serve`, as an MCP client has them; with a tool for SPARQL on the same
data in Oxigraph, which the command starts; and without tools, which shows what it knew anyway. It
is given the answer of the schema tool, which is counted once, and each question is a conversation
of its own.
"""

import argparse
import asyncio
import datetime as dt
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TextIO

from bfsql.errors import BfsqlError
from bfsql.http import HttpClient
from bfsql_sqlite import SqliteSettings
from bfsql_sqlite import load_graph as load_sqlite
from bfsql_test_support.questions.command import opened
from bfsql_test_support.questions.conversation import ModelQuestion, converse, functions, judged
from bfsql_test_support.questions.files import GraphFile, questions_of
from bfsql_test_support.questions.kinds import KINDS
from bfsql_test_support.questions.model import Model, ModelUnusable
from bfsql_test_support.questions.stores import Loadable
from bfsql_test_support.questions.suite import Outcome, markdown, questions_about
from bfsql_test_support.questions.toolsets import Call, NoTools, ServedTools, Toolset, compact
from bfsql_test_support.questions.worlds import Size, World

ARMS = ("tools", "query", "none")
STORES = {"query": "oxigraph", "cypher": "neo4j"}
"""The store of each arm with a query language."""
FAILURES = 3
"""Questions in a row without a reply after which the rest is not asked."""


class QuestionSet(Loadable, Protocol):
    """A graph with questions about it."""

    def questions(self, every: int = 1) -> Sequence[ModelQuestion]:
        """One question of this many."""


Asked = Sequence[tuple[Loadable, Sequence[ModelQuestion]]]
"""Graphs, with the questions about each."""


@dataclass
class Arm:
    """What a model did with one set of tools.

    Attributes:
        definitions: Characters of the tools' definitions and of the server's instructions.
        calls: All calls, that of the schema tool included.
        tokens: Of all prompts and of all replies; 0 where the address counts none.
    """

    name: str
    definitions: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    tokens: tuple[int, int] = (0, 0)

    def cells(self) -> list[str]:
        """A row of the table."""
        right = sum(one.wrong is None for one in self.outcomes)
        scores = mean(one.score for one in self.outcomes) if self.outcomes else 0.0
        read = sum(call.answer for call in self.calls)
        counts = (len(self.calls), read, self.definitions)
        tokens = (f"{n:,}" if n else "not counted" for n in self.tokens)
        cells = [self.name, f"{right}/{len(self.outcomes)}", f"{scores:.3f}"]
        return [*cells, *(f"{n:,}" for n in counts), *tokens]


async def examine(
    model: Model,
    arm: Arm,
    tools: Toolset,
    questions: Sequence[ModelQuestion],
    *,
    calls: int,
    records: TextIO | None = None,
    description: str = "",
) -> str:
    """Ask a model all questions about a graph.

    Args:
        arm: Receives what it did.
        calls: Most calls that it may make for one question.
        records: Receives a line of JSON for each question.
        description: What the graph is about, in place of a schema where there are no tools.

    Returns:
        Why the rest was not asked; empty if all was.
    """
    schema = await tools.run(tools.schema_tool, {}) if tools.schema_tool else description
    size = len(compact(functions(tools))) + len(tools.instructions) if tools.schema_tool else 0
    arm.definitions = max(arm.definitions, size)
    arm.calls = [*arm.calls, *tools.calls]
    failed = 0
    for question in questions:
        before = len(tools.calls)
        try:
            talk = await converse(model, tools, schema, question, calls)
        except ModelUnusable as unusable:
            return str(unusable)
        right, f1 = (False, 0.0) if talk.failed else judged(question, talk.answer)
        wrong = None if right else talk.failed or f"{question.text} {talk.answer!r}"
        made = tools.calls[before:]
        arm.calls += made
        arm.outcomes.append(Outcome(question.kind.name, tuple(made), wrong, f1))
        arm.tokens = (arm.tokens[0] + talk.tokens[0], arm.tokens[1] + talk.tokens[1])
        if records is not None:
            line: dict[str, Any] = {"date": today(), "model": model.name, "arm": arm.name}
            line |= {"kind": question.kind.name, "question": question.text, "right": right}
            line |= {"f1": f1, "expected": question.answer, "calls": len(made), **talk._asdict()}
            print(json.dumps(line, ensure_ascii=False), file=records, flush=True)
        failed = failed + 1 if talk.without_reply else 0
        if failed == FAILURES:
            return (
                f"{FAILURES} questions in a row have no reply, the last one because {talk.failed}"
            )
    return ""


def today() -> str:
    """The date in UTC."""
    return dt.datetime.now(dt.UTC).date().isoformat()


def table(arms: Sequence[Arm], model: str) -> str:
    """What is published: a row for each arm."""
    head = ["arm", "right", "F1", "calls", "characters of answers", "of definitions"]
    head += ["prompt tokens", "completion tokens", "model", "date"]
    return markdown([head, *([*arm.cells(), model, today()] for arm in arms)])


# --- the command ------------------------------------------------------------------


def main(
    arguments: Sequence[str], sets: Mapping[str, Callable[[str | None], Sequence[QuestionSet]]]
) -> None:
    """Ask a model the questions.

    Args:
        sets: Reads other sets of questions, by name, from a folder or from the default one.
    """
    parser = argparse.ArgumentParser(prog="chat", description=__doc__)
    add = parser.add_argument
    add("--base-url", required=True, help="as http://localhost:11434/v1")
    add("--model", required=True, help="the model that is asked for")
    add("--api-key-env", default="OPENAI_API_KEY", help="variable with the key (OPENAI_API_KEY)")
    arms = (*ARMS, "cypher")
    add("--arms", nargs="+", choices=arms, default=ARMS, help=f"({' '.join(ARMS)}), and cypher")
    formats = ("json", "lines")
    add("--answer-format", choices=formats, default="lines", help="of the six tools (lines)")
    add("--calls", type=int, default=12, help="calls a question at most (12)")
    add("--scale", type=int, default=6, help="size of the made-up world (6)")
    add("--kinds", nargs="+", help="kinds of question, by name; all by default")
    add("--every", type=int, default=1, help="ask one question of this many (1)")
    add("--set", choices=sets, help="questions of others, instead of made-up ones")
    add("--folder", help="the folder of that set")
    add("--questions", type=Path, help="questions of your own: lines of question and answer")
    add("--graph", type=Path, help="the graph of these questions")
    add("--save", type=Path, help="file for a record of each question, as lines of JSON")
    given = parser.parse_args(arguments)
    if bool(given.questions) != bool(given.graph):
        parser.error("--questions and --graph go together: questions, and the graph they are about")
    try:
        asked = _asked(given, sets)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    kinds = {kind.name for kind in KINDS} | {q.kind.name for _, some in asked for q in some}
    if unknown := set(given.kinds or ()) - kinds:
        parser.error(f"there is no kind of question {unknown.pop()!r}")
    if given.kinds:
        asked = [(world, [q for q in some if q.kind.name in given.kinds]) for world, some in asked]
    if stopped := asyncio.run(_run(given, asked)):
        parser.exit(1, f"\nStopped: {stopped}\n")


def _asked(
    given: argparse.Namespace, sets: Mapping[str, Callable[[str | None], Sequence[QuestionSet]]]
) -> Asked:
    if given.questions:
        return [(GraphFile.of(given.graph), questions_of(given.questions)[:: given.every])]
    if given.set:
        return [(one, one.questions(given.every)) for one in sets[given.set](given.folder)]
    world = World(f"world-{given.scale}", Size.of(given.scale), 11)
    return [(world, questions_about(world)[:: given.every])]


async def _run(given: argparse.Namespace, asked: Asked) -> str:
    """Ask in each arm, print the table, and return why the rest was not asked."""
    arms: list[Arm] = []
    stopped = ""
    client = HttpClient(connect_timeout=10)
    with ExitStack() as stack:
        records = given.save and stack.enter_context(given.save.open("w", encoding="utf-8"))
        key = os.environ.get(given.api_key_env)
        model = Model(client, given.base_url, given.model, key, given.api_key_env)
        while not stopped and len(arms) < len(given.arms):
            arms.append(Arm(given.arms[len(arms)]))
            try:
                stopped = await _ask(given, model, arms[-1], asked, records)
            except (BfsqlError, OSError) as error:
                stopped = str(error)
            print(f"    {arms[-1].name} is {'stopped' if stopped else 'done'}")
    await client.close()
    for arm in arms:
        print(*(f"{arm.name}: {o.kind}: {o.wrong}" for o in arm.outcomes if o.wrong), sep="\n")
        if arm.name != "none" and arm.outcomes and not any(o.calls for o in arm.outcomes):
            print(
                f"{given.model} called no tool in the arm {arm.name}: it may have no tool calling."
            )
    print(f"\n{table(arms, given.model)}")
    return stopped


async def _ask(
    given: argparse.Namespace, model: Model, arm: Arm, asked: Asked, records: TextIO | None
) -> str:
    """Ask in one arm."""
    for world, questions in asked:
        async with opened_tools(arm.name, world, given.answer_format) as tools:
            more: dict[str, Any] = {"records": records, "description": world.description}
            calls = given.calls
            if stopped := await examine(model, arm, tools, questions, calls=calls, **more):
                return stopped
    return ""


@asynccontextmanager
async def opened_tools(arm: str, world: Loadable, answer_format: Any) -> AsyncIterator[Toolset]:
    """The tools of an arm over a graph."""
    loaded = isinstance(world, GraphFile) and world.is_loaded
    if arm == "none":
        yield NoTools()
    elif arm == "tools":
        with TemporaryDirectory(prefix="bfsql-chat-") as folder:
            path = Path(folder, "graph.db")
            if isinstance(world, GraphFile) and loaded:
                path = world.path
            else:
                await load_sqlite(SqliteSettings(path=path), world.records())
            async with ServedTools.of(path, world.description, answer_format) as tools:
                yield tools
    elif loaded:
        raise OSError(f"The arm {arm} needs the file from which {world.name} was loaded: --graph.")
    else:
        with ExitStack() as servers:
            async with opened(STORES[arm], servers)(world) as sides:
                yield sides[-1].tools  # those of the query language come last
