"""The schema of a graph as a server knows it, and how it is kept up to date (`protocol.md` 29).

The lists of types and predicates come from the cache. They are read again if an
answer contains a name that they lack, and before an answer calls a value unknown.
The outline is counted in the background; a call waits for it at most a few seconds.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bfsql import call
from bfsql.abc import NormalizedBackend
from bfsql.answers.tables import entities
from bfsql.errors import CircuitOpen, StoreDamaged
from bfsql.memory_account import CallMemory
from bfsql.models import Outline
from bfsql.models.name_keys import NameKeys
from bfsql.models.quotation import excerpt, listed
from bfsql.query.vocabulary import UNCOUNTED, Schema, Vocabulary
from bfsql.tools.parameters import TRAVERSALS
from bfsql.tools.validate import matched

log = logging.getLogger("bfsql")

OUTLINE_SECONDS = 60.0
"""Seconds that a store may take to count in the background."""
WAIT_SECONDS = 3.0
"""Seconds that a call waits for the counting."""
FRESH_SECONDS = 5.0
"""Seconds for which what was read counts as new; longer for lists that are slow to read."""
SLOW_FACTOR = 10
"""Lists that are slow to read count as just read for this many times their reading time."""
MOST_SEEN = 10_000
"""Maximum number of types, and of predicates, remembered from answers."""


def key_notes(known: NameKeys, keys: Iterable[str]) -> list[str]:
    """A sentence on each key that means the name of some types."""
    own = ((key, listed(sorted(known.types[key]))) for key in keys if key in known.types)
    return [f"{excerpt(key)} is the name of {types}." for key, types in own]


class GraphSchema:
    """The known types, predicates and relations of one graph.

    Args:
        db: The graph, without what the hooks redact.
        memory: Returns an account for reading an outline.

    Attributes:
        latest: The lists as last read; None before the first reading.
        known_outline: The outline as last counted; None before the first count, and if the
            store cannot count it.
    """

    def __init__(
        self, db: NormalizedBackend, memory: Callable[[], CallMemory | None] = lambda: None
    ) -> None:
        self._memory = memory
        self.latest: Schema | None = None
        self.known_outline: Outline | None = None
        self._db = db
        self._read_at, self._took = -float("inf"), 0.0
        self._vocabulary = Vocabulary(Schema((), (), comprehensive=False))
        self._seen: dict[str, set[str]] = {"entity_types": set(), "predicates": set()}
        self._counting: asyncio.Task[None] | None = None
        self._during: asyncio.Task[Any] | None = None
        self._damage: StoreDamaged | None = None
        self._not_before = 0.0

    # --- the lists ----------------------------------------------------------

    async def lists(self) -> Schema:
        """Types and predicates, from the cache if it has them."""
        began = time.monotonic()
        types, predicates, complete = await asyncio.gather(
            self._db.entity_types(), self._db.predicates(), self._db.comprehensive()
        )
        names = tuple(sorted(set(types))), tuple(sorted(set(predicates)))
        keys = self.latest.name_keys if self.latest else self._db.name_keys()
        schema = Schema(*names, complete, keys, bool(self._db.time_keys))
        if self.latest is None:
            self._read_at, self._took = began, time.monotonic() - began
        self.latest = schema
        return schema

    async def keys(self) -> Collection[str] | None:
        """The keys of nodes; None if the store does not list them."""
        return await call.within(self._db.keys())

    def has_name(self, name: str) -> bool:
        """Whether a type, predicate or property is known, without asking the store, by a name."""
        known = self.latest or Schema((), (), comprehensive=False)
        outline = self.known_outline or Outline()
        properties = [*outline.node_properties.values(), *outline.edge_properties.values()]
        return name in (*known.entity_types, *known.predicates) or any(
            one.name == name for described in properties for one in described
        )

    async def read_again(self) -> Schema:
        """The lists as the store has them now."""
        if time.monotonic() - self._read_at < max(FRESH_SECONDS, SLOW_FACTOR * self._took):
            return await self.lists()
        self._forget()
        began = time.monotonic()
        schema = await self.lists()
        self._read_at, self._took = began, time.monotonic() - began
        return schema

    async def spelled(self, argument: str, values: Sequence[str]) -> tuple[list[str], list[str]]:
        """Types or predicates in the graph's spelling, and notes on unknown ones.

        If a value is unknown although the lists are complete, they are read again first.
        """
        if not values:
            return [], []
        part = "predicates" if argument == "predicates" else "entity_types"
        schema = self.valid(await call.within(self.lists()))
        if schema.comprehensive and not set(values).issubset(getattr(schema, part)):
            schema = self.valid(await call.within(self.read_again()))
        return matched(argument, values, getattr(schema, part), complete=schema.comprehensive)

    async def vocabulary(self, *, again: bool) -> Vocabulary:
        """The valid lists, and the outline as far as it is known; the same while these are.

        With `again`, the lists are read again and counting is waited for.
        """
        schema = self.valid(await (self.read_again() if again else self.lists()))
        outline, _ = await self.outline(WAIT_SECONDS if again else 0)
        known = self._vocabulary
        if known.outline is not (outline or UNCOUNTED) or known.schema != schema:
            self._vocabulary = Vocabulary(schema, outline or UNCOUNTED)
        return self._vocabulary

    def valid(self, schema: Schema) -> Schema:
        """The lists, extended by the names seen in answers."""
        types, predicates = self._seen["entity_types"], self._seen["predicates"]
        if types.issubset(schema.entity_types) and predicates.issubset(schema.predicates):
            return schema
        return replace(
            schema,
            entity_types=tuple(sorted(types.union(schema.entity_types))),
            predicates=tuple(sorted(predicates.union(schema.predicates))),
        )

    def saw(self, tool: str, content: Mapping[str, Any]) -> None:
        """Learn the types and predicates of a tool's answer, which are valid from then on."""
        if tool in TRAVERSALS:
            summary = content["schema_summary"]
            self._learn("entity_types", set(summary["entity_types_found"]))
            self._learn("predicates", set(summary["predicates_found"]))
        else:
            self._learn("entity_types", {one["entity_type"] for one in entities(content)})

    def _learn(self, part: str, names: set[str]) -> None:
        seen = self._seen[part]
        new = names - seen
        if not new or len(seen) + len(new) > MOST_SEEN:
            return
        seen |= new
        schema = self.latest
        if schema and schema.comprehensive and not new.issubset(getattr(schema, part)):
            self._forget()

    def _forget(self) -> None:
        self._db.forget_schema()
        if self.known_outline is not None:
            self._not_before = 0.0

    # --- the outline --------------------------------------------------------

    def count(self) -> None:
        """Count in the background, after the current call, unless that is under way or done."""
        idle = self._counting is None or self._counting.done()
        if idle and time.monotonic() >= self._not_before:
            self._during = call.start_in_call(asyncio.Event().wait())  # which ends with the call
            self._counting = asyncio.get_running_loop().create_task(self._count())

    async def outline(self, wait: float | None = None) -> tuple[Outline | None, bool]:
        """The outline as far as it is known, and whether it is still being counted.

        Args:
            wait: Maximum number of seconds to wait, by default `WAIT_SECONDS`; a call under way
                waits for at most half of its remaining time.
        """
        wait = WAIT_SECONDS if wait is None else wait
        self.count()
        assert self._counting is not None
        if wait and self._during is not None:
            self._during.cancel()
        if not self._counting.done():
            await asyncio.wait({self._counting}, timeout=call.seconds_left(wait, share=0.5))
        return self.known_outline, not self._counting.done()

    async def sound_outline(self) -> tuple[Outline | None, bool]:
        """As `outline`.

        Raises:
            StoreDamaged: The last count found that the store is damaged.
        """
        known = await self.outline()
        if self._damage is not None:
            raise self._damage
        return known

    async def close(self) -> None:
        """Stop counting."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait([self._counting])

    async def _count(self) -> None:
        if self._during is not None:
            await asyncio.wait([self._during])
        try:
            with call.scope(seconds=OUTLINE_SECONDS, memory=self._memory()):
                self.known_outline = known = await call.within(self._db.outline())
            self._damage = None
            if known is None or known.node_counts or known.relations:  # may be loading if empty
                self._not_before = time.monotonic() + FRESH_SECONDS
        except Exception as fault:  # noqa: BLE001 - a driver's own; the tools work without it
            self._not_before = time.monotonic() + 300
            self._damage = fault if isinstance(fault, StoreDamaged) else None
            if not isinstance(fault, CircuitOpen):  # whose reason has been logged
                log.warning(
                    "The backend did not return an outline: %s: %s", type(fault).__name__, fault
                )
