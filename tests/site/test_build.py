"""What `nox -s docs` refuses to build."""

from collections.abc import Callable
from pathlib import Path


def test_links_that_lead_nowhere_are_errors_that_name_them(
    build: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    readme, contents = "[a](docs/nowhere.md), [b](docs/README.md#nowhere)", "- [c](../LOST.md)"
    (tmp_path / "README.md").write_text(f"# A\n\n{readme}\n", encoding="utf-8")
    (tmp_path / "docs/README.md").write_text(f"# B\n\n## C\n\n{contents}\n", encoding="utf-8")
    said = "\n".join(build(tmp_path, tmp_path / "site", {}))
    assert all(error in said for error in ("docs/nowhere.md", "#nowhere", "LOST.md")), said


def test_a_picture_that_is_not_there_and_a_page_that_the_contents_lack_are_errors(
    build: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# A\n\n<img src='nowhere.webp'>\n", encoding="utf-8")
    for page in ("docs/README.md", "docs/new.md"):
        (tmp_path / page).write_text("# A\n", encoding="utf-8")
    errors = build(tmp_path, tmp_path / "site", {})
    assert errors == [
        "docs/new.md is not in docs/README.md: add a line to it",
        "index.html: there is no nowhere.webp",
    ]
