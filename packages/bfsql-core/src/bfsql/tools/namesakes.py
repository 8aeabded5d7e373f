"""Facts that tell namesakes apart: some edges of each that others lack (`protocol.md` 28)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import NamedTuple, TypeAlias

import numpy as np

from bfsql import call
from bfsql.abc import NormalizedBackend, each
from bfsql.answers.clean import clean_text
from bfsql.models import EdgeDirection, EntityStub, Triple
from bfsql.models.matching import name_of
from bfsql.models.quotation import plain

MOST_FACTS = 3
"""Maximum number of facts per namesake."""
MOST_EDGES = 2_000
"""Maximum number of edges read for a ring; facts are not taken from larger rings."""
NAME_LENGTH = 60
"""Maximum number of characters of a name in a fact."""

_SPARE = 2 * MOST_FACTS
"""Facts whose other ends are looked up; there are extra ones since some ends may be no nodes."""


class _Fact(NamedTuple):
    """An edge as seen from one of its ends."""

    direction: EdgeDirection
    predicate: str
    other: str
    """The id of the other end."""

    @property
    def relation(self) -> tuple[str, str]:
        return self.direction, self.predicate


_DistinguishingEdges: TypeAlias = dict[str, set[_Fact]]


async def contexts(
    db: NormalizedBackend, groups: Iterable[Collection[str]]
) -> dict[str, list[str]]:
    """Up to three short facts for each namesake, such as `member_of Kelrud Centre`.

    Args:
        db: The graph without what the hooks redact.
        groups: Groups of ids; the entities of a group share a name.

    Returns:
        Facts by id. Entities with very many edges, or with no edge that the others lack, are
        left out; if the time for the call is up, all are left out.
    """
    several = [list(group) for group in groups if len(group) > 1]
    ids = list(dict.fromkeys(entity_id for group in several for entity_id in group))
    if not ids:
        return {}
    try:
        facts = await call.within(_facts(db, ids))
        best = {i: found for group in several for i, found in _telling(group, facts).items()}
        others = dict.fromkeys(fact.other for found in best.values() for fact in found)
        known = await call.within(db.metadata_for_nodes_batch(list(others), ("name",)))
    except TimeoutError:
        return {}
    names = {i: name_of(metadata) or i for i, metadata in known.items()}
    written = {
        i: [_sentence(fact, names[fact.other]) for fact in found if fact.other in names]
        for i, found in best.items()
    }
    return {i: facts[:MOST_FACTS] for i, facts in written.items() if facts}


def namesakes(stubs: Iterable[EntityStub]) -> list[list[str]]:
    """Groups of ids of hits that share both name and type."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for stub in stubs:
        if stub.name is not None:
            groups[stub.name, stub.entity_type].append(stub.id)
    return [group for group in groups.values() if len(group) > 1]


# --- reading --------------------------------------------------------------------


async def _facts(db: NormalizedBackend, ids: Sequence[str]) -> _DistinguishingEdges:
    """The edges of each entity, from one ring, or from one ring each if that is too large."""
    ring = await _ring(db, ids)
    if ring is not None:
        return _by_end(ring, ids)
    rings = await each(ids, lambda entity_id: _ring(db, [entity_id]))
    return {
        entity_id: _by_end(ring, [entity_id])[entity_id]
        for entity_id, ring in zip(ids, rings, strict=True)
        if ring is not None
    }


async def _ring(db: NormalizedBackend, ids: Sequence[str]) -> set[Triple] | None:
    """The edges of a ring; None if there are more than `MOST_EDGES`."""
    columns = db.columns()
    if columns is None:
        return await db.few_edges(ids, MOST_EDGES)
    handles = np.array([f.handle for f in await columns.find(ids) if f is not None], np.int32)
    edges: set[tuple[int, int, int]] = set()
    async with aclosing(columns.rings(handles)) as batches:
        async for ring in batches:
            some = (part[: MOST_EDGES + 1].tolist() for part in ring)
            edges.update(zip(*some, strict=True))
            if len(edges) > MOST_EDGES:
                return None
    ends = sorted({end for s, _, o in edges for end in (s, o)})
    names = dict(zip(ends, await columns.ids(np.array(ends, np.int32)), strict=True))
    predicates = columns.predicate_names
    return {(names[s], predicates[p], names[o]) for s, p, o in edges}


def _by_end(ring: Iterable[Triple], ids: Collection[str]) -> _DistinguishingEdges:
    facts: _DistinguishingEdges = {entity_id: set() for entity_id in ids}
    for subject, predicate, object_ in ring:
        if subject != object_:
            if subject in facts:
                facts[subject].add(_Fact("out", predicate, object_))
            if object_ in facts:
                facts[object_].add(_Fact("in", predicate, subject))
    return facts


# --- choosing -------------------------------------------------------------------


def _telling(group: Sequence[str], facts: Mapping[str, set[_Fact]]) -> dict[str, list[_Fact]]:
    """The facts that best tell each namesake apart, starting with one of each relation."""
    have = {entity_id: facts[entity_id] for entity_id in group if entity_id in facts}
    shared = Counter(fact for found in have.values() for fact in found)
    relations = Counter(r for found in have.values() for r in {fact.relation for fact in found})
    chosen = {}
    for entity_id, found in have.items():
        fan = Counter(fact.relation for fact in found)
        ordered = sorted(
            (fact for fact in found if shared[fact] < len(have) or len(have) == 1),
            key=lambda f: (
                shared[f],
                -relations[f.relation],
                fan[f.relation],
                f.direction == "in",
                f.predicate,
                f.other,
            ),
        )
        first: dict[tuple[str, str], _Fact] = {}
        for fact in ordered:
            first.setdefault(fact.relation, fact)
        chosen[entity_id] = list(dict.fromkeys([*first.values(), *ordered]))[:_SPARE]
    return chosen


def _sentence(fact: _Fact, name: str) -> str:
    name, predicate = clean_text(name), plain(fact.predicate)
    if len(name) > NAME_LENGTH:
        name = f"{name[:NAME_LENGTH]}..."
    return f"{predicate} {name}" if fact.direction == "out" else f"<-{predicate}- {name}"
