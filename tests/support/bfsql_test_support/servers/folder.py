"""A temporary folder for a server that runs under another account."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def folder() -> Iterator[Path]:
    """A temporary folder that other accounts can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="bfsql-server-") as made:
        Path(made).chmod(0o755)
        yield Path(made)
