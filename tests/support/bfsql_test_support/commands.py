"""Commands that a test runs to their end."""

import subprocess
from pathlib import Path
from typing import Any

Ran = subprocess.CompletedProcess[str]


def run(*command: str | Path, timeout: float = 60, **more: Any) -> Ran:
    """Run a command without input; its output and its errors are kept, and it may fail."""
    streams = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run(list(map(str, command)), check=False, timeout=timeout, **streams | more)


def output(*command: str | Path, **more: Any) -> str:
    """What a command prints, which has to succeed."""
    ran = run(*command, **more)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout
