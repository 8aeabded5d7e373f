"""An OpenAI-compatible embedding service, over HTTP.

`POST {"model": ..., "input": text}` to `.../embeddings`; the answer's
`data[0].embedding` is the vector. So speak OpenAI, Ollama, vLLM, llama.cpp,
Text Embeddings Inference, LM Studio and most others.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pydantic import SecretStr

from bfsql.embedding.reply import Reply, read, vector_of
from bfsql.embedding.said import by
from bfsql.errors import ConfigurationError, EmbeddingFailed

if TYPE_CHECKING:
    import httpx2

log = logging.getLogger("bfsql")

_BUSY = (429, 503)
_HERE = ("localhost", "127.0.0.1", "::1")


class Service:
    """A service at a URL; one client, whose connections stay open between texts.

    Args:
        url: Whole, or only the base of the service: `https://host/v1`.
        model: What the service is asked for; None says nothing of it.
        key: Sent as a bearer token to this URL, and nowhere else.
        dimensions: Length of the vectors to ask for; None says nothing of it.

    Raises:
        ConfigurationError: It is no URL that can be asked.
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
        asked = {"model": model, "dimensions": dimensions}
        self._asked = {field: value for field, value in asked.items() if value is not None}
        self._key = key.get_secret_value().strip() if key is not None else ""
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigurationError(
                f"The key for {self.name.removeprefix('The ')} has characters that no key has: "
                "look at embedding_key."
            )
        self._client: httpx2.AsyncClient | None = None

    async def open(self) -> None:
        """Make the client, in the event loop that will use it."""
        import httpx2

        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
            parts = urlsplit(self._url)
            if parts.scheme == "http" and parts.hostname not in _HERE:
                log.warning("%s gets its key unencrypted; an https URL hides it.", self.name)
        # A redirect would take text and key elsewhere. The time is the caller's to keep.
        self._client = httpx2.AsyncClient(headers=headers, timeout=None, follow_redirects=False)

    async def embed(self, text: str, seconds: float) -> Any:
        """Ask for one text; once more where the service says when, and that is in time."""
        ends = time.monotonic() + seconds
        reply = await self._post(text)
        wait = _wait(reply)
        if wait is not None and time.monotonic() + wait < ends:
            await asyncio.sleep(wait)
            reply = await self._post(text)
        return vector_of(reply, self.name, key=self._key)

    async def close(self) -> None:
        """Close its connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _post(self, text: str) -> Reply:
        import httpx2

        if self._client is None:
            raise EmbeddingFailed(f"{self.name} was closed.")
        body = {**self._asked, "input": text}
        try:
            async with self._client.stream("POST", self._url, json=body) as response:
                return await read(response, self.name)
        except httpx2.ConnectError as error:
            raise EmbeddingFailed(
                f"{self.name} cannot be reached ({by(error)}). Is it running, and is the URL right?"
            ) from error
        except httpx2.HTTPError as error:
            raise EmbeddingFailed(f"{self.name} broke off: {by(error)}.") from error


def endpoint(url: str) -> str:
    """The URL that is asked, of one that may be the service's base alone.

    Raises:
        ConfigurationError: It is none, or has a password in it, which would be shown
            wherever settings are.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"embedding is no URL that can be asked: {error}.") from None
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError(
            f"embedding is a URL with a user or a password in it, for the host {host}: leave them "
            "out, and give the key in embedding_key or BFSQL_EMBEDDING_KEY."
        )
    if not host:
        raise ConfigurationError(f"embedding is {url!r}, a URL without a host.")
    path = parts.path.rstrip("/") or "/v1"
    if not path.endswith("/embeddings"):
        path = f"{path}/embeddings"
    return parts._replace(path=path, fragment="").geturl()


def _wait(reply: Reply) -> float | None:
    """Seconds that a busy service asks to wait, or None."""
    if reply.status not in _BUSY or reply.retry_after is None:
        return None
    try:
        seconds = float(reply.retry_after)
    except ValueError:
        try:
            when = parsedate_to_datetime(reply.retry_after)
        except ValueError:
            return None
        seconds = (when.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return None if math.isnan(seconds) else max(0.0, seconds)
