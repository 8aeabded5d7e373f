"""Valid time: when a fact holds, by properties of its edge or node (`protocol.md` 40)."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from math import inf
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

from bfsql.errors import ToolError, bad_value, did_you_mean
from bfsql.models.comparison import Moment, end_of, moment_in, scalars, shown_as, start_of
from bfsql.models.merge import EdgeMerge, merge_edges
from bfsql.models.outline import MOST_RELATIONS
from bfsql.models.quotation import excerpt, plain, quoted
from bfsql.models.records import Metadata, Node

PERIODS = "periods"
"""The key of the periods of an edge of several records, each written `FROM..UNTIL`."""
NO_MAPPING = (
    "at: nobody has said which properties of this graph have the dates from and until which facts "
    "hold. Its operator can: bfsql load or serve with --valid-from since --valid-until until."
)
_NOTED = {
    "undated": "of {} edges have no dates and always hold",
    "unread": "of {} edges have a date that cannot be read, which counts as none",
    "never": "of the edges read end before they start, or when, and never hold",
}


class Period(NamedTuple):
    """A span of time with both ends in all six parts; the end is excluded."""

    start: Moment = (-inf,)
    end: Moment = (inf,)
    unread: bool = False
    """Whether a date cannot be read, so that its end is open."""


_ALWAYS, _NEVER = Period(), Period(end=(-inf,))
_TEXT = (str, NoneType)
Reading: TypeAlias = tuple[str, tuple[tuple[Moment, Moment], ...]]
"""What the dates of a fact are; starts and ends. No list, which the garbage collector visits."""


@dataclass(frozen=True)
class TimeKeys:
    """The properties that say when facts hold, of edges and nodes; false if there are none.

    A name is that of a property, or `PREDICATE.property` or `TYPE.property`. Of several, the first
    that a fact has counts. One that is both is a range, as PostgreSQL writes it, or a date.
    """

    valid_from: Sequence[str] = ()
    valid_until: Sequence[str] = ()
    until_included: bool = False
    """Whether a fact still holds at its end, which is all of the day, month or year named."""

    def __bool__(self) -> bool:
        """Whether any property says when facts hold."""
        return bool(self.valid_from or self.valid_until)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys of metadata that are read."""
        names = [name.split(".") for name in (*self.valid_from, *self.valid_until)]
        return frozenset((PERIODS, *(".".join(n[at:]) for n in names for at in range(len(n)))))

    @property
    def names(self) -> list[str]:
        """The names, each once."""
        return list(dict.fromkeys((*self.valid_from, *self.valid_until)))

    @property
    def proposal(self) -> str:
        """A clause on these properties, which may be meant, with options of a command."""
        ends = (("--valid-from", self.valid_from), ("--valid-until", self.valid_until))
        options = (f"{flag} {shlex.quote(name)}" for flag, some in ends for name in some)
        return (
            f"{' and '.join(self.names)} may be the dates of facts: with {' '.join(options)}, "
            "questions can be about a day (at)"
        )

    def unknown(self, properties: Mapping[str, Iterable[str]]) -> list[str]:
        """A sentence on each name of no property, by keys of predicates and types; "" is any."""
        if not 0 < len(properties) <= MOST_RELATIONS:
            return []
        known = {key for keys in properties.values() for key in keys}
        known |= {f"{owner}.{key}" for owner, keys in properties.items() if owner for key in keys}
        of_any = tuple(f".{key}" for key in properties.get("", ()))
        return [
            f"Nothing that was read has the property {name}, which is to say when facts hold."
            f"{did_you_mean(name, sorted(known))}"
            for name in self.names
            if name not in known and not name.endswith(of_any)
        ]

    def texts(self, owner: str, known: Metadata) -> list[str]:
        """The periods of a fact as `FROM..UNTIL`, by its predicate or type and its metadata."""
        if several := [str(one) for one in scalars(known.get(PERIODS)) if ".." in str(one)]:
            return several
        ends = [_text(names, owner, known) for names in (self.valid_from, self.valid_until)]
        if ends[0] == ends[1] and (ranges := _ranges(ends[0])):
            return ranges
        return ["..".join(ends)] if any(ends) else []

    def has_end(self, owner: str, known: Metadata) -> bool:
        """Whether each period of a fact has an end that can be read."""
        periods = [_stored_period(text, included=False) for text in self.texts(owner, known)]
        return bool(periods) and all(one.end != _ALWAYS.end for one in periods)

    def ended(
        self,
        records: Iterable[tuple[tuple[str, str, str], Metadata]],
        edge_counts: Mapping[tuple[str, str, str], int],
    ) -> dict[tuple[str, str, str], int]:
        """How many edges have an end, by relation; without relations that were not read whole."""
        read, ended = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
        for relation, known in records if self else ():
            read[relation] += 1
            ended[relation] += self.has_end(relation[1], known)
        return {one: ended[one] for one, number in read.items() if number == edge_counts.get(one)}

    def merge(self, predicate: str) -> EdgeMerge:
        """`merge_edges` for a predicate, which keeps the periods of records that differ in them."""

        def merged(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
            found, texts = merge_edges(records), [self.texts(predicate, one) for one in records]
            if not any(one.get("multiplicity") == 0 for one in records):  # which says no more
                texts = [own or [".."] for own in texts]
            periods = sorted({text for own in texts for text in own})
            return found | {PERIODS: periods} if len(periods) > 1 else found

        return merged if self else merge_edges


NO_TIME_KEYS = TimeKeys()

_PAIRS = (
    *(("validfrom", "validto"), ("validfrom", "validuntil"), ("validat", "invalidat")),
    *(("startdate", "enddate"), ("datefrom", "dateto"), ("fromdate", "todate"), ("start", "end")),
    *(("since", "until"), ("from", "until"), ("begin", "end"), ("hired", "left"), ("since", "")),
    *((one, one) for one in ("during", "validduring", "validperiod", "validrange", "sysperiod")),
)
"""Names of two properties, without case and separators, that say from and until when."""


def proposed_time_keys(names: Mapping[str, Any]) -> TimeKeys:
    """The properties among some that look like the dates of facts.

    Args:
        names: By name: one of its values, None if none is known. A range of dates is both.
    """
    for name, example in names.items():
        periods = [_stored_period(one, included=False) for one in _ranges(str(example))]
        if any(not one.unread and one not in (_ALWAYS, _NEVER) for one in periods):
            return TimeKeys([name], [name])
    spelt = {re.sub(r"[\W_]", "", name).casefold(): name for name in names}
    for start, end in _PAIRS:
        if start in spelt and (not end or end in spelt):
            return TimeKeys([spelt[start]], [spelt[end]] if end else [])
    return NO_TIME_KEYS


class TimeJudge:
    """Facts that hold at some moment of `at` are visible in a view.

    Raises:
        ToolError: `at` is no date, moment or period, or nobody has said which properties have
            dates.
    """

    def __init__(self, time_keys: TimeKeys, at: str) -> None:
        if not time_keys:
            raise bad_value(NO_MAPPING, "at")
        self._text = text = at.strip().replace("today", datetime.now(UTC).date().isoformat())
        self._at = _period(text if ".." in text else f"{text}..{text}", included=True)
        if self._at.unread or "0000" in text.split("..") or self._at == _ALWAYS:
            sentence = (
                'at must be a date ("2024-05-01", all of that day in UTC), "today", a moment '
                f'("2024-05-01T12:00:00+02:00") or a period ("2020..2023"), not {excerpt(at)}.'
            )
            raise bad_value(sentence, "at")
        if self._at.start >= self._at.end:
            sentence = f"at: {excerpt(at)} ends before it begins. Write the earlier date first."
            raise bad_value(sentence, "at")
        self._time_keys, self.keys = time_keys, time_keys.keys
        ends = time_keys.valid_from, time_keys.valid_until
        plain = all(len(some) < 2 and "." not in "".join(some) for some in ends)
        self._plain = [(*some, PERIODS)[0] for some in ends] if plain else []
        """The two properties, if they are the same for all facts; `PERIODS` for none."""

    def reading(self, owner: str, known: Metadata) -> Reading:
        """What the dates of a fact are, and the spans of time in which it holds."""
        included = self._time_keys.until_included
        if self._plain and known.get(PERIODS) is None:  # most facts, in a quarter of the time
            first, last = map(known.get, self._plain)
            if type(first) in _TEXT and type(last) in _TEXT and first != last and (first or last):
                start = _bound(first, start_of) if first else _ALWAYS.start
                end = _bound(last, end_of if included else start_of) if last else _ALWAYS.end
                if start and end:
                    return ("dated", ((start, end),)) if start < end else ("never", ())
        texts = self._time_keys.texts(owner, known)
        every = [_stored_period(text, included=included) for text in texts] or [_ALWAYS]
        held = tuple((one.start, one.end) for one in every if one.start < one.end)
        kind = "unread" if any(one.unread for one in every) else "dated" if held else "never"
        return kind if texts else "undated", held

    def verdict(self, reading: Reading) -> tuple[bool, str]:
        """Whether a fact holds, and what its dates are."""
        (first, last, _), (kind, held) = self._at, reading
        for start, end in held:
            if start < last and first < end:
                return True, kind
        return False, kind

    def alone(self, owner: str, *, of_edges: bool) -> None:
        """None: each fact has its own dates."""

    def refusal(self, node: Node, known: Metadata) -> ToolError:
        """The error that names the periods of a node."""
        periods = ", ".join(map(quoted, self._time_keys.texts(node.entity_type, known)))
        sentence = (
            f"{plain(node.id)} ({plain(node.entity_type)}) does not hold at {self._text}, but in "
            f"{periods}. Ask about another time, or leave at out."
        )
        return ToolError(sentence, kind="unknown_entity", argument="at")

    def line(self, verdicts: Mapping[tuple[bool, str], int]) -> str:
        """The line of an answer: the time, and how many edges that were read have no dates."""
        numbers = Counter[str]()
        for (_, kind), number in verdicts.items():
            numbers[kind] += number
        total = sum(number for (visible, _), number in verdicts.items() if visible)
        notes = [f"{numbers[k]} {_NOTED[k].format(total)}" for k in _NOTED if numbers[k]]
        if ".." in self._text:
            notes.insert(0, "each fact held at some moment of it, which may differ")
        return "; ".join([self._text, *notes])


def _text(names: Sequence[str], owner: str, known: Metadata) -> str:
    """The date of the first of some properties that a fact has; that of a list cannot be read."""
    for name in names:
        value = known.get(name.removeprefix(f"{owner}."))
        text = value if type(value) is str else ", ".join(map(shown_as, scalars(value)))
        if text := text.strip():
            return text
    return ""


_RANGE = r"""([\[(])"?([^",]*)"?,"?([^",\])]*)"?([\])])"""
_RANGES = re.compile(rf"\{{?(?:(?:{_RANGE}|empty)(?:, ?)?)+\}}?|\{{\}}")


def _ranges(text: str) -> list[str]:
    """The periods in ranges of PostgreSQL, with their brackets; none if it is another text."""
    if not _RANGES.fullmatch(text):
        return []
    found = re.findall(_RANGE, re.sub("-?infinity", "", text))
    return [f"{first}{start}..{end}{last}" for first, start, end, last in found] or ["empty.."]


def _stored_period(text: str, *, included: bool) -> Period:
    """A period of a fact, of which the brackets of a range say whether its ends belong to it."""
    if text == "empty..":
        return _NEVER
    if not text.startswith(("[", "(")):
        return _period(text, included=included)
    period = _period(text[1:-1], included=text.endswith("]"))
    if text.startswith("(") and period.start != _ALWAYS.start:
        first = text[1:].partition("..")[0]
        return period._replace(start=_period(f"..{first}", included=True).end)
    return period


def _period(text: str, *, included: bool) -> Period:
    """A period as it is written, with its end included or not."""
    first, _, last = text.partition("..")
    start = _bound(first, start_of) if first else _ALWAYS.start
    end = _bound(last, end_of if included else start_of) if last else _ALWAYS.end
    return Period(start or _ALWAYS.start, end or _ALWAYS.end, start is None or end is None)


@lru_cache(maxsize=65_536)
def _bound(text: str, bound: Callable[[Moment], Moment]) -> Moment | None:
    """The start or the end of a date; None if it cannot be read."""
    moment = moment_in(text)
    return moment and bound(moment)
