"""The contract between core and a store: eight required methods, and faster optional ones.

Eight abstract methods are all that a backend has to have (chapter 8: "deliberately
primitive -- eight methods, all basic graph navigation, no traversal
intelligence"). The others have a working default, made from the eight; a backend
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
    Sequence,
)
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from bfsql.models.merge import evidence_items
from bfsql.models.outline import Outline
from bfsql.models.parts import Part, TypedTriple, only, part_of
from bfsql.models.records import Edge, EdgeDirection, EntityStub, Metadata, Node, Triple

if TYPE_CHECKING:  # numpy is imported by those who use columns, not by everyone
    from bfsql.columns import Columns

CONTRACT = "1.1"
"""Number of this contract, MAJOR.MINOR. A plugin states the one that it was written for; a whole
number is that MAJOR with MINOR 0. What is added with a default raises MINOR."""

PROVENANCE_EDGES = 50
"""Edges that the default `provenance_for_node` looks at (`protocol.md` 16)."""

FAN_OUT = 16
"""Concurrent single calls of a default batch method."""

DEFAULT_NEXT_STEPS = (
    "Ask bfs_query by exact names: path follows relations step by step, to finds how entities are "
    'connected, fields=["name"] keeps answers short. search_entities finds parts of names. Survey '
    "a neighbourhood by describe_schema(seeds), expand what matters by describe_entities."
)

_NO_ID = "urn:bfsql:no-such-node"

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class GraphDbInterface(ABC):
    """Primitive graph navigation over one store, read only.

    A backend returns fresh data on every call and never caches: core does that
    (chapter 8: "Backends stay simple").
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
        """Every edge with an asked id at either end: one ring, or a part of it.

        An id that is no node gives nothing. An edge may come twice, in any
        order; core removes duplicates and sorts. A backend may leave `predicates`
        and `direction` out of its signature: then it is asked for the whole ring,
        and core filters.

        Args:
            ids: Canonical ids.
            predicates: Only edges of these predicates; None for all.
            direction: Only edges that leave the asked ids ("out") or enter them ("in");
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
        """A ring in batches, each of some ten thousand rows: `edges_batch` where it is large.

        A backend overrides it that can read a large ring by a cursor, or that knows the
        types of the two ends in the same statement, which saves asking for them.

        Args:
            ids: As in `edges_batch`.
            predicates: Likewise; a signature may lack it.
            direction: Likewise.

        Yields:
            Rows as `edges_batch` gives them; or rows of five, with the types of the subject
            and of the object behind the triple, None for an end that is no node. All rows
            of a ring are of one kind.
        """
        part: Part = {"predicates": predicates, "direction": direction}
        if takes(type(self).edges_batch, "predicates"):
            ring = await self.edges_batch(ids, **part)
        else:
            ring = part_of(await self.edges_batch(ids), ids, **part)
        yield [(s, p, o) for s, p, o in ring]

    def columns(self) -> Columns | None:
        """The graph in integers, for one call; None where the store has none.

        A backend that has them brings no metadata with its nodes, and an id has one spelling.
        """
        return None

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """Metadata by id; unknown ids are left out.

        Args:
            ids: Canonical ids.
            keys: Only these keys of the metadata are wanted; None for all. A backend may
                give more, or leave this argument out of its signature.
        """
        return only(_found(ids, await each(ids, self.metadata_for_node)), keys)

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata by triple; unknown edges are left out.

        Args:
            edges: Triples.
            keys: As in `metadata_for_nodes_batch`.
        """
        asked = [Edge(*edge) for edge in edges]
        return only(_found(asked, await each(asked, self.metadata_for_edge)), keys)

    async def outline(self) -> Outline | None:
        """What the graph is made of, in counts; None where the store cannot tell (`asking.md` 4).

        It may take as long as `schema_timeout`: core asks for it in the background.
        """
        return None

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

    def changed(self) -> Hashable | None:
        """Whether the store holds another graph than the one that was opened.

        A server asks before every call, so it has to be cheap: at most some microseconds,
        without a question to another machine. Where the answer is not None, the server opens
        the store anew, for the calls from then on.

        Returns:
            None while the graph is the one that was opened. Otherwise a value that
            differs whenever the store has changed once more, such as the identity and the time
            of a file; as long as it stays the same, opening that failed is seldom tried again.
        """
        return None

    async def ping(self) -> None:
        """Return when the store has answered the smallest question there is.

        Asked after calls that the store did not answer, to find out whether it answers at all.
        A backend overrides it that can answer `get_node` without its store.

        Raises:
            StoreUnavailable: The store does not answer.
        """
        try:
            await self.get_node(_NO_ID)
        except KeyError:
            return

    async def may_write(self) -> str | None:
        """Why the account could change the graph, for its operator; None where it could not.

        A sentence that names the account, the right, and how to take it away. It is asked for
        once, when a server starts; nothing is ever written to find out.
        """
        return None

    async def close(self) -> None:  # noqa: B027 - most stores have nothing to close
        """Close connections and files; the backend is not used again."""


class BatchGraphDb(GraphDbInterface):
    """A backend whose batch methods are its own: what is asked of one key is a batch of one."""

    async def get_node(self, entity_id: str) -> Node:
        """Id and type of the entity, by `get_nodes_batch`."""
        for node in await self.get_nodes_batch([entity_id]):
            return node
        raise KeyError(entity_id)

    async def metadata_for_node(self, entity_id: str) -> Metadata:
        """Everything the store knows of the entity, by `metadata_for_nodes_batch`."""
        return (await self.metadata_for_nodes_batch([entity_id]))[entity_id]

    async def metadata_for_edge(self, edge: Edge) -> Metadata:
        """Everything the store knows of the edge, by `metadata_for_edges_batch`."""
        triple = (edge[0], edge[1], edge[2])
        return (await self.metadata_for_edges_batch([triple]))[triple]


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
        await asyncio.gather(*workers)  # not a TaskGroup, which would wrap the store's own error
    finally:
        for worker in workers:
            worker.cancel()
    return answers


def _found(keys: Sequence[_Key], values: Sequence[_Value | None]) -> dict[_Key, _Value]:
    return {key: value for key, value in zip(keys, values, strict=True) if value is not None}


@cache
def takes(function: Callable[..., Any], argument: str) -> bool:
    """Whether a function has an argument of a name, or takes any."""
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == argument or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
