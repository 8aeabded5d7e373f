"""The account for servers that refuse to run as root."""

import os
import shutil
from pathlib import Path
from typing import Any

from bfsql_test_support.commands import run
from bfsql_test_support.servers.unavailable import Unavailable

UNPRIVILEGED = "nobody"


def account() -> dict[str, Any]:
    """Arguments of `subprocess.Popen` that drop root privileges; none if there are none to drop."""
    if not _is_root():
        return {}
    import pwd

    user = pwd.getpwnam(UNPRIVILEGED)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def give(path: Path, mode: int) -> Path:
    """Hand a file or folder to that account, with the rights `mode`."""
    path.chmod(mode)
    if _is_root():
        shutil.chown(path, UNPRIVILEGED)
    return path


def can_run(program: Path) -> bool:
    """Whether that account can reach a program, and the program prints its version."""
    try:
        return run(program, "--version", **{"cwd": "/", **account()}).returncode == 0
    except OSError:
        return False


def require_reachable(folder: Path) -> None:
    """Raise `Unavailable` if that account cannot enter a folder.

    The folders of pytest's `tmp_path` are closed to all accounts but their owner's.
    """
    if run("test", "-x", folder, **{"cwd": "/", **account()}).returncode:
        raise Unavailable(
            f"{UNPRIVILEGED} cannot enter {folder}, and the server must not run as root: "
            "give a folder whose parents have mode 755"
        )


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
