"""The tables of a load: filled beside the old ones, invisible to readers, then put in their place.

They are created in the load's own transaction under temporary names, and take the old names at
its end, for which readers wait some 50 ms. Truncating the old tables and filling them again would
keep their rights, but would block readers while rows and indexes are written: 19 s for 1,000,000
edges. Rights and owner are therefore carried over to the new tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfsql_postgres.discovery import layout_of
from bfsql_postgres.indexes import missing_indexes
from bfsql_postgres.load.ddl import ENTITY, EVIDENCE_TABLES, RELATIONSHIP, Table
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import identifier, qualified

if TYPE_CHECKING:
    from asyncpg import Connection

PREFIX = "bfsql_load_"
"""Prefix of the names of new tables and their indexes, until they are in place."""

SCRATCH = "scratch_"
"""Follows `PREFIX` in the names of tables that the load drops at its end.

They are not temporary tables: a role may lack the right to create temporary tables but have the
right to create others.
"""

DESCRIBED = SCRATCH + "described"
"""Descriptions of nodes, several of which may be of one node."""

PASSAGE = SCRATCH + "passage"
"""Passages of evidence, whose edges may not exist."""


@dataclass(frozen=True, slots=True)
class LoadTables:
    """The tables of one load.

    The tables have names of their own, `entity` for instance; those that do not remain begin with
    `SCRATCH`.
    """

    connection: Connection
    """In the transaction of the load."""
    settings: PostgresSettings
    evidence: Table
    vectors: str | None
    """Schema of pgvector, None if it is not installed."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that will remain."""
        return (ENTITY, RELATIONSHIP, self.evidence)

    def path(self, name: str) -> str:
        """The quoted path of a new table."""
        return self.place(PREFIX + name)

    def place(self, name: str) -> str:
        """The quoted path of whatever has this name in the schema."""
        return qualified(self.settings.schema_, name)

    def scratch(self, name: str) -> str:
        """The quoted path of a table that the load drops again."""
        return self.path(SCRATCH + name)

    @property
    def copied(self) -> dict[str, dict[str, str]]:
        """For each table, the columns of the rows that are copied to it, with their types."""
        return {
            DESCRIBED: {"place": "bigint", **ENTITY.rows},
            PASSAGE: {**RELATIONSHIP.fixed, "beside": "boolean", **self.evidence.values},
            **{table.name: table.rows for table in self.tables},
        }

    async def create(self) -> None:
        """Make all tables, without indexes."""
        more = {table.name: table.more for table in self.tables}
        for name, columns in self.copied.items():
            # A crash empties an unlogged table.
            kind = "UNLOGGED TABLE" if name.startswith(SCRATCH) else "TABLE"
            typed = {**columns, **more.get(name, {})}
            listed = ", ".join(f"{column} {type_}" for column, type_ in typed.items())
            await self.connection.execute(f"CREATE {kind} {self.path(name)} ({listed})")

    async def copy(self, name: str, rows: Iterable[Any]) -> None:
        """Write rows into a table."""
        await self.connection.copy_records_to_table(
            PREFIX + name,
            schema_name=self.settings.schema_,
            columns=list(self.copied[name]),
            records=rows,
        )

    async def type_vectors(self) -> None:
        """Convert the vectors of the filled table to pgvector's type, if they have one length.

        Without any vectors, the length in the settings applies: if the type has a
        length, an index can be created before the column is filled.
        """
        if self.vectors is None:
            return
        path, lengths = self.path(ENTITY.name), "json_array_length(embedding)"
        least, most = await self.connection.fetchrow(
            f"SELECT min({lengths}), max({lengths}) FROM {path}"  # noqa: S608 - quoted
        )
        if least != most or (most or 0) > 16_000:  # pgvector takes no more
            return
        kind, length = qualified(self.vectors, "vector"), most or self.settings.embedding_dimensions
        if length:
            kind += f"({length})"
        await self.connection.execute(
            f"ALTER TABLE {path} ALTER COLUMN embedding TYPE {kind} USING embedding::text::{kind}"
        )

    async def index(self, table: Table) -> None:
        """Create the keys and indexes of a filled table, and update the planner's statistics."""
        path = self.path(table.name)
        for name, definition in table.constraints.items():
            # A key's index has the key's name, and the old table still uses that name until it is
            # dropped.
            called = identifier(name if definition.startswith("FOREIGN") else PREFIX + name)
            refers = definition.format(relationship=self.path(RELATIONSHIP.name))
            await self.connection.execute(f"ALTER TABLE {path} ADD CONSTRAINT {called} {refers}")
        names = {known: PREFIX + known for known in ("entity", "relationship", *EVIDENCE_TABLES)}
        found = await layout_of(self.connection, self.settings.model_copy(update={"names": names}))
        for missing in missing_indexes(found, by_name=True):
            if missing.relation.name == PREFIX + table.name:
                for statement in missing.statements(concurrently=False):
                    await self.connection.execute(statement)
        await self.connection.execute(f"ANALYZE {path}")
