"""Attack 11: operators could not observe a server. Health, readiness, metrics, logs, ids.

The server's store is another server, whose log serves as the store's log.
"""

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest
from mcp.client.streamable_http import streamable_http_client
from prometheus_client.parser import text_string_to_metric_families

from bfsql_test_support.servers.port import HOST, free_port
from bfsql_test_support.servers.serve_process import Served, serving

ERAS = ("auto", "legacy")
SECONDS = 60
SECRET = "s3cret-of-the-url"
BAD_IDS = ("x" * 129, "with space", "ümlaut", "")


class Store:
    """The web API over the films on a fixed port, which can be stopped and started."""

    def __init__(self, films_db: Path) -> None:
        self.port = free_port()
        self._films_db = films_db
        self._running = ExitStack()

    def start(self) -> None:
        options = ("--rest", "--port", str(self.port), "--log-level", "info")
        self.served = self._running.enter_context(serving("--path", str(self._films_db), *options))

    def kill(self) -> None:
        self._running.close()


@pytest.fixture(scope="module")
def store(films_db: Path) -> Iterator[Store]:
    running = Store(films_db)
    running.start()
    yield running
    running.kill()


@pytest.fixture(scope="module")
def watched(store: Store) -> Iterator[Served]:
    url, env = f"http://{HOST}:{store.port}", {"JSONLD_PASSWORD": SECRET, **os.environ}
    options = (
        *("--username", "operator", "--backend", "jsonld", "--base-url", url),
        *("--retries", "0", "--connect-timeout", "2"),
    )
    visible = ("--admin-port", "0", "--log-level", "info", "--log-format", "json")
    with serving(*options, *visible, "--cache-records", "0", "--max-pause", "1", env=env) as served:
        yield served


def test_a_server_says_that_it_lives_is_ready_and_what_it_does(watched: Served) -> None:
    """Attack 11: formerly, this port and these paths did not exist."""
    call_tool(watched, "describe_schema", {})
    alive = httpx2.get(f"{watched.admin}/livez", headers={"Host": "10.1.2.3"})
    assert (alive.status_code, alive.text) == (200, "ok\n")
    ready = httpx2.get(f"{watched.admin}/readyz")
    document = ready.json()
    assert 0 <= document.pop("age") < 10
    assert (ready.status_code, document) == (200, {"ready": True, "reasons": []})
    samples = metrics(watched)
    assert samples["bfsql_calls_total", "tool", "describe_schema", "outcome", "ok"] >= 1
    assert samples["bfsql_draining",] == 0
    assert samples["bfsql_breaker", "state", "closed"] == 1
    assert samples["bfsql_connections",] >= 0
    assert samples["bfsql_sessions",] >= 0


def test_metrics_count_calls_answers_the_store_and_the_cache(watched: Served) -> None:
    before = metrics(watched)
    call_tool(watched, "search_entities", {"query": "Tom Hanks"})
    call_tool(watched, "bfs_query", {"seeds": "Tom Hanks", "max_hops": 1})
    call_tool(watched, "bfs_query", {"seeds": "nobody at all", "max_hops": 1})
    for name in ("no_such_tool", "nor_this\none"):
        call_tool(watched, name, {})
    now = metrics(watched)

    def grown(*sample: str) -> float:
        return now.get(sample, 0) - before.get(sample, 0)

    assert grown("bfsql_calls_total", "tool", "search_entities", "outcome", "ok") == 1
    assert grown("bfsql_calls_total", "tool", "bfs_query", "outcome", "ok") == 1
    assert grown("bfsql_calls_total", "tool", "bfs_query", "outcome", "unknown_entity") == 1
    assert grown("bfsql_calls_total", "tool", "other", "outcome", "unknown_tool") == 2
    assert grown("bfsql_call_seconds_count", "tool", "bfs_query") == 2
    assert grown("bfsql_answer_bytes_total", "tool", "bfs_query") > 100
    assert grown("bfsql_answer_tokens_total", "tool", "bfs_query") > 30
    assert grown("bfsql_nodes_read_total", "tool", "bfs_query") > 5
    assert grown("bfsql_edges_read_total", "tool", "bfs_query") > 5
    assert grown("bfsql_store_call_seconds_count", "method", "search_entities") >= 1
    assert grown("bfsql_cache_misses_total", "method", "search_entities") >= 1
    assert not [sample for sample in now if "no_such_tool" in sample]
    assert 20_000_000 < now["process_resident_memory_bytes",] < 2_000_000_000


def test_refusals_have_reasons(watched: Served) -> None:
    before = metrics(watched)
    assert httpx2.get(f"{watched.url}/mcp", headers={"Host": "evil.example"}).status_code == 421
    now = metrics(watched)
    sample = ("bfsql_requests_refused_total", "status", "421")
    assert now[sample] == before[sample] + 1
    assert now["bfsql_requests_refused_total", "status", "401"] == 0
    for reason in ("rate_limit", "queue_full", "deadline"):
        assert now["bfsql_calls_refused_total", "reason", reason] == 0


def test_metrics_are_not_for_strangers(watched: Served) -> None:
    for path in ("/metrics", "/livez", "/readyz"):
        assert httpx2.get(f"{watched.url}{path}").status_code == 404
        assert httpx2.post(f"{watched.admin}{path}").status_code == 405
    assert httpx2.head(f"{watched.admin}/metrics").text == ""
    assert httpx2.get(f"{watched.admin}/mcp").status_code == 404


@pytest.mark.parametrize("era", ERAS)
def test_the_id_of_a_call_is_in_the_answer_the_log_and_the_log_of_the_store(
    watched: Served, store: Store, era: str
) -> None:
    name = f"trace-{era}-1"
    answered = call_tool(watched, "search_entities", {"query": era}, era=era, request_id=name)
    assert answered == name
    [line] = lines(watched, lambda line: line.get("id") == name and line.get("tool"))
    assert line["logger"] == "bfsql.calls"
    assert line["outcome"] == "ok"
    assert line["client"] == "mcp"
    assert line["arguments"] == ["query"]
    assert "seeds" not in line
    assert "answer_items" in line
    assert {"ms", "bytes", "tokens", "nodes", "edges", "address", "time", "level"} <= set(line)
    wait_for(lambda: any(f"id={name}" in line for line in store.served.log))


@pytest.mark.parametrize("given", BAD_IDS)
def test_an_id_that_is_not_sane_is_replaced(watched: Served, given: str) -> None:
    headers = [(b"x-request-id", given.encode())]
    answer = httpx2.get(f"{watched.url}/mcp", headers=headers)
    assert len(answer.headers["x-request-id"]) == 16


def test_refused_requests_are_logged(watched: Served) -> None:
    headers = {"Host": "evil.example", "X-Request-Id": "refused-1"}
    answer = httpx2.get(f"{watched.url}/mcp?apikey={SECRET}", headers=headers)
    assert (answer.status_code, answer.headers["x-request-id"]) == (421, "refused-1")
    [line] = lines(watched, lambda line: line.get("id") == "refused-1")
    assert (line["logger"], line["status"]) == ("bfsql.requests", 421)
    assert (line["status"], line["path"], line["id"]) == (421, "/mcp", "refused-1")
    assert line["address"] == HOST


def test_no_client_forges_a_line_of_the_log(watched: Served) -> None:
    forged = 'x\n{"level": "error", "message": "forged"}\u2028\x1b[2J'
    call_tool(watched, forged, {forged: 1})
    [line] = lines(watched, lambda line: "forged" in line.get("tool", ""))
    assert line["tool"].startswith("x\\n{")
    assert all(line.isprintable() for line in watched.log)


def test_an_aborted_upload_is_no_traceback(watched: Served) -> None:
    before = len(watched.log)
    for _ in range(3):
        with socket.create_connection((HOST, watched.port), 10) as client:
            client.sendall(
                b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Accept: application/json, text/event-stream\r\nContent-Length: 500\r\n\r\n{"
            )
    call_tool(watched, "describe_schema", {}, request_id="after-uploads")
    lines(watched, lambda line: line.get("id") == "after-uploads" and line.get("tool"))
    assert not [line for line in watched.log[before:] if "traceback" in json.loads(line)]


def test_an_outage_of_the_store_is_seen_and_does_not_flood_the_log(
    watched: Served, store: Store
) -> None:
    before = len(watched.log)
    store.kill()
    wait_for(lambda: httpx2.get(f"{watched.admin}/readyz").status_code == 503)
    [reason, *_] = httpx2.get(f"{watched.admin}/readyz").json()["reasons"]
    assert "cannot be reached" in reason
    for number in range(10):
        call_tool(watched, "search_entities", {"query": f"q{number}"}, request_id=f"out-{number}")
    lines(watched, lambda line: line.get("id") == "out-9" and line.get("outcome") == "store")
    logged = watched.log[before:]
    assert not [line for line in logged if "Traceback" in line]
    assert sum(map(len, logged)) < 20_000
    failed = ("bfsql_calls_total", "tool", "search_entities", "outcome", "store")
    assert metrics(watched)[failed] == 10
    assert httpx2.get(f"{watched.admin}/livez").status_code == 200
    store.start()
    wait_for(lambda: httpx2.get(f"{watched.admin}/readyz").status_code == 200)


def test_no_secret_is_in_the_log_at_the_end(watched: Served) -> None:
    assert watched.log
    assert SECRET not in "\n".join(watched.log)
    assert SECRET not in httpx2.get(f"{watched.admin}/metrics").text


def call_tool(
    served: Served,
    tool: str,
    arguments: dict[str, Any],
    *,
    era: str = "auto",
    request_id: str | None = None,
) -> str:
    """Call a tool; return the request id in the headers of its answer."""
    import asyncio

    ids: list[str] = []

    async def note(response: Any) -> None:
        ids.append(response.headers["x-request-id"])

    async def asked() -> None:
        headers = {"X-Request-Id": request_id} if request_id else {}
        async with httpx2.AsyncClient(headers=headers, event_hooks={"response": [note]}) as http:
            transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
            async with mcp.Client(transport, mode=era) as client:
                await client.call_tool(tool, arguments)

    asyncio.run(asked())
    return ids[-1] if request_id is None else request_id if set(ids) == {request_id} else "other"


def metrics(served: Served) -> dict[tuple[str, ...], float]:
    """Samples by name and labels, as the library's parser reads them."""
    answer = httpx2.get(f"{served.admin}/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        assert family.documentation
        for sample in family.samples:
            order = sorted(sample.labels.items(), key=lambda pair: pair[0] == "outcome")
            found[sample.name, *(part for pair in order for part in pair)] = sample.value
    return found


def lines(served: Served, wanted: Callable[[dict[str, Any]], Any]) -> list[dict[str, Any]]:
    """Wait for JSON lines of the log that match, and return them."""

    def found() -> list[dict[str, Any]]:
        documents = [json.loads(line) for line in served.log if line.startswith("{")]
        return [document for document in documents if wanted(document)]

    wait_for(found)
    return found()


def wait_for(condition: Callable[[], Any]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
