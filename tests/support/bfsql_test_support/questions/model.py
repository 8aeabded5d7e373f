"""A model behind an address that speaks the chat completions protocol of OpenAI.

Ollama, vLLM, llama.cpp and most providers do. The key is sent only to this address.
"""

import asyncio
import json
import time
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from bfsql.errors import StoreUnavailable
from bfsql.http import (
    Credentials,
    HttpClient,
    HttpReply,
    HttpRequest,
    NoReply,
    ReplyTooLarge,
    Retryable,
    hide_secrets,
    retry,
)

MAX_REPLY = 16 * 1024 * 1024
PATIENCE = 600.0
"""Seconds for one reply of the model, retries included."""
RETRIES = 6
"""Retries of a request, at growing intervals, or when the address says: half a minute in all."""
EXCERPT = 500


class ModelFailed(Exception):
    """A question has no usable reply; includes the reason."""


class ModelUnusable(Exception):
    """No question can have one; the message says what to change."""


class Reply(NamedTuple):
    """A reply, and the tokens that the address counts for it; 0 if it counts none."""

    message: dict[str, Any]
    prompt_tokens: int
    completion_tokens: int


class Model:
    """A model behind an OpenAI-compatible address.

    Args:
        url: The base, such as `http://localhost:11434/v1`, or the full `.../chat/completions`.
        name: The model that is asked for.
        key: Sent as a bearer token; None sends none.
        key_name: The variable that holds the key, for messages.
    """

    def __init__(
        self,
        client: HttpClient,
        url: str,
        name: str,
        key: str | None = None,
        key_name: str = "OPENAI_API_KEY",
    ) -> None:
        self.name = name
        self._client, self._key_name = client, key_name
        base = url.rstrip("/")
        self._url = base if base.endswith("/chat/completions") else f"{base}/chat/completions"
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._credentials = Credentials(headers, hidden=[key or ""])

    async def reply(
        self, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
    ) -> Reply:
        """The next message of a conversation.

        Args:
            tools: The tools that may be called; without any, the model has to answer.

        Raises:
            ModelFailed: There is no usable reply to these messages.
            ModelUnusable: The address cannot be reached, or refuses every request like this.
        """
        body: dict[str, Any] = {"model": self.name, "messages": list(messages)}
        if tools:
            body["tools"] = list(tools)
        ends = time.monotonic() + PATIENCE
        try:
            async with asyncio.timeout(PATIENCE):
                return await retry(lambda: self._sent(body), retries=RETRIES, ends=ends)
        except TimeoutError as error:
            raise ModelFailed(f"no reply from {self._url} within {PATIENCE:.0f} s") from error
        except StoreUnavailable as error:
            if isinstance(error.__cause__, NoReply):
                raise ModelUnusable(f"{error} Start it, or correct --base-url.") from error
            raise ModelFailed(str(error)) from error

    async def _sent(self, body: dict[str, Any]) -> Reply:
        head = {"Content-Type": "application/json"}
        request = HttpRequest(self._url, "POST", json.dumps(body).encode(), head)
        try:
            reply = await self._client.send(
                request, max_bytes=MAX_REPLY, credentials=self._credentials
            )
        except NoReply as error:
            raise Retryable(f"{self._url} cannot be reached: {error.detail}.") from error
        except ReplyTooLarge as error:
            raise ModelFailed(f"{self._url} sent more than {MAX_REPLY:,} bytes") from error
        text = hide_secrets(reply.body.decode(errors="replace"), self._credentials.secrets)
        said = f"{self._url} said {reply.status}: {text[:EXCERPT]}"
        begins = "tools" in body and all(one["role"] != "tool" for one in body["messages"])
        self._check(reply, said, offers_tools=begins)
        try:
            document = json.loads(text)
            message: dict[str, Any] = document["choices"][0]["message"]
            used = document.get("usage") or {}
            counts = (used.get(key) or 0 for key in ("prompt_tokens", "completion_tokens"))
            return Reply(message, *map(int, counts))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise ModelFailed(said) from error

    def _check(self, reply: HttpReply, said: str, *, offers_tools: bool) -> None:
        """Raise what a status means.

        Args:
            offers_tools: Whether tools are mentioned for the first time.
        """
        status = reply.status
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise ModelUnusable(
                f"{said}\nSet {self._key_name} to a key of this address, or name another variable "
                "with --api-key-env."
            )
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED):
            raise ModelUnusable(
                f"{said}\nCheck --model, and --base-url, which as a rule ends in /v1."
            )
        many = status == HTTPStatus.TOO_MANY_REQUESTS
        refused = status != HTTPStatus.OK and not many
        if refused and offers_tools and "tool" in said.removeprefix(self._url).lower():
            raise ModelUnusable(
                f"{said}\n{self.name} takes no tools here. Choose a model with tool calling (and "
                "enable it in the server, as vLLM's --enable-auto-tool-choice does), or ask "
                "without tools: --arms none."
            )
        if many or status >= 500:
            raise Retryable(said, wait=reply.retry_after)
