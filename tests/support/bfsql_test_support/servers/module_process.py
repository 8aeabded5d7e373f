"""A helper module in its own process, with pipes for its input and its output."""

import subprocess
import sys


def piped(module: str, *arguments: str) -> subprocess.Popen[str]:
    """Start the module; the caller kills its process, and then leaves its context."""
    return subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
