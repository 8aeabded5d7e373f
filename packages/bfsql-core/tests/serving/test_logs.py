"""Log lines: one for each record, with nothing that a client could forge, and no secrets."""

import json
import logging
import math
import sys
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bfsql import call
from bfsql.call import Caller
from bfsql.observer import ObservedCall
from bfsql.serving import logs
from bfsql.serving.metrics import Histogram, Metrics, Reading, exposition
from bfsql.settings import ServeSettings

FORGED = "x\n2026-01-01 00:00:00,000 ERROR bfsql: forged\x1b[2J\u2028\u202e"
SECRETS = (
    *("bolt://neo4j:pw-1@host:7687", "https://host/sparql?query=x&apikey=pw-2"),
    *("https://host/a?access_token=pw-3&x=1", "Authorization: Bearer pw-4-abcdefgh"),
    "postgresql://u:pw-5@h/db?sslmode=x",
    *("host=h user=u password=pw-6", "the shared one: open-sesame"),
)


def logged(message: str, *, form: str, **extra: Any) -> str:
    """The formatted record."""
    lines: logging.Formatter = (logs.JsonLines if form == "json" else logs.TextLines)(
        ["open-sesame"]
    )
    fault = extra.pop("fault", None)
    info = None if fault is None else (type(fault), fault, fault.__traceback__)
    record = logging.LogRecord("bfsql", logging.ERROR, __file__, 1, message, (), info)
    vars(record).update(extra)
    return lines.format(record)


def raised(error: Exception) -> Exception:
    """The error, with a traceback."""

    def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        fail()
    return caught.value


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_record_is_a_line_whatever_is_in_it(form):
    line = logged(FORGED, form=form, fields={"client": FORGED, "arguments": (FORGED, "b")})
    assert line.isprintable()
    assert "\\n2026" in line


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_fault_has_its_traceback_and_the_id_of_its_call(form):
    with call.scope(request_id="abc"):
        written = logged("it failed", form=form, fault=raised(RuntimeError(FORGED)))
    first, *others = written.split("\n")
    assert "abc" in first
    assert all(line.startswith("    ") for line in others)
    assert all(line.isprintable() for line in [first, *others])
    if form == "json":
        assert not others
        assert any("RuntimeError" in line for line in json.loads(first)["traceback"])


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("text", SECRETS)
def test_secrets_are_hidden_wherever_they_stand(form, text):
    fields = {"client": text, "arguments": [text], "more": {"dsn": text}}
    written = logged(text, form=form, fields=fields, fault=raised(RuntimeError(text)))
    assert "pw-" not in written
    assert "sesame" not in written
    assert "**********" in written


def test_what_is_no_secret_is_left_alone():
    line = logged("max_tokens=500 is no key of basic queries?", form="text")
    assert line.endswith("max_tokens=500 is no key of basic queries?")


def test_a_line_a_call_names_arguments_and_shows_values_only_where_that_is_wanted(capsys):
    before = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        for values in (False, True):
            logs.log_to_stderr(ServeSettings(log_level="info", log_format="json"))
            sent = {"query": "a private name", **{f"n{i}": i for i in range(30)}}
            caller = Caller("a client", "alice", None, "10.0.0.1")
            seen = ObservedCall("id-1", "search_entities", sent, caller, sent, 0.0123, None, 30, 10)
            logs.CallLog(values=values).call_ended(seen)
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)
    names, values_too = map(json.loads, capsys.readouterr().err.splitlines())
    assert names["arguments"][:2] == ["query", "n0"]
    assert len(names["arguments"]) == 21
    assert "private" not in str(names)
    assert "a private name" in values_too["arguments"]
    assert names["subject"] == "alice"
    assert (names["ms"], names["outcome"], names["id"]) == (12.3, "ok", "id-1")


@pytest.mark.parametrize(
    ("arguments", "seeds"),
    [
        ({"seeds": ["a secret", "b"]}, 2),
        ({"ids": ["a secret"]}, 1),
        ({"id": "a secret"}, 1),
        ({"seeds": "a secret"}, 1),
        ({"query": "a secret"}, None),
        ({"seeds": None}, None),
    ],
)
def test_a_line_a_call_counts_seeds_and_what_is_answered(caplog, arguments, seeds):
    rows = {"nodes": 3, "edges": 2}
    seen = ObservedCall("id-1", "bfs_query", arguments, None, arguments, 0.1, None, rows=rows)
    with caplog.at_level(logging.INFO):
        logs.CallLog().call_ended(seen)
    [record] = caplog.records
    fields = record.fields  # type: ignore[attr-defined]
    assert fields.get("seeds") == seeds
    assert (fields["answer_nodes"], fields["answer_edges"]) == (3, 2)
    assert "a secret" not in str(fields)


@given(st.lists(st.floats(0.0001, 50), min_size=1, max_size=200), st.sampled_from([0.5, 0.99]))
def test_buckets_bound_the_quantiles_that_prometheus_computes(seconds, quantile):
    """As `histogram_quantile`: linear within the bucket in which the rank is."""
    durations = Histogram()
    for one in seconds:
        durations.add(one)
    rank, low, below = quantile * len(seconds), 0.0, 0.0
    for end, count in durations.cumulated():
        if count >= rank:
            break
        low, below = float(end), count
    estimate = low + (float(end) - low) * (rank - below) / (count - below)
    true = sorted(seconds)[math.ceil(rank) - 1]
    assert low <= true <= float(end)
    assert low <= estimate <= float(end)


class ClientDisconnect(Exception):
    """Has the name of Starlette's exception."""


def filtered(logger: str, message: str, fault: Exception) -> tuple[bool, logging.LogRecord]:
    """Whether a record of an exception passes the filter at log level WARNING, and the record."""
    fault = raised(fault)
    info = (type(fault), fault, fault.__traceback__)
    record = logging.LogRecord(logger, logging.ERROR, __file__, 1, message, (), info)
    return logs.without_tracebacks_of_clients(record), record


GROUP = ExceptionGroup("of a task group", [anyio.ClosedResourceError()])


@pytest.mark.parametrize(
    "fault",
    [ClientDisconnect(), anyio.ClosedResourceError(), ExceptionGroup("of another", [GROUP])],
    ids=repr,
)
def test_a_client_that_leaves_is_no_traceback(fault, caplog):
    with caplog.at_level(logging.INFO):
        logged, record = filtered("mcp.server.streamable_http", "Error in SSE writer", fault)
    assert (logged, record.levelname, record.exc_info) == (True, "INFO", None)
    assert record.getMessage() == "The client disconnected: Error in SSE writer"


@pytest.mark.parametrize(
    ("logger", "message", "traceback"),
    [
        ("mcp.server.streamable_http", "Error handling POST request", False),
        ("uvicorn.error", "Exception in ASGI application\n", False),
        ("bfsql", "incident 5: bfs_query failed.", True),
        ("mcp.server.runner", "modern request handler raised", True),
        ("mcp.shared.jsonrpc_dispatcher", "handler for 'tools/call' raised", True),
    ],
)
def test_no_internal_error_is_taken_for_a_client_that_left(logger, message, traceback):
    """A store accessed over HTTP may raise the same exceptions as a client's connection."""
    logged, record = filtered(logger, message, anyio.BrokenResourceError())
    assert logged
    assert record.levelno >= logging.WARNING
    assert bool(record.exc_info) is traceback


def test_an_error_beside_that_of_a_client_keeps_its_traceback():
    both = ExceptionGroup("of a task group", [anyio.ClosedResourceError(), ValueError("a fault")])
    logged, record = filtered("mcp.server.streamable_http", "SSE response error", both)
    assert logged
    assert record.exc_info


def test_metrics_without_their_library_are_an_import_error(monkeypatch):
    text, _ = exposition(Metrics(), [Reading("bfsql_draining", "Whether.", value=False)], "")
    assert b"bfsql_draining 0.0" in text
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(ImportError):
        exposition(Metrics(), [], "")


def test_libraries_log_all_they_have_after_a_reload_to_debug():
    before = logging.getLogger().handlers[:], logging.getLogger().level
    library = logging.getLogger("uvicorn")
    try:
        for level, shown in (("info", False), ("debug", True), ("info", False)):
            logs.log_to_stderr(ServeSettings(log_level=level))
            assert library.isEnabledFor(logging.INFO) is shown
    finally:
        logging.getLogger().handlers[:], level = before
        logging.getLogger().setLevel(level)
