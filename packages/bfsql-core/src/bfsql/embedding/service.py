"""An OpenAI-compatible embedding service, over HTTP.

`POST {"model": ..., "input": text}` to `.../embeddings`; the answer's
`data[0].embedding` is the vector. This protocol is used by OpenAI, Ollama, vLLM,
llama.cpp, Text Embeddings Inference, LM Studio and most others.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from http import HTTPStatus
from typing import Any

from pydantic import SecretStr

from bfsql.errors import ConfigurationError, EmbeddingFailed
from bfsql.http import (
    Credentials,
    Failure,
    HttpClient,
    HttpReply,
    HttpRequest,
    NoReply,
    ReplyTooLarge,
    fits_header,
    hide_secrets,
    is_unencrypted,
    one_line,
    split_setting,
)

log = logging.getLogger("bfsql")

MAX_BYTES = 4 * 1024 * 1024
"""Maximum size of an answer: 16,000 dimensions are half a megabyte."""

_BUSY = (429, 503)
_MAY_PASS = (408, 425, 429)  # in addition to 5xx


class Service:
    """A service at a URL; its connections stay open between texts.

    Args:
        url: The whole URL, or only the base of the service: `https://host/v1`.
        model: The model to request from the service; None sends none.
        key: Sent as a bearer token only to this URL.
        dimensions: Length of the vectors to request; None sends none.

    Raises:
        ConfigurationError: The URL or the key cannot be used.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        key: SecretStr | None = None,
        dimensions: int | None = None,
    ) -> None:
        self._url = endpoint(url)
        self.name = f"The embedding service at {self._url.partition('?')[0]}"
        fields = {"model": model, "dimensions": dimensions}
        self._fields = {field: value for field, value in fields.items() if value is not None}
        token = key.get_secret_value().strip() if key is not None else ""
        if token and not fits_header(token):
            raise ConfigurationError(
                f"The key for {self.name.removeprefix('The ')} contains characters that are not "
                "allowed in a key: check embedding_key."
            )
        self._credentials = Credentials.of(token=token or None)
        self._client: HttpClient | None = None

    async def open(self) -> None:
        """Create the client, in the event loop that will use it."""
        if self._credentials.secrets and is_unencrypted(self._url):
            log.warning("The key is sent to %s unencrypted; use an https URL.", self.name)
        self._client = HttpClient(headers={"Accept-Encoding": "identity"})

    async def embed(self, text: str, seconds: float) -> Any:
        """Request one text; once more if the service specifies a wait that ends in time."""
        ends = time.monotonic() + seconds
        reply = await self._post(text)
        wait = reply.retry_after if reply.status in _BUSY else None
        if wait is not None and time.monotonic() + wait < ends:
            await asyncio.sleep(wait)
            reply = await self._post(text)
        return self._vector(reply)

    async def close(self) -> None:
        """Close its connections."""
        if self._client is not None:
            await self._client.close()

    async def _post(self, text: str) -> HttpReply:
        assert self._client is not None  # it is opened first
        body = {**self._fields, "input": text}
        request = HttpRequest(
            self._url,
            "POST",
            json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
            {"Accept": "application/json", "Content-Type": "application/json"},
        )
        try:
            # Redirects are not followed: they would send text and key elsewhere.
            return await self._client.send(
                request, max_bytes=MAX_BYTES, credentials=self._credentials
            )
        except NoReply as error:
            raise self._no_reply(error) from error
        except ReplyTooLarge as error:
            raise EmbeddingFailed(
                f"{self.name} answered with more than {MAX_BYTES:,} bytes, which is too much for "
                "a vector. Is it the URL of an OpenAI-compatible /embeddings?",
                lasting=True,
            ) from error

    def _no_reply(self, error: NoReply) -> EmbeddingFailed:
        if error.kind is Failure.CLOSED:
            return EmbeddingFailed(f"{self.name} is closed.")
        if error.is_connecting:
            return EmbeddingFailed(
                f"{self.name} cannot be reached ({error.detail}). Is it running, and is the URL "
                "right?"
            )
        return EmbeddingFailed(f"{self.name} closed the connection: {error.detail}.")

    def _vector(self, reply: HttpReply) -> Any:
        """The value in the vector's place; without one, an error that quotes the reply."""
        if reply.status != HTTPStatus.OK:
            raise self._refused(reply)
        try:
            return json.loads(reply.body)["data"][0]["embedding"]
        except (ValueError, RecursionError, LookupError, TypeError) as error:
            parsed = not isinstance(error, (ValueError, RecursionError))
            what = "JSON without data[0].embedding" if parsed else "something that is not JSON"
            raise EmbeddingFailed(
                f"{self.name} answered with {what}: {self._quoted(reply.body)}. Is it the URL of "
                "an OpenAI-compatible /embeddings?",
                lasting=True,
            ) from error

    def _refused(self, reply: HttpReply) -> EmbeddingFailed:
        status = reply.status
        match status:
            case 401 | 403 if self._credentials.secrets:
                why = (
                    f"refused the key ({status}). Set a valid one in embedding_key, "
                    "BFSQL_EMBEDDING_KEY or OPENAI_API_KEY"
                )
            case 401 | 403:
                why = (
                    f"requires a key ({status}), but none is set: set embedding_key, "
                    "BFSQL_EMBEDDING_KEY or OPENAI_API_KEY"
                )
            case _ if reply.location is not None:
                to = self._bare(reply.location.partition("?")[0])
                why = f"redirects ({status}, to {to}), which is not followed: use that URL"
            case 429 | 503:
                when = reply.headers.get("retry-after")
                later = f", Retry-After: {when}" if when else ""
                why = f"is too busy ({status}{later}): {self._quoted(reply.body)}"
            case _:
                why = f"answered {status}: {self._quoted(reply.body)}"
        passing = status in _MAY_PASS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        return EmbeddingFailed(f"{self.name} {why}.", lasting=not passing)

    def _quoted(self, body: bytes) -> str:
        """The beginning of the service's response; its `error.message`, if it has one."""
        text = body.decode("utf-8", errors="replace")
        try:
            document = json.loads(text)
            error = document.get("error", document)
            text = str(error.get("message", text) if isinstance(error, dict) else error)
        except (ValueError, AttributeError, RecursionError):
            pass
        return repr(self._bare(text)) if text.strip() else "nothing"

    def _bare(self, text: str) -> str:
        """The text on one line, and without the key, in case the service repeated it."""
        return one_line(hide_secrets(text, self._credentials.secrets))


def endpoint(url: str) -> str:
    """The URL for requests, from one that may be only the service's base."""
    login = "set the key in embedding_key or BFSQL_EMBEDDING_KEY"
    parts = split_setting(url, "embedding", login)
    if not parts.hostname:
        raise ConfigurationError(f"embedding is {url!r}, a URL without a host.")
    path = parts.path.rstrip("/") or "/v1"
    if not path.endswith("/embeddings"):
        path = f"{path}/embeddings"
    return parts._replace(path=path, fragment="").geturl()
