"""The six tools as a client lists them, made from the graph that is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bfsql.answers.encode import plain
from bfsql.tools.parameters import PARAMETERS
from bfsql.tools.vocabulary import Schema
from bfsql.tools.words import DESCRIPTIONS, TITLES

INJECT_TYPES = 20
"""Most entity types that go into a description (`protocol.md` 21)."""
INJECT_PREDICATES = 30
"""Most predicates that do."""
INJECT_CHARACTERS = 2_000
"""Most characters that they may take."""

_OBJECTS = {"type": "array"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer"}


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """One tool, as `tools/list` shows it."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


def definitions(schema: Schema | None = None) -> tuple[ToolDefinition, ...]:
    """All six, in the order of the protocol.

    Args:
        schema: What the graph lists; it goes into the description of
            `bfs_query` when it is complete and small. None when it is not known.
    """
    injected = injection(schema)
    return tuple(
        ToolDefinition(
            name=name,
            title=TITLES[name],
            description=DESCRIPTIONS[name] + (injected if name == "bfs_query" else ""),
            input_schema=_input_schema(name),
            output_schema=_object(_OUTPUTS[name]),
        )
        for name in PARAMETERS
    )


def injection(schema: Schema | None) -> str:
    """The schema as part of a description, or nothing where it is partial or too long."""
    if schema is None or not schema.comprehensive:
        return ""
    if len(schema.entity_types) > INJECT_TYPES or len(schema.predicates) > INJECT_PREDICATES:
        return ""
    text = (
        f"\nentity types: {', '.join(map(plain, schema.entity_types))}"
        f"\npredicates: {', '.join(map(plain, schema.predicates))}"
    )
    return text if len(text) <= INJECT_CHARACTERS else ""


def _input_schema(tool: str) -> dict[str, Any]:
    parameters = PARAMETERS[tool]
    required = [p.name for p in parameters if p.required]
    return _object({p.name: p.schema() for p in parameters}, required) | {
        "additionalProperties": False
    }


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return schema | ({"required": required} if required else {})


# Coarse on purpose: official clients check every answer against them, and a detailed schema
# costs them 0.7 s a megabyte. The exact shapes are in `bfsql.answers.shapes`.
_SUBGRAPH = {
    "node_count": _COUNT,
    "edge_count": _COUNT,
    "notes": _TEXTS | {"description": "What is missing, and how to get it."},
    "schema_summary": {"type": "object"},
    "nodes": _OBJECTS
    | {"description": "Full {id, entity_type, metadata} or stub {id, entity_type}."},
    "edges": _OBJECTS
    | {"description": "{subject, predicate, object}, and metadata where it is full."},
}
_OUTPUTS: dict[str, dict[str, Any]] = {
    "describe_schema": {
        "graph_description": {"type": "string"},
        "comprehensive": {"type": "boolean"},
        "entity_types": _TEXTS,
        "predicates": _TEXTS,
        "next_steps": {"type": "string"},
        "tool_usage_notes": {"type": "string"},
    },
    "search_entities": {
        "result": _OBJECTS | {"description": "{id, entity_type, name, score}, best first."},
        "notes": _TEXTS,
    },
    "bfs_query": {"seeds": _TEXTS, "max_hops": _COUNT, **_SUBGRAPH},
    "describe_entity": {
        "id": {"type": "string"},
        "entity_type": {"type": "string"},
        "notes": _TEXTS,
        "provenance": {"type": "object", "description": "{total, items}: evidence."},
    },
    "describe_entities": {
        "result": _OBJECTS | {"description": "Flat records: id, entity_type, metadata fields."},
        "notes": _TEXTS,
    },
    "intersect_subgraphs": {"seeds": _TEXTS, "k": _COUNT, **_SUBGRAPH},
}
TOOLS = definitions()
"""The six without a graph: names, titles and arguments for the command line."""
