"""`bfsql new-backend` writes a distribution: it is built, installed, tested, served, checked."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from bfsql.cli import bfsql
from bfsql_test_support.commands import output
from bfsql_test_support.depth import THOROUGH
from bfsql_test_support.distributions import install
from bfsql_test_support.environments import OFFLINE, Environment

ROOT = Path(__file__).parent.parent
NAME, DISTRIBUTION = "corner_shop", "bfsql-corner-shop"
LISTS = tuple(
    f"nodes-{one}" for one in ("list", "conditions", "metadata", "columns", "bytes", "unlike")
)
"""The rules about lists of entities, which the scaffold does not have."""


@pytest.fixture(scope="module")
def written(outside: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The distribution written by the installed core."""
    parent = tmp_path_factory.mktemp("written")
    command = ("bfsql", "new-backend", NAME, "--loads", "--path", str(parent))
    told = outside.says(*command, cwd=parent)
    folder = parent / DISTRIBUTION
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert [Path(line) for line in told.splitlines()] == files
    return folder


@pytest.fixture(scope="module")
def shop(outside: Environment, written: Path) -> Environment:
    """The environment with the distribution, installed from its wheel."""
    pip = ("python", "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "dist", ".")
    outside.says(*pip, cwd=written, **OFFLINE)
    [wheel] = written.glob("dist/*.whl")
    outside.install(f"{wheel}[test]")
    return outside


def test_its_tests_pass_at_once(shop: Environment, written: Path) -> None:
    """Those of its own and a rule of each suite: the tutorial runs more, `check` all rules."""
    some = [] if THOROUGH else ["-k", "test_files or opt_out or replaces"]
    told = shop.says("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *some, cwd=written)
    assert " passed" in told


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), "."),
        ("ruff", "format", "--check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), "."),
    ],
    ids=["linter", "formatter"],
)
def test_it_passes_our_own(command: tuple[str, ...], written: Path) -> None:
    output(sys.executable, "-m", *command, cwd=written)


def test_without_a_loader_it_only_reads_and_its_tests_pass(
    outside: Environment, tmp_path: Path
) -> None:
    outside.says("bfsql", "new-backend", "news_stand", "--path", str(tmp_path), cwd=tmp_path)
    folder = tmp_path / "bfsql-news-stand"
    sources = (path.read_text("utf-8") for path in folder.rglob("*.py"))
    assert not [text for text in sources if "load_graph" in text or "LoadReport" in text]
    for command in (("check", "--no-cache"), ("format", "--check", "--no-cache")):
        config = ("--config", str(ROOT / "pyproject.toml"))
        test_it_passes_our_own(("ruff", *command, *config, "."), folder)
    source = {"PYTHONPATH": str(folder / "src")}
    pytest_ = ("python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert " passed" in outside.says(*pytest_, cwd=folder, **source)


def test_it_is_listed(shop: Environment, written: Path) -> None:
    listed = json.loads(shop.says("bfsql", "backends", "--json", cwd=written))
    states = {one["name"]: (one["distribution"], one["state"]) for one in listed}
    assert states[NAME] == (DISTRIBUTION, "ok")
    assert states["sqlite"] == ("bfsql-sqlite", "ok")


async def test_it_is_served_to_a_client(shop: Environment, written: Path) -> None:
    assert "MADE_OF" in await asked(shop, written, "--backend", NAME, "--path", "example.json")


def test_it_can_be_filled_and_asked(shop: Environment, written: Path, tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,type,name\ncup,Vessel,Cup\n", encoding="utf-8")
    backend = ("--backend", NAME, "--path", "made.json")
    shop.says("bfsql", "load", "nodes.csv", *backend, cwd=tmp_path)
    found = json.loads(shop.says("bfsql", "search-entities", "cup", *backend, cwd=tmp_path))
    assert [one["id"] for one in found] == ["cup"]


def test_it_passes_the_check(shop: Environment, written: Path) -> None:
    check = ("check", "--backend", NAME, "--path", "example.json", "--json")
    report = json.loads(shop.says("bfsql", *check, cwd=written))
    # The backend lacks these abilities, and its sample has no name to misspell.
    untried = ("columns-", "stream-", "outline-", "search-misspelt", *LISTS)
    for rule in report["rules"]:
        assert rule["outcome"] == ("untried" if rule["id"].startswith(untried) else "holds")


# --- beside broken neighbours ---------------------------------------------------

BROKEN = {
    "torn": "the module 'no_such_driver' is missing. Reinstall it with its dependencies: pip "
    "install --force-reinstall bfsql-torn",
    "stone": "is int 42, not a bfsql.plugins.BackendPlugin",
    "twin": "is claimed by bfsql-twin-one and bfsql-twin-two",
    "morrow": "implements contract 99, which is newer than the 1.3 of this bfsql-core. Upgrade "
    "core: pip install --upgrade bfsql-core",
}


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four names of plugins that cannot be used, installed as by an installer."""
    site = tmp_path_factory.mktemp("neighbours")
    (site / "torn_backend.py").write_text("import no_such_driver\n", encoding="utf-8")
    (site / "odd_backends.py").write_text(
        "from bfsql.plugins import BackendPlugin\n"
        "from bfsql.settings import BackendSettings\n"
        "async def opened(settings): ...\n"
        "stone = 42\n"
        "twin = BackendPlugin('a twin', BackendSettings, opened)\n"
        "morrow = BackendPlugin('to come', BackendSettings, opened, contract=99)\n",
        encoding="utf-8",
    )
    install(site, "bfsql-torn", torn="torn_backend:plugin")
    install(site, "bfsql-stone", stone="odd_backends:stone")
    install(site, "bfsql-twin-one", twin="odd_backends:twin")
    install(site, "bfsql-twin-two", twin="odd_backends:twin")
    install(site, "bfsql-morrow", morrow="odd_backends:morrow")
    return site


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_neighbour_says_its_sentence_when_it_is_asked_for(
    shop: Environment, written: Path, neighbours: Path, name: str
) -> None:
    command = ("serve", "--backend", name)
    done = shop.run("bfsql", *command, cwd=written, PYTHONPATH=str(neighbours))
    assert (done.returncode, done.stdout) == (2, "")
    assert BROKEN[name] in done.stderr
    assert "Traceback" not in done.stderr


async def test_broken_neighbours_are_listed_and_harm_no_other(
    shop: Environment, written: Path, neighbours: Path
) -> None:
    path = {"PYTHONPATH": str(neighbours)}
    listed = json.loads(shop.says("bfsql", "backends", "--json", cwd=written, **path))
    states = {one["name"]: one["state"] for one in listed}
    assert {name for name, state in states.items() if state == "ok"} >= {NAME, "sqlite"}
    assert [name for name, sentence in BROKEN.items() if sentence not in states[name]] == []
    served = ("--backend", NAME, "--path", "example.json")
    assert "MADE_OF" in await asked(shop, written, *served, **path)


async def asked(shop: Environment, folder: Path, *arguments: str, **variables: str) -> str:
    """The schema that a client reads from a server over stdio."""
    server = StdioServerParameters(
        command=str(shop.programs / "bfsql"),
        args=["serve", *arguments],
        env=shop.variables(**variables),
        cwd=folder,
    )
    async with Client(server) as client:
        assert len((await client.list_tools()).tools) == 6
        answer = (await client.call_tool("describe_schema", {})).content[0]
    assert isinstance(answer, TextContent)
    return answer.text


# --- names ----------------------------------------------------------------------


@pytest.fixture
def new(tmp_path: Path) -> Callable[..., Result]:
    """`bfsql new-backend` in this process, in an empty folder."""
    return lambda name: CliRunner().invoke(bfsql, ["new-backend", name, "--path", str(tmp_path)])


@pytest.mark.parametrize("name", ["My", "2go", "a-b", "a__b", "_a", "a_", "class", "", "../x", "é"])
def test_a_name_that_is_no_identifier_is_refused(
    name: str, new: Callable[..., Result], tmp_path: Path
) -> None:
    done = new(name)
    assert done.exit_code == 2
    assert f"{name!r} cannot be the name of a backend" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["core", "sqlite", "postgres"])
def test_a_name_of_the_project_is_refused(name: str, new: Callable[..., Result]) -> None:
    done = new(name)
    assert done.exit_code == 2
    assert f"belongs to bfsql-{name}" in done.stderr


def test_a_name_that_another_backend_has_is_refused(
    new: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "site", "toys-galore", toy="bfsql_test_support.backends.toy:plugin")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    done = new("toy")
    assert done.exit_code == 2
    assert "taken by the installed distribution toys-galore" in done.stderr


def test_nothing_is_overwritten(new: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "bfsql-shed").mkdir()
    done = new("shed")
    assert done.exit_code == 2
    assert "already exists and is not overwritten" in done.stderr
    assert list((tmp_path / "bfsql-shed").iterdir()) == []
