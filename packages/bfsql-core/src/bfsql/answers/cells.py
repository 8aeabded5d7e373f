"""Names, values and tables of answers in lines; see `bfsql.answers.compact` for the grammar."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from bfsql.answers.clean import encode
from bfsql.models.characters import is_visible

Record = Mapping[str, Any]

_NAME = re.compile(r"(?!\d+\Z)[^\s\"|={}\[\];,<>*-][^\s\"|={}\[\];,>]*")
_JSON_BEGINS = frozenset('"[{-0123456789tfnNI')
"""First characters of JSON values, including the non-standard values that Python reads."""
MIXED = "*"
"""Replaces the type in the heading of a table whose rows name their types."""

ROW = re.compile(r"[^\s\"{\[|=][^|=\n]*")
BRACES = re.compile(r"[^\s\"{\[|=}][^|={}\n]*")
BRACKETS = re.compile(r"[^\s\"{\[|=\]][^\s|=\]]*")
LINE = re.compile(r"[^\s\"{\[].*")
"""Patterns of text written unquoted in a row, in braces, in brackets and on its own line."""
_COUNTED = re.compile(r"[^\s\",;]+")
_KEYWORD = re.compile(
    r"((?i:note)|results|edges|node_counts|along|provenance|graph_description|tool_usage_notes"
    r"|entity_types|predicates|relations_from):( |\Z)|\w+ \(\d+\):|taken by name\Z"
    r"|(entity|from|to|taken|facet|seeds|hops|k|shown|common|walks|nodes|edges|shortest) [^<>-]"
)
"""How a line begins whose first text is not content."""


def name(text: str, bare: re.Pattern[str] = _NAME) -> str:
    """An id, type, predicate or key: bare, or as JSON if it would not read back otherwise."""
    return text if bare.fullmatch(text) and is_visible(text) else encode(text).decode()


def value(content: Any, bare: re.Pattern[str] = LINE) -> str:
    """Any value: text is bare if it reads back as itself, everything else is JSON."""
    if isinstance(content, str) and _is_bare(content, bare):
        return content
    return encode(content).decode()


def leading(written: str, text: str, following: str = "") -> str:
    """A text at the start of a line: as JSON if the line would begin as another part does.

    Args:
        written: The text as it stands elsewhere in a line.
        text: The text.
        following: What follows it on the line.
    """
    return encode(text).decode() if _KEYWORD.match(written + following) else written


def _is_bare(text: str, bare: re.Pattern[str]) -> bool:
    if not bare.fullmatch(text) or not is_visible(text) or text[-1].isspace():
        return False
    if text[0] not in _JSON_BEGINS:
        return True
    try:
        json.loads(text)
    except ValueError:
        return True
    return False


def tally(counts: Mapping[str, int]) -> str:
    """Names with their counts."""
    return ", ".join(f"{name(key, _COUNTED)} {number}" for key, number in counts.items())


def total(number: int, counts: Mapping[str, int]) -> str:
    """A total and its parts; a single part that makes up the total has no count of its own."""
    if list(counts.values()) == [number]:
        return f"{number}: {name(next(iter(counts)), _COUNTED)}"
    return f"{number}: {tally(counts)}" if counts else str(number)


class SharedKeys(NamedTuple):
    """The keys that the records of a table share.

    Attributes:
        constant: Keys with the same value in all records, which the heading contains.
        varying: Keys with a column in the rows, in this order.
        empty: Whether all records are full and none has a key.
    """

    constant: dict[str, Any]
    varying: tuple[str, ...]
    empty: bool

    @classmethod
    def of(cls, records: Sequence[Record | None], *, most: bool) -> SharedKeys:
        """The columns of some records.

        Args:
            records: The records; None for a stub.
            most: Whether a key needs to be in half of the records to have a column.
        """
        held = Counter(key for record in records for key in record or ())
        full = sum(record is not None for record in records)
        constant: dict[str, Any] = {}
        if len(records) > 1 or not most:
            first = records[0] or {}
            constant = {
                key: one
                for key, one in first.items()
                if held[key] == len(records) and all(_same(r, key, one) for r in records)
            }
        columns = (k for k in held if k not in constant)
        varying = tuple(k for k in columns if not most or 2 * held[k] >= full)
        return cls(constant, varying, most and not held and full == len(records))

    def heading(self, bare: re.Pattern[str]) -> list[str]:
        """The keys of the heading, with the values that all records share.

        There are none if the names are the only column, which then needs no heading.
        """
        if self.varying == ("name",) and not self.constant:
            return []
        fixed = [f"{name(key)}={value(one, bare)}" for key, one in self.constant.items()]
        return ["{}"] if self.empty else [*fixed, *map(name, self.varying)]

    def cells(self, record: Record, bare: re.Pattern[str]) -> list[str]:
        """The values of a record: an empty cell for each missing key, and further keys at the end.

        The list is empty if the heading contains the whole record, and has at least one cell
        otherwise.
        """
        cells = [value(record[key], bare) if key in record else "" for key in self.varying]
        further = [key for key in record if key not in self.constant and key not in self.varying]
        cells += [f"{name(key)}={value(record[key], bare)}" for key in further]
        while cells and not cells[-1]:
            cells.pop()
        return cells if cells or self.constant or self.empty else [""]


def _same(record: Record | None, key: str, content: Any) -> bool:
    other = (record or {}).get(key)
    if isinstance(content, str | int):
        return type(other) is type(content) and bool(other == content)
    return encode(other) == encode(content)


class TableRow(NamedTuple):
    """A node or record of a table.

    Attributes:
        label: The number by which edges refer to it, or an empty string.
        id: The id.
        entity_type: The type.
        fields: The fields other than identity and metadata.
        metadata: The metadata; None for a stub.
    """

    label: str
    id: str
    entity_type: str
    fields: Record
    metadata: Record | None


def tables(rows: Sequence[TableRow]) -> Iterator[str]:
    """The lines of some rows: a table per run of a type, or a single one if types alternate."""
    runs = [list(run) for _, run in groupby(rows, lambda row: row.entity_type)]
    if len(runs) > max(2, len(rows) // 2):
        yield from _table(rows, MIXED)
    else:
        for run in runs:
            yield from _table(run, name(run[0].entity_type))


def _table(rows: Sequence[TableRow], entity_type: str) -> Iterator[str]:
    fields = SharedKeys.of([row.fields for row in rows], most=False)
    metadata = SharedKeys.of([row.metadata for row in rows], most=True)
    inside = " ".join([entity_type, *fields.heading(BRACKETS)])
    yield _heading(inside, metadata)
    for row in rows:
        cells = [name(row.entity_type)] if entity_type == MIXED else []
        if fields.varying:
            given = fields.cells(row.fields, ROW)
            cells += given + [""] * (len(fields.varying) - len(given))
        if row.metadata is not None:
            cells += metadata.cells(row.metadata, ROW)
        label = f"{row.label} " if row.label else ""
        yield "|".join([label + name(row.id), *cells])


class LinkedEdge(NamedTuple):
    """An edge, with its ends as the lines write them.

    Attributes:
        subject: The subject as it is written.
        predicate: The predicate, unaltered.
        object: The object as it is written.
        metadata: The metadata; None for a bare triple.
    """

    subject: str
    predicate: str
    object: str
    metadata: Record | None


def links(edges: Iterable[LinkedEdge], *, apart: bool = False) -> Iterator[str]:
    """The lines of some edges: a heading per run of a predicate, and the edges by subject.

    Args:
        edges: The edges.
        apart: Whether each edge has its own line.
    """
    separator = "\n>" if apart else ","
    for predicate, run in groupby(edges, lambda edge: edge.predicate):
        alike = list(run)
        columns = SharedKeys.of([edge.metadata for edge in alike], most=True)
        yield _heading(f"-{name(predicate)}->", columns)
        for subject, group in groupby(alike, lambda edge: edge.subject):
            objects = (edge.object + _braces(edge, columns) for edge in group)
            yield f"{subject}>{separator.join(objects)}"


def _braces(edge: LinkedEdge, columns: SharedKeys) -> str:
    return _braced(columns.cells(edge.metadata, BRACES) if edge.metadata is not None else ())


def _braced(cells: Sequence[str]) -> str:
    return f"{{{'|'.join(cells)}}}" if cells else ""


def walk_rows(walks: Sequence[Record], nodes: Sequence[Record]) -> Iterator[str]:
    """The lines of some walks: a heading with the columns of each place, and one line per walk.

    A node has its id, type and metadata where it first occurs; from then on it is called by its
    name, or by its id if its name does not tell it from the others. The first node of a walk is
    left out if it is that of the previous walk.

    Args:
        walks: The walks, with the ids of their nodes and perhaps the predicates of their edges.
        nodes: The nodes on them, each once.
    """
    known = {node["id"]: node for node in nodes}
    names = {i: one for i, node in known.items() if isinstance(one := _name_of(node), str)}
    by_id = any(one in known and one != i for i, one in names.items())
    count = Counter(names.values())
    called = {i: one for i, one in names.items() if count[one] == 1 and not by_id}
    first: dict[str, int] = {}
    for walk in walks:
        for place, i in enumerate(walk["nodes"]):
            first.setdefault(i, place)
    places: list[list[Record]] = [[] for _ in range(1 + max(first.values(), default=-1))]
    for i, place in first.items():
        places[place].append(known[i])
    columns = [_PlaceColumns.of(records) for records in places]
    if walks:
        kind = "walks by id" if by_id else "walks"
        yield f"[{kind}] {' > '.join(one.heading for one in columns)}"
    start = None
    for walk in walks:
        line = ""
        for place, i in enumerate(walk["nodes"]):
            if place:
                line += f" {_arrow(walk['edges'][place - 1]) if 'edges' in walk else '>'} "
            if i in first:
                line += (name if place else _first)(i) + columns[first.pop(i)].braces(known[i])
            elif place or i != start:
                line += (name if place else _first)(called.get(i, i))
        start = walk["nodes"][0]
        yield line.lstrip(" ")


def _first(text: str) -> str:
    return leading(name(text), text, " ")


def _name_of(node: Record) -> Any:
    return node.get("metadata", {}).get("name")


def _arrow(edge: str) -> str:
    """The predicate of an edge on a walk, with its direction if that was left open."""
    head, tail = "<-" if edge.startswith("<") else "-", "->" if edge.startswith(">") else "-"
    return f"{head}{name(edge.removeprefix('<') if head == '<-' else edge.removeprefix('>'))}{tail}"


class _PlaceColumns(NamedTuple):
    """The columns of the nodes that occur first at a place of walks."""

    entity_type: str
    """The type of all of them, or `MIXED`."""
    metadata: SharedKeys

    @classmethod
    def of(cls, nodes: Sequence[Record]) -> _PlaceColumns:
        types = {node["entity_type"] for node in nodes}
        metadata = [node.get("metadata") for node in nodes]
        return cls(
            name(types.pop()) if len(types) == 1 else MIXED, SharedKeys.of(metadata, most=True)
        )

    @property
    def heading(self) -> str:
        return " ".join([self.entity_type, *self.metadata.heading(BRACKETS)])

    def braces(self, node: Record) -> str:
        cells = [name(node["entity_type"])] if self.entity_type == MIXED else []
        if "metadata" in node:
            cells += self.metadata.cells(node["metadata"], BRACES)
        return _braced(cells)


def _heading(inside: str, columns: SharedKeys) -> str:
    listed = "|".join(columns.heading(ROW))
    return f"[{inside}]{' ' if listed else ''}{listed}"
