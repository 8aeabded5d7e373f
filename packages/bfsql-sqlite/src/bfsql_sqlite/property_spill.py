"""Collects the properties of nodes during a load, and writes them as columns.

A value gets a provisional code when it first occurs. Different values go to DuckDB, which sorts
them; pairs of nodes and codes go to a file. Memory therefore hardly grows with the graph: at most
`MOST_VALUES` values are held, and their codes are forgotten together with them, so that a value
may have several provisional codes.
"""
# ruff: noqa: S608 - what is put into these texts are numbers

from __future__ import annotations

import math
import sqlite3
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from bfsql.integers import IntArray
from bfsql.models.comparison import Scalar, moment_in, number_in, scalars, shown_as
from bfsql.models.json_values import is_text
from bfsql.models.merge import fold
from bfsql_sqlite.duckdb_tables import SpillFile, insert
from bfsql_sqlite.property_tables import (
    BOOLEAN,
    CODE,
    FIRST,
    KEYS,
    NO_SCALAR,
    NUMBER,
    TEXT,
    UNREAD,
    Numbers,
    Pairs,
    Values,
    moment_order,
    write_property,
)

LONGEST = 200
"""Most characters of a value in a dictionary."""
ITEMS = 100
"""Most items of a list whose values are in a dictionary."""
VECTOR = 8
"""Number of items from which a list of floats is a vector, which has no values in a dictionary."""
MOST_VALUES = 500_000
"""Most values that are in memory at a time."""
FEW = 20_000
"""Number of values of a property up to which it is expected to have few different ones."""
MOST_PAIRS = 2_000_000
"""Most pairs of a node and a code that are in memory at a time."""
BATCH = 50_000
"""Values that are inserted or read at once."""

HUGE = 10 ** (LONGEST - 1)
"""A number from which on its text may be too long for a dictionary."""
YEAR = 4
"""Digits of a number that can be a year."""
DIGITS = ("+", ":")
"""Every folded text of a number or a date is between them; the signs, `.` and `/` are, too."""

# text is null if it is equal to folded, which is frequent, so that less is sorted and read.
_TABLE = """
CREATE TABLE property_value (
    k INTEGER, code INTEGER, kind UTINYINT, text VARCHAR, folded VARCHAR
)
"""
_ORDERED = """
CREATE TABLE ordered_value AS SELECT * FROM property_value ORDER BY k, folded, kind, text
"""


class _Column(dict[Any, int]):
    """A property, as a mapping from values to provisional codes.

    Texts and booleans are keys themselves, numbers the bytes of their text.
    """

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key
        self.size = 0
        """Number of provisional codes of values."""
        self.pending: list[Any] = []
        """The values of the last codes, which are in memory; some numbers are as their keys."""
        self._mostly_differ = False  # then each occurrence gets a code, which is faster
        self.nodes, self.codes = array("i"), array("i")
        self.parts: list[tuple[int, int]] = []
        """The place and the number of each part of the pairs in the file."""

    def __missing__(self, value: Any) -> int:
        text = _TEXTS[value.__class__](value)
        if len(text) > LONGEST or not is_text(text):
            return UNREAD
        [self[value]] = self._numbered([value])
        return self[value]

    def extend(self, nodes: Sequence[int], values: Sequence[Any], kinds: set[type]) -> None:
        """Add a value for each node; all values are texts, or all are finite numbers."""
        self.nodes.extend(nodes)
        if kinds == {str}:
            is_sound = is_text("".join(values)) and max(map(len, values)) <= LONGEST
        else:
            is_sound = kinds == {float} or max(map(abs, values)) < HUGE
        if is_sound and self._mostly_differ:
            self.codes.extend(self._numbered(values))
            return
        keys = values if kinds == {str} else _number_keys(values, kinds)
        new = [key for key in dict.fromkeys(keys) if key not in self] if is_sound else []
        self.update(zip(new, self._numbered(new), strict=True))
        self.codes.extend(map(self.__getitem__, keys))
        self._mostly_differ = len(self) > FEW and 2 * len(new) > len(keys)

    def _numbered(self, values: Sequence[Any]) -> range:
        """New codes for values."""
        first = FIRST + self.size
        self.pending += values
        self.size += len(values)
        return range(first, first + len(values))

    def codes_of(self, value: Any) -> Sequence[int]:
        """The codes of any value."""
        values = scalars(value)
        if len(values) > ITEMS or (
            len(values) >= VECTOR and all(one.__class__ is float for one in values)
        ):
            return (UNREAD,)
        return [self[_key(one)] for one in values] or (NO_SCALAR,)


def _key(value: Scalar) -> Any:
    """A value as a key of a dict; unlike tuples, these keys cost the garbage collector nothing."""
    return value if isinstance(value, str | bool) else repr(value).encode()


def _number_keys(values: Sequence[int | float], kinds: set[type]) -> list[bytes]:
    """The keys of finite numbers; ints, such as years, are often equal."""
    if kinds == {int}:
        texts = {value: repr(value).encode() for value in set(values)}
        return [texts[value] for value in values]
    return [repr(value).encode() for value in values]


_KINDS = {str: TEXT, bytes: NUMBER, int: NUMBER, float: NUMBER, bool: BOOLEAN}
_TEXTS: dict[type, Callable[[Any], str]] = {
    str: str,
    bytes: bytes.decode,
    int: repr,
    float: repr,
    bool: shown_as,
}


class PropertySpill:
    """The properties of the nodes of a load.

    Args:
        connection: To DuckDB.
        folder: Where a temporary file is put.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
        self._connection = connection
        self._file = SpillFile(folder / "properties")
        self.close = self._file.close
        self._columns: dict[str, _Column] = {}
        self._has_further = False
        connection.execute(_TABLE)

    def add(self, nodes: Sequence[int], metadata: Sequence[Mapping[str, Any]]) -> None:
        """Add the properties of some thousand nodes; nodes ascend from call to call."""
        groups: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, keys in enumerate(map(tuple, metadata)):
            groups[keys].append(place)
        for keys, places in groups.items():
            rows = array("i", [nodes[place] for place in places])
            records = [metadata[place] for place in places]
            for key in keys:
                self._add(key, rows, list(map(itemgetter(key), records)))
        if sum(len(column.pending) for column in self._columns.values()) > MOST_VALUES:
            self._spill_values()
        if sum(len(column.nodes) for column in self._columns.values()) > MOST_PAIRS:
            self._spill_pairs()

    def _add(self, key: str, nodes: Sequence[int], values: Sequence[Any]) -> None:
        """Add the values of a property; texts, which are the most frequent, without a loop."""
        kinds = set(map(type, values))
        if kinds == {type(None)}:
            return
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) == KEYS or not is_text(key):
                self._has_further = True
                return
            column = self._columns[key] = _Column(key)
        if kinds in ({str}, {int}) or (
            kinds <= {int, float} and all(value - value == 0 for value in values)
        ):
            column.extend(nodes, values, kinds)
        else:
            for node, value in zip(nodes, values, strict=True):
                codes = () if value is None else column.codes_of(value)
                column.nodes.extend(repeat(node, len(codes)))
                column.codes.extend(codes)

    def write(self, graph: sqlite3.Connection) -> None:
        """Fill the tables of properties of a file."""
        self._spill_values()
        self._spill_pairs()
        self._connection.execute(_ORDERED)
        before = 0
        for k, column in enumerate(self._columns.values()):
            if not column.parts:
                continue
            codes = np.arange(FIRST + column.size, dtype=CODE)
            values = self._values(codes, before, column.size)
            write_property(graph, k, column.key, values, self._pairs(column, codes))
            before += column.size
        extent = "some" if self._has_further else "all"
        graph.execute("INSERT INTO meta VALUES ('properties', ?)", (extent,))

    def _spill_values(self) -> None:
        """Give all values in memory to DuckDB."""
        for k, column in enumerate(self._columns.values()):
            first = FIRST + column.size - len(column.pending)
            for start in range(0, len(column.pending), BATCH):
                self._insert(k, first + start, column.pending[start : start + BATCH])
            column.clear()
            column.pending.clear()

    def _insert(self, k: int, first: int, values: Sequence[Any]) -> None:
        """Add values to the table; `first` is the code of the first one."""
        kinds = np.fromiter(map(_KINDS.__getitem__, map(type, values)), np.uint8, len(values))
        texts = [_TEXTS[one.__class__](one) for one in values] if kinds.any() else values
        folded = texts if (kinds == NUMBER).all() else list(map(fold, texts))
        differing = [None if one == two else one for one, two in zip(texts, folded, strict=True)]
        columns = {
            "k": np.full(len(values), k, CODE),
            "code": np.arange(first, first + len(values), dtype=CODE),
            "kind": kinds,
            "text": np.array(differing, object),
            "folded": np.array(folded, object),
        }
        insert(self._connection, "property_value", columns)

    def _spill_pairs(self) -> None:
        """Write all pairs in memory to the file."""
        for column in self._columns.values():
            if not column.nodes:
                continue
            nodes, codes = np.array(column.nodes, CODE), np.array(column.codes, CODE)
            order = np.argsort(nodes, kind="stable")
            place = self._file.write(nodes[order].tobytes() + codes[order].tobytes())
            column.parts.append((place, len(nodes)))
            column.nodes, column.codes = array("i"), array("i")

    def _values(self, codes: IntArray, before: int, rows: int) -> Iterator[Values]:
        """The values of a property in their order; `codes` receives the code of each one.

        Args:
            codes: By provisional code.
            before: Number of preceding rows of the sorted table.
            rows: Number of rows of the property, some of which may be the same value.
        """
        size, last = 0, (None, None)
        for start in range(before, before + rows, BATCH):
            stop = min(start + BATCH, before + rows)
            found = self._connection.execute(
                "SELECT code, kind, text, folded FROM ordered_value "
                f"WHERE rowid >= {start} AND rowid < {stop}"
            ).fetchnumpy()
            kinds, folded = found["kind"], found["folded"]
            texts = np.where(np.ma.getmaskarray(found["text"]), folded, found["text"])
            new = np.ones(len(texts), bool)
            new[1:] = (texts[1:] != texts[:-1]) | (kinds[1:] != kinds[:-1])
            new[0] = (kinds[0], texts[0]) != last
            last = kinds[-1], texts[-1]
            codes[found["code"]] = np.cumsum(new) + (FIRST + size - 1)
            size += int(new.sum())
            kinds, texts, folded = kinds[new], texts[new], folded[new]
            yield Values(kinds, texts, folded, *_orders(kinds, texts, folded))

    def _pairs(self, column: _Column, codes: IntArray) -> Iterator[Pairs]:
        """The pairs of nodes and codes, by node and code."""
        for place, pairs in column.parts:
            size = pairs * CODE.itemsize
            data = np.frombuffer(self._file.read(place, 2 * size), CODE)
            nodes, of_nodes = data[:pairs], codes[data[pairs:]]
            if (nodes[1:] == nodes[:-1]).any():
                of_nodes = of_nodes[np.lexsort((of_nodes, nodes))]
            yield Pairs(nodes, of_nodes)


def _orders(
    kinds: npt.NDArray[np.uint8], texts: npt.NDArray[Any], folded: npt.NDArray[Any]
) -> tuple[Numbers, Numbers]:
    """Numbers as doubles, and `moment_order`; NaN for values that are not a number or date.

    The values are in the order of their folded texts.
    """
    numbers, moments = np.full((2, len(texts)), math.nan)
    start, stop = np.searchsorted(folded, np.array(DIGITS, object))
    if (kinds[start:stop] == NUMBER).all():
        numbers[start:stop] = np.fromiter(map(float, texts[start:stop]), float, stop - start)
        places = [place for place in range(start, stop) if len(texts[place]) == YEAR]
    else:
        places = list(range(start, stop))
    for place in places:
        kind, text = kinds[place], texts[place]
        number = float(text) if kind == NUMBER else number_in(text)
        if number is not None:
            numbers[place] = number
        if (kind == TEXT or len(text) == YEAR) and (moment := moment_in(text)) is not None:
            moments[place] = moment_order(moment)
    return numbers, moments
