"""Several graphs behind one server: what is wrong with one is neither felt nor read in another."""

import asyncio
import json
import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from bfsql.models import EdgeRecord, GraphRecord, NodeRecord
from bfsql_postgres import PostgresSettings
from bfsql_postgres.load.loader import load_graph as load_postgres
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.clients import PATIENCE, Raw, until
from bfsql_test_support.raw_mcp import INITIALIZE
from bfsql_test_support.servers.serve_process import Served, exploring, serving

pytestmark = pytest.mark.slow

FILMS: list[GraphRecord] = [
    NodeRecord("x:1", "Person", {"name": "Ripley", "age": 30}),
    NodeRecord("x:2", "Film", {"name": "Alien", "year": 1979}),
    EdgeRecord("x:1", "ACTED_IN", "x:2", {"role": "herself"}),
]
LAB: list[GraphRecord] = [
    NodeRecord("x:1", "Potion", {"name": "Zaubertrank", "colour": "Ultramarin"}),
    NodeRecord("x:2", "Kettle", {"name": "Hexenkessel"}),
    EdgeRecord("x:1", "BREWED_IN", "x:2", {"role": "Geheimrolle"}),
]
MARKS = ("Potion", "Zaubertrank", "colour", "Ultramarin", "Kettle", "Hexenkessel", "BREWED_IN")
MARKS += ("Geheimrolle",)
"""What only the graph of the laboratory has."""

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_schema", {}),
    ("describe_schema", {"seeds": ["x:1"]}),
    ("search_entities", {"query": "e"}),
    ("bfs_query", {"seeds": ["x:1"]}),
    ("bfs_query", {"seeds": ["x:1"], "topology_only": True}),
    ("describe_entity", {"id": "x:1"}),
    ("describe_entities", {"ids": ["x:1", "x:2"]}),
    ("intersect_subgraphs", {"seeds": ["x:1", "x:2"]}),
    ("bfs_query", {"seeds": ["x:1"], "max_hops": 99}),
]
READ = ["schema", "outline", "context", "entities?q=e", "entities/x:1", "entities/x:1/relations"]
READ += ["entities?type=Film", "relation?subject=x:1&predicate=ACTED_IN&object=x:2", "openapi.json"]

FILE = """
[graphs.films]
path = "films.db"
{limits}
[graphs.lab]
backend = "postgres"
dsn_file = "dsn.txt"
[graphs.late]
backend = "sqlite"
path = "late.db"
[graphs.wrong]
backend = "postgres"
pool_size = "many"
"""


@pytest.fixture
async def folder(tmp_path: Path, postgres: Any) -> AsyncIterator[Path]:
    """The file of four graphs: embedded, Postgres, one that is not there, one of wrong settings."""
    async with postgres.database() as database:
        await load_graph(SqliteSettings(path=tmp_path / "films.db"), FILMS)
        await load_postgres(PostgresSettings(dsn=database.owner_url), LAB)
        (tmp_path / "dsn.txt").write_text(database.reader_url)
        (tmp_path / "graphs.toml").write_text(FILE.format(limits=""))
        yield tmp_path


async def told(base: str, mcp: str) -> list[Any]:
    """The bytes of many answers of a graph, by the web API and MCP, without the server's name."""
    found: list[Any] = []
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        for path in READ:
            answer = await http.get(f"{base}/{path}")
            found.append((path, answer.status_code, answer.content, answer.headers.get("etag")))
    for mode in ("auto", "legacy"):
        async with Client(mcp, mode=mode, read_timeout_seconds=PATIENCE) as client:
            found.append((await client.list_tools()).model_dump_json(exclude={"meta"}))
            for tool, arguments in CALLS:
                found.append(
                    (await client.call_tool(tool, arguments)).model_dump_json(exclude={"meta"})
                )
    return found


async def of_graph(served: Served, name: str) -> list[Any]:
    return await told(f"{served.url}/graphs/{name}", f"{served.url}/mcp/{name}")


async def states(served: Served) -> dict[str, bool]:
    async with httpx2.AsyncClient(timeout=PATIENCE) as http:
        listed = (await http.get(f"{served.url}/graphs")).json()["graphs"]
    return {one["name"]: one["open"] for one in listed}


async def test_graphs_answer_as_alone_beside_broken_ones_and_after_a_reload(folder: Path) -> None:
    alone = {}
    dsn = ("--backend", "postgres", "--dsn-file", str(folder / "dsn.txt"))
    for name, options in {"films": ("--path", str(folder / "films.db")), "lab": dsn}.items():
        with serving("--rest", *options) as served:
            alone[name] = await told(served.url, f"{served.url}/mcp")
    given = ("--rest", "--config", str(folder / "graphs.toml"), "--admin-port", "0")
    with serving(*given, "--log-level", "info") as served:
        assert await states(served) == {"films": True, "lab": True, "late": False, "wrong": False}
        both = await asyncio.gather(of_graph(served, "films"), of_graph(served, "lab"))
        assert dict(zip(alone, both, strict=True)) == alone
        async with Client(f"{served.url}/mcp/late", read_timeout_seconds=PATIENCE) as client:
            assert (await client.call_tool("describe_schema", {})).is_error
        assert any("graph=late" in line and "There is no graph at" in line for line in served.log)
        assert any("graph=wrong" in line and "pool_size" in line for line in served.log)
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            ready = (await http.get(f"{served.admin}/readyz")).json()
            assert ready["ready"]
            assert {line.partition(":")[0] for line in ready["reasons"]} == {"late", "wrong"}
            metrics = (await http.get(f"{served.admin}/metrics")).text
        assert 'bfsql_calls_total{graph="films",outcome="ok",tool="bfs_query"}' in metrics
        assert 'bfsql_breaker{graph="lab",state="closed"} 1.0' in metrics
        assert not (unnamed := [line for line in metrics.splitlines() if 'graph=""' in line]), (
            unnamed
        )
        assert all(" graph=" in line for line in served.log if "bfsql.calls" in line)
        # A file that appears is served; a limit that changes reopens its graph alone.
        shutil.copy(folder / "films.db", folder / "late.new")
        (folder / "late.new").rename(folder / "late.db")
        (folder / "graphs.toml").write_text(FILE.format(limits="limits.deadline = 59"))
        before = len(served.log)
        served.send(signal.SIGHUP)

        def reopened() -> set[str]:
            lines = [line for line in served.log[before:] if "The graph was reopened" in line]
            return {line.rpartition("graph=")[2] for line in lines}

        await until(lambda: "films" in reopened())
        assert "lab" not in reopened()
        assert await of_graph(served, "lab") == alone["lab"]
        assert await of_graph(served, "films") == alone["films"]

        async def late() -> bool:
            async with Client(f"{served.url}/mcp/late", read_timeout_seconds=PATIENCE) as client:
                return not (await client.call_tool("describe_schema", {})).is_error

        await until(late)
        assert await of_graph(served, "late") == alone["films"]
        # A file that cannot be read leaves all as they are.
        (folder / "graphs.toml").write_text("[graphs")
        served.send(signal.SIGHUP)
        await until(lambda: any("cannot be used" in line for line in served.log))
        assert await of_graph(served, "lab") == alone["lab"]


def ways(name: str, other: str) -> list[tuple[str, str, Any]]:
    """Requests to one graph by which something of another could be read."""
    at, away = f"/graphs/{name}", f"/graphs/{other}"
    bodies: list[tuple[str, Any]] = [
        ("entities/batch", {"ids": ["x:1", "x:2"], "metadata": True}),
        ("relations/batch", {"ids": ["x:1", "x:2"]}),
        ("relations/batch", {"relations": [["x:1", "BREWED_I", "x:2"]], "keys": ["role"]}),
        ("verify", {"text": "x:1 -BREWD-> x:2"}),
        ("tools/search_entities", {"query": "Zaubertrnk"}),
        ("tools/search_entities", {"query": "a", "node_types": ["Poton"]}),
        ("tools/describe_entity", {"id": "Hexenkesel"}),
        ("tools/bfs_query", {"seeds": ["x:1"], "predicates": ["BREWD_IN"]}),
        ("tools/bfs_query", {"seeds": ["Poton:*"]}),
        ("tools/bfs_query", {"seeds": ["x:1"], "where": "color=1", "fields": ["color"]}),
        ("tools/bfs_query", {"seeds": ["x:1"], "facets": ["entity_type"], "limit": 0}),
        *((f"tools/{tool}", arguments) for tool, arguments in CALLS),
    ]
    paths = [
        *(f"{at}/{path}" for path in (*READ, "", "docs", "entities/x:1/provenance", "recorded")),
        *(f"{at}/entities?q={word}" for word in ("Zaubertran", "Hexenkesse", "x:1")),
        f"{at}/..{away}/schema",
        f"{at}/../{other}/schema",
        f"{at}/%2e%2e/{other}/schema",
        f"{at}%2F..%2F{other}/schema",
        f"{at}//graphs/{other}/schema",
        f"{at}/{other}/schema",
        f"{at};{other}/schema",
        f"{at}/schema?graph={other}&graph_name={other}",
        f"/graphs/{name}%00{other}/schema",
        f"/mcp/{name}/../{other}",
        "/",
        "/graphs",
        "/graphs/",
        "/schema",
        "/mcp",
    ]
    posts = [("POST", f"{at}/{path}", body) for path, body in bodies]
    return [("GET", path, None) for path in paths] + posts


async def answered(served: Served, name: str, other: str) -> dict[str, str]:
    """What a client of one graph reads, by the request."""
    found: dict[str, str] = {}
    host, port = served.url.removeprefix("http://").split(":")
    for method, path, body in ways(name, other):
        text = "" if body is None else json.dumps(body)
        reader, writer = await asyncio.open_connection(host, int(port))  # which no client rewrites
        head = f"{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n"
        head += f"X-Original-URL: /graphs/{other}/schema\r\nX-Forwarded-Prefix: /graphs/{other}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n"
        writer.write((head + text).encode())
        found[f"{method} {path} {text}"] = (await reader.read()).decode("utf-8", "replace")
        writer.close()
    async with AsyncExitStack() as stack:
        mine, theirs = [await stack.enter_async_context(Raw(served)) for _ in range(2)]
        mine.url, theirs.url = f"{served.url}/mcp/{name}", f"{served.url}/mcp/{other}"
        session, stolen = await mine.open(), await theirs.open()
        for number, (tool, arguments) in enumerate(CALLS, 1):
            call = {"name": tool, "arguments": arguments}
            found[f"MCP {tool} {arguments}"] = (
                await mine.post(session, number, "tools/call", call)
            ).text
        for method, params in (("tools/list", {}), ("tools/call", {"name": CALLS[0][0]})):
            found[f"MCP {method}"] = (await mine.post(session, 90, method, params)).text
            answer = await mine.post(stolen, 91, method, params)
            assert answer.status_code == 404, answer.text
            found[f"MCP {method} in the session of another"] = answer.text
        tag = (await mine.http.get(f"{served.url}/graphs/{other}/schema")).headers["etag"]
        own = await mine.http.get(
            f"{served.url}/graphs/{name}/schema", headers={"If-None-Match": tag}
        )
        found["a copy of another"] = f"{own.status_code} {own.text}"
        assert own.status_code == 200
    return found


async def test_no_way_leads_from_one_graph_into_another(folder: Path) -> None:
    """Attack: a client of one graph reads another by path, session, cache, search or error."""
    recorded = folder / "calls.jsonl"
    given = ("--rest", "--config", str(folder / "graphs.toml"), "--admin-port", "0")
    with serving(*given, "--record", str(recorded), "--log-level", "info") as served:
        of_lab = await answered(served, "lab", "films")
        of_films = await answered(served, "films", "lab")  # the caches hold what the lab has
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            of_films["metrics"] = (await http.get(f"{served.admin}/metrics")).text
    of_films["log"] = "\n".join(served.log)
    replay = ("--config", str(folder / "graphs.toml"), "--graph-name", "films")
    with exploring(*replay, "--replay", str(recorded)) as page:
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            of_films["recording"] = (await http.get(f"{page.url}/recorded")).text
    assert '"tool":"bfs_query"' in of_films["recording"]
    leaks = [(way, mark) for way, text in of_films.items() for mark in MARKS if mark in text]
    assert not leaks
    assert len(of_films) >= 30
    assert sum(any(mark in text for mark in MARKS) for text in of_lab.values()) >= 30


async def test_two_hundred_graphs_are_served_and_a_token_is_for_all(tmp_path: Path) -> None:
    await load_graph(SqliteSettings(path=tmp_path / "films.db"), FILMS)
    tables = [f'[graphs.g{number}]\npath = "films.db"' for number in range(200)]
    (tmp_path / "graphs.toml").write_text("\n".join(tables))
    (tmp_path / "token").write_text("secret")
    options = ("--config", str(tmp_path / "graphs.toml"), "--bearer-token-file")
    with serving(*options, str(tmp_path / "token")) as served:
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            for path in ("/graphs", "/mcp", "/mcp/g199"):
                refused = await http.get(f"{served.url}{path}")
                assert refused.status_code == 401
                assert "g199" not in refused.text
            http.headers["Authorization"] = "Bearer secret"
            assert len((await http.get(f"{served.url}/graphs")).json()["graphs"]) == 200
            several = await http.post(f"{served.url}/mcp")
            assert (several.status_code, "g0, g1" in several.text) == (404, True)
            foreign = await http.get(f"{served.url}/graphs", headers={"Host": "evil.example"})
            assert foreign.status_code == 421
            http.headers |= {"Accept": "application/json, text/event-stream"}
            hello = await http.post(f"{served.url}/mcp/g199", json=INITIALIZE)
            assert '"name":"g199"' in hello.text
