"""A FIFO in place of a file is refused at once: opening it would wait, for ever, for its writer."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
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


@pytest.mark.skipif(not Path("/proc").exists(), reason="this system has no /proc")
@pytest.mark.parametrize("several", [False, True])
def test_a_secret_and_a_configuration_from_pipes_are_read_once(
    tmp_path: Path, films_db: Path, several: bool
) -> None:
    graph = f'backend = "sqlite"\npath = "{films_db}"\n'
    tables = "".join(f"[graphs.{name}]\n{graph}" for name in ("one", "two"))
    config = tables if several else f'[backend]\nname = "sqlite"\npath = "{films_db}"\n'
    token = "0123456789abcdef" * 2
    with filled_pipe(token) as secret, filled_pipe(config) as file:
        options = ("--rest", "--bearer-token-file", secret, "--config", file)
        with serving(*options) as served:
            url = f"{served.url}/graphs/two/schema" if several else f"{served.url}/schema"
            assert httpx2.get(url).status_code == 401
            known = httpx2.get(url, headers={"Authorization": f"Bearer {token}"})
    assert known.json()["node_counts"]["Movie"] == 103


@contextmanager
def filled_pipe(text: str) -> Iterator[str]:
    """The path of a pipe that has a text, as a shell makes it for `<(command)`."""
    reading, writing = os.pipe()
    try:
        os.write(writing, text.encode())
        os.close(writing)
        yield f"/proc/{os.getpid()}/fd/{reading}"  # for another process
    finally:
        os.close(reading)
