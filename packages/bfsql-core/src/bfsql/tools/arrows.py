"""Steps and patterns as text: arrows, names and brackets, in the spellings of `protocol.md` 30.

Names may contain any characters, so the longest known name wins wherever a name is expected. The
contents of brackets are only delimited here; `bfsql.tools.patterns` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NoReturn

from bfsql.answers.clean import excerpt
from bfsql.errors import ToolError
from bfsql.models import MAX_STEPS, EdgeDirection
from bfsql.models.condition import quoted_spans
from bfsql.models.spelling import KnownNames
from bfsql.tools.resolve import MOST_NAMES

GRAMMAR = (
    'A step is "-predicate-> Type" (leaving), "<-predicate- Type" (entering) or '
    '"-predicate- Type" (either way); the type may be left out, "-a|b->" takes one of two '
    'predicates, "-->" any, "-a->{1,3}" repeats the step, "Type[year>=2010]" are those that meet a '
    "condition."
)
"""The grammar of a step, for error messages."""

_TIMES = re.compile(r"\s*\{\s*+(\d*+)\s*+(,?)\s*+(\d*+)\s*+\}")
_CYPHER_TIMES = re.compile(r"\s*\*\s*(\d*)\s*((?:\.\.)?)\s*(\d*)")
_COUNT = re.compile(r"\s*\((?=[^()0-9]*\d)[^()]*\)\s*$")
_ARROW = re.compile(r"<?-|[<>^]")
_SHORT = re.compile(r"(>|\^|<(?!-)|->(?=\s*[^\s-]))\s*")
_HEAD = re.compile(r"(<?)-(?!>)")
_NO_PREDICATE = re.compile(r"\s*[-\]*]")
_TAIL = re.compile(r"\s*-(>?)")
_VARIABLE = re.compile(r"\s*[A-Za-z_]\w*\s*(?=:)")
_NEGATION = re.compile(r"\s*(?:!|(?:no|not)\s)\s*(?=<?-)", re.IGNORECASE)
# The end of a name unknown to the graph: the other half of the arrow, or another name.
_PREDICATE_END = re.compile(r"\s*(?:->|-(?=\s|\(|\{|$)|\||\[|\]|\{|\*|$)")
_WORD_END = re.compile(r"\s|\||\{|\(|,|$")
_ARROW_ENDS = re.compile(r"\s*(?:->|-)")
_TYPE_END = re.compile(r"\s*(?:\||\{|\[|\)|,|\(|:\s*\*|<-|-->|(?<=\s)[-<>^=!]|$)")
# The beginning of a condition in braces or parentheses, which may also hold a number of times.
_CONDITION = re.compile(r"\s*(?:no\s|[^\s(){}\[\]0-9,][^(){}\[\]]*?(?:[=<>~]|:\s))", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'")
_BLANKS = re.compile(r"\s{20,}")
"""A run of blanks that no name has; each pattern that begins with blanks would try all of them."""
_CLOSING = {"[": "]", "{": "}", "(": ")"}

MOST_NESTED = 3
"""Maximum depth of conditions in conditions (`protocol.md` 34)."""


@dataclass(slots=True)
class ParsedStep:
    """One step as it is written in a path."""

    text: str
    number: int
    argument: str = "path"
    """The argument of the call that contains it."""
    predicates: list[str] = field(default_factory=list)
    direction: EdgeDirection | None = None
    bare: bool = False
    """Whether the step names no direction, so that it has to be found."""
    edge_brackets: list[str] = field(default_factory=list)
    """Conditions on the edges, without the brackets around them."""
    front: list[str] = field(default_factory=list)
    front_brackets: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    brackets: list[str] = field(default_factory=list)
    """Conditions on the nodes that it may reach."""
    entities: list[str] = field(default_factory=list)
    """The names of the entities that it may reach; empty if it names types."""
    least: int = 1
    most: int = 1

    @property
    def name(self) -> str:
        """The step as messages name it."""
        return f"{self.argument}: step {self.number} ({excerpt(self.text)})"


class StepReader:
    """A reader of the steps in one string, or of the types and brackets of a pattern.

    Args:
        text: The string.
        predicates: The predicates of the graph.
        types: The types of the graph.
        entities: The names of entities at which steps may end.
        before: The number of steps in front of the string.
        argument: The argument of the call that contains it, for errors.

    Attributes:
        unknown: Texts in place of types that are none, and may be names of entities.
    """

    def __init__(
        self,
        text: str,
        predicates: KnownNames,
        types: KnownNames,
        entities: Collection[str] = (),
        *,
        before: int = 0,
        argument: str = "path",
    ) -> None:
        self.unknown: list[str] = []
        self._whole = text
        self._text = _BLANKS.sub(" ", text.strip())
        self._at = 0
        self._before, self._argument = before, argument
        self._predicates = predicates
        self._types = types
        self._entities = entities

    def pattern(self) -> tuple[list[str], list[str], str] | None:
        """The known types and the contents of the brackets at the beginning, and the rest.

        The types are empty for `*`. None if the string begins with another name.
        """
        names = self._known_types()
        if names is None:
            return None
        brackets = self._brackets()
        return names, brackets, self._text[self._at :].strip()

    def steps(self) -> list[ParsedStep]:
        """The steps in the string, at least one."""
        found: list[ParsedStep] = []
        while not found or self._at < len(self._text):
            found.append(self._step(self._before + len(found) + 1))
            self._take(r"[\s,]+")
        return found

    def _step(self, number: int) -> ParsedStep:
        one = ParsedStep(self._whole, number, self._argument)
        begin = self._at
        if negated := self._take(_NEGATION):
            relation = self._text[negated.end() :].strip()
            raise self._wrong(
                f"{excerpt(self._whole)} negates a step, but a walk consists of edges that "
                f'exist. To select nodes without it, write a condition: "no {relation}" in where, '
                f'or in brackets after a type: "Type[no {relation}]".',
                "bad_value",
            )
        if not _ARROW.match(self._text, self._at):
            if self._bare(one):
                return one
            one.front = self._type_list(one)
            one.front_brackets = self._brackets()
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
            self._end(one)
        self._quantifier(one)
        self._take(_COUNT)

    def _end(self, one: ParsedStep) -> None:
        """Read the types at the end of a step, or the name of entities."""
        first = self._text[self._at]
        known = [] if first == "[" else self._known_types()
        if known is None and first != "(":
            begin, names = self._at, self._entity_names()
            if all(name in self._entities for name in names):
                one.entities = names
                return
            self.unknown += names
            self._at = begin
        one.types = self._type_list(one) if known is None else known
        one.brackets = self._brackets()
        self._take(r"\s*:\s*\*(?=\s|$)")

    def _entity_names(self) -> list[str]:
        """Read names between bars, each in quotes or else up to a known relation."""
        names: list[str] = []
        while not names or (len(names) < MOST_NAMES and self._take(r"\s*\|\s*")):
            if quoted := self._take(_QUOTED):
                names.append(next(part for part in quoted.groups() if part))
                continue
            begin = self._at
            name = self._text[begin : self._next_relation()]
            if name.strip() not in self._entities:  # a bar may be part of a name
                self.unknown += [] if names else [name.strip()]
                name = name.partition("|")[0]
            self._at = begin + len(name)
            names.append(name.strip())
        return names

    def _next_relation(self) -> int:
        """The place of the next known relation, or the end of the text."""
        begin = self._at
        # No more arrows than a path may have steps, since each is compared with all predicates.
        for arrow in islice(re.finditer(r"\s<?-\s*", self._text[begin:]), MAX_STEPS):
            self._at = begin + arrow.end()
            if self._known_name(self._predicates, _PREDICATE_END) is not None:
                return begin + arrow.start()
        return len(self._text)

    def _known_types(self) -> list[str] | None:
        """Read known types between bars, or `*`, which is an empty list; None for other text."""
        begin = self._at
        if self._take(r"\*(?=\s*(?:[\[({:]|$))"):
            return []
        names: list[str] = []
        while (name := self._known_name(self._types, _TYPE_END)) is not None:
            self._at += len(name)
            names.append(name)
            if not self._take(r"\s*\|\s*"):
                return names
        self._at = begin
        return None

    def _brackets(self) -> list[str]:
        """Read the contents of the brackets at this place."""
        found: list[str] = []
        while opened := re.compile(r"\s*([\[({])").match(self._text, self._at):
            start = opened.end()
            if opened[1] != "[" and not _CONDITION.match(self._text, start):
                break
            end = self._closing(start - 1)
            content = self._text[start:end]
            found.append(re.sub(r"(?<!:):\s", "=", content) if opened[1] == "{" else content)
            self._at = end + 1
        return found

    @cached_property
    def _quoted(self) -> frozenset[int]:
        """The places of characters in quotes."""
        spans = quoted_spans(self._text)
        return frozenset(place for span in spans for place in range(*span))

    def _closing(self, start: int) -> int:
        """The place of the bracket that closes the one at `start`.

        Raises:
            ToolError: None closes it, or brackets are nested too deep.
        """
        text, waiting = self._text, list[str]()
        for place in range(start, len(text)):
            letter = text[place]
            if place in self._quoted:
                continue
            if letter == "[" or (place == start and letter in _CLOSING):
                waiting.append(_CLOSING[letter])
                if len(waiting) > MOST_NESTED:
                    raise self._wrong(
                        f"{excerpt(self._whole)} has conditions nested more than {MOST_NESTED} "
                        "deep. Find the innermost entities in a separate call, and pass "
                        "their ids.",
                        "too_large",
                    )
            elif letter == waiting[-1]:
                waiting.pop()
                if not waiting:
                    return place
        raise self._wrong(
            f"the bracket before {excerpt(text[start + 1 :])} is not closed. Close it with "
            f'"{_CLOSING[text[start]]}"; a value that contains a bracket is put in quotes: '
            'Type[name="a]b"].',
            "bad_value",
        )

    def _wrong(self, why: str, kind: str) -> ToolError:
        return ToolError(f"{self._argument}: {why}", kind=kind, argument=self._argument)

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
            one.edge_brackets = self._brackets()
            if self._tail(one, entering=bool(head[1]), closed=True):
                return True
        self._at, one.predicates, one.edge_brackets = begin, [], []
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
            if quoted := self._take(_QUOTED):
                return next(part for part in quoted.groups() if part)
            stop = end.search(self._text, self._at)
            name = self._text[self._at : stop.start() if stop else len(self._text)]
        self._at += len(name)
        return name.strip()

    def _known_name(self, names: KnownNames, end: re.Pattern[str]) -> str | None:
        """The longest known name at this place, as it is written here, or None.

        A known name counts only if the text goes on with the end of a name.
        """
        for written in names.at(self._text, self._at):
            stop = self._at + len(written)
            if end.match(self._text, stop) or _ARROW_ENDS.match(self._text, stop):
                return written
        return None

    def _quantifier(self, one: ParsedStep) -> None:
        found = self._take(_TIMES)
        if found is None and self._text[self._at : self._at + 1] == "*":
            found = self._take(_CYPHER_TIMES)
        if found is None:
            return
        least, between, most = found.groups()
        # Nine digits are more than any bound, and Python reads at most some thousand.
        high = int(((most if between else least) or "0").lstrip("0")[:9] or 0)
        low = int((least or "1").lstrip("0")[:9] or 0)
        if not 1 <= low <= high:
            raise step_error(
                f"{one.argument}: in step {one.number} ({excerpt(one.text)}) {found[0].strip()} is "
                'not a valid repetition: "{1,3}" is once to three times; the lower bound is at '
                "least 1, and the upper bound is required.",
                argument=one.argument,
            )
        if high > MAX_STEPS:
            raise step_error(
                f"{one.name} may be taken {high} times; a walk "
                f"has at most {MAX_STEPS} steps in all. Lower the upper bound in "
                f"{found[0].strip()}.",
                "too_large",
                one.argument,
            )
        one.least, one.most = low, high

    def _take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """The match of a pattern at this place, which is then read."""
        found = re.compile(pattern).match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _unreadable(self, one: ParsedStep) -> NoReturn:
        raise step_error(f"{one.name} cannot be read.", argument=one.argument)


def step_error(message: str, kind: str = "bad_value", argument: str = "path") -> ToolError:
    """Create the error of a step or a pattern, with the grammar."""
    return ToolError(f"{message} {GRAMMAR}", kind=kind, argument=argument)
