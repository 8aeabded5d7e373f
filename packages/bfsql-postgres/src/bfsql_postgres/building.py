"""The new tables while a load fills them: beside the old ones, and seen by nobody else.

They are made in the load's own transaction under names of their own, and take
the old ones' places at its end. So readers have the old graph until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bfsql_postgres.ddl import (
    ENTITY,
    EVIDENCE_TABLES,
    RELATIONSHIP,
    Table,
    constraints,
    created,
)
from bfsql_postgres.discovery import layout_of
from bfsql_postgres.indexes import missing_indexes
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import identifier

if TYPE_CHECKING:
    from asyncpg import Connection

PREFIX = "bfsql_load_"
"""What the names of new tables and their indexes begin with, until they are in place."""

SCRATCH = "scratch_"
"""What the names of tables that will not stay go on with."""

MOST_NUMBERS = 16_000
"""Numbers of a vector of pgvector."""

_DESCRIBED, _PASSAGE = "described", "passage"


@dataclass(frozen=True, slots=True)
class Building:
    """The tables of one load."""

    settings: PostgresSettings
    evidence: Table
    vectors: str | None
    """Schema of pgvector, None where it is not installed."""
    entity: Table = ENTITY

    @property
    def schema(self) -> str:
        """Where the tables are."""
        return self.settings.schema_

    @property
    def tables(self) -> tuple[Table, ...]:
        """Those that will stay."""
        return (self.entity, RELATIONSHIP, self.evidence)

    @property
    def described(self) -> str:
        """Descriptions of nodes, of which several may be of one."""
        return self.scratch(_DESCRIBED)

    @property
    def passage(self) -> str:
        """Passages of evidence, whose edges may not be there."""
        return self.scratch(_PASSAGE)

    def path(self, name: str) -> str:
        """The quoted name of a new table, or of an index of one."""
        return self.place(PREFIX + name)

    def place(self, name: str) -> str:
        """The quoted name of what is in the schema under this name."""
        return f"{identifier(self.schema)}.{identifier(name)}"

    def scratch(self, name: str) -> str:
        """The quoted name of a table that the load drops again.

        No temporary table: the right to make those can be lacking where the right to make
        others is not.
        """
        return self.path(SCRATCH + name)

    async def create(self, connection: Connection) -> None:
        """Make all tables, without indexes."""
        for table in self.tables:
            await connection.execute(created(self.path(table.name), table.definitions))
        for path, columns in (
            (self.described, {"place": "bigint", **self._kept(self.entity)}),
            (
                self.passage,
                {**RELATIONSHIP.fixed, "beside": "boolean", **self._kept(self.evidence)},
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
        """Write rows as `staging` makes them."""
        described = ("place", *self.entity.written)
        passage = (*RELATIONSHIP.fixed, "beside", *self.evidence.kept)
        for name, columns, rows in (
            (SCRATCH + _DESCRIBED, described, nodes),
            (RELATIONSHIP.name, RELATIONSHIP.written, edges),
            (SCRATCH + _PASSAGE, passage, passages),
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
        """Give the vectors of the filled table pgvector's type, where they have one length.

        Without any, the length that the settings tell counts: of a type with its
        length an index can be made, whoever fills the column.
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
        """Give a filled table its keys and indexes, and the planner its figures."""
        path = self.path(table.name)
        for name, definition in constraints(table):
            # A key's index bears its name, which the old table's has as long as it is there.
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

    def _kept(self, table: Table) -> dict[str, str]:
        fixed = table.fixed if table is self.entity else {}
        kept = {name: kind for name, kind in table.definitions.items() if name in table.kept}
        return {**fixed, **kept}
