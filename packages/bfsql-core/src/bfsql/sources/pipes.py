"""Standard input and pipes as files: their content is copied, since it is read twice."""

from __future__ import annotations

import shutil
import stat
import sys
import tempfile
import weakref
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from bfsql.errors import SourceError, system_reason
from bfsql.sources.formats import FORMATS, FORMER_NAMES, format_of

STANDARD_INPUT = Path("-")
"""The path that means standard input."""
_CHUNK = 1 << 20
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
    named = FORMER_NAMES.get(named or "", named)
    single = [name for name, known in FORMATS.items() if known.suffixes]
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
            with self.path.open("wb") as copy:
                if pipe == STANDARD_INPUT:
                    shutil.copyfileobj(_standard_input(), copy, _CHUNK)
                else:
                    with pipe.open("rb") as stream:
                        shutil.copyfileobj(stream, copy, _CHUNK)
            with self.path.open("rb") as copy:
                head = copy.read(len(_ZSTD))
        except OSError as error:
            raise SourceError(
                name_of(pipe), f"cannot be copied to {folder.parent}: {system_reason(error)}"
            ) from error
        if not head:
            raise SourceError(
                name_of(pipe), "it was empty; did the command that writes to it fail?"
            )
        if head.startswith(_GZIP):
            self.path = self.path.rename(folder / "input.gz")
        elif head == _ZSTD:
            self.path = self.path.rename(folder / "input.zst")


def _standard_input() -> BinaryIO:
    with suppress(AttributeError):
        return sys.stdin.buffer
    raise SourceError("standard input", "is closed; name a file instead")
