"""Reads the present content about the things that new records name, so that it can be merged.

It is put before the new records, so that merging has the same result as one load of everything. The
rest of the graph is left alone. Of a node, only the statements that change are added or deleted,
one by one: content that readers leave out, such as texts in other languages, stays. Statements
about an edge, in the form in which the load writes, become one statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bfsql.loading import StagedNode, Staging
from bfsql.models import EdgeRecord, NodeRecord, Triple
from bfsql.models.json_values import decode, encode
from bfsql_sparql.mapping import UNTYPED
from bfsql_sparql.removal import CHUNK, Removal, marks_of
from bfsql_sparql.writing import StatementWriter

# Without metadata: a node that appears in the new records only in edges or evidence.
_TABLES = """
CREATE TABLE old_node (id TEXT PRIMARY KEY, type TEXT, metadata) WITHOUT ROWID;
CREATE TABLE restated (s TEXT, p TEXT, o TEXT);
CREATE TABLE sought AS SELECT id, max(described) AS described FROM (
    SELECT id, n IN (SELECT n FROM described) AS described FROM node
    UNION ALL SELECT subject, 0 FROM evidence UNION ALL SELECT object, 0 FROM evidence
) GROUP BY id;
CREATE TABLE sought_edge AS
SELECT a.id AS subject, name AS predicate, b.id AS object
FROM edge JOIN node AS a ON a.n = s JOIN predicate USING (p) JOIN node AS b ON b.n = o
UNION SELECT subject, predicate, object FROM evidence;
"""

_NODES = """
SELECT id, described.type, described.metadata, old_node.id, old_node.type, old_node.metadata
FROM described JOIN node USING (n) LEFT JOIN old_node USING (id) ORDER BY id
"""


class Appending:
    """Puts the present content before the records of a staging, and finds the changes they make.

    Args:
        staging: All new records, not merged yet.
        removal: The removals, whose content no longer counts; and the reader of the graph.
        writer: Makes statements.
    """

    def __init__(self, staging: Staging, removal: Removal, writer: StatementWriter) -> None:
        self._staging = staging
        self._reader = removal.reader
        self._removal = removal
        self._writer = writer
        self._execute = staging.connection.execute
        self._many = staging.connection.executemany

    async def read(self) -> None:
        """Read the nodes and edges that the records name."""
        run = self._staging.run
        await run(lambda: self._staging.connection.executescript(_TABLES))
        nodes = self._execute("SELECT id, described FROM sought")
        while some := await run(lambda: nodes.fetchmany(CHUNK)):
            await self._read_nodes(some)
        edges = self._execute("SELECT subject, predicate, object FROM sought_edge")
        while triples := await run(lambda: edges.fetchmany(CHUNK)):
            await self._read_edges(triples)

    async def _read_nodes(self, sought: Sequence[tuple[str, int]]) -> None:
        by_iri: dict[str, list[str]] = {}
        described = set()
        for id_, is_described in sought:
            iri = self._reader.iri(id_)
            if not self._removal.names_node(iri):
                by_iri.setdefault(iri, []).append(id_)
                described |= {iri} if is_described else set()
        if not by_iri:
            return
        types = await self._reader.nodes.types(list(by_iri))
        asked = [iri for iri in types if iri in described]
        metadata = await self._reader.nodes.metadata(asked) if asked else {}
        await self._staging.run(lambda: self._keep_nodes(by_iri, types, metadata))

    def _keep_nodes(
        self, by_iri: dict[str, list[str]], types: dict[str, str], metadata: dict[str, Any]
    ) -> None:
        name = self._reader.mapping.ids.id
        records, rows = [], []
        for iri, type_ in types.items():
            held = metadata.get(iri)
            given = "" if held is None or type_ == UNTYPED else name(type_)
            for id_ in by_iri[iri]:
                records.append(NodeRecord(id_, given, held or {}))
                rows.append((id_, name(type_), None if held is None else encode(held)))
        self._staging.prepend(records)
        self._many("INSERT INTO old_node VALUES (?, ?, ?)", rows)

    async def _read_edges(self, sought: Sequence[Triple]) -> None:
        iri = self._reader.iri
        asked = [
            edge
            for edge in sought
            if not self._removal.names_edge((iri(edge[0]), iri(edge[1]), iri(edge[2])))
        ]
        there = await self._reader.metadata.existing(asked) if asked else []
        metadata = await self._reader.metadata.of(there) if there else {}

        def keep() -> None:
            self._staging.prepend(
                [EdgeRecord(*edge, dict(metadata.get(edge, {}))) for edge in there]
            )
            self._many(
                "INSERT INTO restated VALUES (?, ?, ?)",
                (tuple(map(iri, edge)) for edge in there if metadata.get(edge)),
            )

        await self._staging.run(keep)

    # --- what changes, once all is merged -------------------------------------

    def nodes(self) -> Iterator[list[str]]:
        """The statements to add about each node."""
        return (added for added, _ in self._changes() if added)

    def obsolete(self) -> Iterator[list[str]]:
        """The statements to delete about each node."""
        return (deleted for _, deleted in self._changes() if deleted)

    def marks(self) -> Iterator[list[str]]:
        """The lines that mark the edges whose statements are to be deleted."""
        found = self._execute("SELECT s, p, o FROM restated ORDER BY s, p, o")
        return marks_of(found, self._reader.rewritten, "r")

    def _changes(self) -> Iterator[tuple[list[str], list[str]]]:
        for id_, type_, metadata, old, old_type, old_metadata in self._execute(_NODES):
            node = StagedNode(id_, type_, decode(metadata))
            if old is None:
                yield self._writer.node(node), []
            elif old_metadata is not None:
                before = StagedNode(id_, old_type, decode(old_metadata))
                yield self._writer.changes(node, before)
