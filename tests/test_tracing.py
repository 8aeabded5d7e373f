"""Traces of servers, as a collector receives them: MCP over HTTP and stdio, the web API, stores."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from gzip import decompress
from pathlib import Path
from typing import Any, Self

import httpx2
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from bfsql.serving import tracing
from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.serve_process import Served, serving
from bfsql_test_support.servers.stub import Asked, Said, answering

SECONDS = 60
NAME = "Tom Hanks"
LOGGED = ("--log-level", "info", "--log-format", "json")
CHECK_IMPORTS = """
import atexit, sys
def check():
    found = [name for name in sys.modules if name.startswith(PREFIXES)]
    print("IMPORTED", found, file=sys.stderr)
atexit.register(check)
sys.argv[0] = "bfsql"
from bfsql.cli import main
main()
"""


@dataclass(frozen=True)
class Span:
    """A span, as it was received."""

    name: str
    trace: str
    id: str
    parent: str
    service: str
    failed: bool
    attributes: Mapping[str, Any]


@dataclass
class Collector:
    """A receiver of OTLP over HTTP; of other requests it keeps the headers and answers 404."""

    url: str = ""
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def respond(self, asked: Asked) -> Said:
        if asked.method == "GET":
            self.headers.append(asked.headers)
            return Said(404)
        assert asked.headers["content-type"] == "application/x-protobuf"
        assert asked.path == "/v1/traces"
        zipped = asked.headers.get("content-encoding") == "gzip"
        self.bodies.append(decompress(asked.body) if zipped else asked.body)
        return Said()

    def spans(self) -> list[Span]:
        """All spans so far."""
        return [
            Span(
                span.name,
                span.trace_id.hex(),
                span.span_id.hex(),
                span.parent_span_id.hex(),
                {pair.key: pair.value.string_value for pair in part.resource.attributes}[
                    "service.name"
                ],
                span.status.code == span.status.STATUS_CODE_ERROR,
                {pair.key: value_of(pair.value) for pair in span.attributes},
            )
            for body in self.bodies
            for part in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in part.scope_spans
            for span in scope.spans
        ]

    def wait_for(self, wanted: Callable[[Span], Any]) -> Span:
        """The first span that is wanted, once it has arrived."""
        end = time.monotonic() + SECONDS
        while not (found := [span for span in self.spans() if wanted(span)]):
            assert time.monotonic() < end, [span.name for span in self.spans()]
            time.sleep(0.05)
        return found[0]

    def env(self, service: str | None = None, **more: str) -> dict[str, str]:
        """The environment of a server that exports to this collector every 50 ms."""
        named = {} if service is None else {"OTEL_SERVICE_NAME": service}
        wanted = {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
        return {**os.environ, **wanted, **named, **more}


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    with answering(made.respond) as made.url:
        yield made


@pytest.fixture(scope="module")
def store(films_db: Path, collector: Collector) -> Iterator[Served]:
    """The web API, which is the store of the other server."""
    env = collector.env("store")
    with serving("--rest", "--path", str(films_db), *LOGGED, env=env) as served:
        yield served


@pytest.fixture(scope="module")
def server(store: Served, collector: Collector) -> Iterator[Served]:
    """MCP over HTTP, over a store that is another server."""
    env = collector.env("server")
    options = ("--backend", "jsonld", "--base-url", store.url, "--cache-records", "0")
    with serving(*options, *LOGGED, env=env) as served:
        yield served


class Client:
    """A program with a trace of its own, each time another one."""

    def __init__(self) -> None:
        self.trace, self.span = os.urandom(16).hex(), os.urandom(8).hex()
        self.header = f"00-{self.trace}-{self.span}-01"

    def __enter__(self) -> Self:
        flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
        context = trace.SpanContext(
            int(self.trace, 16), int(self.span, 16), is_remote=False, trace_flags=flags
        )
        self._current = trace.use_span(trace.NonRecordingSpan(context))
        self._current.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._current.__exit__(None, None, None)


async def called(
    url: str, tool: str, arguments: dict[str, Any], *, era: str = "auto", **headers: str
) -> mcp.types.CallToolResult:
    """Call a tool over HTTP."""
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with mcp.Client(transport, mode=era) as client:
            return await client.call_tool(tool, arguments)


def line_of(served: Served, wanted: str) -> dict[str, Any]:
    """The first line of the log with this trace id."""
    end = time.monotonic() + SECONDS
    while not (found := [line for line in served.log if wanted in line]):
        assert time.monotonic() < end, served.log
        time.sleep(0.05)
    return json.loads(found[0])


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("carrier", ["message", "header"])
def test_a_call_continues_the_trace_of_its_client_and_its_store_continues_it(
    server: Served, store: Served, collector: Collector, era: str, carrier: str
) -> None:
    client = Client()
    arguments = {"seeds": NAME, "max_hops": 1}
    if carrier == "message":
        with client:
            result = asyncio.run(called(server.url, "bfs_query", arguments, era=era))
    else:
        result = asyncio.run(
            called(server.url, "bfs_query", arguments, era=era, traceparent=client.header)
        )
    assert not result.is_error

    def mine(service: str, name: str = "") -> Callable[[Span], bool]:
        return lambda s: (s.trace, s.service) == (client.trace, service) and s.name.startswith(name)

    call = collector.wait_for(mine("server", "tools/call bfs_query"))
    assert call.parent == client.span
    assert call.attributes["bfsql.outcome"] == "ok"
    assert call.attributes["bfsql.answer.nodes"] > 5
    assert call.attributes["bfsql.edges"] >= call.attributes["bfsql.answer.edges"] > 5
    read = collector.wait_for(lambda s: mine("server")(s) and "db.operation.name" in s.attributes)
    assert read.parent == call.id
    assert not read.failed
    route = collector.wait_for(mine("store", "GET /entities"))
    assert route.parent == call.id
    for served in (server, store):
        line = line_of(served, client.trace)
        assert line["trace_id"] == client.trace
        assert line["id"] == call.attributes["bfsql.request_id"]


def test_a_client_without_a_trace_gets_a_new_one_for_each_call(
    server: Served, collector: Collector
) -> None:
    before = {span.id for span in collector.spans()}

    async def twice() -> None:
        transport = streamable_http_client(f"{server.url}/mcp")
        async with mcp.Client(transport, mode="legacy") as client:
            for _ in range(2):
                await client.call_tool("describe_entity", {"id": "nobody"})

    asyncio.run(twice())

    def new() -> list[Span]:
        return [
            span
            for span in collector.spans()
            if span.id not in before and span.name == "tools/call describe_entity"
        ]

    collector.wait_for(lambda _: len(new()) == 2)
    first, second = new()
    assert first.trace != second.trace
    assert (first.parent, second.parent) == ("", "")
    assert first.failed
    assert first.attributes["bfsql.outcome"] == "unknown_entity"


def test_a_request_of_the_web_api_is_a_span(store: Served, collector: Collector) -> None:
    client, headers = Client(), {}
    headers["traceparent"] = client.header
    found = httpx2.get(f"{store.url}/entities", params={"q": NAME}, headers=headers)
    assert found.status_code == 200
    ran = {"seeds": NAME, "max_hops": 1}
    httpx2.post(f"{store.url}/tools/bfs_query", json=ran, headers=headers).raise_for_status()
    assert httpx2.get(f"{store.url}/nothing", headers=headers).status_code == 404
    found = collector.wait_for(lambda s: s.trace == client.trace and s.name == "GET /entities")
    assert found.parent == client.span
    assert found.attributes["http.route"] == "/entities"
    assert found.attributes["http.request.method"] == "GET"
    assert found.attributes["http.response.status_code"] == 200
    tool = collector.wait_for(lambda s: s.trace == client.trace and s.name == "POST")
    assert tool.attributes["bfsql.answer.nodes"] > 5
    refused = collector.wait_for(lambda s: s.trace == client.trace and s.name == "GET")
    assert refused.attributes["http.response.status_code"] == 404
    assert not refused.failed, "the client's mistake"


def test_values_of_arguments_are_in_no_span(collector: Collector) -> None:
    assert collector.bodies
    assert not [body for body in collector.bodies if NAME.encode() in body]


def test_a_name_that_a_client_chooses_is_bounded(server: Served, collector: Collector) -> None:
    client, long = Client(), "x" * 300_000

    async def named() -> None:
        transport = streamable_http_client(f"{server.url}/mcp")
        async with mcp.Client(transport, mode="legacy") as session:
            await session.call_tool(long, {})
            with pytest.raises(mcp.MCPError):
                await session.get_prompt(long)

    with client:
        asyncio.run(named())
    for method in ("tools/call", "prompts/get"):
        span = collector.wait_for(
            lambda s, method=method: s.trace == client.trace and s.name.startswith(method)
        )
        assert span.name == f"{method} {long}"[:100]
        assert all(len(str(value)) <= 1_000 for value in span.attributes.values())
    assert all(len(body) < 200_000 for body in collector.bodies)


def test_a_store_gets_the_trace_but_not_the_baggage_of_a_client(collector: Collector) -> None:
    options = ("--backend", "jsonld", "--base-url", collector.url, "--retries", "0")
    options = (*options, "--schema-path", "")
    client = Client()
    with serving(*options, env=collector.env("of a bare store")) as served:
        collector.headers.clear()
        headers = {"traceparent": client.header, "tracestate": "a=b", "baggage": "user=alice"}
        asyncio.run(called(served.url, "describe_entity", {"id": "x"}, **headers))
    sent = [seen for seen in collector.headers if client.trace in seen.get("traceparent", "")]
    assert sent
    assert {seen["tracestate"] for seen in sent} == {"a=b"}
    assert not [seen for seen in sent if "baggage" in seen]
    assert all(seen["x-request-id"] for seen in sent)


async def over_stdio(
    command: list[str], env: Mapping[str, str], errors: Path, tool: str = "describe_schema"
) -> None:
    """Call a tool of a server on stdio; its standard error goes to the file."""
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(env))
    with errors.open("w", encoding="utf-8") as written:
        async with mcp.Client(stdio_client(parameters, errlog=written)) as client:
            await client.call_tool(tool, {})


def test_a_server_on_stdio_sends_its_last_spans_when_it_ends(
    films_db: Path, collector: Collector, tmp_path: Path, programs: Path
) -> None:
    command = [str(programs / "bfsql"), "serve", "--path", str(films_db)]
    env = collector.env(OTEL_BSP_SCHEDULE_DELAY="600000", OTEL_RESOURCE_ATTRIBUTES="team=a")
    with Client() as client:
        asyncio.run(over_stdio([*command, *LOGGED], env, tmp_path / "log"))
    span = collector.wait_for(lambda s: s.trace == client.trace and "tools/call" in s.name)
    assert (span.parent, span.service) == (client.span, "bfsql")
    assert client.trace in (tmp_path / "log").read_text("utf-8")


@pytest.mark.parametrize(
    ("variables", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/v1/traces"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_SERVICE_NAME": "graph", "OTEL_TRACES_SAMPLER": "always_on"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "True"}, False),
    ],
)
def test_standard_variables_turn_it_on_and_off(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], wanted: bool
) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert tracing.is_configured() is wanted


def test_without_variables_nothing_of_the_sdk_is_imported(films_db: Path, tmp_path: Path) -> None:
    code = CHECK_IMPORTS.replace("PREFIXES", "('opentelemetry.sdk', 'opentelemetry.exporter')")
    command = [sys.executable, "-c", code, "serve", "--path", str(films_db)]
    asyncio.run(over_stdio(command, os.environ, tmp_path / "log"))
    assert "IMPORTED []" in (tmp_path / "log").read_text("utf-8")


def test_without_variables_the_web_api_does_not_even_import_the_interface(films_db: Path) -> None:
    code = CHECK_IMPORTS.replace("PREFIXES", "('opentelemetry',)")
    command = [sys.executable, "-c", code, "serve", "--rest", "--port", "0"]
    command += ["--transport", "http", "--path", str(films_db)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "BFS-QL answers at" in line)
            url = line.split(" at ")[1].split()[0].rstrip("/")
            httpx2.get(f"{url}/entities", params={"q": NAME}).raise_for_status()
        finally:
            process.terminate()
        assert "IMPORTED []\n" in list(process.stderr)


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "otlp and grpc, but only otlp and http"),
        ({"OTEL_TRACES_EXPORTER": "console"}, "console and http/protobuf, but only otlp"),
        ({"OTEL_BSP_MAX_QUEUE_SIZE": "0"}, "max_queue_size must be a positive integer"),
    ],
)
def test_variables_that_cannot_be_used_are_a_warning(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variables: dict[str, str],
    sentence: str,
) -> None:
    for name, value in {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", **variables}.items():
        monkeypatch.setenv(name, value)
    with tracing.exported_spans():
        [record] = caplog.records
    assert record.levelname == "WARNING"
    assert sentence in record.getMessage()
    assert "No traces are exported" in record.getMessage()


def test_a_server_without_the_extra_says_so_and_answers(films_db: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['opentelemetry.sdk'] = None\n"
    code += "from bfsql.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--path", str(films_db)]
    env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    asyncio.run(over_stdio(command, env, tmp_path / "log"))
    log = (tmp_path / "log").read_text("utf-8")
    assert "No traces are exported. Install: pip install 'bfsql-core[otel]'" in log
    assert "Traceback" not in log


def test_a_collector_that_does_not_answer_does_not_keep_a_server(films_db: Path) -> None:
    with socket.create_server((HOST, 0)) as silent:
        url = f"http://{HOST}:{silent.getsockname()[1]}"
        env = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "50"}
        with serving("--path", str(films_db), env=env) as served:
            asyncio.run(called(served.url, "describe_schema", {}))
            began = time.monotonic()
            assert served.stop() == 0
    assert time.monotonic() - began < 10
