"""The command line in a separate process."""

from __future__ import annotations

import asyncio
import os
import sys


async def refused(
    backend: str, command: str, *arguments: str, secret: str, code: int = 2, **env: str
) -> str:
    """Run a command that fails; return the one line that it prints, on standard error.

    Args:
        backend: Value of `--backend`.
        command: Name of the command.
        *arguments: Further arguments.
        secret: Text that must not appear in the line.
        code: Expected exit code.
        **env: Environment variables in addition to those of this process.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bfsql", command, "--backend", backend, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, **env},
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    text = err.decode()
    assert (process.returncode, out) == (code, b""), text
    assert "Traceback" not in text
    assert secret not in text
    assert len(text.splitlines()) == 1, text
    return text
