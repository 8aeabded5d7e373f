"""The steps of a path, as models write them (`asking.md` 6).

    "-studies-> Disease"        leaving edges of that predicate, to that type
    "<-tests- Trial"            entering edges
    "-interacts_with- Protein"  either way
    "-inhibits|activates->"     one of two predicates, any type
    "-->", "<-- Paper", "--"    any predicate
    "-is_a->{1,3}"              the same step once to three times

Names may hold any characters, so the longest known name wins wherever one is due. Spellings
that can only mean one thing are taken: `>studies`, `<tests`, `^tests`, a bare `studies`,
`-[:STUDIES]->(Disease)`, several arrows in one string, a type in front, another case.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, NoReturn

from bfsql.answers.clean import plain
from bfsql.answers.notes import listed
from bfsql.errors import ToolError
from bfsql.models import MAX_STEPS, EdgeDirection, Path, PathQuery, Relation, Step
from bfsql.tools.schema import Schema
from bfsql.tools.validate import shown

GRAMMAR = (
    'A step is "-predicate-> Type" (leaving), "<-predicate- Type" (entering) or '
    '"-predicate- Type" (either way); the type may be left out, "-a|b->" takes one of two '
    'predicates, "-->" any, "-a->{1,3}" repeats the step.'
)
"""For errors."""

_NEAR = 3
"""Relations or names that an error suggests."""
_BLANK = re.compile(r"\s*")
_TIMES = re.compile(r"\s*\{\s*(\d*)\s*(,?)\s*(\d*)\s*\}")
_CYPHER_TIMES = re.compile(r"\s*\*\s*(\d*)\s*((?:\.\.)?)\s*(\d*)")
_COUNT = re.compile(r"\s*\(\s*[^()]*\d[^()]*\)\s*$")
_ARROW = re.compile(r"<?-|[<>^]")
_SHORT = re.compile(r"(>|\^|<(?!-)|->(?=\s*[^\s-]))\s*")
_HEAD = re.compile(r"(<?)-(?!>)")
_NO_PREDICATE = re.compile(r"\s*[-\]*]")
_TAIL = re.compile(r"\s*-(>?)")
_VARIABLE = re.compile(r"\s*[A-Za-z_]\w*\s*(?=:)")
# Where a name that the graph does not have ends: at the arrow's other half, or another name.
_PREDICATE_END = re.compile(r"\s*(?:->|-(?=\s|\(|\{|$)|\||\]|\{|\*|$)")
_WORD_END = re.compile(r"\s|\||\{|\(|,|$")
_TYPE_END = re.compile(r"\s*(?:\||\{|\)|,|\(|<-|-->|(?<=\s)[-<>^]|$)")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the names of a path may be.

    Args:
        schema: Types and predicates of the graph.
        certain: Whether a name that is not among them does not exist.
        seed_types: Types of the seeds.
        relations: What the graph's outline knows of predicates between types, if it does.
    """

    schema: Schema
    certain: bool
    seed_types: frozenset[str] = frozenset()
    relations: Sequence[Relation] = ()

    def leaving(self, types: Collection[str] | None) -> list[str]:
        """The relations at some types, as steps that start there; the most frequent first."""
        steps: dict[str, None] = {}
        for subject, predicate, other, _ in self.relations:
            if types is None or subject in types:
                steps[f"-{predicate}-> {other}"] = None
            if types is None or other in types:
                steps[f"<-{predicate}- {subject}"] = None
        return list(steps)

    def directions(self, predicates: Collection[str], types: Collection[str]) -> set[EdgeDirection]:
        """The directions in which relations of some predicates leave some types."""
        found: set[EdgeDirection] = set()
        for subject, predicate, other, _ in self.relations:
            if predicate in predicates:
                found |= {"out"} if subject in types else set()
                found |= {"in"} if other in types else set()
        return found


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call that speak of a path, as they were given."""

    path: Sequence[str]
    to: Sequence[str]
    show: str | None
    count_distinct: int | None
    max_hops: int | None


class Asked(NamedTuple):
    """The query of a call with a path, and notes on its names."""

    query: PathQuery
    taken: list[str]
    """What was taken for what."""
    doubts: list[str]
    """Names that are in no sample of the schema: a reason to give where nothing is found."""


def path_query(given: Given, vocabulary: Vocabulary, arguments: Mapping[str, Any]) -> Asked:
    """The query of a call with a path.

    Args:
        given: What speaks of the path.
        vocabulary: The names that the graph has.
        arguments: The other arguments, checked.

    Raises:
        ToolError: The path cannot be read, or something does not agree with it.
    """
    path, taken, doubts = parsed(given.path, vocabulary)
    last = len(path.steps)
    if given.max_hops not in (None, path.longest):
        raise ToolError(
            f"max_hops={given.max_hops} does not agree with path, whose longest walk has "
            f"{path.longest} edges. Leave max_hops out, or give a path of that length.",
            kind="bad_value",
            argument="max_hops",
        )
    shown_step, walks = _shown_step(given.show, last)
    if given.count_distinct is not None and given.count_distinct > last:
        raise _no_step("count_distinct", given.count_distinct, last)
    query = PathQuery(
        path=path,
        show=shown_step,
        walks=walks,
        count_distinct=given.count_distinct,
        **arguments,
    )
    return Asked(query, taken, doubts)


def without_steps(show: str | None, count_distinct: int | None) -> None:
    """Check a call without a path.

    Raises:
        ToolError: It speaks of steps.
    """
    for argument, value in (("show", show), ("count_distinct", count_distinct)):
        if value is not None:
            raise ToolError(
                f"{argument} speaks of the steps of a path. Give path as well, or leave "
                f"{argument} out.",
                kind="bad_value",
                argument=argument,
            )


def _shown_step(show: str | None, last: int) -> tuple[int | None, bool]:
    """The step whose nodes are shown, None for the last, and whether with their walks."""
    text = (show or "all").strip().casefold()
    if text in ("all", "ends"):
        return None, text == "all"
    if not text.isdecimal():
        raise ToolError(
            f'show must be "all" (the last step\'s nodes with their walks), "ends" (these nodes '
            f"alone) or the number of a step, from 0 (the seeds) to {last}, not {shown(show)}.",
            kind="bad_value",
            argument="show",
        )
    if len(text) > 1 or int(text) > last:
        raise _no_step("show", show, last)
    return int(text), False


def _no_step(argument: str, value: object, last: int) -> ToolError:
    steps = "1 step" if last == 1 else f"{last} steps"
    return ToolError(
        f"{argument}={value}: path has {steps}. Give a number from 0 (the seeds) to {last}.",
        kind="bad_value",
        argument=argument,
    )


@dataclass(slots=True)
class _Raw:
    """One step as it is written."""

    text: str
    number: int
    predicates: list[str] = field(default_factory=list)
    direction: EdgeDirection | None = None
    bare: bool = False
    """Whether the direction has to be found."""
    front: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    least: int = 1
    most: int = 1


def parsed(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[Path, list[str], list[str]]:
    """The path that some strings mean, what was taken for what, and names that may not exist.

    Args:
        texts: One string a step, or several steps in one.
        vocabulary: The names that the graph has.

    Raises:
        ToolError: A step cannot be read, names something that the graph does not have, or may
            go either way; or there are too many.
    """
    raw: list[_Raw] = []
    for text in texts:
        raw += _Reader(text, vocabulary, len(raw)).steps()
    if len(raw) > MAX_STEPS:
        raise _error(f"path has {len(raw)} steps; at most {MAX_STEPS} are taken.", "too_large")
    names = _Names(vocabulary)
    steps: list[Step] = []
    start: frozenset[str] | None = None
    at: Collection[str] | None = vocabulary.seed_types or None
    for one in raw:
        front = names.types(one, one.front, at)
        if front is not None:
            if steps:
                steps[-1] = _narrowed(steps[-1], front, one)
            else:
                start = front
            at = front
        predicates = names.predicates(one, at)
        direction = one.direction
        types = names.types(one, one.types, at)
        if one.bare:
            direction = _direction(one, predicates or frozenset(), types, at, vocabulary)
        steps.append(Step(predicates, direction, types, one.least, one.most))
        at = types
    path = Path(tuple(steps), start)
    if path.longest > MAX_STEPS:
        raise _error(
            f"path may take {path.longest} steps in all; at most {MAX_STEPS} are taken. Lower the "
            "upper bound in {m,n}.",
            "too_large",
        )
    return path, names.taken, names.doubts


def _narrowed(step: Step, front: frozenset[str], one: _Raw) -> Step:
    types = front if step.types is None else step.types & front
    if not types:
        raise _error(
            f"path: step {one.number} ({shown(one.text)}) starts at {_or(front)}, but the step "
            f"before it ends at {_or(step.types or ())}. Make them agree, or leave the type in "
            "front out.",
        )
    return replace(step, types=types)


def _direction(
    one: _Raw,
    predicates: frozenset[str],
    types: frozenset[str] | None,
    at: Collection[str] | None,
    vocabulary: Vocabulary,
) -> EdgeDirection:
    """The direction that a bare predicate can only mean.

    Raises:
        ToolError: Both are possible.
    """
    found: set[EdgeDirection] = {"out", "in"}
    if vocabulary.relations and at is not None:
        found &= vocabulary.directions(predicates, at)
    if vocabulary.relations and types is not None:
        ways = vocabulary.directions(predicates, types)
        found &= {"in" if way == "out" else "out" for way in ways}
    if len(found) == 1:
        return found.pop()
    both = [Step(predicates, way, types, one.least, one.most).text for way in ("out", "in")]
    raise _error(
        f"path: step {one.number} ({shown(one.text)}) names no direction, and both may be meant: "
        f"{shown(both[0])} (leaving) or {shown(both[1])} (entering)."
    )


# --- text to raw steps ---------------------------------------------------------------


class _Reader:
    """Reads one string.

    Args:
        text: One step or several.
        vocabulary: The names that are known.
        before: Number of steps in front of them.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, before: int) -> None:
        self._whole = text
        self._text = text.strip()
        self._at = 0
        self._before = before
        self._predicates = _Known(vocabulary.schema.predicates)
        self._types = _Known(vocabulary.schema.entity_types)

    def steps(self) -> list[_Raw]:
        """The steps in it, at least one."""
        found: list[_Raw] = []
        while not found or self._at < len(self._text):
            found.append(self._step(self._before + len(found) + 1))
            self._skip(r"[\s,]+")
        return found

    def _step(self, number: int) -> _Raw:
        one = _Raw(self._whole, number)
        begin = self._at
        if not _ARROW.match(self._text, self._at):
            if self._bare(one):
                return one
            one.front = self._type_list(one)
            self._blank()
        if not self._arrow(one):
            self._unreadable(number)
        self._quantifier(one)
        self._after(one)
        assert self._at > begin
        return one

    def _after(self, one: _Raw) -> None:
        """The types behind an arrow, how often it is taken, and a count from the schema."""
        self._blank()
        if self._at < len(self._text) and not self._arrow_begins():
            one.types = self._type_list(one)
        self._quantifier(one)
        if counted := _COUNT.match(self._text, self._at):
            self._at = counted.end()

    def _bare(self, one: _Raw) -> bool:
        """A predicate without an arrow: `studies`, `studies Disease`."""
        rest = self._text[self._at :]
        name = self._predicates.at(self._text, self._at, _WORD_END)
        front = self._types.at(self._text, self._at, _TYPE_END)
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

    def _arrow(self, one: _Raw) -> bool:
        """An arrow with its predicates; False where it cannot be read."""
        if self._plain_arrow(one):
            return True
        if short := _SHORT.match(self._text, self._at):
            self._at = short.end()
            one.direction = "in" if short[1] in "<^" else "out"
            one.predicates = self._name_list(self._predicates, _WORD_END)
            return bool(one.predicates)
        head = _HEAD.match(self._text, self._at)
        if head is None:
            return False
        self._at = head.end()
        bracket = self._opened(r"\s*\[")
        if not _NO_PREDICATE.match(self._text, self._at):
            end = _PREDICATE_END if _TAIL.search(self._text, self._at) else _WORD_END
            one.predicates = self._name_list(self._predicates, end)
        if bracket:
            self._quantifier(one)
            if not self._skip(r"\s*\]"):
                return False
        return self._tail(one, entering=bool(head[1]), closed=bracket or not one.predicates)

    def _plain_arrow(self, one: _Raw) -> bool:
        """An arrow with known predicates, whatever characters they have."""
        begin = self._at
        head = re.compile(r"(<?)-\s*").match(self._text, begin)
        if head is None:
            return False
        self._at = head.end()
        if self._predicates.at(self._text, self._at, _PREDICATE_END) is not None:
            one.predicates = self._name_list(self._predicates, _PREDICATE_END)
            if self._tail(one, entering=bool(head[1]), closed=True):
                return True
        self._at, one.predicates = begin, []
        return False

    def _tail(self, one: _Raw, *, entering: bool, closed: bool) -> bool:
        """The end of an arrow, which `<-tests Trial` may lack."""
        tail = _TAIL.match(self._text, self._at)
        if tail is None:
            one.direction = "in"
            return entering and not closed
        self._at = tail.end()
        one.direction = "in" if entering else "out" if tail[1] else None
        return not (entering and tail[1])

    def _opened(self, bracket: str) -> bool:
        """A bracket as in Cypher, with the name of a variable and a colon."""
        if not self._skip(bracket):
            return False
        if variable := _VARIABLE.match(self._text, self._at):
            self._at = variable.end()
        self._skip(r"\s*:")
        return True

    def _name_list(self, known: _Known, end: re.Pattern[str]) -> list[str]:
        """Names with | between them."""
        names: list[str] = []
        while True:
            self._blank()
            if known.at(self._text, self._at, end) is None:
                self._skip(r":")
            name = self._name(known, end)
            if not name:
                return names
            names.append(name)
            if not self._skip(r"\s*\|"):
                return names

    def _type_list(self, one: _Raw) -> list[str]:
        """Types, perhaps as Cypher writes a node."""
        known = self._types.at(self._text, self._at, _TYPE_END)
        node = known is None and self._opened(r"\s*\(")
        if node and self._skip(r"\s*\)"):
            return []
        names = self._name_list(self._types, _TYPE_END)
        if (node and not self._skip(r"\s*\)")) or not names:
            self._unreadable(one.number)
        return names

    def _name(self, known: _Known, end: re.Pattern[str]) -> str:
        """The longest known name here, or else what stands before the next end of a name."""
        name = known.at(self._text, self._at, end)
        if name is None:
            quoted = re.compile(r"`([^`]+)`|\"([^\"]+)\"|'([^']+)'").match(self._text, self._at)
            if quoted:
                self._at = quoted.end()
                return next(part for part in quoted.groups() if part)
            stop = end.search(self._text, self._at)
            name = self._text[self._at : stop.start() if stop else len(self._text)]
        self._at += len(name)
        return name.strip()

    def _quantifier(self, one: _Raw) -> None:
        found = _TIMES.match(self._text, self._at)
        if found is None and self._text[self._at : self._at + 1] == "*":
            found = _CYPHER_TIMES.match(self._text, self._at)
        if found is None:
            return
        self._at = found.end()
        least, between, most = found.groups()
        high = int((most if between else least) or 0)
        low = int(least or 1)
        if not 1 <= low <= high:
            raise _error(
                f"path: in step {one.number} ({shown(one.text)}) {found[0].strip()} is no number "
                'of times: "{1,3}" is once to three times, from 1 on and with an upper bound.'
            )
        if high > MAX_STEPS:
            raise _error(
                f"path: step {one.number} ({shown(one.text)}) may be taken {high} times; a walk "
                f"has at most {MAX_STEPS} steps in all. Lower the upper bound in "
                f"{found[0].strip()}.",
                "too_large",
            )
        one.least, one.most = low, high

    def _arrow_begins(self) -> bool:
        return _ARROW.match(self._text, self._at) is not None

    def _blank(self) -> None:
        self._skip(r"\s+")

    def _skip(self, pattern: str) -> bool:
        found = re.compile(pattern).match(self._text, self._at)
        if found:
            self._at = found.end()
        return found is not None

    def _unreadable(self, number: int) -> NoReturn:
        raise _error(f"path: step {number} ({shown(self._whole)}) cannot be read.")


class _Known:
    """Known names, by which text is read."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = sorted((n for n in names if n), key=lambda name: (-len(name), name))

    def at(self, text: str, start: int, end: re.Pattern[str]) -> str | None:
        """The longest known name at a place of a text, as it is written there; None for none.

        One that is followed by the end of a name comes before a longer part of another name.
        """
        for same in (str, str.casefold):
            for name in self._names:
                written = text[start : start + len(name)]
                if same(written) == same(name) and _ends(text, start + len(name), end):
                    return written
        return None


def _ends(text: str, at: int, end: re.Pattern[str]) -> bool:
    """Whether a name may end at a place."""
    return end.match(text, at) is not None or re.compile(r"\s*(?:->|-)").match(text, at) is not None


# --- names ---------------------------------------------------------------------------


class _Names:
    """Takes names as the graph spells them, and has notes on it."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.taken: list[str] = []
        self.doubts: list[str] = []

    def predicates(self, one: _Raw, at: Collection[str] | None) -> frozenset[str] | None:
        """The predicates of a step; None for any."""
        known = self._vocabulary.schema.predicates
        names = [self._spelt(one, name, known, "predicate", at) for name in one.predicates]
        return frozenset(names) or None

    def types(
        self, one: _Raw, names: Sequence[str], at: Collection[str] | None
    ) -> frozenset[str] | None:
        """Types; None for any."""
        known = self._vocabulary.schema.entity_types
        return frozenset(self._spelt(one, name, known, "type", at) for name in names) or None

    def _spelt(
        self, one: _Raw, name: str, known: Sequence[str], what: str, at: Collection[str] | None
    ) -> str:
        if name in known:
            return name
        same = [other for other in known if other.casefold() == name.casefold()]
        if len(same) == 1:
            self.taken.append(f"path: took {shown(same[0])} for {shown(name)}.")
            return same[0]
        if same or self._vocabulary.certain:
            raise self._unknown(one, name, known, what, at)
        near = difflib.get_close_matches(name, known, n=_NEAR)
        nearest = f" The nearest: {listed(near)}." if near else ""
        self.doubts.append(
            f"path: the sample of this graph's schema has no {what} {shown(name)}.{nearest}"
        )
        return name

    def _unknown(
        self, one: _Raw, name: str, known: Sequence[str], what: str, at: Collection[str] | None
    ) -> ToolError:
        folded: dict[str, str] = {}
        for other in known:
            folded.setdefault(other.casefold(), other)
        near = difflib.get_close_matches(name.casefold(), folded, n=_NEAR)
        nearest = f" The nearest: {listed([folded[n] for n in near])}." if near else ""
        leaving = self._vocabulary.leaving(at)[: 2 * _NEAR]
        where = "" if at is None else f" at {_or(at)}"
        relations = f" Relations{where}: {', '.join(map(shown, leaving))}." if leaving else ""
        if not nearest and not relations:
            relations = " describe_schema lists what there is."
        return _error(
            f"path: step {one.number} ({shown(one.text)}) names a {what} that this graph does "
            f"not have: {shown(name)}.{nearest}{relations}"
        )


def _or(names: Collection[str]) -> str:
    return " or ".join(map(plain, sorted(names)))


def _error(message: str, kind: str = "bad_value") -> ToolError:
    return ToolError(f"{message} {GRAMMAR}", kind=kind, argument="path")
