"""The API's description of itself: the OpenAPI document, and a page that loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import quote

from bfsql.answers import encode
from bfsql.rest.api import Api
from bfsql.rest.asked import Asked
from bfsql.rest.openapi import openapi
from bfsql.rest.reply import Reply

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

_SHAPE = re.compile(r"&quot;#/components/schemas/(\w+)&quot;")

_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 56rem; padding: 0 1rem }
code, pre { font-size: .9em } pre { background: #8881; overflow: auto; padding: .7rem }
p { white-space: pre-line } h2 { border-top: 1px solid #8886; padding-top: 1rem }
td { padding-right: 1rem; vertical-align: top } summary { cursor: pointer }
:root { color-scheme: light dark }"""


async def document(api: Api, asked: Asked) -> Reply:
    """`GET /openapi.json`."""
    asked.only("The description", ())
    return Reply(encode(_openapi(api)))


async def page(api: Api, asked: Asked) -> Reply:
    """`GET /docs`."""
    asked.only("The description", ())
    text = "\n".join(_page(_openapi(api)))
    headers = {"Content-Security-Policy": _POLICY, "X-Content-Type-Options": "nosniff"}
    return Reply(text.encode(), "text/html", headers)


def _openapi(api: Api) -> dict[str, Any]:
    return openapi(api.graph.definitions(), token=api.token)


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
        yield from _operation(operation)
    yield "<h2>Shapes</h2>"
    for name, schema in described["components"]["schemas"].items():
        yield from _folded(escape(name), schema, name)
    yield "</body></html>"


def _operation(operation: dict[str, Any]) -> Iterator[str]:
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
    for status, answer in operation["responses"].items():
        for kind, content in answer.get("content", {"": {}}).items():
            if status == "200" and content:
                yield from _folded(f"Answer, {escape(kind)}", content["schema"])
    others = [status for status in operation["responses"] if status != "200"]
    yield f"<p>Otherwise: {', '.join(others)}.</p>"


def _brief(schema: dict[str, Any]) -> str:
    names = {"minimum": "at least", "maximum": "at most", "default": "default"}
    kind = " or ".join(schema["enum"]) if "enum" in schema else schema["type"]
    return ", ".join([kind, *(f"{names[k]} {v}" for k, v in schema.items() if k in names)])


def _folded(title: str, schema: dict[str, Any], name: str = "") -> Iterator[str]:
    """A shape to unfold; one that is nothing but another's name is a link to that one."""
    if "$ref" in schema:
        yield f"<p>{title}: {_linked(json.dumps(schema['$ref']))}</p>"
        return
    text = _linked(json.dumps(schema, indent=2, ensure_ascii=False))
    anchor = f' id="{_anchor(name)}"' if name else ""
    yield f"<details><summary>{title}</summary><pre{anchor}>{text}</pre></details>"


def _linked(text: str) -> str:
    """JSON as HTML: names of shapes lead to them. A browser unfolds what a link leads to."""
    return _SHAPE.sub(r'<a href="#\1">\1</a>', escape(text))


def _anchor(name: str) -> str:
    return quote(name, safe="").replace("%", "_")
