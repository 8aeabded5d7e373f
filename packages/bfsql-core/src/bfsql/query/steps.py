"""Steps as they are written: arrows, names and brackets, in the spellings of `protocol.md` 30.

Names may contain any characters, so the longest known name wins wherever a name is expected. The
contents of brackets are only delimited here; `bfsql.query.patterns` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from bfsql.errors import ToolError
from bfsql.models import MAX_STEPS, EdgeDirection
from bfsql.models.quotation import excerpt
from bfsql.models.spelling import KnownNames
from bfsql.query.expressions import INSIDE
from bfsql.query.properties import masked, unquoted, whole_number
from bfsql.query.vocabulary import Vocabulary

GRAMMAR = (
    'A step is "-predicate-> Type" (leaving), "<-predicate- Type" (entering) or '
    '"-predicate- Type" (either way); the type may be left out, "-a|b->" takes one of two '
    'predicates, "-->" any, "-a->{1,3}" repeats the step, "Type[year>=2010]" are those that meet a '
    "condition."
)
"""The grammar of a step, for error messages."""
MOST_NAMES = 20
"""Maximum number of names that one call looks up."""
MOST_NESTED = 3
"""Maximum depth of conditions in conditions (`protocol.md` 34)."""

_NAME_IN_QUOTES = re.compile(rf"([\"'`])(?!\1){INSIDE}\1")
_BLANKS = re.compile(r"\s{20,}")
"""A run of blanks that no name has; each pattern that begins with blanks would try all of them."""
_CLOSING = {"[": "]", "{": "}", "(": ")"}
_OPENED = re.compile(r"\s*([\[({])")
# The beginning of a condition in braces or parentheses, which may also hold a number of times.
_CONDITION = re.compile(r"\s*(?:no\s|[^\s(){}\[\]0-9,][^(){}\[\]]*?(?:[=<>~]|:\s))", re.IGNORECASE)
_TIMES = re.compile(r"\s*\{\s*+(\d*+)\s*+(,?)\s*+(\d*+)\s*+\}")
_CYPHER_TIMES = re.compile(r"\*\s*(\d*)\s*((?:\.\.)?)\s*(\d*)")
_COUNT = re.compile(r"\s*\((?=[^()0-9]*\d)[^()]*\)\s*$")
_ARROW = re.compile(r"<?-|[<>^]")
_SHORT = re.compile(r"(>|\^|<(?!-)|->(?=\s*[^\s-]))\s*")
_HEAD = re.compile(r"(<?)-(?!>)")
_NO_PREDICATE = re.compile(r"\s*[-\]*]")
_TAIL = re.compile(r"\s*-(>?)")
# Brackets as in Cypher, with the name of a variable and a colon.
_EDGE, _NODE = (re.compile(rf"\s*\{one}(?:\s*[A-Za-z_]\w*\s*(?=:))?(?:\s*:)?") for one in "[(")
_NEGATION = re.compile(r"\s*(?:!|(?:no|not)\s)\s*(?=<?-)", re.IGNORECASE)
# The end of a name unknown to the graph: the other half of the arrow, or another name.
_PREDICATE_END = re.compile(r"\s*(?:->|-(?=\s|\(|\{|$)|\||\[|\]|\{|\*|$)")
# What may follow a name that is known to the graph.
_ARROW_ENDS = re.compile(r"\s*(?:->|-)")
_WORD_END = re.compile(r"\s|\||\{|\(|,|$")
_TYPE_END = re.compile(r"\s*(?:\||\{|\[|\)|,|\(|:\s*\*|<-|-->|(?<=\s)[-<>^=!]|$)")


class Terms(NamedTuple):
    """Names that a text may contain, and what ends a name there that is unknown to the graph."""

    known: KnownNames
    end: re.Pattern[str]


class WrittenEnd(NamedTuple):
    """The nodes at one end of a step, as they are written."""

    types: Sequence[str] = ()
    brackets: Sequence[str] = ()
    """Conditions on the nodes, without the brackets around them."""
    entities: Sequence[str] = ()
    """The names of entities; empty if it names types."""


NO_END = WrittenEnd()


@dataclass(slots=True)
class WrittenStep:
    """One step as it is written in a path."""

    text: str
    number: int
    argument: str = "path"
    """The argument of the call that contains it."""
    front: WrittenEnd = NO_END
    predicates: list[str] = field(default_factory=list)
    direction: EdgeDirection | None = None
    bare: bool = False
    """Whether the step names no direction, so that it has to be found."""
    brackets: list[str] = field(default_factory=list)
    """Conditions on the edges, without the brackets around them."""
    end: WrittenEnd = NO_END
    least: int = 1
    most: int = 1

    def error(self, why: str, kind: str = "bad_value", place: str = "step") -> ToolError:
        """Create the error of the step, with the grammar."""
        name = f"{self.argument}: {place} {self.number} ({excerpt(self.text)})"
        return step_error(f"{name} {why}", kind, self.argument)


class StepReader:
    """A reader of the steps in one string, or of the types and brackets of a pattern.

    Args:
        text: The string.
        vocabulary: The names that it may use.
        entities: The names of entities at which steps may end.
        before: The number of steps in front of the string.
        argument: The argument of the call that contains it, for errors.

    Attributes:
        unknown: Texts in place of types that are none, and may be names of entities.
    """

    def __init__(
        self,
        text: str,
        vocabulary: Vocabulary,
        entities: Collection[str] = (),
        *,
        before: int = 0,
        argument: str = "path",
    ) -> None:
        self._whole, self._argument = text, argument
        self._text, self._at = _BLANKS.sub(" ", text.strip()), 0
        self.unknown: list[str] = []
        self._before, self._entities = before, entities
        self._predicates = Terms(vocabulary.predicates, _PREDICATE_END)
        self._words = Terms(vocabulary.predicates, _WORD_END)
        self._types = Terms(vocabulary.types, _TYPE_END)

    def pattern(self) -> tuple[WrittenEnd, str] | None:
        """The known types and the contents of the brackets at the beginning, and the rest.

        The types are empty for `*`. None if the string begins with another name.
        """
        names = self._known_types()
        if names is None:
            return None
        return WrittenEnd(names, self._brackets()), self._text[self._at :].strip()

    def steps(self) -> list[WrittenStep]:
        """The steps in the string, at least one."""
        found: list[WrittenStep] = []
        while not found or self._at < len(self._text):
            found.append(self._step(self._before + len(found) + 1))
            self._take(r"[\s,]+")
        return found

    def _step(self, number: int) -> WrittenStep:
        one = WrittenStep(self._whole, number, self._argument)
        if negated := self._take(_NEGATION):
            relation = self._text[negated.end() :]
            raise self._error(
                f"{excerpt(self._whole)} negates a step, but a walk consists of edges that exist. "
                f'To select nodes without it, write a condition: "no {relation}" in where, or in '
                f'brackets after a type: "Type[no {relation}]".'
            )
        if not _ARROW.match(self._text, self._at):
            if self._bare(one):
                return one
            one.front = self._written_end(one)
            self._take(r"\s+")
        if not self._arrow(one):
            raise one.error("cannot be read.")
        self._after(one)
        return one

    def _after(self, one: WrittenStep) -> None:
        """Read what follows an arrow: its end and quantifier, a count copied from the schema."""
        self._quantifier(one)
        self._take(r"\s+")
        if self._at < len(self._text) and not _ARROW.match(self._text, self._at):
            self._end(one)
        self._quantifier(one)
        self._take(_COUNT)

    def _end(self, one: WrittenStep) -> None:
        """Read the types at the end of a step, or the name of entities."""
        begin, first = self._at, self._text[self._at]
        known = [] if first == "[" else self._known_types()
        if known is None and first != "(":
            names = self._entity_names()
            if all(name in self._entities for name in names):
                one.end = WrittenEnd(entities=names)
                return
            self.unknown += names
            self._at = begin
        one.end = self._written_end(one) if known is None else WrittenEnd(known, self._brackets())
        self._take(r"\s*:\s*\*(?=\s|$)")

    def _entity_names(self) -> list[str]:
        """Read names between bars, each in quotes or else up to a known relation."""
        names: list[str] = []
        while not names or (len(names) < MOST_NAMES and self._take(r"\s*\|\s*")):
            name = self._name_in_quotes()
            if name is None:
                begin = self._at
                name = self._text[begin : self._next_relation()]
                if name.strip() not in self._entities:  # a bar may be part of a name
                    self.unknown += [] if names else [name.strip()]
                    name = name.partition("|")[0]
                self._at, name = begin + len(name), name.strip()
            names.append(name)
        return names

    def _next_relation(self) -> int:
        """The place of the next known relation, or the end of the text."""
        begin = self._at
        # No more arrows than a path may have steps, since each is compared with all predicates.
        for arrow in islice(re.finditer(r"\s<?-\s*", self._text[begin:]), MAX_STEPS):
            self._at = begin + arrow.end()
            if self._known_name(self._predicates) is not None:
                return begin + arrow.start()
        return len(self._text)

    def _known_types(self) -> list[str] | None:
        """Read known types between bars, or `*`, which is an empty list; None for other text."""
        begin = self._at
        if self._take(r"\*(?=\s*(?:[\[({:]|$))"):
            return []
        names: list[str] = []
        while (name := self._known_name(self._types)) is not None:
            self._at += len(name)
            names.append(name)
            if not self._take(r"\s*\|\s*"):
                return names
        self._at = begin
        return None

    @cached_property
    def _last_arrow(self) -> int:
        """The place of the last letter of an arrow, which is looked for once; -1 for none."""
        return max(map(self._text.rfind, "-<>^"))

    def _bare(self, one: WrittenStep) -> bool:
        """Read a predicate without an arrow: `studies`, `studies Disease`."""
        name, front = self._known_name(self._words), self._known_name(self._types)
        if front is not None and self._last_arrow >= self._at + len(front):
            return False
        if name is None and (self._last_arrow >= self._at or self._at >= len(self._text)):
            return False
        one.bare = True
        one.predicates = self._name_list(self._words)
        self._after(one)
        return True

    def _arrow(self, one: WrittenStep) -> bool:
        """Read an arrow with its predicates; return False if it cannot be read."""
        begin, head = self._at, self._take(r"(<?)-\s*")
        if head and self._known_name(self._predicates) is not None:  # it may have any characters
            one.predicates = self._name_list(self._predicates)
            one.brackets = self._brackets()
            if self._tail(one, entering=bool(head[1]), closed=True):
                return True
        self._at, one.predicates, one.brackets = begin, [], []
        if short := self._take(_SHORT):
            one.direction = "in" if short[1] in "<^" else "out"
            one.predicates = self._name_list(self._words)
            return bool(one.predicates)
        head = self._take(_HEAD)
        if head is None:
            return False
        bracket = self._take(_EDGE) is not None
        if not _NO_PREDICATE.match(self._text, self._at):
            has_tail = _TAIL.search(self._text, self._at)
            one.predicates = self._name_list(self._predicates if has_tail else self._words)
        if bracket:
            self._quantifier(one)
            if not self._take(r"\s*\]"):
                return False
        return self._tail(one, entering=bool(head[1]), closed=bracket or not one.predicates)

    def _tail(self, one: WrittenStep, *, entering: bool, closed: bool) -> bool:
        """Read the end of an arrow, which may be missing, as in `<-tests Trial`."""
        tail = self._take(_TAIL)
        if tail is None:
            one.direction = "in"
            return entering and not closed
        one.direction = "in" if entering else "out" if tail[1] else None
        return not (entering and tail[1])

    def _written_end(self, one: WrittenStep) -> WrittenEnd:
        """Read types or `*`, possibly written as a node in Cypher, and brackets."""
        if (known := self._known_types()) is not None:
            return WrittenEnd(known, self._brackets())
        node = self._known_name(self._types) is None and self._take(_NODE)
        if node and self._take(r"\s*\)"):
            return WrittenEnd((), self._brackets())
        names = self._name_list(self._types)
        if (node and not self._take(r"\s*\)")) or not names:
            raise one.error("cannot be read.")
        return WrittenEnd(names, self._brackets())

    def _quantifier(self, one: WrittenStep) -> None:
        found = self._take(_TIMES) or self._take(_CYPHER_TIMES)
        if found is None:
            return
        least, between, most = found.groups()
        low, high = whole_number(least or "1"), whole_number(most if between else least)
        if not 1 <= low <= high:
            raise one.error(
                f'{found[0].strip()} is not a valid repetition: "{{1,3}}" is once to three times; '
                "the lower bound is at least 1, and the upper bound is required.",
                place="in step",
            )
        if high > MAX_STEPS:
            raise one.error(
                f"may be taken {high} times; a walk has at most {MAX_STEPS} steps in all. Lower "
                f"the upper bound in {found[0].strip()}.",
                "too_large",
            )
        one.least, one.most = low, high

    # --- what the letters say -------------------------------------------------------------

    def _take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """The match of a pattern at this place, which is then read."""
        found = re.compile(pattern).match(self._text, self._at)
        if found:
            self._at = found.end()
        return found

    def _known_name(self, names: Terms) -> str | None:
        """The longest known name at this place, as it is written here, or None.

        A known name counts only if the text goes on with the end of a name.
        """
        for written in names.known.at(self._text, self._at):
            stop = self._at + len(written)
            if names.end.match(self._text, stop) or _ARROW_ENDS.match(self._text, stop):
                return written
        return None

    def _name_in_quotes(self) -> str | None:
        """Read a name in quotes."""
        found = self._take(_NAME_IN_QUOTES)
        return found and unquoted(found[0])

    def _name(self, names: Terms) -> str:
        """Read the longest known name at this place, or else the text before the end of a name."""
        name = self._known_name(names)
        if name is None:
            if quoted := self._name_in_quotes():
                return quoted
            stop = names.end.search(self._text, self._at)
            name = self._text[self._at : stop.start() if stop else len(self._text)]
        self._at += len(name)
        return name.strip()

    def _name_list(self, names: Terms) -> list[str]:
        """Read names separated by `|`."""
        found: list[str] = []
        while not found or self._take(r"\s*\|"):
            self._take(r"\s+")
            if self._known_name(names) is None:
                self._take(r":")
            if not (name := self._name(names)):
                break
            found.append(name)
        return found

    def _brackets(self) -> list[str]:
        """Read the contents of the brackets at this place, each a condition or several."""
        found: list[str] = []
        while opened := _OPENED.match(self._text, self._at):
            start = opened.end()
            if opened[1] != "[" and not _CONDITION.match(self._text, start):
                break
            end = self._closing(start - 1)
            content = self._text[start:end]
            found.append(re.sub(r"(?<!:):\s", "=", content) if opened[1] == "{" else content)
            self._at = end + 1
        return found

    @cached_property
    def _masked(self) -> str:
        return masked(self._text)

    def _closing(self, start: int) -> int:
        """The place of the bracket that closes the one at `start`.

        Raises:
            ToolError: None closes it, or brackets are nested too deep.
        """
        waiting = [_CLOSING[self._text[start]]]
        for place in range(start + 1, len(self._text)):
            letter = self._masked[place]
            if letter == "[":
                waiting.append("]")
                if len(waiting) > MOST_NESTED:
                    raise self._error(
                        f"{excerpt(self._whole)} has conditions nested more than {MOST_NESTED} "
                        "deep. Find the innermost entities in a separate call, and pass their ids.",
                        "too_large",
                    )
            elif letter == waiting[-1]:
                waiting.pop()
                if not waiting:
                    return place
        raise self._error(
            f"the bracket before {excerpt(self._text[start + 1 :])} is not closed. Close it with "
            f'"{_CLOSING[self._text[start]]}"; a value that contains a bracket is put in quotes: '
            'Type[name="a]b"].'
        )

    def _error(self, why: str, kind: str = "bad_value") -> ToolError:
        return ToolError(f"{self._argument}: {why}", kind=kind, argument=self._argument)


def step_error(message: str, kind: str = "bad_value", argument: str = "path") -> ToolError:
    """Create the error of a step or a pattern, with the grammar."""
    return ToolError(f"{message} {GRAMMAR}", kind=kind, argument=argument)
