"""Answers as lines of text: the same facts as the JSON, in fewer characters (`asking.md` 8).

    answer    = field* (nodes edges)?          of a traversal, and of what is one object
              | "results: " number, record*, note*      of what is a list
    field     = key ": " value                 one line each, in the order of the JSON
              | ("node_counts:" | "edge_counts:") (" " pairs)?
    note      = "note: " value
    nodes     = "nodes:" ("#" number)? name name (" " key "=" value)* (" |" pairs)?
    edges     = "edges:" end " " name (" " end ("{" pairs "}")?)+
    record    = name name " |" pairs
    pairs     = key "=" value ("; " key "=" value)*
    end       = "#" number | name

A node line is its number, id and type; the number is there where edges of the page touch the
node, and stands for its id in them. Behind the bar is the metadata; a stub has no bar. An edge
line has all objects of one subject and predicate, each with the metadata of its edge. The two
counts stand for `schema_summary`, whose lists are their keys. A name, a key and a value are
written bare where nothing in them could be taken for something else, and as JSON otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any

from bfsql.answers.clean import encode
from bfsql.models.characters import is_visible

_NAME = re.compile(r"[^\s\"#|={};\[][^\s\"|={};]*")
_TEXT = re.compile(r"[^\s\"{};\[][^{};\n]*")
_LINE = re.compile(r"[^\s\"{\[].*")
_NODE = ("id", "entity_type", "metadata")


def in_lines(content: Mapping[str, Any]) -> str:
    """An answer in lines.

    Args:
        content: The structured content of any tool's answer.
    """
    if "result" in content:
        records: Sequence[Any] = content["result"]
        lines: Iterable[str]
        lines = chain([f"results: {len(records)}"], map(_record, records), _notes(content))
    elif "nodes" in content and "edges" in content:
        fields = {key: v for key, v in content.items() if key not in ("nodes", "edges")}
        lines = chain(_fields(fields), _subgraph(content["nodes"], content["edges"]))
    else:
        lines = _fields(content)
    return "\n".join(lines)


def encode_in_lines(content: Mapping[str, Any]) -> bytes:
    """The same as UTF-8."""
    return in_lines(content).encode()


def _fields(content: Mapping[str, Any]) -> Iterator[str]:
    for key, value in content.items():
        if key == "notes" and isinstance(value, list):
            yield from _notes(content)
        elif key == "schema_summary" and _is_counted(value):
            yield f"node_counts:{_pairs(value['node_counts'])}"
            yield f"edge_counts:{_pairs(value['edge_counts'])}"
        else:
            yield f"{_name(key)}: {_value(value, _LINE)}"


def _is_counted(summary: Mapping[str, Any]) -> bool:
    """Whether the counts of a summary say all of it."""
    nodes, edges = summary.get("node_counts", {}), summary.get("edge_counts", {})
    return summary == {
        "entity_types_found": sorted(nodes),
        "predicates_found": sorted(edges),
        "node_counts": nodes,
        "edge_counts": edges,
    }


def _notes(content: Mapping[str, Any]) -> Iterator[str]:
    return (f"note: {_value(note, _LINE)}" for note in content.get("notes", ()))


def _record(record: Mapping[str, Any]) -> str:
    return f"{_name(record['id'])} {_name(record['entity_type'])} |{_pairs(record, _NODE[:2])}"


def _subgraph(nodes: Sequence[Any], edges: Sequence[Any]) -> Iterator[str]:
    touched = {edge[end] for edge in edges for end in ("subject", "object")}
    numbers: dict[str, str] = {}
    yield "nodes:"
    for node in nodes:
        label = ""
        if node["id"] in touched:
            numbers[node["id"]] = f"#{len(numbers) + 1}"
            label = f"{numbers[node['id']]} "
        further = "".join(
            f" {_name(key)}={_value(v)}" for key, v in node.items() if key not in _NODE
        )
        known = node.get("metadata")
        tail = "" if known is None else f" |{_pairs(known)}"
        yield f"{label}{_name(node['id'])} {_name(node['entity_type'])}{further}{tail}"
    yield "edges:"
    end_of: Callable[[str], str] = lambda entity_id: numbers.get(entity_id) or _name(entity_id)
    for (subject, predicate), group in groupby(edges, lambda e: (e["subject"], e["predicate"])):
        objects = " ".join(end_of(edge["object"]) + _braced(edge) for edge in group)
        yield f"{end_of(subject)} {_name(predicate)} {objects}"


def _braced(edge: Mapping[str, Any]) -> str:
    return f"{{{_pairs(edge['metadata']).lstrip()}}}" if "metadata" in edge else ""


def _pairs(metadata: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    pairs = [f"{_name(k)}={_value(v)}" for k, v in metadata.items() if k not in without]
    return " " + "; ".join(pairs) if pairs else ""


def _name(name: str) -> str:
    if _NAME.fullmatch(name) and is_visible(name):
        return name
    return encode(name).decode()


def _value(value: Any, bare: re.Pattern[str] = _TEXT) -> str:
    if isinstance(value, str) and _is_bare(value, bare):
        return value
    return encode(value).decode()


def _is_bare(text: str, bare: re.Pattern[str]) -> bool:
    """Whether text reads back as itself: one line, no sign of the grammar, and no JSON."""
    if not bare.fullmatch(text) or not is_visible(text) or text != text.strip():
        return False
    try:
        json.loads(text)
    except ValueError:
        return True
    return False
