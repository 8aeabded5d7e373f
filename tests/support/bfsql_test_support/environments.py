"""Virtual environments outside the repository, filled from wheels as a user's would be."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bfsql_test_support.commands import Ran, output, run

QUIET = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_QUIET": "1"}
OFFLINE = {**QUIET, "PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false"}
"""Everything needed is already present; nothing is downloaded. (pip reads `false` as "no".)"""


@dataclass(frozen=True)
class Environment:
    """A virtual environment and ways to use it."""

    folder: Path
    wheels: Path
    """Where `pip` finds the wheels of this project."""

    @property
    def programs(self) -> Path:
        """The folder of its commands."""
        return self.folder / ("Scripts" if sys.platform == "win32" else "bin")

    def variables(self, **more: str) -> dict[str, str]:
        """The environment variables of a process in it, without those of BFS-QL or Python."""
        own = {k: v for k, v in os.environ.items() if not k.startswith(("BFSQL_", "PYTHON"))}
        path = f"{self.programs}{os.pathsep}{os.environ['PATH']}"
        return {**own, "PATH": path, "PIP_FIND_LINKS": str(self.wheels), **more}

    def run(self, program: str, *arguments: str, cwd: Path, **variables: str) -> Ran:
        """Run one of its commands in a folder, and wait for it to exit."""
        env = self.variables(**variables)
        return run(self.programs / program, *arguments, timeout=300, cwd=cwd, env=env)

    def says(self, program: str, *arguments: str, cwd: Path, **variables: Any) -> str:
        """The output of a command, which has to succeed."""
        env = self.variables(**variables)
        return output(self.programs / program, *arguments, timeout=300, cwd=cwd, env=env)

    def install(self, *wanted: str) -> None:
        """Install from the wheels; all other requirements have to be installed already."""
        self.says("python", "-m", "pip", "install", *wanted, cwd=self.folder, **OFFLINE)

    def install_alone(self, *wanted: str) -> None:
        """Install from the wheels without any requirements; the environment needs no pip."""
        where = ["--python", str(self.programs / "python"), "--find-links", str(self.wheels)]
        _uv("pip", "install", "--no-deps", "--no-cache", "--no-index", *where, *wanted)


def build(sources: Iterable[Path], wheels: Path) -> None:
    """Build a wheel for each distribution."""
    how = ("--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", str(wheels))
    for source in sources:
        _uv("build", *how, str(source))


def created(folder: Path, wheels: Path, *wanted: str) -> Environment:
    """A new environment with these distributions, their requirements from the index, and pip."""
    _uv("venv", "--seed", "--python", sys.executable, str(folder))
    made = Environment(folder, wheels)
    where = ["--python", str(made.programs / "python"), "--find-links", str(wheels)]
    # Their contents change while their versions stay the same, and uv caches what it unpacks.
    for wheel in wheels.glob("*.whl"):
        where += ["--refresh-package", wheel.name.partition("-")[0].replace("_", "-")]
    _uv("pip", "install", *where, *wanted)
    return made


def _uv(*arguments: str) -> None:
    """Run uv, which links cached packages: it takes seconds where pip takes a minute."""
    command = [sys.executable, "-m", "uv", "--quiet", "--no-progress", *arguments]
    variables = {"UV_SYSTEM_CERTS": "1", **os.environ}  # as in pip
    output(*command, timeout=600, env=variables)
