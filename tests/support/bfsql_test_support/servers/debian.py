"""Debian packages unpacked into the tests' cache: their programs, with no service installed."""

import os
import shutil
from pathlib import Path

from bfsql_test_support.commands import Ran, run
from bfsql_test_support.servers.unavailable import Unavailable

FETCHING = 300
"""Longest time in seconds for one apt command; a few are usual."""


def unpack(folder: Path, *packages: str, otherwise: str = "install them") -> None:
    """Download packages and unpack them side by side into a folder.

    If only root could update package lists, missing or old ones are fetched first.

    Args:
        folder: The destination, which becomes the root of their content.
        *packages: Their names, including the dependencies that the machine lacks.
        otherwise: Advice if they cannot be downloaded.
    """
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        raise Unavailable(f"there is no apt here to fetch {', '.join(packages)}; {otherwise}")
    # As root, apt would download as its own user, who may not be able to enter the cache.
    download = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *packages]
    said = _run(download, folder)
    if said.returncode and hasattr(os, "geteuid") and os.geteuid() == 0:
        _run(["apt-get", "-qq", "update"], folder)
        said = _run(download, folder)
    if said.returncode:
        raise Unavailable(
            f"apt-get could not download {', '.join(packages)} ({said.stderr.strip()[-300:]}); "
            f"apt-get update as root may help, or {otherwise}"
        )
    for package in folder.glob("*.deb"):
        _run(["dpkg", "-x", package.name, "."], folder).check_returncode()
        package.unlink()


def libraries(folder: Path) -> str:
    """The folders of shared libraries below a folder, as LD_LIBRARY_PATH names them."""
    return os.pathsep.join(sorted({str(file.parent) for file in folder.glob("**/*.so.*")}))


def _run(command: list[str], folder: Path) -> Ran:
    return run(*command, timeout=FETCHING, cwd=folder, env={**os.environ, "LC_ALL": "C"})
