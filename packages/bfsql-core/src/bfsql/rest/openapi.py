"""The description of the web API: an OpenAPI 3.1 document, and a self-contained page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from http import HTTPStatus
from typing import Any, Literal, get_args
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from bfsql.answers import encode, shapes
from bfsql.plugins.distributions import __version__
from bfsql.rest.parameters import JsonSchema, PublishedSchema
from bfsql.rest.request import ApiRequest, ApiRoute
from bfsql.rest.response import JSON, JSON_LD, PROBLEM_JSON, Reply
from bfsql.tools import ToolDefinition

_REASONS = {
    400: "A parameter, a value or the body is wrong.",
    401: "The token is missing or wrong.",
    403: "A policy refused the call, or pages of this origin are not allowed.",
    404: "There is no such entity or relation.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The server does not accept this host name.",
    429: "The server has no capacity for the request at present.",
    500: "An internal error; the operator finds the incident in the log.",
    502: "The store refused.",
    503: "The store does not answer, or the server is shutting down.",
    504: "The store did not answer in time.",
}
_ALWAYS = (400, 401, 403, 421, 429, 500, 502, 503, 504)
_TEXT: JsonSchema = {"type": "string"}
_ID: JsonSchema = {
    "name": "id",
    "in": "path",
    "required": True,
    "schema": _TEXT,
    "description": "Canonical id, percent-encoded as one segment.",
}
_CACHED = {
    "ETag": {
        "schema": _TEXT,
        "description": "Changes whenever the content changes; for If-None-Match.",
    },
    "Cache-Control": {"schema": _TEXT},
}
_TOOL_ANSWERS = shapes.ANSWERS | {  # lists stand in `result`, beside their notes
    "search_entities": TypeAdapter(shapes.SearchAnswer),
    "describe_entities": TypeAdapter(shapes.EntitiesAnswer),
}
_LINK = {"Link": {"schema": _TEXT, "description": "The next page, as rel=next."}}

HTML = "text/html; charset=utf-8"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

_SCHEMA_LINK = re.compile(r"&quot;#/components/schemas/(\w+)&quot;")

_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem }
code, pre { font-size: .9em } pre { background: #8881; overflow: auto; padding: .7rem }
p { white-space: pre-line } h2 { border-top: 1px solid #8886; padding-top: 1rem }
td { padding-right: 1rem; vertical-align: top } summary { cursor: pointer }
:root { color-scheme: light dark }"""


class Problem(BaseModel):
    """RFC 9457."""

    model_config = ConfigDict(extra="forbid")

    type: str
    title: str
    status: int
    detail: str = Field(description="What happened, and how to correct it.")
    kind: str = Field("", description="The kind of error, in one word.")
    argument: str = Field("", description="The parameter that is wrong.")


async def document(request: ApiRequest) -> Reply:
    """This description."""
    return Reply(encode(_openapi(request)))


async def page(request: ApiRequest) -> Reply:
    """This description, as a page."""
    text = "\n".join(_page(_openapi(request)))
    return Reply(text.encode(), "text/html", {"Content-Security-Policy": _POLICY})


def _openapi(request: ApiRequest) -> dict[str, Any]:
    api = request.api
    paths, answers, schemas = _described(api.routes)
    [tools] = [route for route in api.routes if route.answer is None]
    components: dict[str, Any] = {"schemas": schemas}
    if api.token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "BFS-QL web API",
            "version": __version__,
            "description": "Read access to a knowledge graph. Its documents are JSON-LD. Every "
            "path that accepts GET also accepts HEAD.",
        },
        "servers": [{"url": "./"}],
        "paths": {**paths, **_tool_paths(api.graph.definitions(), tools, answers)},
        "components": components,
        **({"security": [{"token": []}]} if api.token else {}),
    }


@cache
def _described(routes: Sequence[ApiRoute]) -> tuple[JsonSchema, JsonSchema, JsonSchema]:
    """The paths of all routes but the tools', the tools' answers, and schemas they refer to."""
    described = [route for route in routes if route.answer is not None]
    types: list[tuple[Any, Literal["validation", "serialization"], TypeAdapter[Any]]] = [
        ("problem", "serialization", TypeAdapter(Problem)),
        *((r, "serialization", TypeAdapter(r.answer)) for r in described),
        *((r, "validation", TypeAdapter(r.takes)) for r in described if r.method == "POST"),
        *((tool, "serialization", adapter) for tool, adapter in _TOOL_ANSWERS.items()),
    ]
    schemas, definitions = TypeAdapter.json_schemas(
        types, ref_template="#/components/schemas/{model}", schema_generator=PublishedSchema
    )
    paths = {
        route.path: {
            route.method.lower(): {
                "summary": (route.handler.__doc__ or "").partition("\n")[0].rstrip("."),
                **_operation(
                    route, schemas[route, "serialization"], schemas.get((route, "validation"))
                ),
            }
        }
        for route in described
    }
    answers = {tool: schemas[tool, "serialization"] for tool in _TOOL_ANSWERS}
    return paths, answers, definitions["$defs"]


def _tool_paths(
    tools: Iterable[ToolDefinition], route: ApiRoute, answers: JsonSchema
) -> JsonSchema:
    return {
        route.path.format(name=tool.name): {
            "post": {
                "summary": tool.title,
                "description": tool.description,
                **_operation(route, answers[tool.name], tool.input_schema),
            }
        }
        for tool in tools
    }


def _operation(route: ApiRoute, answer: JsonSchema, body: JsonSchema | None = None) -> JsonSchema:
    """What a route accepts and returns."""
    models = get_args(route.answer) or (route.answer,)
    fields = {name for model in models for name in getattr(model, "model_fields", ())}
    media_type = JSON_LD if "context" in fields else HTML if route.answer is str else JSON
    ok: JsonSchema = {
        "description": "The requested document.",
        "content": {media_type: {"schema": answer}},
    }
    if body is not None:
        return {
            "requestBody": {
                "required": route.answer is not None or bool(body.get("required")),
                "content": {JSON: {"schema": body}},
            },
            "responses": {"200": ok, **_problems(404, 413, 415)},
        }
    ok["headers"] = {**_CACHED, **(_LINK if "next" in fields else {})}
    unchanged = {"description": "The client already has the current version.", "headers": _CACHED}
    parameters = [*([_ID] if "{id}" in route.path else []), *_query_parameters(route)]
    return {
        **({"parameters": parameters} if parameters else {}),
        "responses": {"200": ok, "304": unchanged, **_problems(*([404] if route.exact else []))},
    }


def _query_parameters(route: ApiRoute) -> Iterator[JsonSchema]:
    described = route.takes.model_json_schema(schema_generator=PublishedSchema)
    for name, schema in described["properties"].items():
        yield {
            "name": name,
            "in": "query",
            "required": name in described.get("required", ()),
            "schema": {key: value for key, value in schema.items() if key != "description"},
            "description": schema["description"],
        }


def _problems(*statuses: int) -> JsonSchema:
    content = {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {
        str(status): {
            "description": f"{HTTPStatus(status).phrase}. {_REASONS[status]}",
            "content": content,
        }
        for status in sorted({*_ALWAYS, *statuses})
    }


def _page(described: dict[str, Any]) -> Iterator[str]:
    """The page, line by line."""
    title = escape(described["info"]["title"])
    yield f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
    yield f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<p>{escape(described['info']['description'])}</p>"
    yield '<p>The same for programs: <a href="openapi.json">openapi.json</a>.</p>'
    operations = [
        (f"{verb.upper()} {path}", operation)
        for path, verbs in described["paths"].items()
        for verb, operation in verbs.items()
    ]
    yield "<ul>"
    for name, operation in operations:
        yield f'<li><a href="#{_anchor(name)}"><code>{escape(name)}</code></a> '
        yield f"{escape(operation['summary'])}</li>"
    yield "</ul>"
    for name, operation in operations:
        yield f'<h2 id="{_anchor(name)}"><code>{escape(name)}</code></h2>'
        yield from _section(operation)
    yield "<h2>Shapes</h2>"
    for name, schema in described["components"]["schemas"].items():
        yield from _folded(escape(name), schema, name)
    yield "</body></html>"


def _section(operation: dict[str, Any]) -> Iterator[str]:
    yield f"<p>{escape(operation.get('description') or operation['summary'])}</p>"
    if parameters := operation.get("parameters"):
        yield "<table>"
        for p in parameters:
            facts = [p["in"], *(["required"] if p["required"] else []), _brief(p["schema"])]
            yield f"<tr><td><code>{escape(p['name'])}</code></td>"
            yield f"<td>{escape(', '.join(facts))}</td>"
            yield f"<td>{escape(p['description'])}</td></tr>"
        yield "</table>"
    if body := operation.get("requestBody"):
        yield from _folded("Body", next(iter(body["content"].values()))["schema"])
    for kind, content in operation["responses"]["200"]["content"].items():
        yield from _folded(f"Answer, {escape(kind)}", content["schema"])
    others = [status for status in operation["responses"] if status != "200"]
    yield f"<p>Otherwise: {', '.join(others)}.</p>"


def _brief(schema: dict[str, Any]) -> str:
    names = {"minimum": "at least", "maximum": "at most", "default": "default"}
    kind = " or ".join(schema["enum"]) if "enum" in schema else schema["type"]
    return ", ".join([kind, *(f"{names[k]} {v}" for k, v in schema.items() if k in names)])


def _folded(title: str, schema: dict[str, Any], name: str = "") -> Iterator[str]:
    """A schema to unfold; one that is only a reference is a link to the other one."""
    if "$ref" in schema:
        yield f"<p>{title}: {_linked(json.dumps(schema['$ref']))}</p>"
        return
    text = _linked(json.dumps(schema, indent=2, ensure_ascii=False))
    anchor = f' id="{_anchor(name)}"' if name else ""
    yield f"<details><summary>{title}</summary><pre{anchor}>{text}</pre></details>"


def _linked(text: str) -> str:
    """JSON as HTML: names of schemas are links. A browser unfolds the target of a link."""
    return _SCHEMA_LINK.sub(r'<a href="#\1">\1</a>', escape(text))


def _anchor(name: str) -> str:
    return quote(name, safe="").replace("%", "_")
