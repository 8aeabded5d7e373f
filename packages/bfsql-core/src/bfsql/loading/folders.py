"""The folder in which a load keeps its files, and what loads that were killed have left.

A load locks a file in its folder. The system gives the lock back when the process ends, however
that happens. So a folder whose lock is free belongs to no load any more, and the next one removes
it. A folder of a given name is at the same time the right to do what only one load may do at once.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EACCES
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = "lock"
"""The file in a folder that its owner has locked."""
PATIENCE = 0.5
"""Seconds for which a locked folder is tried: one that is made or looked through is so for less."""

_PAUSE = 0.02


@contextmanager
def working_folder(parent: Path, prefix: str, name: str) -> Iterator[Path]:
    """An empty folder that belongs to this load alone; it is removed at the end.

    Folders in the same place with the same prefix that belong to no load are removed first.

    Args:
        parent: Where it is made.
        prefix: How the names of all such folders begin.
        name: How its own name goes on.

    Raises:
        BlockingIOError: A load that is not over has the folder.
        OSError: It cannot be made.
    """
    folder = parent / f"{prefix}{name}"
    for other in parent.glob(f"{prefix}*"):
        if other != folder:
            _remove_abandoned(other)
    lock = _own(folder)
    try:
        _clear(folder)
        yield folder
    finally:
        _give_back(folder, lock)


def _own(folder: Path) -> int:
    """Make the folder, or take over one that was left, and lock it."""
    end = time.monotonic() + PATIENCE
    while True:
        made = _make(folder)
        with suppress(FileNotFoundError):  # somebody removed it meanwhile: make it again
            if not made:
                _check_owner(folder)
            try:
                return _lock(folder / LOCK, os.O_CREAT)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(_PAUSE)


def _make(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _check_owner(folder: Path) -> None:
    """Make sure that nobody else can have put something into a folder that was there before."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or (
        sys.platform != "win32" and status.st_uid != os.geteuid()
    ):
        raise PermissionError(
            EACCES, f"{folder} belongs to another user, whose load is still running or was killed"
        )


def _lock(path: Path, more_flags: int = 0) -> int:
    """Open a file and lock it.

    Raises:
        BlockingIOError: Somebody else has locked it.
        FileNotFoundError: It is not there, or not any more.
    """
    descriptor = os.open(path, os.O_RDWR | more_flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if sys.platform == "win32":
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except PermissionError as error:
                raise BlockingIOError(*error.args) from error
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _check_still_there(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_still_there(descriptor: int, path: Path) -> None:
    if not os.path.samestat(os.fstat(descriptor), path.stat()):
        raise FileNotFoundError(path)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder, unless a load or another user has it."""
    with suppress(OSError):
        _check_owner(folder)
        try:
            lock = _lock(folder / LOCK)
        except FileNotFoundError:
            folder.rmdir()  # an empty one: what has files and no lock is not known here
        else:
            _give_back(folder, lock)


def _clear(folder: Path) -> None:
    for file in folder.iterdir():
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        elif file.name != LOCK:
            file.unlink()


def _give_back(folder: Path, lock: int) -> None:
    """Remove the folder and what is in it; the lock last, since another load may wait for it."""
    with suppress(OSError):
        _clear(folder)
    if sys.platform == "win32":  # where a file that is open cannot be removed
        os.close(lock)
        lock = -1
    with suppress(OSError):
        (folder / LOCK).unlink()
    if lock >= 0:
        os.close(lock)
    with suppress(OSError):
        folder.rmdir()
