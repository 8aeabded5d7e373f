"""Objects of JSON that are nodes and edges: the lines of a file, or a list's items.

An object with both ends of an edge is an edge, and another one with an id is a node, in any order.
Where `type` says only which of the two an object is, that decides, and another key has its type:

| written by | `type` of nodes | their own type | `type` of edges | their predicate |
|---|---|---|---|---|
| the MCP memory server | `entity` | `entityType` | `relation` | `relationType` |
| APOC | `node` | `labels` | `relationship` | `label` |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_core import from_json

from bfsql.models.load import SourceAccount
from bfsql.models.records import EdgeRecord, NodeRecord
from bfsql.sources.attributes import Attributes
from bfsql.sources.fields import RepairedObject, Unusable
from bfsql.sources.headers import (
    Columns,
    EndsAndId,
    NodeColumns,
    ObjectTable,
    Row,
    columns_of,
    ends_and_id,
)
from bfsql.sources.options import SourceOptions
from bfsql.sources.text import LONGEST_LINE, lines, not_text, open_utf8

JsonObject: TypeAlias = dict[str, Any]

_NOUNS = {list: "a list", str: "text", bool: "a truth value", type(None): "null"}
_KINDS = {
    **dict.fromkeys(("node", "vertex", "entity"), True),
    **dict.fromkeys(("edge", "relationship", "relation", "link"), False),
}
"""Values of `type` that only say whether an object is a node."""
_WRITERS = {
    "entityType": "a graph of the MCP memory server",
    "relationType": "a graph of the MCP memory server",
    "labels": "an export of Neo4j by APOC",
}
"""What has written objects whose `type` is one of these, by the key with their actual type."""
_MOST_SHAPES = 1_000
"""Number of different lists of keys whose meaning is remembered."""


def object_table(
    path: Path,
    items: Callable[[], Iterable[tuple[int | str, JsonObject | Unusable]]],
    sample: Sequence[Row],
    options: SourceOptions,
    account: SourceAccount,
    *,
    groups: bool = False,
) -> ObjectTable:
    """The table of the objects in a file; its columns are those of nodes if the sample has nodes.

    Args:
        path: The file.
        items: Reads the objects.
        sample: The first of them, or all.
        options: Names of keys, and defaults.
        account: Receives a note if the file has nodes and edges.
        groups: As for `columns_of`.

    Raises:
        SourceError: No key is recognised as ids; the message lists those that exist.
    """
    shapes = _Shapes(options)
    writer = next(filter(None, map(_writer, sample)), "")
    edges = [row for row in sample if shapes.is_node(row) is False]
    shapes.ends = {key for row in edges for key in shapes.of(row)[:2]}
    nodes = [row for row in sample if shapes.is_node(row)]
    if writer or (nodes and edges):
        account.note(f"read as {writer or 'nodes and edges'}; objects with two ends are edges")
        nodes = [*map(_attributes, nodes)]
        columns = columns_of(path, keys_of(nodes or sample), options, groups=groups)
        if "entityType" in columns.roles and isinstance(columns, NodeColumns):
            columns = replace(columns, is_fallback=False)  # relations name their ends
        both = _Both(shapes, columns, keys_of(nodes), Attributes(options, account))
        is_row = lambda row: shapes.is_node(row) is True
        return ObjectTable(path, columns, items, both.record, is_row, is_mixed=True)
    columns = columns_of(path, keys_of(sample), options, groups=groups)
    usual = {isinstance(columns, NodeColumns), None}
    others = _Both(shapes, columns, (), Attributes(options, account))

    def record(row: Row) -> NodeRecord | EdgeRecord:
        if shapes.is_node(row) in usual:
            return columns.record(row)
        account.note(f"{'nodes' if False in usual else 'edges'} occur after the first objects")
        return others.record(row)

    return ObjectTable(path, columns, items, record, lambda row: shapes.is_node(row) in usual)


def _writer(row: Row) -> str:
    """What has written an object, if its `type` says only whether it is a node."""
    if not isinstance(kind := row.get("type"), str) or kind not in _KINDS:
        return ""
    return next((writer for key, writer in _WRITERS.items() if key in row), "")


class _Shapes:
    """Whether objects are nodes or edges, determined once for each list of keys.

    Attributes:
        ends: Keys of the ends of some edges; an object with only one of them is not a node.
    """

    def __init__(self, options: SourceOptions) -> None:
        self.ends: set[str | None] = set()
        self._options = options
        self._known: dict[tuple[str, ...], EndsAndId] = {}

    def of(self, row: Row) -> EndsAndId:
        """The keys of the ends and of the id; each may be None."""
        keys = tuple(row)
        if (found := self._known.get(keys)) is None:
            if len(self._known) >= _MOST_SHAPES:
                self._known.clear()
            found = self._known[keys] = ends_and_id(keys, self._options)
        return found

    def is_node(self, row: Row) -> bool | None:
        """Whether an object is a node; None if it has neither two ends nor an id."""
        kind = row.get("type")
        if type(kind) is str and kind in _KINDS:
            return _KINDS[kind]
        subject, object_, id_ = self.of(row)
        if subject is not None and object_ is not None:
            return False
        is_node = id_ is not None and self.ends.isdisjoint({subject, object_} - {None})
        return True if is_node else None


class _Both:
    """Makes the records of a file with nodes and edges.

    Args:
        shapes: Tells them apart.
        columns: The columns of one kind; those of nodes have the key of ids.
        known: The keys of nodes.
        make: Makes the records, and enters the keys with a meaning into the account.
    """

    def __init__(
        self, shapes: _Shapes, columns: Columns, known: Sequence[str], make: Attributes
    ) -> None:
        self._shapes, self._known, self._make = shapes, known, make
        self._id = columns.id if isinstance(columns, NodeColumns) else None

    def record(self, row: Row) -> NodeRecord | EdgeRecord:
        """The record of an object.

        Raises:
            Unusable: An id is missing, or a field is of the wrong kind.
        """
        subject, object_, id_ = self._shapes.of(row)
        is_node = self._shapes.is_node(row)
        attributes = _attributes(row)
        if is_node is False or (is_node is None and (subject or object_)):
            for end in filter(None, (subject, object_)):
                if isinstance(node := attributes[end], dict):
                    attributes[end] = node.get(self._id or "id", node.get("id"))
            return self._make.edge(attributes, subject or "subject", object_ or "object")
        key = self._id if self._id in attributes else id_
        return self._make.node(attributes, key or "id", self._known or [*attributes])


def _attributes(row: Row) -> dict[str, Any]:
    """The attributes of an object, without a `type` that is none."""
    found = dict(lifted(row))
    if type(kind := row.get("type")) is str and kind in _KINDS:
        del found["type"]
    return found


def keys_of(items: Iterable[Any]) -> list[str]:
    """The keys of objects, in the order of their first occurrence."""
    return list(dict.fromkeys(key for item in items if isinstance(item, Mapping) for key in item))


def lifted(item: Row) -> Row:
    """A node or edge merged with the content of its objects `attributes` and `properties`."""
    for field in ("attributes", "properties"):
        inner = item.get(field)
        if isinstance(inner, dict):
            rest = {key: value for key, value in item.items() if key != field}
            item = {f"{field}.{k}" if k in rest else k: v for k, v in inner.items()} | rest
    return item


# --- JSON Lines: a bad line is refused, and reading continues after it ---


def is_lines(text: str) -> bool:
    """Whether a text begins with an object in a line, and another object after it."""
    text = text.lstrip()
    try:
        first, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    is_line = isinstance(first, dict) and "\n" not in text[:end]
    return is_line and text[end:].lstrip().startswith("{")


def objects(path: Path, encoding: str = "utf-8") -> Iterator[tuple[int, JsonObject | Unusable]]:
    """Every line that is not blank: its 1-based number, and its object or why it has none."""
    with open_utf8(path, encoding) as stream:
        for number, line in enumerate(lines(stream), 1):
            try:
                found = from_json(line.rstrip(), cache_strings="keys")
            except ValueError as error:
                if not line.strip():
                    continue
                for value in _values(line, error, encoding):
                    yield number, _object(value)
            else:
                yield number, found if isinstance(found, dict) else _object(found)


def _object(value: Any) -> JsonObject | Unusable:
    if isinstance(value, dict | Unusable):
        return value
    return Unusable(f"contains {_NOUNS.get(type(value), 'a number')}, not a JSON object")


def _values(line: bytes, error: ValueError, encoding: str) -> list[Any]:
    """The values of a line that the fast parser rejects, or the reason why it has none.

    There may be several. An escaped lone surrogate matters only in some fields of an object.
    """
    if len(line) > LONGEST_LINE:
        reason = f"is longer than {LONGEST_LINE >> 20} MB; a JSONL file has one object per line"
        return [Unusable(reason)]
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        return [Unusable(not_text(line, encoding))]
    hook = RepairedObject if b"\\ud" in line.lower() else None
    decoder, found, at = json.JSONDecoder(object_pairs_hook=hook), list[Any](), 0
    try:
        while at < len(text):
            value, at = decoder.raw_decode(text, at)
            found.append(value)
            while text[at : at + 1].isspace():
                at += 1
    except (ValueError, RecursionError):
        pass
    else:
        return found
    reason = str(error).removesuffix(" at line 1 column 0")
    return [Unusable(f"is not JSON: {reason.replace(' at line 1 column', ' at column')}")]
