"""Types and layers of imports: checked among the tests, while others wait for servers."""

import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from itertools import takewhile
from pathlib import Path

import grimp

from bfsql_test_support.commands import output

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
PACKAGES = [path.parent.name for path in ROOT.glob("packages/*/src/*/__init__.py")]


def run(command: list[str], **more: str) -> None:
    """Run a command of this environment in the project's folder; it has to find nothing."""
    program = Path(sys.executable).with_name(command[0])
    output(program, *command[1:], cwd=ROOT, env=os.environ | more, timeout=900)


def test_mypy_finds_nothing_in_the_project_or_a_new_backend(tmp_path: Path) -> None:
    run(["bfsql", "new-backend", "corner_shop", "--loads", "--path", str(tmp_path)])
    run(["bfsql", "new-backend", "news_stand", "--reads", "--path", str(tmp_path)])
    new = (tmp_path / f"bfsql-{name}" / "src" for name in ("corner-shop", "news-stand"))
    run(["mypy", *map(str, [*CHECKED, *new])], MYPYPATH=os.pathsep.join(map(str, SOURCES)))


def test_imports_follow_the_layers() -> None:
    run(["lint-imports", "--no-cache"])


def test_no_module_and_no_folder_is_in_a_circle_of_imports() -> None:
    """All imports count: those at the top, those in functions, and those for types alone."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    imports = [(a, b) for a in graph.modules for b in graph.find_modules_directly_imported_by(a)]
    assert len(imports) > 2_000
    between = defaultdict(set)  # of each folder, which of its modules and folders import which
    for names in ([name.split(".") for name in pair] for pair in imports):
        same = [*takewhile(lambda name: name[0] == name[1], zip(*names, strict=False))]
        one, other = (".".join(name[: len(same) + 1]) for name in names)
        between[one.rpartition(".")[0]].add((one, other))
    assert [*filter(None, map(circle, [imports, *between.values()]))] == []


def circle(imports: Iterable[tuple[str, str]]) -> str:
    """A circle, if there is one: each module imports the next."""
    sorter = TopologicalSorter()
    for one, other in imports:
        sorter.add(one, other)
    try:
        sorter.prepare()
    except CycleError as error:
        return " -> ".join(reversed(error.args[1]))
    return ""
