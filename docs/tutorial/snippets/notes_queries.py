"""A folder of notes as a graph: a note is a node, a link an edge."""

import re
from dataclasses import dataclass
from pathlib import Path

from bfsql.errors import StoreError
from bfsql.models import Edge

FIELD = re.compile(r"(\w+):: *(.*)")
LINK = re.compile(r"\[\[([^]|#]+)")


@dataclass(frozen=True)
class Note:
    """The content of a file."""

    type: str
    text: str
    links: dict[Edge, list[str]]
    """Each edge with the lines that contain its link."""


def read(folder: Path) -> dict[str, Note]:
    """The notes of a folder by their names."""
    if not folder.is_dir():
        raise StoreError(f"{folder} is not a folder. Pass the notes folder with --path.")
    return {path.stem: note(path) for path in sorted(folder.rglob("*.md"))}


def note(path: Path) -> Note:
    """One file, line by line."""
    kind, text = "Note", path.read_text(encoding="utf-8")
    links: dict[Edge, list[str]] = {}
    for line in text.splitlines():
        field = FIELD.match(line)
        predicate = field[1] if field else "links_to"
        if field and predicate == "type":
            kind = field[2].strip()
        for target in LINK.findall(line):
            links.setdefault(Edge(path.stem, predicate, target.strip()), []).append(line)
    return Note(kind, text, links)


def matching(notes: dict[str, Note], query: str) -> list[str]:
    """The note of this name, then those whose name or text has the words in it."""
    wanted = query.strip().casefold()
    if not wanted:
        return []
    ranked = []
    for name, found in notes.items():
        folded = name.casefold()
        tests = (name == query, folded == wanted, wanted in folded, wanted in found.text.casefold())
        if any(tests):
            ranked.append((tests.index(True), name))
    return [name for _, name in sorted(ranked)[:20]]
