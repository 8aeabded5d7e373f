"""The evidence behind what is known of an entity."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bfsql.models.evidence import evidence_items
from bfsql.models.records import Triple
from bfsql_postgres.details import Item, as_json, edge, metadata_of, readers
from bfsql_postgres.layout import Layout
from bfsql_postgres.pool import Pool
from bfsql_postgres.queries.provenance import OWN, Provenance


@dataclass(slots=True)
class _Edge:
    touching: bool
    rows: list[Item] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)


class Passages:
    """Asks for evidence, and counts all of it.

    Args:
        pool: Where statements run.
        layout: Where the graph is.
    """

    def __init__(self, pool: Pool, layout: Layout) -> None:
        self._pool = pool
        self._query = Provenance(layout)
        self._readers = readers(self._query.fields, 7)

    async def of_node(self, entity_id: str, value: Any, limit: int) -> dict[str, Any]:
        """What `provenance_for_node` answers.

        Args:
            entity_id: An entity.
            value: The same as it is sent.
            limit: Items to give at the most.
        """
        if self._query.statement is None:
            return {"total": 0, "items": []}
        found: dict[Triple, _Edge] = {}
        rows = await self._pool.fetch(self._query.statement, value, entity_id, _patterns(entity_id))
        for row, told in zip(rows, metadata_of(rows, 4, self._readers), strict=True):
            subject, predicate, obj, touching, number, text, documents = row[:7]
            one = found.setdefault((subject, predicate, obj), _Edge(touching))
            if number >= 0:
                one.items.append(told)
            else:
                one.rows.append(_row(as_json(text), number == OWN, documents))
        items = [
            item
            for triple in sorted(found)
            for item in evidence_items(triple, edge(found[triple].rows, found[triple].items))
            if found[triple].touching or item["document_id"] == entity_id
        ]
        return {"total": len(items), "items": items[:limit]}


def _row(said: Any, own: bool, documents: str | None) -> Item:  # noqa: FBT001
    """What of an edge's row matters for its evidence."""
    provenance = said if own else said.get("provenance") if isinstance(said, Mapping) else None
    row = {} if provenance is None else {"provenance": provenance}
    listed = as_json(documents)
    return row if listed is None else {**row, "source_documents": listed}


def _patterns(entity_id: str) -> list[str]:
    """JSON text that names the entity, as patterns."""
    spellings = {json.dumps(entity_id, ensure_ascii=False), json.dumps(entity_id)}
    escaped = (re.sub(r"([\\%_])", r"\\\1", spelling) for spelling in spellings)
    return sorted(f"%{spelling}%" for spelling in escaped)
