"""JSON Lines: one object a line, a bad line refused and left behind."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.models.stream import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    GraphStream,
    NodeRecord,
    Refusal,
)
from bfsql.sources.fields import Unusable, sound
from bfsql.sources.files import open_bytes

Object = dict[str, Any]


class _Mended(dict[str, Any]):
    """An object with an escaped lone surrogate somewhere; only ids are refused for it."""


def objects(path: Path) -> Iterator[tuple[int, Object | Refusal]]:
    """Every line that is not blank: its 1-based number, and its object or why there is none."""
    with open_bytes(path) as stream:
        for number, line in enumerate(stream, 1):
            try:
                found = from_json(line.rstrip(), cache_strings="keys")
            except ValueError as error:
                if not line.strip():
                    continue
                try:
                    found = _second_try(line, error)
                except Unusable as reason:
                    yield number, Refusal(path, number, str(reason))
                    continue
            if isinstance(found, dict):
                yield number, found
            else:
                yield number, Refusal(path, number, f"holds {_kind(found)}, not a JSON object")


def records(path: Path, make: Callable[[Object], Iterable[GraphRecord | Refusal]]) -> GraphStream:
    """What a function makes of each line's object; what it finds unusable is refused.

    Args:
        path: The file.
        make: Gives the records of one object, or raises `Unusable`.
    """
    for number, found in objects(path):
        if isinstance(found, Refusal):
            yield found
            continue
        try:
            if isinstance(found, _Mended):
                yield from map(_sound, make(found))
            else:
                yield from make(found)
        except Unusable as reason:
            yield Refusal(path, number, str(reason))


def _sound(record: GraphRecord | Refusal) -> GraphRecord | Refusal:
    if isinstance(record, EvidenceRecord):
        return replace(record, item=sound(record.item))
    if isinstance(record, NodeRecord | EdgeRecord):
        return replace(record, metadata=sound(record.metadata))
    return record


def _second_try(line: bytes, error: ValueError) -> Any:
    # The fast parser takes neither a byte order mark nor an escaped lone surrogate;
    # the second is for whoever looks at the field to judge.
    if line.startswith(codecs.BOM_UTF8) or b"\\ud" in line.lower():
        try:
            return json.loads(line.removeprefix(codecs.BOM_UTF8), object_pairs_hook=_Mended)
        except (ValueError, RecursionError):
            pass
    reason = (
        str(error).removesuffix(" at line 1 column 0").replace(" at line 1 column", " at column")
    )
    raise Unusable(f"is not JSON: {reason}") from error


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
