"""Roles over HTTP: nobody reads what a role hides, by whatever way."""

import json
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from bfsql.models import EdgeRecord, EvidenceRecord, GraphRecord, NodeRecord
from bfsql.serving.tokens import new_token, token_line
from bfsql_sqlite import SqliteSettings, load_graph
from bfsql_test_support.clients import PATIENCE, until
from bfsql_test_support.servers.serve_process import Served, serving

pytestmark = pytest.mark.slow

RECORDS: list[GraphRecord] = [
    NodeRecord("x:1", "Person", {"name": "Ripley", "email": "Geheimpost", "age": 30}),
    NodeRecord("x:2", "Patient", {"name": "Zaubertrank", "station": "Ultramarin"}),
    NodeRecord("x:3", "Paper", {"name": "Hexenkessel", "embargo": "2999-01-01"}),
    NodeRecord("x:4", "Paper", {"name": "Alien", "embargo": "2001-01-01"}),
    EdgeRecord("x:1", "TREATS", "x:2", {"dose": "Geheimdosis"}),
    EdgeRecord("x:1", "WROTE", "x:3", {}),
    EdgeRecord("x:1", "WROTE", "x:4", {"note": "plain"}),
    EdgeRecord("x:1", "DENIES", "x:4", {"motive": "Geheimgrund"}),
    EvidenceRecord("x:1", "TREATS", "x:2", {"text_span": "Geheimbeleg", "document_id": "d"}),
]
MARKS = ("Geheimpost", "email", "Patient", "Zaubertrank", "station", "Ultramarin", "Hexenkessel")
MARKS += (
    "TREATS",
    "dose",
    "Geheimdosis",
    "DENIES",
    "motive",
    "Geheimgrund",
    "Geheimbeleg",
    "2999-01",
)
FILE = """
bearer_tokens = "tokens.txt"
log_level = "info"
[graphs.films]
path = "films.db"
[graphs.lab]
path = "films.db"
[roles.reader]
tokens = ["ann"]
graphs = ["films"]
{tools}
hide_types = ["patient", "Papr"]
hide_predicates = ["DENIES"]
hide_properties = ["Email"]
hide = ["Paper[embargo>=today]"]
[roles.all]
tokens = ["bob"]
"""
TOKENS = {name: new_token() for name in ("ann", "bob", "eve")}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("describe_schema", {}),
    ("describe_schema", {"seeds": ["x:1"]}),
    ("search_entities", {"query": "Zaubertrnk"}),
    ("search_entities", {"query": "Hexenkesse"}),
    ("search_entities", {"query": "x:"}),
    ("search_entities", {"query": "Geheimpos"}),
    ("search_entities", {"query": "a", "node_types": ["Patent"]}),
    ("bfs_query", {"seeds": ["x:1"], "max_hops": 3}),
    ("bfs_query", {"seeds": ["x:1"], "topology_only": True}),
    ("bfs_query", {"seeds": ["x:1"], "path": ["-TREAT->"]}),
    ("bfs_query", {"seeds": ["x:1"], "facets": ["emai", "entity_type"], "sort_by": "-degree"}),
    ("bfs_query", {"seeds": ["x:1"], "where": ["emai~Geheim"], "fields": ["emai"]}),
    ("bfs_query", {"seeds": ["Paten:*"]}),
    ("bfs_query", {"seeds": ["*[embargo>=2002]"]}),
    ("bfs_query", {"seeds": ["x:2"]}),
    ("bfs_query", {"seeds": ["x:1"], "to": ["x:3"]}),
    ("bfs_query", {"seeds": ["*:*"], "measure": ["count 0"], "path": ["--"], "show": "walks"}),
    ("describe_entity", {"id": "x:1"}),
    ("describe_entity", {"id": "x:2"}),
    ("describe_entity", {"id": "Hexenkesse"}),
    ("describe_entities", {"ids": ["x:1", "x:2", "x:3", "x:4"]}),
    ("intersect_subgraphs", {"seeds": ["x:1", "x:4"], "connect": True}),
]
PATHS = [
    *(
        "schema",
        "outline",
        "context",
        "openapi.json",
        "docs",
        "entities?q=x",
        "entities?type=Paper",
    ),
    *("entities/x:1", "entities/x:2", "entities/x:3", "entities/x:1/relations", "entities?limit=9"),
    *("entities/x:1/provenance", "entities/x:2/provenance", "entities/x:2/relations"),
    "entities?type=Paper&where=embargo%3E2002",
    "relation?subject=x:1&predicate=TREAT&object=x:2",
    "../lab/schema",
]
BODIES: list[tuple[str, Any]] = [
    ("entities/batch", {"ids": ["x:1", "x:2", "x:3"], "metadata": True}),
    ("entities/batch", {"ids": ["x:1"], "metadata": True, "keys": ["emai", "name"]}),
    ("relations/batch", {"ids": ["x:1", "x:2", "x:3"]}),
    ("relations/batch", {"relations": [["x:1", "WROTE", "x:3"], ["x:1", "WROTE", "x:4"]]}),
    ("verify", {"text": "x:1 -TREAT-> x:2\nx:1 -WROTE-> x:3\nRipley -WROTE-> Alien"}),
]


def bearer(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[name]}"}


async def read(served: Served, name: str) -> dict[str, str]:
    """What a caller reads, by the request."""
    found: dict[str, str] = {}
    at = f"{served.url}/graphs/films"
    async with httpx2.AsyncClient(timeout=PATIENCE, headers=bearer(name)) as http:
        for path in PATHS:
            found[path] = (await http.get(f"{at}/{path}")).text
        for path, body in [*BODIES, *((f"tools/{tool}", own) for tool, own in CALLS)]:
            found[f"{path} {json.dumps(body)}"] = (await http.post(f"{at}/{path}", json=body)).text
        transport = streamable_http_client(f"{served.url}/mcp/films", http_client=http)
        async with Client(transport, read_timeout_seconds=PATIENCE) as client:
            found["tools"] = (await client.list_tools()).model_dump_json()
            for tool, own in CALLS:
                found[f"MCP {tool} {own}"] = (await client.call_tool(tool, own)).model_dump_json()
            for uri in ("bfsql://schema", "skill://ask-this-graph/SKILL.md", "bfsql://entity/x:1"):
                try:
                    found[uri] = (await client.read_resource(uri)).model_dump_json()
                except Exception as error:  # noqa: BLE001 - its text is what is read
                    found[uri] = str(error)
    return found


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    await load_graph(SqliteSettings(path=tmp_path / "films.db"), RECORDS)
    lines = [token_line(name, token) for name, token in TOKENS.items()]
    (tmp_path / "tokens.txt").write_text("\n".join(lines))
    (tmp_path / "bfsql.toml").write_text(FILE.format(tools=""))
    return tmp_path


async def test_nothing_that_a_role_hides_is_read_by_any_way(folder: Path) -> None:
    """Attack: a caller reads what its role hides, by tools, web API, MCP, errors or the cache."""
    recorded = folder / "calls.jsonl"
    options = ("--rest", "--config", str(folder / "bfsql.toml"), "--admin-port", "0")
    with serving(*options, "--record", str(recorded)) as served:
        of_bob = await read(served, "bob")  # the cache holds all
        start = recorded.stat().st_size
        of_ann = await read(served, "ann")
        of_ann["recording"] = recorded.read_text()[start:]
        async with httpx2.AsyncClient(timeout=PATIENCE) as http:
            of_ann["metrics"] = (await http.get(f"{served.admin}/metrics")).text
            for caller, path, status in (
                ("ann", "graphs/lab/schema", 403),
                ("ann", "mcp/lab", 403),
                ("eve", "graphs/films/schema", 403),
                ("eve", "mcp/films", 403),
                ("bob", "graphs/lab/schema", 200),
            ):
                got = await http.get(f"{served.url}/{path}", headers=bearer(caller))
                assert got.status_code == status, (caller, path, got.text)
            for caller, names in (("ann", ["films"]), ("bob", ["films", "lab"]), ("eve", [])):
                listed = (await http.get(f"{served.url}/graphs", headers=bearer(caller))).json()
                assert [one["name"] for one in listed["graphs"]] == names
        calls = [line for line in served.log if "bfsql.calls" in line and "subject=ann" in line]
        assert calls
        assert [line for line in served.log if "reader hides Papr, which" in line]
        assert all("role=reader" in line and "graph=films" in line for line in calls)
        # A role that changes while a session is open: the next call has the new one.
        (folder / "bfsql.toml").write_text(FILE.format(tools='tools = ["search_entities"]'))
        served.send(signal.SIGHUP)
        url = f"{served.url}/graphs/films/tools/bfs_query"

        async def refused() -> bool:
            async with httpx2.AsyncClient(timeout=PATIENCE, headers=bearer("ann")) as http:
                answer = await http.post(url, json={"seeds": ["x:1"]})
                return answer.status_code == 403 and "search_entities" in answer.text

        await until(refused)
        of_ann["tools later"] = (await read(served, "ann"))["tools"]
    assert len(of_ann) >= 60
    leaks = [(way, mark) for way, text in of_ann.items() for mark in MARKS if mark in text]
    assert not leaks, leaks[:20]
    assert "x:4" in of_ann["entities?type=Paper"]
    assert "Alien" in of_ann["recording"]
    assert '"bfs_query"' not in of_ann["tools later"]
    assert sum(any(mark in text for mark in MARKS) for text in of_bob.values()) >= 30
