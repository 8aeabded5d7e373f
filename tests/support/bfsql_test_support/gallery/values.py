"""Mistakes in values: a value is returned differently from how it was stored."""

from __future__ import annotations

import json
import struct
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from bfsql_test_support.gallery.bases import Keeps, everywhere, wrong


@wrong("every-value")
class NumbersAsText(Keeps):
    """Stores every value as text."""

    def storable(self, value: Any) -> Any:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return str(value) if is_number else value


@wrong("every-value")
class TextAsNumbers(Keeps):
    """Converts text that looks like a number to one."""

    def storable(self, value: Any) -> Any:
        return int(value) if isinstance(value, str) and value.isdecimal() else value


@wrong("every-value")
class BooleansAsNumbers(Keeps):
    """Stores booleans as numbers."""

    def storable(self, value: Any) -> Any:
        return everywhere(lambda v: int(v) if isinstance(v, bool) else v, value)


@wrong("every-value")
class NumbersAsDoubles(Keeps):
    """Stores every number as a double, with 53 bits of precision."""

    def storable(self, value: Any) -> Any:
        large = lambda v: isinstance(v, int) and abs(v) > 2**53
        return everywhere(lambda v: float(v) if large(v) else v, value)


@wrong("every-value")
class SinglePrecision(Keeps):
    """Stores floats in four bytes."""

    def storable(self, value: Any) -> Any:
        return everywhere(_single if isinstance(value, float) else lambda v: v, value)


def _single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


@wrong("every-value")
class DecimalsAsDoubles(Keeps):
    """Rounds exact decimals to the nearest double."""

    def storable(self, value: Any) -> Any:
        return everywhere(lambda v: float(v) if isinstance(v, Decimal) else v, value)


@wrong("every-value")
class DatesInWords(Keeps):
    """Returns dates in the format of its driver instead of ISO 8601."""

    def storable(self, value: Any) -> Any:
        return everywhere(lambda v: v.strftime("%d/%m/%Y") if isinstance(v, date) else v, value)


@wrong("every-value")
class DatesWithATime(Keeps):
    """Converts every date to a datetime."""

    def storable(self, value: Any) -> Any:
        is_date = lambda v: isinstance(v, date) and not isinstance(v, datetime)
        moment = lambda v: datetime(v.year, v.month, v.day)  # noqa: DTZ001 - naive on purpose
        return everywhere(lambda v: moment(v) if is_date(v) else v, value)


@wrong("every-value")
class MapsFlattened(Keeps):
    """Flattens nested maps into dotted keys."""

    def kept_all(self, metadata: Any) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for key, value in metadata.items():
            inner = self.kept_all(value) if isinstance(value, dict) else None
            flat |= {key: value} if inner is None else {f"{key}.{k}": v for k, v in inner.items()}
        return flat


@wrong("every-value")
class MapsAsText(Keeps):
    """Stores nested maps as JSON text, and returns the text."""

    def storable(self, value: Any) -> Any:
        return json.dumps(value, default=str) if isinstance(value, dict) else value


@wrong("every-value")
class ListsSorted(Keeps):
    """Stores lists as sets."""

    def storable(self, value: Any) -> Any:
        texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
        return sorted(set(value)) if texts else value


@wrong("every-value")
class ListsOfOneAsTheOne(Keeps):
    """Replaces a list of one value with the value."""

    def storable(self, value: Any) -> Any:
        return value[0] if isinstance(value, list) and len(value) == 1 else value


@wrong("every-value")
class EmptyAsAbsent(Keeps):
    """Treats an empty string as a missing value."""

    def kept_all(self, metadata: Any) -> dict[str, Any]:
        return {key: value for key, value in metadata.items() if value != ""}


@wrong("every-value")
class ZeroAsAbsent(Keeps):
    """Tests whether a value is truthy instead of whether it is present."""

    def kept_all(self, metadata: Any) -> dict[str, Any]:
        return {key: value for key, value in metadata.items() if value or value is None}


@wrong("every-value")
class TextCut(Keeps):
    """Truncates text to 255 characters."""

    def storable(self, value: Any) -> Any:
        return value[:255] if isinstance(value, str) else value


@wrong("every-value")
class TextToTheFirstNul(Keeps):
    """Ends text at the first NUL, as strings in its driver's language do."""

    def storable(self, value: Any) -> Any:
        return value.split("\0")[0] if isinstance(value, str) else value


@wrong("every-value")
class TextOfThePlane(Keeps):
    """Stores at most three bytes per character, and so loses emoji."""

    def storable(self, value: Any) -> Any:
        basic = lambda v: "".join(c for c in v if c <= "\uffff")
        return everywhere(lambda v: basic(v) if isinstance(v, str) else v, value)


@wrong("every-value")
class TextOfOneLine(Keeps):
    """Writes rows as lines, so that no value can contain a line break."""

    def storable(self, value: Any) -> Any:
        return " ".join(value.splitlines()) if isinstance(value, str) else value


@wrong("every-value")
class KeysLowered(Keeps):
    """Stores keys as case-insensitive column names, in lower case."""

    def kept_all(self, metadata: Any) -> dict[str, Any]:
        return {key.lower(): value for key, value in metadata.items()}
