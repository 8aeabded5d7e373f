"""Opening graph files, compressed or not, and messages for their faults."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import io
import os
import re
import stat
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

from bfsql.errors import SourceError, system_reason
from bfsql.models.json_values import is_text

_T = TypeVar("_T")

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
"""The module that decompresses `.zst`."""

PACKED = frozenset({".gz", ".zst"})
"""Endings of compressed files."""

SPECIAL_FILES = {
    stat.S_IFCHR: "character device",
    stat.S_IFBLK: "block device",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
}
"""Names of the kinds of files that are neither regular files nor folders, by `stat.S_IFMT`."""

Stamp = tuple[int, int, int]
"""Device-independent identity of a file's content: inode, size, time of the last change."""


def open_bytes(path: Path) -> gzip.GzipFile | io.BufferedReader:
    """The bytes of a file, decompressed if its name ends in `.gz` or `.zst`.

    Raises:
        SourceError: The library for decompression is not installed.
        OSError: The file cannot be opened; `guarded` turns this into a message.
    """
    suffix = path.suffix.lower()
    if suffix == ".gz":
        packed = gzip.GzipFile(path)
        _OPENED.add(packed.fileobj)
        return packed
    if suffix == ".zst":  # before the file is open
        check_library(path, "Zstandard data", ZSTD, "zst")
    file = path.open("rb")
    _OPENED.add(file)
    if suffix == ".zst":
        return io.BufferedReader(ChunkStream(_unpacked(file), file), 1 << 17)
    return file


def _unpacked(file: io.BufferedReader) -> Iterator[bytes]:
    """The decompressed bytes of a Zstandard file."""
    zstd = importlib.import_module(ZSTD)
    try:
        yield from iter(partial(zstd.ZstdFile(file).read, 1 << 17), b"")
    except zstd.ZstdError as error:
        raise zlib.error(str(error)) from error


class ChunkStream(io.RawIOBase):
    """The bytes of some chunks; `source` is closed with it."""

    def __init__(self, chunks: Iterator[bytes], source: io.BufferedIOBase) -> None:
        self._chunks = chunks
        self._source = source
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """As of any stream."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a part of the buffer; return its size."""
        while not self._ready:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._ready = memoryview(chunk)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        """Close both streams."""
        self._source.close()
        super().close()


_OPENED: WeakSet[Any] = WeakSet()
"""The open files as they are on disk, for `ReadSoFar`."""


class ReadSoFar:
    """How much of some files has been read, in bytes as they are on disk.

    Args:
        paths: Files, and folders of files.
    """

    def __init__(self, paths: Iterable[Path]) -> None:
        files = [file for path in paths for file in (path.iterdir() if path.is_dir() else (path,))]
        self._total = sum(file.stat().st_size for file in files if file.is_file())
        self._read = dict.fromkeys(files, 0) if all(file.is_file() for file in files) else {}

    def share(self) -> float | None:
        """The share that has been read, 0 to 1; None if it is not known."""
        for file in list(_OPENED):
            path = Path(file.name)
            if path in self._read and not file.closed:
                self._read[path] = max(self._read[path], file.tell())
        return sum(self._read.values()) / self._total if self._read and self._total else None


def stamp(path: Path) -> Stamp:
    """A stamp that shows whether a file was changed.

    Raises:
        OSError: The file does not exist.
    """
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def check_unchanged(stamps: Iterable[tuple[Path, Stamp]]) -> None:
    """Check that files have not changed since reading began.

    Raises:
        SourceError: A file has changed, or no longer exists.
    """
    for path, before in stamps:
        now: Stamp | None = None
        with suppress(OSError):
            now = stamp(path)
        if now != before:
            raise SourceError(
                path,
                "this file was changed while it was being read, so the result may mix old and "
                "new content; load it again when nothing writes to it",
            )


@contextmanager
def faults_of(path: Path) -> Iterator[None]:
    """Turn faults of a file itself into error messages.

    Raises:
        SourceError: The file cannot be opened or read, its compressed data is damaged, or it is
            not text in its encoding and the format cannot continue after that, or it is empty.
    """
    try:
        yield
    except UnicodeDecodeError as error:
        name = "UTF-8" if error.encoding.startswith("utf-8") else error.encoding
        reason = (
            f"this is not {name} text ({error.reason}); save it as UTF-8, or name its encoding "
            "with --encoding"
        )
        raise SourceError(path, reason) from error
    except (SourceError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        if os.path.isfile(path) and not path.stat().st_size:  # noqa: PTH113 - it raises nothing
            raise SourceError(path, "is empty; get the file again, or leave it out") from error
        if isinstance(error, SourceError):
            raise
        packed = "Zstandard file" if path.suffix.lower() == ".zst" else "gzip file"
        reason = f"this is not a {packed}, or it is damaged ({error}); get the file again"
        raise SourceError(path, reason) from error
    except OSError as error:
        raise SourceError(path, f"cannot be read: {system_reason(error)}") from error


def guarded(path: Path, stream: Iterator[_T]) -> Iterator[_T]:
    """The same stream, under `faults_of`."""
    with faults_of(path):
        yield from stream


def check_library(path: Path, what: str, module: str, extra: str) -> None:
    """Check that a library is installed, without importing it.

    Args:
        path: The file that needs it.
        what: What the library reads.
        module: The module to import.
        extra: The extra of bfsql-core that installs it.

    Raises:
        SourceError: The library is not installed; the message names the command that installs it.
    """
    try:
        is_there = importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # raised for the package that contains the module
        is_there = False
    if not is_there:
        raise SourceError(
            path,
            f"reading {what} needs a library that is not installed; install it with: "
            f'pip install "bfsql-core[{extra}]"',
        )


def sql_path(path: Path) -> str:
    """A path as a literal of DuckDB, for which some characters form patterns unless in brackets.

    Raises:
        SourceError: DuckDB takes no path that is not text.
    """
    text = str(path)
    if not is_text(text):
        raise SourceError(path, "its path contains bytes that are not text; rename it")
    return "'" + re.sub(r"[\[*?]", r"[\g<0>]", text).replace("'", "''") + "'"
