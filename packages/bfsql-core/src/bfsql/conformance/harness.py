"""What every check is written with: the registry of rules, the trial, samples, comparisons.

    @reading_rule(
        "both-directions",
        "both directions of an edge agree",
        source="chapter 8: all edges that leave, all edges that enter",
    )
    async def both_directions(trial: Trial) -> None: ...

A check returns when the rule holds and raises `Broken` when it does not. Every
test class and report is made from the registry, so that a new rule needs nothing
but its own function.

A trial holds the ways to open the backend. Only `fill` or `open` is needed; a rule
that needs a way that is not given is not tried.

    trial = Trial(fill=my_backend_with)
    async with trial.filled(records) as backend: ...
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Literal, TypeAlias

from bfsql import call
from bfsql.abc import GraphDbInterface, adapted
from bfsql.conformance.capabilities import EVERYTHING, Kind, kept
from bfsql.conformance.graphs import node_ids, village
from bfsql.errors import BfsqlError, ToolError
from bfsql.graph import Graph, open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import EdgeDirection, GraphRecord, Triple
from bfsql.models.parts import Part, part_of
from bfsql.tools import Limits

SAMPLE = 25
"""Nodes that a check in reading mode looks at."""

EXAMPLES = 25
"""Graphs that hypothesis makes."""

RULE_SECONDS = 60.0
"""How long one rule may take; a backend that takes longer hangs."""

EDGES = 12
"""Edges of one node that a check looks at."""

WORDS = ("a", "e", "the", "disease", "protein", "person", "city", "name", "1", "new", "test")
"""Searched for when the author names no words."""

UNKNOWN = (
    "bfsql:no-such-entity",
    "no such entity'; --\\\"<>{}$`",
    "-1",
    "x" * 300,
)
"""Ids that no store has."""

SHOWN = 160
"""Characters of an answer that a reason repeats, from the first difference on."""

Mode: TypeAlias = Literal["filling", "reading"]
"""Whether a check fills a store itself, or reads an existing one."""

Level: TypeAlias = Literal["duty", "convention", "advice"]
"""A duty is what core needs; a convention is what is usual, and core works without it; advice is
what makes answers better, and a backend is right without it."""

Check: TypeAlias = Callable[["Trial"], Awaitable[None]]
"""Returns when the rule holds; raises `Broken` or `Untried` when not."""

Fill = Callable[[Sequence[GraphRecord]], AbstractAsyncContextManager[GraphDbInterface]]
"""Records to an open backend whose store holds exactly these."""

Open = Callable[[], AbstractAsyncContextManager[GraphDbInterface]]
"""Opens the backend over an existing store."""


class Broken(BfsqlError, AssertionError):
    """The backend does not keep the rule; the message has the call and what it gave."""


class Untried(BfsqlError):
    """The rule could not be checked; the message names what is missing."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is true of every right backend."""

    id: str
    """A few words with hyphens, by which an author opts out of it."""
    behaviour: str
    """The rule as a sentence; tests are named by it."""
    source: str
    """The sentence of the protocol or of a chapter that it comes from."""
    mode: Mode
    """What the check needs."""
    check: Check
    """Raises when the rule does not hold."""
    level: Level = "duty"
    """What it means for a backend not to keep it."""


RULES: dict[str, Rule] = {}
"""Every rule by its id, in the order in which they are reported."""


def rule(
    id: str,  # noqa: A002 - the rule's own word
    behaviour: str,
    *,
    source: str,
    mode: Mode,
    level: Level = "duty",
) -> Callable[[Check], Check]:
    """Register a check as a rule.

    Args:
        id: By which authors opt out of it; never changes.
        behaviour: The rule as a sentence.
        source: Where the protocol states it.
        mode: What the check needs.
        level: Whether core needs it.

    Raises:
        ValueError: The id is taken.
    """

    def register(check: Check) -> Check:
        if id in RULES:
            raise ValueError(f"Two rules are named {id!r}; give one of them another name.")
        RULES[id] = Rule(id, behaviour, source, mode, check, level)
        return check

    return register


filling_rule = partial(rule, mode="filling")
"""Registers a check that fills a store."""

reading_rule = partial(rule, mode="reading")
"""Registers a check that reads an existing store."""


def rules(*modes: Mode) -> list[Rule]:
    """The rules of these modes, or all of them, in the order of the report."""
    return [rule for rule in RULES.values() if not modes or rule.mode in modes]


def expect(holds: object, reason: str) -> None:
    """Go on when it holds.

    Raises:
        Broken: It does not; `reason` has what was given and what would be right.
    """
    if not holds:
        raise Broken(reason)


async def expect_unknown(db: GraphDbInterface, method: str, key: object, reason: str) -> None:
    """Ask for what the store does not have; another error than KeyError passes through.

    Raises:
        Broken: It was answered; `reason` ends the sentence.
    """
    try:
        answer = await getattr(db, method)(key)
    except KeyError:
        return
    raise Broken(f"{method}({key!r}) gave {answer!r}{reason}")


@dataclass(slots=True)
class Trial:
    """The ways to open one backend, and what its author declares of it."""

    fill: Fill | None = None
    """Fills a store and opens it; None when the kit cannot fill it."""
    open: Open | None = None
    """Opens an existing store; None to read the kit's own graph."""
    keeps: frozenset[Kind] = EVERYTHING
    """The kinds of values that the store keeps."""
    queries: Callable[[GraphDbInterface], Sequence[str] | None] | None = None
    """The query texts that a backend has sent so far, without parameters, oldest first."""
    round_trips: Callable[[GraphDbInterface], int | None] | None = None
    """How many requests a backend has sent to its store so far."""
    gone: Callable[[GraphDbInterface], AbstractAsyncContextManager[None] | None] | None = None
    """A context in which the backend's store cannot be reached, and after which it can."""
    read_only: Fill | None = None
    """As `fill`, but the open backend has the right to read and no other."""
    omitting: Fill | None = None
    """As `fill`, but of a node with 200 edges the backend omits some, and reports them."""
    sample: Sequence[str] = ()
    """Ids to look at in reading mode; without them the kit finds some by searching."""
    words: Sequence[str] = ()
    """What to search for when ids have to be found."""
    size: int = SAMPLE
    """Nodes to look at in reading mode."""
    examples: int = EXAMPLES
    """Graphs that hypothesis makes."""
    rule_seconds: float = RULE_SECONDS
    """How long one rule may take."""
    oddities: list[str] = field(default_factory=list)
    """What is unusual about the store without being the backend's fault."""

    @asynccontextmanager
    async def filled(self, records: Sequence[GraphRecord]) -> AsyncIterator[GraphDbInterface]:
        """An open backend whose store holds what it keeps of these records.

        Raises:
            Untried: The store cannot be filled.
        """
        if self.fill is None:
            raise Untried("The kit cannot fill the store.")
        async with self.fill(kept(records, self.keeps)) as backend:
            yield backend

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[GraphDbInterface]:
        """An open backend over the existing store, or else over the kit's village."""
        async with self.open() if self.open is not None else self.filled(village()) as backend:
            yield backend

    def away(self, db: GraphDbInterface) -> AbstractAsyncContextManager[None]:
        """A context in which the store of an open backend cannot be reached.

        Raises:
            Untried: No way is given to take it away.
        """
        away = self.gone(db) if self.gone else None
        if away is None:
            raise Untried("No way to take the store away is given.")
        return away

    def reader(self) -> Trial:
        """The ways to open the backend with the right to read alone.

        Raises:
            Untried: No way is given to do so.
        """
        if self.read_only is None:
            raise Untried("No way to open a store that may only be read is given.")
        return Trial(fill=self.read_only, keeps=self.keeps)

    def kept(self, records: Sequence[GraphRecord]) -> list[GraphRecord]:
        """What the store keeps of these records."""
        return kept(records, self.keeps)

    def odd(self, sentence: str) -> None:
        """Note what is unusual about the store; the rule holds all the same."""
        if sentence not in self.oddities:
            self.oddities.append(sentence)


@asynccontextmanager
async def looked_at(
    trial: Trial, records: Sequence[GraphRecord]
) -> AsyncIterator[tuple[GraphDbInterface, list[str]]]:
    """An open backend and ids to look at.

    They are a sample of the existing store or, where the kit fills the store, these records and
    all of their nodes.
    """
    if trial.open is not None:
        async with trial.open() as db:
            yield db, await sample(trial, db)
    else:
        able = trial.kept(records)
        async with trial.filled(able) as db:
            yield db, node_ids(able)


@dataclass(frozen=True, slots=True)
class Edges:
    """The edges that one call gave."""

    triples: tuple[Triple, ...]
    """Sorted, each once."""
    whole: bool
    """Whether the backend reported no omission."""


PARTS = 3
"""Predicates that parts of a ring are asked for."""
NO_PREDICATE = "no predicate of any graph"


async def edges_of(ask: Callable[[Any], Awaitable[Iterable[Triple]]], asked: Any) -> Edges:
    """What `edges_from`, `edges_to` or `edges_batch` gives for an id or ids."""
    with call.scope(seconds=call.remaining()) as scope:
        triples = {(subject, predicate, obj) for subject, predicate, obj in await ask(asked)}
        return Edges(tuple(sorted(triples)), not scope.omissions)


def parts_of(ring: Sequence[Triple], ids: Sequence[str]) -> Iterator[tuple[Part, set[Triple]]]:
    """Some parts of a ring as a store is asked for them, and the edges of each.

    Args:
        ring: The whole ring.
        ids: The ids that it was asked for.
    """
    names = sorted({predicate for _, predicate, _ in ring})
    some = [None, *([name] for name in names[:PARTS]), names[:PARTS], [*names, NO_PREDICATE], []]
    ways: tuple[EdgeDirection | None, ...] = (None, "out", "in")
    for predicates, direction in product(some, ways):
        part: Part = {"predicates": predicates, "direction": direction}
        yield part, set(part_of(list(ring), ids, **part))


async def sample(trial: Trial, db: GraphDbInterface) -> list[str]:
    """Ids to look at, `trial.size` of them at the most.

    Raises:
        Untried: None could be found.
    """
    if trial.sample:
        return list(trial.sample)[: trial.size]
    if trial.open is None:
        ids = node_ids(trial.kept(village()))
        return ids[:: max(1, len(ids) // trial.size)][: trial.size]
    found = await _searched(trial, db)
    if not found:
        trial.odd("No search found a node: the store is empty, or contains other words.")
        raise Untried("No node to examine was found; name some, or words to search for.")
    trial.sample = list(found)  # the store stays the same, so one search does for every rule
    return list(found)


async def some_edges(trial: Trial, db: GraphDbInterface) -> list[Triple]:
    """Edges of the sample, a few of each node.

    Raises:
        Untried: The sample has none.
    """
    found: dict[Triple, None] = {}
    for entity_id in await sample(trial, db):
        found.update(dict.fromkeys((await edges_of(db.edges_from, entity_id)).triples[:5]))
    if not found:
        raise Untried("No node of the sample has an edge that leaves it.")
    return list(found)[: trial.size]


async def _searched(trial: Trial, db: GraphDbInterface) -> list[str]:
    """Ids of nodes that searches find, then those of their neighbours."""
    found: dict[str, None] = {}
    words = trial.words or (*WORDS, *list(await db.entity_types())[:10])
    for word in words:
        found.update((stub.id, None) for stub in await adapted(db).search_entities(word))
        if len(found) >= trial.size:
            break
    for entity_id in list(found):
        if len(found) >= trial.size:
            break
        for subject, _, obj in (await edges_of(db.edges_batch, [entity_id])).triples[:EDGES]:
            found.update({subject: None, obj: None})
    nodes = {node.id for node in await db.get_nodes_batch(list(found))}
    return [i for i in found if i in nodes][: trial.size]


class PlainReference(MemoryBackend):
    """The reference for a backend without evidence of its own: the contract's default."""

    provenance_for_node = GraphDbInterface.provenance_for_node


@asynccontextmanager
async def both(trial: Trial, records: Sequence[GraphRecord]) -> AsyncIterator[tuple[Graph, Graph]]:
    """The backend and the reference over the same records, each behind tools and cache."""
    async with trial.filled(records) as db:
        reference = reference_of(db, trial.kept(records))
        async with open_graph(db) as mine, open_graph(reference) as wanted:
            yield mine, wanted


def reference_of(db: GraphDbInterface, records: Sequence[GraphRecord]) -> MemoryBackend:
    """What a backend is compared with, over some records."""
    default = type(db).provenance_for_node is GraphDbInterface.provenance_for_node
    return (PlainReference if default else MemoryBackend)(records)


def uncached(db: GraphDbInterface) -> Graph:
    """The six tools straight over a backend."""
    return Graph(db, "", Limits(), None)


async def outcome(graph: Graph, tool: str, arguments: dict[str, Any]) -> tuple[Any, ...]:
    """The blocks of an answer, or the kind and the argument of an error."""
    try:
        answer = await graph.call(tool, arguments)
    except ToolError as refused:
        return ("refused", refused.kind, refused.argument)
    if tool == "describe_schema" and not arguments.get("seeds"):
        schema = json.loads(answer.text)
        return tuple((k, schema[k]) for k in ("entity_types", "predicates", "comprehensive"))
    return answer.blocks


async def same(mine: Graph, wanted: Graph, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool of both.

    Raises:
        Broken: They differ.
    """
    want = await outcome(wanted, tool, arguments)
    have = await outcome(mine, tool, arguments)
    if have != want:
        text = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        short = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
        raise Broken(difference(f"{tool}({short})", have, want))


def difference(asked: str, have: object, want: object) -> str:
    """What was asked, and both answers from the first difference on."""
    one, other = str(have), str(want)
    first = next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    start = max(0, first - SHOWN // 2)
    return (
        f"{asked} gave ...{one[start : start + SHOWN]}..., the reference gives "
        f"...{other[start : start + SHOWN]}..."
    )


def some_ids(records: Iterable[GraphRecord], most: int = 12) -> list[str]:
    """Ids of nodes, from everywhere in the graph."""
    ids = node_ids(records)
    return ids[:: max(1, -(-len(ids) // most))]
