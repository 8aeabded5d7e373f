"""The conformance kit on real servers, opened by a read-only role."""

import pickle
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest

from bfsql_postgres import PostgresBackend, PostgresSettings, load_graph
from bfsql_test_support.servers.database import Database
from bfsql_test_support.suites.conformance import (
    ASKED_TOGETHER,
    WatchedSuite,
    closing,
    texts_of,
    trying,
)
from bfsql_test_support.suites.numbers import AnyNumber
from bfsql_test_support.suites.shared_load import LoadedTogether
from bfsql_testing import Kind
from bfsql_testing.conformance import EVERYTHING, RULES


class OnPostgres(LoadedTogether, WatchedSuite):
    # An index entry of Postgres holds at most 2,704 bytes.
    keeps = EVERYTHING - {Kind.BINARY, Kind.NUL_CHARACTERS, Kind.LONG_IDS}
    examples = 8  # each needs a load
    evidence_layout: ClassVar[str] = "bundle_evidence"
    pooled: ClassVar[bool] = False
    server: ClassVar[str] = "database"
    database: Database

    @pytest.fixture(autouse=True)
    def _on_the_server(self, request):
        self.database = request.getfixturevalue(self.server)

    @property
    def address(self):
        return self.database.reader_url

    @asynccontextmanager
    async def backend_with(self, records):
        layout = self.evidence_layout

        async def load(schema):
            dsn = self.database.owner_url
            owner = PostgresSettings(dsn=dsn, schema_=schema, evidence_layout=layout)
            await load_graph(owner, records)

        # Bytes are the key, since records that differ may be equal: 1 and True are.
        schema = await self.database.schema_with((layout, pickle.dumps(list(records))), load)
        opening = PostgresBackend.create(
            self.address,
            schema=schema,
            pool_size=4,
            transaction_pooling=self.pooled,
            connect_timeout=60.0,  # on a busy machine, calls wait longer for a connection
        )
        async with closing(opening) as backend:
            self.texts = texts_of(backend._pool, "fetch")
            yield backend

    def read_only_with(self, records):
        return self.backend_with(records)

    @asynccontextmanager
    async def store_gone(self, backend):
        name, outside = self.database.name, Database(self.database.address, name="postgres")
        allow = f"UPDATE pg_database SET datallowconn = {{}} WHERE datname = '{name}'"
        await outside.run(
            allow.format("false"),
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
        )
        try:
            yield
        finally:
            await outside.run(allow.format("true"))


class TestBundleEvidence(OnPostgres, AnyNumber):
    """With pgvector and pg_trgm; evidence by key."""


@trying(
    *("edge-evidence", "evidence-counted", "entity-bytes", "bfs-bytes", "drawn-graphs"),
    *("every-value", "edge-metadata-batch", "edge-metadata-keys", "unknown-in-batches"),
    *("query-text", "round-trips", "read-rights"),
)
class TestEvidenceByRow(OnPostgres):
    """Evidence by the row's UUID; the other tables are the same."""

    evidence_layout = "evidence"


@trying(*RULES.keys() - ASKED_TOGETHER - {"concurrent-calls", "cancellation", "free-loop"})
class TestOldServer(OnPostgres):
    """Postgres 15, without pgvector."""

    server = "old_database"


@trying(
    *("concurrent-calls", "cancellation", "free-loop", "stream-part", "stream-left"),
    *("columns-batches", "columns-fresh", "fresh-answers", "drawn-graphs", "whole-hub"),
    *("edges-part", "edge-evidence", "every-value", "hostile-ids", "nodes-list"),
    *("found-by-name", "query-text", "round-trips", "may-write-not", "read-rights"),
)
class TestBehindPooler(OnPostgres):
    """Through pgbouncer in transaction mode: what a pooler may lose, and one call of each kind."""

    pooled = True

    @pytest.fixture(autouse=True)
    def _pooler(self, pgbouncer):
        self.pooler = pgbouncer

    @property
    def address(self):
        return self.pooler.url(self.database.name, self.database.reader)

    def store_gone(self, backend):
        # After a failed login the pooler waits 15 s, which would delay every other test too.
        return None
