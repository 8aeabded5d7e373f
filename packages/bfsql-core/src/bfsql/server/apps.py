"""The card in the chat (MCP Apps): a document that hosts show beside the answer of a tool.

What a model reads does not depend on it: the card is a resource, tools name it in their `_meta`,
and an answer in lines has its document there, for clients that offer the extension.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Any, TypeAlias

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp_types import (
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextResourceContents,
    Tool,
)

from bfsql.answers import Answer
from bfsql.answers.write import Document
from bfsql.serving.live import LiveGraph

_Context: TypeAlias = ServerRequestContext[LiveGraph, Any]

EXTENSION = "io.modelcontextprotocol/ui"
MIME_TYPE = "text/html;profile=mcp-app"
URI = "ui://bfsql/graph"

ANSWER = "bfsql/answer"
"""The field of an answer's `_meta` with its document."""

MOST_DRAWN = 300
"""Most nodes and walks in the document for the card."""

_TOOLS = frozenset({"bfs_query", "intersect_subgraphs", "describe_entity"})
_ADDRESS = 'name="explorer" content="'


def is_shown(ctx: _Context) -> bool:
    """Whether the client of a request shows the card, and the operator lets it."""
    capabilities = ctx.session.client_capabilities
    offered = (capabilities and capabilities.extensions) or {}
    types = offered.get(EXTENSION, {}).get("mimeTypes")
    return ctx.lifespan_context.settings.apps and isinstance(types, list) and MIME_TYPE in types


def with_card(tools: Sequence[Tool]) -> list[Tool]:
    """The tools, of which those with pictures name the card."""
    meta = {"ui": {"resourceUri": URI}}
    return [t.model_copy(update={"meta": meta}) if t.name in _TOOLS else t for t in tools]


def add_card(server: Server[LiveGraph]) -> None:
    """Add the card to the resources of a server."""
    for method, params, handle in (
        ("resources/list", PaginatedRequestParams, _list),
        ("resources/read", ReadResourceRequestParams, _read),
    ):
        others = server.get_request_handler(method)
        assert others is not None
        server.add_request_handler(method, params, partial(handle, others.handler))


async def _list(
    others: Callable[..., Awaitable[Any]], ctx: _Context, params: PaginatedRequestParams
) -> ListResourcesResult:
    listed: ListResourcesResult = await others(ctx, params)
    if is_shown(ctx):
        card = Resource(uri=URI, name="graph", title="Picture of an answer", mime_type=MIME_TYPE)
        listed.resources.append(card)
    return listed


async def _read(
    others: Callable[..., Awaitable[Any]], ctx: _Context, params: ReadResourceRequestParams
) -> ReadResourceResult:
    settings = ctx.lifespan_context.settings
    if params.uri != URI or not settings.apps:
        read: ReadResourceResult = await others(ctx, params)
        return read
    text = _card().replace(_ADDRESS, _ADDRESS + escape(settings.explorer or ""))
    meta = {"ui": {"prefersBorder": False, "permissions": {"clipboardWrite": {}}}}
    content = TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=text, _meta=meta)
    return ReadResourceResult(contents=[content])


@cache
def _card() -> str:
    return files("bfsql").joinpath("explore/card/graph.html").read_text("utf-8")


def drawn_document(tool: str, answer: Answer) -> Document | None:
    """The document of an answer in lines, without what the card has no room for.

    `left_out` has the numbers. Properties are for tables of nodes, which have four columns; beside
    a picture, walks and a ranking the card shows names and numbers of passages, and no summary.
    None for an answer in JSON, which the card reads as it is, and of a tool without a picture.
    """
    if answer.is_json or tool not in _TOOLS:
        return None
    document, left_out = dict(answer.document), {}
    if tool == "describe_entity":  # whose properties may have any name
        return document
    for name in ("nodes", "walks"):
        if (more := len(document.get(name, ())) - MOST_DRAWN) > 0:
            document[name], left_out[name] = document[name][:MOST_DRAWN], more
    ids = {node["id"] for node in document["nodes"]}
    edges = [e for e in document["edges"] if e["subject"] in ids and e["object"] in ids]
    if more := len(document["edges"]) - len(edges := edges[: 4 * MOST_DRAWN]):
        left_out["edges"] = more
    document["edges"] = [_with_only({"evidence_count"}, one) for one in edges]
    if "walks" in document:
        document["walks"] = [{"nodes": row["nodes"]} for row in document["walks"]]
    columns = {"name"}
    if facets := document.get("facets"):
        document["facets"] = {key: _drawn_facet(one) for key, one in facets.items()}
    if not facets and (edges or document.keys() & {"walks", "shown_count"}):
        document.pop("schema_summary", None)
    else:
        uses = Counter(key for node in document["nodes"] for key in node.get("metadata", ()))
        del uses["name"]
        columns |= {key for key, _ in uses.most_common(4)}
        if (more := len(uses) + 1 - len(columns)) > 0:
            left_out["columns"] = more
    document["nodes"] = [_with_only(columns, one) for one in document["nodes"]]
    return document | ({"left_out": left_out} if left_out else {})


def _with_only(keys: set[str], record: Document) -> Document:
    if (own := record.get("metadata")) is None:
        return record
    return record | {"metadata": {name: own[name] for name in own if name in keys}}


def _drawn_facet(facet: Document, most: int = 12) -> Document:
    values, others = facet["values"], facet.get("other_values", 0)
    return {"values": values[:most], "other_values": others + max(0, len(values) - most)}
