"""Valid time: when a fact holds, by properties of its edge or node (`protocol.md` 40)."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from typing import Any, NamedTuple

from bfsql.errors import did_you_mean
from bfsql.models.comparison import Moment, end_of, moment_in, scalars, shown_as, start_of
from bfsql.models.merge import EdgeMerge, merge_edges
from bfsql.models.outline import MOST_RELATIONS
from bfsql.models.records import Metadata

PERIODS = "periods"
"""The key of the periods of an edge of several records, each written `FROM..UNTIL`."""


class Period(NamedTuple):
    """A span of time with both ends in all six parts; the end is excluded."""

    start: Moment = (-inf,)
    end: Moment = (inf,)
    unread: bool = False
    """Whether a date cannot be read, so that its end is open."""


ALWAYS, _NEVER = Period(), Period(end=(-inf,))


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
        periods = [stored_period(text, included=False) for text in self.texts(owner, known)]
        return bool(periods) and all(one.end != ALWAYS.end for one in periods)

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
        periods = [stored_period(one, included=False) for one in _ranges(str(example))]
        if any(not one.unread and one not in (ALWAYS, _NEVER) for one in periods):
            return TimeKeys([name], [name])
    spelt = {re.sub(r"[\W_]", "", name).casefold(): name for name in names}
    for start, end in _PAIRS:
        if start in spelt and (not end or end in spelt):
            return TimeKeys([spelt[start]], [spelt[end]] if end else [])
    return NO_TIME_KEYS


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


def stored_period(text: str, *, included: bool) -> Period:
    """A period of a fact, of which the brackets of a range say whether its ends belong to it."""
    if text == "empty..":
        return _NEVER
    if not text.startswith(("[", "(")):
        return period_of(text, included=included)
    period = period_of(text[1:-1], included=text.endswith("]"))
    if text.startswith("(") and period.start != ALWAYS.start:
        first = text[1:].partition("..")[0]
        return period._replace(start=period_of(f"..{first}", included=True).end)
    return period


def period_of(text: str, *, included: bool) -> Period:
    """A period as it is written, with its end included or not."""
    first, _, last = text.partition("..")
    start = bound_in(first, start_of) if first else ALWAYS.start
    end = bound_in(last, end_of if included else start_of) if last else ALWAYS.end
    return Period(start or ALWAYS.start, end or ALWAYS.end, start is None or end is None)


@lru_cache(maxsize=65_536)
def bound_in(text: str, bound: Callable[[Moment], Moment]) -> Moment | None:
    """The start or the end of a date; None if it cannot be read."""
    moment = moment_in(text)
    return moment and bound(moment)
