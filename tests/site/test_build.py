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


def test_a_picture_that_is_not_there_and_a_page_that_its_contents_lack_are_errors(
    build: Callable[..., list[str]], tmp_path: Path
) -> None:
    (tmp_path / "docs/decisions").mkdir(parents=True)
    (tmp_path / "README.md").write_text("# A\n\n<img src='nowhere.webp'>\n", encoding="utf-8")
    for page, text in {
        "docs/README.md": "## B\n\n- [C](decisions/README.md)",
        "docs/new.md": "# A",
        "docs/decisions/README.md": "- [0001: D](0001-d.md)",
        "docs/decisions/0001-d.md": "# 0001: D",
        "docs/decisions/0002-e.md": "# 0002: E",
    }.items():
        (tmp_path / page).write_text(f"{text}\n", encoding="utf-8")
    errors = build(tmp_path, tmp_path / "site", {})
    assert errors == [
        "docs/decisions/0002-e.md is not in docs/decisions/README.md: add a line to it",
        "docs/new.md is not in docs/README.md: add a line to it",
        "index.html: there is no nowhere.webp",
    ]
