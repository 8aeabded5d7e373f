"""Reads the columns of properties in a file: which nodes meet a condition (`protocol.md` 34).

A condition is first compared with the dictionary of its property (`met_codes`, `containing`), then
the codes of the nodes are looked up in the result, row by row (`select`). Nodes whose value is not
in the dictionary are judged by their records (`judge`).
"""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic_core import from_json

from bfsql import call
from bfsql.arrays import are_among, distinct_numbers
from bfsql.integers import BoolArray, IntArray
from bfsql.models import NO_METADATA
from bfsql.models.comparison import Scalar, moment_in, number_in
from bfsql.models.condition import PropertyCondition
from bfsql.models.intervals import Interval, Intervals
from bfsql_sqlite import queries
from bfsql_sqlite.packed_arrays import Damaged, file_size
from bfsql_sqlite.property_tables import (
    ABSENT,
    BOOLEAN,
    CODE,
    FIRST,
    KEYS,
    MOMENTS,
    NO_SCALAR,
    NODES,
    NUMBER,
    PLACE,
    SEPARATOR,
    TEXT,
    UNREAD,
    VALUES,
    code_width,
    moment_order,
    row_key,
)
from bfsql_sqlite.records import Records

Reader = sqlite3.Connection
Order = tuple[IntArray, Callable[[str], float]]
"""The codes of numbers or of dates, in the order of the doubles of their texts."""

FEW_HITS = 1_000
"""Occurrences of a text in a part of a dictionary up to which each of them is searched for."""


class Property(NamedTuple):
    """A property that has a column."""

    k: int
    size: int
    """Number of values in its dictionary."""

    @property
    def rows(self) -> int:
        """Number of rows of the dictionary."""
        return -(-self.size // VALUES)


class Properties(NamedTuple):
    """The properties of the nodes of a file."""

    columns: Mapping[str, Property]
    are_all: bool
    """Whether no node has a property without a column."""

    @classmethod
    def of(cls, reader: Reader) -> Properties:
        """The properties of a file.

        Raises:
            Damaged: A dictionary has an impossible size.
        """
        rows = reader.execute(queries.PROPERTIES).fetchmany(KEYS)
        columns, most = {key: Property(k, size) for k, key, size in rows}, file_size(reader)
        sound = (type(key) is str and size in range(most) for key, (_, size) in columns.items())
        if not all(sound) or len(columns) < len(rows):
            raise Damaged("a column of properties does not have the expected content")
        return cls(columns, reader.execute(queries.ALL_PROPERTIES).fetchone() is not None)


class Test(NamedTuple):
    """A condition and what is known of it before any node is looked at."""

    condition: PropertyCondition
    column: Property | None
    """None if the property has no column."""
    met: BoolArray
    """By code: whether a value meets the condition; with `!=`, whether it is equal, and with
    `unlike`, whether it can be compared."""
    is_absent: bool = False
    """Whether no node has the property."""


# --- conditions and dictionaries ------------------------------------------------------


class _Dictionary:
    """The values of a property by code; rows that were read are held."""

    def __init__(self, reader: Reader, column: Property) -> None:
        self._reader = reader
        self._column = column
        self._rows: dict[int, tuple[bytes, bytes, bytes]] = {}
        self._texts: dict[int, list[bytes]] = {}

    def value(self, code: int) -> Scalar:
        """The value of a code, numbers as text: they are compared alike."""
        kind, text = self._kind_and_text(code)
        return text == "true" if kind == BOOLEAN else text

    def originals(self, codes: npt.NDArray[np.integer]) -> list[Scalar]:
        """The values of some codes, which are ascending, as the records have them."""
        rows, places = np.divmod(codes - FIRST, VALUES)
        found: list[Scalar] = []
        for row in distinct_numbers(rows).tolist():
            kinds, texts, _ = self._row(row)
            own = slice(*np.searchsorted(rows, (row, row + 1)))
            of_row = map(texts.split(SEPARATOR).__getitem__, places[own].tolist())
            if kinds == bytes([NUMBER]):
                found += from_json(b"[%b]" % b",".join(of_row))
            else:
                found += [self._original(code) for code in codes[own].tolist()]
        return found

    def _original(self, code: int) -> Scalar:
        kind, text = self._kind_and_text(code)
        return from_json(text) if kind == NUMBER else text == "true" if kind == BOOLEAN else text

    def _kind_and_text(self, code: int) -> tuple[int, str]:
        row, place = divmod(code - FIRST, VALUES)
        kinds, texts, _ = self._row(row)
        if row not in self._texts:
            self._texts[row] = texts.split(SEPARATOR)
        return kinds[0 if len(kinds) == 1 else place], self._texts[row][place].decode()

    def place(self, folded: bytes, bisect: Callable[..., int]) -> int:
        """The place of a text among the folded ones; `bisect_left` or `bisect_right` on ties."""
        first = lambda row: self._row(row)[2].partition(SEPARATOR)[0].lower()
        row = max(0, bisect(range(self._column.rows), folded, key=first) - 1)
        return row * VALUES + bisect(self._row(row)[2].lower().split(SEPARATOR), folded)

    def mark_texts(self, met: BoolArray, one: Interval, kind: int) -> None:
        """Mark the values of a kind whose folded text is in an interval."""
        low, high, is_open = one.map(lambda end: end.encode("utf-8", "surrogatepass"))
        sides = (bisect_right, bisect_left) if is_open else (bisect_left, bisect_right)
        first = 0 if low is None else self.place(low, sides[0])
        last = self._column.size if high is None else self.place(high, sides[1])
        if first < last:
            met[FIRST + first : FIRST + last] |= self.kinds(first, last) == kind

    def mark_ordered(
        self, met: BoolArray, one: Interval, order: Order, holds: Callable[[Scalar], bool]
    ) -> None:
        """Mark the values in an interval of doubles; those whose double is an end are compared."""
        codes, double = order

        def ties(end: float) -> list[int]:
            key = lambda code: double(str(self.value(int(code))))
            return [bisect(codes, end, key=key) for bisect in (bisect_left, bisect_right)]

        before, start = (0, 0) if one.low is None else ties(one.low)
        stop, after = (len(codes), len(codes)) if one.high is None else ties(one.high)
        met[codes[start:stop]] = True
        for code in {*codes[before:start].tolist(), *codes[stop:after].tolist()}:
            met[code] = holds(self._original(code))  # the text of a number is a text beside others

    def kinds(self, start: int, stop: int) -> npt.NDArray[np.uint8]:
        """The kinds of the values from one place to another."""
        first, last = start // VALUES, -(-stop // VALUES)
        parts = [np.empty(0, np.uint8)]
        for row, (kinds,) in enumerate(self._select("kinds", first, last), first):
            length = min(VALUES, self._column.size - row * VALUES)
            parts.append(np.broadcast_to(np.frombuffer(kinds, np.uint8), length))
        return np.concatenate(parts)[start - first * VALUES :][: stop - start]

    def order(self, first: int) -> IntArray:
        """The codes of all numbers, or from the row `MOMENTS` on of all dates, in order."""
        keys = (row_key(self._column.k, row) for row in (first, first + MOMENTS))
        found = self._reader.execute(queries.PROPERTY_ORDER, tuple(keys))
        rows = found.fetchmany(self._column.rows)
        return np.frombuffer(b"".join(codes for (codes,) in rows), CODE)

    def blocks(self, first: int, last: int) -> list[bytes]:
        """The folded texts of each row, joined by `SEPARATOR`."""
        rows = self._select("texts, folded", first, last)
        return [texts.lower() if folded is None else folded for texts, folded in rows]

    def _row(self, row: int) -> tuple[bytes, bytes, bytes]:
        """Kinds, texts and texts that are folded but for ASCII."""
        if row not in self._rows:
            [(kinds, texts, folded)] = self._select("kinds, texts, folded", row, row + 1)
            self._rows[row] = kinds, texts, texts if folded is None else folded
        return self._rows[row]

    def _select(self, what: str, first: int, last: int) -> list[Any]:
        k = self._column.k
        keys = row_key(k, first), row_key(k, last)
        found = self._reader.execute(queries.property_values(what), keys)
        rows = found.fetchmany(last - first + 1)
        if len(rows) != last - first:
            raise Damaged("part of a column of properties is missing")
        return rows


def met_codes(
    column: Property, condition: PropertyCondition, intervals: Intervals, reader: Reader
) -> BoolArray:
    """By code, as in `Test`: whether a value meets a condition.

    Args:
        column: The property.
        condition: The condition.
        intervals: What it is compared with, but not by its parts.
        reader: A connection to the file.
    """
    dictionary = _Dictionary(reader, column)
    met = np.zeros(FIRST + column.size, bool)
    if not column.size:
        return met
    for one in intervals.texts:
        dictionary.mark_texts(met, one, TEXT)
    for flag in intervals.flags:
        dictionary.mark_texts(met, Interval(flag, flag), BOOLEAN)
    holds = lambda value: condition.met_by([value]) != condition.is_negated
    if intervals.numbers:
        order = dictionary.order(0), _number
        for one in intervals.numbers:
            dictionary.mark_ordered(met, one.map(_double), order, holds)
    if intervals.moments:
        order = dictionary.order(MOMENTS), _moment
        for one in intervals.moments:
            first, last = (partial(moment_order, last=last) for last in (one.open, not one.open))
            dictionary.mark_ordered(met, one.map(first, last), order, holds)
    return met


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.copysign(math.inf, number)


def _number(text: str) -> float:
    number = number_in(text)
    if number is None:
        raise ValueError(text)
    return _double(number)


def _moment(text: str) -> float:
    moment = moment_in(text)
    if moment is None:
        raise ValueError(text)
    return moment_order(moment)


def containing(
    column: Property, first: int, last: int, parts: Sequence[str], reader: Reader
) -> BoolArray:
    """Which values in some rows of a dictionary contain one of some texts."""
    block = SEPARATOR.join(_Dictionary(reader, column).blocks(first, last))
    characters = np.frombuffer(block, np.uint8)
    starts = np.flatnonzero(characters == SEPARATOR[0]) + 1
    met = np.zeros(min(last * VALUES, column.size) - first * VALUES, bool)
    if len(starts) != len(met) - 1:
        raise Damaged("part of a column of properties is missing")
    for part in parts:
        text = part.encode("utf-8", "surrogatepass")
        few = list(islice(_occurrences(block, text), FEW_HITS + 1)) if text else []
        if not text:
            met[:] = True
        elif len(few) <= FEW_HITS:
            met[np.searchsorted(starts, few, side="right")] = True
        else:
            begins = _beginnings(characters, text)
            met |= np.logical_or.reduceat(begins, np.concatenate([[0], starts]))
    return met


def _occurrences(block: bytes, text: bytes) -> Iterator[int]:
    """The places at which a text begins, without overlaps."""
    at = block.find(text)
    while at >= 0:
        yield at
        at = block.find(text, at + len(text))


def _beginnings(characters: npt.NDArray[np.uint8], text: bytes) -> BoolArray:
    """By place: whether a text begins there."""
    begins = np.zeros(len(characters) + 1, bool)  # the last text may be empty
    length = len(characters) - len(text) + 1
    may_begin = begins[:length]
    np.equal(characters[:length], text[0], out=may_begin)
    if len(text) > 1:
        may_begin &= characters[1 : length + 1] == text[1]
    if len(text) > 2:  # most places are ruled out by two characters
        found = np.flatnonzero(may_begin)
        may_begin[:] = False
        for place, character in enumerate(text[2:], 2):
            found = found[characters[found + place] == character]
        may_begin[found] = True
    return begins


# --- nodes ------------------------------------------------------------------------------


def select(
    tests: Sequence[Test], types: npt.NDArray[Any], wanted: BoolArray, rows: range, reader: Reader
) -> tuple[IntArray, IntArray]:
    """The nodes of some types in some rows that meet conditions.

    Args:
        tests: The conditions.
        types: The type of every handle.
        wanted: By number of a type, and at the end for `NO_NODE`: whether its nodes are wanted.
        rows: The rows, of `NODES` nodes each.
        reader: A connection to the file.

    Returns:
        The handles of the nodes that meet all conditions; and of those that have to be judged by
        their records.
    """
    sure, unsure, numbers = [], [], np.flatnonzero(wanted).tolist()
    for row in rows:
        own = types[row * NODES : (row + 1) * NODES]
        kept = own >= 0 if len(numbers) == len(wanted) - 1 else are_among(own, numbers)
        unread = np.zeros(len(kept), bool)
        for test in tests:
            if not kept.any():
                break
            met, undecided = _row(test, row, len(kept), reader)
            kept &= met | undecided
            unread |= undecided
        handles = np.flatnonzero(kept).astype(np.int32)
        sure.append(handles[~unread[handles]] + np.int32(row * NODES))
        unsure.append(handles[unread[handles]] + np.int32(row * NODES))
    return np.concatenate(sure), np.concatenate(unsure)


def _row(test: Test, row: int, length: int, reader: Reader) -> tuple[BoolArray, BoolArray]:
    """Which nodes of a row meet a condition, and for which of them only the record tells."""
    operator, column = test.condition.operator, test.column
    present, met, unread = np.zeros((3, length), bool)
    if column is not None:
        found = reader.execute(queries.PROPERTY_CODES, (row_key(column.k, row),)).fetchone()
        if found is not None:
            places, packed = found
            codes = np.frombuffer(packed, code_width(column.size))
            at = slice(len(codes)) if places is None else np.frombuffer(places, PLACE)
            _mark(present, at, codes != ABSENT)
            if operator not in ("has", "lacks"):
                if test.met.any():
                    _mark(met, at, test.met.take(codes))
                _mark(unread, at, codes == UNREAD)
    elif not test.is_absent:
        unread[:] = True
    if operator in ("has", "lacks"):
        return (present if operator == "has" else ~present), unread
    unread &= ~met
    return (present & ~met & ~unread if test.condition.is_negated else met), unread


def _mark(marks: BoolArray, places: Any, which: BoolArray) -> None:
    """Mark places, some of which occur more than once, if one of their occurrences is chosen."""
    if isinstance(places, slice):
        marks[places] = which
    else:
        marks[places[which]] = True


def values_of(column: Property, handles: IntArray, reader: Reader) -> list[Any] | None:
    """The value of a property of each node, None for a node without it.

    None in place of the list if a node has several values, or one that only its record has.
    """
    codes = np.zeros(len(handles), np.int64)
    row_of = handles // NODES
    for row in np.unique(row_of).tolist():
        here = np.flatnonzero(row_of == row)
        found = reader.execute(queries.PROPERTY_CODES, (row_key(column.k, row),)).fetchone()
        if found is None:
            continue
        places, packed = found
        known, at = np.frombuffer(packed, code_width(column.size)), handles[here] % NODES
        where = np.arange(len(known)) if places is None else np.frombuffer(places, PLACE)
        spread = np.full(NODES, ABSENT, np.int64)
        spread[where] = known
        codes[here] = spread[at]
        if (np.bincount(where, minlength=NODES)[at] > 1).any():
            return None
    distinct, numbers = np.unique(codes, return_inverse=True)
    if np.isin(distinct, (UNREAD, NO_SCALAR)).any():
        return None
    known = distinct[distinct != ABSENT]
    values = [None] * (len(distinct) - len(known)) + _Dictionary(reader, column).originals(known)
    return list(map(values.__getitem__, numbers.tolist()))


def judge(conditions: Sequence[PropertyCondition], handles: IntArray, reader: Reader) -> IntArray:
    """The nodes whose records meet all conditions."""
    records = Records()
    absent = all(one.holds(NO_METADATA) for one in conditions)
    met = dict.fromkeys(handles.tolist(), absent)
    with closing(queries.rows_for(reader, queries.details, list(met), records.most)) as rows:
        for handle, text in rows:
            with call.borrowed():
                metadata = records.whole(text, partial(_id_of, handle, reader))
                met[handle] = all(one.holds(metadata) for one in conditions)
    return handles.compress(np.array([met[handle] for handle in handles.tolist()], bool))


def _id_of(handle: int, reader: Reader) -> str:
    [(_, entity_id)] = queries.rows_for(reader, queries.ids, [handle])
    return str(entity_id)
