"""The source stays within its budgets, in `[tool.bfsql]` of pyproject.toml; growth is a decision.

`pytest tests/test_budgets.py -s` prints the tables.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CONFIGURATION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
BUDGETS: dict[str, Any] = CONFIGURATION["tool"]["bfsql"]
SOURCES = {
    path.relative_to(source).as_posix(): path
    for source in ROOT.glob("packages/*/src")
    for path in source.rglob("*.py")
}
# A name needs a noun that a stranger would search for; these say neither type nor content.
PARTICIPLES = re.compile(
    "_*(asked|begun|brought|drawn|found|gathered|given|held|kept|known|left|looked|made|meant"
    "|reached|said|seen|shown|taken|told|wanted|written)_*",
    re.IGNORECASE,
)


def show(title: str, table: str) -> None:
    print(f"\n{title}\n{table}")  # noqa: T201 - what -s is for


def number_of_lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax of each file of the source."""
    return {file: ast.parse(path.read_text("utf-8")) for file, path in sorted(SOURCES.items())}


def products_of(file: str) -> list[str]:
    """The products that a file counts to: those with the longest path that contains it."""
    matches: dict[str, list[str]] = defaultdict(list)
    for product, budget in BUDGETS["lines"]["products"].items():
        for path in budget["paths"]:
            if file == path or file.startswith(f"{path}/"):
                matches[path].append(product)
    return matches[max(matches, key=len)] if matches else []


def is_number(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
    return False


def constants(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name of each number, or arithmetic of numbers, assigned at module level."""
    for statement in module.body:
        match statement:
            case ast.Assign(targets=targets, value=value) if is_number(value):
                yield from ((statement.lineno, ast.unparse(target)) for target in targets)
            case ast.AnnAssign(target=target, value=value) if is_number(value):
                yield statement.lineno, ast.unparse(target)


def test_a_numeric_constant_is_a_number_that_a_module_gives_a_name():
    for text in ("A = 1", "A: float = -0.5", "A = B = 1 << 20"):
        assert [name for _, name in constants(ast.parse(text))] == re.findall("[AB]", text)
    for text in ("A = True", "A = '1'", "A = (1, 2)", "A: int", "def f(): A = 1"):
        assert [*constants(ast.parse(text))] == [], text


def test_each_product_is_within_its_lines_and_each_file_counts_to_one():
    lines, misplaced = dict.fromkeys(BUDGETS["lines"]["products"], 0), {}
    for file, path in SOURCES.items():
        products = products_of(file)
        if len(products) != 1:
            misplaced[file] = products
        for product in products:
            lines[product] += number_of_lines(path)
    budgets = {name: budget["most"] for name, budget in BUDGETS["lines"]["products"].items()}
    budgets["total"] = BUDGETS["lines"]["total"]
    lines["total"] = sum(map(number_of_lines, SOURCES.values()))
    table = "\n".join(f"{name:17}{lines[name]:7,} of {budgets[name]:7,}" for name in budgets)
    show("Lines of Python", table)
    assert not misplaced, "each file counts to one product: adapt the paths in pyproject.toml"
    over = {name: lines[name] for name in budgets if lines[name] > budgets[name]}
    assert not over, table


def test_the_page_and_the_card_are_within_their_lines_of_javascript():
    explore = ROOT / "packages/bfsql-core/src/bfsql/explore"
    files = [path for path in explore.rglob("*.js") if "vendor" not in path.parts]
    lines = sum(map(number_of_lines, files))
    show("Lines of JavaScript", f"{lines:,} of {BUDGETS['budget']['javascript']:,}")
    assert files
    assert lines <= BUDGETS["budget"]["javascript"]


def test_numeric_constants_are_within_their_number():
    names = [
        f"{file}:{line} {name}" for file, tree in trees().items() for line, name in constants(tree)
    ]
    most = BUDGETS["budget"]["numeric-constants"]
    table = "\n".join([*names, f"{len(names)} of {most}"])
    show("Numeric constants at module level", table)
    assert len(names) <= most, table


def test_no_definition_is_named_by_a_participle_alone():
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [
        f"{file}:{node.lineno} {node.name}"
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, definitions) and PARTICIPLES.fullmatch(node.name)
    ]
    assert not names
