"""The table of defences in SECURITY.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
TESTS = re.findall(r"`([^`\s]+\.py)::(\w+)`", SECURITY)


def test_each_row_of_the_table_names_a_test_that_exists() -> None:
    rows = [line for line in SECURITY.splitlines() if "|" in line]
    assert len(rows) - 2 == len(TESTS) > 0
    for file, name in TESTS:
        text = (ROOT / file).read_text("utf-8")
        assert re.search(rf"^(async )?def {name}\(", text, re.MULTILINE), f"{file}::{name}"
