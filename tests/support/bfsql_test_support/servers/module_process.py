"""A module of this package in its own process, with pipes for its input and its output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def piped(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start the module; the caller kills its process, and then leaves its context.

    Args:
        module: Its name in this package.
        *arguments: Its arguments.
    """
    return subprocess.Popen(
        [sys.executable, "-m", f"bfsql_servers.{module}", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
