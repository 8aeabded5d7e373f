"""Every code block of the documentation is a file that runs, or the output of such a file.

A marker before a block says which; its path is relative to the page's folder.

    <!-- file: snippets/load.sh -->    the block is this file, verbatim
    <!-- file: snippets/a.py as b/c.py -->  the same, but the file is copied there instead of run
    <!-- output: snippets/load.sh -->  the block is its output; `...` stands for any text
    <!-- terminal: snippets/ask.sh -->  the same of a second run, on a terminal of 80 columns
    <!-- run: snippets/load.sh -->     no block follows: the file runs without being shown
    <!-- nox -->                       commands that call sessions of noxfile.py, one per line
    <!-- clone -->                     commands that install distributions of a clone, one per line
    <!-- server: postgres -->          the page uses a real server, one of `SERVERS`

The files of a page run in the order of the page, in one empty folder. Python and shell scripts run
unchanged (`pip` only checks that everything is installed). A real client lists the tools of a
server started by serve*.sh, and of the servers in a client's configuration. bfsql*.toml is read by
`bfsql config`; .sql, .cypher and .ru run on the page's server. Any other file is data and is
written to the folder.
"""

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from bfsql_test_support.commands import output
from bfsql_test_support.depth import KIT_OF_EXAMPLES, THOROUGH
from bfsql_test_support.environments import OFFLINE, Environment, created
from bfsql_test_support.servers.documentation import (
    Place,
    on_gremlin,
    on_neo4j,
    on_oxigraph,
    on_postgres,
)

ROOT = Path(__file__).parent.parent
PLACES = ("*.md", "docs/**/*.md", "examples/several-graphs/*.md")
PAGES = sorted(page for place in PLACES for page in ROOT.glob(place))
MARKED = re.compile(
    r"^<!-- (?P<kind>file|output|terminal|run|nox|clone)"
    r"(?:: (?P<path>\S+)(?: as (?P<place>\S+))?)? -->$"
    r"(?:\n+^```\w*\n(?P<block>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
SERVER = re.compile(r"^<!-- server: (\w+) -->$", re.MULTILINE)
SERVERS: dict[str, tuple[str, Any]] = {
    "postgres": ("postgres", on_postgres),
    "janusgraph": ("janusgraph", on_gremlin),
    "neo4j": ("neo4j_server", on_neo4j),
    "oxigraph": ("oxigraph", on_oxigraph),
}
SESSIONS = re.findall(r"^def (\w+)\(", (ROOT / "noxfile.py").read_text("utf-8"), re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
NOX = r"python3 -m venv \.venv && \.venv/bin/pip install -q nox uv && \.venv/bin/nox(?: -s (\w+))?"
FROM_CLONE = re.compile(r"\./(packages/bfsql-\w+)").findall
CLONE = (
    r"source \.venv/bin/activate|(?:python3 -m venv \.venv && \.venv/bin/)?pip install(?: -q)?"
    r'(?: \./packages/bfsql-\w+| "\./packages/bfsql-\w+\[[\w,-]+\]")+(?: && \.venv/bin/bfsql demo)?'
)
PLACE, ADDRESS = "/path/to", "http://127.0.0.1:8000/mcp"
WEB_API = ADDRESS.removesuffix("/mcp")
RUN = {".py": ("python", "-W", "error"), ".sh": ("bash", "-euo", "pipefail")}
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("BFSQL_")},
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    # The packages that a page installs are installed here; the dependencies of an extra may not be.
    **dict.fromkeys(("PIP_DRY_RUN", "PIP_NO_DEPS", "PIP_NO_INDEX"), "1"),
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "BFSQL_PORT": "0",
    "BROWSER": "true",  # the shell's command, so that no browser opens
    "BFSQL_LOG_LEVEL": "info",
    "PYTEST_ADDOPTS": shlex.join(KIT_OF_EXAMPLES),
}
NEWCOMERS = {
    "docs/tutorial/first-graph.md": ("bfsql-core", "bfsql-sqlite"),
    "docs/tutorial/write-a-backend.md": ("bfsql-core", "bfsql-testing"),
    "docs/how-to/load-other-formats.md": ("bfsql-core[rdf]", "bfsql-sqlite"),
    "docs/how-to/connect-an-assistant.md": ("bfsql-core", "bfsql-sqlite"),
    "docs/how-to/serve-neo4j.md": ("bfsql-core", "bfsql-neo4j"),
}  # fmt: skip
"""The paths of newcomers: tables, a store of their own, Turtle, a server for others, Neo4j.

In a thorough run, these pages run where only what they install is installed.
"""
ALONE = ("docs/tutorial/write-a-backend.md", "docs/how-to/load-other-formats.md")
"""Those that do so every day; in a fresh clone, `bfsql demo` starts what the first page does."""
RUNNING = [page for page in PAGES if MARKED.search(page.read_text("utf-8"))]
"""The pages with blocks; others are text."""


class Reading:
    """The state while a page runs: its folder, and the output of its files."""

    def __init__(
        self, folder: Path, stack: AsyncExitStack, environment: dict[str, str], server: Place
    ) -> None:
        self.folder, self.stack, self.server = folder, stack, server
        self.environment = environment | server.variables
        self.printed: dict[Path, str] = {}
        self.url = ""
        for name, text in server.files.items():
            (folder / name).write_text(text, encoding="utf-8")

    async def run(self, file: Path, text: str, place: str | None) -> None:
        match file.suffix:
            case _ if place:
                (self.folder / place).parent.mkdir(exist_ok=True)
                (self.folder / place).write_text(text, encoding="utf-8")
            case ".py" | ".sh" if not file.name.startswith("serve"):
                self.printed[file] = self.output(*RUN[file.suffix], *self.program(file, text))
            case ".sh" if re.search("--transport http|--rest|bfsql explore", text):
                self.url = self.stack.enter_context(served(text, self.folder, self.environment))
            case ".sh":
                await lists_six(self, {"command": "bash", "args": [str(file)]})
            case ".sql" | ".cypher" | ".ru":
                self.server.run(text)
            case ".json" if "mcpServers" in text:
                await self.connect(text)
            case _:
                (self.folder / file.name).write_text(text, encoding="utf-8")
                if file.match("bfsql*.toml"):
                    self.output("bfsql", "config", "--config", file.name)
                elif file.suffix == ".toml":
                    tomllib.loads(text)

    def program(self, file: Path, text: str) -> tuple[str, ...]:
        """Arguments that run the file, or its text with the actual URL of the server."""
        return ("-c", text.replace(WEB_API, self.url)) if WEB_API in text else (str(file),)

    async def connect(self, text: str) -> None:
        """Use a client's configuration, with actual values for its placeholders."""
        text = text.replace(PLACE, str(self.folder)).replace(ADDRESS, self.url)
        text = text.replace(*self.server.address)
        for entry in json.loads(text)["mcpServers"].values():
            await lists_six(self, entry)

    def on_terminal(self, file: Path) -> str:
        """What a script prints on a terminal without colours."""
        main, end = pty.openpty()
        own = self.environment | {"COLUMNS": "80", "TERM": "dumb"}
        command = ["bash", "-euo", "pipefail", str(file)]
        with subprocess.Popen(command, stdout=end, cwd=self.folder, env=own) as ran:
            os.close(end)
            printed = b""
            with suppress(OSError):  # raised at the end of what a terminal shows
                while chunk := os.read(main, 1 << 16):
                    printed += chunk
        os.close(main)
        assert ran.returncode == 0, printed
        return re.sub(" +$", "", printed.decode().replace("\r", ""), flags=re.MULTILINE)

    def output(self, *command: str) -> str:
        printed = output(*command, cwd=self.folder, env=self.environment, timeout=120)
        return re.sub(" +$", "", printed, flags=re.MULTILINE)  # as editors save pages


@contextmanager
def served(command: str, folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """The URL of an HTTP server, which is stopped at the end."""
    where: dict[str, Any] = {"cwd": folder, "env": environment, "text": True}
    shell = ["bash", "-c", f"exec {command}"]
    with subprocess.Popen(shell, stderr=subprocess.PIPE, **where) as server:
        try:
            said = (re.search(r"answers at (\S+)", line) for line in server.stderr or ())
            yield next(match[1] for match in said if match)
        finally:
            server.terminate()
    assert server.returncode == 0


async def lists_six(reading: Reading, entry: dict[str, Any]) -> None:
    """Use an entry of a client's configuration as a client would; expect six tools."""
    async with AsyncExitStack() as stack:
        if "url" in entry:
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=entry.get("headers")))
            client = Client(streamable_http_client(entry["url"], http_client=http))
        else:
            known = {
                **entry,
                "env": reading.environment | entry.get("env", {}),
                "cwd": reading.folder,
            }
            client = Client(StdioServerParameters(**known))
        assert len((await (await stack.enter_async_context(client)).list_tools()).tools) == 6


def marked(page: Path) -> list[tuple[str, Path, str | None, str | None]]:
    """The markers of a page: kind, file, destination, and the block that follows."""
    return [
        (m["kind"], (page.parent / (m["path"] or "")).resolve(), m["place"], m["block"])
        for m in MARKED.finditer(page.read_text("utf-8"))
    ]


@pytest.fixture(scope="session")
def newcomer(
    tmp_path_factory: pytest.TempPathFactory, wheels: Path
) -> Callable[[tuple[str, ...]], Environment]:
    """Makes an environment with some distributions, and with what builds wheels."""

    @cache
    def environment(distributions: tuple[str, ...]) -> Environment:
        folder = tmp_path_factory.mktemp("newcomer") / "venv"
        return created(folder, wheels, *distributions, "hatchling", "editables")

    return environment


@pytest.fixture
def environment(
    page: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """The environment variables of a page's commands, with an empty folder as home."""
    home = {"HOME": str(tmp_path_factory.mktemp("home"))}
    name = page.relative_to(ROOT).as_posix()
    if name not in (NEWCOMERS if THOROUGH else ALONE):
        path = f"{request.getfixturevalue('programs')}{os.pathsep}{ENVIRONMENT['PATH']}"
        return ENVIRONMENT | home | {"PATH": path}
    made: Environment = request.getfixturevalue("newcomer")(NEWCOMERS[name])
    inherited = ("BFSQL_PORT", "BROWSER", "BFSQL_LOG_LEVEL", "PYTEST_ADDOPTS")
    own = {key: ENVIRONMENT[key] for key in inherited}
    return made.variables(**OFFLINE, **own, **home)


def test_the_page_of_a_newcomer_names_the_distributions_that_its_test_installs() -> None:
    known = {path.name for path in ROOT.glob("packages/*")}
    for name, installed in NEWCOMERS.items():
        lines = re.findall(r"pip install (.+)$", (ROOT / name).read_text("utf-8"), re.MULTILINE)
        named = {one for line in lines for one in re.findall(r"bfsql-\w+", line) if one in known}
        assert named == {one.partition("[")[0] for one in installed}, name


def distributions() -> dict[str, set[str]]:
    """The extras of each distribution."""
    found = [
        tomllib.loads(one.read_text("utf-8")) for one in ROOT.glob("packages/*/pyproject.toml")
    ]
    return {
        one["project"]["name"]: {*one["project"].get("optional-dependencies", ())} for one in found
    }


def test_every_extra_that_a_page_or_a_message_names_exists() -> None:
    known = distributions()
    places = [*PAGES, *ROOT.glob("packages/*/README.md"), *ROOT.glob("packages/*/src/**/*.py")]
    for place in places:
        for name, extras in re.findall(r"\b(bfsql-\w+)\[([\w,-]+)\]", place.read_text("utf-8")):
            unknown = {*extras.split(",")} - known.get(name, {"test"})  # of a generated backend
            assert not unknown, (place, name, unknown)


def test_every_command_of_a_page_installs_distributions_of_the_clone_from_there() -> None:
    known = distributions()
    for page in [*PAGES, *ROOT.glob("packages/*/README.md")]:
        for command in re.findall(r"pip install((?:[ \n]+[^\s`&#]+)+)", page.read_text("utf-8")):
            named = re.findall(r"(?<![\w/.-])(bfsql-\w+)", command)
            later = command.split() == ["bfsql-core", "bfsql-neo4j"]  # once there is an index
            assert later or not known.keys() & {*named}, (page, command)


def test_the_image_has_every_backend_and_every_extra_but_the_one_that_its_page_excepts() -> None:
    image, known = (ROOT / "Dockerfile").read_text("utf-8"), distributions()
    named = re.findall(r"/src/(bfsql-\w+)(?:\[([\w,-]+)\])?", image)
    installed = {name: {*filter(None, extras.split(","))} for name, extras in named}
    backends = {name.removeprefix("bfsql-") for name in known}
    assert installed.keys() == known.keys() - {"bfsql-testing"}
    excepted = {"bfsql-core": {"sentence-transformers", *backends}, "bfsql-sparql": {"oxigraph"}}
    for name, extras in installed.items():
        assert extras == known[name] - excepted.get(name, set())
    assert "except `sentence-transformers`" in (ROOT / "docs/how-to/operate.md").read_text("utf-8")


@pytest.fixture
def server(page: Path, request: pytest.FixtureRequest) -> AbstractAsyncContextManager[Place]:
    """The part of a server of the session that the page uses, if any."""
    named = SERVER.search(page.read_text("utf-8"))
    if named is None:
        return nullcontext(Place())
    fixture, place = SERVERS[named[1]]
    made: AbstractAsyncContextManager[Place] = place(request.getfixturevalue(fixture))
    return made


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
async def test_every_block_of_a_page_is_a_file_that_runs_or_what_one_printed(
    page: Path,
    environment: dict[str, str],
    server: AbstractAsyncContextManager[Place],
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        reading = Reading(tmp_path, stack, environment, await stack.enter_async_context(server))
        for kind, file, place, block in marked(page):
            if kind in ("output", "terminal"):
                told = ".*?".join(map(re.escape, (block or "").split("...")))
                printed = reading.printed[file] if kind == "output" else reading.on_terminal(file)
                assert re.fullmatch(told, printed, re.DOTALL), f"{file} printed {printed}"
            elif kind == "nox":
                calls = [re.fullmatch(NOX, line) for line in (block or "").splitlines()]
                assert all(call and call[1] in (None, *SESSIONS) for call in calls), block
            elif kind == "clone":
                calls = [re.fullmatch(CLONE, line) for line in (block or "").splitlines()]
                assert all(calls), block
                named = {name for line in (block or "").splitlines() for name in FROM_CLONE(line)}
                assert all((ROOT / name / "pyproject.toml").exists() for name in named), block
            else:
                text = file.read_text("utf-8")
                assert block == (None if kind == "run" else text), f"{file} says otherwise"
                await reading.run(file, text, place)


def test_no_page_has_a_block_without_a_marker_or_a_link_that_leads_nowhere() -> None:
    for page in PAGES:
        text = page.read_text("utf-8")
        blocks = sum(block is not None for *_, block in marked(page))
        assert text.count("```") == 2 * blocks, page
        assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == [], (
            page
        )


def test_a_file_that_a_page_needs_is_on_it_or_on_a_page_that_it_links_to() -> None:
    for page in RUNNING:
        linked = [(page.parent / link).resolve() for link in LINK.findall(page.read_text("utf-8"))]
        near = [page, *(other for other in linked if other in PAGES)]
        shown = {file for other in near for kind, file, *_ in marked(other) if kind == "file"}
        needed = {file for kind, file, *_ in marked(page) if kind == "run" and file.suffix != ".py"}
        assert needed <= shown | set(linked), page


def test_every_snippet_is_on_a_page() -> None:
    named = {file for page in PAGES for _, file, *_ in marked(page)}
    assert {path for path in ROOT.glob("docs/*/snippets/*") if path.is_file()} <= named


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="This is not a clone.")
def test_the_line_of_the_readme_ends_with_an_answer_in_a_fresh_clone(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    [line] = re.findall(r"^python3 -m venv .*bfsql demo$", readme, re.MULTILINE)
    clone, home = tmp_path / "clone", tmp_path / "home"
    home.mkdir()
    output("git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", clone, timeout=300)
    own = {"HOME": str(home), "PATH": os.environ["PATH"]}
    own["PIP_NO_COMPILE"] = "false"  # pip reads it as "no": what runs is compiled as it runs
    own |= {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_"))}
    assert "Steven Spielberg 5" in output("bash", "-c", line, cwd=clone, env=own, timeout=600)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_readme_shows_a_short_animation_of_at_most_a_megabyte(scheme: str) -> None:
    name = f"docs/how-to/images/question-{scheme}.webp"
    content = (ROOT / name).read_bytes()
    assert name in (ROOT / "README.md").read_text("utf-8")
    assert len(content) <= 1_000_000
    assert content.count(b"ANMF") > 5  # the frames
