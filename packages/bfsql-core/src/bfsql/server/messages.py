"""JSON-RPC messages as they arrive: those that the SDK passes over get their error.

On stdio the SDK drops a line that is no message without an answer, and in both transports of the
2025 protocol it takes a request whose id is null, a fraction or an object for a notification,
which nobody answers.
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
    """What arrived is no message; `answer` is for the client."""

    def __init__(self, code: int, sentence: str, request_id: RequestId | None = None) -> None:
        super().__init__(sentence)
        error = ErrorData(code=code, message=sentence)
        self.answer = JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def parsed(text: bytes) -> Any:
    """The JSON value of a message.

    Raises:
        BadMessage: It is no JSON.
    """
    try:
        return from_json(text)
    except ValueError as error:
        raise BadMessage(PARSE_ERROR, f"This is no JSON: {error}.") from error


def is_request(value: Any) -> bool:
    """Whether the JSON value of a message is that of a request, which is answered."""
    return isinstance(value, dict) and "method" in value and "id" in value


def check_id(value: Any) -> None:
    """Refuse a request whose id cannot be answered to.

    Args:
        value: The JSON value of a message of any kind.

    Raises:
        BadMessage: It is a request, and its id is neither a string nor a whole number.
    """
    if is_request(value):
        given = value["id"]
        if not isinstance(given, int | str) or isinstance(given, bool):
            raise BadMessage(
                INVALID_REQUEST,
                "The id of a request is a string or a whole number. Leave it out only in "
                "notifications, which are not answered.",
            )


def message(text: bytes) -> JSONRPCMessage:
    """The message in a line.

    Raises:
        BadMessage: It is no JSON, or no message.
    """
    value = parsed(text)
    check_id(value)
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as error:
        raise BadMessage(
            INVALID_REQUEST,
            'This is no JSON-RPC message: one object with "jsonrpc": "2.0" and a method, and '
            "in a request an id. Send one object a line.",
        ) from error


def id_in_use(request_id: RequestId) -> BadMessage:
    """The error for a request whose id is that of another one that has not been answered."""
    return BadMessage(
        INVALID_REQUEST,
        "A request with this id has not been answered yet. Give each request an id of its own.",
        request_id,
    )
