"""Which facts hold at a time (`protocol.md` 40): by records, and by columns of many at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from math import inf
from threading import Lock
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bfsql import call
from bfsql.arrays import distinct_numbers, grown
from bfsql.errors import ToolError, bad_value
from bfsql.integers import ABSENT, CodedGraph, IntArray, NumberedColumn
from bfsql.models import Metadata, Node
from bfsql.models.comparison import Moment, end_of, start_of
from bfsql.models.quotation import excerpt, plain, quoted
from bfsql.models.valid_time import ALWAYS, PERIODS, TimeKeys, bound_in, period_of, stored_period

NO_MAPPING = (
    "at: nobody has said which properties of this graph have the dates from and until which facts "
    "hold. Its operator can: bfsql load or serve with --valid-from since --valid-until until."
)
_NOTED = {
    "undated": "of {} edges have no dates and always hold",
    "unread": "of {} edges have a date that cannot be read, which counts as none",
    "never": "of the edges read end before they start, or when, and never hold",
}
Moments: TypeAlias = npt.NDArray[np.complex128]
"""Moments as `_number` gives them."""
Reading: TypeAlias = tuple[str, tuple[tuple[Moment, Moment], ...]]
"""What the dates of a fact are; starts and ends. No list, which the garbage collector visits."""
_TEXT = (str, NoneType)
_KINDS = ("", "dated", "undated", "unread", "never", "record")
"""What the dates of a fact are, by number; of the first nothing was read, and of the last not all.
"""
_DATED, _UNDATED, _NEVER, _RECORD = 1, 2, 4, 5
_VERDICTS = [
    None if kind == "record" else (holds, kind) for kind in _KINDS for holds in (False, True)
]
_NO_MOMENT = complex(inf, 1)
"""In place of the start of several spans of time, and of what is not a date."""


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
        self._at = period_of(text if ".." in text else f"{text}..{text}", included=True)
        if self._at.unread or "0000" in text.split("..") or self._at == ALWAYS:
            sentence = (
                'at must be a date ("2024-05-01", all of that day in UTC), "today", a moment '
                f'("2024-05-01T12:00:00+02:00") or a period ("2020..2023"), not {excerpt(at)}.'
            )
            raise bad_value(sentence, "at")
        if self._at.start >= self._at.end:
            sentence = f"at: {excerpt(at)} ends before it begins. Write the earlier date first."
            raise bad_value(sentence, "at")
        self._time_keys, self.keys = time_keys, time_keys.keys
        self._plain = [(*names, PERIODS)[0] for names in _plain_names(time_keys)]
        """The two properties, if they are the same for all facts; `PERIODS` for none."""

    def reading(self, owner: str, known: Metadata) -> Reading:
        """What the dates of a fact are, and the spans of time in which it holds."""
        included = self._time_keys.until_included
        if self._plain and known.get(PERIODS) is None:  # most facts, in a quarter of the time
            first, last = map(known.get, self._plain)
            if type(first) in _TEXT and type(last) in _TEXT and first != last and (first or last):
                start = bound_in(first, start_of) if first else ALWAYS.start
                end = bound_in(last, end_of if included else start_of) if last else ALWAYS.end
                if start and end:
                    return ("dated", ((start, end),)) if start < end else ("never", ())
        texts = self._time_keys.texts(owner, known)
        every = [stored_period(text, included=included) for text in texts] or [ALWAYS]
        held = tuple((one.start, one.end) for one in every if one.start < one.end)
        kind = "unread" if any(one.unread for one in every) else "dated" if held else "never"
        return kind if texts else "undated", held

    def verdict(self, reading: Reading) -> tuple[bool, str]:
        """Whether a fact holds, and what its dates are."""
        (first, last, _), (kind, held) = self._at, reading
        return any(start < last and first < end for start, end in held), kind

    def verdicts(
        self, codes: IntArray, graph: CodedGraph
    ) -> tuple[IntArray, Sequence[tuple[bool, str] | None]]:
        """Which verdict on edges each code has; None for one whose records have to be read."""
        spans = graph.memo.setdefault("spans", Spans(self._time_keys, self.reading))
        starts, ends, kinds = spans.of(codes, graph)
        first, last = map(_number, self._at[:2])
        holds = (starts < last) & (ends > first) & (kinds != _NEVER)
        for place in np.flatnonzero(starts == _NO_MOMENT).tolist():
            holds[place], _ = self.verdict(spans.several[int(codes[place])])
        return 2 * kinds + holds, _VERDICTS

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


def _plain_names(time_keys: TimeKeys) -> list[Sequence[str]]:
    """The names of both ends, if each has at most one, which means all facts; else nothing."""
    ends = [time_keys.valid_from, time_keys.valid_until]
    return ends if all(len(some) < 2 and "." not in "".join(some) for some in ends) else []


class Spans:
    """When facts hold, in columns by their codes; it is kept while a graph is open.

    Two calls may read at the same time.

    Args:
        time_keys: The properties that have the dates.
        reading: `TimeJudge.reading`, for facts that are not as most are.

    Attributes:
        several: The readings of facts that hold in more than one span, by code.
    """

    def __init__(self, time_keys: TimeKeys, reading: Callable[[str, Metadata], Reading]) -> None:
        self.several: dict[int, Reading] = {}
        self._starts, self._ends = np.zeros((2, 0), complex)
        self._kinds = np.zeros(0, np.int8)
        self._reading, self._lock = reading, Lock()
        last = end_of if time_keys.until_included else start_of
        bounds = _Bounds(start_of, ALWAYS.start), _Bounds(last, ALWAYS.end)
        names = map("".join, _plain_names(time_keys))
        self._bounds = list(zip(names, bounds, strict=False))

    def of(self, codes: IntArray, graph: CodedGraph) -> tuple[Moments, Moments, IntArray]:
        """Starts, ends and kinds of facts; the dates of codes that are new are read."""
        with self._lock:
            size = int(codes.max(initial=-1)) + 1
            self._kinds = grown(self._kinds, size)
            self._starts, self._ends = grown(self._starts, size), grown(self._ends, size)
            new = distinct_numbers(codes[self._kinds.take(codes) == 0])
            for code in call.checked(self._read_columns(new, graph).tolist()):
                self._read_row(code, graph.row(code))
            kinds = self._kinds.take(codes).astype(np.int32)
            return self._starts.take(codes), self._ends.take(codes), kinds

    def _read_columns(self, codes: IntArray, graph: CodedGraph) -> IntArray:
        """Read the dates of most facts, which have one text or none for each end; return the rest.

        By columns it takes a tenth of the time.
        """
        if not self._bounds or graph.columns is None or not len(codes):
            return codes
        columns = graph.columns(codes)
        nothing = NumberedColumn(np.zeros_like(codes), [None])
        starts, ends = (bounds.of(columns.get(name, nothing)) for name, bounds in self._bounds)
        are_plain = (starts != _NO_MOMENT) & (ends != _NO_MOMENT)
        are_plain &= columns[PERIODS].numbers == ABSENT
        rest: IntArray = codes[~are_plain]
        codes = codes[are_plain]
        self._starts[codes], self._ends[codes] = starts, ends = starts[are_plain], ends[are_plain]
        kinds = np.where(starts < ends, _DATED, _NEVER)
        kinds[np.isinf(starts) & np.isinf(ends)] = _UNDATED
        self._kinds[codes] = kinds
        return rest

    def _read_row(self, code: int, row: tuple[str, Metadata] | None) -> None:
        if row is None:
            self._kinds[code] = _RECORD
            return
        kind, held = found = self._reading(*row)
        self._kinds[code] = _KINDS.index(kind)
        self._starts[code], self._ends[code] = map(_number, held[0] if held else ALWAYS[:2])
        if len(held) > 1:
            self.several[code], self._starts[code] = found, _NO_MOMENT


class _Bounds:
    """The moments that texts mean, by the numbers of texts; none for what is not a single date.

    Args:
        bound: The start or the end of a date.
        open_end: The moment that no text means.
    """

    def __init__(self, bound: Callable[[Moment], Moment], open_end: Moment) -> None:
        self._bound, self._open_end = bound, _number(open_end)
        self._moments = np.zeros(0, complex)

    def of(self, column: NumberedColumn) -> Moments:
        """The moments of a column."""
        if new := column.texts[len(self._moments) :]:
            moments = np.fromiter(map(self._moment, call.checked(new)), complex, len(new))
            self._moments = np.concatenate([self._moments, moments])
        found: Moments = self._moments.take(column.numbers)
        return found

    def _moment(self, text: Any) -> complex:
        if text is None or (isinstance(text, str) and not text.strip()):
            return self._open_end
        moment = bound_in(text, self._bound) if isinstance(text, str) else None
        return _NO_MOMENT if moment is None else _number(moment)


def _number(moment: Moment) -> complex:
    """Minutes and seconds of a moment with six parts, which numpy compares in this order."""
    if len(moment) == 1:  # without a start or an end
        return complex(moment[0])
    year, month, day, hour, minute, second = moment
    return complex((((year * 14 + month) * 33 + day) * 24 + hour) * 60 + minute, second)
