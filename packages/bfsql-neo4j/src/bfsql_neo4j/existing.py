"""Reads the existing nodes and edges that a load names, which it adds to or removes.

The nodes and edges that the new records name are read batch by batch and put before the records in
the staging: merging then has the same result as one load of everything. The rest of the database
is not read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from neo4j import AsyncSession

from bfsql.errors import LoadRefused
from bfsql.loading import Staging
from bfsql.loading.intake import EXAMPLES, name_of
from bfsql.models.records import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql_neo4j import queries, writes
from bfsql_neo4j.connection import Reader, place
from bfsql_neo4j.discovery import SchemaMonitor
from bfsql_neo4j.schema import Dialect, GraphSchema
from bfsql_neo4j.settings import Neo4jSettings
from bfsql_neo4j.values import ELEMENT, from_properties, storable

_END, _DESCRIBED, _GONE = 0, 1, 2
"""Why a node is read: an edge or a passage names it, a record describes it, or it is removed."""

_TABLES = """
CREATE TABLE gone_node (id TEXT PRIMARY KEY);
CREATE TABLE gone_edge (
    subject TEXT, predicate TEXT, object TEXT, PRIMARY KEY (subject, predicate, object)
);
CREATE TABLE gone_relationship (element TEXT PRIMARY KEY);
CREATE TABLE located (id TEXT PRIMARY KEY, element TEXT NOT NULL);
"""

_SOUGHT = """
CREATE TABLE sought AS SELECT id, max(why) AS why FROM (
    SELECT id, n IN (SELECT n FROM described) AS why FROM node
    UNION ALL SELECT subject, 0 FROM evidence UNION ALL SELECT object, 0 FROM evidence
    UNION ALL SELECT subject, 0 FROM gone_edge UNION ALL SELECT object, 0 FROM gone_edge
    UNION ALL SELECT id, 2 FROM gone_node
) GROUP BY id
"""

_SOUGHT_EDGES = """
CREATE TABLE sought_edge AS
SELECT gone, a.element AS a, predicate, b.element AS b, subject, object
FROM (
    SELECT subject, predicate, object, max(gone) AS gone FROM (
        SELECT a.id AS subject, name AS predicate, b.id AS object, 0 AS gone
        FROM edge JOIN node AS a ON a.n = s JOIN predicate USING (p) JOIN node AS b ON b.n = o
        UNION ALL SELECT subject, predicate, object, 0 FROM evidence
        UNION ALL SELECT subject, predicate, object, 1 FROM gone_edge
    ) GROUP BY subject, predicate, object
)
JOIN located AS a ON a.id = subject JOIN located AS b ON b.id = object
WHERE gone OR (subject NOT IN (SELECT id FROM gone_node)
    AND object NOT IN (SELECT id FROM gone_node))
"""

_NOT_THERE = """
SELECT id, NULL, NULL FROM gone_node WHERE id NOT IN (SELECT id FROM located)
UNION ALL SELECT subject, predicate, object FROM gone_edge
"""


class _Found(NamedTuple):
    """The results of one statement."""

    why: int
    asked: Sequence[Any]
    rows: list[Any]


async def schema_of(settings: Neo4jSettings) -> GraphSchema:
    """The schema of a database that a load adds to, including everything in it.

    Raises:
        StoreError: The database cannot be read.
        StoreUnavailable: The server does not answer.
    """
    everything = settings.model_copy(
        update={"exclude_labels": [], "exclude_types": [], "search": "contains"}
    )
    reader = Reader(everything)
    try:
        dialect = Dialect.of(await reader.agent())
        return await SchemaMonitor(reader, everything, dialect, None).refresh()
    finally:
        await reader.close()


class Existing:
    """The existing content that a load concerns, and the part of it to remove.

    Args:
        staging: All new records, and the tables of a `GraphRows`.
        settings: Used in error messages.
        schema: Tells how to find ids.
    """

    def __init__(self, staging: Staging, settings: Neo4jSettings, schema: GraphSchema) -> None:
        self._staging = staging
        self._settings = settings
        self._schema = schema
        self._found: deque[_Found] = deque()
        staging.connection.executescript(_TABLES)

    # --- what is to go --------------------------------------------------------

    def take_removals(self, records: Iterable[GraphRecord]) -> None:
        """Read the removals; predicates may have the form shown in answers."""
        types = {name: kind for kind, name in self._schema.predicates.items()}
        types |= {kind: kind for kind in self._schema.predicates}
        execute = self._staging.connection.execute
        for record in records:
            try:
                if isinstance(record, NodeRecord):
                    execute("INSERT OR IGNORE INTO gone_node VALUES (?)", (record.id,))
                elif not isinstance(record, EvidenceRecord):
                    kind = types.get(record.predicate, record.predicate)
                    triple = (record.subject, kind, record.object)
                    execute("INSERT OR IGNORE INTO gone_edge VALUES (?, ?, ?)", triple)
            except UnicodeEncodeError:  # not valid text, so not in any database
                self._note_not_there(record)

    def nodes_to_go(self) -> Iterator[list[str]]:
        """The element ids of nodes that are to be removed, in batches."""
        return self._elements("SELECT element FROM gone_node JOIN located USING (id)")

    def relationships_to_go(self) -> Iterator[list[str]]:
        """The element ids of relationships that are to be removed, in batches."""
        return self._elements("SELECT element FROM gone_relationship")

    def _elements(self, query: str) -> Iterator[list[str]]:
        cursor = self._staging.connection.execute(query)
        while rows := cursor.fetchmany(queries.CHUNK):
            yield [element for (element,) in rows]

    # --- reading --------------------------------------------------------------

    async def read(self, session: AsyncSession) -> None:
        """Read the nodes and edges that the records name, and put them before the records.

        Raises:
            LoadRefused: Something that would have to change cannot be changed.
        """

        async def find_nodes(sought: tuple[int, list[str]]) -> None:
            why, ids = sought
            find = queries.whole_nodes if why == _DESCRIBED else queries.node_elements
            text, parameters = find(self._schema, ids)
            ((rows,),) = await _values(session, text, **parameters)
            self._found.append(_Found(why, ids, rows))

        async def find_edges(sought: tuple[int, list[Any]]) -> None:
            gone, edges = sought
            asked = [[at, *edge[:3]] for at, edge in enumerate(edges)]
            rows = await _values(session, writes.RELATIONSHIPS, edges=asked)
            self._found.append(_Found(gone, edges, rows))

        await self._staging.feed(self._nodes_sought(), find_nodes)
        await self._staging.run(self._keep_nodes)
        await self._staging.feed(self._edges_sought(), find_edges)
        await self._staging.run(self._keep_edges)
        await self._staging.run(self._count_not_there)

    def _nodes_sought(self) -> Iterator[tuple[int, list[str]]]:
        execute = self._staging.connection.execute
        execute(_SOUGHT)
        found = execute("SELECT why, id FROM sought ORDER BY why")
        for why, group in groupby(found, itemgetter(0)):
            for ids in _chunks(id_ for _, id_ in group):
                self._keep_nodes()
                yield why, ids

    def _edges_sought(self) -> Iterator[tuple[int, list[Any]]]:
        execute = self._staging.connection.execute
        execute(_SOUGHT_EDGES)
        found = execute("SELECT gone, a, predicate, b, subject, object FROM sought_edge ORDER BY 1")
        for gone, group in groupby(found, itemgetter(0)):
            for edges in _chunks(row[1:] for row in group):
                self._keep_edges()
                yield gone, edges

    # In the thread that reads the staging, so that no other thread uses its connection.

    def _keep_nodes(self) -> None:
        while self._found:
            why, ids, rows = self._found.popleft()
            asked = set(ids)
            located: dict[str, Sequence[Any]] = {}
            # If several nodes share an id, the first by element id is the node.
            for row in sorted(rows, key=lambda row: (len(row[1]), row[1])):
                if row[0] in asked:
                    located.setdefault(row[0], row)
            execute = self._staging.connection.executemany
            execute(
                "INSERT INTO located VALUES (?, ?)",
                ((id_, row[1]) for id_, row in located.items()),
            )
            if why != _GONE:
                kept = [self._node(why, row) for row in located.values()]
                self._staging.prepend([node for node, _ in kept])
                execute(
                    "INSERT INTO existing SELECT n, ?, ?, ?, ? FROM node WHERE id = ?",
                    ((*place_, node.id) for node, place_ in kept),
                )

    def _node(self, why: int, row: Sequence[Any]) -> tuple[NodeRecord, tuple[Any, ...]]:
        """A node as a record; its element id, label, id property, and whether it may change."""
        if why == _END:
            return NodeRecord(row[0], ""), (row[1], None, None, 0)
        id_, element, labels, properties = row
        if id_.startswith(ELEMENT):
            raise LoadRefused(
                f"Nothing was loaded: {place(self._settings)} has a node {id_!r} without an id "
                "property, so a load cannot add to it. Leave its record out, or give the node an "
                "id property (see --id-property)."
            )
        label, ids = self._schema.type_of(labels), self._schema.id_properties(labels)
        held = next(name for name in ids if name in properties)
        others = {key: value for key, value in properties.items() if key != held}
        metadata = from_properties(self._storable(f"the node {id_!r}", others), ids)
        return NodeRecord(id_, label, metadata), (element, label, held, 1)

    def _keep_edges(self) -> None:
        while self._found:
            gone, edges, rows = self._found.popleft()
            execute = self._staging.connection.executemany
            if gone:
                self._staging.report.removed_edges += len({at for at, *_ in rows})
                elements = ((element,) for _, element, _ in rows)
                execute("INSERT OR IGNORE INTO gone_relationship VALUES (?)", elements)
                triples = {_triple(edges[at]) for at, *_ in rows}
                execute(
                    "DELETE FROM gone_edge WHERE subject = ? AND predicate = ? AND object = ?",
                    triples,
                )
                continue
            records = []
            for at, _, properties in rows:
                triple = _triple(edges[at])
                metadata = self._storable(f"a relationship {' '.join(triple)!r}", properties)
                records.append(EdgeRecord(*triple, from_properties(metadata)))
            numbers = self._staging.prepend(records)
            execute(
                "INSERT INTO existing_edge VALUES (?, ?)",
                zip(numbers, (element for _, element, _ in rows), strict=True),
            )

    def _storable(self, what: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        values = {}
        for key, value in properties.items():
            try:
                values[key] = storable(value)
            except ValueError as error:
                raise LoadRefused(
                    f"Nothing was loaded: {place(self._settings)} has, in the property {key!r} of "
                    f"{what}, {error}, which a load cannot store and merging with a record would "
                    "change. Leave that record out, or change the property."
                ) from error
        return values

    # --- counting -------------------------------------------------------------

    def _count_not_there(self) -> None:
        execute = self._staging.connection.execute
        report = self._staging.report
        ((removed,),) = execute("SELECT count(*) FROM gone_node JOIN located USING (id)")
        report.removed_nodes = removed
        for subject, kind, object_ in execute(_NOT_THERE):
            edge = EdgeRecord(subject, kind, object_)
            self._note_not_there(edge if kind else NodeRecord(subject, ""))

    def _note_not_there(self, record: GraphRecord) -> None:
        report = self._staging.report
        report.not_there += 1
        if len(report.not_there_examples) < EXAMPLES:
            report.not_there_examples.append(name_of(record))


def _triple(edge: Sequence[str]) -> tuple[str, str, str]:
    _, predicate, _, subject, object_ = edge
    return subject, predicate, object_


def _chunks(items: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(items)
    while chunk := list(islice(left, queries.CHUNK)):
        yield chunk


async def _values(session: AsyncSession, text: Any, **parameters: Any) -> list[list[Any]]:
    return await (await session.run(text, parameters)).values()
