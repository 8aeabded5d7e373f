"""Traces: spans of calls and of what they read, which OpenTelemetry's SDK sends to a collector.

The standard variables `OTEL_*` configure it. Without them, nothing of OpenTelemetry is imported
here. The extra `otel` installs the SDK; the API is a dependency of MCP's SDK.

MCP's SDK makes a span for each message, whose parent is named in the message or else is the current
span; the web API gets a span for each request. The trace of a call (`bfsql.call.Trace`) is part of
its scope, and thus of its log records and of its requests to stores.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from threading import Thread
from typing import TYPE_CHECKING, Any

from bfsql import call
from bfsql.observer import ObservedCall, Observer
from bfsql.plugins.distributions import __version__

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import Span, TracerProvider
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MODULES = (
    "opentelemetry.sdk.trace.export",
    "opentelemetry.exporter.otlp.proto.http.trace_exporter",
)
"""Modules that exporting spans needs, and whose import takes long."""

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORTER = "OTEL_TRACES_EXPORTER"
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_LONGEST = {"name": 100, "attribute": 1_000}
"""Most characters of a span's name and of an attribute, both of which a client may choose."""
_FLUSH_SECONDS = 2.0
"""Time that the last spans have to reach the collector when the server stops."""

log = logging.getLogger("bfsql")


def is_configured() -> bool:
    """Whether the environment names a collector or an exporter of traces."""
    get = os.environ.get
    wanted = any(map(get, (_EXPORTER, *_ENDPOINTS))) and get(_EXPORTER) != "none"
    return wanted and get("OTEL_SDK_DISABLED", "").lower() != "true"


@contextmanager
def exported_spans() -> Iterator[None]:
    """Send spans to the collector while the block runs, if that is configured.

    If it is impossible, the reason is logged.
    """
    provider = None
    if is_configured():
        try:
            provider = _provider()
        except ImportError:
            log.warning("No traces are exported. Install: pip install 'bfsql-core[otel]'")
        except ValueError as error:
            log.warning("No traces are exported, because of a variable OTEL_...: %s", error)
    try:
        yield
    finally:
        if provider is not None:  # which would wait for a collector that does not answer
            flushing = Thread(target=provider.shutdown, daemon=True)
            flushing.start()
            flushing.join(_FLUSH_SECONDS)


def _provider() -> TracerProvider | None:
    """Begin to export; None if the program exports spans already.

    Raises:
        ImportError: The SDK is not installed.
        ValueError: A variable of the environment cannot be used.
    """
    get = os.environ.get
    wanted = get(_EXPORTER) or "otlp", next(filter(None, map(get, _PROTOCOLS)), "http/protobuf")
    if wanted != ("otlp", "http/protobuf"):
        raise ValueError(
            f"{_EXPORTER} and {_PROTOCOLS[1]} are {' and '.join(wanted)}, but only otlp and "
            "http/protobuf are supported. A collector receives these at its own port, often 4318."
        )
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    class Spans(BatchSpanProcessor):
        """Bounds the names of spans; the SDK bounds only attributes."""

        def on_start(self, span: Span, parent_context: Context | None = None) -> None:
            del parent_context
            span.update_name(span.name[: _LONGEST["name"]])

    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return None
    os.environ.setdefault("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", str(_LONGEST["attribute"]))
    own = {"service.name": "bfsql", "service.version": __version__}
    resource = Resource.create({**own, **OTELResourceDetector().detect().attributes})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(Spans(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


class CallSpans(Observer):
    """Makes calls a part of the current trace, and adds a span for each call to the store."""

    def __init__(self) -> None:
        from opentelemetry import propagate, trace

        self._trace, self._propagate = trace, propagate
        self._tracer = trace.get_tracer("bfsql", __version__)

    def call_began(self, seen: ObservedCall) -> None:
        """Give the call the trace of the current span, and the span the route of the web API."""
        span, scope = self._trace.get_current_span(), call.current()
        if scope is None or not span.get_span_context().is_valid:
            return
        headers: dict[str, str] = {}
        self._propagate.inject(headers, _only(span))
        name = self._trace.format_trace_id(span.get_span_context().trace_id)
        scope.trace = call.Trace(name, headers)
        if " " in seen.tool:
            span.update_name(seen.tool)
            span.set_attribute("http.route", seen.tool.partition(" ")[2])

    def call_ended(self, seen: ObservedCall) -> None:
        """Describe the call in the current span, without values of arguments."""
        attributes: dict[str, Any] = {
            "bfsql.request_id": seen.request_id,
            "bfsql.outcome": seen.error or "ok",
            "bfsql.nodes": seen.nodes,
            "bfsql.edges": seen.edges,
            "bfsql.cut": seen.cut,
            **{f"bfsql.answer.{kind}": number for kind, number in seen.rows.items()},
        }
        self._trace.get_current_span().set_attributes(attributes)

    def store_called(self, method: str, seconds: float, *, failed: bool) -> None:
        """Add the span of a call to the store, which has just ended."""
        if (of := call.current_trace()) is None:
            return
        end = time.time_ns()
        span = self._tracer.start_span(
            method,
            _parent(of.headers),
            self._trace.SpanKind.CLIENT,
            {"db.operation.name": method},
            start_time=end - int(seconds * 1e9),
        )
        if failed:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(end)


def traced(app: ASGIApp, *, spans: bool) -> ASGIApp:
    """An application whose requests continue the traces of their clients, if that is configured.

    Args:
        app: The application.
        spans: Whether each request gets a span of its own.
    """
    if not is_configured():
        return app
    from opentelemetry import trace

    tracer = trace.get_tracer("bfsql", __version__)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        parent = _parent({k.decode("latin-1"): v.decode("latin-1") for k, v in scope["headers"]})
        method = {"http.request.method": scope["method"]}
        with (
            tracer.start_as_current_span(scope["method"], parent, trace.SpanKind.SERVER, method)
            if spans
            else trace.use_span(trace.get_current_span(parent))
        ) as span:

            async def answered(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", int(message["status"]))
                    if message["status"] >= HTTPStatus.INTERNAL_SERVER_ERROR:
                        span.set_status(trace.StatusCode.ERROR)
                await send(message)

            await app(scope, receive, answered)

    return application


def _parent(headers: Mapping[str, str]) -> Context:
    """The context of a new span whose parent is named by headers."""
    from opentelemetry import propagate, trace
    from opentelemetry.context import Context

    return _only(trace.get_current_span(propagate.extract(headers, Context())))


def _only(span: trace.Span) -> Context:
    """A context with the span alone: a client's baggage is not passed on."""
    from opentelemetry import trace
    from opentelemetry.context import Context

    return trace.set_span_in_context(span, Context())
