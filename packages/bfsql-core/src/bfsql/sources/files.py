"""Opening graph files, plain or packed by gzip, and sentences for the faults of a file itself."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from bfsql.errors import SourceError

_T = TypeVar("_T")

Stamp = tuple[int, int, int]
"""Device-independent identity of what a file holds: inode, size, time of the last change."""


def open_bytes(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """The bytes of a file, unpacked when its name ends in `.gz`.

    Raises:
        OSError: The file cannot be opened; `guarded` makes a sentence of it.
    """
    stream: gzip.GzipFile | io.BufferedReader
    stream = gzip.GzipFile(path) if path.suffix.lower() == ".gz" else path.open("rb")
    _OPENED.add(stream)
    return stream


_OPENED: WeakSet[gzip.GzipFile | io.BufferedReader] = WeakSet()
"""What is open, for `ReadSoFar`."""


class ReadSoFar:
    """How much of some files has been read, in bytes as they are on disk.

    Args:
        paths: Files, and folders of files; where one is a pipe, nothing is known.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        files = [file for path in paths for file in (path.iterdir() if path.is_dir() else (path,))]
        self._total = sum(file.stat().st_size for file in files if file.is_file())
        self._read = dict.fromkeys(files, 0) if all(file.is_file() for file in files) else {}

    def share(self) -> float | None:
        """The share that has been read, 0 to 1; None where it is not known."""
        for stream in list(_OPENED):
            path = Path(stream.name)
            packed: Any = stream.fileobj if isinstance(stream, gzip.GzipFile) else stream
            if path in self._read and packed is not None and not packed.closed:
                self._read[path] = max(self._read[path], packed.tell())
        return sum(self._read.values()) / self._total if self._read and self._total else None


def stamp(path: Path) -> Stamp:
    """What tells whether a file was changed.

    Raises:
        OSError: The file is not there.
    """
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_unchanged(stamps: Iterable[tuple[Path, Stamp]]) -> None:
    """Make sure that files are as they were when reading began.

    Raises:
        SourceError: One of them has changed, or is no longer there.
    """
    for path, before in stamps:
        try:
            now: Stamp | None = stamp(path)
        except OSError:
            now = None
        if now != before:
            raise SourceError(
                path,
                "this file was changed while it was read, so that what was read may be neither "
                "the old nor the new content; load it again when nothing writes it any more",
            )


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Makes sentences of the faults of a file itself.

    Raises:
        SourceError: The file cannot be opened or read, is damaged gzip, or is no text
            in its encoding where the format cannot go on after that.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        name = "UTF-8" if error.encoding.startswith("utf-8") else error.encoding
        reason = (
            f"this is not {name} text ({error.reason}); save it as UTF-8, or name the encoding "
            "with --encoding"
        )
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
