"""Conditions of `where`, as they are written (`asking.md` 8).

    condition  = [step "."] [scope "."] property
    property   = key operator value ("|" value)* | ["no"] key
    operator   = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~"

`==` is `=`, `<>` is `!=`, `=<` is `<=`, `=>` is `>=`. Key, scope and values may be quoted. The
scope is the longest known name before a dot; a type takes precedence over a predicate.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal as OneOf
from typing import TypeAlias

from bfsql.errors import ToolError, bad_value
from bfsql.masking import shorten
from bfsql.models.characters import escaped
from bfsql.models.comparison import Literal, Scalar, compared, contains, scalars
from bfsql.models.name_keys import NAME, NO_NAME_KEYS, NameKeys
from bfsql.models.records import Metadata
from bfsql.models.spelling import KnownNames

Operator: TypeAlias = OneOf["=", "!=", "<", "<=", ">", ">=", "~", "has", "lacks", "unlike"]
"""`has` and `lacks` ask for the presence of a property, whatever its value. Core alone
writes `unlike`, which asks for values that cannot be compared with the written ones."""


_OPERATORS: tuple[Operator, ...] = ("=", "!=", "<", "<=", ">", ">=", "~")
SPELLINGS: dict[str, Operator] = dict(zip(_OPERATORS, _OPERATORS, strict=True))
SPELLINGS |= {"==": "=", "<>": "!=", "=<": "<=", "=>": ">="}
"""The operators in all spellings."""
_OPERATOR = re.compile(r"[=!<>~]+")
_QUOTES = "\"'`"
_BEFORE_QUOTE = "=<>~|[{(,:"
# What would be read as something else without quotes.
_KEY_LETTERS = re.compile(r"^[(^-]|-$|[=!<>~\[\]|.{},]|&&|\band\b|^not?\s", re.IGNORECASE)
_LONE_KEY_LETTERS = re.compile(rf"\s|{_KEY_LETTERS.pattern}", re.IGNORECASE)
_VALUE_LETTERS = re.compile(
    r"(?is)[\[\]|{}]|^[=<>~]|\s(and|or)\s|&&|\A(?>.*?(?:,|\band\b)).*[=!<>~]|[=<>~|(,:]\s*[\"'`]"
)
_BRACKET = re.compile(r"\s*[({]|[^\"'`]*\[")
_STEP = re.compile(r"\s*([0-9]+)\s*\.")
_NO = re.compile(r"\s*not?\s+(?=[^\s=!<>~])", re.IGNORECASE)
_JOINED = re.compile(r"(?is)\A(?>.*?\s(?:and|or)\s).*[=<>~]|&&|\|\||,\s*[\w.:-]+\s*[=!<>~]")
SIGNS: dict[Operator, tuple[int, ...]] = {
    "=": (0,),
    "<": (-1,),
    "<=": (-1, 0),
    ">": (1,),
    ">=": (0, 1),
}
"""The results of `compared` for which an operator holds."""


class Names:
    """The types and predicates that a scope may name, and the keys that mean `name`."""

    def __init__(
        self, types: Iterable[str], predicates: Iterable[str], name_keys: NameKeys = NO_NAME_KEYS
    ) -> None:
        self.types, self.predicates = frozenset(types), frozenset(predicates)
        self._name_keys = name_keys

    def union(self, types: Iterable[str], predicates: Iterable[str]) -> Names:
        """These names and others."""
        own = self.types, self.predicates
        return Names(own[0].union(types), own[1].union(predicates), self._name_keys)

    def key(self, key: str, scope: str | None, steps: int | None) -> tuple[str, str | None]:
        """The key of a property as metadata has it, and its scope.

        Without a path, a key that is the name of one type alone applies to that type.
        """
        if scope is not None and scope not in self.types:
            return key, scope
        named = self._name_keys.types_of(key, None if scope is None else (scope,))
        only = next(iter(named)) if len(named) == 1 and steps is None else scope
        return (NAME, only) if named else (key, scope)

    @cached_property
    def known_names(self) -> KnownNames:
        """All of them."""
        return KnownNames(self.types | self.predicates)

    def find(self, written: str) -> str | None:
        """The known name as written, or else the only name that differs from it just in case."""
        same = self.known_names.spellings(written)
        return same[0] if len(same) == 1 else None


@dataclass(frozen=True)
class PropertyCondition:
    """A condition on one property of a node or of an edge (`asking-2.md` 11)."""

    key: str
    """The key of the metadata."""
    operator: Operator
    values: tuple[str, ...] = ()
    """The alternatives, as written without quotes: one of them has to match; with `!=`, none may
    be equal. Empty with `has` and `lacks`."""

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The alternatives in the forms in which they can be compared."""
        return tuple(map(Literal.of, self.values))

    @property
    def of_flags(self) -> bool:
        """Whether one of the alternatives can be compared with booleans."""
        return any(literal.text in ("true", "false") for literal in self.literals)

    @cached_property
    def unlike(self) -> PropertyCondition | None:
        """Met by values that this condition cannot compare; None if it can compare all.

        It is the same for all conditions that compare with the same kinds of values.
        """
        if self.operator not in SIGNS:
            return None
        kinds = sorted({one.example for one in self.literals})
        return PropertyCondition(self.key, "unlike", tuple(kinds))

    @property
    def property_text(self) -> str:
        """The condition as it is written in brackets and, after its scope, in `where`."""
        if self.operator in ("has", "lacks"):
            key = quoted_part(self.key, _LONE_KEY_LETTERS)
            return key if self.operator == "has" else f"no {key}"
        key = quoted_part(self.key, _KEY_LETTERS)
        values = "|".join(quoted_part(value, _VALUE_LETTERS) for value in self.values)
        return f"{key}{self.operator}{values}"

    def holds(self, metadata: Metadata) -> bool:
        """Whether metadata meets the condition; only `lacks` holds where the property is absent."""
        value = metadata.get(self.key)
        if value is None or self.operator in ("has", "lacks"):
            return (value is None) == (self.operator == "lacks")
        return self.met_by(scalars(value))

    def met_by(self, values: Sequence[Scalar]) -> bool:
        """Whether one of the values of a property meets it; with `!=`, whether none is equal."""
        if self.operator in ("has", "lacks"):
            return self.operator == "has"
        if self.operator == "unlike":
            return not self.compares_with(values)
        if self.operator == "~":
            return any(contains(value, literal) for value in values for literal in self.literals)
        if self.operator == "!=":
            return not self._one(values, (0,))
        return self._one(values, SIGNS[self.operator])

    def compares_with(self, values: Sequence[Scalar]) -> bool:
        """Whether one of the values is of a kind that can be compared with the written ones."""
        if self.operator not in (*SIGNS, "unlike") or self._one(values, (-1, 0, 1)):
            return True
        return self.of_flags and any(isinstance(value, bool) for value in values)

    def _one(self, values: Sequence[Scalar], signs: tuple[int, ...]) -> bool:
        return any(compared(value, one) in signs for value in values for one in self.literals)


def quoted_part(text: str, special: re.Pattern[str]) -> str:
    """A key, a value or a name, in quotes if it would be read as something else without them."""
    if text and text == text.strip() and text[0] not in _QUOTES and not special.search(text):
        return text
    quote = next((quote for quote in _QUOTES if quote not in text), "")
    return f"{quote}{text}{quote}"


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
    """Number of those not meeting it whose value cannot be compared with the written ones.
    """
    values: tuple[str, ...]
    """The most common values, if none meets the condition."""
    further_values: int = 0
    """Number of different values besides these."""
    predicate: str | None = None
    """The predicate most like its key, if that is all that it names and nothing has it."""


def condition(text: str, names: Names, steps: int | None) -> Condition:
    """A condition from its text.

    Args:
        text: The text as written in a call.
        names: The names that a scope may use.
        steps: The number of steps of the path; None in a call without a path.

    Raises:
        ToolError: The text is not a condition.
    """
    absent, rest = _without_no(text)
    step, rest = _step(rest, names, steps, partial(_wrong, rest))
    scope, written_scope, rest = _scope(rest, names)
    one = property_condition(f"no {rest}" if absent else rest, "where", whole=text)
    if one.operator == "has" and scope is None and step is None:
        raise _wrong(text, "has no operator")
    key, scope = names.key(one.key, scope, steps)
    of_nodes = scope is None or scope in names.types
    kind, predicate = (scope, None) if of_nodes else (None, scope)
    what = (key, one.operator, one.values)
    return Condition(*what, text, step, kind, predicate, written_scope or scope, not of_nodes)


def property_condition(text: str, argument: str, *, whole: str | None = None) -> PropertyCondition:
    """A condition on a property, from its text without a scope.

    Args:
        text: The text, as it stands in brackets.
        argument: The argument of the call that contains it, for errors.
        whole: The text as errors repeat it; None if it is the same.

    Raises:
        ToolError: The text is not a condition.
    """
    wrong = partial(_wrong, whole or text, argument=argument)
    absent, rest = _without_no(text)
    found = _OPERATOR.search(rest, _end_of_quotes(rest))
    key, written = _key(rest, found, wrong), rest[found.end() :] if found else ""
    if found is None:
        return PropertyCondition(key, "lacks" if absent else "has")
    if absent:
        why = "has both no and an operator; != is the opposite of =, and a key with no is quoted"
        raise wrong(why)
    if _JOINED.search(_outside_quotes(f"={written}")):
        why = 'joins several conditions: all of them hold anyway, and "a|b" is one of two values'
        raise wrong(why)
    values = _alternatives(written)
    if "" in values:
        raise wrong(f'has no value after {found[0]}; empty text is written ""')
    return PropertyCondition(key, SPELLINGS[found[0]], tuple(map(_unquoted, values)))


def _key(text: str, found: re.Match[str] | None, wrong: Callable[[str], ToolError]) -> str:
    """The key in front of an operator, or alone.

    Raises:
        ToolError: It is none, or the operator is none.
    """
    key = (text[: found.start()] if found else text).strip()
    if found is None and (not key or (" " in key and key[0] not in _QUOTES)):
        raise wrong("has no operator" if key else "is empty")
    if _BRACKET.match(key):
        raise wrong("has a bracket where a property is named; a name with a bracket is quoted")
    if found is None:
        return _unquoted(key)
    if found[0][0] == ">" and key.endswith("-"):
        raise wrong('has half an arrow, but a relation needs a whole one: "-p-> TYPE"')
    if "~" in found[0] and found[0] != "~":
        raise wrong('asks for a regular expression; "name~desmo" finds a part of text')
    if found[0] not in SPELLINGS:
        raise wrong(f"has an unknown operator: {quoted(found[0])}")
    if not key:
        raise wrong("names no property before the operator")
    return _unquoted(key)


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """The beginning and the end of each text in quotes, which begins after an operator or a bar."""
    spans: list[tuple[int, int]] = []
    place, before = 0, ""  # the last letter before the place that is no blank
    while place < len(text):
        stop = -1
        if text[place] in _QUOTES and before in _BEFORE_QUOTE:
            stop = text.find(text[place], place + 1)
        if stop > 0:
            spans.append((place, stop))
        before = before if text[place].isspace() else text[place]
        place = max(place, stop) + 1
    return spans


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


def scoped_property(
    text: str, names: Names, steps: int | None, wrong: Callable[[str], ToolError]
) -> ScopedProperty:
    """A property from its text: `year`, `Trial.year`, `2.year`, `1.inhibits.confidence`.

    Args:
        text: The text as written in a call.
        names: The names that a scope may use.
        steps: The number of steps of the path; None in a call without a path.
        wrong: Makes the error from its reason.

    Raises:
        ToolError: The text names no property, or a step that does not exist.
    """
    step, rest = _step(text, names, steps, wrong)
    scope, _, rest = _scope(rest, names)
    key = _unquoted(rest)
    if not key:
        raise wrong("names no property")
    key, scope = names.key(key, scope, steps)
    of_nodes = scope is None or scope in names.types
    return ScopedProperty(key, step, scope if of_nodes else None, None if of_nodes else scope)


def _outside_quotes(text: str) -> str:
    """A text without what stands in quotes."""
    ends = [0, *(place for start, stop in quoted_spans(text) for place in (start, stop)), len(text)]
    return "".join(text[ends[n] : ends[n + 1]] for n in range(0, len(ends), 2))


def quoted(text: str) -> str:
    """A condition in a message: as JSON, shortened."""
    return escaped(json.dumps(shorten(text, 80), ensure_ascii=False))


def _step(
    text: str, names: Names, steps: int | None, wrong: Callable[[str], ToolError]
) -> tuple[int | None, str]:
    """The number of the step at the start of a text, and the text after it."""
    found = _STEP.match(text)
    if found is None or (steps is None and names.find(found[1]) is not None):
        return None, text
    number = int(found[1][:9])
    if steps is None:
        raise wrong("names a step of a path, but this call has no path")
    if number > steps:
        raise wrong(f"names a step that the path does not have: its steps are 1 to {steps}")
    return number, text[found.end() :]


def _scope(text: str, names: Names) -> tuple[str | None, str | None, str]:
    """The scope, its written form, and the text after it."""
    for place, front in reversed([*names.known_names.before(text, ".")]):
        written = _unquoted(front)
        name = names.find(written)
        if name is not None:
            return name, written, text[place + 1 :]
    return None, None, text


def _without_no(text: str) -> tuple[bool, str]:
    """Whether a text begins with `no`, and the text after it."""
    found = _NO.match(text)
    return (True, text[found.end() :]) if found else (False, text)


def _end_of_quotes(text: str) -> int:
    """The end of the quoted key at the start; 0 if there is none."""
    start = text.lstrip()
    if start[:1] not in _QUOTES or not start:
        return 0
    return text.find(start[0], len(text) - len(start) + 1) + 1


def _alternatives(written: str) -> list[str]:
    """The values between bars outside of quotes."""
    bars, quote, is_blank = [-1], "", True
    for place, letter in enumerate(written):
        if letter == "|" and not quote:
            bars.append(place)
            is_blank = True
            continue
        if quote:
            quote = "" if letter == quote else quote
        elif letter in _QUOTES and is_blank:
            quote = letter
        is_blank = is_blank and letter.isspace()
    if quote:  # never closed, so the quote opens nothing
        return [part.strip() for part in written.split("|")]
    return [written[bar + 1 : end].strip() for bar, end in pairwise([*bars, len(written)])]


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES:
        return text[1:-1]
    return text


def _wrong(text: str, why: str, argument: str = "where") -> ToolError:
    form = (
        'as a string of its own: "year>=2010", "Trial.status=terminated|completed", "name~desmo", '
        '"no <-tests- Trial"'
        if argument == "where"
        else 'in brackets of its own: "Trial[year>=2010][status=a|b][no <-p- TYPE]"'
    )
    return bad_value(
        f"{argument}: {quoted(text)} {why}. Write each condition {form}; the operators are "
        "= != < <= > >= ~.",
        argument,
    )
