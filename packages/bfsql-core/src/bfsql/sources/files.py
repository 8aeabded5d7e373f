"""Opening graph files, compressed or not, copies of pipes, and messages for their faults."""

from __future__ import annotations

import gzip
import importlib
import importlib.util
import io
import os
import shutil
import stat
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from weakref import WeakSet

from bfsql.errors import SourceError, system_reason

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
        paths: Files, and folders of files; if one is a pipe, the share is unknown.
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
            not text in its encoding and the format cannot continue after that.
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
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
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


# --- pipes: their content is copied, since it is read twice ---


STANDARD_INPUT = Path("-")
"""The path that means standard input."""
_GB = 1 << 30
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


def name_of(path: Path) -> str:
    """The name of a path in messages."""
    return "standard input" if path == STANDARD_INPUT else str(path)


def is_pipe(path: Path) -> bool:
    """Whether a path is standard input, or can be read only once, as a FIFO can."""
    if path == STANDARD_INPUT:
        return True
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


class Copy:
    """A temporary file with the whole content of a pipe; removed together with this object.

    Args:
        pipe: The pipe to copy.

    Raises:
        SourceError: The pipe was empty, it cannot be read, or there is no room for the copy.
    """

    def __init__(self, pipe: Path) -> None:
        folder = Path(tempfile.mkdtemp(prefix="bfsql-"))
        self.close = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        """Removes the file."""
        self.path = folder / "input"
        try:
            with _opened(pipe) as stream, self.path.open("wb") as copy:
                _check_device(pipe, stream)
                _copy(pipe, stream, copy, folder.parent)
            with self.path.open("rb") as copy:
                head = copy.read(len(_ZSTD))
        except (OSError, SourceError) as error:
            self.close()
            if isinstance(error, SourceError):
                raise
            reason = f"cannot be copied to {folder.parent}: {system_reason(error)}"
            raise SourceError(name_of(pipe), reason) from error
        if not head:
            reason = "it was empty; did the command that writes to it fail?"
            raise SourceError(name_of(pipe), reason)
        if head.startswith(_GZIP):
            self.path = self.path.rename(folder / "input.gz")
        elif head == _ZSTD:
            self.path = self.path.rename(folder / "input.zst")


def _opened(pipe: Path) -> AbstractContextManager[BinaryIO]:
    if pipe != STANDARD_INPUT:
        return pipe.open("rb")
    with suppress(AttributeError):
        return nullcontext(sys.stdin.buffer)  # remains open
    raise SourceError("standard input", "is closed; name a file instead")


def _check_device(pipe: Path, stream: BinaryIO) -> None:
    """Check that the stream can end: of the character devices, terminals and the null device can.

    Raises:
        SourceError: It is another character device, such as /dev/zero.
    """
    try:
        status = os.fstat(stream.fileno())
    except io.UnsupportedOperation:  # a stream in memory
        return
    if not stat.S_ISCHR(status.st_mode) or stream.isatty():
        return
    if status.st_rdev != Path(os.devnull).stat().st_rdev:
        reason = "this is a character device, which may never end; name a file or a pipe"
        raise SourceError(name_of(pipe), reason)


def _copy(pipe: Path, stream: BinaryIO, copy: BinaryIO, folder: Path) -> None:
    """Copy the stream, and stop when the disk fills up.

    Raises:
        SourceError: Less than a tenth of the disk, or less than 1 GB, is left.
    """
    size = 0
    while chunk := stream.read(1 << 20):
        copy.write(chunk)
        size += len(chunk)
        # Every 64 MB; a smaller copy is made on a full disk, too.
        if size % (1 << 26) < len(chunk):
            disk = shutil.disk_usage(folder)
            # A tenth of the disk is not filled with a copy.
            if disk.free < max(disk.total // 10, _GB):
                raise SourceError(
                    name_of(pipe),
                    f"was copied to {folder} until, after {size / _GB:.1f} GB, less than a tenth "
                    "of the disk or less than 1 GB was left, and the copy was removed; save the "
                    "data as a file and load that, or set TMPDIR to a folder with more space",
                )
