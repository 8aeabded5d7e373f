"""Backends that wrap another backend: to change its answers, or to adapt its signatures.

A backend may leave out optional methods, and optional arguments of the methods that it has:
`Abilities` are what is left. `normalized` adapts it once, when it is opened; all other code calls
full signatures. A method that it lacks runs over the wrapper that is called: over the cache, which
then holds the parts.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

from bfsql import call
from bfsql.abc.interface import GraphDbInterface, takes
from bfsql.errors import EntitiesNotListed, StoreError
from bfsql.models.condition import PropertyCondition
from bfsql.models.parts import TypedTriple, only, part_of
from bfsql.models.records import NO_METADATA, Edge, EntityStub, Metadata, Node, Triple, edge_label

if TYPE_CHECKING:  # numpy is imported only by users of columns
    from bfsql.integers import AnswerCache, NumberedRings

_Value = TypeVar("_Value")
_P = ParamSpec("_P")

COMPOSED = {
    "get_nodes_batch": None,
    "edges_batch": "predicates",
    "edges_stream": "predicates",
    "edge_values_stream": None,
    "metadata_for_nodes_batch": "keys",
    "metadata_for_edges_batch": "keys",
    "provenance_for_node": None,
}
"""The methods whose defaults call other methods of the same object, each with its first argument
for a part of the answer, which older signatures lack.
"""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a backend does by itself of what core can do in its place."""

    methods: frozenset[str] = frozenset()
    """The methods of `COMPOSED` that it has."""
    whole_only: frozenset[str] = frozenset()
    """The methods of `COMPOSED` that return no part of an answer."""

    @classmethod
    def of(cls, db: GraphDbInterface) -> Abilities:
        """The abilities of a backend; what it only forwards is an ability of the inner one."""
        inner = db._abilities if isinstance(db, ForwardingBackend) else cls()  # noqa: SLF001
        if isinstance(db, SignatureAdapter):
            return inner
        has = {name: getattr(type(db), name) for name in COMPOSED}
        forwarded = {name for name in has if has[name] is vars(ForwardingBackend)[name]}
        lacking = {name for name in has if has[name] is vars(GraphDbInterface)[name]}
        whole = {name for name, part in COMPOSED.items() if part and not takes(has[name], part)}
        return cls(
            frozenset(has.keys() - forwarded - lacking | forwarded & inner.methods),
            frozenset(whole | forwarded & inner.whole_only),
        )


def _forwarded(
    default: Callable[Concatenate[Any, _P], _Value],
) -> Callable[Concatenate[Any, _P], _Value]:
    """A method with the signature of the interface that calls the inner backend.

    If the inner backend lacks it, its default runs over the object itself.
    """
    name = default.__name__
    composed = name in COMPOSED
    through = "_ask" if inspect.iscoroutinefunction(default) else None
    through = "_stream" if name.endswith("_stream") else through

    @wraps(default, updated=())  # not `__isabstractmethod__`
    def method(self: ForwardingBackend, /, *args: _P.args, **named: _P.kwargs) -> _Value:
        if composed and name not in self._abilities.methods:
            return default(self, *args, **named)
        if through is None:
            answer = getattr(self._inner, name)(*args, **named)
        else:
            answer = getattr(self, through)(name, *args, **named)
        return cast("_Value", answer)

    return method


class ForwardingBackend(GraphDbInterface):
    """A backend that passes every call on to another one; subclasses override what they change.

    A batch method that the inner backend lacks runs over this object, and thus over what a
    subclass changes. A subclass that changes the topology has to override `columns`.

    Args:
        inner: The backend to call, which may have older signatures.
    """

    def __init__(self, inner: GraphDbInterface) -> None:
        self._inner = normalized(inner)
        self.time_keys = inner.time_keys
        self.title, self.description = inner.title, inner.description

    @cached_property
    def _abilities(self) -> Abilities:
        """What the inner backend does by itself."""
        return Abilities.of(self._inner)

    async def _ask(self, method: str, /, *args: Any, **named: Any) -> Any:
        """Call a method of the inner backend that returns a value."""
        return await getattr(self._inner, method)(*args, **named)

    def _stream(self, method: str, /, *args: Any, **named: Any) -> AsyncGenerator[Any]:
        """Call a method of the inner backend that yields batches."""
        return cast("AsyncGenerator[Any]", getattr(self._inner, method)(*args, **named))

    search_entities = _forwarded(GraphDbInterface.search_entities)
    edges_from = _forwarded(GraphDbInterface.edges_from)
    edges_to = _forwarded(GraphDbInterface.edges_to)
    get_node = _forwarded(GraphDbInterface.get_node)
    metadata_for_node = _forwarded(GraphDbInterface.metadata_for_node)
    metadata_for_edge = _forwarded(GraphDbInterface.metadata_for_edge)
    entity_types = _forwarded(GraphDbInterface.entity_types)
    predicates = _forwarded(GraphDbInterface.predicates)

    async def close(self) -> None:
        """Close the inner backend, not by `_ask`: a breaker lets that pass at any time."""
        await self._inner.close()


# The others are not abstract, so a type checker finds them in the interface.
for _name, _default in vars(GraphDbInterface).items():
    if inspect.isfunction(_default) and _name not in vars(ForwardingBackend):
        setattr(ForwardingBackend, _name, _forwarded(_default))


class NormalizedBackend(ForwardingBackend):
    """A backend as core calls it: every method has its full signature.

    `normalized` wraps a backend of any signatures; the cache and the redaction are
    such backends around it.

    Attributes:
        answers: Answers of earlier calls, if a cache holds them for all callers.
        redacts: Whether hooks remove metadata.
    """

    answers: AnswerCache | None = None
    redacts: bool = False

    @property
    def has_batches(self) -> bool:
        """Whether the backend has more than the eight methods to read nodes and edges."""
        return self._inner.has_batches

    def forget_schema(self) -> None:
        """If there is a cache, make it request the schema again."""
        self._inner.forget_schema()

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The ring of a few nodes, from the store itself; None if it has more than `most` edges.

        Reading from the store stops there. No cache holds the ring.
        """
        return await self._inner.few_edges(ids, most)

    async def has_nodes_with(self, keys: Collection[str]) -> bool:
        """Whether a node may have metadata with a key; True if that is not known in seconds."""
        with suppress(EntitiesNotListed, StoreError, TimeoutError):
            async with asyncio.timeout(call.seconds_left(5.0, 0.25)):
                for key in keys:
                    nodes = self.nodes_stream(conditions=[PropertyCondition(key, "has")])
                    async with aclosing(nodes) as batches:
                        async for batch in batches:
                            if batch:
                                return True
                return False
        return True

    def numbered(self, keys: Collection[str] = ()) -> NumberedRings | None:
        """The rings that a cache holds in numbers, with values of keys; None without a cache."""
        return self._inner.numbered(keys)


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


# --- values in the account of the current call, by the first argument of a method --------------


def _by_key(_: Any, found: dict[Any, Metadata]) -> dict[Any, Metadata]:
    scope = call.current()
    if scope is None or scope.is_shared:
        return found
    return call.receive(found, lambda key: key if isinstance(key, str) else edge_label(key))


def _metadata(key: str | Edge, metadata: Metadata) -> Metadata:
    return _by_key(None, {key: metadata})[key]


def _nodes(_: Any, nodes: Iterable[Node]) -> list[Node]:
    # They are many in a traversal, and all copies are made only of those that are shown.
    nodes = list(nodes)
    brought = {node.id: node.metadata for node in nodes if node.metadata}
    known = call.receive(brought, copies=2) if brought else brought
    if known is brought:
        return nodes
    return [node._replace(metadata=known.get(node.id, NO_METADATA)) for node in nodes]


def _stubs(query: str, stubs: Iterable[EntityStub]) -> list[EntityStub]:
    stubs = list(stubs)
    names: Metadata = {stub.id: stub.name for stub in stubs}
    shown = call.receive({query: names})[query]
    return stubs if shown is names else [one._replace(name=shown.get(one.id)) for one in stubs]


_RECEIPT: dict[str, Callable[[Any, Any], Any]] = {
    "search_entities": _stubs,
    "get_node": lambda key, node: _nodes(key, [node])[0] if node.metadata else node,
    "get_nodes_batch": _nodes,
    "metadata_for_node": _metadata,
    "metadata_for_edge": _metadata,
    "metadata_for_nodes_batch": _by_key,
    "metadata_for_edges_batch": _by_key,
    "provenance_for_node": _metadata,
}
"""How the answer of a method comes into the account; what the store held for it is released."""


_UNCOUNTED = nullcontext()


def _of_keys(found: Any, _: Any, keys: Collection[str] | None = None) -> Any:
    return found if keys is None else only(found, keys)


class SignatureAdapter(NormalizedBackend):
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
        self.time_keys = inner.time_keys
        self._types_by = _node_types_by(type(inner).search_entities)

    async def _ask(self, method: str, /, *args: Any, **named: Any) -> Any:
        if not args and named:  # the first argument by its name
            args = (named.pop(next(iter(named))),)
        ask, whole = getattr(self._inner, method), method in self._abilities.whole_only
        receive = None if call.memory() is None else _RECEIPT.get(method)
        with _UNCOUNTED if receive is None else call.borrowed():
            answer = ask(args[0]) if whole else ask(*args, **named)
            answer = await answer if inspect.isawaitable(answer) else answer
        if COMPOSED.get(method) == "keys":  # of which a backend may return more
            answer = _of_keys(answer, *args, **named)
        elif whole:
            answer = part_of(answer, *args, **named)
        return answer if receive is None else receive(args[0], answer)

    def _stream(self, method: str, /, *args: Any, **named: Any) -> AsyncGenerator[Any]:
        if method == "nodes_stream":  # whose metadata the call holds for one batch at a time
            nodes = super()._stream(method, *args, **named)
            return call.transient(_each(nodes, partial(_nodes, None)))
        if method in self._abilities.whole_only:
            return _each(
                super()._stream(method, next(iter((*args, *named.values())))),
                lambda rows: part_of(rows, *args, **named),
            )
        return super()._stream(method, *args, **named)

    async def search_entities(
        self, query: str, node_types: list[str] | None = None, without: Sequence[str] = ()
    ) -> list[EntityStub]:
        """Candidates of the requested types, each once; a backend may ignore `without`."""
        types = list(node_types or ())
        by_name = {"node_types": types} if types and self._types_by == "name" else {}
        if without and takes(type(self._inner).search_entities, "without"):
            by_name["without"] = list(without)
        by_position = [types] if types and self._types_by == "position" else []
        found = await self._ask("search_entities", query, *by_position, **by_name)
        first: dict[str, EntityStub] = {}
        for stub in found:
            if not types or stub.entity_type in types:
                first.setdefault(stub.id, stub)
        return list(first.values())

    @property
    def has_batches(self) -> bool:
        """Whether the backend has more than the eight methods to read nodes and edges."""
        return bool(self._abilities.methods)

    def forget_schema(self) -> None:
        """Do nothing: there is no cache."""

    async def few_edges(self, ids: Sequence[str], most: int) -> set[Triple] | None:
        """The ring of a few nodes; None if it has more than `most` edges."""
        return await edges_up_to(most, self.edges_stream(ids))

    def numbered(self, keys: Collection[str] = ()) -> None:
        """None, because there is no cache."""


async def _each(batches: AsyncGenerator[Any], change: Callable[[Any], Any]) -> AsyncGenerator[Any]:
    async with aclosing(batches):
        async for batch in batches:
            yield change(batch)


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
