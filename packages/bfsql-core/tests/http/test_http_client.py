"""The HTTP client with a real server: requests, replies, and the causes of missing replies."""

import asyncio
import base64
import gzip
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from pydantic import SecretStr

from bfsql.errors import ConfigurationError
from bfsql.http import (
    Credentials,
    EndlessRedirects,
    Failure,
    HttpClient,
    HttpReply,
    HttpRequest,
    NoReply,
    OAuthClient,
    PrivateAddress,
    ReplyTooLarge,
    TokenRefused,
    UnusableCertificate,
    basic,
    follow_redirects,
    tls_context,
)
from bfsql_test_support.servers import bad_replies as replies
from bfsql_test_support.servers.bad_endpoint import BadEndpoint

Made = Callable[..., HttpClient]
MOST = 1_000_000
SECRET = "hush-hush-1"


@pytest.fixture
async def client() -> AsyncIterator[Made]:
    """Makes clients, and closes them after the test."""
    async with AsyncExitStack() as stack:

        def made(**settings: Any) -> HttpClient:
            client = HttpClient(**settings)
            stack.push_async_callback(client.close)
            return client

        yield made


def text(body: str, status: int = 200, **headers: str) -> replies.Reply:
    return replies.refused(status, body, **headers)


async def failure(client: HttpClient, url: str, **more: Any) -> NoReply:
    request = HttpRequest(url)
    with pytest.raises(NoReply) as caught:
        await client.send(request, max_bytes=MOST, **more)
    assert caught.value.request is request
    return caught.value


# --- a reply -----------------------------------------------------------------


async def test_a_request_is_sent_as_it_is_and_any_status_is_a_reply(bad_endpoint, client):
    bad_endpoint.then(text("no", 404, retry_after="3", location="/x"))
    request = HttpRequest(f"{bad_endpoint.url}?a=b", "POST", b"\x00body", {"X-One": "1"})
    sender = client(headers={"User-Agent": "tests"})
    reply = await sender.send(request, max_bytes=MOST)
    assert (reply.status, reply.body, reply.request) == (404, b"no", request)
    assert (reply.content_type, reply.headers["retry-after"]) == ("text/plain", "3")
    assert (reply.retry_after, reply.location) == (3.0, None)
    (asked,) = bad_endpoint.requests
    assert (asked.method, asked.target, asked.body) == ("POST", "/sparql?a=b", b"\x00body")
    assert (asked.headers["X-One"], asked.headers["User-Agent"]) == ("1", "tests")
    assert sender.requests == 1


async def test_connections_stay_open_between_requests(bad_endpoint, client):
    sender = client()
    for _ in range(3):
        await sender.send(HttpRequest(bad_endpoint.url), max_bytes=MOST)
        assert bad_endpoint.open == 1
    await sender.close()
    assert await asyncio.to_thread(bad_endpoint.is_idle)


async def test_a_login_in_the_url_is_not_sent(bad_endpoint, client):
    url = bad_endpoint.url.replace("http://", f"http://me:{SECRET}@")
    await client().send(HttpRequest(url), max_bytes=MOST)
    assert "Authorization" not in bad_endpoint.requests[0].headers


async def test_a_body_above_the_bound_is_stopped_while_it_streams(bad_endpoint, client):
    bad_endpoint.then(replies.endless(text("x" * 1000)))
    with pytest.raises(ReplyTooLarge) as caught:
        await client().send(HttpRequest(bad_endpoint.url), max_bytes=50_000)
    assert caught.value.max_bytes == 50_000
    assert await asyncio.to_thread(bad_endpoint.is_idle)


async def test_a_small_body_that_unpacks_to_a_large_one_is_stopped_too(bad_endpoint, client):
    packed = replies.Reply(
        200, gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"}
    )
    bad_endpoint.then(packed).always(replies.zipped(text("small")))
    sender = client()
    with pytest.raises(ReplyTooLarge):
        await sender.send(HttpRequest(bad_endpoint.url), max_bytes=MOST)
    assert (await sender.send(HttpRequest(bad_endpoint.url), max_bytes=MOST)).body == b"small"


async def test_an_error_may_be_read_in_part_where_that_is_enough(bad_endpoint, client):
    bad_endpoint.then(
        replies.endless(text("x" * 1000, 500)), replies.short(text("y" * 100, 500)), text("z" * 99)
    )
    sender, request = client(), HttpRequest(bad_endpoint.url)
    send = lambda: sender.send(request, max_bytes=50, max_error_bytes=2000)
    assert (await send()).body.startswith(b"x" * 2000)
    assert (await send()).body == b"y" * 50
    with pytest.raises(ReplyTooLarge):
        await send()


# --- no reply ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (replies.reset(), Failure.BROKE_OFF),
        (replies.Reply(None, ending="close"), Failure.BROKE_OFF),
        (replies.short(text("x" * 100)), Failure.INCOMPLETE),
        (text("no gzip", content_encoding="gzip"), Failure.INCOMPLETE),
    ],
)
async def test_a_connection_that_breaks_off_is_distinguished_from_a_body_that_does(
    bad_endpoint, client, reply, kind
):
    found = await failure(client(), bad_endpoint.then(reply).url)
    assert found.kind is kind
    assert not found.is_connecting
    assert "Error" in found.detail


async def test_no_listener_no_host_and_no_answer_are_distinguished(client):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    found = await failure(client(), f"http://127.0.0.1:{port}/")
    assert (found.kind, found.is_connecting) == (Failure.UNREACHABLE, True)
    found = await failure(client(), "http://nowhere.invalid/")
    assert (found.kind, found.is_connecting) == (Failure.NO_HOST, True)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        with socket.create_connection(address), socket.socket() as second:
            second.setblocking(False)
            second.connect_ex(address)  # the queue is full now
            found = await failure(client(connect_timeout=0.2), f"http://127.0.0.1:{address[1]}/")
    assert found.kind is Failure.CONNECT_TIMEOUT


@pytest.mark.parametrize(
    "url",
    ["http://x.test:port/", "http://a\x00b/", f"http://x.test/{'x' * 70_000}"],
    ids=["port", "null", "long"],
)
async def test_what_is_no_url_is_a_failure(client, url):
    assert (await failure(client(), url)).kind is Failure.INVALID_URL


async def test_a_server_is_trusted_when_its_authority_is_named(bad_tls_endpoint, client):
    found = await failure(client(), bad_tls_endpoint.url)
    assert found.kind is Failure.UNTRUSTED
    assert found.reason
    trusting = client(tls=tls_context(bad_tls_endpoint.ca))
    assert (await trusting.send(HttpRequest(bad_tls_endpoint.url), max_bytes=MOST)).status == 200
    assert (await failure(trusting, bad_tls_endpoint.elsewhere)).kind is Failure.UNTRUSTED


async def test_tls_with_a_plain_server_is_reported(bad_endpoint, client):
    found = await failure(client(), bad_endpoint.url.replace("http:", "https:"))
    assert found.kind is Failure.NO_TLS


@pytest.mark.parametrize("setting", ["ca_file", "client_certificate"])
@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_file_that_is_no_certificate_is_reported(tmp_path, setting, content):
    path = tmp_path / "x.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(UnusableCertificate) as caught:
        tls_context(**{setting: path})
    assert (caught.value.setting, caught.value.path) == (setting, path)
    assert caught.value.reason


async def test_closing_ends_what_is_under_way(bad_endpoint, client):
    sender = client()
    bad_endpoint.then(replies.silence(30))
    asked = asyncio.create_task(failure(sender, bad_endpoint.url))
    assert await asyncio.to_thread(bad_endpoint.has_got, 1)
    await sender.close()
    assert (await asked).kind is Failure.CLOSED
    assert (await failure(sender, bad_endpoint.url)).kind is Failure.CLOSED
    assert len(bad_endpoint.requests) == 1


async def test_a_cancelled_request_closes_its_connection(bad_endpoint, client):
    bad_endpoint.then(replies.silence(30))
    asked = asyncio.create_task(client().send(HttpRequest(bad_endpoint.url), max_bytes=MOST))
    assert await asyncio.to_thread(bad_endpoint.has_got, 1)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    assert await asyncio.to_thread(bad_endpoint.is_idle)


# --- credentials -------------------------------------------------------------


async def test_headers_with_secrets_go_where_they_are_passed(bad_endpoint, client):
    sender = client()
    shown = Credentials({"Authorization": basic("me", f"{SECRET}ü")}, hidden=[SECRET, ""])
    await sender.send(HttpRequest(bad_endpoint.url), max_bytes=MOST, credentials=shown)
    await sender.send(HttpRequest(bad_endpoint.url), max_bytes=MOST)
    first, second = bad_endpoint.requests
    pair = base64.b64encode(f"me:{SECRET}ü".encode()).decode()
    assert first.headers["Authorization"] == f"Basic {pair}"
    assert "Authorization" not in second.headers
    assert shown.secrets == (SECRET,)


def test_credentials_of_several_kinds_have_their_headers_and_hide_their_secrets():
    login = basic("me", "pw")
    both = Credentials.of(token="t-1", key=("X-Key", "k-12"))
    assert both.headers == {"Authorization": "Bearer t-1", "X-Key": "k-12"}
    assert both.secrets == ("k-12", "t-1")
    assert Credentials.of(login=("me", "pw")).headers == {"Authorization": login}
    digest = Credentials.of(login=("me", "pw"), digest=True)
    assert (digest.headers, digest.digest) == ({}, ("me", "pw"))
    assert set(digest.secrets) == {"pw", login.removeprefix("Basic ")}
    assert Credentials.of() == Credentials()


async def test_a_digest_challenge_is_answered_and_remembered(bad_endpoint, client):
    challenge = 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'
    bad_endpoint.then(text("", 401, www_authenticate=challenge))
    sender, shown = client(), Credentials(digest=("me", SECRET))
    for _ in range(2):
        await sender.send(HttpRequest(bad_endpoint.url), max_bytes=MOST, credentials=shown)
    told = [asked.headers["Authorization"] for asked in bad_endpoint.requests]
    assert told[0] is None
    assert all(one.startswith('Digest username="me"') for one in told[1:])
    assert len(told) == 3
    bad_endpoint.always(text("", 401, www_authenticate='Digest realm="r", nonce="n", qop="x"'))
    other = Credentials(digest=("me", SECRET))
    assert (await failure(sender, bad_endpoint.url, credentials=other)).kind is Failure.UNUSABLE


def tokens(endpoint: BadEndpoint, *given: Any, refused: tuple[str, ...] = ()) -> None:
    """Make the endpoint return these tokens in turn at /token, and refuse some elsewhere."""
    left = iter(given)

    def answered(asked: replies.Asked) -> replies.Reply:
        if asked.target != "/token":
            return text("", 401 if asked.headers["Authorization"] in refused else 200)
        answer = next(left)
        if isinstance(answer, replies.Reply):
            return answer
        return text(json.dumps({"access_token": answer, "expires_in": 3600}))

    endpoint.always(answered)


def oauth(endpoint: BadEndpoint, scope: str | None = None) -> Credentials:
    url = urljoin(endpoint.url, "/token")
    return Credentials(oauth=OAuthClient(url, "c d", SecretStr(SECRET), scope))


async def test_a_token_is_fetched_once_and_again_after_it_was_refused(bad_endpoint, client):
    tokens(bad_endpoint, "one", "two", refused=("Bearer one",))
    shown, sender, request = oauth(bad_endpoint, "read"), client(), HttpRequest(bad_endpoint.url)
    got = await asyncio.gather(
        *(sender.send(request, max_bytes=MOST, credentials=shown) for _ in range(3))
    )
    assert [reply.status for reply in got] == [200] * 3
    asked = [one for one in bad_endpoint.requests if one.target == "/token"]
    assert len(asked) == 2
    assert asked[0].body == b"grant_type=client_credentials&scope=read"
    assert asked[0].headers["Authorization"] == basic("c+d", SECRET)
    assert shown.secrets == (SECRET, "two")


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (text('{"error": "invalid_client"}', 400), 400, "invalid_client"),
        (text('{"error": "no identifier!"}', 400), 400, ""),
        (text("[]"), 200, ""),
        (text("no JSON", 503), 503, ""),
        (text('{"access_token": "a\\nb"}'), 200, ""),
    ],
)
async def test_a_token_that_is_not_given_is_reported(bad_endpoint, client, answer, status, code):
    tokens(bad_endpoint, answer)
    with pytest.raises(TokenRefused) as caught:
        await client().send(
            HttpRequest(bad_endpoint.url), max_bytes=MOST, credentials=oauth(bad_endpoint)
        )
    assert (caught.value.status, caught.value.code) == (status, code)
    assert caught.value.request.url.endswith("/token")
    assert len(bad_endpoint.requests) == 1


# --- other servers -----------------------------------------------------------


async def test_redirects_are_followed_as_far_as_the_caller_allows(bad_endpoint, client):
    sender = client()
    send = lambda request: sender.send(request, max_bytes=MOST)

    def target(reply: HttpReply) -> str:
        assert reply.location is not None
        return urljoin(reply.request.url, reply.location)

    bad_endpoint.then(replies.redirect("/a", 302), replies.redirect("b")).always(text("here"))
    reply = await follow_redirects(HttpRequest(bad_endpoint.url), send, target)
    assert (reply.body, urlsplit(reply.request.url).path) == (b"here", "/b")
    bad_endpoint.always(replies.redirect("/again"))
    with pytest.raises(EndlessRedirects) as caught:
        await follow_redirects(HttpRequest(bad_endpoint.url), send, target, most=2)
    assert caught.value.request.url.endswith("/again")
    assert caught.value.reply.status == 307
    assert len(bad_endpoint.requests) == 3 + 3


async def test_a_private_address_is_asked_only_where_that_is_allowed(bad_endpoint, client):
    sender, request = client(), HttpRequest(bad_endpoint.elsewhere)
    with pytest.raises(PrivateAddress) as caught:
        await sender.send_public(request, max_bytes=MOST)
    assert caught.value.host == "localhost"
    assert not bad_endpoint.requests
    request = HttpRequest(bad_endpoint.url)
    reply = await sender.send_public(request, max_bytes=MOST, allow_private=True)
    assert (reply.status, reply.request) == (200, request)
    assert bad_endpoint.requests[0].headers["Host"] == urlsplit(request.url).netloc
    assert await asyncio.to_thread(bad_endpoint.is_idle), "no connection to a stranger is kept"


async def test_the_certificate_of_a_pinned_address_is_that_of_the_name(bad_tls_endpoint, client):
    sender = client(tls=tls_context(bad_tls_endpoint.ca))
    pinned = partial(sender.send_public, max_bytes=MOST, allow_private=True)
    assert (await pinned(HttpRequest(bad_tls_endpoint.url))).status == 200
    with pytest.raises(NoReply) as caught:
        await pinned(HttpRequest(bad_tls_endpoint.elsewhere))
    assert caught.value.kind in (Failure.UNTRUSTED, Failure.UNREACHABLE)  # localhost may be ::1


@pytest.mark.parametrize("variable", ["ALL_PROXY", "https_proxy"])
@pytest.mark.parametrize("proxy", ["socks5://user:secret@proxy:1080", "gopher://proxy"])
def test_a_proxy_that_cannot_be_used_is_named(monkeypatch, variable, proxy):
    monkeypatch.setenv(variable, proxy)
    monkeypatch.setitem(sys.modules, "socksio", None)
    with pytest.raises(ConfigurationError, match=f"{variable}=.*://proxy.* http://") as wrong:
        HttpClient()
    assert "secret" not in str(wrong.value)
