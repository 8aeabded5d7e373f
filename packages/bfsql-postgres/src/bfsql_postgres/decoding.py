"""From what the driver gives to what metadata holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import UUID

from pydantic_core import from_json

from bfsql_postgres.layout import Layout

_WHOLE = re.compile(r"-?[1-9][0-9]{0,18}|0")
_INT64 = 2**63


def decode(text: str) -> Any:
    """A JSON text's value; numbers keep every digit that they have."""
    try:
        return from_json(text)
    except ValueError:  # half a surrogate pair, or deeper nesting than that parser takes
        return _patiently(text)


def _patiently(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def placeholder(key: str, what: str) -> Callable[[int], str]:
    """What stands for a value that is not sent: its field and its size (`protocol.md` 17)."""
    return lambda size: f"[{key}: {size} {what}]"


def lift(metadata: dict[str, Any], text: str, under: str) -> None:
    """Put the keys of a JSON column beside the row's own.

    Where both have a key, the row's own keeps it and the other becomes
    `properties.KEY`. What is no object stays under the column's name.

    Args:
        metadata: What the row has; it is changed.
        text: The JSON.
        under: The column's name.
    """
    value = decode(text)
    if isinstance(value, dict):
        if metadata.keys().isdisjoint(value):
            metadata.update(value)
            return
        for key, inner in value.items():
            metadata[f"{under}.{key}" if key in metadata else key] = inner
    elif value is not None:
        metadata[under] = value


# --- ids --------------------------------------------------------------------


def storable(texts: Sequence[str], codec: str = "utf-8") -> bool:
    """Whether all of them can be in a database: no NUL and no half surrogate pair.

    Args:
        texts: Any texts.
        codec: The database's encoding; what it has no character for cannot be there.
    """
    together = "".join(texts)
    if "\0" in together:
        return False
    if together.isascii():
        return True
    # Two halves that meet make no pair in Python, so that one look at all of them is enough.
    try:
        together.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def known_ids(ids: Iterable[str], layout: Layout) -> dict[str, Any]:
    """Ids that the store could have, each once, with what they are sent as.

    An id that is not the canonical text of a value (`007` of 7) is unknown.
    """
    distinct = dict.fromkeys(ids)
    if layout.key == "whole":
        return {i: int(i) for i in distinct if is_whole(i)}
    if layout.key == "uuid":
        return {i: i for i in distinct if is_uuid(i)}
    if storable(list(distinct), layout.codec):
        return dict(zip(distinct, distinct, strict=True))
    return {i: i for i in distinct if storable((i,), layout.codec)}


def is_whole(text: str) -> bool:
    """Whether a text is how the server writes some 64-bit number."""
    return bool(_WHOLE.fullmatch(text)) and -_INT64 <= int(text) < _INT64


def is_uuid(text: str) -> bool:
    """Whether a text is how the server writes some UUID."""
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
