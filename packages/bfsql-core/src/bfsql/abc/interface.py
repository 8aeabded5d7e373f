"""The contract between core and a store: eight required methods, and faster optional ones.

A backend only has to implement eight abstract methods, all of them basic graph navigation
(`backend-contract.md`). The others have a working default, built on the eight; a backend
overrides those that its store can answer faster.
"""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from bfsql.errors import EntitiesNotListed
from bfsql.models.comparison import key_texts
from bfsql.models.condition import PropertyCondition
from bfsql.models.merge import evidence_items
from bfsql.models.name_keys import NO_NAME_KEYS, NameKeys
from bfsql.models.outline import Outline
from bfsql.models.parts import EdgeFilter, TypedTriple, only, part_of
from bfsql.models.records import Edge, EdgeDirection, EntityStub, Metadata, Node, Triple
from bfsql.models.valid_time import NO_TIME_KEYS, TimeKeys

if TYPE_CHECKING:  # numpy is imported only by users of columns
    from bfsql.integers import IntegerGraph

CONTRACT = "1.3"
"""The number of this contract, MAJOR.MINOR. A plugin states the number it was written for; a whole
number is that MAJOR with MINOR 0. Additions with a default raise MINOR.
"""

FIRST_OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">=", "~", "has", "lacks", "unlike"})
"""The operators that conditions had when `nodes_stream` became a part of this contract."""

PROVENANCE_EDGES = 50
"""Number of edges that the default `provenance_for_node` reads (`protocol.md` 16)."""

FAN_OUT = 16
"""Concurrent single calls of a default batch method."""

DEFAULT_NEXT_STEPS = (
    "Ask bfs_query by exact names; search_entities finds parts of names, describe_schema(seeds) "
    "surveys a neighbourhood."
)

_NO_ID = "urn:bfsql:no-such-node"

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class GraphDbInterface(ABC):
    """Primitive, read-only graph navigation over one store.

    A backend returns fresh data on every call and never caches: core does that.
    """

    # --- the eight ----------------------------------------------------------

    @abstractmethod
    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> Iterable[EntityStub]:
        """Candidates for a name or alias, most likely first, at most 20.

        Args:
            query: What a person would call the entity, or its id.
            node_types: Types to include, or None for all. A backend may leave this argument out:
                core filters. It may take a third one, `without`: ids of candidates to leave out.
        """

    @abstractmethod
    async def edges_from(self, entity_id: str) -> Iterable[Edge]:
        """All edges that leave the entity; empty if there are none.

        Raises:
            KeyError: No such entity.
        """

    @abstractmethod
    async def edges_to(self, entity_id: str) -> Iterable[Edge]:
        """All edges that enter the entity; empty if there are none.

        Raises:
            KeyError: No such entity.
        """

    @abstractmethod
    async def get_node(self, entity_id: str) -> Node:
        """Id and type of the entity: "the identity call, not the metadata call".

        Raises:
            KeyError: No such entity.
        """

    @abstractmethod
    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """All the metadata that the store has for the entity.

        Raises:
            KeyError: No such entity.
        """

    @abstractmethod
    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """All the metadata that the store has for the edge; verbose evidence under `provenance`.

        Raises:
            KeyError: No such edge.
        """

    @abstractmethod
    async def entity_types(self) -> Sequence[str]:
        """Every value that occurs as `entity_type`, sorted."""

    @abstractmethod
    async def predicates(self) -> Sequence[str]:
        """Every value that occurs as `predicate`, sorted."""

    time_keys: TimeKeys = NO_TIME_KEYS
    """The properties that say when facts hold; set by whoever opens the backend, from settings."""
    title: str = ""
    """Name of the graph for people, if the store keeps one."""
    description: str = ""
    """What the graph contains and where it comes from, if the store keeps that."""

    # --- methods with a default ----------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> Iterable[Node]:
        """The nodes that exist, each once; unknown ids are left out."""
        found = await each(ids, self.get_node)
        return [node for node in found if node is not None]

    async def edges_batch(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> Iterable[Triple]:
        """Every edge with a requested id at either end: one ring, or a part of it.

        An id that is not a node has no edges. An edge may occur twice, in any
        order; core removes duplicates and sorts. A backend may leave `predicates`
        and `direction` out of its signature: core then requests the whole ring
        and filters.

        Args:
            ids: Canonical ids.
            predicates: Only edges with these predicates; None for all.
            direction: Only edges that leave the requested ids ("out") or enter them ("in");
                None for both.
        """
        nodes = [node.id for node in await self.get_nodes_batch(ids)]
        leaving = await each(nodes, self.edges_from) if direction != "in" else []
        entering = await each(nodes, self.edges_to) if direction != "out" else []
        ring = [(s, p, o) for edges in (*leaving, *entering) for s, p, o in edges or ()]
        return part_of(ring, ids, predicates, None)

    async def edges_stream(
        self,
        ids: Sequence[str],
        *,
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]]:
        """A ring in batches of some ten thousand rows each: `edges_batch` for large rings.

        Override this method in a backend that can read a large ring with a cursor, or that can
        read the types of the two ends in the same statement, which saves a request for them.

        Args:
            ids: As in `edges_batch`.
            predicates: As in `edges_batch`; a signature may lack it.
            direction: As in `edges_batch`; a signature may lack it.

        Yields:
            Rows as `edges_batch` returns them; or rows of five, with the types of the subject
            and of the object after the triple, None for an end that is not a node. All rows
            of a ring are of one kind.
        """
        part: EdgeFilter = {"predicates": predicates, "direction": direction}
        if takes(type(self).edges_batch, "predicates"):
            ring = await self.edges_batch(ids, **part)
        else:
            ring = part_of(await self.edges_batch(ids), ids, **part)
        yield [(s, p, o) for s, p, o in ring]

    async def edge_values_stream(
        self, ids: Sequence[str], keys: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[tuple[Any, ...]]]:
        """`edges_stream` with values of the edges' metadata, such as the dates of facts.

        Yields:
            Rows that end with the `key_texts` of their edges. If several records of one edge
            differ in them, core reads its metadata, as it does for None.
        """
        async with aclosing(self.edges_stream(ids, **part)) as batches:
            async for batch in batches:
                for rows in chunks(batch):
                    edges: list[Any] = [tuple(row[:3]) for row in rows]
                    found: Mapping[Any, Metadata] = await self.metadata_for_edges_batch(edges, keys)
                    yield [(*row, key_texts(found.get(tuple(row[:3]), {}), keys)) for row in rows]

    def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[Sequence[Node]]:
        """The entities of some types, in batches of some thousand (`protocol.md` 34).

        Each entity occurs at least once, in any order; all are of one state of the store, so read
        them from a snapshot or by pages that follow the id, never by numbers of rows. A backend
        may yield entities that do not meet the conditions, since core compares them again, but it
        has to yield all that do. Core pushes no condition on a key `id`. Entities that the store
        does not return are reported by `bfsql.call.omitted` with the direction `nodes`.

        Args:
            entity_types: Only entities with one of these types as their `entity_type`; None for
                all.
            conditions: Conditions that all have to hold; a backend may use any of them to yield
                less.

        Yields:
            Nodes with their types, and as `metadata` all properties that the conditions name, if
            they are known without a further request: a node with any metadata has all of them
            that the entity has.

        Raises:
            EntitiesNotListed: The store cannot list its entities. A backend that does not
                override this method raises it.
        """
        raise EntitiesNotListed

    def lists_entities(self) -> bool:
        """Whether `nodes_stream` lists entities, as far as that is known without a request.

        A backend overrides this method if it depends on its server.
        """
        return type(self).nodes_stream is not GraphDbInterface.nodes_stream

    def knows_operator(self, operator: str) -> bool:
        """Whether conditions with an operator may be passed to `nodes_stream` and `columns`."""
        return operator in FIRST_OPERATORS

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether every node that `nodes_stream` yields meets a condition given to it.

        Core then does not compare the property again.
        """
        return False

    def name_keys(self) -> NameKeys:
        """The keys by which the data call what is `name` in metadata, known without a request.

        Core reads them as `name` wherever a call names a property of nodes.
        """
        return NO_NAME_KEYS

    async def keys(self) -> Collection[str] | None:
        """All keys of the metadata of nodes, if they are known exactly; None otherwise.

        They tell a name with a sign in it, such as `a - b`, from an expression, and a property from
        a text. A sample of the graph is not enough.
        """
        return None

    def columns(self) -> IntegerGraph | None:
        """The graph in integers, for one call; None if the store has no such form.

        A backend with columns returns no metadata with its nodes, and each id has one spelling.
        """
        return None

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> Mapping[str, Metadata]:
        """Metadata by id; unknown ids are left out.

        Args:
            ids: Canonical ids.
            keys: Only these keys of the metadata are needed; None for all. A backend may
                return more, or leave this argument out of its signature.
        """
        return only(_present(ids, await each(ids, self.metadata_for_node)), keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> Mapping[Triple, Metadata]:
        """Metadata by triple; unknown edges are left out.

        Args:
            edges: Triples.
            keys: As in `metadata_for_nodes_batch`.
        """
        asked = [Edge(*edge) for edge in edges]
        return only(_present(asked, await each(asked, self.metadata_for_edge)), keys)

    async def outline(self) -> Outline | None:
        """An outline of the graph in counts; None if the store has none (`protocol.md` 29).

        It may take up to a minute, the deadline of the call: core requests it in the background.
        """
        return None

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence that touches an entity (`protocol.md` 16).

        Args:
            entity_id: An entity that exists.
            limit: Maximum number of items to return.

        Returns:
            `{"total": n, "items": [...]}` where an item has `subject`, `predicate`,
            `object`, `document_id`, `section`, `text_span` and `confidence`; and
            `edges_read` if not all edges were read (`total` is then None).
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
        """Advice for the model that only this backend can provide."""
        return DEFAULT_NEXT_STEPS

    def changed(self) -> Hashable | None:
        """Whether the store holds another graph than the one that was opened.

        A server calls this before every call, so it has to be cheap: at most a few microseconds,
        without a request to another machine. If the result is not None, the server reopens the
        store for all subsequent calls.

        Returns:
            None while the graph is the one that was opened. Otherwise a value that differs
            each time the store has changed again, such as the identity and the time of a file.
            While the value stays the same, a failed attempt to reopen is seldom repeated.
        """
        return None

    async def ping(self) -> None:
        """Return once the store has answered the smallest possible request.

        Called after calls that the store did not answer, to find out whether it answers at all.
        A backend that can answer `get_node` without its store has to override this method.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        try:
            await self.get_node(_NO_ID)
        except KeyError:
            return

    async def may_write(self) -> str | None:
        """Why the account could change the graph, for its operator; None if it could not.

        A sentence that names the account, the right, and how to revoke it. This method is called
        once, when a server starts; nothing is ever written to find out.
        """
        return None

    async def close(self) -> None:  # noqa: B027 - most stores have nothing to close
        """Close connections and files; the backend is not used again."""


class BatchGraphDb(GraphDbInterface):
    """A backend with its own batch methods; a request for one key is a batch of one."""

    async def get_node(self, entity_id: str) -> Node:
        """Id and type of the entity, by `get_nodes_batch`."""
        for node in await self.get_nodes_batch([entity_id]):
            return node
        raise KeyError(entity_id)

    async def edges_from(self, entity_id: str) -> list[Edge]:
        """All edges that leave the entity, by `edges_batch`."""
        return await _edges_by_batch(self, entity_id, "out")

    async def edges_to(self, entity_id: str) -> list[Edge]:
        """All edges that enter the entity, by `edges_batch`."""
        return await _edges_by_batch(self, entity_id, "in")

    async def edges_batch(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> Iterable[Triple]:
        """A ring or a part of it, by `edges_stream`; a backend overrides one of the two or both."""
        async with aclosing(self.edges_stream(ids, **part)) as batches:
            return [row[:3] async for rows in batches for row in rows]

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """All the metadata that the store has for the entity, by `metadata_for_nodes_batch`."""
        return (await self.metadata_for_nodes_batch([entity_id]))[entity_id]

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """All the metadata that the store has for the edge, by `metadata_for_edges_batch`."""
        triple = (edge[0], edge[1], edge[2])
        return (await self.metadata_for_edges_batch([triple]))[triple]


async def _edges_by_batch(
    db: GraphDbInterface, entity_id: str, direction: EdgeDirection
) -> list[Edge]:
    ring = await db.edges_batch([entity_id], direction=direction)
    edges = list(dict.fromkeys(Edge(*edge) for edge in ring))
    if not edges:
        await db.get_node(entity_id)  # raises KeyError if there is no such entity
    return edges


async def each(
    keys: Sequence[_Key], ask: Callable[[_Key], Awaitable[_Value]]
) -> list[_Value | None]:
    """Call `ask` for every key, `FAN_OUT` at a time; None for keys that raised KeyError."""
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
        await asyncio.gather(*workers)  # not a TaskGroup, which would wrap the store's own error
    finally:
        for worker in workers:
            worker.cancel()
    return answers


def chunks(values: Sequence[_Value], size: int = 2_500) -> Iterator[Sequence[_Value]]:
    """The values in parts of at most `size`, for one call of a batch method each."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def _present(keys: Sequence[_Key], values: Sequence[_Value | None]) -> dict[_Key, _Value]:
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}


@cache
def takes(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function has an argument with this name, or accepts any keyword argument."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == argument or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
