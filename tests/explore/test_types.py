"""The types that the page's modules state in their comments."""

from importlib.resources import files
from typing import Any

import pytest

OPTIONS = (
    *("--noEmit", "--allowJs", "--checkJs", "--strict"),
    *("--target", "es2022", "--module", "es2022", "--moduleResolution", "bundler"),
    *("--lib", "es2023,dom,dom.iterable"),
)


@pytest.mark.parametrize("folder", ["page", "card"])
def test_the_modules_have_no_type_errors(node_programs: Any, folder: str) -> None:
    main = files("bfsql.explore") / folder / "main.js"
    checked = node_programs.run("typescript/bin/tsc", *OPTIONS, str(main))
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
