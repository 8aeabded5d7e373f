"""The command line in a thread of this process, beside a running event loop.

`bfsql load` has to run in the main thread, because it handles signals.
"""

import asyncio

from click.testing import CliRunner

from bfsql.cli import bfsql


async def refused(
    backend: str, command: str, *arguments: str, secret: str, code: int = 2, **env: str
) -> str:
    """Run a command that fails; return the one line that it prints, on standard error.

    Args:
        secret: Text that must not appear in the line.
        **env: Environment variables in addition to those of this process.
    """
    options = (command, "--backend", backend, *arguments)
    done = await asyncio.to_thread(CliRunner().invoke, bfsql, options, prog_name="bfsql", env=env)
    text: str = done.stderr
    assert (done.exit_code, done.stdout) == (code, ""), text
    assert "Traceback" not in text
    assert secret not in text
    assert len(text.splitlines()) == 1, text
    return text
