"""The tools for writing checks: the registry of rules, the trial, samples, comparisons.

    @reading_rule("the backend contract: all edges that leave, all edges that enter")
    async def both_directions(trial: Trial) -> None:
        '''Both directions of an edge agree.'''

A check returns if the rule holds and raises `Broken` if it does not. Every test class and report is
generated from the registry, so a new rule only needs its own function.

A trial holds the ways to open the backend. Only `fill` or `open` is required; a rule that needs a
missing one is not tried.

    trial = Trial(fill=my_backend_with)
    async with trial.filled(records) as backend: ...
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from inspect import formatannotation, isawaitable
from itertools import product, zip_longest
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from bfsql import call
from bfsql.abc import GraphDbInterface, normalized
from bfsql.errors import BfsqlError, StoreError, listing
from bfsql.masking import shorten
from bfsql.memory import MemoryBackend
from bfsql.models import Edge, EdgeDirection, EntityStub, GraphRecord, Node, Triple
from bfsql.models.parts import EdgeFilter, part_of
from bfsql_testing.conformance.capabilities import EVERYTHING, Kind, storable
from bfsql_testing.conformance.graphs import node_ids, village

SAMPLE = 25
"""Number of nodes that a check in reading mode examines."""

EXAMPLES = 25
"""Number of graphs that hypothesis generates."""

RULE_SECONDS = 60.0
"""Time limit for one rule, in seconds; a backend that takes longer hangs."""

EDGES = 12
"""Number of edges of one node that a check examines."""

PATIENCE = 20.0
"""Seconds within which a call has to end that a store does not answer, or only with a constant."""

WORDS = ("a", "e", "the", "disease", "protein", "person", "city", "name", "1", "new", "test")
"""Search texts if the author specifies none."""

UNKNOWN = ("bfsql:no-such-entity", "no such entity'; --\\\"<>{}$`", "-1", "x" * 300)
"""Ids that do not exist in any store."""

SINGLE = ("get_node", "edges_from", "edges_to", "metadata_for_node")
"""The methods that take one id."""

Mode: TypeAlias = Literal["filling", "reading"]
"""Whether a check fills a store itself, or reads an existing one."""

Level: TypeAlias = Literal["duty", "convention", "advice"]
"""A duty is required by core; a convention is usual, but core works without it; advice improves
answers, and a backend is correct without it.
"""

Check: TypeAlias = Callable[["Trial"], Awaitable[None]]
"""Returns if the rule holds; raises `Broken` or `Untried` otherwise."""

_Check = TypeVar("_Check", bound=Callable[..., Awaitable[None]])

Fill = Callable[[Sequence[GraphRecord]], AbstractAsyncContextManager[GraphDbInterface]]
"""Takes records and returns an open backend whose store holds exactly these."""

Open = Callable[[], AbstractAsyncContextManager[GraphDbInterface]]
"""Opens the backend over an existing store."""


class Broken(BfsqlError, AssertionError):
    """The backend violates the rule; the message contains the call and its result."""


class Untried(BfsqlError):
    """The rule could not be checked; the message names what is missing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A property of every correct backend."""

    id: str
    """A few words with hyphens, by which an author opts out of the rule."""
    behaviour: str
    """The rule as a sentence; tests are named by it."""
    source: str
    """The point of the protocol, or the page, on which it is based."""
    mode: Mode
    """The mode of the check."""
    check: Check
    """The check, which raises an error if the rule does not hold."""
    level: Level = "duty"
    """The severity of a violation."""


RULES: dict[str, Rule] = {}
"""Every rule by its id, in the order in which they are reported."""


def rule(
    id: str,  # noqa: A002 - the rule's own word
    behaviour: str,
    *,
    source: str,
    mode: Mode,
    level: Level = "duty",
    **arguments: Any,
) -> Callable[[_Check], _Check]:
    """Register a check as a rule.

    Args:
        id: The id by which authors opt out of the rule; never changes.
        behaviour: The rule as a sentence.
        source: The passage of the protocol that states it.
        mode: The mode of the check.
        level: Whether core requires it.
        **arguments: Further arguments of the check, if it serves several rules.

    Raises:
        ValueError: The id is already in use.
    """

    def register(check: _Check) -> _Check:
        if id in RULES:
            raise ValueError(f"Two rules are named {id!r}; give one of them another name.")
        of_rule: Check = update_wrapper(partial(check, **arguments), check) if arguments else check
        RULES[id] = Rule(id, behaviour, source, mode, of_rule, level)
        return check

    return register


def _rule_of(
    source: str, behaviour: str = "", *, mode: Mode, level: Level = "duty"
) -> Callable[[Check], Check]:
    """Register a check as `rule` does: `own_identity` as `own-identity`, its docstring as sentence.

    A sentence that is too long for a docstring's first line is given as `behaviour`.
    """

    def register(check: Check) -> Check:
        doc = (check.__doc__ or "").rstrip(".")
        sentence = behaviour or doc[:1].lower() + doc[1:]
        name = check.__name__.replace("_", "-")
        return rule(name, sentence, source=source, mode=mode, level=level)(check)

    return register


filling_rule = partial(_rule_of, mode="filling")
"""Registers a check that fills a store."""

reading_rule = partial(_rule_of, mode="reading")
"""Registers a check that reads an existing store."""


def rules(*modes: Mode) -> list[Rule]:
    """The rules of these modes, or all of them, in the order of the report."""
    return [rule for rule in RULES.values() if not modes or rule.mode in modes]


def expect(holds: object, reason: str) -> None:
    """Continue if the condition holds.

    Raises:
        Broken: It does not hold; `reason` contains the actual and the correct result.
    """
    if not holds:
        raise Broken(reason)


def expect_same(what: str, have: Any, right: Any, *, whole: object = True) -> None:
    """Continue if both are the same, or if they are not whole.

    Raises:
        Broken: They differ; `what` begins the sentence.
    """
    fault = discrepancy(have, right) if whole else ""
    expect(not fault, f"{what} {fault}.")


def discrepancy(have: Any, right: Any) -> str:
    """What is wrong with a value, the end of a sentence; "" if it is right.

    Of sets and lists it names the members that are missing, too many or in another place.
    """
    if have == right:
        return ""
    with suppress(TypeError):  # of members that cannot be in a set
        if all(isinstance(one, set | list) for one in (have, right)):
            lost, more = sorted({*right} - {*have}, key=str), sorted({*have} - {*right}, key=str)
            parts = [f"lacks {len(lost)} of {len(right)}: {lost[:4]}"] if lost else []
            parts += [f"has {more[:4]}, which should not be there"] if more else []
            pairs = zip_longest(have, right)
            first = next(f"has {one!r} where {two!r} is right" for one, two in pairs if one != two)
            return shorten(" and ".join(parts) or first, 500)
    return f"gave {shorten(repr(have), 300)}; right is {shorten(repr(right), 300)}"


async def expect_unavailable(call_of: str, ask: Callable[[], Awaitable[object]]) -> None:
    """Make a call while the store is gone, which has to raise a StoreError in time.

    Raises:
        Broken: It does something else; `call_of` is its name in the reason.
    """
    gone, right = f"With the store gone, {call_of}", "it has to raise StoreUnavailable."
    try:
        with no_error(gone, f"; {right}", but=(StoreError,)):
            async with within(PATIENCE, f"{gone} hangs for {PATIENCE:g} s; {right}"):
                answer = await ask()
    except StoreError:
        return
    raise Broken(f"{gone} gave {answer}; {right}")


@contextmanager
def no_error(
    what: str, advice: str = "", *, but: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn any error `but` these into `Broken`, with a sentence that begins and ends like this."""
    passing: tuple[type[Exception], ...] = (Broken, Untried, *but)
    try:
        yield
    except passing:
        raise
    except Exception as error:
        raise Broken(f"{what} raised {type(error).__name__}: {error}{advice}") from error


@asynccontextmanager
async def within(seconds: float, late: str) -> AsyncIterator[None]:
    """Limit the time of what a backend does; if it takes longer, it is `Broken` for this reason."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as error:
        raise Broken(late) from error


@dataclass(slots=True)
class Trial:
    """The ways to open one backend, and its author's declarations."""

    fill: Fill | None = None
    """Fills a store and opens it; None if the kit cannot fill it."""
    open: Open | None = None
    """Opens an existing store; None to read the kit's own graph."""
    keeps: frozenset[Kind] = EVERYTHING
    """The kinds of values that the store keeps."""
    queries: Callable[[GraphDbInterface], Sequence[str] | None] | None = None
    """The query texts that a backend has sent so far, without parameters, oldest first."""
    round_trips: Callable[[GraphDbInterface], int | None] | None = None
    """How many requests a backend has sent to its store so far."""
    gone: Callable[[GraphDbInterface], AbstractAsyncContextManager[None] | None] | None = None
    """A context in which the backend's store cannot be reached; afterwards it can."""
    read_only: Fill | None = None
    """Like `fill`, but the open backend has only the right to read."""
    omitting: Fill | None = None
    """Like `fill`, but the backend omits some edges of a node with 200 edges, and reports them."""
    sample: Sequence[str] = ()
    """Ids to check in reading mode; without them the kit finds some by searching."""
    words: Sequence[str] = ()
    """Search texts for finding ids."""
    size: int = SAMPLE
    """Number of nodes to check in reading mode."""
    examples: int = EXAMPLES
    """Number of graphs that hypothesis generates."""
    rule_seconds: float = RULE_SECONDS
    """Time limit for one rule, in seconds."""
    oddities: list[str] = field(default_factory=list)
    """Unusual properties of the store that are not the backend's fault."""

    @asynccontextmanager
    async def filled(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        """An open backend whose store holds those parts of these records that it keeps.

        Raises:
            Untried: The store cannot be filled.
        """
        if self.fill is None:
            raise Untried("The kit cannot fill the store.")
        async with self.fill(storable(records, self.keeps)) as backend:
            yield backend

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[GraphDbInterface]:
        """An open backend over the existing store, or else over the kit's village."""
        async with self.open() if self.open is not None else self.filled(village()) as backend:
            yield backend

    @asynccontextmanager
    async def sampled(self) -> AsyncIterator[tuple[GraphDbInterface, list[str]]]:
        """An open backend over the existing store, and ids to check."""
        async with self.opened() as db:
            yield db, await sample(self, db)

    def away(self, db: GraphDbInterface) -> AbstractAsyncContextManager[None]:
        """A context in which the store of an open backend cannot be reached.

        Raises:
            Untried: The trial has no way to make it unreachable.
        """
        away = self.gone(db) if self.gone else None
        if away is None:
            raise Untried("The test class does not define store_gone.")
        return away

    def reader(self) -> Trial:
        """The ways to open the backend with only the right to read.

        Raises:
            Untried: The trial has no such way.
        """
        if self.read_only is None:
            raise Untried("The test class does not define read_only_with.")
        return Trial(fill=self.read_only, keeps=self.keeps)

    def storable(self, records: Sequence[GraphRecord]) -> list[GraphRecord]:
        """The part of these records that the store keeps."""
        return storable(records, self.keeps)

    def odd(self, sentence: str) -> None:
        """Note an unusual property of the store; the rule still holds."""
        if sentence not in self.oddities:
            self.oddities.append(sentence)


@asynccontextmanager
async def looked_at(
    trial: Trial, records: Sequence[GraphRecord]
) -> AsyncIterator[tuple[GraphDbInterface, list[str]]]:
    """An open backend and ids to check.

    They are a sample of the existing store or, if the kit fills the store, these records and
    all of their nodes.
    """
    if trial.open is not None:
        async with trial.open() as db:
            yield db, await sample(trial, db)
    else:
        able = trial.storable(records)
        async with trial.filled(able) as db:
            yield db, node_ids(able)


@asynccontextmanager
async def beside_reference(
    trial: Trial, graph: Callable[[], list[GraphRecord]]
) -> AsyncIterator[tuple[GraphDbInterface, MemoryBackend, list[GraphRecord]]]:
    """An open backend over a graph of the kit, the reference over the same, and its records."""
    records = trial.storable(graph())
    async with trial.filled(records) as db:
        yield db, MemoryBackend(records), records


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges that one or several calls returned."""

    triples: Sequence[Triple] = ()
    """The edges, sorted, each once."""
    whole: bool = True
    """Whether the backend reported no omission."""

    def __or__(self, other: Edges) -> Edges:
        """The edges of both."""
        triples = sorted({*self.triples, *other.triples})
        return Edges(triples, self.whole and other.whole)

    def expect(self, wanted: Edges, what: str) -> None:
        """Continue if the edges are the same, or an omission was reported.

        Raises:
            Broken: They differ; `what` begins the sentence.
        """
        whole = self.whole and wanted.whole
        expect_same(what, {*self.triples}, {*wanted.triples}, whole=whole)


NO_PREDICATE = "no predicate of any graph"


async def ring_of(db: GraphDbInterface, ids: Sequence[str]) -> set[Triple]:
    """The edges that `edges_batch` returns, as plain triples."""
    return {(s, p, o) for s, p, o in await db.edges_batch(ids)}


Reader: TypeAlias = Callable[..., Awaitable[Iterable[Triple]]]
"""Reads the edges of an id or of ids, or a part of their ring."""


async def edges_of(ask: Reader, ids: Any, **part: Any) -> Edges:
    """The result of `edges_from`, `edges_to` or a ring's reader for an id or ids."""
    with call.scope(seconds=call.remaining()) as scope:
        triples = {(subject, predicate, obj) for subject, predicate, obj in await ask(ids, **part)}
        return Edges(sorted(triples), not scope.omissions)


async def expect_parts(what: str, read: Reader, ids: Sequence[str], whole: Edges) -> None:
    """Read parts of the ring of these ids, and compare each with that part of the whole.

    Raises:
        Broken: They differ; `what` begins the sentence.
    """
    names = sorted({predicate for _, predicate, _ in whole.triples})
    first = names[:3]
    some = [None, *([name] for name in first), first, [*names, NO_PREDICATE], []]
    ways: tuple[EdgeDirection | None, ...] = (None, "out", "in")
    for predicates, direction in product(some, ways):
        part: EdgeFilter = {"predicates": predicates, "direction": direction}
        wanted = Edges(part_of(list(whole.triples), ids, **part), whole.whole)
        edges = await edges_of(read, ids, **part)
        edges.expect(wanted, f"{what} with {part}, of the whole ring,")


async def sample(trial: Trial, db: GraphDbInterface) -> list[str]:
    """Ids to check, at most `trial.size` of them.

    Raises:
        Untried: None could be found.
    """
    if trial.sample:
        return list(trial.sample)[: trial.size]
    if trial.open is None:
        ids = node_ids(trial.storable(village()))
        return ids[:: max(1, len(ids) // trial.size)][: trial.size]
    trial.sample = await _searched(trial, db)  # the store does not change: one search suffices
    return list(trial.sample)


async def some_edges(trial: Trial, db: GraphDbInterface) -> list[Triple]:
    """Edges of the sample, a few of each node.

    Raises:
        Untried: The sample has none.
    """
    found: dict[Triple, None] = {}
    for entity_id in await sample(trial, db):
        found.update(dict.fromkeys((await edges_of(db.edges_from, entity_id)).triples[:5]))
    if not found:
        raise Untried("No sampled node has an outgoing edge.")
    return list(found)[: trial.size]


async def answered(db: GraphDbInterface, method: str, *arguments: Any) -> Any:
    """The answer of a method, or `KeyError`, the class, where it raises one."""
    try:
        return await getattr(db, method)(*arguments)
    except KeyError:
        return KeyError


async def returned(db: GraphDbInterface, method: str, *arguments: Any) -> Any:
    """The answer of a method, which may be a plain one; an iterator becomes a list.

    Raises:
        Broken: It is not of the type that the contract states.
    """
    answer = getattr(db, method)(*arguments)
    answer = await answer if isawaitable(answer) else answer
    answer = list(answer) if isinstance(answer, Iterator) else answer
    wrong = _mismatch(method, answer)
    request = shorten(", ".join(map(repr, arguments)), 60)
    expect(wrong is None, f"{method}({request}) returned {wrong}")
    return answer


def _mismatch(method: str, answer: object) -> str | None:
    """What a method returned and what is right, the end of a sentence; None if the types fit."""
    right = get_type_hints(getattr(GraphDbInterface, method))["return"]
    items, kind, place = [answer], right, ""
    if get_origin(right) in (Iterable, Sequence) and _is_several(answer):
        items, [kind], place = list(answer), get_args(right), f" in a {type(answer).__name__}"  # type: ignore[call-overload]
    for item in items:
        if not _fits(item, kind):
            text = f"{shorten(repr(item), 120)} ({type(item).__name__}){place}"
            name = re.sub(r"\w+\.", "", formatannotation(right))
            return f"{text}; right is {name}, in which ids, types, predicates and keys are str."
    return None


def _fits(value: Any, kind: Any) -> bool:
    if kind in (EntityStub, Node):
        return all(isinstance(getattr(value, key, None), str) for key in ("id", "entity_type"))
    if kind is Edge or get_origin(kind) is tuple:
        return _is_several(value) and [isinstance(part, str) for part in value] == [True] * 3
    if get_origin(kind) in (dict, Mapping):
        key, of = get_args(kind)
        pairs = value.items() if isinstance(value, Mapping) else [(None, None)]
        return all(_fits(one, key) and _fits(other, of) for one, other in pairs)
    return kind is Any or (isinstance(kind, type) and isinstance(value, kind))


def _is_several(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, Mapping))


async def _searched(trial: Trial, db: GraphDbInterface) -> list[str]:
    """Ids of nodes that searches find, and of their neighbours; of all types in turn.

    Raises:
        Untried: There are none.
    """
    types = list(await returned(db, "entity_types"))[:10]
    words = trial.words or (*WORDS, *types)
    found = await _hits(db, words, types, trial.size)
    for entity_id in list(found):
        if len(found) >= trial.size:
            break
        for subject, _, obj in (await edges_of(db.edges_batch, [entity_id])).triples[:EDGES]:
            found.update({subject: "", obj: ""})
    with suppress(KeyError):  # before the default batch, which would have the same fault
        await returned(db, "get_node", next(iter(found), ""))
    types_of = {n.id: n.entity_type for n in await returned(db, "get_nodes_batch", list(found))}
    groups: dict[str, list[str]] = {}
    for entity_id in filter(types_of.__contains__, found):
        groups.setdefault(types_of[entity_id], []).append(entity_id)
    if not groups:
        trial.odd("No search found a node: the store is empty, or contains other words.")
        method, of = ("get_nodes_batch", found) if found else ("search_entities", words)
        raise Untried(
            f"No node to examine was found: {method} returned none for "
            f"{listing([*map(repr, of)], 3)}. Name ids of nodes (sample, --id) or words of their "
            "names (words, --word); search_entities has to return ids that get_node knows."
        )
    rows = zip_longest(*groups.values())
    return [i for row in rows for i in row if i is not None][: trial.size]


async def _hits(
    db: GraphDbInterface, words: Sequence[str], types: Sequence[str], most: int
) -> dict[str, str]:
    """The types of nodes that searches find, by id: about `most`, and of further types."""
    found: dict[str, str] = {}
    for word in words:
        hits = await returned(db, "search_entities", word)
        found.update((stub.id, stub.entity_type) for stub in hits)
        if len(found) >= most:
            break
    for entity_type, word in ((name, word) for name in types for word in (name, *words[:3])):
        if entity_type not in found.values():
            stubs = await normalized(db).search_entities(word, [entity_type])
            found.update((stub.id, entity_type) for stub in stubs)
    return found


def some_ids(records: Iterable[GraphRecord], most: int = 12) -> list[str]:
    """Ids of nodes, from everywhere in the graph."""
    ids = node_ids(records)
    return ids[:: max(1, -(-len(ids) // most))]
