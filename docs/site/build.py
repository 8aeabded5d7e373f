"""Makes the site of the documentation: `nox -s docs`, or `python docs/site/build.py FOLDER`.

The pages are copied with their folders, so that their links hold as they are. `docs/README.md` is
the table of contents, `docs/decisions/README.md` that of the decisions, and pages about the Python
API are generated from docstrings. Broken links and references are errors, and so is a page that its
table of contents lacks.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONTENTS = Path("docs", "README.md")
DECISIONS = Path("docs", "decisions", "README.md")
COPIED = ("*.md", "docs/**/*", "packages/*/README.md", "examples/*/README.md")
ENTRY = re.compile(r"^## (?P<section>.+)|^- \[(?P<title>[^]]+)\]\((?P<path>[^)]+)\)", re.MULTILINE)
GENERATED = {
    "Python": (
        "bfsql.graph.open_graph",
        "bfsql.graph.Graph",
        "bfsql.answers.write.Answer",
        "bfsql.call.Limits",
        "bfsql.errors.ToolError",
        "bfsql.server.mcp.create_server",
    ),
    "Backends": (
        "bfsql.abc.interface.GraphDbInterface",
        "bfsql.plugins.declaration.BackendPlugin",
        "bfsql.models.records",
        "bfsql.models.outline",
        "bfsql.call",
    ),
    "Settings": (
        "bfsql.settings.server.ServeSettings",
        "bfsql_sqlite.settings.SqliteSettings",
        "bfsql_postgres.settings.PostgresSettings",
        "bfsql_neo4j.settings.Neo4jSettings",
        "bfsql_gremlin.settings.GremlinSettings",
        "bfsql_sparql.settings.SparqlSettings",
        "bfsql_jsonld.settings.JsonLdSettings",
        "bfsql.embedding.settings.EmbeddingSettings",
    ),
}
"""Titles of generated pages, and what each documents."""

THEME = {
    "font": False,  # nothing is loaded from other machines
    "features": [
        "content.code.copy",
        "navigation.footer",
        "navigation.path",
        "navigation.top",
        "search.highlight",
        "toc.follow",
    ],
    "palette": [
        {
            "media": f"(prefers-color-scheme: {scheme})",
            "scheme": name,
            "toggle": {"icon": f"lucide/{icon}", "name": f"Switch to {other} mode"},
        }
        for scheme, name, icon, other in (
            ("light", "default", "sun", "dark"),
            ("dark", "slate", "moon", "light"),
        )
    ],
}
DOCSTRINGS = {
    "docstring_section_style": "list",
    "docstring_style": "google",
    "heading_level": 2,
    "members_order": "source",
    "merge_init_into_class": True,
    "separate_signature": True,
    "show_labels": False,
    "show_root_heading": True,
    "show_signature_annotations": True,
    "show_source": False,
}


def build(root: Path, site: Path, generated: Mapping[str, Iterable[str]] = GENERATED) -> list[str]:
    """Build the site of a repository in a folder, whose previous content is removed.

    Args:
        root: The repository.
        site: The folder.
        generated: Titles of generated pages, and the names that each documents.

    Returns:
        The errors, one text each.
    """
    shutil.rmtree(site, ignore_errors=True)
    with TemporaryDirectory(prefix="bfsql-site-") as staged:
        pages, configuration = Path(staged) / "pages", Path(staged) / "mkdocs.yml"
        for path in (one for pattern in COPIED for one in root.glob(pattern) if one.is_file()):
            copy = pages / path.relative_to(root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        shutil.copytree(HERE, pages / "docs" / "site", dirs_exist_ok=True)
        nav = navigation(pages / CONTENTS, pages)
        if generated:
            made = generate(pages / "docs" / "code", pages, generated)
            nav.append({"Generated from the code": made})
        configuration.write_text(json.dumps(settings(nav)), "utf-8")  # JSON is YAML
        command = [sys.executable, "-m", "zensical", "build", "--strict", "-f", str(configuration)]
        ran = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
        )
        if ran.returncode == 0:
            shutil.move(Path(staged) / "site", site)
        listed = {*paths(nav), *(path for *_, path in entries(pages / DECISIONS, pages))}
        missing = {page.relative_to(pages) for page in pages.rglob("*.md")} - {*map(Path, listed)}
    errors = [
        f"{page} is not in {DECISIONS if page.parent == DECISIONS.parent else CONTENTS}: "
        "add a line to it"
        for page in sorted(missing)
    ]
    if ran.returncode:
        report = re.sub(r"\x1b\[[0-9;]*m", "", ran.stdout + ran.stderr)
        return [*errors, report.partition("Traceback")[0]]
    return [*errors, *broken(site)]


def settings(nav: list[dict[str, Any]]) -> dict[str, Any]:
    """The configuration of Zensical, in the form of MkDocs."""
    python = {"paths": sorted(map(str, ROOT.glob("packages/*/src"))), "options": DOCSTRINGS}
    return {
        "site_name": "BFS-QL",
        "site_description": "Six tools with which a language model walks a knowledge graph",
        "docs_dir": "pages",
        "site_dir": "site",
        "use_directory_urls": False,  # raw HTML in the pages has relative paths of pictures
        "theme": {"name": "material", **THEME},
        "plugins": ["search", {"mkdocstrings": {"handlers": {"python": python}}}],
        "markdown_extensions": [
            "attr_list",
            "md_in_html",
            {"pymdownx.highlight": {"use_pygments": True}},  # without empty links to lines
            "pymdownx.superfences",
            "tables",
            {"toc": {"permalink": True}},
        ],
        "extra_css": ["docs/site/site.css"],
        "extra_javascript": ["docs/site/site.js"],
        "nav": nav,
    }


def entries(contents: Path, pages: Path) -> Iterator[tuple[str, str, str]]:
    """Section, title and path of each entry of a table of contents, if it exists."""
    section = ""
    for entry in ENTRY.finditer(contents.read_text("utf-8") if contents.exists() else ""):
        if entry["section"]:
            section = entry["section"]
        else:
            path = (contents.parent / entry["path"]).resolve().relative_to(pages.resolve())
            yield section, entry["title"], path.as_posix()


def navigation(contents: Path, pages: Path) -> list[dict[str, Any]]:
    """The sections of the table of contents, each with its pages, after both start pages."""
    sections: dict[str, list[dict[str, str]]] = {}
    for section, title, path in entries(contents, pages):
        sections.setdefault(section, []).append({title: path})
    start: list[dict[str, Any]] = [{"BFS-QL": "README.md"}, {"Documentation": CONTENTS.as_posix()}]
    return [*start, *({name: listed} for name, listed in sections.items())]


def paths(nav: object) -> Iterator[str]:
    """The paths in a navigation."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict | list):
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from paths(part)


def generate(
    folder: Path, pages: Path, generated: Mapping[str, Iterable[str]]
) -> list[dict[str, str]]:
    """Write the generated pages; return their entries in the navigation."""
    folder.mkdir(parents=True)
    entries = []
    for title, names in generated.items():
        page = folder / f"{title.lower()}.md"
        page.write_text("\n\n".join([f"# {title}", *(f"::: {name}" for name in names)]), "utf-8")
        entries.append({title: page.relative_to(pages).as_posix()})
    return entries


class Anchors(HTMLParser):
    """The ids of a page, and the addresses that it links to or loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.ids.add(value)
            elif name in {"href", "src", "srcset"} and value:
                self.addresses.append(value)


def broken(site: Path) -> list[str]:
    """Links, pictures and references in the HTML of a site that lead nowhere."""
    parsed = {page: Anchors(page.read_text("utf-8")) for page in site.rglob("*.html")}
    errors = []
    for page, anchors in parsed.items():
        for address in anchors.addresses:
            url = urlsplit(address)
            if url.scheme or url.netloc or page.name == "404.html":
                continue
            target = (page.parent / unquote(url.path)).resolve() if url.path else page
            if not target.is_file():
                errors.append(f"{page.relative_to(site)}: there is no {address}")
            elif target in parsed and unquote(url.fragment) not in {"", *parsed[target].ids}:
                errors.append(f"{page.relative_to(site)}: {url.path} has no #{url.fragment}")
    return errors


if __name__ == "__main__":
    if errors := build(ROOT, Path(sys.argv[1])):
        sys.exit("\n".join([*errors, "The site has errors; correct the pages named above."]))
