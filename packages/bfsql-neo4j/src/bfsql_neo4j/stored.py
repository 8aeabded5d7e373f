"""How metadata becomes properties of Neo4j, and comes back.

Neo4j keeps text, booleans, integers of 64 bits, floats, dates and times, bytes,
and lists of one kind of those without nulls. Any other value stands as JSON
text under `<name>__json`, and values whose name cannot be that of a property
(the empty one, say) stand together in one JSON object under `__json`. Loader
and reader both go through this module, so that they cannot differ.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from typing import Any

from bfsql.models.json_values import iso_duration, json_number, non_finite
from bfsql.models.merge import sorted_union

SUFFIX = "__json"
"""End of the names under which values stand as JSON text."""
DOCUMENTS = "provenance__documents"
"""Property of a relationship, the store's own: ids of the documents that its evidence is from, so
that an index finds what a document supplied."""
HUGE = 10**4000
"""Integers that are written as hexadecimal text; Python refuses to read their digits."""
DEEPEST = 100
"""Levels of nesting that are taken."""
MAX_OFFSET = dt.timedelta(hours=18)
"""The farthest from UTC that a time zone of Neo4j can be."""

_INT64 = 2**63
_SURROGATE = re.compile("[\ud800-\udfff]")
_SEPARATORS = (",", ":")


def to_properties(metadata: Mapping[str, Any], taken: Collection[str] = ()) -> dict[str, Any]:
    """Metadata as properties: parameters that the driver can send.

    Args:
        metadata: What a source gives. Nulls are left out: a property that is
            null is none.
        taken: Names that are the store's own on this element, the id property
            above all; a value of such a name stands as JSON text.

    Raises:
        ValueError: It is nested too deeply, or holds itself.
    """
    properties: dict[str, Any] = {}
    unnamed: dict[str, Any] = {}
    for key, value in plain(metadata).items():
        if value is None:
            continue
        if not _can_name(key):
            unnamed[key] = value
        elif key in taken or key == DOCUMENTS or key.endswith(SUFFIX) or not _is_kept(value):
            properties[key + SUFFIX] = _json(value)
        else:
            properties[key] = _text_whole(value)
    if unnamed:
        properties[SUFFIX] = _json(unnamed)
    return properties


def from_properties(properties: Mapping[str, Any], taken: Collection[str] = ()) -> dict[str, Any]:
    """The metadata that `to_properties` wrote; of any other graph the properties as they are.

    What ends with `__json` without being JSON text, or would hide another
    property, stays what it is.

    Args:
        properties: Of a node or a relationship.
        taken: The names that were `taken` when it was written: where JSON text
            stands beside such a property, it is the metadata.

    Returns:
        A new dict.
    """
    metadata = {key: value for key, value in properties.items() if key != DOCUMENTS}
    # The shortest first: `a__json` may stand for `a`, and then `a__json__json` for `a__json`.
    for key in sorted((key for key in metadata if key.endswith(SUFFIX)), key=len):
        name, value = key.removesuffix(SUFFIX), _decoded(metadata[key])
        if name and value is not None and (name not in metadata or name in taken):
            del metadata[key]
            metadata[name] = value
        elif not name and isinstance(value, dict) and not any(map(_can_name, value)):
            del metadata[key]
            metadata.update(value)
    return metadata


def plain(value: Any, depth: int = 0) -> Any:  # noqa: C901, PLR0911, PLR0912 - one line a kind
    """A value as one of None, bool, int, float, str, bytes, list, dict, date, time, datetime.

    What answers show of it is the same before and after.

    Args:
        value: Whatever a source gives.
        depth: Levels of nesting above it.

    Raises:
        ValueError: It is nested too deeply, or holds itself.
    """
    if depth > DEEPEST:
        raise ValueError(
            f"its metadata is nested deeper than {DEEPEST} levels, or holds itself; "
            "write it flatter, or as text"
        )
    match value:
        case None | bool():
            return value
        case Enum():
            return plain(value.value, depth)
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return {str(key): plain(item, depth + 1) for key, item in value.items()}
        case bytes() | bytearray() | memoryview():
            return bytes(value)
        case dt.date() | dt.time():  # a datetime is a date
            return _time_kept(value)
        case dt.timedelta():
            return iso_duration(value)
        case Decimal():
            return json_number(value)
        case AbstractSet():
            return [plain(item, depth + 1) for item in sorted_union(value)]
        case list() | tuple():
            return [plain(item, depth + 1) for item in value]
    return plain(value.tolist(), depth + 1) if hasattr(value, "tolist") else str(value)


def _can_name(key: str) -> bool:
    """Whether Neo4j can have a property of this name."""
    return bool(key) and "\0" not in key and not _SURROGATE.search(key)


def _is_kept(value: Any) -> bool:
    """Whether Neo4j keeps a plain value, and tells it from every other."""
    match value:
        case bool() | float() | str() | bytes() | dt.date() | dt.time():
            return True
        case int():
            return -_INT64 <= value < _INT64
        case list():
            return len({_list_kind(item) for item in value}) <= 1 and all(
                _is_kept(item) and not isinstance(item, list | bytes) for item in value
            )
    return False


def _list_kind(item: Any) -> Any:
    """Items of two kinds make a list that Neo4j refuses, or whose items it turns into others."""
    return type(item), getattr(item, "tzinfo", None) is None


def whole(text: str) -> str:
    """The text with U+FFFD for what is not text, as answers show it (`protocol.md` 19)."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _text_whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_text_whole(item) for item in value]
    return whole(value) if isinstance(value, str) else value


def _time_kept(value: dt.date | dt.time) -> dt.date | dt.time | str:
    """A moment with its offset from UTC in place of its zone; ISO 8601 text where that is lost.

    Answers show the offset alone, and named zones may differ between Neo4j and this machine.
    The driver brings back no offsets within the minute and no moments at the very ends of
    Python's calendar, and cannot send times of day with an offset.
    """
    if not isinstance(value, dt.datetime | dt.time) or value.tzinfo is None:
        return value
    offset = value.utcoffset()
    if not isinstance(value, dt.datetime) or offset is None:
        return value.isoformat()
    if offset % dt.timedelta(minutes=1) or abs(offset) > MAX_OFFSET:
        return value.isoformat()
    if not dt.MINYEAR < value.year < dt.MAXYEAR:
        return value.isoformat()
    return value.replace(tzinfo=dt.timezone(offset), fold=0)


def _decoded(value: Any) -> Any:
    """What JSON text stands for; None for whatever is no such text."""
    if not isinstance(value, str):
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _json(value: Any) -> str:
    return json.dumps(_json_value(value), separators=_SEPARATORS, allow_nan=False)


def _json_value(value: Any) -> Any:  # noqa: PLR0911 - one line a kind
    """A plain value of the kinds that JSON has."""
    match value:
        case float() if not math.isfinite(value):
            return non_finite(value)
        case int() if abs(value) >= HUGE:
            return f"{value:#x}"
        case bytes():
            return base64.b64encode(value).decode()
        case dt.date() | dt.time():
            return value.isoformat()
        case list():
            return [_json_value(item) for item in value]
        case dict():
            return {key: _json_value(item) for key, item in value.items()}
    return value
