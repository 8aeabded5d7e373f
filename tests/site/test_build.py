"""What `nox -s docs` refuses to build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("readme", "contents", "errors"),
    [
        ("[a](docs/nowhere.md)", "", ["docs/nowhere.md"]),
        ("[a](docs/README.md#nowhere)", "", ["#nowhere"]),
        ("<img src='nowhere.webp'>", "", ["index.html: there is no nowhere.webp"]),
        ("", "- [a](../LOST.md)", ["LOST.md"]),
    ],
    ids=["page", "heading", "picture", "contents"],
)
def test_a_link_that_leads_nowhere_is_an_error_that_names_it(
    build: Callable[..., list[str]], tmp_path: Path, readme: str, contents: str, errors: list[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(f"# A\n\n{readme}\n", encoding="utf-8")
    (tmp_path / "docs/README.md").write_text(f"# B\n\n## C\n\n{contents}\n", encoding="utf-8")
    said = "\n".join(build(tmp_path, tmp_path / "site", {}))
    assert all(error in said for error in errors), said


def test_a_page_that_the_contents_lack_is_an_error(
    build: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    for page in ("README.md", "docs/README.md", "docs/new.md"):
        (tmp_path / page).write_text("# A\n", encoding="utf-8")
    assert build(tmp_path, tmp_path / "site", {}) == [
        "docs/new.md is not in docs/README.md: add a line to it"
    ]
