"""Ids as a call names them, to nodes that exist (`protocol.md` 12, 24)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bfsql.abc import AdaptedGraphDb, each
from bfsql.answers.clean import clean_text
from bfsql.answers.encode import plain
from bfsql.engine.timing import within
from bfsql.errors import ToolError
from bfsql.models import EntityStub, Node
from bfsql.tools.check import shown

NEAR = 5
"""Known ids that an error suggests."""

_BREAKS = re.compile(r"[:/#]")


async def known_nodes(db: AdaptedGraphDb, ids: Sequence[str]) -> tuple[list[Node], list[str]]:
    """The nodes of these ids in the order given, each once; and the ids that have none.

    One batch; its answers carry the canonical ids. Beside answers, an id without
    one may be another spelling, of a node that was asked for by its own id too;
    a batch does not tell, so these are asked for by themselves.
    """
    asked = list(dict.fromkeys(i for i in ids if _is_text(i)))
    found: dict[str, Node | None] = {}
    if asked:
        found |= {node.id: node for node in await within(db.get_nodes_batch(asked))}
    if found:
        respelled = [i for i in asked if i not in found]
        alone = await within(each(respelled, db.get_node))
        found |= dict(zip(respelled, alone, strict=True))
    nodes: dict[str, Node] = {}
    unknown: list[str] = []
    for entity_id in dict.fromkeys(ids):
        node = found.get(entity_id)
        if node is None:
            unknown.append(entity_id)
        else:
            nodes[node.id] = node
    return list(nodes.values()), unknown


async def require(db: AdaptedGraphDb, argument: str, ids: Sequence[str]) -> list[Node]:
    """The nodes of these ids, all of which must exist.

    Raises:
        ToolError: The first one that does not, with the closest known ids.
    """
    nodes, unknown = await known_nodes(db, ids)
    if unknown:
        raise await _no_such(db, argument, unknown)
    return nodes


async def _no_such(db: AdaptedGraphDb, argument: str, unknown: Sequence[str]) -> ToolError:
    first = unknown[0]
    others = f" (nor of {len(unknown) - 1} more)" if len(unknown) > 1 else ""
    near = await _near(db, first)
    if near:
        candidates = "; ".join(_candidate(stub) for stub in near)
        hint = f"The closest known ids: {candidates}."
    else:
        hint = "Nothing similar was found."
    return ToolError(
        f"{argument}: there is no entity with the id {shown(first)}{others}. {hint} "
        "Ids are exact; call search_entities with a name to get them.",
        kind="unknown_entity",
        argument=argument,
    )


async def _near(db: AdaptedGraphDb, entity_id: str) -> list[EntityStub]:
    """Candidates from one search on the id's last segment, never a scan."""
    segment = next((s for s in reversed(_BREAKS.split(entity_id)) if s.strip()), "")
    if not segment or not _is_text(segment):
        return []
    try:
        found = await within(db.search_entities(segment))
    except TimeoutError:
        return []
    return found[:NEAR]


def _candidate(stub: EntityStub) -> str:
    name = f"{clean_text(stub.name)}, " if stub.name else ""
    return f"{plain(stub.id)} ({name}{plain(stub.entity_type)})"


def _is_text(entity_id: str) -> bool:
    """Whether the id has a UTF-8 form; one with a lone surrogate is unknown to every store."""
    try:
        entity_id.encode()
    except UnicodeEncodeError:
        return False
    return True
