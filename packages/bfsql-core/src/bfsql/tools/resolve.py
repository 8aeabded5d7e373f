"""Resolution of ids and names to entities (`protocol.md` 12, 24, 26).

Wherever an id is expected, a name or an alias that belongs to a single entity is accepted, and the
IRI of a short id, or the reverse. Ids come first and are looked up in one batch; only values that
are not ids are searched for, at most `MOST_NAMES` of them per call.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from bfsql import call
from bfsql.abc import NormalizedBackend, each
from bfsql.answers.clean import clean_text
from bfsql.answers.notes import Missing, Note, Substitution, omissions
from bfsql.engine.numbered import nodes_of
from bfsql.errors import ToolError, UnknownType, listing
from bfsql.integers import IntegerGraph, ResolvedNode
from bfsql.models import EntityStub, Node
from bfsql.models.json_values import distinct_texts, is_text
from bfsql.models.matching import NO_MISSPELLING, MatchClass
from bfsql.models.quotation import excerpt, plain
from bfsql.models.rdf import is_iri, may_be_same
from bfsql.models.spelling import KnownNames
from bfsql.query.steps import MOST_NAMES
from bfsql.query.vocabulary import Schema
from bfsql.tools.hits import Hits, classified_search
from bfsql.tools.namesakes import contexts

MOST_CANDIDATES = 8
"""Maximum number of candidates for a name that an error lists."""

N = TypeVar("N", Node, ResolvedNode)
_BREAKS = re.compile(r"[:/#]")


@dataclass(frozen=True, slots=True)
class UnresolvedName:
    """A value that is neither an id nor the name of a single entity."""

    value: str
    candidates: Sequence[EntityStub] = ()
    """The entities with this name."""
    full: bool = False
    """Whether there may be more candidates."""
    skipped: bool = False
    """Whether the value was not looked up because the call has too many names."""


@dataclass
class NameResolver:
    """The ids and names of one call.

    Args:
        db: The graph without what the hooks redact.
        schema: A function that returns the vocabulary of the graph.

    Attributes:
        notes: A note for each name that was resolved or left out.
    """

    db: NormalizedBackend
    schema: Callable[[], Awaitable[Schema]]
    notes: list[Note] = field(default_factory=list)
    _left: int = MOST_NAMES

    async def entities(
        self, columns: IntegerGraph, values: Sequence[str], types: Sequence[str] = ()
    ) -> tuple[dict[str, ResolvedNode], list[UnresolvedName]]:
        """The entity of each id and name, in the order given, and the other values.

        If several entities share a name, those of the given types are preferred.
        """
        return await self._entities(values, columns.find, types)

    async def misspelt(self, columns: IntegerGraph, value: str) -> ResolvedNode | None:
        """The only entity whose name is spelt like a value, with a note; None without one.

        A value with other digits means another thing, and so does one that is part of a name.
        """
        typed = [(name, [of_type]) for of_type, name in await self._typed(value)]
        for text, types in typed or [(value, [])]:
            found = await classified_search(self.db, " ".join(text.split()), types)
            if len(found.hits) != 1 or found.full:
                continue
            hit, stub = found.hits[0], found.hits[0].stub
            is_near = hit.match.kind is MatchClass.SIMILAR and hit.match.errors < NO_MISSPELLING
            if not (is_near and stub.name and _digits(stub.name) == _digits(text)):
                continue
            [node] = await columns.find([stub.id])
            if node is not None:
                taken = Substitution(value, stub.id, stub.entity_type, similar=stub.name)
                self.notes.append(taken)
            return node
        return None

    async def node(self, argument: str, value: str) -> Node:
        """The entity of one id or name.

        Raises:
            ToolError: The value is neither an id nor a name, or is the name of several entities.
        """
        known, failed = await self._entities([value], lambda ids: nodes_of(self.db, ids))
        if failed:
            raise await self.error(argument, failed)
        call.has_read(nodes=1)
        return known[value]

    async def nodes(self, values: Sequence[str]) -> list[Node]:
        """The entities that exist, each once; a note names the values that were left out."""
        known, failed = await self._entities(values, lambda ids: nodes_of(self.db, ids))
        unknown = [name.value for name in failed if not name.candidates and not name.skipped]
        if unknown:
            left_out = (
                f"No such entity, left out: {', '.join(map(excerpt, unknown))}. "
                f"search_entities resolves names to ids.{of_patterns(unknown)}"
            )
            self.notes.append(Missing(left_out))
        several = [name for name in failed if name.candidates]
        self.notes += [Missing(f"Left out: {text}") for text in await self._ambiguous(several)]
        if skipped := [name.value for name in failed if name.skipped]:
            self.notes.append(Missing(f"Left out: {_too_many(skipped)}"))
        nodes = {node.id: node for node in known.values()}
        call.has_read(nodes=len(nodes))
        return list(nodes.values())

    # --- looking up -------------------------------------------------------------

    async def _entities(
        self,
        values: Sequence[str],
        lookup: Callable[[list[str]], Awaitable[Sequence[N | None]]],
        types: Sequence[str] = (),
    ) -> tuple[dict[str, N], list[UnresolvedName]]:
        """The entities found for some values, in order, and the unresolved values.

        A value that is not valid text is in no store and is not looked up.
        """
        asked = distinct_texts(values)
        found = await _looked_up(asked, lookup)
        names = {v: UnresolvedName(v) for v in dict.fromkeys(values) if found.get(v) is None}
        if names:
            by_name = await self._by_name([v for v in asked if v in names], types)
            meant = {v: n.candidates[0] for v, n in by_name.items() if len(n.candidates) == 1}
            taken = await _looked_up([stub.id for stub in meant.values()], lookup)
            names |= by_name
            for value, stub in meant.items():
                if (one := taken[stub.id]) is not None:
                    found[value] = one
                    full = names.pop(value).full
                    self.notes.append(Substitution(value, stub.id, stub.entity_type, full))
                else:
                    names[value] = UnresolvedName(value)
        known = {value: one for value in values if (one := found.get(value)) is not None}
        return known, list(names.values())

    async def _by_name(
        self, values: Sequence[str], types: Sequence[str]
    ) -> dict[str, UnresolvedName]:
        """Search by name for as many of the values as the call may still look up."""
        some = values[: self._left]
        self._left -= len(some)
        found = await each(some, lambda value: self._candidates(value, types))
        skipped = {value: UnresolvedName(value, skipped=True) for value in values[len(some) :]}
        return skipped | {name.value: name for name in found if name is not None}

    async def _candidates(self, value: str, types: Sequence[str]) -> UnresolvedName:
        text = " ".join(value.split())
        if types:
            narrowed = _called(value, await classified_search(self.db, text, types))
            if narrowed.candidates:
                return narrowed
        found = _called(value, await classified_search(self.db, text))
        if found.candidates:
            return found
        for entity_type, name in await self._typed(value):
            found = _called(value, await classified_search(self.db, name, [entity_type]))
            if found.candidates:
                return found
        return await self._respelt(value)

    async def _respelt(self, value: str) -> UnresolvedName:
        """The entities whose ids are other spellings of an IRI or of a short id."""
        if not is_iri(value.strip("<>")):
            return UnresolvedName(value)
        found = await classified_search(self.db, _last_segment(value.strip("<>")))
        same = [hit.stub for hit in found.hits if may_be_same(value, hit.stub.id)]
        return UnresolvedName(value, same)

    async def _typed(self, value: str) -> list[tuple[str, str]]:
        """Known types and names, for a value written like `Disease: Vetorjor`."""
        colon = ":" in value
        known = KnownNames((await call.within(self.schema())).entity_types if colon else ())
        found = []
        for place, front in known.before(value, ":"):
            entity_type, name = known.one(front), value[place + 1 :].strip()
            if entity_type is not None and name:
                found.append((entity_type, name))
        return found

    # --- sentences --------------------------------------------------------------

    async def error(self, argument: str, failed: Sequence[UnresolvedName]) -> ToolError:
        """Create the error of values that name no entity, or several."""
        if several := [name for name in failed if name.candidates]:
            [sentence] = await self._ambiguous(several[:1])
            return ToolError(f"{argument}: {sentence}", kind="ambiguous_name", argument=argument)
        unknown = [name.value for name in failed if not name.skipped]
        if unknown:
            return await _no_such(self.db, argument, unknown)
        sentence = f"{argument}: {_too_many([name.value for name in failed])}"
        return ToolError(sentence, kind="too_large", argument=argument)

    async def with_similar(self, error: ToolError) -> ToolError:
        """The same error; that of an unknown type also names entities with a similar name."""
        if isinstance(error, UnknownType) and (near := await _near(self.db, error.name)):
            sentence = f"{error} Entities of a similar name: {near}."
            return UnknownType(sentence, error.argument, error.name)
        return error

    async def _ambiguous(self, names: Sequence[UnresolvedName]) -> list[str]:
        """A sentence for each name, with facts that tell its candidates apart."""
        listed = [[stub.id for stub in name.candidates[:MOST_CANDIDATES]] for name in names]
        facts = await contexts(self.db, listed)
        return [_ambiguous(name, facts) for name in names]


async def require(db: NormalizedBackend, argument: str, entity_id: str) -> Node:
    """The node of an id, which must exist; names are not accepted.

    Raises:
        ToolError: The node does not exist; the message names the closest known ids.
    """
    node = None
    if is_text(entity_id):
        [node] = await call.within(nodes_of(db, [entity_id]))
    if node is None:
        raise await _no_such(db, argument, [entity_id])
    return node


async def _looked_up(
    ids: Sequence[str], lookup: Callable[[list[str]], Awaitable[Sequence[N | None]]]
) -> dict[str, N | None]:
    asked = list(dict.fromkeys(ids))
    return dict(zip(asked, await call.within(lookup(asked)), strict=True)) if asked else {}


def _called(value: str, found: Hits) -> UnresolvedName:
    """The entities with this name: an id precedes a name, and a name precedes an alias."""
    for kind in (MatchClass.ID, MatchClass.NAME, MatchClass.ALIAS):
        if candidates := found.of(kind):
            return UnresolvedName(value, candidates, found.full and not _are_all(value, found))
    return UnresolvedName(value)


def _are_all(value: str, found: Hits) -> bool:
    """Whether a full search has every entity with this name, since worse hits come after them.

    Stores put names that differ in case alone first; accents, and aliases, may rank anywhere.
    """
    called = " ".join(value.split()).lower()
    return found.hits[-1].match.kind.rank > MatchClass.NAME.rank and any(
        (stub.name or "").lower() == called for stub in found.of(MatchClass.NAME)
    )


def _ambiguous(name: UnresolvedName, facts: Mapping[str, Sequence[str]]) -> str:
    shared = len(name.candidates)
    listed = name.candidates[:MOST_CANDIDATES]
    candidates = "; ".join(_candidate(stub, facts.get(stub.id, ())) for stub in listed)
    more = f"; and {shared - len(listed)} more" if shared > len(listed) else ""
    types = list(dict.fromkeys(plain(stub.entity_type) for stub in listed))
    typed = f', or put the type in front: "{types[0]}: ..."' if len(types) > 1 else ""
    return (
        f"{excerpt(name.value)} is the name of "
        f"{'at least ' if name.full else ''}{shared} entities: "
        f"{candidates}{more}. Give the id of the one that is meant{typed}."
    )


def _too_many(values: Sequence[str]) -> str:
    names = listing([excerpt(values[0]), *values[1:]], 1)
    return (
        f"{names}: no such id, and at most {MOST_NAMES} names are looked up in a call. Give "
        "ids, from search_entities, or make several calls."
    )


async def _no_such(db: NormalizedBackend, argument: str, unknown: Sequence[str]) -> ToolError:
    first = unknown[0]
    others = f" (nor one of {len(unknown) - 1} more)" if len(unknown) > 1 else ""
    near = await _near(db, first)
    hint = f"The closest known ids: {near}." if near else "Nothing similar was found."
    gaps = [one for one in call.omissions() if one.direction == "search"]
    hint = " ".join([hint, *omissions(gaps)])
    return ToolError(
        f"{argument}: no entity has the id or the name {excerpt(first)}{others}. {hint} "
        "Give an id or an exact name; search_entities finds them by a part of a name."
        f"{of_patterns(unknown[:1])}",
        kind="unknown_entity",
        argument=argument,
    )


def of_patterns(values: Sequence[str]) -> str:
    """A sentence on patterns, for names that are written like one; otherwise nothing."""
    like = any(value.endswith(("]", ":*")) or value == "*" for value in values)
    return ' Patterns, such as "Trial[phase=3]", are taken by bfs_query.' if like else ""


def _digits(text: str) -> list[str]:
    return [one for one in text if one.isdecimal()]


def _last_segment(id_: str) -> str:
    return next((part for part in reversed(_BREAKS.split(id_)) if part.strip()), "")


async def _near(db: NormalizedBackend, entity_id: str) -> str:
    """Candidates from a single search for the last segment of an id, never from a scan."""
    segment = _last_segment(entity_id)
    if not segment or not is_text(segment):
        return ""
    with suppress(TimeoutError):
        stubs = [hit.stub for hit in (await classified_search(db, segment)).hits]
        # An id that differs only in case is the nearest, whatever is called like its last segment.
        stubs.sort(key=lambda stub: stub.id.casefold() != entity_id.casefold())
        return "; ".join(map(_candidate, stubs[:5]))
    return ""


def _candidate(stub: EntityStub, facts: Sequence[str] = ()) -> str:
    name = f"{clean_text(stub.name)}, " if stub.name else ""
    return f"{plain(stub.id)} ({', '.join([name + plain(stub.entity_type), *facts])})"
