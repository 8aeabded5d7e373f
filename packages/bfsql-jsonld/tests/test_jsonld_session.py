"""The session: credentials, retries, caching, and where nothing is sent."""

import asyncio
import base64
import json
import time
from importlib.metadata import version
from importlib.util import find_spec

import pytest

from bfsql import call
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql_jsonld import JsonLdBackend
from bfsql_test_support.servers import bad_replies as replies
from bfsql_test_support.servers.port import free_port
from bfsql_test_support.servers.web import WebServer

NODE = {"id": "a", "@type": "T"}
SECRET = "hush-hush-1"
AGENT = f"bfsql-jsonld/{version('bfsql-jsonld')}"


def node(**headers):
    return replies.Reply(200, json.dumps(NODE).encode(), "application/json", headers)


async def told(backend):
    """The text of the error that a request raises."""
    with pytest.raises(StoreError) as caught:
        await backend.get_node("a")
    assert SECRET not in str(caught.value)
    return str(caught.value)


async def test_requests_say_who_asks(each, opened, pages):
    for settings, header, value in [
        ({"token": SECRET}, "authorization", f"Bearer {SECRET}"),
        ({"api_key": SECRET}, "x-api-key", SECRET),
        ({"api_key": SECRET, "api_key_header": "Key"}, "key", SECRET),
        (
            {"username": "me", "password": f"{SECRET}ü"},
            "authorization",
            f"Basic {base64.b64encode(f'me:{SECRET}ü'.encode()).decode()}",
        ),
        ({"headers": {"NGSILD-Tenant": "t1"}}, "ngsild-tenant", "t1"),
        ({"contact": "me@ex.test"}, "user-agent", f"{AGENT} (me@ex.test)"),
    ]:
        with each(settings, header, value):
            pages["/entities/a"] = NODE
            await (await opened(**settings)).get_node("a")
            assert pages.asked[-1][1][header] == value


async def test_secrets_come_from_the_environment(opened, pages, monkeypatch):
    monkeypatch.setenv("JSONLD_TOKEN", SECRET)
    pages["/entities/a"] = NODE
    await (await opened()).get_node("a")
    assert pages.asked[0][1]["authorization"] == f"Bearer {SECRET}"


async def test_a_backend_is_made_of_an_address_alone(opened, pages, monkeypatch):
    pages["/entities/a"] = NODE
    address = (await opened())._settings.base_url
    monkeypatch.setenv("JSONLD_TOKEN", SECRET)
    for backend in (JsonLdBackend(address), JsonLdBackend(base_url=address)):
        assert (await backend.get_node("a")).id
        await backend.close()
    assert pages.asked[0][1]["authorization"] == f"Bearer {SECRET}"
    with pytest.raises(ConfigurationError, match="password"):
        JsonLdBackend("http://me:secret@x.test/api")


async def test_oauth_fetches_a_token_and_renews_it(opened, pages, web):
    given = iter(("one", "two", "three"))

    def token(headers, body):
        assert body == b"grant_type=client_credentials&scope=read"
        assert (
            headers["authorization"] == f"Basic {base64.b64encode(f'c:{SECRET}'.encode()).decode()}"
        )
        return {"access_token": next(given), "token_type": "Bearer", "expires_in": 3600}

    good = {"Bearer one", "Bearer two"}
    pages["/token"] = token
    pages["/entities/a"] = lambda headers, body: (
        NODE if headers["authorization"] in good else (401, {}, {"detail": "expired"})
    )
    backend = await opened(
        oauth_url=f"{web.url}/token", oauth_client="c", oauth_secret=SECRET, oauth_scope="read"
    )
    await asyncio.gather(*[backend.get_node("a") for _ in range(3)])
    assert pages.targets.count("/token") == 1
    good.discard("Bearer one")  # revoked before it expires
    assert (await backend.get_node("a")).id == "a"
    assert pages.targets.count("/token") == 2
    good.clear()
    assert "refused (401)" in await told(backend)


async def test_a_token_that_is_refused_is_reported(opened, pages, web):
    pages["/token"] = (400, {}, {"error": "invalid_client", "hint": SECRET})
    backend = await opened(oauth_url=f"{web.url}/token", oauth_client="c", oauth_secret=SECRET)
    assert "did not issue a token: it returned 400 (invalid_client)" in await told(backend)


async def test_a_login_that_does_not_answer_is_called_by_its_own_name(opened, pages, web):
    away = f"http://127.0.0.1:{free_port()}"
    backend = await opened(oauth_url=f"{away}/t", oauth_client="c", oauth_secret=SECRET, retries=0)
    with pytest.raises(StoreUnavailable, match=f"{away} cannot be reached"):
        await backend.get_node("a")
    assert pages.asked == []


async def test_a_login_that_is_busy_is_asked_again(opened, pages, web):
    answers = iter([(503, {}, b"busy"), {"access_token": "one"}])
    pages["/token"] = lambda headers, body: next(answers)
    pages["/entities/a"] = NODE
    login = {"oauth_url": f"{web.url}/token", "oauth_client": "c", "oauth_secret": SECRET}
    assert (await (await opened(**login)).get_node("a")).id == "a"
    pages["/token"] = (429, {}, b"later")
    with pytest.raises(StoreUnavailable, match="/token did not issue a token: it returned 429"):
        await (await opened(**login, retries=1)).get_node("a")


async def test_a_refusal_is_for_the_operator_and_repeats_no_secret(each, opened, pages):
    for status in [401, 403]:
        with each(status):
            pages["/entities/a"] = (status, {}, {"detail": f"bad token {SECRET}"})
            assert f"refused ({status})" in await told(await opened(token=SECRET))
            assert "Set token" in await told(await opened())
            pages["/entities/a"] = (500, {}, {"detail": f"bad token {SECRET}"})
            assert "bad token **********" in await told(await opened(token=SECRET))


async def test_settings_that_cannot_be_used_are_refused_without_their_secrets(each):
    for settings in [
        {"token": SECRET, "username": "a", "password": SECRET},
        {"username": "a"},
        {"oauth_url": "https://id.test/token"},
        {"token": f"{SECRET}\n{SECRET}ü"},
        {"base_url": "ftp://ex.test"},
        {"base_url": "nothing"},
        {"base_url": f"https://me:{SECRET}@ex.test"},
        {"ca_file": "/nowhere/ca.pem"},
    ]:
        with each(settings):
            with pytest.raises(ConfigurationError) as caught:
                await JsonLdBackend.create(**{"base_url": "https://ex.test", **settings})
            assert SECRET not in str(caught.value)


async def test_a_busy_server_is_asked_again_when_it_says(each, opened, endpoint):
    for status in [429, 503]:
        with each(status):
            endpoint.requests.clear()
            endpoint.then(replies.refused(status, retry_after="0.2")).always(node())
            backend = await opened(endpoint.url)
            assert (await backend.get_node("a")).id == "a"
            first, second = endpoint.requests
            assert second.when - first.when >= 0.2


async def test_waiting_longer_than_the_deadline_is_not_begun(opened, endpoint):
    endpoint.always(replies.refused(429, "slow down", retry_after="90"))
    backend = await opened(endpoint.url)
    began = time.monotonic()
    with call.scope(seconds=60), pytest.raises(StoreUnavailable, match=r"429 .*slow down"):
        await backend.get_node("a")
    assert time.monotonic() - began < 30


async def test_what_breaks_off_is_asked_again(each, opened, endpoint):
    for broken in [replies.reset(), replies.short(node()), replies.refused(502)]:
        with each(broken):
            endpoint.then(broken).always(node())
            assert (await (await opened(endpoint.url)).get_node("a")).id == "a"


async def test_what_fails_each_time_is_unavailable_and_the_next_call_works(opened, endpoint):
    endpoint.then(replies.reset(), replies.reset()).always(node())
    backend = await opened(endpoint.url, retries=1)
    with pytest.raises(StoreUnavailable, match="was interrupted"):
        await backend.get_node("a")
    assert (await backend.get_node("a")).id == "a"


async def test_the_deadline_of_the_call_ends_a_request(opened, endpoint):
    endpoint.then(replies.silence(10)).always(node())
    backend = await opened(endpoint.url)
    with (
        call.scope(seconds=0.2),
        pytest.raises(StoreUnavailable, match=r"that remained for this call"),
    ):
        await backend.get_node("a")
    assert (await backend.get_node("a")).id == "a"


async def test_the_time_for_one_request_ends_it_where_no_deadline_is_nearer(opened, endpoint):
    endpoint.then(replies.silence(10)).always(node())
    backend = await opened(endpoint.url, request_timeout=0.2)
    with pytest.raises(StoreUnavailable, match=r"within 0\.2 s \(request_timeout\)"):
        await backend.get_node("a")


async def test_a_cancelled_question_closes_its_connection(opened, endpoint):
    endpoint.always(replies.silence(60))
    backend = await opened(endpoint.url)
    await endpoint.cancels(backend.get_node("a"))


async def test_no_more_requests_are_under_way_than_were_allowed(opened, endpoint):
    endpoint.always(replies.silence(0.05, node()))
    backend = await opened(endpoint.url, max_concurrent=3)
    await asyncio.gather(*[backend.get_node(str(number)) for number in range(9)])
    assert endpoint.most_at_once == 3


async def test_connections_are_kept_and_closed_with_the_backend(opened, endpoint):
    endpoint.always(node())
    backend = await opened(endpoint.url)
    for number in range(3):
        await backend.get_node(str(number))
    assert endpoint.open == 1
    await backend.close()
    assert await asyncio.to_thread(endpoint.is_idle)
    with pytest.raises(StoreError, match="was closed"):
        await backend.get_node("a")


async def test_an_answer_without_end_is_stopped_at_the_bound(opened, endpoint):
    endpoint.then(replies.endless(node())).always(node())
    backend = await opened(endpoint.url, max_response_bytes=100_000)
    assert "more than 100,000 bytes" in await told(backend)
    assert (await backend.get_node("a")).id == "a"


async def test_redirects_are_followed_on_the_same_host_with_the_token(opened, pages):
    pages["/entities/a"] = (302, {"location": "/moved"}, {})
    pages["/moved"] = NODE
    await (await opened(token=SECRET)).get_node("a")
    assert [headers.get("authorization") for _, headers, _ in pages.asked] == [
        f"Bearer {SECRET}"
    ] * 2


async def test_redirects_to_another_host_are_not_followed(opened, pages, web):
    pages["/entities/a"] = (302, {"location": f"http://localhost:{web.port}/moved"}, {})
    assert f"http://localhost:{web.port}, which is refused" in await told(
        await opened(token=SECRET)
    )
    assert len(pages.asked) == 1


async def test_a_host_that_is_allowed_gets_no_credentials(opened, pages, web):
    pages["/moved"] = NODE
    with WebServer() as other:
        other.serve(web._app)
        pages["/entities/a"] = (302, {"location": f"http://127.0.0.1:{other.port}/moved"}, {})
        backend = await opened(token=SECRET, headers={"X-Own": "1"}, follow_hosts=["127.0.0.1"])
        assert "private address 127.0.0.1" in await told(backend)
        backend = await opened(
            token=SECRET, headers={"X-Own": "1"}, follow_hosts=["127.0.0.1"], allow_private=True
        )
        assert (await backend.get_node("a")).id == "a"
        assert other.requests == [("GET", "/moved")]
    target, headers, _ = pages.asked[-1]
    assert target == "/moved"
    assert not {"authorization", "x-own"} & headers.keys()
    assert headers["host"] == f"127.0.0.1:{other.port}"


async def test_redirects_without_end_are_an_error(opened, pages):
    pages["/entities/a"] = (302, {"location": "/entities/a"}, {})
    assert "redirected more than" in await told(await opened())


async def test_the_backend_itself_keeps_no_answer(opened, pages):
    pages["/entities/a"] = (200, {"cache-control": "max-age=60", "etag": '"1"'}, NODE)
    backend = await opened()
    for _ in range(2):
        await backend.get_node("a")
    assert [headers.get("if-none-match") for _, headers, _ in pages.asked] == [None, None]


async def test_http_2_is_spoken_with_tls_where_the_library_is_there(opened, endpoint):
    backend = await opened(endpoint.url)
    endpoint.always(node())
    await backend.get_node("a")
    pool = backend.session._client._pooled._transport._pool
    assert pool._http2 is (find_spec("h2") is not None)


async def test_a_ping_asks_once_for_the_head_of_the_base_url(opened, bad_endpoint):
    backend = await opened(base_url=bad_endpoint.url)
    bad_endpoint.always(replies.refused(404))  # a 404 counts as an answer
    with call.scope(request_id="one-1"):
        await backend.ping()
    bad_endpoint.always(replies.refused(429, "busy", retry_after="7"))
    with pytest.raises(StoreUnavailable) as busy:
        await backend.ping()
    assert busy.value.retry_after == 7
    asked = [(request.method, request.headers["X-Request-Id"]) for request in bad_endpoint.requests]
    assert asked == [("HEAD", "one-1"), ("HEAD", None)]
    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await (await opened(base_url=f"http://127.0.0.1:{free_port()}")).ping()
