"""Merged records as vertices and edges: names that the engine allows, and values of one kind a key.

JanusGraph fixes the type of a property by its first value. A key whose values are all text, all
whole numbers, all floats or all flags is a property; every other value is JSON text, as
`bfsql.models.json_properties` describes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, NamedTuple

from gremlin_python.statics import long

from bfsql.loading import StagedEdge, Staging, batches
from bfsql.models.json_properties import to_properties
from bfsql.models.json_values import as_text, encode, is_text
from bfsql.models.merge import evidence_items
from bfsql.models.records import GraphRecord, NodeRecord
from bfsql_gremlin.discovery import JanusGraphSchema
from bfsql_gremlin.settings import LABEL, GremlinSettings
from bfsql_gremlin.values import INT64, SUPPLIED

NODES, EDGES = 500, 100
"""Most vertices and edges written by one request."""
BATCH_BYTES = 1_000_000
"""Approximate limit of the bytes written by one request, unless one row has more."""
MAX_ID_BYTES = 8_000
"""Most bytes of an id in UTF-8; indexes of most engines take no longer ones."""

_JANUSGRAPH_FORBIDS = re.compile(r'[{}"\x1e]')
_JANUSGRAPH_RESERVES = frozenset({"vertex", "element", "edge", "property", "label", "key"})
_KINDS = {str: "String", int: "Long", float: "Double", bool: "Boolean"}

_TABLES = """
CREATE TABLE supplied (document TEXT, subject TEXT, predicate TEXT, object TEXT);
CREATE INDEX supplied_document ON supplied (document);
"""


class VertexRow(NamedTuple):
    """A vertex to write; `number` is that of the staging."""

    number: int
    id: str
    type: str
    properties: dict[str, Any]


class EdgeRow(NamedTuple):
    """An edge to write, between own ids of the engine."""

    subject: Any
    label: str
    object: Any
    properties: dict[str, Any]


class Names:
    """The names that an engine allows, and the kinds that properties have in it.

    Args:
        settings: Names of the properties.
        janusgraph: The schema of a JanusGraph; None for other engines.
    """

    def __init__(self, settings: GremlinSettings, janusgraph: JanusGraphSchema | None) -> None:
        self.settings = settings
        self.janusgraph = janusgraph
        self.labels: set[str] = set(janusgraph.labels) if janusgraph else set()
        """Labels of edges, which in JanusGraph are not names of properties."""
        self.types: set[str] = set()
        self._reserved = {settings.id_property, *settings.name_property, *settings.alias_property}
        self._reserved |= set(janusgraph.keys) if janusgraph else set()

    def check(self, record: GraphRecord) -> None:
        """Refuse names that the engine cannot store.

        Raises:
            ValueError: The record cannot be stored; the text is the reason.
        """
        if isinstance(record, NodeRecord):
            size = len(record.id.encode())
            if size > MAX_ID_BYTES:
                raise ValueError(
                    f"its id has {size:,} bytes, but indexes accept at most {MAX_ID_BYTES:,}; "
                    "shorten it"
                )
            if record.entity_type:
                self._check_label("type", record.entity_type)
        else:
            f"{record.subject}{record.object}".encode()
            self._check_label("predicate", record.predicate)
            if self.janusgraph and record.predicate in self._reserved:
                raise ValueError(
                    "its predicate is also the name of a property, which JanusGraph does not "
                    "allow; rename it"
                )

    def _check_label(self, what: str, name: str) -> None:
        name.encode()
        if not name or name.startswith("~") or "\0" in name:
            raise ValueError(
                f"its {what} is empty, begins with ~ or contains U+0000, which Gremlin does not "
                "allow in a label; rename it"
            )
        if self.janusgraph and (_JANUSGRAPH_FORBIDS.search(name) or name in _JANUSGRAPH_RESERVES):
            raise ValueError(
                f"its {what} contains a quotation mark or a brace, or is a reserved word, which "
                "JanusGraph does not allow in a label; rename it"
            )

    def can_name(self, key: str) -> bool:
        """Whether a property can have this name."""
        if not key or key == SUPPLIED or key.startswith("~") or "\0" in key or not is_text(key):
            return False
        if self.janusgraph is None:
            return True
        return not (
            _JANUSGRAPH_FORBIDS.search(key) or key in _JANUSGRAPH_RESERVES or key in self.labels
        )


class GraphRows:
    """The rows of one load.

    Args:
        staging: All records, merged.
        names: What the engine allows.
    """

    def __init__(self, staging: Staging, names: Names) -> None:
        staging.connection.executescript(_TABLES)
        self._staging = staging
        self.names = names
        self.kinds: dict[str, str | None] = {}
        """The Java type of a key's values; None if they differ or need JSON."""

    def find_kinds(self) -> None:
        """Find the kinds of all values, and the names of types and labels."""
        names, janusgraph = self.names, self.names.janusgraph
        connection = self._staging.connection
        query = "SELECT DISTINCT name FROM predicate JOIN edge USING (p)"
        names.labels |= {name for (name,) in connection.execute(query)}
        records = (
            (one.metadata for one in self._staging.nodes()),
            map(self._note_evidence, self._staging.edges()),
        )
        if janusgraph:
            self.kinds.update(janusgraph.keys)
        for key, value in (pair for one in chain(*records) for pair in one.items()):
            if value is not None:
                kind = _kind(value)
                if self.kinds.setdefault(key, kind) != kind:
                    # JSON text stands under another name, so the values that fit may stay.
                    self.kinds[key] = self.kinds[key] if self._is_fixed(key) else None
        names.types = {one for (one,) in connection.execute("SELECT DISTINCT type FROM described")}

    def _note_evidence(self, edge: StagedEdge) -> dict[str, Any]:
        """Note which documents supplied evidence of an edge; returns its metadata."""
        items = evidence_items(edge[:3], edge.metadata)
        documents = {item["document_id"] for item in items if isinstance(item["document_id"], str)}
        rows = [(as_text(document), *edge[:3]) for document in sorted(documents)]
        self._staging.connection.executemany("INSERT INTO supplied VALUES (?, ?, ?, ?)", rows)
        return edge.metadata

    def _is_fixed(self, key: str) -> bool:
        return self.names.janusgraph is not None and key in self.names.janusgraph.keys

    def nodes(self) -> Iterator[list[VertexRow]]:
        """Every node, in batches."""
        settings = self.names.settings
        taken = {settings.id_property, settings.type_property} - {LABEL}
        rows = (
            VertexRow(
                node.number,
                node.id,
                node.entity_type,
                self._properties(node.metadata, taken) | self._supplied(node.id),
            )
            for node in self._staging.nodes()
        )
        return _batches(rows, NODES)

    def _supplied(self, document: str) -> dict[str, str]:
        """The property with the edges for which a node supplied evidence."""
        query = "SELECT subject, predicate, object FROM supplied WHERE document = ?"
        edges = self._staging.connection.execute(query, (document,)).fetchall()
        return {SUPPLIED: encode([list(edge) for edge in edges])} if edges else {}

    def edges(self) -> Iterator[list[EdgeRow]]:
        """Every edge between written nodes, in batches."""
        rows = (
            EdgeRow(_own(s), edge.predicate, _own(o), self._properties(edge.metadata))
            for edge in self._staging.edges()
            for s, o in (edge.ends,)
        )
        return _batches(rows, EDGES)

    def _properties(
        self, metadata: dict[str, Any], reserved: Collection[str] = ()
    ) -> dict[str, Any]:
        found = to_properties(metadata, self._is_kept, self.names.can_name, reserved)
        return {key: long(v) if type(v) is int else v for key, v in found.items()}

    def _is_kept(self, key: str, value: Any) -> bool:
        return self.kinds.get(key) is not None and self.kinds[key] == _kind(value)


def _batches(rows: Iterator[Any], most: int) -> Iterator[list[Any]]:
    return batches(rows, lambda row: (1, _size(row.properties)), lambda: most, BATCH_BYTES)


def _kind(value: Any) -> str | None:
    if type(value) is int and not -INT64 <= value < INT64:
        return None
    if type(value) is str and not is_text(value):
        return None
    return _KINDS.get(type(value))


def _own(value: Any) -> Any:
    return long(value) if isinstance(value, int) else value


def _size(properties: dict[str, Any]) -> int:
    return 100 + sum(len(v) if isinstance(v, str) else 8 for v in properties.values())
