"""A reader of answers in lines, written from their grammar: it gives back the JSON."""

from __future__ import annotations

import json
import re
from typing import Any

_DECODE = json.JSONDecoder().raw_decode
_BARE = re.compile(r"[^\s|={};]+")
_SUMMARY = {"node_counts": "entity_types_found", "edge_counts": "predicates_found"}


class Line:
    """One line, read from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0

    def take(self, sign: str) -> bool:
        """Whether a sign comes next; it is passed."""
        found = self.text.startswith(sign, self.place)
        self.place += len(sign) * found
        return found

    @property
    def over(self) -> bool:
        return self.place >= len(self.text)

    def name(self) -> str:
        if self.text[self.place] == '"':
            name, self.place = _DECODE(self.text, self.place)
            return str(name)
        found = _BARE.match(self.text, self.place)
        assert found is not None, self.text[self.place :]
        self.place = found.end()
        return found[0]

    def value(self, ends: str) -> Any:
        if self.text[self.place] in '"[{':
            value, self.place = _DECODE(self.text, self.place)
            return value
        start = self.place
        while not self.over and self.text[self.place] not in ends:
            self.place += 1
        written = self.text[start : self.place]
        try:
            return json.loads(written)
        except ValueError:
            return written

    def pairs(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self.over and self.text[self.place] != "}":
            key = self.name()
            assert self.take("=")
            found[key] = self.value(";}")
            self.take("; ")
        return found


def read(text: str) -> Any:
    """The structured content of an answer in lines."""
    lines = text.split("\n")
    if lines[0].startswith("results: "):
        count = int(lines[0].removeprefix("results: "))
        content: dict[str, Any] = {"result": [_record(Line(one)) for one in lines[1 : count + 1]]}
        notes = [_field(Line(one))[1] for one in lines[count + 1 :]]
        return content | ({"notes": notes} if notes else {})
    content, place = {}, 0
    while place < len(lines) and lines[place] != "nodes:":
        key, value = _field(Line(lines[place]))
        if key == "note":
            content.setdefault("notes", []).append(value)
        elif key in _SUMMARY:
            content.setdefault("schema_summary", {})[key] = value
        else:
            content[key] = value
        place += 1
    summary = content.get("schema_summary", {})
    for counts, names in _SUMMARY.items():
        if counts in summary and names not in summary:
            summary[names] = list(summary[counts])
    if place < len(lines):
        middle = lines.index("edges:", place)
        ids: dict[str, str] = {}
        content["nodes"] = [_node(Line(one), ids) for one in lines[place + 1 : middle]]
        content["edges"] = [e for one in lines[middle + 1 :] for e in _edges(Line(one), ids)]
    return content


def _field(line: Line) -> tuple[str, Any]:
    key = line.name() if line.text[0] == '"' else line.text.partition(":")[0]
    line.place = max(line.place, len(key)) if line.text[0] != '"' else line.place
    assert line.take(":")
    line.take(" ")
    if key in _SUMMARY:
        return key, line.pairs()
    return key, line.value("")


def _record(line: Line) -> dict[str, Any]:
    record: dict[str, Any] = {"id": line.name()}
    assert line.take(" ")
    record["entity_type"] = line.name()
    assert line.take(" |")
    line.take(" ")
    return record | line.pairs()


def _node(line: Line, ids: dict[str, str]) -> dict[str, Any]:
    number = None
    if line.take("#"):
        number = "#" + line.name()
        assert line.take(" ")
    node: dict[str, Any] = {"id": line.name()}
    assert line.take(" ")
    node["entity_type"] = line.name()
    if number is not None:
        ids[number] = node["id"]
    while not line.over and not line.take(" |"):
        assert line.take(" ")
        key = line.name()
        assert line.take("=")
        node[key] = line.value(" ")
    if line.text.endswith(" |") or not line.over:
        line.take(" ")
        node["metadata"] = line.pairs()
    return node


def _edges(line: Line, ids: dict[str, str]) -> list[dict[str, Any]]:
    def end() -> str:
        if line.take("#"):
            return ids["#" + line.name()]
        return line.name()

    subject = end()
    assert line.take(" ")
    predicate, found = line.name(), []
    while line.take(" "):
        edge: dict[str, Any] = {"subject": subject, "predicate": predicate, "object": end()}
        if line.take("{"):
            edge["metadata"] = line.pairs()
            assert line.take("}")
        found.append(edge)
    assert line.over
    return found
