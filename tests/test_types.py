"""Types and layers of imports: checked among the tests, while others wait for servers."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUPPORT = "tests/support/bfsql_test_support"
SOURCES = sorted(ROOT.glob("packages/*/src")) + sorted(ROOT.glob("examples/*/src"))
CHECKED = [
    *SOURCES,
    *sorted(ROOT.glob("examples/*/tests")),
    *(ROOT / name for name in ("noxfile.py", "docs/site/build.py", "benchmarks")),
    *(ROOT / SUPPORT / name for name in ("questions", "servers", "soak")),
]
"""All that is checked; in one run of mypy, since each reads what is imported again."""


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


def test_mypy_finds_nothing_in_the_project_or_a_new_backend(tmp_path: Path) -> None:
    run(["bfsql", "new-backend", "corner_shop", "--loads", "--path", str(tmp_path)])
    run(["bfsql", "new-backend", "news_stand", "--reads", "--path", str(tmp_path)])
    new = (tmp_path / f"bfsql-{name}" / "src" for name in ("corner-shop", "news-stand"))
    run(["mypy", *map(str, [*CHECKED, *new])], MYPYPATH=os.pathsep.join(map(str, SOURCES)))


def test_imports_follow_the_layers() -> None:
    run(["lint-imports", "--no-cache"])
