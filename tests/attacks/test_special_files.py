"""A FIFO in place of a file is refused at once: opening it would wait, for ever, for its writer."""

import os
from pathlib import Path

import pytest

from bfsql import open_graph
from bfsql.errors import ConfigurationError, SourceError, StoreError
from bfsql.explore.replay import route
from bfsql.http import UnusableCertificate, tls_context
from bfsql.sources.json_ld_guard import with_local_contexts
from bfsql_gremlin import GremlinSettings
from bfsql_gremlin.connection import Client
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.connection import open_driver

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")


@pytest.mark.parametrize(
    ("backend", "name"), [("sqlite", "g.db"), ("sqlite", "g.ttl"), ("sparql", "g.ttl")]
)
async def test_a_pipe_in_place_of_a_graph_is_refused_at_once(
    tmp_path: Path, backend: str, name: str
) -> None:
    os.mkfifo(tmp_path / name)
    path = {"data": [str(tmp_path / name)]} if backend == "sparql" else {"path": tmp_path / name}
    with pytest.raises(StoreError, match="is not a regular file"):
        async with open_graph(backend, **path):
            pass


def test_no_file_that_a_setting_names_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(UnusableCertificate, match="not a regular file"):
        tls_context(ca_file=pipe)
    with pytest.raises(StoreError, match="not a regular file"):
        open_driver(Neo4jSettings(uri="bolt+s://localhost", ca_file=pipe))
    with pytest.raises(StoreError, match="not a regular file"):
        Client(GremlinSettings(uri=["wss://localhost"], ca_file=pipe))
    with pytest.raises(ConfigurationError, match="not a regular file"):
        route(pipe)
    with pytest.raises(SourceError, match="not a regular file"):
        with_local_contexts(pipe, {}, pipe)
