"""The ends of traversals: ids, names and patterns, in `seeds`, in `to` and in steps.

Ids and exact names come first; a text is a pattern only if no entity is called so
(`protocol.md` 34).
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from operator import methodcaller
from typing import TypeVar

from bfsql import call
from bfsql.answers.notes import not_compared
from bfsql.engine.executor import Executor
from bfsql.errors import ToolError, bad_value
from bfsql.integers import NodeSet, Place, ResolvedNode
from bfsql.models import Pattern, Property, PropertyCondition
from bfsql.models.expression import Computed
from bfsql.models.quotation import SHOWN, excerpt, listed, plain
from bfsql.models.spelling import KnownNames
from bfsql.query.patterns import PatternReader, may_be_pattern
from bfsql.query.vocabulary import Vocabulary, nearest
from bfsql.tools.resolve import NameResolver, UnresolvedName
from bfsql.tools.schema import GraphSchema

PATTERN_SHARE = 0.2
"""Share of the remaining time in which an error looks for a further type of entities."""

T = TypeVar("T")


class EndResolver:
    """Resolves the ends of the traversals of one call.

    Args:
        executor: The graph, for this call.
        names: Resolves ids and names, and collects notes.
        schema: The vocabulary of the graph.
    """

    def __init__(self, executor: Executor, names: NameResolver, schema: GraphSchema) -> None:
        self._executor, self._columns = executor, executor.columns
        self._names, self._schema = names, schema
        self._entities: dict[str, frozenset[str]] = {}

    async def node_set(
        self,
        values: Sequence[str],
        argument: str,
        types: Sequence[str] = (),
        *,
        bounded: bool = True,
    ) -> NodeSet:
        """The nodes of some ids, names and patterns, in their order, with notes on their meaning.

        Args:
            values: The ids, names and patterns.
            argument: The argument of the call that contains them, for errors.
            types: If several entities share a name, those of these types are preferred.
            bounded: Whether a pattern may only have as many nodes as a traversal; otherwise the
                deadline alone bounds it.

        Raises:
            ToolError: A value is none of them, or is the name of several entities.
            SetTooLarge: A pattern has more nodes than a traversal may have.
        """
        patterns = await self._patterns(values)
        called = [value for value in values if value not in patterns]
        known, failed = await self._names.entities(self._columns, called, types)
        others = {name.value: name for name in failed} | {p: UnresolvedName(p) for p in patterns}
        places: dict[str, Place] = {}
        self._note_namesakes([value for value in values if value not in others])
        unresolved = []
        for value in dict.fromkeys(values):
            if value in known:
                node = known[value]
                places.setdefault(node.id, Place.of(node))
                continue
            name, pattern = others[value], None
            if not name.candidates:
                pattern, _ = await self.read(methodcaller("pattern", name.value), argument)
            if pattern is None:
                taken = None if name.candidates or name.skipped else await self._misspelt(value)
                if taken is None:
                    unresolved.append(name)
                else:
                    places.setdefault(taken.id, Place.of(taken))
            elif pattern.text not in places:
                places[pattern.text] = await self._place(pattern, value, bounded=bounded)
        if unresolved:
            if not any(name.candidates for name in unresolved):
                await self._check_types(unresolved[0].value, argument)
            error = await self._names.error(argument, unresolved)
            if error.kind == "unknown_entity" and (near := self._type_in(unresolved[0].value)):
                some = f'with a condition "{near}[year>=2010]"'
                text = f'{error} All entities of a type are a pattern: "{near}:*", {some}.'
                error = ToolError(text, kind=error.kind, argument=argument)
            raise error
        return NodeSet(tuple(places.values()))

    @property
    def _known_types(self) -> KnownNames:
        return KnownNames(self._schema.latest.entity_types if self._schema.latest else ())

    async def _misspelt(self, value: str) -> ResolvedNode | None:
        """The entity whose name a value misspells, unless it may as well be a type."""
        is_type = self._known_types.nearest(value)
        return None if is_type else await self._names.misspelt(self._columns, value)

    def _type_in(self, text: str) -> str:
        """The type that is most like a text, or like a word of one with an operator, or nothing."""
        every = self._known_types
        words = re.findall(r"\w+", text)[:8] if re.search(r"[=<>~:{]", text) else []
        return next(
            (plain(near[0][0]) for one in (text, *words) if (near := every.nearest(one))), ""
        )

    async def listed(self, types: Sequence[str], conditions: Sequence[str]) -> Place:
        """The nodes of some types that meet conditions, each written as in brackets.

        Raises:
            ToolError: A type is unknown, or a condition cannot be read.
            EntitiesNotListed: The store cannot list its entities.
        """
        names, notes = await self._schema.spelled("type", types)
        latest = self._schema.latest
        for name in names:
            if latest is not None and latest.comprehensive and name not in latest.entity_types:
                await self._check_types(f"{name}:*", "type")
        read, _ = await self.read(
            lambda one: [one.pattern(f"*[{text}]", names) for text in conditions], "where"
        )
        parts = [one for one in read if one is not None]
        if len(parts) < len(read):
            text = excerpt(conditions[read.index(None)])
            raise bad_value(
                f"where: {text} is not one condition, such as year>=2010 or no <-tests- Trial. Put "
                "a value with a bracket in quotes.",
                "where",
            )
        self._names.notes += notes
        kinds = [part.types for part in parts if part.types is not None]
        pattern = Pattern(
            frozenset.intersection(*kinds) if kinds else frozenset(names) or None,
            tuple(one for part in parts for one in part.conditions),
            tuple(one for part in parts for one in part.relations),
        )
        return await self._place(pattern, pattern.text, bounded=False)

    async def _patterns(self, values: Sequence[str]) -> set[str]:
        """The values written like a pattern that are neither the id nor the name of an entity.

        A store that compares names exactly is asked for these names alone, which costs less than
        a search. Otherwise they are searched for, as all values are, before they are read.
        """
        like = [PropertyCondition("name", "=", (one,)) for one in values if may_be_pattern(one)]
        if not like or not self._executor.patterns.is_exact(like[0]):
            return set()
        # With the ids among the other values, which are in the cache when they are resolved.
        handles = await call.within(self._columns.find(values))
        ids = {value for value, handle in zip(values, handles, strict=True) if handle is not None}
        return {
            is_called.values[0]
            for is_called in like
            if is_called.values[0] not in ids and not await self._is_met(is_called)
        }

    async def _is_met(self, condition: PropertyCondition, share: float = 1.0) -> bool:
        """Whether a node meets a condition; an error if that is not known in time."""
        nodes = self._executor.patterns.batches(Pattern(conditions=(condition,)))
        async with call.time_limit(share), aclosing(nodes) as batches:
            async for handles, _ in batches:
                if len(handles):
                    return True
        return False

    async def read(
        self, read: Callable[[PatternReader], T], argument: str, key: Hashable = None
    ) -> tuple[T, PatternReader]:
        """What a function reads with the vocabulary of the graph, and the reader with its notes.

        The schema is read again, and entities are looked up, before a name is called unknown.

        Args:
            read: The function.
            argument: The argument of the call that contains the texts, for errors.
            key: What the function reads, if later calls may reuse it.

        Raises:
            ToolError: The text cannot be read, or names something that the graph does not have.
        """
        found = await self._read(read, argument, key)
        notes = self._names.notes
        notes += [one for one in dict.fromkeys(found[1].words) if one not in notes]
        return found

    async def _read(
        self, read: Callable[[PatternReader], T], argument: str, key: Hashable
    ) -> tuple[T, PatternReader]:
        vocabulary = await call.within(self._schema.vocabulary(again=False))
        key = None if key is None or self._entities else (argument, key)
        if key in vocabulary.readings:
            found: tuple[T, PatternReader] = vocabulary.readings[key]
            return found
        try:
            found = await self._attempt(read, argument, vocabulary)
        except ToolError:
            vocabulary = await call.within(self._schema.vocabulary(again=True))
            return await self._attempt(read, argument, vocabulary)
        # What names of entities mean is looked up in each call.
        if key is not None and not self._entities and not found[1].unknown:
            if len(vocabulary.readings) >= 256:
                vocabulary.readings.clear()
            vocabulary.readings[key] = found
        return found

    async def _attempt(
        self, read: Callable[[PatternReader], T], argument: str, vocabulary: Vocabulary
    ) -> tuple[T, PatternReader]:
        reader = PatternReader(vocabulary, self._entities, argument)
        try:
            found = read(reader)
        except ToolError as error:
            if reader.asks_keys and (keys := await self._schema.keys()) is not None:
                return await self._attempt(read, argument, replace(vocabulary, keys=keys))
            if not await self._learn_entities(reader.unknown):
                await self._check_other_types(reader.unknown, argument)
                raise await self._names.with_similar(error) from None
        else:
            if reader.asks_keys and (keys := await self._schema.keys()) is not None:
                return await self._attempt(read, argument, replace(vocabulary, keys=keys))
            if not await self._learn_entities(reader.unknown):
                return found, reader
        return await self._attempt(read, argument, vocabulary)  # which may name further ones

    async def _learn_entities(self, texts: Sequence[str]) -> bool:
        """Look up the names at the ends of steps; whether one of them is the name of entities."""
        learned = False
        for text in dict.fromkeys(texts):
            if text in self._entities:
                continue
            known, failed = await self._names.entities(self._columns, [text])
            ids = [node.id for node in known.values()]
            ids += [stub.id for name in failed for stub in name.candidates]
            if ids:
                self._entities[text] = frozenset(ids)
                learned = True
            if len(ids) > 1:
                self._names.notes.append(
                    f"{excerpt(text)} was taken as the {len(ids)} entities of this name: "
                    f"{listed(ids)}."
                )
        return learned

    async def _place(self, pattern: Pattern, written: str, *, bounded: bool) -> Place:
        """The nodes of a pattern, with a note if it was written as a type alone, or is empty."""
        place = await self._executor.patterns.place(pattern, None if bounded else sys.maxsize)
        for one, number in (await self._executor.patterns.unlike(pattern)).items():
            text, computed = Pattern(pattern.types, (one,)).text, isinstance(one.key, Computed)
            sentence = not_compared(number, text, computed=computed)
            if sentence not in self._names.notes:
                self._names.notes.append(sentence)
        lacks = tuple(one for one in pattern.conditions if one.operator == "lacks")
        is_type = pattern.types and pattern == Pattern(pattern.types)
        if is_type and not written.rstrip().endswith("*"):
            count = len(place.handles)
            those = "only entity" if count == 1 else f"{count:,} entities"
            of = f"of the type {listed(sorted(pattern.types or ()))}"
            self._names.notes.append(f"{excerpt(written)} was taken as the {those} {of}.")
        if not len(place.handles):
            facts = await self._property_facts(pattern)
            hint = " ".join(facts) or "Drop a condition to see which one is not met."
            # A relation at whose end nothing is has a note of its own.
            if facts or self._executor.unmatched.keys().isdisjoint(pattern.relations):
                self._names.notes.append(f"Nothing matches {excerpt(pattern.text)}. {hint}")
        elif lacks:
            self._names.notes += await self._property_facts(replace(pattern, conditions=lacks), 0.2)
        return place

    async def _property_facts(self, pattern: Pattern, wait: float = 1.0) -> list[str]:
        """What is known, within some seconds, of the properties that a pattern names."""
        outline, _ = await self._schema.outline(wait)
        by_type = {} if outline is None else outline.node_properties
        known = {p.name: p for t in sorted(pattern.types or by_type) for p in by_type.get(t, ())}
        predicates = self._schema.latest.predicates if self._schema.latest else ()
        facts: list[str] = []
        plain_ones = (one for one in pattern.conditions if not isinstance(one.key, Computed))
        for key, operator in ((one.key, one.operator) for one in plain_ones if known):
            if key not in known:
                near = [names[0] for names in KnownNames(known).nearest(key)]
                what = f"the nearest: {listed(near)}" if near else f"it has {listed(sorted(known))}"
                if key in predicates:
                    what = f'as a relation it is "-{plain(key)}->"'
                elif not known.keys().isdisjoint(re.split("[-+*/]", key)):
                    apart = excerpt(re.sub(r"([-+*/])", r" \1 ", key))
                    what = f"arithmetic has blanks around its operators: {apart}"
                facts.append(f"No property {excerpt(key)} is known there; {what}.")
            elif operator != "lacks":
                facts += _values(known[key])
        return list(dict.fromkeys(facts))

    def _note_namesakes(self, values: Sequence[str]) -> None:
        """Note entities that are called like a type, since the type may be meant."""
        latest = self._schema.latest
        types = latest.entity_types if latest else ()
        for value in values:
            place = bisect_left(types, value)  # they are sorted, and may be many
            if types[place : place + 1] == (value,):
                self._names.notes.append(
                    f"{excerpt(value)} was taken as the entity of that name; those of that type "
                    f'are "{plain(value)}:*".'
                )

    async def _check_other_types(self, names: Sequence[str], argument: str) -> None:
        """Raise an error if a name is a type of some entities beside their `entity_type`."""
        for name in names:
            is_one = PropertyCondition("other_types", "=", (name,))
            has_nodes = False  # also if they cannot be listed soon enough
            with suppress(ToolError, TimeoutError):
                has_nodes = await self._is_met(is_one, PATTERN_SHARE)
            if has_nodes:
                raise bad_value(
                    f"{argument}: {excerpt(name)} is not an entity_type, only one of the "
                    f"other_types of some entities. Select these with *[{is_one.property_text}].",
                    argument,
                )

    async def _check_types(self, text: str, argument: str) -> None:
        """Raise an error if a text is no type, but one of other_types or written like a pattern."""
        types, bracket, _ = text.partition("[")
        if not bracket and text.rstrip().endswith("*"):
            types, bracket, _ = text.rpartition(":")
        latest = self._schema.latest
        if not bracket:
            outline, _ = await self._schema.outline(1.0)
            properties = outline.node_properties.values() if outline else ()
            if any(one.name == "other_types" for of_type in properties for one in of_type):
                await self._check_other_types([text.strip()], argument)
        is_bare = may_be_pattern(text) and not text.partition("[")[0].strip(" *:")
        if latest is None or not (is_bare or (bracket and types.strip())):
            return
        known = KnownNames(latest.entity_types)
        for name in map(str.strip, types.split("|")):
            if name.strip("*") and not known.spellings(name):
                await self._check_other_types([name], argument)
                hint = nearest(known, name) or " describe_schema lists them."
                raise bad_value(
                    f"{argument}: no entity is named {excerpt(text)}, and this graph has no type "
                    f"{excerpt(name)}.{hint}",
                    argument,
                )
        raise bad_value(
            f"{argument}: no entity is named {excerpt(text)}, and a pattern is a type, or * for "
            'any, with conditions in brackets and nothing after them: "Trial[phase=3][year>=2010]"'
            ', "*[phase=3]". All entities are "*:*"; relations to follow belong in path.',
            argument,
        )


def _values(known: Property) -> Iterator[str]:
    """What is known of the values of a property."""
    key = plain(known.name)
    if known.values:
        more = known.further_values + max(0, len(known.values) - SHOWN)
        further = f" and {more} more" if more else ""
        yield f"{key} is one of {listed(list(known.values)[:SHOWN])}{further}."
    elif known.minimum is not None:
        yield f"{key} is from {known.minimum} to {known.maximum}."
    elif known.kind == "text":
        yield f"{key} has many values: ~ matches a part of a value, facets counts them."
