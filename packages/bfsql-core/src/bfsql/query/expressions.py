"""Expressions as calls write them (`protocol.md` 39).

    comparison = expression operator expression ("|" expression)*
    expression = term (("+" | "-") term)*
    term       = factor (("*" | "/") factor)*
    factor     = number | date | property | "-" factor | "(" expression ")"
               | ("abs" | "year") "(" expression ")" | "round(" expression ["," number] ")"

Names may contain signs (`height-width`, `km/h`, `weight (kg)`), so the text alone tells what is an
operator: `*` always is; `+`, `-` and `/` are with a blank on both sides, or beside a number, a
bracket or the property of a step. A bracket opens at the start, after an operator and after a
function. Quotes end all doubt.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from bfsql.errors import ToolError
from bfsql.models.comparison import is_unordered, moment_in, number_in
from bfsql.models.expression import Constant, Operation, Part, Tree, parts_of, replaced
from bfsql.models.quotation import quoted

FUNCTIONS = ("round", "abs", "year")
MOST_TOKENS, MOST_NESTED = 200, 64
"""Names, numbers and operators of an expression; brackets in brackets."""

_CALLS = rf"(?:{'|'.join(FUNCTIONS)})\s*\("
_DIGITS = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])"
_OF_STEP = r"[0-9]+\s*\.\s*(?:[^\W\d]|[\"'`])"
_NUMBER = re.compile(_DIGITS)
_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}(?:-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)?(?![\w-])",
    re.IGNORECASE,
)
_CALL = re.compile(_CALLS, re.IGNORECASE)
_BESIDE = re.compile(rf"{_DIGITS}|\(|{_OF_STEP}|{_CALLS}", re.IGNORECASE)
"""What makes a sign in front of it an operator."""
_NAME_END = re.compile(r"[()*,=!<>~+/-]")
INSIDE = r"(?:(?:[^\\]|\\[\\\"]?+)*?|(?s:.*?))"
"""What quotes contain; as in JSON, `\\"` does not end them, unless nothing else does."""
_QUOTED = re.compile(rf"([\"'`]){INSIDE}\1")
_IRI = re.compile(r"[a-z][a-z0-9+.-]*://[^\s=<>~!]+", re.IGNORECASE)
_LEFT = re.compile(r"[^=!<>~]*")
_SIGN = re.compile(r"\s*([=!<>~]+)")
_BLANKS = re.compile(r"\s*")
_ORDERED = ("<", "<=", ">", ">=")
_PERHAPS = re.compile(
    rf"\*|\s[+/-]\s|[+/-](?:{_BESIDE.pattern})|^\s*\(|{_CALLS}"
    rf"|(?<!-)[<>]=?\s*[^\W\d]|[=<>]\s*(?:\.\s*[^\W\d]|{_OF_STEP})",
    re.IGNORECASE,
)
_PROPERTY = re.compile(r"\s*(?:\.\s*[^\W\d]|[0-9]+\s*\.\s*[^\W\d])")
_WORD = re.compile(r"[^\W\d][\w .:-]*")

Error = Callable[[str], ToolError]
"""Makes the error of a text, from what is wrong with it."""


def may_compute(text: str) -> bool:
    """Whether a text may be an expression, or compare two properties."""
    return _PERHAPS.search(text) is not None


class Comparison(NamedTuple):
    """An expression that is compared."""

    left: Tree
    operator: str
    """As it is written."""
    rights: tuple[Tree, ...]


class ExpressionReader:
    """Reads one expression, up to a comparison or the end of the text.

    Args:
        text: The text.
        part: Returns the property that a name, as it is written, stands for.
        wrong: Makes the error of the text.

    Attributes:
        at: The place in the text after what was read.
        is_certain: Whether something was read that no name is written like.
    """

    def __init__(self, text: str, part: Callable[[str], Tree], wrong: Error) -> None:
        self._text, self._part, self._wrong = text, part, wrong
        self.at, self.is_certain = 0, False
        self._tokens = self._depth = 0

    def expression(self) -> Tree:
        """An expression.

        Raises:
            ToolError: Something is missing, too long or nested too deeply.
        """
        tree = self._term()
        while sign := self._operator("+-"):
            tree = Operation(sign, (tree, self._term()))
        return tree

    def whole(self) -> Tree:
        """The expression that the whole text is; errors as in `expression`."""
        tree = self.expression()
        if rest := self._text[self.at :].strip():
            raise self._wrong(f"has {quoted(rest)} after {self._before}")
        return tree

    @property
    def _before(self) -> str:
        return quoted(self._text[: self.at].strip())

    def _term(self) -> Tree:
        tree = self._factor()
        while sign := self._operator("*/"):
            tree = Operation(sign, (tree, self._factor()))
        return tree

    def _operator(self, signs: str) -> str | None:
        """The operator that follows, if it is one of these."""
        self._skip()
        sign = self._text[self.at : self.at + 1]
        if not sign or sign not in signs:
            return None
        self.at, self.is_certain = self.at + 1, True
        self._count()
        return sign

    def _factor(self) -> Tree:
        self._skip()
        self._count()
        text, at = self._text, self.at
        if text.startswith("-", at):
            self.at += 1
            return Operation("-", (Constant("0"), self._factor()))
        if text.startswith("(", at):
            self.at, self.is_certain = at + 1, True
            return self._bracket(1)[0]
        if found := _CALL.match(text, at):
            self.at, self.is_certain = found.end(), True
            name = found[0].rstrip("( \t\n").casefold()
            return Operation(name, self._bracket(2 if name == "round" else 1))
        if found := _DATE.match(text, at) or _NUMBER.match(text, at):
            self.at = found.end()
            return Constant(found[0])
        return self._name()

    def _bracket(self, most: int) -> tuple[Tree, ...]:
        """The expressions up to the closing bracket, at most so many, with commas between them."""
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._wrong(f"has more than {MOST_NESTED} brackets in brackets")
        inside = [self.expression()]
        while len(inside) < most and self._operator(","):
            inside.append(self.expression())
        self._skip()
        if not self._text.startswith(")", self.at):
            raise self._wrong(f'lacks a ")" after {self._before}')
        self._depth -= 1
        self.at += 1
        return tuple(inside)

    def _name(self) -> Tree:
        start = self.at
        if whole := _QUOTED.match(self._text, start) or _IRI.match(self._text, start):
            self.at = whole.end()
        self.at = self._name_end()
        name = self._text[start : self.at].strip()
        if not name:
            after = f"after {self._before}" if start else "at its beginning"
            raise self._wrong(f"names no property or number {after}")
        return self._part(name)

    def _name_end(self) -> int:
        inside = 0
        for found in _NAME_END.finditer(self._text, self.at):
            char, place = found[0], found.start()
            if char in "=!<>~*":
                return place
            if char == ")" and not inside:
                if self._depth:
                    return place
            elif char in "()":
                inside += 1 if char == "(" else -1
            elif not inside and (self._depth if char == "," else self._is_operator(place)):
                return place
        return len(self._text)

    def _is_operator(self, place: int) -> bool:
        beside = self._text[place - 1 : place] + self._text[place + 1 : place + 2]
        return (beside.isspace() and len(beside) == 2) or bool(_BESIDE.match(self._text, place + 1))

    def _skip(self) -> None:
        blanks = _BLANKS.match(self._text, self.at)
        self.at = self.at if blanks is None else blanks.end()

    def _count(self) -> None:
        self._tokens += 1
        if self._tokens > MOST_TOKENS:
            raise self._wrong(f"has more than {MOST_TOKENS} numbers, names and operators")


def comparison(
    text: str,
    part: Callable[[str], Tree],
    wrong: Error,
    values: Callable[[str], list[str]],
    keys: Collection[str] | None = None,
    *,
    steps: bool = False,
) -> Comparison | None:
    """What a condition compares, if a side of it is computed or both are properties.

    Args:
        text: The condition, without `no`.
        part: Returns the property that a name stands for.
        wrong: Makes the error of the text.
        values: Divides a text at the bars outside of quotes.
        keys: The keys of nodes; None if they are not known.
        steps: Whether the call has a path, so that `2.year` is a property on the right, too.

    Returns:
        The two sides; None if a property is compared with a written value, or if nothing is.
    """
    reader = ExpressionReader(text, part, wrong)
    try:
        left = reader.expression()
    except ToolError:
        if reader.is_certain:
            raise
        return None
    is_computed = isinstance(left, Operation) or reader.is_certain
    if isinstance(left, Operation) and (front := _LEFT.match(text)):
        whole = whole_key(front[0].strip(), part, keys)
        if whole is not None:
            left, reader.at, is_computed = whole, front.end(), False
    sign = _SIGN.match(text, reader.at)
    if sign is None:
        if is_computed and reader.is_certain:
            rest = text[reader.at :].strip()
            why = f"has {quoted(rest)} after its expression" if rest else "compares with nothing"
            raise wrong(f'{why}: write a number or another property, as in "width * height > 600"')
        return None
    places = {(*part.place, part.type) for part in parts_of(left)}
    place = places.pop() if len(places) == 1 else (None, None, None)
    if place[1] is not None:  # of edges, whose keys are not known
        keys = None
    written = values(text[sign.end() :])
    ordered = sign[1].replace("=>", ">=").replace("=<", "<=") in _ORDERED
    if not is_computed and not any(
        _is_computed(one, keys, ordered=ordered, steps=steps) for one in written
    ):
        return None
    if "~" in sign[1]:
        raise wrong('has "~", which finds text, beside an expression, which is a number')
    rights = [ExpressionReader(one, part, wrong).whole() for one in written]
    return Comparison(left, sign[1], tuple(replaced(one, partial(_at, place)) for one in rights))


def _at(place: tuple[int | None, str | None, str | None], part: Part) -> Part:
    """A property of the right side, at the place of the left side if it names none."""
    named = part.step is not None or part.predicate is not None or part.type is not None
    return part if named else Part(part.key, *place)


def whole_key(text: str, part: Callable[[str], Tree], keys: Collection[str] | None) -> Part | None:
    """The property that a text is as a whole, if the graph has such a key."""
    if keys:
        with suppress(ToolError):
            whole = part(text)
            if isinstance(whole, Part) and whole.key in keys:
                return whole
    return None


def _is_computed(text: str, keys: Collection[str] | None, *, ordered: bool, steps: bool) -> bool:
    """Whether the right side of a property is one as well, or computed."""
    if text[:1] in "\"'`":
        return False
    if text.startswith("."):
        return text[1:2].isidentifier() and (keys is None or text[1:].strip() in keys)
    if _PROPERTY.match(text):
        return steps
    if not ordered or moment_in(text):
        return False
    if _WORD.fullmatch(text):
        return keys is not None and text in keys
    return may_compute(text) and number_in(text) is None and not is_unordered(text)
