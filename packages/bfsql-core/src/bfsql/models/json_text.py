"""Metadata as JSON text: whatever a source gives goes in, plain JSON comes out.

Dates become ISO 8601 text, bytes base64 text, a Decimal the number that it is
or its own text where no float is that number, NaN and the infinities their
names. Integers keep every digit. For the loaders of stores that keep metadata so.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from bfsql.models.merge import sorted_union

MAX_BITS = 4096
"""Bits of an integer that is written in digits; Python refuses those of far longer ones."""
MAX_DIGITS = 64
"""Digits of a whole Decimal that is written as a number, as answers write it: `1E+999999` stays
short."""

_SEPARATORS = (",", ":")


def encode(value: Mapping[str, Any] | list[Any]) -> str:
    """JSON text of metadata, or of a list in it.

    Raises:
        ValueError: It is nested too deeply, or holds itself.
    """
    try:
        try:
            text = _compact(value)
        except (TypeError, ValueError):  # NaN, a key that is no text, an int of 5,000 digits
            text = _compact(_plain(value))
    except RecursionError:
        raise ValueError("its metadata is nested too deeply, or holds itself") from None
    if is_text(text):
        return text
    # A lone surrogate goes in as an escape, which is text.
    return json.dumps(json.loads(text), separators=_SEPARATORS)


def decode(text: str) -> dict[str, Any]:
    """The metadata that `encode` wrote."""
    value: dict[str, Any] = json.loads(text)
    return value


def is_text(text: str) -> bool:
    """Whether a string is text, that is: holds no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(text: str) -> str:
    """The string with U+FFFD for every lone surrogate."""
    return (
        text
        if is_text(text)
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    )


def _default(value: Any) -> Any:
    match value:
        case dt.date() | dt.time():  # a datetime is a date
            return value.isoformat()
        case Decimal():
            return _number(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case set() | frozenset():
            return sorted_union(value)
        case Mapping():
            return dict(value)
    return str(value)


def _number(value: Decimal) -> float | int | str:
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value.adjusted()) < MAX_DIGITS:
        return int(value)
    return float(value) if Decimal(repr(float(value))) == value else str(value)


def _plain(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
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
