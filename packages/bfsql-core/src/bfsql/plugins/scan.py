"""Whether any installed distribution may declare entry points of a group, found by reading files.

`importlib.metadata` takes 50 ms of processor time to import and longer to read the metadata of a
large environment, which is half of the time of `bfsql --help`. This module does not import it.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder

HOOKS = "bfsql.hooks"
"""The entry point group of hook plugins."""


def may_declare(group: str) -> bool:
    """Whether a distribution on the search path may declare entry points of a group.

    Args:
        group: Name of the group, such as `bfsql.hooks`.

    Returns:
        False only if no distribution does; True also if the search path has an entry that only
        `importlib.metadata` can read, such as an archive.
    """
    if any(f is not PathFinder and hasattr(f, "find_distributions") for f in sys.meta_path):
        return True
    return any(_mentions(folder or ".", group.encode()) for folder in dict.fromkeys(sys.path))


def _mentions(folder: str, group: bytes) -> bool:
    """Whether the entry points of a distribution in a folder mention the group."""
    try:
        with os.scandir(folder) as entries:
            found = [e.path for e in entries if e.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return os.path.isfile(folder)  # noqa: PTH113 - pathlib is one of the imports to avoid
    for path in found:
        try:
            with open(f"{path}/entry_points.txt", "rb") as file:  # noqa: PTH123 - likewise
                if group in file.read():
                    return True
        except OSError:
            continue
    return False
