"""What an embedding service answered: a vector, or a sentence for the operator."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from bfsql.embedding.said import one_line
from bfsql.errors import EmbeddingFailed
from bfsql.settings import HIDDEN

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 4 * 1024 * 1024
"""An answer above this is none: 16,000 dimensions are half a megabyte."""


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, body and the two headers that matter."""

    status: int
    body: bytes
    retry_after: str | None = None
    location: str | None = None


async def read(response: httpx2.Response, name: str) -> Reply:
    """Take in an answer, and stop where it is too large to be one.

    Raises:
        EmbeddingFailed: It is too large.
    """
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > MOST_BYTES:
            raise EmbeddingFailed(
                f"{name} answered with more than {MOST_BYTES:,} bytes, which is no vector. "
                "Is the URL that of an OpenAI-compatible /embeddings?",
                lasting=True,
            )
    headers = response.headers
    return Reply(
        response.status_code, bytes(body), headers.get("retry-after"), headers.get("location")
    )


def vector_of(reply: Reply, name: str, *, key: str = "") -> Any:
    """What stands where the vector should.

    Args:
        reply: From `read`.
        name: What sentences call the service.
        key: Appears in no sentence; empty where none was sent.

    Raises:
        EmbeddingFailed: The answer is another one than a service gives that has a vector.
    """
    if reply.status != HTTPStatus.OK:
        raise _refused(reply, name, key)
    try:
        return json.loads(reply.body)["data"][0]["embedding"]
    except (ValueError, RecursionError) as error:
        raise EmbeddingFailed(
            f"{name} answered with something that is no JSON: {_quoted(reply.body, key)}. "
            "Is the URL that of an OpenAI-compatible /embeddings?",
            lasting=True,
        ) from error
    except (LookupError, TypeError) as error:
        raise EmbeddingFailed(
            f"{name} answered with JSON that has no data[0].embedding: "
            f"{_quoted(reply.body, key)}. Is the URL that of an OpenAI-compatible /embeddings?",
            lasting=True,
        ) from error


def _refused(reply: Reply, name: str, key: str) -> EmbeddingFailed:
    status = reply.status
    match status:
        case 401 | 403 if key:
            why = (
                f"refused the key ({status}). Give one that is good for it in embedding_key, "
                "BFSQL_EMBEDDING_KEY or OPENAI_API_KEY"
            )
        case 401 | 403:
            why = (
                f"wants a key ({status}), and none is given: set embedding_key, "
                "BFSQL_EMBEDDING_KEY or OPENAI_API_KEY"
            )
        case 301 | 302 | 303 | 307 | 308 if reply.location is not None:
            to = _plain(reply.location.partition("?")[0], key)
            why = f"sends elsewhere ({status}, to {to}), where nothing is sent: give that URL"
        case 429 | 503:
            later = f", Retry-After: {reply.retry_after}" if reply.retry_after else ""
            why = f"is too busy ({status}{later}): {_quoted(reply.body, key)}"
        case _:
            why = f"answered {status}: {_quoted(reply.body, key)}"
    passing = status in (408, 425, 429) or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return EmbeddingFailed(f"{name} {why}.", lasting=not passing)


def _quoted(body: bytes, key: str) -> str:
    """The beginning of what the service says; its `error.message`, where it has one."""
    text = body.decode("utf-8", errors="replace")
    try:
        said = json.loads(text)
        error = said.get("error", said)
        text = str(error.get("message", text) if isinstance(error, dict) else error)
    except (ValueError, AttributeError, RecursionError):
        pass
    return repr(_plain(text, key)) if text.strip() else "nothing"


def _plain(text: str, key: str) -> str:
    """One line, and without the key, should the service have repeated it."""
    return one_line(text.replace(key, HIDDEN) if key else text)
