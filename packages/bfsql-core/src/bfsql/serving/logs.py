"""Log records of a server, on standard error: as text, or as one JSON object per line.

Every record is one line, apart from tracebacks, whose lines are indented. Control characters and
line breaks are escaped, so that no client can forge a line, and secrets in URLs, queries and
headers are hidden. All records of a call contain the id of its request.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bfsql import call
from bfsql.masking import hide_secrets
from bfsql.observer import ObservedCall, Observer
from bfsql.tracing import trace_id

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

_LIBRARY_LOGGERS = ("mcp", "uvicorn", "sse_starlette", "httpx", "asyncio")

_TRANSPORTS = ("mcp.server.streamable_http", "sse_starlette", "uvicorn")
"""Prefixes of the loggers of libraries that transport messages to and from clients."""

_CLIENT_ERRORS = ("ClientDisconnect", "BrokenResourceError", "ClosedResourceError")
"""Exceptions that transports log with a traceback when a client has left. Errors of a store have
the same names, so they are left alone in other records."""

_ANSWERED = ("Error handling POST request", "Exception in ASGI application")
"""Beginnings of records of requests that were answered with an internal error."""

_MOST_NAMES, _NAME_CHARACTERS, _VALUE_CHARACTERS = 20, 60, 1_000
"""Most logged arguments of a call, and most characters of a name and of all values."""

_CONTROLS = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_CONTROL = re.compile(f"[{_CONTROLS}]")
_PLAIN_VALUE = re.compile(rf"[^\s\"'=\\{_CONTROLS}]+")

calls_log = logging.getLogger("bfsql.calls")

request_id: ContextVar[str] = ContextVar("bfsql_request_id", default="")
"""The id of the HTTP request that is being answered."""


class OnceAMinute:
    """Limits repeated log records: true when called, then false for a minute."""

    def __init__(self) -> None:
        self._last = -float("inf")

    def __call__(self) -> bool:
        """Return whether a record may be logged now, and count it as logged."""
        now = time.monotonic()
        if now < self._last + 60.0:
            return False
        self._last = now
        return True


def log_to_stderr(settings: ServeSettings) -> None:
    """Send log records of the level and above to standard error, in the format of the settings.

    Libraries log only warnings, unless the level is `debug`.
    """
    token = settings.bearer_token
    secrets = [] if token is None else [token.get_secret_value()]
    # No format shows them, and looking them up takes a third of the time of a record.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(without_tracebacks_of_clients)
    handler.setFormatter((JsonLines if settings.log_format == "json" else TextLines)(secrets))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    level = logging.getLogger().level
    for name in _LIBRARY_LOGGERS:
        quiet = max(logging.WARNING, level) if level > logging.DEBUG else logging.NOTSET
        logging.getLogger(name).setLevel(quiet)


def without_tracebacks_of_clients(record: logging.LogRecord) -> bool:
    """Shorten an error that only reports that a client has left to one line; a log filter.

    Its level is `info`, or `warning` if the client may have received an internal error.
    """
    fault = record.exc_info[1] if record.exc_info else None
    names = {type(one).__name__ for one in _single(fault)} if fault else set()
    left = names and names.issubset(_CLIENT_ERRORS) and record.name.startswith(_TRANSPORTS)
    if not left:
        return True
    text = record.getMessage()
    answered = names != {"ClientDisconnect"} and text.startswith(_ANSWERED)
    level = logging.WARNING if answered else logging.INFO
    record.msg, record.args = "The client disconnected: %s", (text,)
    record.exc_info = record.exc_text = None
    record.levelno, record.levelname = level, logging.getLevelName(level)
    return logging.getLogger().isEnabledFor(level)


def _single(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group of errors, or the error itself."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _single(one)
    else:
        yield error


def escaped(text: str) -> str:
    """A text in which control characters, line breaks and lone surrogates are escaped."""
    if text.isprintable():
        return text
    # Not by a codec: its first use is an import, and a log line may be written during one.
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


class _Lines(logging.Formatter):
    """The common part of both formats; known secrets are hidden wherever they occur."""

    def __init__(self, secrets: Collection[str] = ()) -> None:
        super().__init__()
        self._secrets = tuple(secrets)

    def format(self, record: logging.LogRecord) -> str:
        """The record as a line, without secrets."""
        return hide_secrets(self._render(record), self._secrets)

    @abstractmethod
    def _render(self, record: logging.LogRecord) -> str:
        """The record in the format."""

    def _message(self, record: logging.LogRecord) -> str:
        return escaped(record.getMessage().strip())

    def _traceback(self, record: logging.LogRecord) -> list[str]:
        if not record.exc_info:
            return []
        return [escaped(line) for line in self.formatException(record.exc_info).split("\n")]


class TextLines(_Lines):
    """`2026-01-31 12:00:00,123 INFO bfsql.calls: bfs_query: ok ms=3.1 ... id=5f3a...`."""

    def _render(self, record: logging.LogRecord) -> str:
        """The record as a line, with indented lines of a traceback."""
        message = self._message(record)
        head = f"{self.formatTime(record)} {record.levelname} {record.name}: {message}"
        known = _fields(record)
        named = _request_id() if "id" not in known else ""
        if named and named not in message:
            known = {**known, "id": named}
        if trace := trace_id():
            known = {**known, "trace_id": trace}
        pairs = [f"{name}={self._value(value)}" for name, value in known.items()]
        lines = [" ".join([head, *pairs]), *(f"    {line}" for line in self._traceback(record))]
        return "\n".join(lines)

    def _value(self, value: Any) -> str:
        if type(value) in (int, float):
            return str(value)
        if isinstance(value, list | tuple):
            value = ",".join(map(str, value))
        elif not isinstance(value, str):
            value = _json(value)
        return value if _PLAIN_VALUE.fullmatch(value) else _json(escaped(value))


class JsonLines(_Lines):
    """`{"time": "2026-01-31T12:00:00.123+00:00", "level": "info", "logger": ..., ...}`."""

    def _render(self, record: logging.LogRecord) -> str:
        """The record as one line."""
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._message(record),
        }
        if named := _request_id():
            document["id"] = named
        if trace := trace_id():
            document["trace_id"] = trace
        document |= {name: self._value(value) for name, value in _fields(record).items()}
        if lines := self._traceback(record):
            document["traceback"] = lines
        return _json(document)

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return escaped(value)
            case Mapping():
                return escaped(_json(value))
            case list() | tuple():
                return [self._value(item) for item in value]
        return value


class CallLog(Observer):
    """Logs one line per call, at `info`, with the values of arguments or only their names."""

    def __init__(self, *, values: bool = False) -> None:
        self._values = values

    def call_ended(self, seen: ObservedCall) -> None:
        """Log it."""
        if not calls_log.isEnabledFor(logging.INFO):
            return
        caller = seen.caller or call.Caller()
        fields = {
            "tool": seen.tool[:_NAME_CHARACTERS],
            "outcome": seen.error or "ok",
            "ms": round(seen.seconds * 1_000, 1),
            "client": (caller.client or "")[:_NAME_CHARACTERS],
            "subject": caller.subject,
            "address": caller.address,
            "role": caller.role,
            "arguments": self._arguments(seen.sent),
            "seeds": _seeds(seen.arguments),
            "bytes": seen.size,
            "tokens": seen.tokens,
            "nodes": seen.nodes,
            "edges": seen.edges,
            **{f"answer_{kind}": number for kind, number in seen.rows.items()},
            "cut": seen.cut,
            "id": seen.request_id,
        }
        known = {name: value for name, value in fields.items() if value not in (None, "", ())}
        calls_log.info("call", extra={"fields": known})

    def _arguments(self, sent: Mapping[str, Any]) -> Sequence[str] | str:
        if self._values:
            return _json(sent)[:_VALUE_CHARACTERS]
        names = [str(name)[:_NAME_CHARACTERS] for name in list(sent)[:_MOST_NAMES]]
        return (*names, "...") if len(sent) > _MOST_NAMES else tuple(names)


def _seeds(arguments: Mapping[str, Any]) -> int | None:
    """The number of seeds or ids that a call begins with; None for tools that take none."""
    given = next((arguments[name] for name in ("seeds", "ids", "id") if name in arguments), None)
    return len(given) if isinstance(given, list | tuple) else None if given is None else 1


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """The additional fields of a record of this project, and the graph."""
    graph = call.GRAPH.get()
    return {**getattr(record, "fields", {}), **({"graph": graph} if graph else {})}


def _request_id() -> str:
    return call.current_request_id() or request_id.get()


_json = json.JSONEncoder(ensure_ascii=False, default=str, separators=(",", ":")).encode
