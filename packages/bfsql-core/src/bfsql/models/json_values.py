"""Conversion of values that JSON lacks, and metadata as JSON text for stores that use this form.

Dates become ISO 8601 text, bytes base64 text, a Decimal an equal number or,
if no float equals it, its own text. NaN and the infinities become their
names. Integers retain all their digits.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from pydantic_core import to_json

from bfsql.models.merge import sorted_union

MAX_BITS = 4096
"""Maximum bits of an integer that is written in digits; Python refuses far longer ones."""
MAX_DIGITS = 64
"""Maximum digits of a whole Decimal that answers write as a number: `1E+999999` stays short."""

_SEPARATORS = (",", ":")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEAST, _MOST = 1e-4, 1e16
"""Between these limits, a float is written without an exponent."""
INT64 = 1 << 63
"""Signed integers of 64 bits are from `-INT64` to `INT64 - 1`."""


def json_number(value: Decimal) -> int | float | str:
    """The equivalent JSON number, or the digits as text if there is none."""
    if not value.is_finite():
        return "NaN" if value.is_nan() else non_finite(float(value))
    if value == value.to_integral_value() and abs(value.adjusted()) < MAX_DIGITS:
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else str(value)


def exact_integer(value: Any) -> Any:
    """A number as answers write it: an int above 2**53, where JavaScript rounds it, as text."""
    return str(value) if isinstance(value, int) and abs(value) > 2**53 else value


def non_finite(value: float) -> str:
    """The name of NaN or of an infinity."""
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def iso_text(value: dt.date | dt.time | dt.timedelta) -> str:
    """ISO 8601 text; for a duration, days, then seconds."""
    if not isinstance(value, dt.timedelta):
        return value.isoformat()
    sign, value = ("-", -value) if value < dt.timedelta() else ("", value)
    seconds = f"{value.seconds + value.microseconds / 1_000_000:.6f}".rstrip("0").rstrip(".")
    return f"{sign}P{value.days}DT{seconds}S"


# --- metadata as text ---------------------------------------------------------


def encode(value: Mapping[str, Any] | list[Any]) -> str:
    """JSON text of metadata, or of a list in it.

    Raises:
        ValueError: It is nested too deeply, or contains itself.
    """
    if _is_simple(value):
        try:
            return to_json(value).decode()
        except ValueError:  # a lone surrogate
            pass
    try:
        try:
            text = _compact(value)
        except (TypeError, ValueError):  # NaN, a key that is not text, an int of 5,000 digits
            text = _compact(_plain(value))
    except RecursionError:
        raise ValueError("its metadata is nested too deeply, or contains itself") from None
    if is_text(text):
        return text
    # A lone surrogate is passed as an escape, which is valid text.
    return json.dumps(json.loads(text), separators=_SEPARATORS)


def decode(text: str) -> dict[str, Any]:
    """The metadata that `encode` wrote.

    Raises:
        ValueError: It is something else.
        RecursionError: It is nested too deeply.
    """
    value: dict[str, Any] = json.loads(text)
    if type(value) is not dict:
        raise json.JSONDecodeError("metadata is not a JSON object", text, 0)
    return value


def is_text(text: str) -> bool:
    """Whether a string is valid text, without lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def distinct_texts(values: Iterable[str]) -> list[str]:
    """The distinct values that are valid text, in order of first occurrence."""
    return [value for value in dict.fromkeys(values) if is_text(value)]


def as_text(text: str) -> str:
    """The string with U+FFFD for every lone surrogate, as answers show it (`protocol.md` 19)."""
    return text if is_text(text) else _SURROGATE.sub("\ufffd", text)


def _is_simple(value: Mapping[str, Any] | list[Any]) -> bool:
    """Whether pydantic's encoder, which is three times as fast, writes the same text.

    This is the case if nothing but lists of strings is nested, and no number needs an
    exponent or more than 64 bits.
    """
    if type(value) is not dict:
        return False
    for key, item in value.items():
        kind = type(item)
        if type(key) is not str:
            return False
        if kind is str or kind is bool or item is None:
            continue
        if kind is float:
            if not (_LEAST <= abs(item) < _MOST or item == 0):
                return False
        elif kind is int:
            if not -INT64 <= item < INT64:
                return False
        elif kind is not list or not all(type(one) is str for one in item):
            return False
    return True


def _default(value: Any) -> Any:
    match value:
        case dt.date() | dt.time() | dt.timedelta():  # a datetime is a date
            return iso_text(value)
        case Decimal():
            return json_number(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case set() | frozenset():
            return sorted_union(value)
        case Mapping():
            return dict(value)
    return str(value)


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return non_finite(value)
        case int() if value.bit_length() > MAX_BITS:
            return f"{value:#x}"
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case str() | bool() | int() | float() | None:
            return value
    return _plain(_default(value))


_compact = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=_SEPARATORS, default=_default
).encode
