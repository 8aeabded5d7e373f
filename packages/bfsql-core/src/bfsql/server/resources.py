"""Resources, prompts and completion: what a host offers to its user, answered by calls of tools.

So hooks, limits, deadlines and turns apply as in those. `resources.json` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from bfsql.answers import encode
from bfsql.call import Caller
from bfsql.errors import ToolError
from bfsql.graph import Graph
from bfsql.models.quotation import excerpt
from bfsql.tools.budget import Budget
from bfsql.tools.descriptions import FRAME
from bfsql.tools.operations import EVIDENCE_ITEMS
from bfsql.tools.verify import claims_of

_Turn: TypeAlias = Callable[
    [ServerRequestContext[Any, Any], str, Any],
    AbstractAsyncContextManager[tuple[Graph, Caller | None, str | None]],
]
_Reply: TypeAlias = Callable[[Graph, Caller | None, Any], Awaitable[types.Result]]

_LISTED = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_PROMPTS = {one["name"]: one for one in _LISTED["prompts"]}
_TEMPLATES = [UriTemplate.parse("bfsql://schema")] + [
    UriTemplate.parse(one["uriTemplate"]) for one in _LISTED["resourceTemplates"]
]
_ARGUMENTS = {t.template: t.variable_names for t in _TEMPLATES} | {
    name: [one["name"] for one in prompt["arguments"]] for name, prompt in _PROMPTS.items()
}
_LISTS = {"predicate": "predicates", "type": "entity_types"}
"""The parts of the schema that complete arguments; others are ids, or names in prompts."""
_MOST_VALUES = 100  # of a completion, by MCP
_FAILURES = ("busy", "deadline", "internal", "stopping", "store")  # not the request's fault


def sentence_of(error: ToolError) -> str:
    """The sentence of an error, which may quote what the client sent.

    A lone surrogate could not be encoded and would end the connection, so it is escaped.
    """
    return str(error).encode("utf-8", "replace").decode("utf-8")


def add_resources(server: Server[Any], turn: _Turn) -> None:
    """Add the handlers to a server; `turn` gives each that reads the graph and the caller."""

    def add(method: str, params: type[types.RequestParams], reply: _Reply) -> None:
        async def handle(ctx: ServerRequestContext[Any, Any], given: Any) -> types.Result:
            try:
                async with turn(ctx, method, given.model_dump()) as (graph, caller, name):
                    with graph.scope(caller, name):
                        return await reply(graph, caller, given)
            except ToolError as error:
                code = types.INTERNAL_ERROR if error.kind in _FAILURES else types.INVALID_PARAMS
                raise MCPError(code, sentence_of(error), error.kind) from None

        server.add_request_handler(method, params, handle)

    def add_list(method: str, result: type[types.Result]) -> None:
        async def handle(*_: Any) -> types.Result:
            return result.model_validate(_LISTED)

        server.add_request_handler(method, types.PaginatedRequestParams, handle)

    add("resources/read", types.ReadResourceRequestParams, _resource)
    add("prompts/get", types.GetPromptRequestParams, _prompt)
    add("completion/complete", types.CompleteRequestParams, _completion)
    add_list("resources/list", types.ListResourcesResult)
    add_list("resources/templates/list", types.ListResourceTemplatesResult)
    add_list("prompts/list", types.ListPromptsResult)


async def _resource(
    graph: Graph, caller: Caller | None, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    return types.ReadResourceResult(contents=[await _contents(graph, caller, params.uri)])


async def _contents(graph: Graph, caller: Caller | None, uri: str) -> types.TextResourceContents:
    matches = ((one.template.split("/")[2], one.match(uri)) for one in _TEMPLATES)
    found: Any = next((one for one in matches if one[1] is not None), ("", {}))
    kind, values = found
    if kind in ("schema", "entity"):
        text = (await graph.call(f"describe_{kind}", values, caller=caller)).text
    elif kind in ("claim", "evidence"):
        text = await _verdict(graph, caller, **values)
    else:
        known = ", ".join(one.template for one in _TEMPLATES)
        sentence = f"There is no resource {excerpt(uri)}. The resources are {known}"
        raise ToolError(f"{sentence}, with percent-encoded parts.", kind="bad_value")
    return types.TextResourceContents(uri=uri, text=text, _meta=FRAME)


async def _verdict(graph: Graph, caller: Caller | None, claim: str = "", **edge: str) -> str:
    """The verdict on one claim, or on an edge of given ids with more of its evidence, as JSON."""
    if edge:
        quotes = ["`" if '"' in edge[end] else '"' for end in ("subject", "object")]
        claim = "{0}{subject}{0} -{predicate}-> {1}{object}{1}".format(*quotes, **edge)
    elif len(list(claims_of(claim))) > 1:
        raise ToolError("These are several claims; read each by itself.", kind="bad_value")
    verdicts = await graph.verify(claim, caller=caller)
    if edge and (most := min(verdicts[0].evidence_count, EVIDENCE_ITEMS)) > 1:
        more = [f"{claim} #{number}" for number in range(2, most + 1)]
        verdicts += await graph.verify("\n".join(more), caller=caller)
    items = [item for one in verdicts for item in one.evidence]

    def text(count: int) -> bytes:
        verdict = verdicts[0].model_copy(update={"evidence": items[:count]})
        return encode(verdict.model_dump(exclude_defaults=True))

    return text(Budget.of(graph.limits).longest(len(items), text)).decode()


async def _prompt(
    graph: Graph, caller: Caller | None, params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    given, known = params.arguments or {}, _PROMPTS.get(params.name)
    required = {one["name"] for one in known["arguments"] if one.get("required")} if known else ()
    if not known or not {*required} <= given.keys() <= {*_ARGUMENTS[params.name]}:
        takes = "; ".join(f"{name}({', '.join(_ARGUMENTS[name])})" for name in _PROMPTS)
        sentence = f"There is no prompt {excerpt(params.name)} with {excerpt(list(given))}."
        raise ToolError(f"{sentence} The prompts and arguments are {takes}.", kind="bad_value")
    told = {key: json.dumps(one, ensure_ascii=False) for key, one in given.items()}
    text = known["text"].format(**{"type": "all types"} | told)
    content: list[types.ContentBlock] = [types.TextContent(text=text)]
    for template in known["resources"]:
        uri = UriTemplate.parse(template).expand(given)
        content.append(types.EmbeddedResource(resource=await _contents(graph, caller, uri)))
    messages = [types.PromptMessage(role="user", content=one) for one in content]
    return types.GetPromptResult(description=known["description"], messages=messages)


async def _completion(
    graph: Graph, caller: Caller | None, params: types.CompleteRequestParams
) -> types.CompleteResult:
    of, name, text = params.ref, params.argument.name, params.argument.value.strip()
    place, key = (of.name, "name") if isinstance(of, types.PromptReference) else (of.uri, "id")
    if name not in _ARGUMENTS.get(place, ()):
        sentence = f"{excerpt(place)} has no argument {excerpt(name)} that could be completed."
        raise ToolError(f"{sentence} Known are {', '.join(_ARGUMENTS)}.", kind="bad_value")
    values: list[str] = []
    if part := _LISTS.get(name):
        schema = await graph.call("describe_schema", {}, caller=caller)
        values = [one for one in schema.document[part] if text.casefold() in one.casefold()]
        values.sort(key=lambda one: not one.casefold().startswith(text.casefold()))
    elif text and name != "claim":
        found = await graph.call("search_entities", {"query": text}, caller=caller)
        hits = found.document["result"]
        values = list(dict.fromkeys(hit.get(key) or hit["id"] for hit in hits))
    shown, total = values[:_MOST_VALUES], len(values)
    completion = types.Completion(values=shown, total=total, has_more=len(shown) < total)
    return types.CompleteResult(completion=completion)
