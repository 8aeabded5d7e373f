"""The table of defences in SECURITY.md names tests that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TESTS = re.findall(r"`([^`\s]+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text("utf-8"))


def test_each_row_of_the_table_names_a_test() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines() if "|" in line]
    assert len(rows) - 2 == len(TESTS) > 0


@pytest.mark.parametrize(("file", "name"), TESTS)
def test_a_test_that_is_named_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
