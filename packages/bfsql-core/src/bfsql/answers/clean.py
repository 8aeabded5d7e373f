"""Cleaning of metadata and text for a model, and encoding (`protocol.md` 3, 17, 18, 19).

The values of a store become JSON values: keys are sorted at every level, dates are in
ISO 8601, and numbers that JSON or its readers cannot represent are text. Vectors and binary
values become placeholders, and characters that are invisible or reorder text are
removed (`bfsql.models.characters`).
An answer is encoded once, as compact JSON.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import count
from operator import itemgetter
from typing import Any, TypeVar

from pydantic_core import PydanticSerializationError, to_json

from bfsql.deadline import MANY, checked
from bfsql.models import Metadata, Triple, sorted_union
from bfsql.models.characters import escaped, is_visible, without_hidden
from bfsql.models.json_values import as_text, exact_integer, iso_text, json_number, non_finite
from bfsql.models.records import HeldMetadata

K = TypeVar("K", str, Triple)
T = TypeVar("T")

LONG_ARRAY = 64
"""Length from which a list of numbers is treated as a vector and replaced by a placeholder."""

HUGE = 10**4000
"""Whole numbers from this size on, which parsers refuse, are shown by their size."""

DEEPEST = 40
"""Maximum number of levels of nesting that are shown."""

_PRINTABLE_ASCII = bytes(range(0x20, 0x7F))

_ADDRESS = re.compile(" at 0x[0-9a-fA-F]+")


def clean_text(text: str) -> str:
    """Text without characters that hide or reorder it; lone surrogates become U+FFFD."""
    if text.isascii() and text.isprintable():  # The usual case.
        return text
    return as_text(without_hidden(text))


def clean_metadata(metadata: Mapping[str, Any], without: Collection[str] = ()) -> dict[str, Any]:
    """Metadata ready for an answer: null values dropped at the top level, keys sorted.

    Args:
        metadata: The metadata as the store has it.
        without: Keys to leave out.
    """
    return {
        key: cleaned
        for key, value in _checked(_by_clean_key(metadata))
        if key not in without and (cleaned := clean(value, key)) is not None
    }


def texts_of_records(
    records: Mapping[K, Metadata], without: Collection[str] = ()
) -> dict[K, bytes]:
    """The metadata of many records as JSON, each as `clean_metadata` returns it.

    That of a record in a cache is written once, and held beside it.
    """
    texts: dict[K, bytes] = {}
    for key, metadata in _checked(records.items()):
        snapshot = metadata.snapshot if type(metadata) is HeldMetadata else None
        if snapshot is not None and snapshot.shown and snapshot.without == without:
            texts[key] = snapshot.shown
            continue
        texts[key] = encode(clean_metadata(metadata, without))
        if snapshot is not None:
            snapshot.shown, snapshot.without = texts[key], without
    return texts


def clean(value: Any, field: str, depth: int = 0) -> Any:
    """Convert one value to JSON.

    Args:
        value: Any object of a store or its driver.
        field: The metadata key of the value, for placeholders.
        depth: Levels of nesting above the value.
    """
    kind = type(value)
    if kind is str:
        return clean_text(value)
    if value is None or kind is bool or (kind is int and -(2**53) <= value <= 2**53):
        return value
    if kind is float:
        return value if math.isfinite(value) else non_finite(value)
    if depth >= DEEPEST:
        return f"[{field}: nested too deeply to show]"
    if kind is list:
        return _list(value, field, depth)
    return _rare(value, field, depth)


def _list(value: Sequence[Any], field: str, depth: int) -> Any:
    if len(value) >= LONG_ARRAY and all(_is_number(item) for item in value):
        return f"[{field}: {len(value)} numbers]"
    return [clean(item, field, depth + 1) for item in _checked(value)]


def _checked(items: Collection[T]) -> Iterable[T]:
    """The items of a list or a mapping; a loop over many of them ends with its call."""
    return items if len(items) <= MANY else checked(items, late=True)


def _rare(value: Any, field: str, depth: int) -> Any:  # noqa: C901, PLR0911 - one line a kind
    match value:
        case Mapping():
            return {
                key: clean(item, key, depth + 1) for key, item in _checked(_by_clean_key(value))
            }
        case Enum():
            return clean(value.value, field, depth)
        case int() if abs(value) >= HUGE:
            return f"[{field}: a number of {value.bit_length()} bits]"
        case int():
            return exact_integer(int(value))
        case str() | float():  # subclasses of them
            return clean((str if isinstance(value, str) else float)(value), field, depth)
        case bytes() | bytearray() | memoryview():
            return f"[{field}: {memoryview(value).nbytes} bytes of binary data]"
        case dt.date() | dt.time() | dt.timedelta():  # a datetime is a date
            return iso_text(value)
        case decimal.Decimal():
            return clean(json_number(value), field, depth)
        case AbstractSet():
            return sorted_union(clean(item, field, depth + 1) for item in value)
        case Sequence():
            return _list(value, field, depth)
        case _ if hasattr(value, "tolist"):  # numpy's arrays and numbers, and array.array
            return clean(value.tolist(), field, depth + 1)
        case _:
            return clean_text(_ADDRESS.sub("", str(value)))


def _is_number(value: Any) -> bool:
    kind = type(value)
    return kind is float or kind is int or (isinstance(value, numbers.Number) and kind is not bool)


def _by_clean_key(mapping: Mapping[Any, Any]) -> list[tuple[str, Any]]:
    r"""Items by key, with keys as clean text; keys that become the same text are numbered.

    `{"a": 1, "a\u0000": 2}` becomes `{"a": 1, "a (2)": 2}`, so nothing is lost.
    """
    if all(type(key) is str and key.isascii() and key.isprintable() for key in mapping):
        return sorted(mapping.items(), key=itemgetter(0))
    items = sorted(((str(key), value) for key, value in mapping.items()), key=itemgetter(0))
    cleaned = sorted(((clean_text(key), value) for key, value in items), key=itemgetter(0))
    apart: dict[str, Any] = {}
    numbers: defaultdict[str, count[int]] = defaultdict(lambda: count(2))
    for key, value in cleaned:
        name = key
        while name in apart:  # a number that was in use stays so, and is not tried again
            name = f"{key} ({next(numbers[key])})"
        apart[name] = value
    return sorted(apart.items(), key=itemgetter(0))


# --- bytes -------------------------------------------------------------------


def encode(document: Any) -> bytes:
    """Encode a document as UTF-8, without spaces.

    Characters that hide or reorder text remain only in ids, types and predicates,
    which are never altered; they are written as JSON escapes.
    """
    try:
        text = to_json(document, inf_nan_mode="strings")
    except (PydanticSerializationError, UnicodeEncodeError):
        # A lone surrogate has no UTF-8 form; one that a backend returns must not stop the server.
        text = to_json(_without_surrogates(document), inf_nan_mode="strings")
    if text.isascii() and b"\x7f" not in text:
        return text
    # Looking at the other characters alone takes a tenth of the time.
    if is_visible(text.translate(None, _PRINTABLE_ASCII).decode()):
        return text
    return escaped(text.decode()).encode()


def _without_surrogates(value: Any) -> Any:
    match value:
        case str():
            return as_text(value)
        case dict():
            return {_without_surrogates(k): _without_surrogates(v) for k, v in value.items()}
        case list() | tuple():
            return [_without_surrogates(item) for item in value]
        case _:
            return value
