"""The cache for files that tests fetch only once."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path


def cache_folder() -> Path:
    """The folder BFSQL_CACHE, or one for the tests in the user's cache folder."""
    if named := os.environ.get("BFSQL_CACHE"):
        return Path(named)
    user: dict[str, Path] = {
        "win32": Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local")),
        "darwin": Path.home() / "Library" / "Caches",
    }
    others = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return user.get(sys.platform, others) / "bfsql-tests"


def fetched(name: str, fetch: Callable[[Path], None]) -> Path:
    """The folder of that name in the cache, filled by `fetch` if it is missing.

    It is filled beside its place and then renamed, so it is never incomplete. If two sessions
    fetch at the same time, the result of the first is used.
    """
    folder = cache_folder() / name
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        fetch(made)
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    return folder
