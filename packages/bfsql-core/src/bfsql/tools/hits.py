"""The hits of a search, each with the class of its match (`protocol.md` 27).

A store ranks its candidates in its own way. This module compares each candidate with the text
by id, name and synonyms, sorts the classes, and drops candidates that are not near.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.answers.notes import Missing, counted
from bfsql.models import NO_METADATA, EntityStub, Metadata, Omission
from bfsql.models.matching import (
    MOST_SHARING,
    NO_MISSPELLING,
    Match,
    MatchClass,
    NameQuery,
    aliases_of,
    folded,
    name_of,
)
from bfsql.models.quotation import excerpt

MOST_HITS = 20
"""Maximum number of hits of a search (`protocol.md` 18)."""

MOST_LISTED = 5_000
"""Most entities of a list whose names are compared with a text."""

_NAMES = ("name", "synonyms")
_OTHER = MatchClass.OTHER


@dataclass(frozen=True, slots=True)
class Hit:
    """A candidate and its match."""

    stub: EntityStub
    match: Match


@dataclass(frozen=True, slots=True)
class Hits:
    """The results of a search, the best class first."""

    hits: list[Hit]
    full: bool
    """Whether the store returned as many hits as a search may have, so there may be others."""
    late: bool
    """Whether time ran out before all names were read."""

    def of(self, *kinds: MatchClass) -> list[EntityStub]:
        """The hits of the given classes."""
        return [hit.stub for hit in self.hits if hit.match.kind in kinds]

    def notes(self, query: str) -> list[str]:
        """Notes on the hits of a search for this text."""
        notes = []
        if self.hits and self.hits[0].match.kind is MatchClass.SIMILAR:
            lacks_words = self.hits[0].match.errors >= NO_MISSPELLING
            how = "share a rare word with it" if lacks_words else "are spelt alike"
            notes.append(f"No entity is called {excerpt(query)}; these {how}.")
        others = 0 if self.late else len(self.of(MatchClass.OTHER))
        if others:
            last = "The last hit was" if others == 1 else f"The last {counted(others, 'hit')} were"
            notes.append(f"{last} found by text that only the store looks at (match: other).")
        if self.late:
            late = (
                "The names of some hits are missing, because this call reached its time limit. Ask "
                "again, or use describe_entities for them."
            )
            notes.append(Missing(late))
        return notes


async def classified_search(
    db: NormalizedBackend, query: str, types: Sequence[str] = (), most: int = MOST_HITS
) -> Hits:
    """Search, and determine how each hit matches.

    If a backend of eight methods finds nothing, and lists its entities, their names are compared.
    If hooks redact, the hits, their order and their number reveal no more than the visible
    data, although the store searched all of its data.
    """
    given = max(most, MOST_HITS)
    stubs = list(await call.within(db.search_entities(query, list(types))))[:given]
    wanted = NameQuery(query)
    plain = not stubs and db.lists_entities() and not db.has_batches
    if plain:
        stubs = await call.within(_listed(db, wanted, types))
    visible = db.redacts or plain  # only what the names show
    try:
        called, late = await call.within(_called(db, wanted, stubs)), False
    except TimeoutError:
        called, late = {}, True
    named = [_named(stub, called.get(stub.id, NO_METADATA)) for stub in stubs]
    close = (_hit(wanted, *one) for one in named)
    hits = [one for one in close if one and (one.match.kind is not _OTHER or not visible)]
    if all(one.match.kind is _OTHER for one in hits):
        hits += _sharing(wanted, named)
    order = _visible_order if visible else _order
    full = len(hits if visible else stubs) == given
    return Hits(sorted(hits, key=order)[:most], full, late)


async def _listed(
    db: NormalizedBackend, query: NameQuery, types: Sequence[str]
) -> list[EntityStub]:
    """The listed entities with a part or a word of the text in their names."""
    texts = [folded(text) for text in (*query.parts, *query.significant_words)]
    stubs: dict[str, EntityStub] = {}
    if not texts:
        return []
    async with aclosing(db.nodes_stream(entity_types=types or None)) as batches:
        async for batch in batches:
            stubs |= {node.id: EntityStub(node.id, node.entity_type) for node in batch}
            if len(stubs) > MOST_LISTED:
                reason = f"only the names of {MOST_LISTED:,} entities were compared"
                call.omitted(Omission(query.text, "search", reason=reason))
                break
    known = await db.metadata_for_nodes_batch(list(stubs)[:MOST_LISTED], _NAMES)
    labels = {i: folded(" ".join((i, name_of(m) or "", *aliases_of(m)))) for i, m in known.items()}
    return [stubs[i] for i, label in labels.items() if any(text in label for text in texts)]


async def _called(
    db: NormalizedBackend, query: NameQuery, stubs: Sequence[EntityStub]
) -> Mapping[str, Metadata]:
    """Names and synonyms of the hits that their own names do not explain, read in one batch."""
    unexplained = [stub.id for stub in stubs if not _explained(query, stub)]
    if not unexplained:
        return {}
    return await db.metadata_for_nodes_batch(unexplained, _NAMES)


def _explained(query: NameQuery, stub: EntityStub) -> bool:
    if stub.name is None:
        return False
    match = query.match(stub.id, stub.name, (), errors=False)
    return match is not None and match.kind in {MatchClass.ID, MatchClass.NAME}


def _named(stub: EntityStub, metadata: Metadata) -> tuple[EntityStub, list[str]]:
    """A candidate with its name, and its aliases."""
    name = name_of(metadata) if stub.name is None else stub.name
    return stub._replace(name=name), aliases_of(metadata)


def _hit(query: NameQuery, stub: EntityStub, aliases: Sequence[str]) -> Hit | None:
    """A candidate with its match; None if the candidate is visibly not near."""
    labels = (stub.id, stub.name, aliases)
    match = query.match(*labels)
    if match is None and stub.score is not None:
        match = Match(MatchClass.MEANING)
    if match is None and not (len(query.words) > 1 and query.shares_word(*labels)):
        match = Match(_OTHER)
    return None if match is None else Hit(stub, match)


def _sharing(query: NameQuery, named: Iterable[tuple[EntityStub, list[str]]]) -> list[Hit]:
    """The candidates that share a rare word with the text, at most `MOST_SHARING`."""
    shared = {stub: query.shared_words(stub.id, stub.name, aliases) for stub, aliases in named}
    found = query.sharing({stub: words for stub, words in shared.items() if words})
    return sorted((Hit(*one) for one in found.items()), key=_visible_order)[:MOST_SHARING]


def _visible_order(hit: Hit) -> tuple[int, int, int, str]:
    """Sort key by class, typing errors, length and id."""
    stub, match = hit.stub, hit.match
    return match.kind.rank, match.errors, len(stub.name or stub.id), stub.id


def _order(hit: Hit) -> tuple[int, int, int, str]:
    """Sort key by class; similar spellings also by typing errors, length and id.

    Since sorting is stable, the other hits of a class keep the order of the store.
    """
    kind = hit.match.kind
    return _visible_order(hit) if kind is MatchClass.SIMILAR else (kind.rank, 0, 0, "")
