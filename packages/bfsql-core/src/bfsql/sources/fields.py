"""The values of graph files: the valid ids, texts and table cells of a record; refusals."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from bfsql.masking import shorten
from bfsql.models.json_values import is_text
from bfsql.models.records import EvidenceRecord, GraphRecord, GraphStream, Refusal

_T = TypeVar("_T")
_Record = TypeVar("_Record", bound="GraphRecord | Refusal")

_INTEGER = re.compile(r"(?:-?[1-9]\d{0,14}|0)\Z", re.ASCII)
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+(?:[eE][+-]?\d{1,2})?|[eE]-\d{1,2})\Z", re.ASCII)
_TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_MOMENT = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?\Z", re.ASCII
)
_MAYBE = frozenset("-0123456789tTfF")


class Unusable(ValueError):
    """The reason why a line cannot be used; readers turn it into a `Refusal`."""


class Skipped(Unusable):
    """A row without a key, or without an end of its edge, which its table counts."""


class RepairedObject(dict[str, Any]):
    """An object with an escaped lone surrogate; it is refused only if an id contains it."""


def records(
    path: Path,
    items: Iterable[tuple[int | str, _T | Unusable]],
    make: Callable[[_T], Iterable[GraphRecord | Refusal]],
) -> GraphStream:
    """The records of each item; an item that cannot be used is refused, and reading continues.

    Args:
        path: The file.
        items: The number of its line, or a phrase for its place in a file without lines; and the
            item, or why it cannot be used.
        make: Returns the records of an item, or raises `Unusable`.
    """
    for place, item in items:
        try:
            if isinstance(item, Unusable):
                raise item
            if isinstance(item, RepairedObject):
                yield from map(sound_record, make(item))
            else:
                yield from make(item)
        except Skipped:
            continue
        except Unusable as reason:
            if isinstance(place, int):
                yield Refusal(path, place, str(reason))
            else:
                yield Refusal(path, None, f"{place}: {reason}")


def identifier(value: Any, what: str) -> str:
    """An id or a predicate, exactly as it is written; a whole number as its digits.

    Raises:
        Unusable: There is no value, it is not text, or it contains a lone
            surrogate, which no store can hold (`protocol.md` 19).
    """
    if isinstance(value, str) and value:
        if is_text(value):
            return value
        raise Unusable(f"{what} {excerpt(value)} contains a lone surrogate or is not UTF-8 text")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if value is None or value == "":
        raise Unusable(f"{what} is missing")
    raise Unusable(f"{what} is {excerpt(value)}, which is not text")


def optional_identifier(value: Any, what: str, default: str) -> str:
    """Like `identifier`; the default if the file has no value."""
    return default if value is None or value == "" else identifier(value, what)


def texts(value: Any, what: str) -> list[str]:
    """A list of texts, from a list of them or from one text separated by `|` or `;`.

    Raises:
        Unusable: The value is neither.
    """
    if value is None:
        return []
    if isinstance(value, str):
        parts = value.split("|" if "|" in value else ";")
        return [part.strip() for part in parts if part.strip()]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return [item for item in value if item]
    raise Unusable(f"{what} is {excerpt(value)}, which is neither text nor a list of texts")


def value_of(cell: str) -> str | int | float | bool:
    """A number or a boolean if a text, not empty, can mean nothing else; otherwise the text.

    Whole numbers have at most 15 digits and no leading zero, since `0042` and
    long rows of digits are codes. Decimals are `1.5`, `0.90`, `1e-05`. Dates with
    times are those of `iso_moment`.
    """
    if cell[0] not in _MAYBE:
        return cell
    if _INTEGER.match(cell):
        return int(cell)
    if _DECIMAL.match(cell):
        return float(cell)
    return _TRUTH[cell] if cell in _TRUTH else iso_moment(cell)


def iso_moment(text: str) -> str:
    """A date and a time with a blank between them in ISO 8601; any other text as it is."""
    if text[10:11] == " " and _MOMENT.match(text):
        with suppress(ValueError):
            return dt.datetime.fromisoformat(text).isoformat()
    return text


def is_label(value: Any) -> bool:
    """Whether a value can be a name: short text that is not a number."""
    return isinstance(value, str) and value[:100] == value != "" and value_of(value) == value


def sound(value: Any) -> Any:
    """The value with U+FFFD for every lone surrogate, at any depth (`protocol.md` 19)."""
    if isinstance(value, str) and not is_text(value):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [sound(item) for item in value]
    if isinstance(value, dict):
        return {sound(key): sound(item) for key, item in value.items()}
    return value


def json_objects(
    items: Iterable[tuple[str, Any]],
) -> Iterator[tuple[str, dict[str, Any] | Unusable]]:
    """Items with their places; those that are not objects are replaced by the reason."""
    for place, item in items:
        if isinstance(item, dict | Unusable):
            yield place, item
        else:
            yield place, Unusable(f"is {excerpt(item)}, not a JSON object")


def sound_record(record: _Record) -> _Record:
    """The record, with U+FFFD for every lone surrogate in its metadata."""
    if isinstance(record, EvidenceRecord):
        return replace(record, item=sound(record.item))
    if isinstance(record, Refusal):
        return record
    return replace(record, metadata=sound(record.metadata))


def without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping without fields that have no value."""
    return {key: value for key, value in record.items() if value is not None}


def excerpt(value: Any) -> str:
    """A value as messages show it: quoted, escaped and not too long."""
    text = ascii(value) if isinstance(value, str) and not is_text(value) else repr(value)
    return shorten(text, 80)
