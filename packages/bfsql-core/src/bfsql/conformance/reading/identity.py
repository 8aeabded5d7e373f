"""Ids: known ones lead to their node, unknown ones are a KeyError."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from bfsql.conformance.reading.looking import UNKNOWN, sample
from bfsql.conformance.rule import Broken, expect, rule
from bfsql.conformance.trial import Trial
from bfsql.models import Edge


@rule(
    "own-identity",
    "a node's id leads to the node itself",
    source="protocol 24: answers carry the canonical id; core uses and echoes that one",
    mode="reading",
)
async def own_identity(trial: Trial) -> None:
    """The canonical id of a node is its own canonical id."""
    async with trial.opened() as db:
        for entity_id in await sample(trial, db):
            node = await db.get_node(entity_id)
            expect(
                {type(node.id), type(node.entity_type)} <= {str},
                f"get_node({entity_id!r}) gave {node}: id and entity_type have to be texts.",
            )
            expect(node.entity_type, f"get_node({entity_id!r}) has no type; protocol 8 wants one.")
            again = await db.get_node(node.id)
            expect(
                again.id == node.id,
                f"get_node({entity_id!r}) is {node.id!r}, whose own get_node is {again.id!r}.",
            )


@rule(
    "unknown-ids",
    "unknown ids raise KeyError",
    source="chapter 8: the five calls for one entity or edge raise KeyError for an unknown one",
    mode="reading",
)
async def unknown_ids(trial: Trial) -> None:
    """All five single calls, for plain and for hostile ids."""
    async with trial.opened() as db:
        [known, *_] = await sample(trial, db)
        for entity_id in UNKNOWN:
            for ask in (db.get_node, db.edges_from, db.edges_to, db.metadata_for_node):
                await _key_error(ask, entity_id)
        for edge in (
            Edge(known, "no such predicate", known),
            Edge(UNKNOWN[0], UNKNOWN[1], UNKNOWN[0]),
        ):
            await _key_error(db.metadata_for_edge, edge)


async def _key_error(ask: Callable[[Any], Awaitable[Any]], key: Any) -> None:
    asked = f"{ask.__name__}({key!r})"
    try:
        answer = await ask(key)
    except KeyError:
        return
    except Exception as other:
        raise Broken(f"{asked} raised {type(other).__name__}: {other}, not KeyError.") from other
    raise Broken(f"{asked} gave {answer!r} and raised no KeyError.")
