"""Types and layers of imports: checked among the tests, while others wait for servers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SUPPORT = "tests/support/bfsql_test_support"
PACKAGES = [str(found.relative_to(ROOT)) for found in sorted(ROOT.glob("packages/*/src"))]
TOOLS = ["noxfile.py", "docs/site/build.py", "benchmarks"]
TOOLS += [f"{SUPPORT}/{name}" for name in ("questions", "servers", "soak")]
EXAMPLES = sorted(ROOT.glob("examples/*/src"))


def run(command: list[str], **more: str) -> None:
    """Run a command of this environment in the project's folder; it has to find nothing."""
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run(
        [program, *command[1:]],
        cwd=ROOT,
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("targets", [PACKAGES, TOOLS], ids=["packages", "tools"])
def test_mypy_finds_nothing_in(targets: list[str]) -> None:
    run(["mypy", *targets])


@pytest.mark.parametrize("source", EXAMPLES, ids=lambda source: source.parent.name)
def test_mypy_finds_nothing_in_an_example_and_its_tests(source: Path) -> None:
    for folder in (source, source.with_name("tests")):
        run(["mypy", str(folder)], MYPYPATH=str(source))


def test_imports_follow_the_layers() -> None:
    run(["lint-imports", "--no-cache"])
