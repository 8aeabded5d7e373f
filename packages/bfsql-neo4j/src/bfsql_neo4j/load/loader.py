"""Loads a graph into a database: an empty one, or in place of the existing content.

A load is many transactions, since Neo4j cannot take a large graph in one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from neo4j import AsyncManagedTransaction, AsyncSession
from neo4j.exceptions import Neo4jError

from bfsql.errors import StoreError
from bfsql.loading import GraphWriter, Step, graph_is_there
from bfsql.models.load import LoadMode, LoadOptions
from bfsql_neo4j import index_queries, schema_queries
from bfsql_neo4j.connection import DRIVER_ERRORS, address, open_driver, place, translate_error
from bfsql_neo4j.cypher import quoted
from bfsql_neo4j.id_templates import id_template
from bfsql_neo4j.indexes import (
    Index,
    fulltext_for_load,
    id_properties,
    indexes,
    make,
    vectors_lacking,
)
from bfsql_neo4j.load.rows import PLAIN, Batch, GraphRows, check
from bfsql_neo4j.settings import Neo4jSettings, for_all

# Node by node, since distinguishing all triples of a large graph at once would exhaust the memory.
_TRIPLES = (
    "MATCH (a) CALL (a) { MATCH (a)-[r]->(b) RETURN count(DISTINCT [type(r), elementId(b)]) AS n } "
    "RETURN sum(n)"
)
# Relationships first, since deleting a hub together with them would be one huge transaction.
_DELETE_RELATIONSHIPS = "MATCH ()-[r]->() CALL (r) { DELETE r } IN TRANSACTIONS OF $rows ROWS"
_DELETE_NODES = "MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF $rows ROWS"


class Neo4jWriter(GraphWriter[Neo4jSettings]):
    """Fills a database: the indexes of the ids come first, and that of the names last."""

    codec = PLAIN
    refusals = (Neo4jError,)
    nouns = ("node", "nodes", "relationships", "database")
    check = staticmethod(check)

    def __init__(self, settings: Neo4jSettings, options: LoadOptions) -> None:
        super().__init__(settings, options)
        self.place = address(settings)
        self._session: AsyncSession
        self._rows: GraphRows
        self._id_property: dict[str, str] = {}
        """For every label, the property that receives the ids."""
        self._types: set[str] = set()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[None]:
        """A session for writing, with a sentence for any error of the driver that ends it."""
        try:
            async with (
                open_driver(self.settings) as driver,
                driver.session(database=self.settings.database) as self._session,
            ):
                yield
        except DRIVER_ERRORS as error:
            raise translate_error(error, self.settings) from error

    async def begin(self) -> None:
        """Refuse to change a graph that is there, unless it is to be replaced."""
        nodes = await self._number(schema_queries.NODES)
        if nodes and self.options.mode is not LoadMode.REPLACE:
            raise graph_is_there(
                place(self.settings),
                nodes,
                await self._number(_TRIPLES),
                elsewhere="load into another database (--database) or server (--uri)",
            )

    def merge(self) -> None:
        """Merge nodes, but leave parallel relationships; find the properties of the ids.

        Raises:
            StoreError: There is none for one of the labels.
        """
        staging = self.staging
        staging.merge_nodes()
        staging.drop_dangling("predicate, subject, object")
        staging.find_passages()
        ((staging.report.edges,),) = staging.connection.execute("SELECT count(*) FROM edge")
        self._rows = GraphRows(staging)
        self._id_property = {label: self._property_of(label) for label in self._rows.labels()}

    def _property_of(self, label: str) -> str:
        names = id_properties(self.settings, label)
        if not names:
            raise StoreError(
                f"id_property has no property for the label {label!r}, so its nodes would have no "
                "ids. Add a property that applies to all labels, for instance --id-property "
                "entity_id."
            )
        if not id_template(names[0]).is_property:
            raise StoreError(
                f"The id of the label {label!r} is made by a template ({names[0]}), and a load has "
                f"to write it into one property: give --id-property {label}=entity_id."
            )
        return names[0]

    async def prepare(self) -> None:
        """Delete the existing content, drop indexes of an earlier load, and make those of ids."""
        await self.begin()
        if await self._number(schema_queries.NODES):
            self.clearing = True
            for text in (_DELETE_RELATIONSHIPS, _DELETE_NODES):
                await (await self._session.run(text, rows=10_000)).consume()
        idle = [
            index_queries.drop_index(index.name)
            for index in await indexes(self._session)
            if index.name == self.settings.fulltext_index or self._is_idle(index)
        ]
        idle.append(index_queries.drop_index(index_queries.EVIDENCE_INDEX))
        made = [index_queries.create_range_index(*index) for index in self._id_property.items()]
        await make(self._session, self.settings, [*idle, *made])

    def _is_idle(self, index: Index) -> bool:
        """Whether it is an index over ids for a label that no longer exists."""
        ids = {*for_all(self.settings.id_property), *self._id_property.values()}
        return (
            index.type == "RANGE"
            and not index.owned
            and len(index.properties) == 1
            and ids.issuperset(index.properties)
            and self._id_property.keys().isdisjoint(index.labels)
        )

    def steps(self) -> Iterator[Step]:
        """Nodes label by label, relationships type by type, a transaction for each batch."""
        yield self._rows.nodes(self._id_property), self._write_nodes
        yield self._rows.relationships(), self._write_relationships

    async def _write_nodes(self, batch: Batch) -> int:
        property_ = self._id_property[batch.name]
        pairs = await self._session.execute_write(_create_nodes, batch, property_)
        self.staging.note_own_ids(pairs)
        return len(pairs)

    async def _write_relationships(self, batch: Batch) -> int:
        await self._session.execute_write(_create_relationships, batch)
        self._types.add(batch.name)
        return len(batch.rows)

    async def finish(self) -> None:
        """Create the indexes for searches by name, by meaning and by document."""
        made, labels = list[str](), list(self._id_property)
        if labels:
            made += await fulltext_for_load(self._session, self.settings, labels)
            made += await vectors_lacking(self._session, self.settings, labels)
        if self.staging.report.evidence:
            made.append(index_queries.create_evidence_index(sorted(self._types)))
        await make(self._session, self.settings, made)

    async def _number(self, query: str) -> int:
        ((number,),) = await (await self._session.run(query)).values()
        return int(number)


load_graph = Neo4jWriter.load_graph


async def _create_nodes(
    tx: AsyncManagedTransaction, batch: Batch, id_property: str
) -> list[list[Any]]:
    """Number and element id of every node written."""
    text: Any = (
        f"UNWIND $rows AS row CREATE (n:{quoted(batch.name)}) "
        f"SET n = row[2], n.{quoted(id_property)} = row[1] RETURN row[0], elementId(n)"
    )
    return await (await tx.run(text, rows=batch.rows)).values()


async def _create_relationships(tx: AsyncManagedTransaction, batch: Batch) -> None:
    text: Any = (
        "UNWIND $rows AS row MATCH (a) WHERE elementId(a) = row[0] "
        "MATCH (b) WHERE elementId(b) = row[1] "
        f"CREATE (a)-[r:{quoted(batch.name)}]->(b) SET r = row[2]"
    )
    await (await tx.run(text, rows=batch.rows)).consume()
