"""Backends that wrap another backend: to change its answers, or to adapt its signatures.

A backend may leave out optional methods, and optional arguments of the methods that it has.
`normalized` adapts it once, when it is opened; all other code calls full signatures.
"""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Hashable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing
from functools import cache, cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, Unpack, cast

from bfsql import call
from bfsql.abc.interface import GraphDbInterface, takes
from bfsql.models.condition import PropertyCondition
from bfsql.models.name_keys import NameKeys
from bfsql.models.parts import EdgeFilter, TypedTriple, only, part_of
from bfsql.models.records import NO_METADATA, Edge, EntityStub, Metadata, Node, Triple, edge_label

if TYPE_CHECKING:  # numpy is imported only by users of columns
    from bfsql.integers import AnswerCache, IntegerGraph, NumberedRings

_Value = TypeVar("_Value")
_P = ParamSpec("_P")

_OPTIONAL_ARGUMENTS = {
    "edges_batch": "predicates",
    "edges_stream": "predicates",
    "metadata_for_nodes_batch": "keys",
    "metadata_for_edges_batch": "keys",
}
"""The first argument that older signatures lack, by method."""

_WITH_DEFAULT = (*_OPTIONAL_ARGUMENTS, "get_nodes_batch", "provenance_for_node")
"""Methods whose defaults call other methods of the same object."""


def implements(db: GraphDbInterface, method: str) -> bool:
    """Whether a backend overrides a method that has a default in the interface."""
    return getattr(type(_behind(db)), method) is not getattr(GraphDbInterface, method)


def accepts(db: GraphDbInterface, method: str, argument: str) -> bool:
    """Whether a method of a backend takes an argument that older signatures lack."""
    return takes(getattr(type(_behind(db)), method), argument)


def _forwarded(
    default: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _Value]],
) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _Value]]:
    """A method with the signature of the interface that asks the inner backend.

    If the inner backend lacks a batch method, its default runs over the object itself.
    """
    name = default.__name__

    @wraps(default, updated=())  # not `__isabstractmethod__`
    async def method(self: ForwardingBackend, /, *args: _P.args, **named: _P.kwargs) -> _Value:
        if name in _WITH_DEFAULT and name not in self._own:
            return await default(self, *args, **named)
        ask: Callable[_P, Awaitable[_Value]] = getattr(self._inner, name)
        return await self._ask(ask, *args, **named)

    return method


class ForwardingBackend(GraphDbInterface):
    """A backend that passes every call on to another one; subclasses override what they change.

    A batch method that the inner backend lacks runs over this object, and thus over what a
    subclass changes.

    Args:
        inner: The backend to call, which may have older signatures.
    """

    def __init__(self, inner: GraphDbInterface) -> None:
        self._inner = normalized(inner)

    @cached_property
    def _own(self) -> frozenset[str]:
        """The methods with a default that the inner backend overrides."""
        return frozenset(method for method in _WITH_DEFAULT if implements(self._inner, method))

    async def _ask(
        self, method: Callable[_P, Awaitable[_Value]], *args: _P.args, **named: _P.kwargs
    ) -> _Value:
        """Call a method of the inner backend; every call but a stream passes through here."""
        return await method(*args, **named)

    search_entities = _forwarded(GraphDbInterface.search_entities)
    edges_from = _forwarded(GraphDbInterface.edges_from)
    edges_to = _forwarded(GraphDbInterface.edges_to)
    get_node = _forwarded(GraphDbInterface.get_node)
    metadata_for_node = _forwarded(GraphDbInterface.metadata_for_node)
    metadata_for_edge = _forwarded(GraphDbInterface.metadata_for_edge)
    entity_types = _forwarded(GraphDbInterface.entity_types)
    predicates = _forwarded(GraphDbInterface.predicates)
    get_nodes_batch = _forwarded(GraphDbInterface.get_nodes_batch)
    edges_batch = _forwarded(GraphDbInterface.edges_batch)
    metadata_for_nodes_batch = _forwarded(GraphDbInterface.metadata_for_nodes_batch)
    metadata_for_edges_batch = _forwarded(GraphDbInterface.metadata_for_edges_batch)
    outline = _forwarded(GraphDbInterface.outline)
    provenance_for_node = _forwarded(GraphDbInterface.provenance_for_node)
    comprehensive = _forwarded(GraphDbInterface.comprehensive)
    next_steps = _forwarded(GraphDbInterface.next_steps)
    ping = _forwarded(GraphDbInterface.ping)
    may_write = _forwarded(GraphDbInterface.may_write)

    def edges_stream(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]]:
        """A ring in batches, or a part of it."""
        own = "edges_stream" in self._own
        stream = self._inner.edges_stream if own else super().edges_stream
        return stream(ids, **part)

    def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[Sequence[Node]]:
        """The entities of some types, in batches."""
        return self._inner.nodes_stream(entity_types=entity_types, conditions=conditions)

    def lists_entities(self) -> bool:
        """Whether the inner backend lists its entities."""
        return self._inner.lists_entities()

    def filters_exactly(self, condition: PropertyCondition) -> bool:
        """Whether the inner backend yields only nodes that meet a condition."""
        return self._inner.filters_exactly(condition)

    def name_keys(self) -> NameKeys:
        """The keys of the inner backend that mean `name`."""
        return self._inner.name_keys()

    def columns(self) -> IntegerGraph | None:
        """The graph in integers; a subclass that changes the topology has to override this."""
        return self._inner.columns()

    def changed(self) -> Hashable | None:
        """Whether the inner backend's store holds another graph."""
        return self._inner.changed()

    async def close(self) -> None:
        """Close the inner backend."""
        await self._inner.close()


class NormalizedBackend(ForwardingBackend):
    """A backend as core calls it: every method has its full signature.

    `normalized` wraps a backend of any signatures; the cache and the redaction are
    such backends around it.

    Attributes:
        narrows: Whether conditions may be passed to the store, which then yields fewer nodes.
        answers: Answers of earlier calls, if a cache holds them for all callers.
    """

    narrows = True
    answers: AnswerCache | None = None

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates of the requested types, each once, in the backend's order."""
        return list(await super().search_entities(query, node_types))

    def forget_schema(self) -> None:
        """If there is a cache, make it request the schema again."""
        self._inner.forget_schema()

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The ring of a few nodes, from the store itself; None if it has more than `most` edges.

        Reading from the store stops there. No cache holds the ring.
        """
        return await self._inner.few_edges(ids, most)

    def numbered(self) -> NumberedRings | None:
        """The rings that a cache holds in numbers, for one call; None if there is no cache."""
        return self._inner.numbered()


async def edges_up_to(
    most: int, ring: AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]]
) -> set[Triple] | None:
    """The edges of a stream; None if there are more than `most`."""
    edges: set[Triple] = set()
    async with aclosing(ring) as batches:
        async for rows in batches:
            edges.update((row[0], row[1], row[2]) for row in rows)
            if len(edges) > most:
                return None
    return edges


class PassThroughBackend(NormalizedBackend):
    """A backend that changes nothing; its optional abilities are those of the inner backend."""

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The ring of a few nodes; None if it has more than `most` edges."""
        return await edges_up_to(most, self.edges_stream(ids))


def _behind(db: GraphDbInterface) -> GraphDbInterface:
    return _behind(db._inner) if isinstance(db, PassThroughBackend) else db  # noqa: SLF001


def _through_account(
    receive: Callable[[Any, Any], Any],
) -> Callable[[Callable[..., Coroutine[Any, Any, _Value]]], Any]:
    """A decorator of a method whose values come into the account of the current call.

    What the backend itself holds while it reads is released then.

    Args:
        receive: Returns an answer as the call holds it, given the first argument of the method.
    """

    def decorated(method: Callable[..., Coroutine[Any, Any, _Value]]) -> Any:
        @wraps(method, updated=())
        async def through(self: Any, /, *args: Any, **named: Any) -> Any:
            if call.memory() is None:
                return await method(self, *args, **named)
            with call.borrowed():
                answer = await method(self, *args, **named)
            return receive(next(iter((*args, *named.values()))), answer)

        return through

    return decorated


def _label(key: str | Edge | Triple) -> str:
    return key if isinstance(key, str) else edge_label(key)


def _metadata(key: str | Edge, metadata: Metadata) -> Metadata:
    return _by_key(None, {key: metadata})[key]


def _by_key(_: Any, found: dict[Any, Metadata]) -> dict[Any, Metadata]:
    scope = call.current()
    return found if scope is None or scope.is_shared else call.receive(found, _label)


def _nodes(_: Any, nodes: Iterable[Node]) -> list[Node]:
    # They are many in a traversal, and all copies are made only of those that are shown.
    nodes = list(nodes)
    brought = {node.id: node.metadata for node in nodes if node.metadata}
    known = call.receive(brought, copies=2) if brought else brought
    if known is brought:
        return nodes
    return [node._replace(metadata=known.get(node.id, NO_METADATA)) for node in nodes]


def _node(_: Any, node: Node) -> Node:
    return _nodes(None, [node])[0] if node.metadata else node


def _stubs(query: str, stubs: list[EntityStub]) -> list[EntityStub]:
    names: Metadata = {stub.id: stub.name for stub in stubs}
    shown = call.receive({query: names})[query]
    return stubs if shown is names else [one._replace(name=shown.get(one.id)) for one in stubs]


def _evidence(entity_id: str, evidence: dict[str, Any]) -> dict[str, Any]:
    return dict(_metadata(entity_id, evidence))


class SignatureAdapter(PassThroughBackend):
    """A backend of any signatures, with full ones.

    Signatures are inspected once, here. `search_entities` may lack `node_types` or take
    them only by position, since core filters (`backend-contract.md`), batches may lack the
    arguments for a part, and any method that returns a value may be a plain one.

    Args:
        inner: The backend.
    """

    _inner: Any

    def __init__(self, inner: GraphDbInterface) -> None:
        self._inner = inner
        self._types_by = _node_types_by(type(inner).search_entities)
        self._whole_only = frozenset(
            method
            for method, argument in _OPTIONAL_ARGUMENTS.items()
            if not accepts(inner, method, argument)
        )

    async def _ask(
        self, method: Callable[_P, Awaitable[_Value]], *args: _P.args, **named: _P.kwargs
    ) -> _Value:
        answer: Any = method(*args, **named)
        return cast("_Value", await answer if inspect.isawaitable(answer) else answer)

    get_node = _through_account(_node)(PassThroughBackend.get_node)
    get_nodes_batch = _through_account(_nodes)(PassThroughBackend.get_nodes_batch)
    metadata_for_node = _through_account(_metadata)(PassThroughBackend.metadata_for_node)
    metadata_for_edge = _through_account(_metadata)(PassThroughBackend.metadata_for_edge)
    provenance_for_node = _through_account(_evidence)(PassThroughBackend.provenance_for_node)

    @_through_account(_stubs)
    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """Candidates of the requested types, each once, in the backend's order."""
        search, types = self._inner.search_entities, list(node_types or ())
        if types and self._types_by == "name":
            found = await self._ask(search, query, node_types=types)
        elif types and self._types_by == "position":
            found = await self._ask(search, query, types)
        else:
            found = await self._ask(search, query)
        first: dict[str, EntityStub] = {}
        for stub in found:
            if not types or stub.entity_type in types:
                first.setdefault(stub.id, stub)
        return list(first.values())

    def _supported(self, method: str, **arguments: Any) -> dict[str, Any]:
        """The optional arguments of a method, if the backend takes them."""
        return {} if method in self._whole_only else arguments

    async def edges_batch(self, ids: Sequence[str], **part: Unpack[EdgeFilter]) -> Iterable[Triple]:
        """A ring or a part of it, filtered here if the backend returns only whole rings."""
        supported = self._supported("edges_batch", **part)
        ring = await super().edges_batch(ids, **supported)
        return ring if supported else part_of(ring, ids, **part)

    async def edges_stream(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[Sequence[Triple] | Sequence[TypedTriple]]:
        """A ring in batches, or a part of it, filtered here as in `edges_batch`."""
        whole = "edges_stream" in self._whole_only
        ring = self._inner.edges_stream(ids) if whole else super().edges_stream(ids, **part)
        async with aclosing(ring) as batches:
            async for rows in batches:
                yield part_of(rows, ids, **part) if whole else rows

    @_through_account(_by_key)
    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> Mapping[str, Metadata]:
        """Metadata by id, of these keys only."""
        supported = self._supported("metadata_for_nodes_batch", keys=keys)
        found = await super().metadata_for_nodes_batch(ids, **supported)
        return found if keys is None else only(found, keys)

    @_through_account(_by_key)
    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> Mapping[Triple, Metadata]:
        """Metadata by triple, of these keys only."""
        supported = self._supported("metadata_for_edges_batch", keys=keys)
        found = await super().metadata_for_edges_batch(edges, **supported)
        return found if keys is None else only(found, keys)

    def nodes_stream(self, **part: Any) -> AsyncGenerator[Sequence[Node]]:
        """The entities of some types, whose metadata the call holds for one batch at a time."""

        async def received() -> AsyncGenerator[Sequence[Node]]:
            async with aclosing(self._inner.nodes_stream(**part)) as batches:
                async for nodes in batches:
                    yield _nodes(None, nodes)

        return call.transient(received())

    def forget_schema(self) -> None:
        """Do nothing: there is no cache."""

    def numbered(self) -> None:
        """None, because there is no cache."""


def normalized(db: GraphDbInterface) -> NormalizedBackend:
    """The backend as core calls it, whatever its signatures."""
    return db if isinstance(db, NormalizedBackend) else SignatureAdapter(db)


@cache
def _node_types_by(search: Callable[..., Any]) -> Literal["name", "position"] | None:
    """How a backend's search takes the types; None if it does not.

    A second parameter with another name may be anything, a limit for instance.
    """
    parameters = inspect.signature(search).parameters.values()
    named = {p.kind for p in parameters if p.name == "node_types"}
    kinds = {p.kind for p in parameters}
    if named == {inspect.Parameter.POSITIONAL_ONLY}:
        return "position"
    if named or inspect.Parameter.VAR_KEYWORD in kinds:
        return "name"
    return "position" if inspect.Parameter.VAR_POSITIONAL in kinds else None
