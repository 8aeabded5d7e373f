"""The tables of a load: filled beside the old ones, invisible to readers, then put in their place.

They are created in the load's own transaction under temporary names, and take the old names at
its end, for which readers wait some 50 ms. Truncating the old tables and filling them again would
keep their rights, but would block readers while rows and indexes are written: 19 s for 1,000,000
edges. Rights and owner are therefore carried over to the new tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfsql_postgres.discovery import layout_of
from bfsql_postgres.indexes import missing_indexes
from bfsql_postgres.load.ddl import (
    ENTITY,
    EVIDENCE_TABLES,
    RELATIONSHIP,
    Table,
    constraints,
    created,
)
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import identifier

if TYPE_CHECKING:
    from asyncpg import Connection

PREFIX = "bfsql_load_"
"""Prefix of the names of new tables and their indexes, until they are in place."""

SCRATCH = "scratch_"
"""Follows `PREFIX` in the names of tables that the load drops at its end."""

MOST_NUMBERS = 16_000
"""Most dimensions of a pgvector vector."""

DESCRIBED, PASSAGE = "described", "passage"
"""Names, after `SCRATCH`, of the tables that records are copied to."""


@dataclass(frozen=True, slots=True)
class LoadTables:
    """The tables of one load."""

    settings: PostgresSettings
    evidence: Table
    vectors: str | None
    """Schema of pgvector, None if it is not installed."""
    entity: Table = ENTITY

    @property
    def schema(self) -> str:
        """The schema of the tables."""
        return self.settings.schema_

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that will remain."""
        return (self.entity, RELATIONSHIP, self.evidence)

    @property
    def described(self) -> str:
        """Path of the descriptions of nodes, several of which may be of one node."""
        return self.scratch(DESCRIBED)

    @property
    def passage(self) -> str:
        """Path of the passages of evidence, whose edges may not exist."""
        return self.scratch(PASSAGE)

    def path(self, name: str) -> str:
        """The quoted name of a new table, or of an index of one."""
        return self.place(PREFIX + name)

    def place(self, name: str) -> str:
        """The quoted path of an existing object with this name in the schema."""
        return table_path(self.schema, name)

    def scratch(self, name: str) -> str:
        """The quoted name of a table that the load drops again.

        It is not a temporary table: a role may lack the right to create temporary tables but have
        the right to create others.
        """
        return self.path(SCRATCH + name)

    async def create(self, connection: Connection) -> None:
        """Make all tables, without indexes."""
        for table in self.tables:
            await connection.execute(created(self.path(table.name), table.definitions))
        for path, columns in (
            (self.described, {"place": "bigint", **self._columns_of(self.entity)}),
            (
                self.passage,
                {**RELATIONSHIP.fixed, "beside": "boolean", **self._columns_of(self.evidence)},
            ),
        ):
            await connection.execute(created(path, columns, logged=False))

    async def take(
        self,
        connection: Connection,
        nodes: Sequence[Any],
        edges: Sequence[Any],
        passages: Sequence[Any],
    ) -> None:
        """Write the rows of a `loader.Batch`."""
        described = ("place", *self.entity.row_columns)
        passage = (*RELATIONSHIP.fixed, "beside", *self.evidence.value_columns)
        for name, columns, rows in (
            (SCRATCH + DESCRIBED, described, nodes),
            (RELATIONSHIP.name, RELATIONSHIP.row_columns, edges),
            (SCRATCH + PASSAGE, passage, passages),
        ):
            if rows:
                await self.copy(connection, name, columns, rows)

    async def copy(
        self, connection: Connection, name: str, columns: Sequence[str], rows: Iterable[Any]
    ) -> None:
        """Write rows into a new table."""
        await connection.copy_records_to_table(
            PREFIX + name, schema_name=self.schema, columns=columns, records=rows
        )

    async def type_vectors(self, connection: Connection) -> None:
        """Convert the vectors of the filled table to pgvector's type, if they have one length.

        Without any vectors, the length in the settings applies: if the type has a
        length, an index can be created before the column is filled.
        """
        if self.vectors is None:
            return
        path, lengths = self.path(self.entity.name), "json_array_length(embedding)"
        least, most = await connection.fetchrow(
            f"SELECT min({lengths}), max({lengths}) FROM {path}"  # noqa: S608 - quoted
        )
        if least != most or (most or 0) > MOST_NUMBERS:
            return
        kind, length = (
            f"{identifier(self.vectors)}.vector",
            most or self.settings.embedding_dimensions,
        )
        if length:
            kind += f"({length})"
        await connection.execute(
            f"ALTER TABLE {path} ALTER COLUMN embedding TYPE {kind} USING embedding::text::{kind}"
        )

    async def index(self, connection: Connection, table: Table) -> None:
        """Create the keys and indexes of a filled table, and update the planner's statistics."""
        path = self.path(table.name)
        for name, definition in constraints(table):
            # A key's index has the key's name, and the old table still uses that name until it is
            # dropped.
            called = identifier(name if definition.startswith("FOREIGN") else PREFIX + name)
            refers = definition.format(relationship=self.path(RELATIONSHIP.name))
            await connection.execute(f"ALTER TABLE {path} ADD CONSTRAINT {called} {refers}")
        names = {known: PREFIX + known for known in ("entity", "relationship", *EVIDENCE_TABLES)}
        found = await layout_of(connection, self.settings.model_copy(update={"names": names}))
        for missing in missing_indexes(found):
            if missing.relation.name == PREFIX + table.name:
                for statement in missing.statements(concurrently=False):
                    await connection.execute(statement)
        await connection.execute(f"ANALYZE {path}")

    def _columns_of(self, table: Table) -> dict[str, str]:
        fixed = table.fixed if table is self.entity else {}
        kept = {
            name: kind for name, kind in table.definitions.items() if name in table.value_columns
        }
        return {**fixed, **kept}


def table_path(schema: str, name: str) -> str:
    """The quoted path of a table in a schema."""
    return f"{identifier(schema)}.{identifier(name)}"
