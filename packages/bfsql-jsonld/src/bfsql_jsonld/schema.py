"""The vocabulary of an API, and the batch routes that it announces."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bfsql import call
from bfsql.errors import StoreError
from bfsql.models import Outline, Property, Relation
from bfsql_jsonld.replies import Reply, Request
from bfsql_jsonld.routes import Api

STEADY = 300.0
"""Seconds for which a reading serves for data that changes only with the API: batch routes."""


@dataclass(frozen=True, slots=True)
class Schema:
    """The content of `/schema`."""

    entity_types: list[str]
    predicates: list[str]
    comprehensive: bool = True
    next_steps: str | None = None
    entities_batch: str | None = None
    """Route that takes many ids, or None."""
    relations_batch: str | None = None
    """Route that takes many ids or relations, or None."""
    limit: int = 1_000
    """Most ids or relations in one batch."""
    most_bytes: int = 400_000
    """Most bytes of its request; servers usually accept a million."""
    parts: bool = False
    """Whether batches accept predicates and a direction, or keys of metadata."""
    outline: str | None = None
    """Route of the graph's outline, or None."""
    entities: str | None = None
    """Route that lists entities in the order of their ids, or None."""


NO_SCHEMA = Schema([], [], comprehensive=False)
"""Schema of an API that does not publish its vocabulary."""


class SchemaReader:
    """Reads the schema, once for simultaneous requests."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = asyncio.Lock()
        self._read: tuple[float, Schema] | None = None

    async def current(self, age: float = 10.0) -> Schema:
        """The schema, read at most `age` seconds ago."""
        if not self._api.settings.schema_path:
            return NO_SCHEMA
        async with self._lock:
            if self._read is None or time.monotonic() >= self._read[0] + age:
                self._read = (time.monotonic(), await self._fetched())
            return self._read[1]

    @property
    def latest(self) -> Schema:
        """The schema as it was last read."""
        return NO_SCHEMA if self._read is None else self._read[1]

    async def _fetched(self) -> Schema:
        s = self._api.settings
        reply = await self._api.session.ask(Request(self._api.routes.at(s.schema_path)))
        if reply.gone:
            raise reply.missing("schema")
        document = reply.json()
        with reply.read():
            types = self._api.fields.names(document, s.types_field, "a type")
            predicates = self._api.fields.names(document, s.predicates_field, "a predicate")
        whole = types is not None and predicates is not None
        found = document if isinstance(document, Mapping) else {}
        comprehensive, batch = found.get("comprehensive"), found.get("batch")
        batch = batch if isinstance(batch, Mapping) else {}
        return Schema(
            sorted(set(types or ())),
            sorted(set(predicates or ())),
            comprehensive if isinstance(comprehensive, bool) else whole,
            _text(found.get("next_steps")),
            _text(batch.get("entities")),
            _text(batch.get("relations")),
            _number(batch.get("limit"), NO_SCHEMA.limit),
            _number(batch.get("max_bytes"), NO_SCHEMA.most_bytes),
            batch.get("parts") is True,
            _text(found.get("outline")),
            _text(found.get("entities")),
        )

    async def outline(self) -> Outline | None:
        """The composition of the graph according to the API; None if it does not state it.

        While the API is counting, the request is repeated as long as there is time.
        """
        path, pause = (await self.current(STEADY)).outline, 2.0
        while path is not None:
            reply = await self._api.get(self._api.routes.at(path))
            document = None if reply is None else reply.json()
            if reply is None or document is None:
                return None
            if not isinstance(document, Mapping) or "relations" in document:
                return _outline(reply, document)
            left = call.remaining()
            if document.get("counting") is not True or left is None or left < pause:
                return None
            await asyncio.sleep(pause)
        return None


def _outline(reply: Reply, document: Any) -> Outline:
    try:
        return Outline(
            node_counts={str(name): int(n) for name, n in document["node_counts"].items()},
            relations=[
                Relation(
                    str(one["subject_type"]),
                    str(one["predicate"]),
                    str(one["object_type"]),
                    *(int(one[key]) if key in one else None for key in ("edges", "ended")),
                )
                for one in document["relations"]
            ],
            relations_left_out=int(document["relations_left_out"]),
            node_properties=_properties(document["node_properties"]),
            edge_properties=_properties(document["edge_properties"]),
            sampled=document["relations_from"] != "all",
        )
    except (KeyError, TypeError, ValueError, AttributeError) as wrong:
        raise StoreError(
            f"{reply.label} returned something else than the outline of a graph: "
            f"{type(wrong).__name__}: {wrong}. The backend works without one."
        ) from wrong


def _properties(document: Any) -> dict[str, list[Property]]:
    return {
        str(owner): [
            Property(
                str(one["name"]),
                one["kind"],
                one.get("minimum"),
                one.get("maximum"),
                tuple(map(str, one["values"])),
                int(one["further_values"]),
            )
            for one in known
        ]
        for owner, known in document.items()
    }


def _number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and value > 0 else default


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
