"""Calls to tools whose answers are checked against the exact shapes of the protocol."""

import json
import re
from typing import Any

from bfsql.answers import Answer, shapes
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.tools.descriptions import EXAMPLES

_ORDER = {
    "bfs_query": ["seeds", "seed_count", "max_hops", "along"],
    "intersect_subgraphs": ["seeds", "k"],
}
_SUBGRAPH = [
    "node_count",
    "edge_count",
    "complete",
    "common_count",
    "shown_count",
    "walk_count",
    "notes",
    "measure",
    "facets",
    "schema_summary",
    "walks",
    "nodes",
    "edges",
]
_CONTINUE = re.compile(r"Continue with offset=(\d+), limit=(\d+)\.")
_LAST: dict[str, Answer] = {}
"""The last checked answer of each tool; an equal one, from another store or a cache, passes."""
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


async def asked(graph: Graph, tool: str, **arguments: Any) -> Answer:
    """The answer to a call, checked for everything that holds for every answer."""
    answer = await graph.call(tool, arguments)
    if answer != _LAST.get(tool):
        check(tool, answer)
        _LAST[tool] = answer
    return answer


async def read(graph: Graph, tool: str, **arguments: Any) -> Any:
    """The checked answer, decoded."""
    return json.loads((await asked(graph, tool, **arguments)).text)


async def if_it_fits(graph: Graph, tool: str, **arguments: Any) -> Answer | None:
    """The checked answer; None if no answer fits the budget."""
    try:
        return await asked(graph, tool, **arguments)
    except ToolError as refused:
        if refused.kind != "too_large":
            raise
        return None


async def worked_calls(graph: Graph) -> dict[str, dict[str, Any]]:
    """The examples in the description of `bfs_query`, or in the schema's notes on usage."""
    await graph.counted()
    notes = (await graph.describe_schema()).content["tool_usage_notes"]
    described = [one.description for one in graph.definitions() if one.name == "bfs_query"]
    parts = (text.partition(EXAMPLES)[2] for text in [*described, notes])
    lines = [line.partition(': {"seeds"') for line in "\n".join(parts).splitlines()]
    return {what: json.loads(f'{{"seeds"{call}') for what, _, call in lines if call}


def of_all(arguments: dict[str, Any]) -> dict[str, Any]:
    """An example with all entities of a type in place of a name."""
    own = {key: arguments[key] for key in ("seeds", "to") if key in arguments}
    texts = {key: [re.sub(r": NAME2?$", ":*", one) for one in own[key]] for key in own}
    return arguments | texts


def check(tool: str, answer: Answer) -> None:
    """Check what holds for every answer: exact shape, order of keys, compactness, same content.

    Raises:
        AssertionError: Something does not hold.
        pydantic.ValidationError: The shape is wrong.
    """
    shapes.ANSWERS[tool].validate_json(answer.text)
    document = json.loads(answer.text)
    assert _HIDDEN.search(answer.text) is None, "nothing hidden goes out as it is"
    assert len(answer.text) <= len(json.dumps(document, separators=(",", ":"))), "compact"
    if isinstance(document, list):
        assert answer.content["result"] == document
        assert tuple(answer.content.get("notes", ())) == answer.notes
    else:
        assert answer.content == document
        assert tuple(document.get("notes", ())) == answer.notes
    if tool in _ORDER:
        wanted = [key for key in [*_ORDER[tool], *_SUBGRAPH] if key in document]
        assert list(document) == wanted
        _check_subgraph(document)


def _check_subgraph(document: dict[str, Any]) -> None:
    ids = [node["id"] for node in document["nodes"]]
    triples = [(e["subject"], e["predicate"], e["object"]) for e in document["edges"]]
    summary = document["schema_summary"]
    assert len(set(ids)) == len(ids) <= document["node_count"]
    assert sorted(set(triples)) == triples, "edges are in order, each once"
    assert len(triples) <= document["edge_count"]
    assert {end for s, _, o in triples for end in (s, o)} <= set(ids)
    assert {n["entity_type"] for n in document["nodes"]} <= set(summary["entity_types_found"])
    assert {predicate for _, predicate, _ in triples} <= set(summary["predicates_found"])
    for names, counts in (
        (summary["entity_types_found"], summary["node_counts"]),
        (summary["predicates_found"], summary["edge_counts"]),
    ):
        assert sorted(set(names)) == names == list(counts)
    assert sum(summary["node_counts"].values()) == document["node_count"]
    assert sum(summary["edge_counts"].values()) == document["edge_count"]
    for thing in (*document["nodes"], *document["edges"]):
        _check_metadata(thing.get("metadata", {}))


def _check_metadata(metadata: dict[str, Any]) -> None:
    assert None not in metadata.values(), "null values are dropped at the top level"
    _check_value(metadata)


def _check_value(value: Any) -> None:
    match value:
        case dict():
            assert sorted(value) == list(value), "keys are sorted at every level"
            for inner in value.values():
                _check_value(inner)
        case list():
            for inner in value:
                _check_value(inner)
        case str():
            assert _HIDDEN.search(value) is None, "what could hide text is removed"


def continuation(document: dict[str, Any]) -> dict[str, int]:
    """The arguments for the next page, from the notes of a page; empty after the last page."""
    found = [_CONTINUE.search(note) for note in document.get("notes", ())]
    named = [{"offset": int(m[1]), "limit": int(m[2])} for m in found if m]
    assert len(named) <= 1
    return named[0] if named else {}
