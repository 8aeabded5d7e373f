"""The examples as users install them: from wheels, together with core's wheel."""

import json
import shutil
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from bfsql_test_support.depth import KIT_OF_EXAMPLES
from bfsql_test_support.environments import Environment

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml"))
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)


HOOKS = ("bfsql-audit", "bfsql-policy")
Fresh = Callable[..., Environment]


@pytest.fixture(scope="module")
def fresh(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Fresh:
    """Makes environments with core, sqlite, the kit and further distributions, all from wheels.

    A path file adds the dependencies from the tests' environment, so that nothing is downloaded,
    but not its editable installs.
    """
    made: dict[tuple[str, ...], Environment] = {}

    def environment(*distributions: str) -> Environment:
        if distributions not in made:
            here = Environment(tmp_path_factory.mktemp("fresh"), wheels)
            venv.create(here.folder, with_pip=False)
            here.install_alone("bfsql-core", "bfsql-sqlite", "bfsql-testing", *distributions)
            scheme = {"base": str(here.folder), "platbase": str(here.folder)}
            path_file = Path(sysconfig.get_path("purelib", "venv", scheme)) / "borrowed.pth"
            path_file.write_text(sysconfig.get_path("purelib"), encoding="utf-8")
            made[distributions] = here
        return made[distributions]

    return environment


@each_example
def test_an_example_passes_its_own_tests_where_it_is_installed_from_its_wheel(
    example: Path, fresh: Fresh, tmp_path: Path
) -> None:
    copy = shutil.copytree(example / "tests", tmp_path / "tests")
    for beside in example.glob("*.json"):
        shutil.copy(beside, tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), *KIT_OF_EXAMPLES]
    told = fresh(example.name).says("python", "-m", "pytest", *options, str(copy), cwd=tmp_path)
    assert " passed" in told


@each_example
def test_core_lists_an_example_that_is_installed(
    example: Path, fresh: Fresh, tmp_path: Path
) -> None:
    here = fresh(example.name)
    told = here.says("bfsql", "backends", "--json", cwd=tmp_path)
    listed = {line["distribution"]: line for line in json.loads(told)}
    assert listed[example.name]["state"] == "ok"
    assert listed["bfsql-sqlite"]["state"] == "ok"
    where = here.says("python", "-c", "import bfsql; print(bfsql.__file__)", cwd=tmp_path)
    assert Path(where).is_relative_to(here.folder)


async def test_both_hook_plugins_have_their_say_in_one_server(
    fresh: Fresh, films_db: Path, tmp_path: Path
) -> None:
    here, log = fresh(*HOOKS), tmp_path / "audit.jsonl"
    said = here.variables(
        BFSQL_AUDIT_FILE=str(log),
        BFSQL_POLICY_REFUSE="intersect_subgraphs",
        BFSQL_POLICY_REDACT="name",
    )
    server = StdioServerParameters(
        command=str(here.programs / "bfsql"), args=["serve", "--path", str(films_db)], env=said
    )
    async with Client(server) as client:
        refused = await client.call_tool("intersect_subgraphs", {"seeds": ["a", "b"], "k": 1})
        found = await client.call_tool("search_entities", {"query": "Tom Hanks"})
    assert refused.is_error
    assert "does not allow intersect_subgraphs" in str(refused.content)
    assert "Tom Hanks" not in str(found.content)
    lines = [json.loads(line) for line in log.read_text(encoding="ascii").splitlines()]
    assert [line["outcome"] for line in lines] == ["refused", "ok"]
    assert "intersect_subgraphs" in here.says("bfsql", "audit", str(log), cwd=tmp_path)


def test_the_help_of_core_shows_the_commands_of_hook_plugins(fresh: Fresh, tmp_path: Path) -> None:
    told = fresh(*HOOKS).says("bfsql", "--help", cwd=tmp_path)
    assert "Sum up the tool calls." in told.partition("Commands of hook plugins:")[2]
    wrong = fresh(*HOOKS).run("bfsql", "audt", cwd=tmp_path)
    assert "Did you mean audit?" in wrong.stderr
