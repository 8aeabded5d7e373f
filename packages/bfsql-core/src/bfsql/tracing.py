"""Traces: what a call adds to the spans of OpenTelemetry, and passes on to stores and to the log.

`opentelemetry-instrument bfsql serve` records and exports the spans: those of MCP's SDK for each
message, and of OpenTelemetry's instrumentation for each request. Its SDK is then already loaded;
otherwise nothing of OpenTelemetry is imported here.
"""

from __future__ import annotations

import time
from typing import Any

from bfsql import call
from bfsql.observer import ObservedCall, Observer


def trace_id() -> str | None:
    """The id of the current trace: 32 hexadecimal digits; None outside of a trace."""
    if not call.is_traced():
        return None
    from opentelemetry import trace

    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def trace_headers() -> dict[str, str]:
    """The headers (W3C Trace Context) that make a request to a store a part of the current trace.

    They do not have the client's baggage.
    """
    headers: dict[str, str] = {}
    if call.is_traced():
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        TraceContextTextMapPropagator().inject(headers)
    return headers


class CallSpans(Observer):
    """Describes calls in the current span, and adds a span for each call to the store."""

    def __init__(self) -> None:
        from opentelemetry import trace

        self._trace = trace
        self._tracer = trace.get_tracer("bfsql")

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
        if trace_id() is None:  # a call of the server itself, such as counting the graph
            return
        end = time.time_ns()
        span = self._tracer.start_span(
            method,
            kind=self._trace.SpanKind.CLIENT,
            attributes={"db.operation.name": method},
            start_time=end - int(seconds * 1e9),
        )
        if failed:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end(end)
