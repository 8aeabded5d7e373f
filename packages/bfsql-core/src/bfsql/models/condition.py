"""Conditions on properties, and the nodes and edges to which they apply (`protocol.md` 32)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal as OneOf
from typing import NamedTuple, TypeAlias

from bfsql.deadline import checked
from bfsql.models.comparison import Literal, Scalar, comparable, compared, contains, scalars
from bfsql.models.expression import Computed
from bfsql.models.intervals import Intervals
from bfsql.models.quotation import quoted
from bfsql.models.records import Metadata

Operator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">=", "~", "has", "lacks", "unlike"]
"""`has` and `lacks` ask for the presence of a property, whatever its value. Core alone
writes `unlike`, which asks for values that cannot be compared with the written ones."""


class Meaning(NamedTuple):
    """What an operator asks of the values of a property."""

    function: Callable[[Scalar, Literal], int | None]
    """Compares one of them with one of the alternatives of the condition."""
    results: tuple[int, ...]
    """The results for which the two match; an operator holds if any two do."""
    negated: bool = False
    """Whether it holds if no two match."""
    note: str = ""
    """What descriptions say behind it."""


OPERATORS: dict[Operator, Meaning] = {
    "=": Meaning(compared, (0,)),
    "!=": Meaning(compared, (0,), negated=True),
    "<": Meaning(compared, (-1,)),
    "<=": Meaning(compared, (-1, 0)),
    ">": Meaning(compared, (1,)),
    ">=": Meaning(compared, (0, 1)),
    "~": Meaning(contains, (True,), note="contains"),
}
"""Those that a call can write before values."""
_MEANINGS = {**OPERATORS, "unlike": Meaning(comparable, (True,), negated=True)}
_QUOTES = "\"'`"
# What would be read as something else without quotes.
_KEY_LETTERS = re.compile(
    r"^[(^-]|-$|[=!<>~\[\]|.{},*]|&&|\band\b|^not?\s|\s[+/-]\s|[+/-][\d(.]|^(?:round|abs|year)\s*\(",
    re.IGNORECASE,
)
_LONE_KEY_LETTERS = re.compile(rf"\s|{_KEY_LETTERS.pattern}", re.IGNORECASE)
_VALUE_LETTERS = re.compile(
    r"(?is)[\[\]|{}*]|^[=<>~]|\s(and|or)\s|&&|\A(?>.*?(?:,|\band\b)).*[=!<>~]|[=<>~|(,:]\s*[\"'`]"
    r"|(?<!-)[<>]=?\s*[^\W\d]"
)


@dataclass(frozen=True)
class PropertyCondition:
    """A condition on one property of a node or of an edge (`protocol.md` 34)."""

    key: str
    """The key of the metadata."""
    operator: Operator
    values: tuple[str, ...] = ()
    """The alternatives, as written without quotes; empty with `has` and `lacks`."""

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The alternatives in the forms in which they can be compared."""
        return tuple(map(Literal.of, self.values))

    @property
    def is_negated(self) -> bool:
        """Whether it is met by the values outside of `intervals`."""
        return self.operator in _MEANINGS and _MEANINGS[self.operator].negated

    @cached_property
    def intervals(self) -> Intervals | None:
        """The values that its operator looks for; None if only `holds` tells.

        With `unlike`, these are all that can be compared.
        """
        function, results, *_ = _MEANINGS.get(self.operator, (None, ()))
        if function is contains:
            return Intervals(tuple(literal.text for literal in self.literals))
        if function is comparable:
            results = (-1, 0, 1)
        elif function is not compared:
            return None
        return Intervals.of(self.literals, results)

    @cached_property
    def unlike(self) -> PropertyCondition | None:
        """Met by values that this condition cannot compare; None if it can compare all.

        An expression without a value counts as one that it cannot compare.
        It is the same for all conditions that compare with the same kinds of values.
        """
        if isinstance(self.key, Computed):
            return PropertyCondition(self.key, "lacks")
        how = OPERATORS.get(self.operator)
        if how is None or how.function is not compared or how.negated:
            return None
        kinds = sorted({one.example for one in self.literals})
        return PropertyCondition(self.key, "unlike", tuple(kinds))

    @property
    def property_text(self) -> str:
        """The condition as it is written in brackets and, after its scope, in `where`."""
        key: str = self.key
        if self.operator in ("has", "lacks"):
            key = key if isinstance(key, Computed) else quoted_part(key, _LONE_KEY_LETTERS)
            return key if self.operator == "has" else f"no {key}"
        if isinstance(key, Computed):
            if key.is_comparison:
                return key
        else:
            key = quoted_part(key, _KEY_LETTERS)
        values = "|".join(quoted_part(value, _VALUE_LETTERS) for value in self.values)
        return f"{key}{self.operator}{values}"

    def holds(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition; only `lacks` holds where the property is absent."""
        value = metadata.get(self.key)
        return self.operator == "lacks" if value is None else self.met_by(scalars(value))

    def met_by(self, values: Sequence[Scalar]) -> bool:
        """Whether the values of a property meet it."""
        if self.operator in ("has", "lacks"):
            return self.operator == "has"
        function, results, negated, _ = _MEANINGS[self.operator]
        return negated != any(
            function(value, one) in results for value in checked(values) for one in self.literals
        )


def quoted_part(text: str, special: re.Pattern[str]) -> str:
    """A key, a value or a name, in quotes if it would be read as something else without them."""
    if text and text == text.strip() and text[0] not in _QUOTES and not special.search(text):
        return text
    quotes = "'`" if "\\" in text else _QUOTES
    written = json.dumps(text, ensure_ascii=False)
    return next((f"{quote}{text}{quote}" for quote in quotes if quote not in text), written)


@dataclass(frozen=True)
class Condition(PropertyCondition):
    """A condition of one call, with the nodes or edges to which it applies."""

    text: str = ""
    """The text of the condition."""
    step: int | None = None
    """The step of a path to which it applies; None if it names none."""
    type: str | None = None
    """The type of the nodes to which it applies; None if it names none."""
    predicate: str | None = None
    """The predicate of the edges to which it applies; None if it names none."""
    written_scope: str | None = None
    """The type or the predicate as it was written, perhaps in another case."""
    of_edges: bool = False
    """Whether it applies to edges, of any predicate if it names none."""

    @property
    def scope(self) -> str | None:
        """The type or the predicate to which it applies."""
        return self.type if self.predicate is None else self.predicate

    @property
    def excerpt(self) -> str:
        """The condition as messages repeat it."""
        return quoted(self.text)


@dataclass(frozen=True, slots=True)
class ConditionTally:
    """The findings of a condition that a note may have to report."""

    condition: Condition
    hidden: bool
    """Whether traversals leave its key out of edges, so that the key counts as absent there."""
    applied: int
    """Number of nodes and edges to which it applied."""
    had: int
    """Number of these that have the property."""
    met: int
    """Number of these that meet the condition."""
    keeps_absent: bool
    """Whether records without the property remained in the answer."""
    unlike: int
    """Number of those not meeting it whose value cannot be compared with the written ones."""
    values: tuple[str, ...]
    """The most common values, if none meets the condition."""
    further_values: int = 0
    """Number of different values besides these."""
    predicate: str | None = None
    """The predicate most like its key, if that is all that it names and nothing has it."""


@dataclass(frozen=True)
class ScopedProperty:
    """A property of the nodes or edges of one scope, written like the front of a condition."""

    key: str
    step: int | None = None
    """The step of a path; None if the text names none."""
    type: str | None = None
    """The type of the nodes; None if the text names none."""
    predicate: str | None = None
    """The predicate of the edges; None for a property of nodes."""

    @property
    def scope(self) -> str | None:
        """The type or the predicate."""
        return self.type if self.predicate is None else self.predicate
