"""Standard input and pipes as files: their content is copied, since it is read twice."""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
import tempfile
import weakref
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO

from bfsql.errors import SourceError, system_reason
from bfsql.sources.registry import format_of, known_formats

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


def format_of_pipe(path: Path, named: str | None) -> str:
    """Like `format_of`; standard input has no name that could identify its format.

    Raises:
        SourceError: The format is unknown, or is a folder format.
    """
    if path != STANDARD_INPUT:
        return format_of(path, named)
    single = [name for name, known in known_formats().items() if not known.folder]
    if named in single:
        return named
    what = (
        "no format is named" if named is None else (f"the format {named!r} is not for single files")
    )
    raise SourceError(name_of(path), f"{what}; name one with --format: {', '.join(single)}")


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
        except OSError as error:
            self.close()
            raise SourceError(
                name_of(pipe), f"cannot be copied to {folder.parent}: {system_reason(error)}"
            ) from error
        except SourceError:
            self.close()
            raise
        if not head:
            raise SourceError(
                name_of(pipe), "it was empty; did the command that writes to it fail?"
            )
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
        raise SourceError(
            name_of(pipe), "this is a character device, which may never end; name a file or a pipe"
        )


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
