"""Backends that wrap another backend: to change its answers, and to find out its abilities.

A backend may leave out optional methods, and optional arguments of the methods it has. `adapted`
adds the missing ones, so that core calls every backend in the same way.
"""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Sequence,
)
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from bfsql.abc.interface import GraphDbInterface, takes
from bfsql.models.outline import Outline
from bfsql.models.parts import EdgeFilter, TypedTriple, only, part_of
from bfsql.models.records import Edge, EdgeDirection, EntityStub, Metadata, Node, Triple

if TYPE_CHECKING:  # numpy is imported only by users of columns
    from bfsql.integers import IntegerGraph, NumberedRings

_Value = TypeVar("_Value")
_P = ParamSpec("_P")


def implements(db: GraphDbInterface, method: str) -> bool:
    """Whether a backend overrides a method that has a default in the interface."""
    return getattr(type(_behind(db)), method) is not getattr(GraphDbInterface, method)


def accepts(db: GraphDbInterface, method: str, argument: str) -> bool:
    """Whether a method of a backend takes an argument that older signatures lack."""
    return takes(getattr(type(_behind(db)), method), argument)


class ForwardingBackend(GraphDbInterface):
    """A backend that passes every call on to another one; subclasses override what they change.

    Backends written before this contract are called with their own signatures:
    `search_entities` may lack `node_types` or take them only by position (chapter
    12: "Do not filter by entity type here -- that is the caller's job"), and
    `comprehensive` and `next_steps` may be plain methods. A batch method that the
    inner backend lacks runs over this object, and thus over what a subclass changes.

    Args:
        inner: The backend to call.
    """

    def __init__(self, inner: GraphDbInterface) -> None:
        self._inner = inner

    async def _ask(
        self, method: Callable[_P, Awaitable[_Value]], *args: _P.args, **named: _P.kwargs
    ) -> _Value:
        """Call a method of the inner backend, plain or async; every call passes through here."""
        answer: Any = method(*args, **named)
        return cast("_Value", await answer if inspect.isawaitable(answer) else answer)

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> Iterable[EntityStub]:
        """Candidates, filtered here if the inner backend's signature takes no types."""
        types = list(node_types or ())
        if not types:
            return await self._ask(self._inner.search_entities, query)
        by_name, by_position = _takes_node_types(self._inner)
        if by_name:
            return await self._ask(self._inner.search_entities, query, node_types=types)
        if by_position:
            return await self._ask(self._inner.search_entities, query, types)
        found = await self._ask(self._inner.search_entities, query)
        return [stub for stub in found if stub.entity_type in types]

    async def edges_from(self, entity_id: str) -> Iterable[Edge]:
        """All edges that leave the entity."""
        return await self._ask(self._inner.edges_from, entity_id)

    async def edges_to(self, entity_id: str) -> Iterable[Edge]:
        """All edges that enter the entity."""
        return await self._ask(self._inner.edges_to, entity_id)

    async def get_node(self, entity_id: str) -> Node:
        """Id and type."""
        return await self._ask(self._inner.get_node, entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity."""
        return await self._ask(self._inner.metadata_for_node, entity_id)

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge."""
        return await self._ask(self._inner.metadata_for_edge, edge)

    async def entity_types(self) -> Sequence[str]:
        """The types."""
        return await self._ask(self._inner.entity_types)

    async def predicates(self) -> Sequence[str]:
        """The predicates."""
        return await self._ask(self._inner.predicates)

    async def get_nodes_batch(self, ids: Sequence[str]) -> Iterable[Node]:
        """The nodes that exist."""
        if not implements(self._inner, "get_nodes_batch"):
            return await super().get_nodes_batch(ids)
        return await self._ask(self._inner.get_nodes_batch, ids)

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> Iterable[Triple]:
        """A ring or a part of it, filtered here if the inner signature lacks the arguments."""
        part: EdgeFilter = {"predicates": predicates, "direction": direction}
        if not implements(self._inner, "edges_batch"):
            return await super().edges_batch(ids, **part)
        if accepts(self._inner, "edges_batch", "predicates"):
            return await self._ask(self._inner.edges_batch, ids, **part)
        return part_of(await self._ask(self._inner.edges_batch, ids), ids, **part)

    async def edges_stream(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]]:
        """A ring in batches, or a part of it."""
        part: EdgeFilter = {"predicates": predicates, "direction": direction}
        if not implements(self._inner, "edges_stream"):
            yield cast("Sequence[Triple]", list(await self.edges_batch(ids, **part)))
            return
        pushed = accepts(self._inner, "edges_stream", "predicates")
        ring = self._inner.edges_stream
        async with aclosing(ring(ids, **part) if pushed else ring(ids)) as batches:
            async for rows in batches:
                yield rows if pushed else part_of(cast("Sequence[Triple]", rows), ids, **part)

    def columns(self) -> IntegerGraph | None:
        """The graph in integers; a subclass that changes the topology has to override this."""
        return self._inner.columns()

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by id."""
        if not implements(self._inner, "metadata_for_nodes_batch"):
            return await super().metadata_for_nodes_batch(ids, keys)
        if accepts(self._inner, "metadata_for_nodes_batch", "keys"):
            return only(await self._ask(self._inner.metadata_for_nodes_batch, ids, keys), keys)
        return only(await self._ask(self._inner.metadata_for_nodes_batch, ids), keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple."""
        if not implements(self._inner, "metadata_for_edges_batch"):
            return await super().metadata_for_edges_batch(edges, keys)
        if accepts(self._inner, "metadata_for_edges_batch", "keys"):
            return only(await self._ask(self._inner.metadata_for_edges_batch, edges, keys), keys)
        return only(await self._ask(self._inner.metadata_for_edges_batch, edges), keys)

    async def outline(self) -> Outline | None:
        """An outline of the graph."""
        return await self._ask(self._inner.outline)

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence that touches an entity."""
        if not implements(self._inner, "provenance_for_node"):
            return await super().provenance_for_node(entity_id, limit)
        return await self._ask(self._inner.provenance_for_node, entity_id, limit)

    async def comprehensive(self) -> bool:
        """Whether the lists of the schema are complete."""
        return bool(await self._ask(self._inner.comprehensive))

    async def next_steps(self) -> str:
        """The backend's advice."""
        return str(await self._ask(self._inner.next_steps))

    def changed(self) -> Hashable | None:
        """Whether the inner backend's store holds another graph."""
        return self._inner.changed()

    async def ping(self) -> None:
        """Send the inner backend the smallest possible request."""
        await self._ask(self._inner.ping)

    async def may_write(self) -> str | None:
        """The reason why the account could change the graph."""
        return await self._ask(self._inner.may_write)

    async def close(self) -> None:
        """Close the inner backend."""
        await self._inner.close()


class PassThroughBackend(ForwardingBackend):
    """A backend that changes nothing; its optional abilities are those of the inner backend."""


def _behind(db: GraphDbInterface) -> GraphDbInterface:
    return _behind(db._inner) if isinstance(db, PassThroughBackend) else db  # noqa: SLF001


class NormalizedBackend(ForwardingBackend):
    """A backend of any signature, as core calls it.

    The candidates of a search are always filtered by type, and each id occurs once.
    The cache and the redaction are such backends; `adapted` wraps a backend that
    core uses without either.
    """

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates of the requested types, each once, in the backend's order."""
        wanted = frozenset(node_types or ())
        first: dict[str, EntityStub] = {}
        for stub in await super().search_entities(query, node_types):
            if not wanted or stub.entity_type in wanted:
                first.setdefault(stub.id, stub)
        return list(first.values())

    def forget_schema(self) -> None:
        """If there is a cache, make it request the schema again."""
        if isinstance(self._inner, NormalizedBackend):
            self._inner.forget_schema()

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The ring of a few nodes, from the store itself; None if it has more than `most` edges.

        Reading from the store stops there. No cache holds the ring.
        """
        if isinstance(self._inner, NormalizedBackend):
            return await self._inner.few_edges(ids, most)
        edges: set[Triple] = set()
        async with aclosing(ForwardingBackend.edges_stream(self, ids)) as batches:
            async for rows in batches:
                edges.update((row[0], row[1], row[2]) for row in rows)
                if len(edges) > most:
                    return None
        return edges

    def numbered(self) -> NumberedRings | None:
        """The rings that a cache holds in numbers, for one call; None if there is no cache."""
        return self._inner.numbered() if isinstance(self._inner, NormalizedBackend) else None


def adapted(db: GraphDbInterface) -> NormalizedBackend:
    """The backend as core calls it, whatever its signatures."""
    return db if isinstance(db, NormalizedBackend) else NormalizedBackend(db)


def _takes_node_types(db: GraphDbInterface) -> tuple[bool, bool]:
    """Whether the backend's search takes the types by name, and whether only by position.

    A second parameter with another name may be anything, a limit for instance.
    """
    parameters = inspect.signature(db.search_entities).parameters.values()
    named = {p.kind for p in parameters if p.name == "node_types"}
    kinds = {p.kind for p in parameters}
    positional = named == {inspect.Parameter.POSITIONAL_ONLY}
    by_name = bool(named or inspect.Parameter.VAR_KEYWORD in kinds) and not positional
    return by_name, positional or inspect.Parameter.VAR_POSITIONAL in kinds
