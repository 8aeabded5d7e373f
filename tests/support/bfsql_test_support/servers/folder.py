"""A temporary folder for a server that runs under another account."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2**31
"""Bytes that must be free in `MEMORY`, far more than servers use: containers often have 64 MB."""


@contextmanager
def folder(*, in_memory: bool = False) -> Iterator[Path]:
    """A temporary folder that other accounts can enter, unlike those of pytest.

    Args:
        in_memory: Whether it may be in memory, if there is room: for small graphs that are written
            often, since each index of Neo4j waits for the disk dozens of times. Not for benchmarks.
    """
    where = MEMORY if in_memory and _has_room(MEMORY) else None
    with tempfile.TemporaryDirectory(prefix="bfsql-server-", dir=where) as made:
        Path(made).chmod(0o755)
        yield Path(made)


def _has_room(place: Path) -> bool:
    """Whether programs may run in a place, and write what servers of tests write."""
    if not place.is_dir() or shutil.disk_usage(place).free <= ROOM:
        return False
    return not os.statvfs(place).f_flag & os.ST_NOEXEC
