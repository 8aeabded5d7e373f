"""JSON-RPC messages as they arrive; those that the SDK ignores are answered with an error.

Over stdio the SDK drops a line that is not a message without an answer. In both transports of the
2025 protocol it treats a request whose id is null, a fraction or an object as a notification, which
is not answered.
"""

from __future__ import annotations

from typing import Any

from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    RequestId,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json


class BadMessage(Exception):
    """The received text is not a message; `answer` is the error for the client."""

    def __init__(self, code: int, sentence: str, request_id: RequestId | None = None) -> None:
        super().__init__(sentence)
        error = ErrorData(code=code, message=sentence)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def parsed(text: bytes) -> Any:
    """The JSON value of a message.

    Raises:
        BadMessage: It is not JSON.
    """
    try:
        return from_json(text)
    except ValueError as error:
        raise BadMessage(PARSE_ERROR, f"This is not JSON: {error}.") from error


def is_request(value: Any) -> bool:
    """Whether the JSON value of a message is that of a request, which is answered."""
    return isinstance(value, dict) and "method" in value and "id" in value


def check_id(value: Any) -> None:
    """Refuse a request whose id cannot be used in an answer.

    Args:
        value: The JSON value of a message of any kind.

    Raises:
        BadMessage: It is a request whose id is neither a string nor a whole number.
    """
    if is_request(value):
        given = value["id"]
        if not isinstance(given, int | str) or isinstance(given, bool):
            raise BadMessage(
                INVALID_REQUEST,
                "The id of a request has to be a string or a whole number. Only notifications, "
                "which are not answered, have none.",
            )


def message(text: bytes) -> JSONRPCMessage:
    """The message in a line.

    Raises:
        BadMessage: It is not JSON, or not a message.
    """
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
