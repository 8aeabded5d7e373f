"""The format of a graph file by its content: XML, RDF and JSON-LD, whose beginnings are plain."""

from __future__ import annotations

import re

from bfsql.sources.json_ld_guard import is_json_ld

_ELEMENT = re.compile(r"<(?:\w+:)?(\w+)")
_ROOTS = {"graphml": "graphml", "gexf": "gexf", "RDF": "rdfxml"}
_PREFIX = re.compile(r"^[ \t]*+@(?:prefix|base)[ \t][^<\n]*<[^<>\n]*>[ \t]*\.", re.MULTILINE)
_STATEMENT = re.compile(
    r"(?:<[^<>\s]*>|_:\S+)\s+<[^<>\s]*>\s+"
    r'(?:<[^<>\s]*>|_:\S+|"(?:[^"\\]|\\.)*+"\S*)(\s+(?:<[^<>\s]*>|_:\S+))?\s*\.\s*'
)


def format_of_content(text: str) -> str | None:
    """The name of the format of a file that begins with this text; None if it is another one."""
    begin = text.lstrip()[:1]
    if begin == "<" and (root := _ELEMENT.search(text)) and root[1] in _ROOTS:
        return _ROOTS[root[1]]
    if begin in {"{", "["}:
        return "jsonld" if is_json_ld(text) else None
    if _PREFIX.search(text):
        return "turtle"
    lines = (line for line in text.splitlines() if line.strip() and line[0] != "#")
    statement = _STATEMENT.fullmatch(next(lines, ""))
    return statement and ("nquads" if statement[1] else "ntriples")
