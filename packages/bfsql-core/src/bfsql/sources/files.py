"""Opening graph files: plain or gzip, as UTF-8 text, or as JSON Lines.

Of JSON Lines a bad line is refused, and reading goes on behind it.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pydantic_core import from_json

from bfsql.errors import SourceError
from bfsql.models.records import (
    EdgeRecord,
    EvidenceRecord,
    GraphRecord,
    GraphStream,
    NodeRecord,
    Refusal,
)
from bfsql.sources.fields import Unusable, sound

JsonObject: TypeAlias = dict[str, Any]

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

_T = TypeVar("_T")


def open_bytes(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """The bytes of a file, unpacked when its name ends in `.gz`.

    Raises:
        SourceError: The file is UTF-16, which no reader takes.
        OSError: The file cannot be opened; `guarded` makes a sentence of it.
    """
    stream = gzip.GzipFile(path) if path.suffix.lower() == ".gz" else path.open("rb")
    try:
        head = stream.peek(2)[:2]
    except BaseException:
        stream.close()
        raise
    if head in _UTF16:
        stream.close()
        raise SourceError(path, "this is UTF-16 text; save it as UTF-8")
    return stream


def open_text(path: Path, *, strict: bool = True) -> io.TextIOWrapper:
    """The text of a UTF-8 file, a byte order mark left out, line ends as they are.

    Args:
        path: The file.
        strict: Whether bytes that are no UTF-8 raise UnicodeDecodeError. Otherwise
            they become lone surrogates, by which a reader tells the bad line.
    """
    return io.TextIOWrapper(
        open_bytes(path),
        encoding="utf-8-sig",
        errors="strict" if strict else "surrogateescape",
        newline="",
    )


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Makes sentences of the faults of a file itself.

    Raises:
        SourceError: The file cannot be opened or read, is damaged gzip, or is
            no UTF-8 where the format cannot go on after that.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        reason = f"this is not UTF-8 text ({error.reason}); save it as UTF-8"
        raise SourceError(path, reason) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = f"this is no gzip, or a damaged one ({error}); fetch the file again"
        raise SourceError(path, reason) from error
    except OSError as error:
        raise SourceError(path, f"cannot be read: {error.strerror or error}") from error


def guarded(path: Path, stream: Iterator[_T]) -> Iterator[_T]:
    """The same stream, under `faults_of`."""
    with faults_of(path):
        yield from stream


# --- JSON Lines -------------------------------------------------------------


class _Mended(dict[str, Any]):
    """An object with an escaped lone surrogate somewhere; only ids are refused for it."""


def objects(path: Path) -> Iterator[tuple[int, JsonObject | Refusal]]:
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


def records(
    path: Path, make: Callable[[JsonObject], Iterable[GraphRecord | Refusal]]
) -> GraphStream:
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
    # The fast parser takes neither a byte order mark nor an escaped lone surrogate. Whether
    # the latter matters depends on the field that it is in.
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
