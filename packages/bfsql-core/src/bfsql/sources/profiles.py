"""What the columns of a table hold: how full and how different they are, and which values.

Columns are judged by the first rows; whole columns are only read to compare keys. Values are
compared by their 64-bit hashes, so that a key of a million rows takes eight megabytes.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from bfsql.arrays import LongArray, distinct_numbers
from bfsql.models.json_values import iso_text, json_number
from bfsql.sources.fields import value_of
from bfsql.sources.relational import RelationalTable

SAMPLE = 20_000
"""Most rows by which columns are judged, and that are read at a time."""
MISSING = ("n/a", "N/A", "#N/A", "NA", "na", "-", "--", ".", "?", "\\N", "(null)")
"""Texts that stand for no value where they are no key; besides those of the options."""
_MISSING = frozenset(MISSING)
UNIQUE = 0.99
"""Share of different values from which a column can be a key."""
_SEPARATOR = re.compile(r"\s*[|;,]\s*")


def text_of(value: Any) -> str:
    """A value as a part of an id: empty for none, numbers as their digits, dates as ISO 8601."""
    if type(value) is str:
        return value
    if value is None or isinstance(value, dict | list):
        return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Decimal):
        return str(json_number(value))
    return iso_text(value) if isinstance(value, dt.date | dt.time) else str(value)


def parts_of(cell: str) -> list[str]:
    """The ids in a cell that is no id itself: of a list, or a whole number with a decimal point."""
    parts: list[str] = []
    if cell[:1] == "[":
        try:
            parts = [text_of(one) for one in json.loads(cell)]
        except ValueError:
            cell = cell.strip("[]")
    parts = parts or _SEPARATOR.split(cell.strip())
    return [one[:-2] if one.endswith(".0") and one[:-2].isdecimal() else one for one in parts]


def hashes_of(texts: Collection[str]) -> LongArray:
    """The hashes of texts."""
    return np.fromiter(map(hash, texts), np.int64, len(texts))


@dataclass(frozen=True, slots=True)
class Values:
    """The different values of a column in the first rows."""

    hashes: LongArray
    weights: LongArray
    """The number of rows of each."""

    def share(self, keys: LongArray, missing: LongArray) -> float:
        """The share of rows whose value is among keys; those without any value do not count."""
        found = np.isin(self.hashes, keys)
        counts = found | ~np.isin(self.hashes, missing)
        return float(self.weights[found].sum() / max(1, self.weights[counts].sum()))

    def without(self, keys: LongArray) -> Values:
        """The values that are not among some keys."""
        others = ~np.isin(self.hashes, keys)
        return Values(self.hashes[others], self.weights[others])


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column holds in the first rows."""

    name: str
    place: int
    filled: float
    """The share of rows with a value."""
    different: float
    """The number of different values, as a share of the rows."""
    values: Values
    parts: Values | None
    """The parts of values that can be lists; None if there are none."""
    kind: str
    """`whole`, `decimal`, `text`, or `long` for texts that are none of an id; empty if empty."""


@dataclass(frozen=True, slots=True)
class TableProfile:
    """What a table holds in the first rows."""

    table: RelationalTable
    columns: dict[str, ColumnProfile]
    sampled: int
    """The number of these rows."""
    repeated: int
    """How many of them are equal to an earlier one."""
    is_whole: bool
    """Whether these are all rows."""

    @property
    def distinct(self) -> int:
        """The number of different rows among them."""
        return self.sampled - self.repeated


def profile(table: RelationalTable, nulls: Collection[str]) -> TableProfile:
    """The profile of a table.

    Args:
        table: The table.
        nulls: Texts that count as empty.
    """
    names = [column.name for column in table.columns]
    rows = table.rows()
    first = [*islice(rows, max(100, min(SAMPLE, 2_000_000 // max(1, len(names)))))]
    columns = {}
    for place, (name, cells) in enumerate(zip(names, zip(*first, strict=True), strict=False)):
        columns[name] = _column(name, place, cells, nulls)
    columns |= {name: _column(name, at, (), nulls) for at, name in enumerate(names) if not first}
    return TableProfile(
        table, columns, len(first), len(first) - len({*map(row_hash, first)}), not next(rows, None)
    )


def _column(name: str, place: int, cells: Sequence[Any], nulls: Collection[str]) -> ColumnProfile:
    counts = Counter(map(text_of, cells))
    for text in ("", *nulls):
        counts.pop(text, 0)
    filled, rows = counts.total(), max(1, len(cells))
    kind, several = _kind(counts, filled), Counter[str]()
    for text, count in counts.items() if kind != "long" else ():
        for part in parts_of(text):
            several[part] += count
    parts = _values(several) if several.keys() != counts.keys() else None
    shares = filled / rows, len(counts) / rows
    return ColumnProfile(name, place, *shares, _values(counts), parts, kind)


def _values(counts: Counter[str]) -> Values:
    weights = np.fromiter(counts.values(), np.int64, len(counts))
    return Values(hashes_of(counts), weights)


def _kind(counts: Counter[str], filled: int) -> str:
    """The kind of a column: nine tenths of its values, as a footer may be among them."""
    if not counts:
        return ""
    if sum(map(len, counts)) > 120 * len(counts):
        return "long"  # text, and no key
    kinds, filled = Counter[str](), filled - sum(counts[text] for text in MISSING)
    for text, count in counts.items():
        if text in _MISSING:
            continue
        value = value_of(text) if text[0] in "-0123456789" else text
        is_whole = _SEPARATOR.sub("", text).isdecimal() or isinstance(value, int)
        kinds["whole" if is_whole else "decimal" if isinstance(value, float) else "text"] += count
    kind, count = max(kinds.items(), key=itemgetter(1), default=("text", 0))
    return kind if kind == "text" or count >= 0.9 * filled else "text"


def row_hash(row: Sequence[Any]) -> int:
    """A hash of a row; of two rows that differ it is different."""
    try:
        return hash(tuple(row))
    except TypeError:  # lists and objects
        return hash(repr(row))


def keys_of(table: RelationalTable, places: Sequence[int]) -> tuple[LongArray, int]:
    """The different values of columns that form a key, as sorted hashes; and the number of rows."""
    blocks, rows = [np.empty(0, np.int64)], 0
    for block in blocks_of(table.rows()):
        rows += len(block)
        blocks.append(hashes_of({*key_texts(block, places)} - {""}))
    return distinct_numbers(np.concatenate(blocks)), rows


def different_rows(table: RelationalTable) -> int:
    """The number of different rows of a table."""
    blocks = [np.unique([*map(row_hash, block)]) for block in blocks_of(table.rows())]
    return len(distinct_numbers(np.concatenate(blocks))) if blocks else 0


def key_texts(rows: Sequence[Sequence[Any]], places: Sequence[int]) -> list[str]:
    """The keys of rows; as `key_text` for each."""
    if len(places) == 1:
        return [*map(text_of, map(itemgetter(places[0]), rows))]
    return [key_text(row, places) for row in rows]


def key_text(row: Sequence[Any], places: Sequence[int]) -> str:
    """The key of a row: one value as it is, several separated by colons; empty without one."""
    if len(places) == 1:
        return text_of(row[places[0]])
    texts = [text_of(row[place]) for place in places]
    return ":".join(map(encoded, texts)) if all(texts) else ""


def encoded(part: str) -> str:
    """A part of an id without colons, as the ids of Postgres have it."""
    return part.replace("%", "%25").replace(":", "%3A")


def blocks_of(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in blocks."""
    each = iter(rows)
    while block := [*islice(each, SAMPLE)]:
        yield block
