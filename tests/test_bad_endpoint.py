"""What the bad endpoint does that no test of a store would miss: resets, counts, TLS.

All else that it sends is what the tests of HTTP clients and of SPARQL stores are about.
"""

import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

import pytest

from bfsql_test_support.servers.bad_endpoint import BadEndpoint
from bfsql_test_support.servers.bad_replies import (
    Asked,
    Reply,
    boolean,
    endless,
    iri,
    literal,
    reset,
    results,
    silence,
    slow,
)

OPENER = build_opener(ProxyHandler({}))
ANSWER = results({"s": iri("http://x.test/s"), "name": literal("a", "en")})


def get(endpoint: BadEndpoint, timeout: float = 5) -> bytes:
    with OPENER.open(endpoint.url, timeout=timeout) as answer:
        said: bytes = answer.read()
        return said


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


def test_a_mistake_of_the_test_is_an_answer_that_says_so(bad_endpoint: BadEndpoint) -> None:
    def mistaken(asked: Asked) -> Reply:
        raise KeyError(asked.path)

    bad_endpoint.then(mistaken)
    with pytest.raises(HTTPError, match="500") as told:
        get(bad_endpoint)
    with told.value as error:
        assert b"KeyError('/sparql')" in error.read()


def _quietly(endpoint: BadEndpoint) -> Callable[[], None]:
    def ask() -> None:
        with suppress(OSError):
            get(endpoint, timeout=0.5)

    return ask
