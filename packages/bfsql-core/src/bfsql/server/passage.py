"""Answers that pass the SDK as a short mark, which the transport replaces by their bytes.

The SDK copies and checks the content of an answer several times, and encodes it again: an answer of
50 kB takes three times as long as its text. What it sends is compact JSON, so the bytes of
the answer can stand in it as they are.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import CallToolResult, TextContent
from pydantic_core import to_json
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bfsql.answers.clean import encode
from bfsql.answers.write import Answer, Document
from bfsql.server.apps import ANSWER
from bfsql.tools.descriptions import FRAME

_MARK = secrets.token_hex(16)
"""No client can know it, and so cannot have it in an answer."""

_CONTENT, _DRAWN = {_MARK: 0}, {_MARK: 1}
_PLACE_OF_CONTENT, _PLACE_OF_DRAWN = (
    json.dumps(mark, separators=(",", ":")).encode() for mark in (_CONTENT, _DRAWN)
)
_PLACE_OF_TEXT = json.dumps(_MARK).encode()

_SCOPE = "bfsql.passage"
_LENGTH = b"content-length"


class Passage:
    """The way of one answer past the SDK: from `result` to the transport, which calls `whole`."""

    def __init__(self) -> None:
        self._parts: dict[bytes, bytes] = {}

    def result(
        self, answer: Answer, *, structured: bool, drawn: Document | None = None
    ) -> CallToolResult:
        """The result of a call, with marks in place of the answer's text and documents."""
        # The longer marks first: they contain that of the text.
        self._parts = {} if drawn is None else {_PLACE_OF_DRAWN: encode(drawn)}
        if structured:
            self._parts[_PLACE_OF_CONTENT] = answer.content_text.encode()
        self._parts[_PLACE_OF_TEXT] = to_json(answer.text)
        return _result(
            (_MARK, *answer.blocks[1:]), _CONTENT if structured else None, _DRAWN if drawn else None
        )

    def whole(self, message: bytes) -> bytes:
        """A message to the client, with the answer in place of its marks."""
        for place, part in self._parts.items():
            message = message.replace(place, part, 1)
        return message


def result_of(
    ctx: ServerRequestContext[Any, Any], answer: Answer, *, structured: bool, drawn: Document | None
) -> CallToolResult:
    """The result of a call, with marks if its transport replaces them; `drawn` is for `_meta`."""
    passage = scope_of(ctx).get(_SCOPE, ctx.request)
    if isinstance(passage, Passage):
        return passage.result(answer, structured=structured, drawn=drawn)
    return _result(answer.blocks, answer.content if structured else None, drawn)


def scope_of(ctx: ServerRequestContext[Any, Any]) -> Scope:
    """The scope of a message's HTTP request; empty over stdio and in memory."""
    return ctx.request.scope if isinstance(ctx.request, Request) else {}


def with_passages(app: ASGIApp) -> ASGIApp:
    """The SDK's application, whose answers get their bytes here."""

    async def passing(scope: Scope, receive: Receive, send: Send) -> None:
        passage, start = Passage(), None

        async def sent(message: Message) -> None:
            nonlocal start
            headers = message.get("headers", ())
            if message["type"] == "http.response.start" and _LENGTH in dict(headers):
                start = message  # until its length is known
                return
            if message["type"] == "http.response.body":
                part = message.get("body", b"")
                message = {**message, "body": passage.whole(part)}
                if start is not None:
                    await send(_longer(start, len(message["body"]) - len(part)))
                    start = None
            await send(message)

        scope[_SCOPE] = passage
        try:
            await app(scope, receive, sent)
        finally:
            del scope[_SCOPE]  # the SDK keeps the last scope of each session

    return passing


def _longer(start: Message, growth: int) -> Message:
    """The start of a response whose body has become longer; its other headers may repeat."""
    headers = [
        (name, b"%d" % (int(value) + growth) if name == _LENGTH else value)
        for name, value in start["headers"]
    ]
    return {**start, "headers": headers}


def _result(
    blocks: Iterable[str], content: Document | None, drawn: Document | None
) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=block) for block in blocks],
        structured_content=content,
        _meta=FRAME if drawn is None else {**FRAME, ANSWER: drawn},
    )
