"""An OpenAI-compatible service: the requests sent to it, and the handling of its answers."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from bfsql import call
from bfsql.embedding import Embedder, EmbeddingFailed, EmbeddingSettings, open_embedder
from bfsql.embedding.service import MAX_BYTES, endpoint
from bfsql.errors import ConfigurationError
from bfsql_test_support.servers.embedding_service import PlayedService, Said, json_body, vector

KEY = "sk-not-for-others"
Opened = Callable[..., Embedder]


@pytest.fixture
async def opened(service: PlayedService) -> AsyncIterator[Opened]:
    """Makes embedders that use the service, and closes them at the end."""
    async with AsyncExitStack() as stack:

        def embedder(**given: Any) -> Embedder:
            settings = EmbeddingSettings(**{"embedding": service.url, **given})
            made = open_embedder(settings)
            assert made is not None
            stack.push_async_callback(made.close)
            return made

        yield embedder


async def failure(asked: Awaitable[Any]) -> EmbeddingFailed:
    with pytest.raises(EmbeddingFailed) as failed:
        await asked
    return failed.value


async def test_the_service_is_asked_for_a_text_with_model_key_and_dimensions(service, opened):
    embed = opened(embedding_model="small", embedding_key=KEY, embedding_dimensions=2)
    assert await embed("hormone that stops urination") == [0.6, 0.8]
    (asked,) = service.asked
    assert asked.path == "/v1/embeddings"
    assert asked.body == {
        "model": "small",
        "dimensions": 2,
        "input": "hormone that stops urination",
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"


async def test_what_is_not_configured_is_not_sent(service, opened):
    await opened()("a")
    assert service.asked[0].body == {"input": "a"}
    assert "authorization" not in service.asked[0].headers


async def test_a_connection_serves_many_texts(service, opened):
    embed = opened()
    for text in "abc":
        await embed(text)
    assert len({asked.connection for asked in service.asked}) == 1


async def test_a_text_that_was_just_asked_is_not_asked_again(service, opened):
    embed = opened()
    first = await embed("a")
    first.append(7)  # the caller changes its copy
    assert await embed("a") == [0.6, 0.8]
    for number in range(256):
        await embed(str(number))
    assert len(service.asked) == 257
    await embed("a")
    assert len(service.asked) == 258


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("https://host/v1", "https://host/v1/embeddings"),
        ("https://host/v1/", "https://host/v1/embeddings"),
        ("https://host/v1/embeddings", "https://host/v1/embeddings"),
        ("https://host", "https://host/v1/embeddings"),
        ("http://[::1]:11434/v1", "http://[::1]:11434/v1/embeddings"),
        ("https://host/openai/v1?api-version=1", "https://host/openai/v1/embeddings?api-version=1"),
    ],
)
def test_the_base_of_a_service_is_enough(given, asked):
    assert endpoint(given) == asked


@pytest.mark.parametrize("url", ["https://", "https://host:port/v1", "https://[host/v1"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigurationError, match="embedding is"):
        open_embedder(EmbeddingSettings(embedding=url))


def test_a_password_in_the_url_is_refused_without_being_repeated():
    with pytest.raises(ConfigurationError, match="embedding_key") as refused:
        open_embedder(EmbeddingSettings(embedding=f"https://me:{KEY}@host/v1"))
    assert KEY not in str(refused.value)


def test_a_key_that_no_header_can_carry_is_refused_without_being_repeated():
    with pytest.raises(ConfigurationError, match="embedding_key") as refused:
        open_embedder(EmbeddingSettings(embedding="https://host/v1", embedding_key=f"{KEY}\nX: y"))
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_said_without_the_key(service, opened, status):
    service.says(json_body(status, {"error": {"message": f"bad key {KEY}"}}))
    said = await failure(opened(embedding_key=KEY)("a"))
    assert f"refused the key ({status})" in str(said)
    assert KEY not in str(said)
    assert said.lasting
    assert "requires a key" in str(await failure(opened()("a")))


async def test_a_busy_service_is_asked_once_more_when_it_says_when(service, opened):
    service.says(json_body(429, {}, Retry_After="0"), vector(1, 0))
    assert await opened()("a") == [1, 0]
    past = format_datetime(datetime.now(UTC) - timedelta(seconds=5), usegmt=True)
    service.says(json_body(503, {}, Retry_After=past), vector(0, 1))
    assert await opened()("b") == [0, 1]
    assert len(service.asked) == 4


@pytest.mark.parametrize(
    "headers", [{}, {"Retry_After": "3600"}, {"Retry_After": "soon"}, {"Retry_After": "nan"}]
)
async def test_a_busy_service_is_not_waited_for_longer_than_there_is_time(service, opened, headers):
    service.says(json_body(429, {"error": {"message": "slow down"}}, **headers))
    said = await failure(opened()("a"))
    assert "too busy (429" in str(said)
    assert "slow down" in str(said)
    assert not said.lasting
    assert len(service.asked) == 1


async def test_a_service_that_stays_busy_is_asked_twice_and_no_more(service, opened):
    service.says(json_body(503, {}, Retry_After="0"))
    await failure(opened()("a"))
    assert len(service.asked) == 2


DATA = {"data": [{"embedding": []}]}


@pytest.mark.parametrize(
    ("answer", "says", "lasting"),
    [
        (json_body(500, {"error": "no memory"}), "answered 500: 'no memory'", False),
        (json_body(404, {"error": {"message": f"no model {KEY}"}}), "answered 404: 'no mod", True),
        (Said(502, b""), "answered 502: nothing", False),
        (Said(200, b"<html>\n<p>Welcome"), "not JSON: '<html> <p>Welcome'", True),
        (Said(200, b"[" * 100_000), "not JSON", True),
        (Said(200, b"\xff\xfe"), "not JSON", True),
        (json_body(200, {"vector": [1]}), "without data[0].embedding", True),
        (json_body(200, {"data": []}), "without data[0].embedding", True),
        (json_body(200, 7), "without data[0].embedding", True),
        (json_body(200, DATA), "an empty list", True),
        (json_body(200, {"data": [{"embedding": "AACAPwAAAEA="}]}), "the type str", True),
        (json_body(200, {"data": [{"embedding": [[1, 2]]}]}), "the type list of length 2", True),
        (json_body(200, {"data": [{"embedding": [1, None]}]}), "contains nothing (None)", True),
        (json_body(200, {"data": [{"embedding": [1, True]}]}), "the type bool", True),
        (vector(1, float("nan")), "not finite", True),
        (vector(0, 0), "zero", True),
        (Said(200, b" " * (MAX_BYTES + 1)), "more than 4,194,304 bytes", True),
        (Said(307, b"", {"Location": "https://other/v1?x=y"}), "(307, to https://other/v1)", True),
    ],
)
async def test_any_other_answer_is_a_sentence_and_the_next_text_is_asked(
    service, opened, answer, says, lasting
):
    service.says(answer, vector(1, 0))
    embed = opened(embedding_key=KEY)
    said = await failure(embed("a"))
    assert says in str(said)
    assert str(said).startswith(f"The embedding service at {service.url}/embeddings ")
    assert KEY not in str(said)
    assert said.lasting is lasting
    assert await embed("a") == [1, 0]


async def test_a_vector_of_another_length_than_the_first_is_refused(service, opened):
    service.says(vector(1, 0), vector(1, 0, 0))
    embed = opened()
    assert await embed.probe() == 2
    assert "of 3 dimensions instead of 2" in str(await failure(embed("a")))


async def test_a_model_that_does_not_give_the_dimensions_asked_for_is_refused_at_opening(
    service, opened
):
    with pytest.raises(ConfigurationError, match="2 dimensions instead of 256"):
        await opened(embedding_dimensions=256).probe()


async def test_probing_says_what_is_configured_wrong_and_leaves_what_may_pass(service, opened):
    service.says(json_body(401, {}))
    with pytest.raises(ConfigurationError, match="requires a key"):
        await opened().probe()
    service.says(json_body(500, {}), vector(1, 0))
    embed = opened()
    await failure(embed.probe())
    assert embed.dimensions is None
    assert await embed.probe() == 2
    assert embed.dimensions == 2


async def test_a_slow_service_is_given_up_in_time(service, opened):
    now = threading.Event()
    service.says(Said(200, vector(1, 0).body, after=now), vector(0, 1))
    embed = opened(embedding_timeout=0.2)
    started = time.monotonic()
    said = await failure(embed("a"))
    assert time.monotonic() - started < 30  # the service never answers
    assert "a vector within 0.2 s" in str(said)
    assert not said.lasting
    assert await embed("a") == [0, 1]
    now.set()


async def test_half_of_the_calls_time_is_left_to_the_store(service, opened):
    now = threading.Event()
    service.says(Said(200, vector(1, 0).body, after=now))
    with call.scope(seconds=2):
        await failure(opened()("a"))
        remaining = call.remaining()
    now.set()
    assert remaining is not None
    assert remaining > 0.5


async def test_a_service_that_is_not_there_is_said_to_be_so(opened):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = await failure(opened(embedding=f"http://127.0.0.1:{port}/v1")("a"))
    assert f"127.0.0.1:{port}/v1/embeddings cannot be reached" in str(said)
    assert not said.lasting


async def test_a_connection_that_breaks_off_is_said_to_be_so(opened):
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        said = await failure(opened(embedding=f"http://127.0.0.1:{port}/v1")("a"))
    assert "closed the connection" in str(said)


async def test_a_closed_embedder_says_so(opened):
    embed = opened()
    await embed("a")
    await embed.close()
    assert "is closed" in str(await failure(embed("a")))


async def test_a_cancelled_call_lets_go_of_the_service(service, opened):
    now = threading.Event()
    service.says(Said(200, vector(1, 0).body, after=now), vector(0, 1))
    embed = opened()
    task = asyncio.ensure_future(embed("a"))
    assert await asyncio.to_thread(service.was_asked.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await embed("a") == [0, 1]
    now.set()


async def test_a_key_that_travels_unencrypted_is_warned_of(opened, caplog):
    far = {"embedding": "http://models.invalid/v1", "embedding_timeout": 5}
    await failure(opened(**far, embedding_key=KEY)("a"))
    assert "unencrypted; use an https URL" in caplog.text
    assert KEY not in caplog.text


async def test_texts_of_any_kind_arrive_as_they_are(service, opened):
    embed = opened()
    texts = ["größe 🧪", "\x00", '"quoted"\n', "x" * 100_000]
    for text in texts:
        await embed(text)
    assert [asked.body["input"] for asked in service.asked] == texts
