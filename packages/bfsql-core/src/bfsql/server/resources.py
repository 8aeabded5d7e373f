"""Resources, prompts, completion and the skill: what hosts offer, answered by calls of tools.

So hooks, limits, deadlines and turns apply as in those. `resources.json` lists them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from bfsql.answers import encode
from bfsql.call import Caller
from bfsql.errors import ToolError, bad_value
from bfsql.graph import Graph
from bfsql.models.quotation import excerpt
from bfsql.tools.budget import Budget
from bfsql.tools.descriptions import FRAME
from bfsql.tools.operations import EVIDENCE_ITEMS
from bfsql.tools.skill import SKILL_NAME
from bfsql.tools.verify import claims_of

_LISTED = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
_PROMPTS = {one["name"]: one for one in _LISTED["prompts"]}
_TEMPLATES = [
    UriTemplate.parse(one.get("uri") or one["uriTemplate"])
    for one in (*_LISTED["resources"], *_LISTED["resourceTemplates"])
]
_ARGUMENTS = {one.template: one.variable_names for one in _TEMPLATES} | {
    name: [one["name"] for one in prompt["arguments"]] for name, prompt in _PROMPTS.items()
}
_SKILL = f"skill://{SKILL_NAME}/SKILL.md"
# The parts of the schema that complete arguments; other values are ids, or names in prompts.
_LISTS = {"predicate": "predicates", "type": "entity_types"}
_FAILURES = ("busy", "deadline", "internal", "stopping", "store")  # not the request's fault


def sentence_of(error: ToolError) -> str:
    """The sentence of an error, without lone surrogates: they would end the connection."""
    return str(error).encode("utf-8", "replace").decode("utf-8")


def add_resources(server: Server, turn: Callable[..., AbstractAsyncContextManager[Any]]) -> None:
    """Add the handlers to a server; `turn` gives a request the graph, its caller and its id."""

    def add(method: str, params: type[types.RequestParams], reply: Callable[..., Any]) -> None:
        async def handle(ctx: ServerRequestContext[Any, Any], given: Any) -> Any:
            try:
                async with turn(ctx, method, given.model_dump()) as (graph, caller, name):
                    with graph.scope(caller, name):
                        return await reply(_Reader(graph, caller), given)
            except ToolError as error:
                code = types.INTERNAL_ERROR if error.kind in _FAILURES else types.INVALID_PARAMS
                raise MCPError(code, sentence_of(error), error.kind) from None

        server.add_request_handler(method, params, handle)

    def add_list(method: str, result: type[types.Result]) -> None:
        async def handle(*_: Any) -> types.Result:
            return result.model_validate(_LISTED)

        server.add_request_handler(method, types.PaginatedRequestParams, handle)

    add("resources/read", types.ReadResourceRequestParams, _Reader.resource)
    add("prompts/get", types.GetPromptRequestParams, _Reader.prompt)
    add("completion/complete", types.CompleteRequestParams, _Reader.completion)
    add("skills/list", types.PaginatedRequestParams, _Reader.skills)
    add("skills/get", types.ReadResourceRequestParams, _Reader.skills)
    add_list("resources/list", types.ListResourcesResult)
    add_list("resources/templates/list", types.ListResourceTemplatesResult)
    add_list("prompts/list", types.ListPromptsResult)
    server.extensions["io.modelcontextprotocol/skills"] = {}


class _Reader(NamedTuple):
    """Reads the graph for a caller."""

    graph: Graph
    caller: Caller | None

    async def resource(self, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri, mime = params.uri, ""
        matches: Any = ((one.template.split("/")[2], one.match(uri)) for one in _TEMPLATES)
        kind, values = next((one for one in matches if one[1] is not None), ("", {}))
        if kind == SKILL_NAME:
            text, mime = (await self.graph.skill(caller=self.caller)).page, "text/markdown"
        elif kind in ("schema", "entity"):
            text = (await self.graph.call(f"describe_{kind}", values, caller=self.caller)).text
        elif kind in ("claim", "evidence"):
            text = await self._verdict(**values)
        else:
            known = ", ".join(one.template for one in _TEMPLATES)
            sentence = f"There is no resource {excerpt(uri)}. The resources are {known}"
            raise bad_value(f"{sentence}, with percent-encoded parts.", "uri")
        meta = None if mime else FRAME
        read = types.TextResourceContents(uri=uri, text=text, mime_type=mime or None, _meta=meta)
        return types.ReadResourceResult(contents=[read])

    async def _verdict(self, claim: str = "", **edge: str) -> str:
        """The verdict on one claim, or on an edge of given ids with more of its evidence."""
        if edge:
            quotes = ["`" if '"' in edge[end] else '"' for end in ("subject", "object")]
            claim = "{0}{subject}{0} -{predicate}-> {1}{object}{1}".format(*quotes, **edge)
        elif len(list(claims_of(claim))) > 1:
            raise bad_value("These are several claims; read each by itself.", "claim")
        verdicts = await self.graph.verify(claim, caller=self.caller)
        if edge and (most := min(verdicts[0].evidence_count, EVIDENCE_ITEMS)) > 1:
            more = "\n".join(f"{claim} #{number}" for number in range(2, most + 1))
            verdicts += await self.graph.verify(more, caller=self.caller)
        items = [item for one in verdicts for item in one.evidence]

        def text(count: int) -> bytes:
            verdict = verdicts[0].model_copy(update={"evidence": items[:count]})
            return encode(verdict.model_dump(exclude_defaults=True))

        return text(Budget.of(self.graph.limits).longest(len(items), text)).decode()

    async def skills(self, params: Any) -> dict[str, Any]:
        """The entry of the skill, for `skills/get` and in the list of `skills/list` (SEP-2640)."""
        uri = getattr(params, "uri", None)
        if uri not in (None, _SKILL):
            raise bad_value(f"There is no skill {excerpt(uri)}. The skill is {_SKILL}.", "uri")
        skill = await self.graph.skill(caller=self.caller)
        page, front = skill.page.encode(), {"name": SKILL_NAME, "description": skill.description}
        file = {"uri": _SKILL, "digest": f"sha256:{sha256(page).hexdigest()}", "size": len(page)}
        entry = {"uri": _SKILL, "frontmatter": front, "resources": [file]}
        found = {"skill": entry} if uri else {"skills": [entry]}
        return {"resultType": "complete", **found, "ttlMs": 0, "cacheScope": "private"}

    async def prompt(self, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        given, known = params.arguments or {}, _PROMPTS.get(params.name)
        takes = {*_ARGUMENTS[params.name]} if known else set()
        if not known or not takes - {"type"} <= given.keys() <= takes:
            all_takes = "; ".join(f"{name}({', '.join(_ARGUMENTS[name])})" for name in _PROMPTS)
            sentence = f"There is no prompt {excerpt(params.name)} with {excerpt(list(given))}."
            raise bad_value(f"{sentence} The prompts and arguments are {all_takes}.", "name")
        told = {key: json.dumps(one, ensure_ascii=False) for key, one in given.items()}
        text = known["text"].format(**{"type": "all types"} | told)
        content: list[types.ContentBlock] = [types.TextContent(text=text)]
        for template in known["resources"]:
            uri = types.ReadResourceRequestParams(uri=UriTemplate.parse(template).expand(given))
            [read] = (await self.resource(uri)).contents
            content.append(types.EmbeddedResource(resource=read))
        messages = [types.PromptMessage(role="user", content=one) for one in content]
        return types.GetPromptResult(description=known["description"], messages=messages)

    async def completion(self, params: types.CompleteRequestParams) -> types.CompleteResult:
        of, name, text = params.ref, params.argument.name, params.argument.value.strip()
        place, key = (of.name, "name") if isinstance(of, types.PromptReference) else (of.uri, "id")
        if name not in _ARGUMENTS.get(place, ()):
            sentence = f"{excerpt(place)} has no argument {excerpt(name)} that could be completed."
            raise bad_value(f"{sentence} Known are {', '.join(_ARGUMENTS)}.", "name")
        values: list[str] = []
        if part := _LISTS.get(name):
            schema = await self.graph.call("describe_schema", {}, caller=self.caller)
            values = [one for one in schema.document[part] if text.casefold() in one.casefold()]
            values.sort(key=lambda one: not one.casefold().startswith(text.casefold()))
        elif text and name != "claim":
            hits = await self.graph.call("search_entities", {"query": text}, caller=self.caller)
            values = list(
                dict.fromkeys(one.get(key) or one["id"] for one in hits.document["result"])
            )
        shown, total = values[:100], len(values)  # the most that MCP allows
        completion = types.Completion(values=shown, total=total, has_more=len(shown) < total)
        return types.CompleteResult(completion=completion)
