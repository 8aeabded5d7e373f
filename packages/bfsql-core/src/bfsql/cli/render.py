"""Answers on a terminal: tables of nodes, trees of edges, notes in yellow.

Every cell is plain text: neither markup of rich nor terminal commands in it take effect.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic_core import to_json
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from bfsql.answers import Answer
from bfsql.answers.notes import counted
from bfsql.cli.command import escape

_ENTITY = ("id", "entity_type", "name")
_OF_WALKS = ("via", "paths", "distinct", "measure")
"""Fields of a node that say how it belongs to the answer."""
_OF_FACETS = (
    *("facet", "count", "missing", "distinct", "numbers", "min", "max", "mean", "sum"),
    *("values", "other_values"),
)


def show(
    tool: str,
    answer: Answer,
    fields: Sequence[str] = (),
    console: Console | None = None,
    *,
    sorted_by: str = "",
) -> None:
    """Print an answer of a tool.

    Args:
        tool: The name of the tool.
        answer: The answer.
        fields: The properties that were requested by name.
        console: Where to print; None for standard output.
        sorted_by: The property by which nodes are sorted, if it is one.
    """
    to = console or Console(highlight=False)
    for part in _parts(tool, answer.content, fields, sorted_by):
        to.print(part)
    for note in answer.notes:
        to.print(plain(note, "yellow"))


def _parts(
    tool: str, content: Mapping[str, Any], fields: Sequence[str], sorted_by: str
) -> Iterator[RenderableType]:
    match tool:
        case "search_entities":
            yield from _records(content["result"], (*_ENTITY, "match", "score", "context"))
        case "describe_entities":
            for record in content["result"]:
                yield _record(record)
        case "describe_entity":
            yield _record({k: v for k, v in content.items() if k not in ("provenance", "notes")})
            if "provenance" in content:
                items = content["provenance"]["items"]
                columns = ("subject", "predicate", "object", "document_id", "text_span")
                yield from _records(items, columns)
        case "describe_schema":
            yield _record({k: v for k, v in content.items() if k != "notes"})
        case _:
            yield from _subgraph(content, fields, sorted_by)


def _subgraph(
    content: Mapping[str, Any], fields: Sequence[str], sorted_by: str
) -> Iterator[RenderableType]:
    nodes, edges = content["nodes"], content["edges"]
    facets = content.get("facets", {}).items()
    yield from _records(({"facet": label, **_facet(one)} for label, one in facets), _OF_FACETS)
    of_walks = [field for field in _OF_WALKS if any(field in node for node in nodes)]
    yield from _records(map(_flat, nodes), (*_ENTITY, *of_walks, sorted_by, *fields))
    if "walks" in content:
        yield from _walks(content["walks"], nodes)
    else:
        yield _tree(content["seeds"], nodes, edges, fields)
    yield plain(
        f"{counted(content['node_count'], 'node')}, {counted(content['edge_count'], 'edge')}; "
        f"shown: {len(nodes)} and {len(edges)}.",
        "bold",
    )


def _walks(walks: Sequence[Mapping[str, Any]], nodes: list[dict[str, Any]]) -> Iterator[Table]:
    """A table of walks, if there are any, with a column for each of their nodes."""
    names = {node["id"]: str(_flat(node).get("name", node["id"])) for node in nodes}
    rows = []
    for walk in walks:
        edges = ["", *walk.get("edges", [""] * (len(walk["nodes"]) - 1))]
        steps = zip(edges, walk["nodes"], strict=True)
        rows.append([f"{edge} {names[i]}".lstrip() for edge, i in steps])
    if rows:
        width = max(map(len, rows))
        padded = (row + [""] * (width - len(row)) for row in rows)
        yield table([str(step) for step in range(width)], padded)


def _facet(facet: Mapping[str, Any]) -> dict[str, Any]:
    return {**facet, "values": ", ".join(f"{text} {count}" for text, count in facet["values"])}


def _tree(
    seeds: Sequence[str],
    nodes: list[dict[str, Any]],
    edges: list[dict[str, Any]],
    fields: Sequence[str],
) -> Tree:
    """The edges starting from the seeds, each once, below the end that is nearer to a seed."""
    labels = {node["id"]: _label(_flat(node), fields) for node in nodes}
    ends: dict[str, list[tuple[int, str, str]]] = {id_: [] for id_ in labels}
    for number, edge in enumerate(edges):
        for here, other, arrow in (
            (edge["subject"], edge["object"], f"-{edge['predicate']}->"),
            (edge["object"], edge["subject"], f"<-{edge['predicate']}-"),
        ):
            ends[here].append((number, arrow, other))
    root = Tree("edges", hide_root=True)
    branches = {seed: root.add(labels[seed]) for seed in seeds if seed in labels}
    shown: set[int] = set()
    _grow(branches, shown, ends, labels)
    for start, label in labels.items():  # what cannot be reached from a seed of the page
        if start not in branches and ends[start]:
            branches[start] = root.add(label)
            _grow(branches, shown, ends, labels)
    return root


def _grow(
    branches: dict[str, Tree],
    shown: set[int],
    ends: Mapping[str, list[tuple[int, str, str]]],
    labels: Mapping[str, Text],
) -> None:
    """Add the edges that can be reached from the branches, breadth first."""
    waiting = deque(branches)
    while waiting:
        here = waiting.popleft()
        for number, arrow, other in ends[here]:
            if number in shown:
                continue
            shown.add(number)
            branch = branches[here].add(Text.assemble(plain(arrow, "cyan"), " ", labels[other]))
            if other not in branches:
                branches[other] = branch
                waiting.append(other)


def _flat(node: Mapping[str, Any]) -> dict[str, Any]:
    """A node's metadata and its own fields in one dictionary."""
    return {**node.get("metadata", {}), **node}


def _label(node: Mapping[str, Any], fields: Sequence[str]) -> Text:
    """A node's name, its id, and the requested properties."""
    name, id_ = node.get("name"), node["id"]
    parts = [plain(name, "bold"), plain(f" {id_}", "dim")] if name else [plain(id_, "bold")]
    facts = [
        f"{field}: {_cell(node[field])}" for field in fields if field in node and field != "name"
    ]
    return Text.assemble(*parts, plain(f" ({', '.join(facts)})" if facts else ""))


def _record(record: Mapping[str, Any]) -> RenderableType:
    return table(("field", "value"), [(key, _cell(value)) for key, value in record.items()])


def _records(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> Iterator[Table]:
    """A table of records, if there are any, with the columns in which one of them has a value."""
    rows = [{column: _cell(record.get(column)) for column in columns} for record in records]
    heads = [column for column in dict.fromkeys(columns) if any(row[column] for row in rows)]
    if heads:
        yield table(heads, [[row[head] for head in heads] for row in rows])


def _cell(value: Any) -> str:
    """A value in a cell: text unchanged, lists of texts with commas, other values as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return to_json(value).decode()


def plain(text: object, style: str = "") -> Text:
    """Text in which neither markup of rich nor terminal commands take effect."""
    return Text(escape(str(text)), style=style, overflow="fold")


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], styles: Sequence[str] = ()
) -> Table:
    """A table with a title for each column, and a style for each row or none."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        made.add_column(head, overflow="fold")
    for position, row in enumerate(rows):
        style = styles[position] if styles else ""
        made.add_row(*(plain(cell, style) for cell in row))
    return made


def print_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], styles: Sequence[str] = ()
) -> None:
    """Print a table on standard output."""
    Console(highlight=False).print(table(heads, rows, styles))
