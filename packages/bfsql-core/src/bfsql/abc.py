"""The contract between core and a store: eight questions, and better ways to answer.

Eight abstract methods are the whole duty of a backend (chapter 8: "deliberately
primitive -- eight methods, all basic graph navigation, no traversal
intelligence"). Beside them stand methods with a working default, made from the
eight; a backend overrides those for which its store has something better. They
are new abilities, never new duties.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from bfsql.models.evidence import evidence_items
from bfsql.models.records import Edge, EntityStub, Metadata, Node, Triple

CONTRACT = 1
"""Number of this contract. A plugin states the one that it was written for."""

PROVENANCE_EDGES = 50
"""Edges that the default `provenance_for_node` looks at (`protocol.md` 16)."""

FAN_OUT = 16
"""Single calls that a default batch method keeps under way at once."""

DEFAULT_NEXT_STEPS = (
    "Resolve names to ids with search_entities. Survey a neighbourhood with "
    "bfs_query(seeds, max_hops=1, topology_only=true), read its schema_summary, expand what "
    "matters with describe_entities, then ask again with node_types and predicates."
)

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class GraphDbInterface(ABC):
    """Primitive graph navigation over one store, read only.

    A backend returns fresh data on every call and never caches: core decides
    what is kept (chapter 8: "Backends stay simple").
    """

    # --- the eight ----------------------------------------------------------

    @abstractmethod
    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> Iterable[EntityStub]:
        """Candidates for a name or alias, most likely first, at most 20.

        Args:
            query: What a person would call the entity, or its id.
            node_types: Types to keep, or None for all. A backend may leave this
                argument out of its signature: core filters in every case.
        """

    @abstractmethod
    async def edges_from(self, entity_id: str) -> Iterable[Edge]:
        """All edges that leave the entity.

        Raises:
            KeyError: No such entity. One without edges gives nothing.
        """

    @abstractmethod
    async def edges_to(self, entity_id: str) -> Iterable[Edge]:
        """All edges that enter the entity.

        Raises:
            KeyError: No such entity. One without edges gives nothing.
        """

    @abstractmethod
    async def get_node(self, entity_id: str) -> Node:
        """Id and type of the entity: "the identity call, not the metadata call".

        Raises:
            KeyError: No such entity.
        """

    @abstractmethod
    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity.

        Raises:
            KeyError: No such entity.
        """

    @abstractmethod
    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge; verbose evidence under `provenance`.

        Raises:
            KeyError: No such edge.
        """

    @abstractmethod
    async def entity_types(self) -> Sequence[str]:
        """Every value that occurs as `entity_type`, sorted."""

    @abstractmethod
    async def predicates(self) -> Sequence[str]:
        """Every value that occurs as `predicate`, sorted."""

    # --- better ways to answer, where the store has them ---------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> Iterable[Node]:
        """The nodes that exist, each once; unknown ids are left out."""
        found = await each(ids, self.get_node)
        return [node for node in found if node is not None]

    async def edges_batch(self, ids: Sequence[str]) -> Iterable[Triple]:
        """Every edge with an asked id at either end: one ring, in one go.

        An id that is no node gives nothing. An edge may come twice, in any
        order; core removes duplicates and sorts.
        """
        nodes = [node.id for node in await self.get_nodes_batch(ids)]
        leaving = await each(nodes, self.edges_from)
        entering = await each(nodes, self.edges_to)
        return [(s, p, o) for edges in (*leaving, *entering) for s, p, o in edges or ()]

    async def metadata_for_nodes_batch(self, ids: Sequence[str]) -> dict[str, Metadata]:
        """Metadata by id; unknown ids are left out."""
        return _found(ids, await each(ids, self.metadata_for_node))

    async def metadata_for_edges_batch(self, edges: Collection[Triple]) -> dict[Triple, Metadata]:
        """Metadata by triple; unknown edges are left out."""
        asked = [Edge(*edge) for edge in edges]
        return _found(asked, await each(asked, self.metadata_for_edge))

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence that touches an entity (`protocol.md` 16).

        Args:
            entity_id: An entity that exists.
            limit: Items to give at the most.

        Returns:
            `{"total": n, "items": [...]}` where an item has `subject`, `predicate`,
            `object`, `document_id`, `section`, `text_span` and `confidence`; and
            `edges_read` where not all edges were looked at (`total` is then None).
        """
        edges = sorted(set(await self.edges_batch([entity_id])))
        looked_at = edges[:PROVENANCE_EDGES]
        metadata = await self.metadata_for_edges_batch(looked_at)
        items = [item for edge in looked_at for item in evidence_items(edge, metadata.get(edge))]
        if len(looked_at) == len(edges):
            return {"total": len(items), "items": items[:limit]}
        return {"total": None, "items": items[:limit], "edges_read": len(looked_at)}

    async def comprehensive(self) -> bool:
        """Whether the two lists of the schema are complete."""
        return True

    async def next_steps(self) -> str:
        """Advice for the model that only this backend can give."""
        return DEFAULT_NEXT_STEPS

    async def close(self) -> None:  # noqa: B027 - most stores have nothing to give back
        """Give back connections and files; the backend is not used again."""


async def search(
    db: GraphDbInterface, query: str, node_types: Sequence[str] = ()
) -> list[EntityStub]:
    """Ask a backend for candidates, whether or not its signature takes `node_types`.

    Some backends of the author's own do not (chapter 12: "Do not filter by
    entity type here -- that is the caller's job"); so the types are passed where
    they are taken, and filtered here in every case, each id once.
    """
    types = list(node_types)
    by_name, by_position = _takes_node_types(db) if types else (False, False)
    if by_name:
        found = await db.search_entities(query, node_types=types)
    elif by_position:
        found = await db.search_entities(query, types)
    else:
        found = await db.search_entities(query)
    wanted = frozenset(types)
    kept = (stub for stub in found if not wanted or stub.entity_type in wanted)
    first: dict[str, EntityStub] = {}
    for stub in kept:
        first.setdefault(stub.id, stub)
    return list(first.values())


async def comprehensive(db: GraphDbInterface) -> bool:
    """Whether the schema's lists are complete; the method may be plain or async."""
    answer: Any = db.comprehensive()
    return bool(await answer if inspect.isawaitable(answer) else answer)


async def next_steps(db: GraphDbInterface) -> str:
    """The backend's advice; the method may be plain or async."""
    answer: Any = db.next_steps()
    return str(await answer if inspect.isawaitable(answer) else answer)


def _takes_node_types(db: GraphDbInterface) -> tuple[bool, bool]:
    """Whether the backend's search takes the types by name, and whether by position alone.

    A second parameter of another name may be anything, a limit for instance.
    """
    parameters = inspect.signature(db.search_entities).parameters.values()
    named = {p.kind for p in parameters if p.name == "node_types"}
    kinds = {p.kind for p in parameters}
    positional = named == {inspect.Parameter.POSITIONAL_ONLY}
    by_name = bool(named or inspect.Parameter.VAR_KEYWORD in kinds) and not positional
    return by_name, positional or inspect.Parameter.VAR_POSITIONAL in kinds


async def each(
    keys: Sequence[_Key], ask: Callable[[_Key], Awaitable[_Value]]
) -> list[_Value | None]:
    """Ask for every key, `FAN_OUT` at once; None where the answer was KeyError."""
    answers: list[_Value | None] = [None] * len(keys)
    waiting = iter(enumerate(keys))

    async def work() -> None:
        for position, key in waiting:
            try:
                answers[position] = await ask(key)
            except KeyError:
                continue

    workers = [asyncio.ensure_future(work()) for _ in range(min(FAN_OUT, len(keys)))]
    try:
        await asyncio.gather(*workers)  # not a TaskGroup: the store's own error has to come out
    finally:
        for worker in workers:
            worker.cancel()
    return answers


def _found(keys: Sequence[_Key], values: Sequence[_Value | None]) -> dict[_Key, _Value]:
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}
