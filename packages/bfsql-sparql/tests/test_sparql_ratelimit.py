"""Rate limits: concurrent queries, delays, retries, and identification of the client."""

import asyncio
import sys
import time
from importlib.metadata import version

import pytest

from bfsql import call
from bfsql.errors import ConfigurationError, StoreError, StoreUnavailable
from bfsql_sparql import SparqlBackend
from bfsql_sparql.dataset import TooSlow, truth
from bfsql_test_support.servers.bad_replies import Reply, boolean, refused, reset, silence

YES = boolean(True)


async def test_requests_name_the_project_and_whom_to_write_to(bad_endpoint, opened):
    await (await opened(bad_endpoint.url, contact="mailto:me@x.test")).reply("ASK {}")
    await (await opened(bad_endpoint.url)).reply("ASK {}")
    named = f"bfsql-sparql/{version('bfsql-sparql')}"
    told = [request.headers["User-Agent"] for request in bad_endpoint.requests]
    assert told == [f"{named} (+mailto:me@x.test)", named]


async def test_a_contact_that_fits_no_header_is_refused(each, opened):
    sentence = r"contact is .*in ASCII, on one line"
    for contact in ["Ünal <u@x.test>", "a\r\nX-Other: b"]:
        with each(contact), pytest.raises(ConfigurationError, match=sentence):
            await opened("http://127.0.0.1:9/sparql", contact=contact)


async def test_no_more_are_asked_at_once_than_the_setting_says(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.always(silence(0.1, YES)).url, max_concurrent=2)
    await asyncio.gather(*(endpoint.reply("ASK {}") for _ in range(6)))
    assert bad_endpoint.most_at_once == 2


async def test_requests_start_a_delay_apart(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.always(YES).url, request_delay=0.5)
    began = time.monotonic()
    await asyncio.gather(*(endpoint.reply("ASK {}") for _ in range(4)))
    # A busy machine delays the arrival of requests, and never makes it earlier.
    waits = sorted(request.when - began for request in bad_endpoint.requests)
    assert all(wait >= 0.5 * place for place, wait in enumerate(waits))


async def test_retry_after_is_obeyed_and_then_the_answer_comes(each, bad_endpoint, opened):
    for status in [429, 502, 503, 504]:
        with each(status):
            bad_endpoint.requests.clear()
            bad_endpoint.then(refused(status, "busy", retry_after="1")).always(YES)
            assert truth((await (await opened(bad_endpoint.url)).reply("ASK {}")).body)
            first, second = bad_endpoint.requests
            assert second.when - first.when > 0.95


async def test_retry_after_holds_all_other_requests_too(bad_endpoint, opened):
    bad_endpoint.then(refused(429, retry_after="1")).always(YES)
    endpoint = await opened(bad_endpoint.url)
    first = asyncio.create_task(endpoint.reply("ASK {}"))
    assert await asyncio.to_thread(bad_endpoint.has_got, 1)
    await asyncio.sleep(0.1)  # the answer is on its way
    await asyncio.gather(first, endpoint.reply("ASK {}"), endpoint.reply("ASK {}"))
    began, *later = [request.when for request in bad_endpoint.requests]
    assert all(when - began > 0.95 for when in later)
    assert len(later) == 3


async def test_a_wait_that_ends_after_the_deadline_is_not_begun(bad_endpoint, opened):
    bad_endpoint.always(refused(429, "Too many", retry_after="60"))
    endpoint = await opened(bad_endpoint.url)
    began = time.monotonic()
    with pytest.raises(StoreUnavailable, match=r"429, Retry-After: 60, 'Too many'") as caught:
        await endpoint.reply("ASK {}", 40)
    assert not isinstance(caught.value, TooSlow)
    with (
        call.scope(seconds=20),
        pytest.raises(StoreUnavailable, match=r"requested no further queries before \d\d s"),
    ):
        await endpoint.reply("ASK {}")
    assert time.monotonic() - began < 20
    assert len(bad_endpoint.requests) == 1, "it is left alone meanwhile"


async def test_what_may_pass_is_asked_again_as_often_as_the_setting_says(
    each, bad_endpoint, opened
):
    for status in [429, 502, 503, 520]:
        with each(status):
            bad_endpoint.requests.clear()
            bad_endpoint.always(refused(status, "busy"))
            with pytest.raises(StoreUnavailable, match=f"too busy.*{status}, 'busy'"):
                await (await opened(bad_endpoint.url, retries=1)).reply("ASK {}")
            first, second = bad_endpoint.requests
            assert second.when - first.when > 0.2


async def test_what_will_not_pass_is_not_asked_again(each, bad_endpoint, opened):
    for status in [400, 401, 403, 404, 500]:
        with each(status):
            bad_endpoint.requests.clear()
            bad_endpoint.always(refused(status, "no", retry_after="0"))
            with pytest.raises(StoreError):
                await (await opened(bad_endpoint.url)).reply("ASK {}")
            assert len(bad_endpoint.requests) == 1


async def test_a_connection_that_broke_off_is_made_again_at_once(bad_endpoint, opened, monkeypatch):
    retrying = sys.modules["bfsql.http.retry"]  # the package has a function of the same name
    monkeypatch.setattr(retrying, "backoff", lambda _: 60.0)
    bad_endpoint.then(YES, reset(), Reply(None, ending="close")).always(YES)
    endpoint = await opened(bad_endpoint.url)
    await endpoint.reply("ASK {}")
    assert truth((await endpoint.reply("ASK {}")).body)
    times = [request.when for request in bad_endpoint.requests]
    assert len(times) == 4
    assert times[-1] - times[1] < 30


async def test_a_connection_that_always_breaks_off_is_reported(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.always(reset()).url)
    with pytest.raises(StoreUnavailable, match="closed the connection"):
        await endpoint.reply("ASK {}")
    assert len(bad_endpoint.requests) == 3


async def test_a_ping_is_sent_once_and_waits_for_no_pause(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.url)
    bad_endpoint.always(refused(429, "busy", retry_after="3600"))
    with pytest.raises(StoreUnavailable) as limited:
        await endpoint.reply("ASK {}", 0.5)
    assert limited.value.retry_after == 3_600
    with pytest.raises(StoreUnavailable, match="too busy"):
        await endpoint.ping()
    assert len(bad_endpoint.requests) == 2
    bad_endpoint.always(YES)
    await endpoint.ping()
    await endpoint.reply("ASK {}", 0.5)  # the pause is over for all queries


async def test_requests_carry_the_id_of_the_call(bad_endpoint, opened):
    endpoint = await opened(bad_endpoint.always(YES).url)
    with call.scope(request_id="one-1"):
        await endpoint.reply("ASK {}")
    await endpoint.reply("ASK {}")
    ids = [request.headers["X-Request-Id"] for request in bad_endpoint.requests]
    assert ids == ["one-1", None]


async def test_an_endpoint_that_takes_updates_is_reported(oxigraph, bad_endpoint):
    async def reason(**settings):
        backend = await SparqlBackend.create(**settings)
        try:
            return await backend.may_write()
        finally:
            await backend.close()

    told = await reason(endpoint=oxigraph.query_url)
    assert f"states that it accepts updates at {oxigraph.update_url}" in str(told)
    bad_endpoint.always(YES)
    assert await reason(endpoint=bad_endpoint.url) is None
    assert {request.method for request in bad_endpoint.requests} == {"GET", "POST"}
    assert not any("update" in request.fields for request in bad_endpoint.requests)
    set_here = await reason(endpoint=bad_endpoint.url, update_endpoint="http://x.test/update?key=1")
    assert "update_endpoint is set, to http://x.test/update, which" in str(set_here)
