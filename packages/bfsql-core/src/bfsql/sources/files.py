"""Opening graph files: plain or gzip, UTF-8 with or without byte order mark."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from bfsql.errors import SourceError

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
