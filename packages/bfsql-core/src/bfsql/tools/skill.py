"""A skill, as agents keep them: what a graph is for and how it is asked, on one page.

Its calls were run on the graph. `skill.md` is what the pages of all graphs have in common.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

from bfsql.answers import Answer, encode
from bfsql.answers.notes import counted
from bfsql.answers.schema_text import relation_text
from bfsql.call import Caller
from bfsql.errors import ToolError, bad_value, listing
from bfsql.masking import one_line
from bfsql.models.characters import escaped
from bfsql.tools.operations import Operations
from bfsql.tools.schema import OUTLINE_SECONDS
from bfsql.tools.schema_in_prompt import is_name, named_relations, worked_calls

SKILL_NAME = "ask-this-graph"
SKILL_SIGN = "MCP server BFS-QL"  # in each page, and in no other skill
_CALLS, _TYPES, _RELATIONS = 6, 40, 60  # the most of a page
_NAME = re.compile(r": NAME2?$")


class Skill(NamedTuple):
    """A page, and the description in its front matter."""

    description: str
    page: str


async def skill_of(operations: Operations, about: str, caller: Caller | None) -> Skill:
    """Make the skill of a graph for a caller, within the time of one call; hooks see each call.

    Args:
        operations: Those of the graph.
        about: The operator's description of the graph.
        caller: As in `Operations.run`.
    """
    known, run = operations.graph_schema, partial(operations.run, caller=caller)
    calls: list[str] = []
    with operations.scope(caller, None):
        await run("describe_schema")  # hooks may refuse it
        schema, (outline, _) = await known.lists(), await known.outline(OUTLINE_SECONDS)
        examples = worked_calls(schema, outline, patterns=operations.db.lists_entities())
        for one in [*examples.values()][:1]:  # plain calls, where some of the others find nothing
            kind = re.split(r"\[|:\*$|: NAME$", one["seeds"][0])[0]
            first = {"seeds": [f"{kind}:*"], "fields": ["name"], "limit": 5}
            examples["all next to it"] = {"seeds": [f"{kind}: NAME"], "path": ["--"], "limit": 5}
            examples |= {"the best connected": {**first, "sort_by": "-degree"}, "the first": first}
        for purpose, example in examples.items():
            if len(calls) < _CALLS and (answered := await _answered(run, example)):
                calls.append(f"- {purpose}, {answered}")
    counts = outline.node_counts if outline else {}
    names = sorted(filter(is_name, schema.entity_types), key=lambda one: -counts.get(one, 0))
    relations = [f"`{relation_text(one)}`" for one in named_relations(outline)]
    about = escaped(one_line(about))
    named = listing(names, 6) or "no type"  # with more, 1,024 characters might not do
    description = (
        f"Asks a knowledge graph of {named} by the tools of the {SKILL_SIGN}: what there is, how "
        f"it is connected, how many, which first, with what evidence. {about}."
    )
    template = Template(Path(__file__).with_suffix(".md").read_text("utf-8"))
    page = template.substitute(
        name=SKILL_NAME,
        description=json.dumps(description, ensure_ascii=False),
        about=about,
        types=listing(names, _TYPES) or "none",
        relations=listing(relations, _RELATIONS, "\n- "),
        calls="\n".join(calls),
    )
    return Skill(description, page)


async def _answered(run: Callable[..., Awaitable[Answer]], example: Mapping[str, Any]) -> str:
    """A call and what it found; empty if that is nothing.

    In place of NAME stand the ends of a walk that it finds: their names, or else their ids.
    """
    for by_name in (True, False):
        with suppress(ToolError):
            ends = {}
            if _NAME.search(example["seeds"][0]):
                ends = await _ends(run, example, by_name=by_name)
            arguments = {**example, **ends}
            found = await run("bfs_query", arguments)
            if count := found.document["node_count"]:
                return f"{counted(count, 'node')}: `bfs_query` `{encode(arguments).decode()}`"
    return ""


async def _ends(
    run: Callable[..., Awaitable[Answer]], example: Mapping[str, Any], *, by_name: bool
) -> dict[str, list[str]]:
    """Seeds, and `to` if the call has it, from the first walk of all entities of the type.

    Raises:
        ToolError: There is no such walk, or one whose ends can be named in a page.
    """
    where = [*example.get("where", ()), *(["2 != 0"] if "to" in example else ())]
    own = {"path": example.get("path") or example["along"], "where": where, "fields": ["name"]}
    sets = [_NAME.sub(":*", one) for one in example["seeds"]]
    found = (await run("bfs_query", {"seeds": sets, "show": "walks", "limit": 1, **own})).content
    nodes = {one["id"]: one for one in found["nodes"]}
    ends = [nodes[walk["nodes"][place]] for walk in found["walks"] for place in (0, -1)]
    texts = [str(one.get("metadata", {}).get("name", "")) if by_name else one["id"] for one in ends]
    if not texts or not all(map(is_name, texts)):
        raise bad_value("No walk has ends with such names.", "seeds")
    if by_name:
        texts = [f"{one['entity_type']}: {name}" for one, name in zip(ends, texts, strict=True)]
    return {key: [text] for key, text in zip(("seeds", "to"), texts, strict=True) if key in example}
