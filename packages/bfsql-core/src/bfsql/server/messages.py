"""JSON-RPC messages as they arrive; those that the SDK ignores are answered with an error.

Over stdio the SDK drops a line that is not a message without an answer. In both transports of the
2025 protocol it treats a request whose id is null, a fraction or an object as a notification, which
is not answered. It keeps the description of a client for as long as a session or a stream is open;
`reduced` leaves only what this server uses.
"""

from __future__ import annotations

from typing import Any

from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json

from bfsql.server import apps

MAX_NAME = 200
"""Most characters of each text by which a client describes itself."""

_HANDSHAKE = ("protocolVersion", "capabilities", "clientInfo")
_ENVELOPE = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY)
"""Keys of a client's description: of the 2025 protocol, and of the later one."""

_CLIENT_TEXTS = ("name", "title", "version", "description", "websiteUrl")
_CAPABILITIES = ("roots", "sampling", "elicitation", "tasks")


class BadMessage(Exception):
    """The received text is not a message; `answer` is the error for the client."""

    def __init__(self, code: int, sentence: str, request_id: RequestId | None = None) -> None:
        super().__init__(sentence)
        error = ErrorData(code=code, message=sentence)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def parsed(text: bytes) -> Any:
    """The JSON value of a message; `BadMessage` if it is not JSON."""
    try:
        return from_json(text)
    except ValueError as error:
        raise BadMessage(PARSE_ERROR, f"This is not JSON: {error}.") from error


def is_request(value: Any) -> bool:
    """Whether the JSON value of a message is that of a request, which is answered."""
    return isinstance(value, dict) and "method" in value and "id" in value


def check_id(value: Any) -> None:
    """Refuse a request whose id cannot be used in an answer: no string and no whole number."""
    if is_request(value):
        given = value["id"]
        if not isinstance(given, int | str) or isinstance(given, bool):
            raise BadMessage(
                INVALID_REQUEST,
                "The id of a request has to be a string or a whole number. Only notifications, "
                "which are not answered, have none.",
            )


def reduced(value: Any) -> Any:
    """A message without what the server does not use, if it opens a session or a stream.

    Of the client's description, texts are cut to `MAX_NAME` characters, and only the names of the
    protocol's own capabilities stay: this server sends no request that needs one.
    """
    match value:
        case {"method": "initialize", "params": {**params}}:
            return {**value, "params": _reduced_description(params, _HANDSHAKE)}
        case {"method": "subscriptions/listen", "params": {"_meta": {**meta}, **params}}:
            envelope = _reduced_description(meta, _ENVELOPE)
            return {**value, "params": {**params, "_meta": envelope}}
        case _:
            return value


def _reduced_description(description: dict[Any, Any], keys: tuple[str, str, str]) -> dict[str, Any]:
    """The version, the capabilities and the texts about the client, which stand under the keys."""
    version, capabilities, client = keys
    reduced: dict[str, Any] = {}
    if isinstance(text := description.get(version), str):
        reduced[version] = text[:MAX_NAME]
    if isinstance(present := description.get(capabilities), dict):
        named = (name for name in _CAPABILITIES if isinstance(present.get(name), dict))
        reduced[capabilities] = {name: {} for name in named}
        match present:  # by which the card is shown
            case {"extensions": {apps.EXTENSION: {"mimeTypes": [*types]}}}:
                shown = {"mimeTypes": [apps.MIME_TYPE]} if apps.MIME_TYPE in types else {}
                reduced[capabilities]["extensions"] = {apps.EXTENSION: shown}
    if isinstance(about := description.get(client), dict):
        texts = ((key, about.get(key)) for key in _CLIENT_TEXTS)
        reduced[client] = {key: text[:MAX_NAME] for key, text in texts if isinstance(text, str)}
    return reduced


def message(text: bytes) -> JSONRPCMessage:
    """The message in a line; `BadMessage` if it has none."""
    value = parsed(text)
    check_id(value)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as error:
        raise BadMessage(
            INVALID_REQUEST,
            'This is not a JSON-RPC message: one object with "jsonrpc": "2.0", a method and, in a '
            "request, an id. Send one object per line.",
        ) from error


def id_in_use(request_id: RequestId) -> BadMessage:
    """The error for a request whose id is in use by an unanswered request."""
    return BadMessage(
        INVALID_REQUEST,
        "Another request with this id has not been answered yet. Give each request its own id.",
        request_id,
    )
