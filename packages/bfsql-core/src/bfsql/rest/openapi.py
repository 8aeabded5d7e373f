"""The API as an OpenAPI 3.1 document: every path, parameter and answer."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from bfsql.plugins.distributions import __version__
from bfsql.rest import entities, relations
from bfsql.rest.problem import MEDIA_TYPE
from bfsql.rest.reply import JSON, JSON_LD
from bfsql.rest.schemas import SCHEMAS, TEXT, TEXTS, Schema, ref
from bfsql.tools import ToolDefinition

_REASONS = {
    400: "A parameter, a value or the body is wrong.",
    401: "The token is missing or wrong.",
    403: "A policy refused the call, or pages of this origin may not ask.",
    404: "There is no such entity or relation.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    421: "The server is not called by this name.",
    500: "A fault of the server; the operator finds the incident in the log.",
    502: "The store refused.",
    503: "The store does not answer.",
    504: "The store did not answer in time.",
}
_ALWAYS = (400, 401, 403, 421, 500, 502, 503, 504)

_ID: Schema = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": TEXT,
    "description": "Canonical id, percent-encoded as one segment.",
}
_KEPT = {
    "ETag": {"schema": TEXT, "description": "Changes with every byte; for If-None-Match."},
    "Cache-Control": {"schema": TEXT},
}
_NEXT = {"Link": {"schema": TEXT, "description": "The next page, as rel=next."}}


def openapi(tools: Iterable[ToolDefinition], *, token: bool) -> dict[str, Any]:
    """The document.

    Args:
        tools: The six, as the open graph defines them.
        token: Whether requests have to carry one.
    """
    secured: dict[str, Any] = {
        "components": {
            "schemas": SCHEMAS,
            **(
                {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}
                if token
                else {}
            ),
        },
        **({"security": [{"token": []}]} if token else {}),
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "BFS-QL web API",
            "version": __version__,
            "description": "A knowledge graph, for reading. Its documents are JSON-LD. Wherever "
            "GET is answered, so is HEAD.",
        },
        "servers": [{"url": "./"}],
        "paths": {**_PATHS, **_tool_paths(tools)},
        **secured,
    }


def _get(summary: str, answer: str, *parameters: Schema, **about: Any) -> Schema:
    """A path that is read."""
    headers = {**_KEPT, **about.get("headers", {})}
    media = about.get("media", JSON_LD)
    content = {media: {"schema": ref(answer) if answer in SCHEMAS else {"type": answer}}}
    described: Schema = {
        "summary": summary,
        **({"parameters": list(parameters)} if parameters else {}),
        "responses": {
            "200": {"description": "What was asked for.", "headers": headers, "content": content},
            "304": {"description": "The client has these bytes already.", "headers": _KEPT},
            **_problems(*about.get("problems", ())),
        },
    }
    return {"get": described}


def _post(
    summary: str,
    body: Schema,
    answer: Schema,
    *,
    needed: bool = True,
    description: str = "",
) -> Schema:
    """A path that reads what a body names."""
    return {
        "post": {
            "summary": summary,
            **({"description": description} if description else {}),
            "requestBody": {"required": needed, "content": {JSON: {"schema": body}}},
            "responses": {
                "200": {
                    "description": "What was asked for.",
                    "content": {JSON: {"schema": answer}},
                },
                **_problems(404, 413, 415),
            },
        }
    }


def _problems(*statuses: int) -> Schema:
    content = {MEDIA_TYPE: {"schema": ref("Problem")}}
    return {
        str(status): {
            "description": f"{HTTPStatus(status).phrase}. {_REASONS[status]}",
            "content": content,
        }
        for status in sorted({*_ALWAYS, *statuses})
    }


def _parameter(name: str, schema: Schema, description: str, *, needed: bool = False) -> Schema:
    return {
        "name": name,
        "in": "query",
        "required": needed,
        "schema": schema,
        "description": description,
    }


def _limit(default: int, most: int) -> Schema:
    schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
    return _parameter("limit", schema, "How many at the most.")


def _tool_paths(tools: Iterable[ToolDefinition]) -> Schema:
    return {
        f"/tools/{tool.name}": _post(
            tool.title,
            tool.input_schema,
            tool.output_schema,
            needed=bool(tool.input_schema.get("required")),
            description=tool.description,
        )
        for tool in tools
    }


_PATHS: Schema = {
    "/schema": _get("What the graph contains, and where batches are taken", "Schema", media=JSON),
    "/context": _get("The JSON-LD context", "Context"),
    "/entities": _get(
        "Find entities by name",
        "Hits",
        _parameter("q", TEXT, "A name, an alias, a part of a name, or an id.", needed=True),
        _parameter(
            "types", TEXTS, "Entity types to keep: repeated, or one text with commas between."
        ),
        _limit(entities.HITS, entities.MOST_HITS),
    ),
    "/entities/{id}": _get("All that is known of an entity", "Entity", _ID, problems=(404,)),
    "/entities/{id}/relations": _get(
        "Relations of an entity, in pages",
        "Relations",
        _ID,
        _parameter(
            "direction",
            {"enum": [*relations.DIRECTIONS], "default": "both"},
            "Those that leave it, enter it, or both.",
        ),
        _limit(relations.PAGE, relations.MOST_IN_PAGE),
        _parameter("cursor", TEXT, "From `next` of the page before; opaque."),
        headers=_NEXT,
        problems=(404,),
    ),
    "/entities/{id}/provenance": _get(
        "The evidence that touches an entity",
        "Provenance",
        _ID,
        _limit(entities.EVIDENCE, entities.MOST_EVIDENCE),
        media=JSON,
        problems=(404,),
    ),
    "/relations": _get(
        "A relation with its metadata",
        "RelationWithMetadata",
        *(_parameter(part, TEXT, "Exact.", needed=True) for part in relations.PARTS),
        problems=(404,),
    ),
    "/entities/batch": _post(
        "Many entities at once; unknown ids are left out", ref("EntityBatch"), ref("Entities")
    ),
    "/relations/batch": _post(
        "Every relation that touches one of the ids, or the metadata of relations",
        ref("RelationBatch"),
        {"oneOf": [ref("Ring"), ref("RelationsWithMetadata")]},
    ),
    "/openapi.json": _get("This description", "object", media=JSON),
    "/docs": _get("This description, as a page", "string", media="text/html; charset=utf-8"),
}
