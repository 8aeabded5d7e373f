"""The shapes of the API's documents, as JSON Schema."""

from __future__ import annotations

from typing import Any, get_args

from bfsql.models.records import Direction
from bfsql.rest.api import MOST_IN_BATCH

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
_TYPE: Schema = {"type": "string", "description": "The entity type."}
_PARTS: Schema = {"subject": TEXT, "predicate": TEXT, "object": TEXT}


def ref(name: str) -> Schema:
    """A schema of `SCHEMAS`, by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def record(properties: Schema, *optional: str, more: bool = False, **about: Any) -> Schema:
    """An object.

    Args:
        properties: Name to schema.
        optional: Names of those that may be missing.
        more: Whether there may be others.
        about: Further keywords.
    """
    needed = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "properties": properties,
        **({"required": needed} if needed else {}),
        **({} if more else {"additionalProperties": False}),
        **about,
    }


def listed(schema: Schema, **about: Any) -> Schema:
    """A list."""
    return {"type": "array", "items": schema, **about}


_TRIPLE = listed(TEXT, minItems=3, maxItems=3, description="[subject, predicate, object]")
_OMISSIONS = listed(ref("Omission"), description="What is missing; absent where nothing is.")
_CONTEXT: Schema = {
    "type": "array",
    "description": "The JSON-LD context: its address, then what holds for this document alone.",
}
_METADATA: Schema = {"type": "object", "description": "All that is known beyond the identity."}

SCHEMAS: dict[str, Schema] = {
    "Problem": record(
        {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What happened, and what would be right."},
            "kind": {"type": "string", "description": "What was wrong, in one word."},
            "argument": {"type": "string", "description": "The parameter that is at fault."},
        },
        "kind",
        "argument",
        description="RFC 9457.",
    ),
    "Omission": record(
        {
            "id": {
                "type": "string",
                "description": "The entity, the text searched for, or the record.",
            },
            "direction": {
                "enum": [*get_args(Direction)],
                "description": "Edges that leave, enter or both; hits of a search; or the metadata "
                "of a record, which could not be redacted.",
            },
            "at_least": {"type": "integer", "description": "Edges missing, at the least."},
            "reason": TEXT,
            "lasting": {"const": True, "description": "No request can show it."},
        },
        "at_least",
        "reason",
        "lasting",
        description="What the store has and this answer has not.",
    ),
    "Entity": record(
        {"@context": _CONTEXT, "id": TEXT, "@type": _TYPE},
        more=True,
        description="Metadata stands beside id and @type. A metadata key that is id or omissions, "
        "or begins with @ or metadata., has the prefix metadata. before it.",
    ),
    "EntityInBatch": record({"id": TEXT, "@type": _TYPE}, more=True),
    "Hit": record(
        {
            "id": TEXT,
            "@type": _TYPE,
            "name": TEXT,
            "score": {"type": "number", "description": "Vector similarity, 0 to 1."},
        },
        "name",
        "score",
    ),
    "Hits": record(
        {"@context": _CONTEXT, "results": listed(ref("Hit")), "omissions": _OMISSIONS},
        "omissions",
    ),
    "Entities": record(
        {"results": listed(ref("EntityInBatch")), "omissions": _OMISSIONS}, "omissions"
    ),
    "Relation": record(_PARTS),
    "RelationWithMetadata": record(
        {"@context": _CONTEXT, **_PARTS, "metadata": _METADATA, "omissions": _OMISSIONS},
        "omissions",
    ),
    "RelationInBatch": record({**_PARTS, "metadata": _METADATA}),
    "Relations": record(
        {
            "@context": _CONTEXT,
            "id": TEXT,
            "relations": listed(ref("Relation"), description="Sorted."),
            "next": {
                "type": "string",
                "format": "uri-reference",
                "description": "The next page, relative to this one; absent on the last.",
            },
            "omissions": _OMISSIONS,
        },
        "next",
        "omissions",
    ),
    "Ring": record({"relations": listed(_TRIPLE), "omissions": _OMISSIONS}, "omissions"),
    "RelationsWithMetadata": record(
        {"results": listed(ref("RelationInBatch")), "omissions": _OMISSIONS}, "omissions"
    ),
    "Provenance": record(
        {
            "total": {
                "type": ["integer", "null"],
                "description": "Null where not all edges were looked at.",
            },
            "items": listed(ref("Evidence")),
            "edges_read": {"type": "integer"},
            "omissions": _OMISSIONS,
        },
        "total",
        "edges_read",
        "omissions",
        more=True,
    ),
    "Evidence": record(
        {
            **_PARTS,
            "document_id": TEXT,
            "section": TEXT,
            "text_span": TEXT,
            "confidence": {"type": "number"},
        },
        "document_id",
        "section",
        "text_span",
        "confidence",
        more=True,
    ),
    "Schema": record(
        {
            "description": TEXT,
            "comprehensive": {
                "type": "boolean",
                "description": "Whether the two lists are complete.",
            },
            "entity_types": TEXTS,
            "predicates": TEXTS,
            "next_steps": TEXT,
            "batch": record(
                {
                    "entities": TEXT,
                    "relations": TEXT,
                    "limit": {"type": "integer"},
                    "max_bytes": {"type": "integer"},
                }
            ),
            "omissions": _OMISSIONS,
        },
        "omissions",
    ),
    "Context": record({"@context": {"type": "object"}}),
    "EntityBatch": record(
        {
            "ids": listed(TEXT, maxItems=MOST_IN_BATCH),
            "metadata": {"type": "boolean", "default": False},
        },
        "metadata",
    ),
    "RelationBatch": {
        "oneOf": [
            record({"ids": listed(TEXT, maxItems=MOST_IN_BATCH)}, title="The ring around ids"),
            record(
                {"relations": listed(_TRIPLE, maxItems=MOST_IN_BATCH)},
                title="Metadata of relations",
            ),
        ]
    },
}
"""By the names that the OpenAPI document refers to them with."""
