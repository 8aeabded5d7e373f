"""Steps of a path as text: arrows with predicates and types, in the spellings of `asking.md` 6.

Names may contain any characters, so the longest known name wins wherever a name is expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from bfsql.answers.clean import excerpt
from bfsql.errors import ToolError
from bfsql.models import MAX_STEPS, EdgeDirection
from bfsql.models.spelling import KnownNames

GRAMMAR = (
    'A step is "-predicate-> Type" (leaving), "<-predicate- Type" (entering) or '
    '"-predicate- Type" (either way); the type may be left out, "-a|b->" takes one of two '
    'predicates, "-->" any, "-a->{1,3}" repeats the step.'
)
"""The grammar of a step, for error messages."""

_TIMES = re.compile(r"\s*\{\s*(\d*)\s*(,?)\s*(\d*)\s*\}")
_CYPHER_TIMES = re.compile(r"\s*\*\s*(\d*)\s*((?:\.\.)?)\s*(\d*)")
_COUNT = re.compile(r"\s*\((?=[^()0-9]*\d)[^()]*\)\s*$")
_ARROW = re.compile(r"<?-|[<>^]")
_SHORT = re.compile(r"(>|\^|<(?!-)|->(?=\s*[^\s-]))\s*")
_HEAD = re.compile(r"(<?)-(?!>)")
_NO_PREDICATE = re.compile(r"\s*[-\]*]")
_TAIL = re.compile(r"\s*-(>?)")
_VARIABLE = re.compile(r"\s*[A-Za-z_]\w*\s*(?=:)")
# The end of a name unknown to the graph: the other half of the arrow, or another name.
_PREDICATE_END = re.compile(r"\s*(?:->|-(?=\s|\(|\{|$)|\||\]|\{|\*|$)")
_WORD_END = re.compile(r"\s|\||\{|\(|,|$")
_ARROW_ENDS = re.compile(r"\s*(?:->|-)")
_TYPE_END = re.compile(r"\s*(?:\||\{|\)|,|\(|<-|-->|(?<=\s)[-<>^]|$)")


@dataclass(slots=True)
class ParsedStep:
    """One step as it is written in a path."""

    text: str
    number: int
    predicates: list[str] = field(default_factory=list)
    direction: EdgeDirection | None = None
    bare: bool = False
    """Whether the step names no direction, so that it has to be found."""
    front: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    least: int = 1
    most: int = 1

    @property
    def name(self) -> str:
        """The step as messages name it."""
        return f"path: step {self.number} ({excerpt(self.text)})"


class StepReader:
    """A reader of the steps in one string; `before` is the number of steps in front of it."""

    def __init__(self, text: str, predicates: KnownNames, types: KnownNames, before: int) -> None:
        self._whole = text
        self._text = text.strip()
        self._at = 0
        self._before = before
        self._predicates = predicates
        self._types = types

    def steps(self) -> list[ParsedStep]:
        """The steps in the string, at least one."""
        found: list[ParsedStep] = []
        while not found or self._at < len(self._text):
            found.append(self._step(self._before + len(found) + 1))
            self._take(r"[\s,]+")
        return found

    def _step(self, number: int) -> ParsedStep:
        one = ParsedStep(self._whole, number)
        begin = self._at
        if not _ARROW.match(self._text, self._at):
            if self._bare(one):
                return one
            one.front = self._type_list(one)
            self._take(r"\s+")
        if not self._arrow(one):
            self._unreadable(one)
        self._quantifier(one)
        self._after(one)
        assert self._at > begin
        return one

    def _after(self, one: ParsedStep) -> None:
        """Read the types after an arrow, its quantifier, and a count copied from the schema."""
        self._take(r"\s+")
        if self._at < len(self._text) and not _ARROW.match(self._text, self._at):
            one.types = self._type_list(one)
        self._quantifier(one)
        self._take(_COUNT)

    def _bare(self, one: ParsedStep) -> bool:
        """Read a predicate without an arrow: `studies`, `studies Disease`."""
        rest = self._text[self._at :]
        name = self._known_name(self._predicates, _WORD_END)
        front = self._known_name(self._types, _TYPE_END)
        if front is not None and _ARROW.search(rest, len(front)):
            return False
        if name is None:
            if _ARROW.search(rest) or not rest:
                return False
            name = rest[: _WORD_END.search(rest).start()]  # type: ignore[union-attr]
        one.bare = True
        one.predicates = self._name_list(self._predicates, _WORD_END)
        self._quantifier(one)
        self._after(one)
        return True

    def _arrow(self, one: ParsedStep) -> bool:
        """Read an arrow with its predicates; return False if it cannot be read."""
        if self._plain_arrow(one):
            return True
        if short := self._take(_SHORT):
            one.direction = "in" if short[1] in "<^" else "out"
            one.predicates = self._name_list(self._predicates, _WORD_END)
            return bool(one.predicates)
        head = self._take(_HEAD)
        if head is None:
            return False
        bracket = self._opened(r"\s*\[")
        if not _NO_PREDICATE.match(self._text, self._at):
            end = _PREDICATE_END if _TAIL.search(self._text, self._at) else _WORD_END
            one.predicates = self._name_list(self._predicates, end)
        if bracket:
            self._quantifier(one)
            if not self._take(r"\s*\]"):
                return False
        return self._tail(one, entering=bool(head[1]), closed=bracket or not one.predicates)

    def _plain_arrow(self, one: ParsedStep) -> bool:
        """Read an arrow with known predicates, whatever characters they contain."""
        begin = self._at
        head = self._take(r"(<?)-\s*")
        if head is None:
            return False
        if self._known_name(self._predicates, _PREDICATE_END) is not None:
            one.predicates = self._name_list(self._predicates, _PREDICATE_END)
            if self._tail(one, entering=bool(head[1]), closed=True):
                return True
        self._at, one.predicates = begin, []
        return False

    def _tail(self, one: ParsedStep, *, entering: bool, closed: bool) -> bool:
        """Read the end of an arrow, which may be missing, as in `<-tests Trial`."""
        tail = self._take(_TAIL)
        if tail is None:
            one.direction = "in"
            return entering and not closed
        one.direction = "in" if entering else "out" if tail[1] else None
        return not (entering and tail[1])

    def _opened(self, bracket: str) -> bool:
        """Read an opening bracket as in Cypher, with the name of a variable and a colon."""
        if not self._take(bracket):
            return False
        self._take(_VARIABLE)
        self._take(r"\s*:")
        return True

    def _name_list(self, known: KnownNames, end: re.Pattern[str]) -> list[str]:
        """Read names separated by `|`."""
        names: list[str] = []
        while True:
            self._take(r"\s+")
            if self._known_name(known, end) is None:
                self._take(r":")
            name = self._name(known, end)
            if not name:
                return names
            names.append(name)
            if not self._take(r"\s*\|"):
                return names

    def _type_list(self, one: ParsedStep) -> list[str]:
        """Read types, possibly written as a node in Cypher."""
        known = self._known_name(self._types, _TYPE_END)
        node = known is None and self._opened(r"\s*\(")
        if node and self._take(r"\s*\)"):
            return []
        names = self._name_list(self._types, _TYPE_END)
        if (node and not self._take(r"\s*\)")) or not names:
            self._unreadable(one)
        return names

    def _name(self, known: KnownNames, end: re.Pattern[str]) -> str:
        """The longest known name at this place, or else the text before the next end of a name."""
        name = self._known_name(known, end)
        if name is None:
            if quoted := self._take(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'"):
                return next(part for part in quoted.groups() if part)
            stop = end.search(self._text, self._at)
            name = self._text[self._at : stop.start() if stop else len(self._text)]
        self._at += len(name)
        return name.strip()

    def _known_name(self, names: KnownNames, end: re.Pattern[str]) -> str | None:
        """The longest known name at this place, as it is written here, or None.

        A known name counts only if the text goes on with the end of a name.
        """
        for same in (str, str.casefold):
            for name in names.longest_first:
                stop = self._at + len(name)
                written = self._text[self._at : stop]
                if same(written) == same(name) and (
                    end.match(self._text, stop) or _ARROW_ENDS.match(self._text, stop)
                ):
                    return written
        return None

    def _quantifier(self, one: ParsedStep) -> None:
        found = self._take(_TIMES)
        if found is None and self._text[self._at : self._at + 1] == "*":
            found = self._take(_CYPHER_TIMES)
        if found is None:
            return
        least, between, most = found.groups()
        high = int((most if between else least) or 0)
        low = int(least or 1)
        if not 1 <= low <= high:
            raise step_error(
                f"path: in step {one.number} ({excerpt(one.text)}) {found[0].strip()} is no number "
                'of times: "{1,3}" is once to three times, from 1 on and with an upper bound.'
            )
        if high > MAX_STEPS:
            raise step_error(
                f"{one.name} may be taken {high} times; a walk "
                f"has at most {MAX_STEPS} steps in all. Lower the upper bound in "
                f"{found[0].strip()}.",
                "too_large",
            )
        one.least, one.most = low, high

    def _take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """The match of a pattern at this place, which is then read."""
        found = re.compile(pattern).match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _unreadable(self, one: ParsedStep) -> NoReturn:
        raise step_error(f"{one.name} cannot be read.")


def step_error(message: str, kind: str = "bad_value") -> ToolError:
    """Create the error of a step, with the grammar."""
    return ToolError(f"{message} {GRAMMAR}", kind=kind, argument="path")
