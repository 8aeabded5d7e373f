"""What the backend can be told: where the graph is, how it is laid out, what reading may cost."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator

from bfsql.embedding.settings import EmbeddingSettings
from bfsql.settings import Env, resolve
from bfsql_postgres.kgraph import checked
from bfsql_postgres.mapping import EdgeTable, Name, NodeTable, tables


class PostgresSettings(EmbeddingSettings):
    """Where the graph is, which tables it is in, and what reading it may cost."""

    dsn: Annotated[SecretStr | None, Env("DATABASE_URL")] = Field(
        default=None,
        description="Where the database is: postgresql://user:password@host:port/name. Without it "
        "the variables PGHOST, PGDATABASE, PGUSER, PGPASSWORD and so on count.",
    )
    schema_: Annotated[Name, Env("BFSQL_POSTGRES_SCHEMA")] = Field(
        default="public", description="Schema of all tables that name no other."
    )
    names: Annotated[dict[str, str], AfterValidator(checked), Env("BFSQL_POSTGRES_NAMES")] = Field(
        default_factory=dict,
        description="Names of kgraph's tables and columns where yours differ: entity=node, "
        "entity.entity_id=id, relationship=link.",
    )
    nodes: Annotated[list[NodeTable], BeforeValidator(tables), Env("BFSQL_POSTGRES_NODES")] = Field(
        default_factory=list,
        description="Tables of nodes, for a graph that is not kgraph's: \"people: id=person_id, "
        "name=full_name, type='Person', aliases=nicknames, metadata=born|died\". Can be repeated.",
    )
    edges: Annotated[list[EdgeTable], BeforeValidator(tables), Env("BFSQL_POSTGRES_EDGES")] = Field(
        default_factory=list,
        description="Tables of edges, likewise: \"jobs: subject=person_id, predicate='works for', "
        'object=company_id, metadata=since".',
    )
    transaction_pooling: Annotated[bool, Env("BFSQL_POSTGRES_TRANSACTION_POOLING")] = Field(
        default=False,
        description="Whether a pooler in transaction mode (pgbouncer, say) stands in between.",
    )
    pool_size: Annotated[int, Env("BFSQL_POSTGRES_POOL_SIZE")] = Field(
        default=10, ge=1, le=1000, description="Connections to the server at the most."
    )
    connect_timeout: Annotated[float, Env("BFSQL_POSTGRES_CONNECT_TIMEOUT")] = Field(
        default=10,
        gt=0,
        le=600,
        description="Seconds to connect at the most, and to wait for a free connection.",
    )
    statement_timeout: Annotated[float, Env("BFSQL_POSTGRES_STATEMENT_TIMEOUT")] = Field(
        default=60,
        gt=0,
        le=86_400,
        description="Seconds that one statement may take; the deadline of a call counts as well.",
    )
    evidence_layout: Annotated[
        Literal["bundle_evidence", "evidence"], Env("BFSQL_POSTGRES_EVIDENCE_LAYOUT")
    ] = Field(
        default="bundle_evidence",
        description="Where `bfsql load` writes evidence; reading takes what is there.",
    )

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        """Nodes without edges are no graph, and edges alone have no nodes to touch."""
        if bool(self.nodes) != bool(self.edges):
            given, lacking = ("nodes", "edges") if self.nodes else ("edges", "nodes")
            raise ValueError(
                f"The setting {given} names tables and {lacking} names none; name both, or "
                "neither for kgraph's schema."
            )
        return self

    @classmethod
    def of(cls, dsn: str | None, settings: dict[str, Any]) -> Self:
        """The settings of a program: what it says, then what the environment says.

        Args:
            dsn: The database's URL, or None.
            settings: Any of the other fields.

        Raises:
            ConfigurationError: One of them cannot be used.
        """
        given = settings if dsn is None else {**settings, "dsn": dsn}
        return resolve(cls, options=given, environment=dict(os.environ)).settings
