"""The card in the chat (MCP Apps): a document that hosts show beside the answer of a tool.

What a model reads does not depend on it: the card is a resource, tools name it in their `_meta`,
and an answer in lines has its document there, for clients that offer the extension.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    ClientCapabilities,
    ListResourcesResult,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
    Tool,
)

from bfsql.answers import Answer
from bfsql.answers.write import Document
from bfsql.models.quotation import excerpt
from bfsql.settings import ServeSettings

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
URI = "ui://bfsql/graph"

ANSWER = "bfsql/answer"
"""The field of an answer's `_meta` with its document."""

MOST_DRAWN = 300
"""Most nodes, walks and values of a group in the document for the card."""

_TOOLS = frozenset({"bfs_query", "intersect_subgraphs", "describe_entity"})
_ADDRESS = 'name="explorer" content="'


def is_offered(capabilities: ClientCapabilities | None) -> bool:
    """Whether a client says that it shows documents of this kind."""
    offered = capabilities.extensions if capabilities else None
    types = (offered or {}).get(EXTENSION, {}).get("mimeTypes")
    return isinstance(types, list) and MIME_TYPE in types


def with_card(tools: Sequence[Tool]) -> list[Tool]:
    """The tools, of which those with pictures name the card."""
    meta = {"ui": {"resourceUri": URI}}
    return [t.model_copy(update={"meta": meta}) if t.name in _TOOLS else t for t in tools]


def resources(*, offered: bool) -> ListResourcesResult:
    """The card, for a client that shows it."""
    card = Resource(
        uri=URI,
        name="graph",
        title="Picture of an answer",
        description="What bfs_query, intersect_subgraphs and describe_entity found.",
        mime_type=MIME_TYPE,
    )
    return ListResourcesResult(resources=[card] if offered else [])


def resource(params: ReadResourceRequestParams, settings: ServeSettings) -> ReadResourceResult:
    """The card with the address of the page.

    Raises:
        MCPError: The client asks for another resource.
    """
    if params.uri != URI:
        raise MCPError(
            INVALID_PARAMS, f"There is no resource {excerpt(params.uri)}. The only one is {URI}."
        )
    text = _card().replace(_ADDRESS, _ADDRESS + escape(settings.explorer or ""))
    meta = {"ui": {"prefersBorder": False, "permissions": {"clipboardWrite": {}}}}
    content = TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=text, _meta=meta)
    return ReadResourceResult(contents=[content])


@cache
def _card() -> str:
    return files("bfsql").joinpath("explore/card/graph.html").read_text("utf-8")


def drawn_document(tool: str, answer: Answer) -> Document | None:
    """The document of an answer in lines, without what the card has no room for.

    `left_out` has the numbers. None for an answer in JSON, which the card reads as it is, and of a
    tool without a picture.
    """
    if answer.is_json or tool not in _TOOLS:
        return None
    document, left_out = dict(answer.document), {}
    if tool == "describe_entity":  # whose properties may have any name
        return document
    for name in ("nodes", "walks"):
        if (more := len(document.get(name, ())) - MOST_DRAWN) > 0:
            document[name], left_out[name] = document[name][:MOST_DRAWN], more
    if "nodes" in left_out:
        ids = {node["id"] for node in document["nodes"]}
        edges = [e for e in document["edges"] if e["subject"] in ids and e["object"] in ids]
        document["edges"], left_out["edges"] = edges, len(document["edges"]) - len(edges)
    if "facets" in document:
        document["facets"] = {name: _facet(one) for name, one in document["facets"].items()}
    return document | ({"left_out": left_out} if left_out else {})


def _facet(facet: dict[str, Any]) -> dict[str, Any]:
    return facet | {"values": facet["values"][:MOST_DRAWN]}
