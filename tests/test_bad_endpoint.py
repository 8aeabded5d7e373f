"""The bad endpoint sends the replies that a test queues, as a plain client sees them."""

import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

import pytest

from bfsql_test_support.servers.bad_endpoint import BadEndpoint
from bfsql_test_support.servers.bad_replies import (
    QUERY,
    Asked,
    Reply,
    boolean,
    endless,
    half,
    iri,
    literal,
    page,
    redirect,
    refused,
    reset,
    results,
    short,
    silence,
    slow,
    some,
    through,
    zipped,
)
from bfsql_test_support.servers.oxigraph import OxigraphServer
from bfsql_test_support.servers.sparql import RESULTS

OPENER = build_opener(ProxyHandler({}))
ANSWER = results({"s": iri("http://x.test/s"), "name": literal("a", "en")})


def get(endpoint: BadEndpoint, timeout: float = 5) -> bytes:
    with OPENER.open(endpoint.url, timeout=timeout) as answer:
        said: bytes = answer.read()
        return said


def test_what_is_lined_up_comes_once_and_then_the_usual(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.then(boolean(answer=True), ANSWER).always(some(3))
    assert json.loads(get(bad_endpoint)) == {"head": {}, "boolean": True}
    assert json.loads(get(bad_endpoint))["head"]["vars"] == ["s", "name"]
    for _ in range(2):
        assert len(json.loads(get(bad_endpoint))["results"]["bindings"]) == 3


def test_it_answers_with_nothing_found_before_it_is_reported_anything(
    bad_endpoint: BadEndpoint,
) -> None:
    assert json.loads(get(bad_endpoint))["results"]["bindings"] == []


@pytest.mark.parametrize("kind", ["form", "query", "get"])
def test_requests_are_kept_however_they_come(bad_endpoint: BadEndpoint, kind: str) -> None:
    query = "SELECT * { ?s ?p 'é&=' }"
    form = urlencode({"query": query, "timeout": "5"})
    url, body, headers = {
        "form": (bad_endpoint.url, form.encode(), {"User-Agent": "me"}),
        "query": (f"{bad_endpoint.url}?timeout=5", query.encode(), {"Content-Type": QUERY}),
        "get": (f"{bad_endpoint.url}?{form}", None, {}),
    }[kind]
    before = time.monotonic()
    OPENER.open(Request(url, body, headers), timeout=5).close()
    (asked,) = bad_endpoint.requests
    assert asked.query == query
    assert asked.fields["timeout"] == ["5"]
    assert asked.path == "/sparql"
    assert asked.method == ("GET" if kind == "get" else "POST")
    assert asked.headers["user-agent"] == headers.get("User-Agent", asked.headers["User-Agent"])
    assert before <= asked.when <= time.monotonic()


def test_refusals_carry_their_status_words_and_headers(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.then(refused(429, "slowly", retry_after="7"), refused(503))
    with pytest.raises(HTTPError, match="429") as told:
        get(bad_endpoint)
    with told.value as error:
        assert (error.headers["Retry-After"], error.read()) == ("7", b"slowly")
    with pytest.raises(HTTPError, match="503") as told:
        get(bad_endpoint)
    told.value.close()


def test_an_answer_may_be_cut_in_the_middle(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.then(half(ANSWER), short(ANSWER))
    with pytest.raises(json.JSONDecodeError):
        json.loads(get(bad_endpoint))
    with pytest.raises(http.client.IncompleteRead):
        get(bad_endpoint)


def test_an_answer_may_be_another_thing_than_it_should(bad_endpoint: BadEndpoint) -> None:
    limited = replace(some(10), headers={"X-SPARQL-MaxRows": "10"})
    bad_endpoint.then(page(), replace(ANSWER, content_type="text/plain"), zipped(ANSWER), limited)
    seen = []
    for _ in range(4):
        with OPENER.open(bad_endpoint.url, timeout=5) as answer:
            seen.append((answer.headers, answer.read()))
    assert seen[0][0]["Content-Type"] == "text/html"
    assert seen[0][1].startswith(b"<!DOCTYPE html>")
    assert seen[1][0]["Content-Type"] == "text/plain"
    assert (seen[2][0]["Content-Encoding"], seen[2][1][:2]) == ("gzip", b"\x1f\x8b")
    assert seen[3][0]["X-SPARQL-MaxRows"] == "10"
    assert seen[3][0]["Content-Type"] == RESULTS


def test_redirects_lead_to_the_same_host_or_another(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.then(redirect("/other"), ANSWER, redirect(bad_endpoint.elsewhere, 302), ANSWER)
    get(bad_endpoint)
    get(bad_endpoint)
    paths = [asked.path for asked in bad_endpoint.requests]
    assert paths == ["/sparql", "/other", "/sparql", "/sparql"]
    hosts = [asked.headers["Host"].split(":")[0] for asked in bad_endpoint.requests]
    assert hosts == ["127.0.0.1", "127.0.0.1", "127.0.0.1", "localhost"]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (reset(), ConnectionResetError),
        (silence(30), TimeoutError),
        (silence(0.01), http.client.RemoteDisconnected),
        (slow(ANSWER, 30), TimeoutError),
    ],
)
def test_it_may_not_answer_at_all(
    bad_endpoint: BadEndpoint, reply: Reply, error: type[Exception]
) -> None:
    bad_endpoint.then(reply)
    with pytest.raises((error, URLError)) as told:
        get(bad_endpoint, timeout=0.2)
    assert error in {type(told.value), type(getattr(told.value, "reason", None))}
    assert bad_endpoint.is_idle()


def test_it_may_answer_late_or_byte_by_byte(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.then(silence(0.05, then=ANSWER), slow(boolean(answer=True), 0.001))
    before = time.monotonic()
    assert json.loads(get(bad_endpoint))["results"]["bindings"]
    assert json.loads(get(bad_endpoint))["boolean"]
    assert time.monotonic() - before > 0.08


def test_an_endless_body_goes_on_until_the_client_has_enough(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.then(endless(), endless(boolean(answer=True)))
    for _ in range(2):
        with OPENER.open(bad_endpoint.url, timeout=5) as answer:
            assert len(answer.read(1_000_000)) == 1_000_000
            assert bad_endpoint.open == 1
        assert bad_endpoint.is_idle()
    assert bad_endpoint.sent > 2_000_000


def test_it_sees_who_waits_and_who_gave_up(bad_endpoint: BadEndpoint) -> None:
    bad_endpoint.always(silence(30))
    threads = [threading.Thread(target=_quietly(bad_endpoint)) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert bad_endpoint.has_got(3)
    assert bad_endpoint.open == bad_endpoint.most_at_once == 3
    for thread in threads:
        thread.join()
    assert bad_endpoint.is_idle()
    assert not bad_endpoint.has_got(4, within=0.01)


def test_connections_are_kept_alive_and_counted(bad_endpoint: BadEndpoint) -> None:
    where = urlsplit(bad_endpoint.url)
    assert where.hostname
    client = http.client.HTTPConnection(where.hostname, where.port, timeout=5)
    for _ in range(3):
        client.request("POST", "/sparql", b"")
        client.getresponse().read()
    assert bad_endpoint.open == 1
    client.close()
    assert bad_endpoint.is_idle()


def test_it_speaks_tls_to_those_who_trust_its_authority(bad_tls_endpoint: BadEndpoint) -> None:
    bad_tls_endpoint.then(ANSWER, silence(30))
    with pytest.raises(URLError, match="CERTIFICATE_VERIFY_FAILED"):
        get(bad_tls_endpoint)
    context = ssl.create_default_context(cafile=str(bad_tls_endpoint.ca))
    trusting = build_opener(ProxyHandler({}), HTTPSHandler(context=context))
    with trusting.open(bad_tls_endpoint.url, timeout=5) as answer:
        assert json.load(answer)["results"]["bindings"]
    with pytest.raises(TimeoutError):
        trusting.open(bad_tls_endpoint.url, timeout=0.2)
    assert bad_tls_endpoint.is_idle()


def test_a_client_that_says_nothing_stops_no_other(bad_tls_endpoint: BadEndpoint) -> None:
    where = urlsplit(bad_tls_endpoint.url)
    with socket.create_connection((where.hostname, where.port)), pytest.raises(URLError):
        get(bad_tls_endpoint)


def test_it_passes_on_what_a_real_server_says_and_loses_rows(
    bad_endpoint: BadEndpoint, oxigraph: OxigraphServer
) -> None:
    oxigraph.clear()
    oxigraph.load("".join(f'<http://x.test/{n}> <http://x.test/p> "{n}" .\n' for n in range(20)))
    few = through(oxigraph, at_most=5, x_sql_state="S1TAT")
    bad_endpoint.then(few, through(oxigraph)).always(_too_long)
    assert [_rows(bad_endpoint) for _ in range(2)] == [(5, "S1TAT"), (20, None)]
    with pytest.raises(HTTPError, match="400") as told:
        _rows(bad_endpoint)
    told.value.close()
    oxigraph.clear()


def test_a_mistake_of_the_test_is_an_answer_that_says_so(bad_endpoint: BadEndpoint) -> None:
    def mistaken(asked: Asked) -> Reply:
        raise KeyError(asked.path)

    bad_endpoint.then(mistaken)
    with pytest.raises(HTTPError, match="500") as told:
        get(bad_endpoint)
    with told.value as error:
        assert b"KeyError('/sparql')" in error.read()


def _too_long(asked: Asked) -> Reply:
    return refused(400, "too long") if len(asked.query) > 10 else ANSWER


def _rows(endpoint: BadEndpoint) -> tuple[int, str | None]:
    body = urlencode({"query": "SELECT * { ?s ?p ?o }"}).encode()
    with OPENER.open(endpoint.url, body, timeout=5) as answer:
        told: dict[str, Any] = json.load(answer)
        return len(told["results"]["bindings"]), answer.headers["X-SQL-State"]


def _quietly(endpoint: BadEndpoint) -> Callable[[], None]:
    def ask() -> None:
        with suppress(OSError):
            get(endpoint, timeout=0.5)

    return ask
