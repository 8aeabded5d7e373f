"""Right answers, and when an answer of the tools equals them.

Rows are compared as sets: how often a query language repeats a row says nothing. A row with a null
does not count, and text that is a number compares as one, so that "12" equals 12.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bfsql_test_support.questions.kinds.kind import Form
from bfsql_test_support.questions.scores import Row, comparable, f1, rows_of
from bfsql_test_support.questions.toolsets import SixTools

Plan: TypeAlias = Callable[[SixTools], Awaitable[Iterable[Row]]]
"""Answers a question with the six tools; the rows of the answer."""


class NoPlan(ValueError):
    """A question for which there is no plan; the message is the reason."""


@dataclass(frozen=True)
class Gold:
    """The right answer to a question.

    Attributes:
        rows: The rows that have to be in it.
        ties: Rows that are equal in the order by which a `LIMIT` cuts, and how many of them have
            to be in it, whichever they are.
    """

    rows: Sequence[Row]
    ties: Sequence[tuple[int, Sequence[Row]]] = ()

    def difference(self, rows: Iterable[Row]) -> str | None:
        """How the rows of an answer differ from the right ones; None if they are right."""
        answer, right = _comparable(rows), _comparable(self.rows)
        for count, equal in self.ties:
            chosen = answer & _comparable(equal)
            without = any(None in row for row in equal)  # a null may have been chosen
            if len(chosen) != count and not (without and len(chosen) < count):
                return f"{_excerpt(chosen)} in place of {count} of {_excerpt(_comparable(equal))}"
            right |= chosen
        if answer == right:
            return None
        missing, wrong = _excerpt(right - answer), _excerpt(answer - right)
        return f"{len(right)} rows are right; missing {missing}, wrong {wrong}"

    @property
    def one(self) -> list[Row]:
        """The rows of one right answer, with the first of those that are equal in an order."""
        return [*self.rows, *(row for count, rows in self.ties for row in rows[:count])]


@dataclass(frozen=True)
class QuestionForm:
    """What a model is told about the answer, and where the question stands in tables."""

    name: str
    form: Form
    hint: str = ""


@dataclass(frozen=True)
class OutsideQuestion:
    """A question of a data set.

    Attributes:
        id: Its id in the data set.
        kind: Its kind in the data set, with the form of the answer.
        text: The question.
        gold: The right answer.
        plan: Answers it with the six tools.
        query: The query that the data set's authors give; empty if they give none.
        spelling: Turns a value of an answer into the spelling of the right one.
    """

    id: str
    kind: QuestionForm
    text: str
    gold: Gold
    plan: Plan
    query: str = ""
    spelling: Callable[[Any], Any] = lambda value: value

    @property
    def answer(self) -> Any:
        """The right answer in the form in which a model gives it."""
        rows = [row[0] if len(row) == 1 else list(row) for row in self.gold.one]
        return rows[0] if self.kind.form in (Form.NUMBER, Form.YES_OR_NO) else rows

    def is_right(self, answer: Any) -> bool:
        """Whether a model's answer is right: a value, or a list of values or of rows."""
        return self.difference(rows_of(answer)) is None

    def f1(self, answer: Any) -> float:
        """F1 of a model's answer."""
        return self.f1_of(rows_of(answer))

    def difference(self, rows: Iterable[Row]) -> str | None:
        """How the rows of an answer differ from the right ones; None if they are right."""
        return self.gold.difference(self._spelt(rows))

    def f1_of(self, rows: Iterable[Row]) -> float:
        """F1 of the rows of an answer."""
        found = self._spelt(rows)
        right = self.gold.difference(found) is None
        return 1.0 if right else f1(_comparable(found), _comparable(self.gold.one))

    def values_f1(self, rows: Iterable[Row]) -> float:
        """F1 of all values of the rows as one set, the scale of the TEXT2SPARQL challenge.

        Of several right answers it takes one. A column more or less costs only its values, and
        which values stand in one row does not count.
        """
        found, right = (
            {(value,) for row in _comparable(some) for value in row}
            for some in (self._spelt(rows), self.gold.one)
        )
        return f1(found, right)

    def _spelt(self, rows: Iterable[Row]) -> list[Row]:
        return [tuple(map(self.spelling, row)) for row in rows]


def no_plan(reason: object) -> Plan:
    """The plan of a question that cannot be answered, whose miss gives the reason."""

    async def plan(_: SixTools) -> Iterable[Row]:
        raise NoPlan(str(reason))

    return plan


def _comparable(rows: Iterable[Row]) -> set[Row]:
    return {tuple(map(comparable, row)) for row in rows if None not in row}


def _excerpt(rows: set[Row], most: int = 3) -> str:
    shown = ", ".join(map(repr, sorted(rows, key=repr)[:most]))
    return f"{len(rows)} ({shown}{', ...' if len(rows) > most else ''})" if rows else "none"
