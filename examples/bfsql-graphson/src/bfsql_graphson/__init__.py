"""Reads GraphSON, the JSON of Apache TinkerPop: a vertex a line, with the edges that leave it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic_core import from_json

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, GraphRecord, GraphStream, NodeRecord
from bfsql.sources import Format, SourceOptions
from bfsql.sources.fields import Unusable, identifier, records
from bfsql.sources.json_records import objects
from bfsql.sources.text import encoding_of

_TYPED = {"@type", "@value"}


def is_graphson(text: str) -> bool:
    """Whether the first line is a vertex with values of GraphSON's types."""
    try:
        vertex = from_json(text.partition("\n")[0])
    except ValueError:
        return False
    return isinstance(vertex, dict) and "label" in vertex and _is_typed(vertex.get("id"))


def read_graphson(path: Path, options: SourceOptions, account: SourceAccount) -> GraphStream:
    """The vertices and edges, read line by line."""
    account.encoding = encoding = encoding_of(path, options.encoding)
    account.add_column("label of a vertex", "type", "")
    account.add_column("label of an edge", "predicate", "")
    lost = 0

    def make(line: dict[str, Any]) -> list[GraphRecord]:
        nonlocal lost
        vertex = _plain(line)
        id_ = identifier(vertex.get("id"), "id")
        values = _mapping(vertex, "properties")
        edges = [
            EdgeRecord(id_, label, identifier(edge.get("inV"), "inV"), _mapping(edge, "properties"))
            for label, found in _mapping(vertex, "outE").items()
            for edge in found
        ]
        lost += sum("properties" in value for found in values.values() for value in found)
        metadata = {key: _values(found) for key, found in values.items()}
        return [NodeRecord(id_, vertex.get("label") or options.default_type, metadata), *edges]

    yield from records(path, objects(path, encoding), make)
    if lost:
        account.note(f"{lost:,} values have properties of their own, which were left out")


def _is_typed(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == _TYPED


def _plain(value: Any) -> Any:
    """A value without GraphSON's types; maps, which are lists of keys and values, are objects."""
    if _is_typed(value):
        inner = _plain(value["@value"])
        if value["@type"] == "g:Map":
            return dict(zip(map(str, inner[::2]), inner[1::2], strict=True))
        return inner
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def _mapping(item: dict[str, Any], key: str) -> dict[str, Any]:
    found = item.get(key, {})
    if not isinstance(found, dict):
        raise Unusable(f"{key} is not an object")
    return found


def _values(found: list[dict[str, Any]]) -> Any:
    values = [value["value"] for value in found]
    return values[0] if len(values) == 1 else values


GRAPHSON = Format(
    "GraphSON, the JSON of Apache TinkerPop: a vertex a line",
    read_graphson,
    (".json", ".graphson"),
    sniff=is_graphson,
    loses="properties of properties",
)
