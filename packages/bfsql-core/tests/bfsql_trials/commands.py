"""The command line as a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys


async def refused(
    backend: str, command: str, *arguments: str, secret: str, code: int = 2, **env: str
) -> str:
    """The line on standard error of a command that fails and says nothing else.

    Args:
        backend: Its `--backend`.
        command: Its name.
        *arguments: Further ones.
        secret: What the line must not show.
        code: Its exit code.
        **env: Environment variables on top of this process's own.
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
