"""The temporary folder of a load, and the removal of folders that killed loads have left.

A load locks a file in its folder. The system releases the lock when the process ends, for whatever
reason. So a folder whose lock is free does not belong to a running load, and the next load removes
it. A folder with a given name also serves as a lock between loads, and `bfsql install` uses one as
a lock between processes that change the same file.
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

LOADS = ".bfsql-load."  # the beginning of the name of the folder of a load into a file
LOCK = "lock"
"""The file in a folder that its owner locks."""
PATIENCE = 0.5
"""Seconds for which a locked folder is retried: creating or checking one takes less."""


@contextmanager
def working_folder(
    parent: Path, prefix: str, name: str, patience: float = PATIENCE
) -> Iterator[Path]:
    """An empty folder that belongs only to this load; it is removed at the end.

    Folders in the same place with the same prefix that do not belong to a running load are removed
    first.

    Args:
        parent: Where it is created.
        prefix: How the names of all such folders begin.
        name: The rest of its name.
        patience: Seconds to wait for a folder that belongs to a running load.

    Raises:
        BlockingIOError: The folder belongs to a load that is still running then.
        OSError: It cannot be created.
    """
    folder = parent / f"{prefix}{name}"
    for other in parent.glob(f"{prefix}*"):
        if other != folder:
            _remove_abandoned(other)
    lock = _own(folder, patience)
    try:
        _clear(folder)
        yield folder
    finally:
        _give_back(folder, lock)


def _own(folder: Path, patience: float) -> int:
    """Create the folder, or take over an abandoned one, and lock it."""
    end = time.monotonic() + patience
    while True:
        made = _make(folder)
        with suppress(FileNotFoundError):  # another process removed it meanwhile: create it again
            if not made:
                _check_owner(folder)
            try:
                return _lock(folder / LOCK, os.O_CREAT)
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)


def _make(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _check_owner(folder: Path) -> None:
    """Make sure that no other user can have put files into a folder that existed before."""
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
        BlockingIOError: Another process has locked it.
        FileNotFoundError: It does not exist, or no longer.
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
            folder.rmdir()  # only if empty: files without a lock are unknown here
        else:
            _give_back(folder, lock)


def _clear(folder: Path) -> None:
    for file in folder.iterdir():
        if file.is_dir() and not file.is_symlink():
            shutil.rmtree(file)
        elif file.name != LOCK:
            file.unlink()


def _give_back(folder: Path, lock: int) -> None:
    """Remove the folder and its content; the lock last, since another load may wait for it."""
    with suppress(OSError):
        _clear(folder)
    if sys.platform == "win32":  # systems on which an open file cannot be removed
        os.close(lock)
        lock = -1
    with suppress(OSError):
        (folder / LOCK).unlink()
    if lock >= 0:
        os.close(lock)
    with suppress(OSError):
        folder.rmdir()
