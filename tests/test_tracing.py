"""Traces of instrumented servers, as a collector receives them: MCP, the web API, stores."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
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

from bfsql_test_support.servers.port import HOST
from bfsql_test_support.servers.stub import Asked, Said, answering

SECONDS = 60
NAME = "Tom Hanks"
PROGRAMS = Path(sys.executable).parent
LOGGED = ("--log-level", "info", "--log-format", "json")
CHECK_IMPORTS = """
import atexit, sys
def check():
    found = [name for name in sys.modules if name.startswith("opentelemetry.sdk")]
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

    def env(self, service: str, **more: str) -> dict[str, str]:
        """The environment of a server that exports its spans alone to this collector."""
        wanted = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_SERVICE_NAME": service,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }
        return {**os.environ, **wanted, **more}


def value_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(one) for one in value.array_value.values]
    return getattr(value, kind) if kind else None


@dataclass(frozen=True)
class Instrumented:
    """A server under `opentelemetry-instrument`, with its log."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    def line_of(self, wanted: str) -> dict[str, Any]:
        """The first line of the log that contains a text."""
        end = time.monotonic() + SECONDS
        while not (found := [line for line in self.lines() if wanted in line]):
            assert time.monotonic() < end, self.lines()
            time.sleep(0.05)
        return json.loads(found[0])

    def lines(self) -> list[str]:
        return self.log.read_text("utf-8").splitlines()


@contextmanager
def instrumented(log: Path, env: Mapping[str, str], *options: str) -> Iterator[Instrumented]:
    command = [str(PROGRAMS / "opentelemetry-instrument"), str(PROGRAMS / "bfsql"), "serve"]
    command += ["--transport", "http", "--port", "0", *options]
    with ExitStack() as until_ended:
        written = until_ended.enter_context(log.open("w", encoding="utf-8"))
        process = subprocess.Popen(command, stderr=written, env=dict(env), text=True)
        until_ended.callback(process.wait)
        until_ended.callback(process.kill)
        end = time.monotonic() + SECONDS
        while " at http" not in (text := log.read_text("utf-8")):
            assert process.poll() is None, text
            assert time.monotonic() < end, text
            time.sleep(0.05)
        url = text.split(" at ")[1].split()[0].rstrip("/").removesuffix("/mcp")
        yield Instrumented(url, process, log)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    with answering(made.respond) as made.url:
        yield made


@pytest.fixture(scope="module")
def store(
    films_db: Path, collector: Collector, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instrumented]:
    """The web API, which is the store of the other server."""
    log = tmp_path_factory.mktemp("store") / "log"
    options = ("--rest", "--path", str(films_db), *LOGGED)
    with instrumented(log, collector.env("store"), *options) as served:
        yield served


@pytest.fixture(scope="module")
def server(
    store: Instrumented, collector: Collector, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Instrumented]:
    """MCP over HTTP, over a store that is another server."""
    log = tmp_path_factory.mktemp("server") / "log"
    options = ("--backend", "jsonld", "--base-url", store.url, "--cache-records", "0", *LOGGED)
    with instrumented(log, collector.env("server"), *options) as served:
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


async def call_tool(
    url: str, tool: str, arguments: dict[str, Any], *, era: str = "auto", **headers: str
) -> mcp.types.CallToolResult:
    """Call a tool over HTTP."""
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with mcp.Client(transport, mode=era) as client:
            return await client.call_tool(tool, arguments)


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("carrier", ["message", "header"])
def test_a_call_continues_the_trace_of_its_client_and_its_store_continues_it(
    server: Instrumented, store: Instrumented, collector: Collector, era: str, carrier: str
) -> None:
    client = Client()
    arguments = {"seeds": NAME, "max_hops": 1}
    if carrier == "message":
        with client:
            result = asyncio.run(call_tool(server.url, "bfs_query", arguments, era=era))
    else:
        header = {"traceparent": client.header}
        result = asyncio.run(call_tool(server.url, "bfs_query", arguments, era=era, **header))
    assert not result.is_error

    def mine(service: str, name: str = "") -> Callable[[Span], bool]:
        return lambda s: (s.trace, s.service) == (client.trace, service) and s.name.startswith(name)

    call = collector.wait_for(mine("server", "tools/call bfs_query"))
    assert call.attributes["bfsql.outcome"] == "ok"
    assert call.attributes["bfsql.answer.nodes"] > 5
    assert call.attributes["bfsql.edges"] >= call.attributes["bfsql.answer.edges"] > 5
    read = collector.wait_for(lambda s: mine("server")(s) and "db.operation.name" in s.attributes)
    assert read.parent == call.id
    assert not read.failed
    route = collector.wait_for(lambda s: mine("store")(s) and s.parent == call.id)
    assert route.name.split()[1] in {"/entities", "/entities/batch", "/relations/batch"}
    for served in (server, store):
        line = served.line_of(client.trace)
        assert line["trace_id"] == client.trace
        assert line["id"] == call.attributes["bfsql.request_id"]


def test_a_call_that_fails_says_why_in_its_span_without_values(
    server: Instrumented, collector: Collector
) -> None:
    with Client() as client:
        asyncio.run(call_tool(server.url, "describe_entity", {"id": "secret of nobody"}))
    span = collector.wait_for(lambda s: s.trace == client.trace and "describe_entity" in s.name)
    assert span.failed
    assert span.attributes["bfsql.outcome"] == "unknown_entity"
    own = [s for s in collector.spans() if s.trace == client.trace and s.service == "server"]
    assert not [s for s in own if "secret" in str(s)]


def test_a_store_gets_the_trace_but_not_the_baggage_of_a_client(
    collector: Collector, tmp_path: Path
) -> None:
    options = ("--backend", "jsonld", "--base-url", collector.url, "--retries", "0")
    options = (*options, "--schema-path", "")
    client = Client()
    with instrumented(tmp_path / "log", collector.env("of a bare store"), *options) as served:
        collector.headers.clear()
        headers = {"traceparent": client.header, "tracestate": "a=b", "baggage": "user=alice"}
        asyncio.run(call_tool(served.url, "describe_entity", {"id": "x"}, **headers))
    sent = [seen for seen in collector.headers if client.trace in seen.get("traceparent", "")]
    assert sent
    assert {seen["tracestate"] for seen in sent} == {"a=b"}
    assert not [seen for seen in sent if "baggage" in seen]
    assert all(seen["x-request-id"] for seen in sent)


async def over_stdio(command: list[str], env: Mapping[str, str], errors: Path) -> None:
    """Call a tool of a server on stdio; its standard error goes to the file."""
    parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(env))
    with errors.open("w", encoding="utf-8") as written:
        async with mcp.Client(stdio_client(parameters, errlog=written)) as client:
            await client.call_tool("describe_schema", {})


def test_a_server_on_stdio_sends_its_last_spans_when_it_ends(
    films_db: Path, collector: Collector, tmp_path: Path
) -> None:
    command = [str(PROGRAMS / "opentelemetry-instrument"), str(PROGRAMS / "bfsql"), "serve"]
    env = collector.env("stdio", OTEL_BSP_SCHEDULE_DELAY="600000")
    with Client() as client:
        command += ["--path", str(films_db), *LOGGED]
        asyncio.run(over_stdio(command, env, tmp_path / "log"))
    span = collector.wait_for(lambda s: s.trace == client.trace and "tools/call" in s.name)
    assert (span.parent, span.service) == (client.span, "stdio")
    assert client.trace in (tmp_path / "log").read_text("utf-8")


def test_a_server_that_is_not_instrumented_imports_nothing_of_the_sdk(
    films_db: Path, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", CHECK_IMPORTS, "serve", "--path", str(films_db)]
    asyncio.run(over_stdio(command, os.environ, tmp_path / "log"))
    assert "IMPORTED []" in (tmp_path / "log").read_text("utf-8")


def test_a_collector_that_does_not_answer_does_not_keep_a_server(
    films_db: Path, collector: Collector, tmp_path: Path
) -> None:
    with socket.create_server((HOST, 0)) as silent:
        url = f"http://{HOST}:{silent.getsockname()[1]}"
        more = {"OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        env = collector.env("kept", **more)
        with instrumented(tmp_path / "log", env, "--path", str(films_db)) as served:
            asyncio.run(call_tool(served.url, "describe_schema", {}))
            served.process.terminate()
            assert served.process.wait(SECONDS) == 0
