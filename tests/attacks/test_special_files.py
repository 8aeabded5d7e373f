"""A FIFO in place of a file is refused at once: opening it would wait, for ever, for its writer."""

import asyncio
import os
from pathlib import Path

import pytest
from mcp import Client

from bfsql import open_graph
from bfsql.errors import ConfigurationError, SourceError, StoreError
from bfsql.explore.replay import route
from bfsql.http import UnusableCertificate, tls_context
from bfsql.models import NodeRecord
from bfsql.sources.json_ld_guard import with_local_contexts
from bfsql_gremlin import GremlinSettings
from bfsql_gremlin.connection import Client as GremlinClient
from bfsql_neo4j import Neo4jSettings
from bfsql_neo4j.connection import open_driver
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.servers.serve_process import serving

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")


@pytest.mark.parametrize("names", [["g.db"], ["g.ttl"], ["a.ttl", "g.ttl"]])
async def test_a_pipe_in_place_of_a_graph_is_refused_at_once(
    tmp_path: Path, names: list[str]
) -> None:
    os.mkfifo(tmp_path / names[-1])
    with pytest.raises(StoreError, match="is not a regular file"):
        async with open_graph("sqlite", path=tmp_path / names[0], more_files=names[1:]):
            pass


def test_no_file_that_a_setting_names_is_waited_for(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")
    with pytest.raises(UnusableCertificate, match="not a regular file"):
        tls_context(ca_file=pipe)
    with pytest.raises(StoreError, match="not a regular file"):
        open_driver(Neo4jSettings(uri="bolt+s://localhost", ca_file=pipe))
    with pytest.raises(StoreError, match="not a regular file"):
        GremlinClient(GremlinSettings(uri=["wss://localhost"], ca_file=pipe))
    with pytest.raises(ConfigurationError, match="not a regular file"):
        route(pipe)
    with pytest.raises(SourceError, match="not a regular file"):
        with_local_contexts(pipe, {}, pipe)


@pytest.mark.parametrize("name", ["g.db", "g.ttl"])
async def test_a_pipe_that_takes_the_place_of_a_served_graph_stops_nothing(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    if name == "g.db":
        await load_graph(SqliteSettings(path=path), [NodeRecord("urn:a", "T", {"name": "one"})])
    else:
        path.write_text("<urn:a> a <urn:T> .", "utf-8")
    with serving("--path", str(path)) as served:
        async with asyncio.timeout(60), Client(f"{served.url}/mcp") as client:
            before = await client.call_tool("describe_entity", {"id": "urn:a"})
            os.mkfifo(pipe := tmp_path / "pipe")
            pipe.replace(path)
            for _ in range(3):
                assert await client.call_tool("describe_entity", {"id": "urn:a"}) == before
        assert await asyncio.to_thread(served.stop) == 0
    assert any("the previous one is still served" in line for line in served.log)
