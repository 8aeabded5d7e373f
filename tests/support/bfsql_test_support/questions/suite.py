"""Runs the plans of all kinds of question, and tabulates right answers, calls and characters.

A session of a set of tools over a world begins with one call of its schema tool; after that, each
question is answered by its kind's plan.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from bfsql_test_support.questions.drawing import NothingFits
from bfsql_test_support.questions.kinds import KINDS
from bfsql_test_support.questions.kinds.kind import Question
from bfsql_test_support.questions.stores import Side
from bfsql_test_support.questions.toolsets import Call, CallRefused, Toolset
from bfsql_test_support.questions.worlds import World

SCHEMA = "the schema"
"""The name of a session's first call in tables."""
BYTES_A_TOKEN = 3
"""The protocol's estimate."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one question, or of the call of the schema tool.

    Attributes:
        wrong: A description of a wrong answer; None if the answer is right.
        f1: F1 of the answer, where it is known.
    """

    kind: str
    calls: tuple[Call, ...]
    wrong: str | None = None
    f1: float | None = None

    @property
    def score(self) -> float:
        """F1 of the answer; 1 or 0 where it is not known."""
        return float(self.wrong is None) if self.f1 is None else self.f1


@dataclass
class Sum:
    """Outcomes added up."""

    asked: int = 0
    right: int = 0
    calls: int = 0
    arguments: int = 0
    answers: int = 0

    def add(self, outcome: Outcome) -> None:
        """Add one outcome."""
        self.asked += 1
        self.right += outcome.wrong is None
        self.calls += len(outcome.calls)
        self.arguments += sum(call.arguments for call in outcome.calls)
        self.answers += sum(call.answer for call in outcome.calls)

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Self:
        """The sum of several."""
        found = cls()
        for outcome in outcomes:
            found.add(outcome)
        return found


@dataclass
class Report:
    """The outcomes of several worlds.

    Attributes:
        outcomes: By store and name of the side, in the order of the kinds.
        tokens: Estimated tokens of the tool definitions, by store and name of the side.
    """

    outcomes: dict[tuple[str, str], list[Outcome]] = field(default_factory=dict)
    tokens: dict[tuple[str, str], int] = field(default_factory=dict)

    async def add(self, side: Side, questions: Sequence[Question]) -> None:
        """Run the plans of one side."""
        key = (side.store, side.name)
        self.outcomes.setdefault(key, []).extend(await session(side, questions))
        self.tokens[key] = max(self.tokens.get(key, 0), definition_tokens(side.tools))

    def wrong(self) -> list[str]:
        """A line for every wrong answer."""
        return [
            f"{store}, {name}: {outcome.kind}: {outcome.wrong}"
            for (store, name), outcomes in self.outcomes.items()
            for outcome in outcomes
            if outcome.wrong is not None
        ]

    def by_kind(self, sides: Sequence[tuple[str, str]]) -> str:
        """A Markdown table with a row for every kind, and for the sum."""
        head = ["question"]
        for store, name in sides:
            where = f"{name} on {store}"
            head += [f"{where}: right", "calls", "arguments", "answers"]
        kinds = dict.fromkeys(o.kind for side in sides for o in self.outcomes[side])
        rows = [[kind, *self._cells(sides, kind)] for kind in kinds]
        rows.append(["all", *self._cells(sides, None)])
        return markdown([head, *rows])

    def in_all(self) -> str:
        """A Markdown table with a row for every side."""
        head = ["tools", "store", "right", "calls", "arguments", "answers", "definitions"]
        rows = [head]
        for (store, name), outcomes in self.outcomes.items():
            cells = self._cells([(store, name)], None)
            tokens = f"{self.tokens[store, name]:,} tokens"
            rows.append([name, store, *cells, tokens])
            assert outcomes, "a side that was run has outcomes"
        return markdown(rows)

    def _cells(self, sides: Sequence[tuple[str, str]], kind: str | None) -> list[str]:
        cells = []
        for side in sides:
            found = Sum.of(o for o in self.outcomes[side] if kind is None or o.kind == kind)
            cells.append(f"{found.right}/{found.asked}")
            cells += [f"{n:,}" for n in (found.calls, found.arguments, found.answers)]
        return cells


async def session(side: Side, questions: Sequence[Question]) -> list[Outcome]:
    """Call the schema once, then answer every question by its plan."""
    await side.tools.run(side.tools.schema_tool, {})
    outcomes = [Outcome(SCHEMA, tuple(side.tools.calls))]
    return [*outcomes, *[await answered(side, question) for question in questions]]


async def answered(side: Side, question: Question) -> Outcome:
    """Answer a question by its plan."""
    before = len(side.tools.calls)
    wrong = None
    try:
        plan = getattr(question.kind, side.language)
        answer: Any = await plan(side.tools, **question.about)
        if not question.is_right(answer):
            wrong = f"{question.text} {answer!r} in place of {question.answer!r}"
    except (CallRefused, LookupError, ValueError, TypeError) as error:
        wrong = f"{question.text} {type(error).__name__}: {error}"
    return Outcome(question.kind.name, tuple(side.tools.calls[before:]), wrong)


def questions_about(world: World) -> list[Question]:
    """A question of every kind for which the world has one."""
    found = []
    for kind in KINDS:
        try:
            found.append(Question.of(kind, world))
        except NothingFits:
            continue
    return found


def definition_tokens(tools: Toolset) -> int:
    """Estimated tokens of the definitions that a model is given."""
    size = sum(len(definition.text().encode()) for definition in tools.definitions())
    return -(-size // BYTES_A_TOKEN)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns are as wide as their longest cell; numbers are right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        + " |"
        for row in rows
    ]
    rule = "|".join(f"{'-' * (w + 1)}{'-' if i == 0 else ':'}" for i, w in enumerate(widths))
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])
