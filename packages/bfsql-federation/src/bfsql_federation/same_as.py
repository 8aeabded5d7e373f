"""Ids that the graphs themselves call the same: edges such as `owl:sameAs`, and external ids."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing

from bfsql_federation.identifiers import Identifiers
from bfsql_federation.member import Member

log = logging.getLogger("bfsql")

Pair = tuple[str, str, str]
"""An id, the one that it means, and how that is known."""


async def stated_pairs(
    members: Iterable[Member], texts: Sequence[str], identifiers: Identifiers
) -> list[Pair]:
    """The pairs that predicates and properties state in all graphs, by canonical ids.

    Args:
        members: The graphs.
        texts: Predicates; or a type and a property of its entities, as `Gene.hgnc`.
        identifiers: The rules of ids.
    """
    pairs: list[Pair] = []
    for member in members:
        predicates = set(await member.db.predicates())
        for text in texts:
            entity_type, dot, key = text.rpartition(".")
            own = [one for one in member.predicates.own([text]) or () if one in predicates]
            if own:
                found = _by_edges(member, own)
            elif dot:
                found = _by_property(member, entity_type, key)
            else:
                continue
            async with aclosing(found) as some:
                pairs += [
                    (identifiers.canonical(a), identifiers.canonical(b), f"{text} in {member.name}")
                    async for a, b in some
                ]
    return pairs


async def _by_edges(member: Member, predicates: list[str]) -> AsyncGenerator[tuple[str, str]]:
    async with aclosing(member.db.nodes_stream()) as batches:
        async for batch in batches:
            ids = [node.id for node in batch]
            ring = await member.db.edges_batch(ids, predicates=predicates, direction="out")
            for subject, _, obj in ring:
                yield obj, subject


async def _by_property(
    member: Member, entity_type: str, key: str
) -> AsyncGenerator[tuple[str, str]]:
    types = member.types.own([entity_type])
    async with aclosing(member.db.nodes_stream(entity_types=types)) as batches:
        async for batch in batches:
            known = await member.db.metadata_for_nodes_batch([node.id for node in batch], [key])
            for entity_id, metadata in known.items():
                values = metadata.get(key)
                for value in values if isinstance(values, list) else [values]:
                    if isinstance(value, str) and value:
                        yield entity_id, value


def joined(pairs: Sequence[Pair], most: int) -> Iterator[Pair]:
    """Pairs of each id with the first of its set, in code point order.

    Args:
        pairs: The pairs, in any order.
        most: Most ids of a set; larger ones are left apart, and logged.
    """
    parents: dict[str, str] = {}

    def root(one: str) -> str:
        while (above := parents.setdefault(one, one)) != one:
            parents[one] = parents[above]
            one = above
        return one

    for a, b, _ in pairs:
        first, second = sorted((root(a), root(b)))
        parents[second] = first
    sets: defaultdict[str, list[str]] = defaultdict(list)
    for one in list(parents):
        sets[root(one)].append(one)
    reasons = {one: why for a, b, why in pairs for one in (a, b)}
    for first, some in sets.items():
        if len(some) > most:
            log.warning(
                "same_as: %s and %d more ids are stated to be one entity; they stay apart, since "
                "one wrong statement joins them. same_as_limit allows larger sets.",
                first,
                len(some) - 1,
            )
            continue
        for one in some:
            if one != first:
                yield one, first, reasons[one]
