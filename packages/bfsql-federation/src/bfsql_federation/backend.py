"""The backend: each question goes to all graphs at once, and the answers become one."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import product
from operator import itemgetter
from types import MappingProxyType
from typing import Any, Self, TypeVar, Unpack

from bfsql import call
from bfsql.abc import DEFAULT_NEXT_STEPS, BatchGraphDb, GraphDbInterface
from bfsql.abc import each as each_id
from bfsql.abc.unavailable import UnavailableBackend
from bfsql.errors import StoreUnavailable
from bfsql.models import (
    EdgeFilter,
    EntityStub,
    Metadata,
    Node,
    Outline,
    PropertyCondition,
    Triple,
    combined,
)
from bfsql.models.matching import Labels, aliases_of, best_matches, name_of
from bfsql.models.parts import only
from bfsql.plugins.registry import open_backend
from bfsql.schema_statistics import outline_by_batches, outline_in_integers
from bfsql_federation.columns import FederatedColumns, JoinedNumbers
from bfsql_federation.identifiers import Identifiers, read_crosswalk
from bfsql_federation.member import Member, Names, each, joined_time_keys, together
from bfsql_federation.merging import (
    GENERIC_TYPES,
    GRAPHS,
    ORIGINS,
    Description,
    better_type,
    conditions_of_one,
    merged_edge,
    merged_node,
)
from bfsql_federation.same_as import joined, stated_pairs
from bfsql_federation.settings import FederationSettings, MemberSettings

SAMPLE = 1_000
"""Entities of each graph from which the relations of the whole are known."""
T = TypeVar("T")
log = logging.getLogger("bfsql")


class FederationBackend(BatchGraphDb):
    """Several graphs as one.

    An entity is one node wherever a graph has it, by its canonical id. Of several types the first
    graph's is its `entity_type`. An edge is in the answer of a graph whose nodes it connects.

    Args:
        members: The graphs, in the order in which they decide.
        identifiers: Which ids mean the same.
        origins: Whether records say which graphs they are from.
    """

    def __init__(
        self, members: Sequence[Member], identifiers: Identifiers, *, origins: bool = True
    ) -> None:
        self.members = tuple(members)
        self.identifiers = identifiers
        self._origins = origins
        self._numbers: JoinedNumbers | None = None
        self.time_keys = joined_time_keys(self.members)

    @classmethod
    async def open(cls, settings: FederationSettings) -> Self:
        """Open all graphs; one that does not answer is tried again while the others are served.

        Raises:
            BfsqlError: One of them cannot be opened for another reason, or none answers.
        """
        crosswalk = list(read_crosswalk(settings.crosswalk)) if settings.crosswalk else []
        identifiers = Identifiers(settings.all_prefixes, crosswalk)
        members: list[Member] = []
        try:
            for name, one in settings.members.items():
                words = one.words
                member = Member(
                    name,
                    await _open(one),
                    types=Names(settings.types, words.rename_types),
                    predicates=Names(settings.predicates, words.rename_predicates),
                    begins=words.ids,
                    seconds=settings.member_timeout,
                )
                members.append(member)
            if all(isinstance(one.backend, UnavailableBackend) for one in members):
                await members[0].backend.entity_types()  # raises its reason
            if settings.same_as:
                stated = await stated_pairs(members, settings.same_as, identifiers)
                same = [*crosswalk, *joined(stated, settings.same_as_limit)]
                identifiers = Identifiers(settings.all_prefixes, same)
        except BaseException:
            for member in members:
                await member.db.close()
            raise
        federation = cls(members, identifiers, origins=settings.origins)
        await federation.join_columns()
        return federation

    async def join_columns(self) -> None:
        """Number all ids once, if all graphs have columns, so that traversals work in integers."""
        self._numbers = await JoinedNumbers.read(self.members, self.identifiers)

    def columns(self) -> FederatedColumns | None:
        """The graph in integers; None if ids are not numbered."""
        if self._numbers is None:
            return None
        return FederatedColumns(self.members, self.identifiers, self._numbers)

    def _spelt(self, member: Member, ids: Iterable[str]) -> list[str]:
        """The spellings of canonical ids by which a graph may know them."""
        spellings = self.identifiers.spellings
        return [own for one in ids for own in spellings(one) if member.may_have(own)]

    def _spellings(self, members: Iterable[Member], ids: Sequence[str]) -> dict[Member, list[str]]:
        """The same by graph, of those that may know any of them."""
        return {one: own for one in members if (own := self._spelt(one, ids))}

    # --- nodes --------------------------------------------------------------

    async def get_nodes_batch(self, ids: Sequence[str]) -> list[Node]:
        """The entities that some graph has.

        Raises:
            StoreUnavailable: None was found, and a graph that may have them does not answer.
        """
        canonical = list(dict.fromkeys(map(self.identifiers.canonical, ids)))
        types, silent = await self._types(canonical)
        if silent and not types:
            raise StoreUnavailable(
                f"{ids[0]} is in no graph that answers, and {', '.join(silent)} does not answer. "
                "Ask again later."
            )
        return [Node(*one) for one in types.items()]

    async def _types(
        self, ids: Sequence[str], known: Mapping[Member, Iterable[Node]] = MappingProxyType({})
    ) -> tuple[dict[str, str], list[str]]:
        """The types of canonical ids; and the names of graphs that do not answer.

        A graph whose entities are known is not asked.
        """
        asked = self._spellings([one for one in self.members if one not in known], ids)
        told = {**known, **dict(await each(asked, lambda one: one.db.get_nodes_batch(asked[one])))}
        types: dict[str, str] = {}
        for member in self.members:
            for node in told.get(member, ()):
                entity_id = self.identifiers.canonical(node.id)
                own_type = member.types.common(node.entity_type)
                types[entity_id] = better_type(types.get(entity_id), own_type)
        return types, [one.name for one in asked if one not in told]

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        """The entities of some types, of all graphs at once.

        What a graph says of an entity may be less than what all say, so a graph gets either one
        condition that what it says has to meet, or the types.
        """
        sure = conditions_of_one(conditions)

        def nodes(member: Member) -> AsyncGenerator[Sequence[Node]]:
            known = member.first_known(sure)
            types = None if known else member.types.own(entity_types)
            return member.db.nodes_stream(entity_types=types, conditions=known)

        async with aclosing(together({one: nodes(one) for one in self.members})) as batches:
            async for member, batch in batches:
                ids = list(dict.fromkeys(self.identifiers.canonical(node.id) for node in batch))
                types, _ = await self._types(ids, {member: batch})
                yield [
                    Node(*one)
                    for one in types.items()
                    if entity_types is None or one[1] in entity_types
                ]

    def lists_entities(self) -> bool:
        """Whether all graphs list their entities."""
        return all(one.db.lists_entities() for one in self.members)

    async def metadata_for_nodes_batch(
        self, ids: Sequence[str], keys: Collection[str] | None = None
    ) -> dict[str, Metadata]:
        """What all graphs say of some entities."""
        asked = None if keys is None else [*keys, *({"name"} if "synonyms" in keys else ())]
        canonical = list(dict.fromkeys(map(self.identifiers.canonical, ids)))
        spelt = self._spellings(self.members, canonical)
        told = await each(spelt, lambda one: one.db.metadata_for_nodes_batch(spelt[one], asked))
        described: defaultdict[str, list[tuple[Member, str, Metadata]]] = defaultdict(list)
        for member, records in told:
            for own, metadata in records.items():
                described[self.identifiers.canonical(own)].append((member, own, metadata))
        all_types = keys is None or "other_types" in keys
        # Otherwise types decide only whether a record with its id as its name says anything.
        untold = [
            entity_id
            for entity_id, some in described.items()
            if len(some) > 1 and (all_types or any(own == md.get("name") for _, own, md in some))
        ]
        types = await self._own_types(untold)
        wanted = (keys is None or not ORIGINS.isdisjoint(keys)) and self._origins
        merged = {
            entity_id: merged_node(
                entity_id,
                [
                    Description(member.name, own, types.get((member.name, own), ""), metadata)
                    for member, own, metadata in some
                ],
                {own: self.identifiers.reason(own) for _, own, _ in some} if wanted else None,
            )
            for entity_id, some in described.items()
        }
        return only(merged, keys)

    async def _own_types(self, ids: Sequence[str]) -> dict[tuple[str, str], str]:
        """The types of entities in each graph, by its name and the id there."""
        asked = self._spellings(self.members, ids)
        told = await each(asked, lambda one: one.db.get_nodes_batch(asked[one]))
        return {
            (member.name, node.id): member.types.common(node.entity_type)
            for member, nodes in told
            for node in nodes
        }

    async def keys(self) -> set[str] | None:
        """The keys that entities have in some graph; None if one does not know its own."""
        told = await each(self.members, lambda one: one.db.keys())
        if len(told) < len(self.members):
            return None
        return {key for _, some in told for key in some or ()} | (
            ORIGINS if self._origins else set()
        )

    # --- edges --------------------------------------------------------------

    async def edges_stream(
        self, ids: Sequence[str], **part: Unpack[EdgeFilter]
    ) -> AsyncGenerator[list[Triple]]:
        """The rings of some entities in all graphs."""
        canonical, predicates = self.identifiers.canonical, part.get("predicates")
        asked = self._spellings(self.members, [canonical(one) for one in ids])
        rings = {
            member: member.db.edges_stream(
                own, predicates=member.predicates.own(predicates), direction=part.get("direction")
            )
            for member, own in asked.items()
        }
        async with aclosing(together(rings)) as batches:
            async for member, rows in batches:
                common = member.predicates.common
                found = ((canonical(row[0]), common(row[1]), canonical(row[2])) for row in rows)
                # An edge between two spellings of one entity says that they are the same.
                yield [
                    edge
                    for row, edge in zip(rows, found, strict=True)
                    if edge[0] != edge[2] or row[0] == row[2]
                ]

    async def metadata_for_edges_batch(
        self, edges: Collection[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """What all graphs say of some edges."""
        asked = None if keys is None else [*keys]

        def spelt(member: Member) -> list[Triple]:
            ends = {end: self._spelt(member, [end]) for e in edges for end in (e[0], e[2])}
            own = {name: member.predicates.own([name]) or () for name in {e[1] for e in edges}}
            return [one for s, p, o in edges for one in product(ends[s], own[p], ends[o])]

        told = await each(
            self.members, lambda one: one.db.metadata_for_edges_batch(spelt(one), asked)
        )
        canonical = self.identifiers.canonical
        claims: defaultdict[Triple, list[tuple[Member, Triple, Metadata]]] = defaultdict(list)
        for member, records in told:
            for own, metadata in records.items():
                triple = canonical(own[0]), member.predicates.common(own[1]), canonical(own[2])
                claims[triple].append((member, own, metadata))
        # Of many edges, a store may return empty metadata without looking whether it has them.
        several = [some for some in claims.values() if len(some) > 1]
        unsure = [(member, own) for some in several for member, own, md in some if not md]
        missing = set(unsure) - await self._having(unsure) if unsure else set()
        wanted = (keys is None or not ORIGINS.isdisjoint(keys)) and self._origins
        merged: dict[Triple, Metadata] = {}
        for triple, some in claims.items():
            described = [
                Description(member.name, "", "", metadata)
                for member, own, metadata in some
                if (member, own) not in missing
            ]
            if described:
                merge = self.time_keys.merge(triple[1])
                merged[triple] = merged_edge(described, merge, canonical, origins=wanted)
        return only(merged, keys)

    async def _having(self, edges: list[tuple[Member, Triple]]) -> set[tuple[Member, Triple]]:
        """The edges that the graphs have."""
        asked: defaultdict[Member, set[Triple]] = defaultdict(set)
        for member, own in edges:
            asked[member].add(own)

        async def ring(member: Member) -> Iterable[Triple]:
            subjects, predicates, _ = map(set, zip(*asked[member], strict=True))
            return await member.db.edges_batch(
                sorted(subjects), predicates=predicates, direction="out"
            )

        told = await each(asked, ring)
        return {
            (member, own) for member, found in told for own in asked[member].intersection(found)
        }

    async def provenance_for_node(self, entity_id: str, limit: int) -> dict[str, Any]:
        """The evidence that touches an entity in all graphs; a passage of several counts once."""
        canonical = self.identifiers.canonical
        asked = canonical(entity_id)

        async def evidence(member: Member) -> list[dict[str, Any]]:
            # A graph may have passages of a document that it does not have as a node.
            found = await each_id(
                self._spelt(member, [asked]), lambda own: member.db.provenance_for_node(own, limit)
            )
            return [one for one in found if one is not None]

        answers = await each(self.members, evidence)
        told = [(member, found) for member, some in answers for found in some]
        items = [
            item
            | {
                end: canonical(item[end])
                for end in ("subject", "object", "document_id")
                if item[end]
            }
            | {"predicate": member.predicates.common(item["predicate"])}
            for member, found in told
            for item in found["items"]
        ]
        distinct = sorted(combined(items), key=itemgetter("subject", "predicate", "object"))
        totals = [found["total"] for _, found in told]
        read = [found["edges_read"] for _, found in told if "edges_read" in found]
        total = None if None in totals else sum(totals) - (len(items) - len(distinct))
        some = {"edges_read": sum(read)} if total is None else {}
        return {"total": total, "items": distinct[:limit], **some}

    # --- search and schema --------------------------------------------------

    async def search_entities(
        self, query: str, node_types: list[str] | None = None
    ) -> list[EntityStub]:
        """The candidates of all graphs, by the names that all of them give, each once."""
        told = await each(
            self.members, lambda one: one.db.search_entities(query, one.types.own(node_types) or [])
        )
        stubs = [stub for _, found in told for stub in found]
        spelt = self.identifiers.canonical(query)
        ids = list(
            dict.fromkeys(
                [spelt, spelt.strip(), *(self.identifiers.canonical(one.id) for one in stubs)]
            )
        )
        (types, _), records = await asyncio.gather(
            self._types(ids), self.metadata_for_nodes_batch(ids, ("name", "synonyms"))
        )
        labels = {
            i: Labels(i, name_of(records.get(i, {})), aliases_of(records.get(i, {})))
            for i, entity_type in types.items()
            if not node_types or entity_type in node_types
        }
        by_score = {self.identifiers.canonical(one.id): one.score for one in stubs if one.score}
        # What was found by meaning alone follows what its name explains.
        found = dict.fromkeys([*best_matches(spelt, labels), *(i for i in by_score if i in labels)])
        return [
            EntityStub(i, types[i], name_of(records.get(i, {})), by_score.get(i))
            for i in list(found)[:20]
        ]

    async def entity_types(self) -> list[str]:
        """The types of all graphs."""
        told = await each(self.members, lambda one: one.db.entity_types())
        types = {member.types.common(name) for member, found in told for name in found}
        for name in GENERIC_TYPES & types:
            if not await self._has(name):
                types.remove(name)
        return sorted(types)

    async def _has(self, generic: str) -> bool:
        """Whether some entity has no better type in any graph, as far as a sample shows."""
        seen = 0
        if not self.lists_entities():
            return True
        async with aclosing(self.nodes_stream(entity_types=[generic])) as batches:
            async for batch in batches:
                seen += 1
                if batch or seen > 20 * len(self.members):
                    return True
        return False

    async def predicates(self) -> list[str]:
        """The predicates of all graphs."""
        told = await each(self.members, lambda one: one.db.predicates())
        return sorted({member.predicates.common(name) for member, found in told for name in found})

    async def comprehensive(self) -> bool:
        """Whether the lists of all graphs are complete."""
        told = await each(self.members, lambda one: one.db.comprehensive())
        return len(told) == len(self.members) and all(found for _, found in told)

    async def outline(self) -> Outline | None:
        """All types and relations, if ids are numbered or the graphs are small, or a sample's."""
        if columns := self.columns():
            outline = await outline_in_integers(self, columns, SAMPLE * len(self.members))
            return replace(outline, node_counts={}, sampled=True) if call.omissions() else outline
        ids, is_whole = await self._sample()
        edges: set[Triple] = set()
        async with aclosing(self.edges_stream(ids)) as batches:
            async for rows in batches:
                edges.update(rows)
                if len(edges) > 20 * SAMPLE:
                    is_whole = False
                    break
        is_whole = is_whole and not call.omissions()
        return await outline_by_batches(self, ids, edges, sampled=not is_whole)

    async def _sample(self) -> tuple[list[str], bool]:
        """Some entities of each graph; and whether these are all of them."""
        ids: dict[str, None] = {}
        is_whole = self.lists_entities()
        for member in self.members:
            if not member.db.lists_entities():
                continue
            most = len(ids) + SAMPLE
            async with aclosing(member.read(member.db.nodes_stream())) as batches:
                async for batch in batches:
                    ids |= dict.fromkeys(self.identifiers.canonical(node.id) for node in batch)
                    if len(ids) > most:
                        is_whole = False
                        break
        return list(ids), is_whole

    async def next_steps(self) -> str:
        """What the graphs are, and how to ask for what one of them has."""
        if not self._origins:
            return DEFAULT_NEXT_STEPS
        told = await each(self.members, lambda one: one.db.entity_types())
        graphs = [
            f"{member.name} ({', '.join([*map(member.types.common, types)][:5])})"
            for member, types in told
        ]
        return (
            f"Several graphs as one: {', '.join(graphs)}. {GRAPHS} says which have an entity or an "
            f'edge: where="{GRAPHS}=NAME". {DEFAULT_NEXT_STEPS}'
        )

    # --- operation ----------------------------------------------------------

    def changed(self) -> Hashable | None:
        """Whether one of the graphs has changed."""
        found = tuple(one.db.changed() for one in self.members)
        return None if all(one is None for one in found) else found

    async def ping(self) -> None:
        """Return once one of the graphs has answered; breakers ask each of them.

        Raises:
            StoreUnavailable: None of them answers.
        """
        if not await each(self.members, lambda one: _pinged(one.db)):
            names = ", ".join(one.name for one in self.members)
            raise StoreUnavailable(f"None of the graphs answers: {names}.")

    async def may_write(self) -> str | None:
        """Why the account of one of the graphs could change it."""
        for member in self.members:
            if reason := await member.db.may_write():
                return f"The graph {member.name}: {reason}"
        return None

    async def close(self) -> None:
        """Close all graphs."""
        for member in self.members:
            await member.db.close()


async def _open(member: MemberSettings) -> GraphDbInterface:
    """The graph; or what stands in its place until it answers."""

    async def opening() -> GraphDbInterface:
        return await open_backend(member.name, member.plugin, member.backend)

    try:
        return await opening()
    except StoreUnavailable as gone:
        log.warning("%s", gone)
        return UnavailableBackend(partial(StoreUnavailable, str(gone)), opening)


async def _pinged(db: GraphDbInterface) -> bool:
    await db.ping()
    return True
