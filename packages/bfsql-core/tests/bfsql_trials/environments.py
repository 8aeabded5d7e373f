"""Virtual environments outside the repository, filled from wheels as a user's would be."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1"}
OFFLINE = {**QUIET, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false"}
"""All that is needed is there already: nothing is fetched. (`false` is pip's word for no.)"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment and ways to use it."""

    folder: Path
    wheels: Path
    """Where `pip` finds the wheels of this project."""

    @property
    def programs(self) -> Path:
        """Where its commands are."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    def variables(self, **more: str) -> dict[str, str]:
        """The environment variables of a process in it; none that mean BFS-QL or Python."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("BFSQL_", "PYTHON"))}
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        return {**own, "PATH": path, "PIP_FIND_LINKS": str(self.wheels), **more}

    def run(
        self, program: str, *arguments: str, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its commands to the end, in a folder."""
        return subprocess.run(
            [str(self.programs / program), *arguments],
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
            stdin=subprocess.DEVNULL,
            cwd=cwd,
            env=self.variables(**variables),
        )

    def says(self, program: str, *arguments: str, cwd: Path, **variables: Any) -> str:
        """What a command prints that succeeds."""
        done = self.run(program, *arguments, cwd=cwd, **variables)
        assert done.returncode == 0, f"{program} {arguments}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def install(self, *wanted: str) -> None:
        """Install from the wheels; everything else has to be there."""
        self.says("python", "-m", "pip", "install", *wanted, cwd=self.folder, **OFFLINE)


def build(sources: Iterable[Path], wheels: Path) -> None:
    """Build a wheel of each distribution."""
    how = ("--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", str(wheels))
    for source in sources:
        _uv("build", *how, str(source))


def created(folder: Path, wheels: Path, *wanted: str) -> Environment:
    """A new environment with these distributions, what they need from the index, and pip."""
    _uv("venv", "--seed", "--python", sys.executable, str(folder))
    made = Environment(folder, wheels)
    where = ["--python", str(made.programs / "python"), "--find-links", str(wheels)]
    # Their versions stay the same while they change, and uv keeps what it has unpacked.
    for wheel in wheels.glob("*.whl"):
        where += ["--refresh-package", wheel.name.partition("-")[0].replace("_", "-")]
    _uv("pip", "install", *where, *wanted)
    return made


def _uv(*arguments: str) -> None:
    """Run uv, which links what it has fetched before: seconds where pip takes a minute."""
    command = [sys.executable, "-m", "uv", "--quiet", "--no-progress", *arguments]
    variables = {"UV_SYSTEM_CERTS": "1", **os.environ}  # as pip does
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=variables)
    assert done.returncode == 0, done.stderr
