"""The API's OpenAPI description holds for all of its answers."""

import asyncio
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks
from schemathesis.core.result import Ok

from bfsql.graph import open_graph
from bfsql.memory import MemoryBackend
from bfsql.models import GraphRecord
from bfsql.rest import application
from bfsql.rest.routes import ROUTES
from bfsql.serving.address import bind, url
from bfsql.settings import ServeSettings

pytestmark = pytest.mark.slow


EXAMPLES = 15
"""Requests tried for each operation."""


@pytest.fixture
def address(records: list[GraphRecord]) -> Iterator[str]:
    """The web API over the records, in a thread, since its client is not async."""
    listening = bind("127.0.0.1", 0)
    server: list[uvicorn.Server] = []

    async def serve() -> None:
        async with open_graph(MemoryBackend(records), hooks=()) as graph:
            app = application(graph, ServeSettings(rest=True))
            config = uvicorn.Config(app, log_config=None, lifespan="off", ws="none")
            server.append(uvicorn.Server(config))
            await server[0].serve(sockets=[listening])

    serving = threading.Thread(target=lambda: asyncio.run(serve()))
    serving.start()
    yield url(listening, "")
    server[0].should_exit = True
    serving.join()


KNOWN: dict[str, Any] = {
    "id": "film:1",
    "ids": ["film:1", "person:2"],
    "seeds": ["person:1", "person:2"],
    "subject": "person:1",
    "predicate": "ACTED_IN",
    "object": "film:1",
    "q": "tom",
    "query": "tom",
    "relations": [["person:1", "ACTED_IN", "film:1"]],
    "max_hops": 1,
    "path": ["-ACTED_IN->"],
    "to": ["film:1"],
    "show": "all",
    "count_distinct": 0,
    "where": ["year>1990"],
    "sort_by": "degree",
    "fields": ["name"],
    "max_tokens": 0,
}
"""Values that exist in the graph; generated values would not match them."""

LEAST = {"id", "ids", "seeds", "query", "max_hops", "relations", "k"}
"""Arguments that are enough for every tool to answer."""

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


@pytest.mark.parametrize("mode", GenerationMode)
def test_no_request_has_an_answer_that_is_not_described(address, mode):
    described = schemathesis.openapi.from_url(f"{address}/openapi.json")
    operations = [found.ok() for found in described.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == len(ROUTES) + 5, "six tools are one route"
    if mode is GenerationMode.NEGATIVE:  # without arguments, no request is invalid
        operations = [one for one in operations if len(one.query) or len(one.body)]
    statuses: dict[str, set[int]] = {operation.label: set() for operation in operations}
    with requests.Session() as session:
        for operation in operations:

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(
                case=operation.as_strategy(generation_mode=mode),
                known=st.booleans(),
                least=st.booleans(),
            )
            def holds(case: schemathesis.Case[Any], known: bool, least: bool) -> None:
                if known:
                    name_what_there_is(case)
                if known and least:
                    leave_out_what_may_be(case)
                answer = case.call_and_validate(session=session, checks=CHECKS)
                statuses[case.operation.label].add(answer.status_code)

            holds()
    due = 200 if mode is GenerationMode.POSITIVE else 400
    assert [label for label, seen in statuses.items() if due not in seen] == []


def name_what_there_is(case: schemathesis.Case[Any]) -> None:
    """Replace generated values by values from the graph."""
    for given_ in (case.path_parameters, case.query, case.body):
        if isinstance(given_, dict):
            given_.update({name: KNOWN[name] for name in given_ if name in KNOWN})


def leave_out_what_may_be(case: schemathesis.Case[Any]) -> None:
    """Keep only the arguments in `LEAST`: other generated ones may exclude one another."""
    if isinstance(case.body, dict):
        case.body = {name: case.body[name] for name in case.body if name in LEAST}
        if case.operation.label.endswith("bfs_query"):  # the request may have had a path instead
            case.body["max_hops"] = KNOWN["max_hops"]


async def test_every_route_is_described_and_every_description_a_route(web):
    described = (await web.get("/openapi.json")).json()
    told = {(verb.upper(), path) for path, verbs in described["paths"].items() for verb in verbs}
    tools = {one for one in told if one[1].startswith("/tools/")}
    assert len(tools) == 6
    there = {(route.method, route.path) for route in ROUTES}
    assert (told - tools) | {("POST", "/tools/{name}")} == there
    assert described["openapi"] == "3.1.0"
    assert "security" not in described


async def test_the_page_names_every_route_and_loads_nothing(served):
    web = await served()
    page = await web.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    assert [
        route.path for route in ROUTES if "{name}" not in route.path if route.path not in page.text
    ] == []
    loads: list[Any] = re.findall(r"<(?:script|link|img|iframe)|@import|url\(", page.text)
    assert loads == []
    links = set(re.findall(r'href="([^"]*)"', page.text))
    assert {link for link in links if not link.startswith("#")} == {"openapi.json"}
    places = re.findall(r'id="([^"]*)"', page.text)
    assert links - {"openapi.json"} <= {f"#{place}" for place in places}
    assert len(set(places)) == len(places)
