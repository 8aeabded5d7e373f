"""Names, values and tables of answers in lines; see `bfsql.answers.compact` for the grammar."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from bfsql.answers.clean import encode
from bfsql.models.characters import is_visible

Record = Mapping[str, Any]

_NAME = re.compile(r"(?!\d+$)[^\s\"|={}\[\];,<>*-][^\s\"|={}\[\];,>]*", re.MULTILINE)
_LINES_OF_NAMES = re.compile(rf"({_NAME.pattern}(\n|\Z))*+", re.MULTILINE)
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
_WORDS = re.compile(r"[^\s\"{\[|=,]([^\"|=,\n]*[^\s\"|=,])?")
_NAMED = re.compile(r"[^\s\"|=()]([^\"|=()\n]*[^\s\"|=()])?")
_KEYWORD = re.compile(
    r"((?i:note|missing)|results|edges|node_counts|along|provenance|graph_description"
    r"|tool_usage_notes|entity_types|predicates|relations_from):( |\Z)|\w+ \(\d+\):|taken by name\Z"
    r"|(entity|from|to|taken|facet|seeds|hops|k|shown|count|common|walks|nodes|edges|shortest)"
    r" [^<>-]"
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


def names(texts: Sequence[str]) -> list[str]:
    """Many ids, each as `name` writes it."""
    return list(texts if _are_lines(texts, _LINES_OF_NAMES) else map(name, texts))


def values(contents: Sequence[Any], bare: re.Pattern[str] = LINE) -> list[str]:
    """Many values, each as `value` writes it; those of one kind are looked at together."""
    match set(map(type, contents)):
        case kinds if kinds <= {int, float, bool}:
            return encode(contents)[1:-1].decode().split(",") if contents else []
        case kinds if kinds == {list}:
            parts = encode(contents)[2:-2].decode().split("],[")
            if len(parts) == len(contents):  # no value has these characters
                return [f"[{part}]" for part in parts]
        case kinds if kinds == {str} and _are_lines(contents, _lines_of(bare.pattern)):
            return list(contents)
    return [value(one, bare) for one in contents]


def best(content: Any) -> Any:
    """The nodes of `argmax`, `argmin` or `top` as a text; any other value as it is."""
    if isinstance(content, list):
        return ", ".join(f"{_at(*node)}: {value(one, _WORDS)}" for one, *node in content)
    if not isinstance(content, dict):
        return content
    nodes = ", ".join(_at(*node) for node in content["nodes"])
    more = f" of {content['count']}" if content["count"] > len(content["nodes"]) else ""
    return f"{nodes}{more}: {value(content['value'], _WORDS)}"


def _at(id_: str, text: str | None) -> str:
    return name(id_) if text is None else f"{name(id_)} ({name(text, _NAMED)})"


def _are_lines(texts: Sequence[str], pattern: re.Pattern[str]) -> bool:
    """Whether texts are visible, and the lines of a text that matches a pattern."""
    text = "\n".join(texts)
    is_one_each = all(texts) and text.count("\n") == len(texts) - 1
    return is_one_each and pattern.fullmatch(text) is not None and is_visible("".join(texts))


@cache
def _lines_of(bare: str) -> re.Pattern[str]:
    """Lines of texts that begin with a letter, are no JSON and match a pattern."""
    words = "(?!(true|false|null|NaN|Infinity)$)"
    return re.compile(rf"({words}(?=[^\W\d_]){bare}(?<!\s)(\n|\Z))*+", re.MULTILINE)


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

    def cells(self, records: Sequence[Record | None], bare: re.Pattern[str]) -> list[list[str]]:
        """The values of each record: an empty cell for a missing key, and further keys at the end.

        A list is empty for a stub, and if the heading contains the whole record; otherwise it has
        at least one cell.
        """
        columns = [_column(key, records, bare) for key in self.varying]
        rows = map(list, zip(*columns, strict=True)) if columns else ([] for _ in records)
        named = {*self.constant, *self.varying}
        cells = []
        for row, record in zip(rows, records, strict=True):
            if record is not None and not named.issuperset(record):
                further = [key for key in record if key not in named]
                row += [f"{name(key)}={value(record[key], bare)}" for key in further]
            while row and not row[-1]:
                row.pop()
            is_whole = record is None or self.constant or self.empty
            cells.append(row if row or is_whole else [""])
        return cells


def _column(key: str, records: Sequence[Record | None], bare: re.Pattern[str]) -> list[str]:
    """The values of a key: an empty text for each record that does not have it."""
    written = iter(values([one[key] for one in records if one and key in one], bare))
    return [next(written) if one and key in one else "" for one in records]


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


def tables(rows: Sequence[TableRow], *, counted: bool = False) -> Iterator[str]:
    """A table per run of a type, or a single one if types alternate; `counted` ones by rows."""
    runs = [list(run) for _, run in groupby(rows, lambda row: row.entity_type)]
    if len(runs) > max(2, len(rows) // 2):
        runs = [list(rows)]
    for run in runs:
        kind = MIXED if len({row.entity_type for row in run}) > 1 else name(run[0].entity_type)
        yield from _table(run, kind, f"{len(run)} " if counted else "")


def _table(rows: Sequence[TableRow], entity_type: str, count: str) -> Iterator[str]:
    fields = SharedKeys.of([row.fields for row in rows], most=False)
    metadata = SharedKeys.of([row.metadata for row in rows], most=True)
    inside = " ".join([entity_type, *fields.heading(BRACKETS)])
    yield _heading(count + inside, metadata)
    given = fields.cells([row.fields for row in rows], ROW) if fields.varying else [[]] * len(rows)
    full = metadata.cells([row.metadata for row in rows], ROW)
    ids = names([row.id for row in rows])
    types: list[list[str]] = [[]] * len(rows)  # in the heading
    if entity_type == MIXED:
        types = [[one] for one in names([row.entity_type for row in rows])]
    for row, i, kind, own, more in zip(rows, ids, types, given, full, strict=True):
        cells = [*kind, *own, *[""] * (len(fields.varying) - len(own)), *more]
        yield "|".join([f"{row.label} {i}" if row.label else i, *cells])


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
        cells = columns.cells([edge.metadata for edge in alike], BRACES)
        ends = [
            (edge.subject, edge.object + _braced(c)) for edge, c in zip(alike, cells, strict=True)
        ]
        for subject, group in groupby(ends, itemgetter(0)):
            yield f"{subject}>{separator.join(object_ for _, object_ in group)}"


def _braced(cells: Sequence[str]) -> str:
    return f"{{{'|'.join(cells)}}}" if cells else ""


def walk_rows(walks: Sequence[Record], nodes: Sequence[Record]) -> Iterator[str]:
    """The lines of some walks: a heading with the columns of each place, and one line per walk.

    A node has its id, and its type and metadata where it first occurs.

    Args:
        walks: The walks, with the ids of their nodes and perhaps the predicates of their edges.
        nodes: The nodes on them, each once.
    """
    known = {node["id"]: node for node in nodes}
    first: dict[str, int] = {}
    for walk in walks:
        for place, i in enumerate(walk["nodes"]):
            first.setdefault(i, place)
    places: list[list[Record]] = [[] for _ in range(1 + max(first.values(), default=-1))]
    for i, place in first.items():
        places[place].append(known[i])
    columns = [_PlaceColumns.of(records) for records in places]
    values = [walk.get("values") for walk in walks]
    computed = SharedKeys.of(values, most=True)
    if walks:
        own = f" | {' '.join(computed.heading(BRACKETS))}" if any(values) else ""
        yield f"[walks] {' > '.join(one.heading for one in columns)}{own}"
    for walk, cells in zip(walks, computed.cells(values, ROW), strict=True):
        line = ""
        for place, i in enumerate(walk["nodes"]):
            if place:
                line += f" {_arrow(walk['edges'][place - 1]) if 'edges' in walk else '>'} "
            line += name(i) if place else leading(name(i), i, " ")
            if i in first:
                line += columns[first.pop(i)].braces(known[i])
        yield f"{line} | {'|'.join(cells)}" if any(cells) else line


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
            cells += self.metadata.cells([node["metadata"]], BRACES)[0]
        return _braced(cells)


def _heading(inside: str, columns: SharedKeys) -> str:
    listed = "|".join(columns.heading(ROW))
    return f"[{inside}]{' ' if listed else ''}{listed}"
