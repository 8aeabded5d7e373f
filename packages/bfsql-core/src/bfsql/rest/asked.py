"""What a request asks for: values of its path, parameters of its query, and its body."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from pydantic_core import from_json
from starlette.requests import Request

from bfsql.call import Caller
from bfsql.errors import ToolError
from bfsql.rest.problem import Problem
from bfsql.tools.validate import shown

_HEARD_OUT = 20
"""How many times the bytes that are taken are read and dropped, so that the client, which sends
first and reads then, comes to read why; beyond, its connection is cut."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was read."""

    path: tuple[str, ...]
    """Values of the path's parameters, in their order."""
    query: tuple[tuple[str, str], ...] = ()
    """Names and values, as often as they were given."""
    body: Any = None
    """The JSON of a POST; None where it is empty."""
    caller: Caller | None = None

    def one(self, name: str) -> str | None:
        """The value of a parameter that is given once at the most.

        Raises:
            ToolError: It is given twice.
        """
        values = self.many(name)
        if len(values) > 1:
            raise ToolError(
                f"{name} is given {len(values)} times; give it once.",
                kind="bad_value",
                argument=name,
            )
        return values[0] if values else None

    def needed(self, name: str) -> str:
        """The value of a parameter that is given exactly once.

        Raises:
            ToolError: It is missing, or given twice.
        """
        value = self.one(name)
        if value is None:
            raise ToolError(
                f"The parameter {name} is missing.", kind="missing_argument", argument=name
            )
        return value

    def many(self, name: str) -> list[str]:
        """Every value of a parameter."""
        return [value for given, value in self.query if given == name]

    def whole(self, name: str, default: int, most: int) -> int:
        """A number from 1 to `most`.

        Raises:
            ToolError: It is none.
        """
        text = self.one(name)
        if text is None:
            return default
        number = (
            int(text) if text.isascii() and text.isdigit() and len(text) < len(f"{most}0") else 0
        )
        if not 1 <= number <= most:
            raise ToolError(
                f"{name} must be a whole number from 1 to {most}, not {shown(text)}.",
                kind="bad_value",
                argument=name,
            )
        return number

    def only(self, what: str, known: Sequence[str]) -> None:
        """Refuse parameters that nobody would read.

        Raises:
            ToolError: There is one, `what` being who does not read it.
        """
        unknown(what, [name for name, _ in self.query], known)


def unknown(what: str, names: Sequence[str], known: Sequence[str]) -> None:
    """Refuse names that nobody would read.

    Raises:
        ToolError: The first one, with the closest known one.
    """
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            have = f"It takes: {', '.join(known)}." if known else "It takes none."
            raise ToolError(
                f"{what} has no parameter {shown(name)}.{hint} {have}",
                kind="unknown_argument",
                argument=name,
            )


def query(request: Request) -> tuple[tuple[str, str], ...]:
    """Names and values of a request's query.

    Raises:
        Problem: It is no UTF-8.
    """
    text = request.scope["query_string"].decode("latin-1")
    try:
        return tuple(parse_qsl(text, keep_blank_values=True, errors="strict"))
    except ValueError:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "The query cannot be read: its values have to be UTF-8 text, percent-encoded.",
        ) from None


async def body(request: Request, most: int) -> Any:
    """The JSON that a request carries; None where it carries nothing.

    Args:
        request: A POST.
        most: Bytes that it may have.

    Raises:
        Problem: It is too large, of another kind, or no JSON.
    """
    content = await _content(request, most)
    if not content:
        return None
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and not (
        kind.startswith("application/") and kind.endswith("+json")
    ):
        raise Problem(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"The body is {shown(kind) if kind else 'of no stated kind'}. Send JSON, with the "
            "header 'Content-Type: application/json'.",
            headers={"Accept-Post": "application/json"},
        )
    try:
        return from_json(content, allow_inf_nan=False)
    except ValueError as error:
        raise Problem(HTTPStatus.BAD_REQUEST, f"The body is not JSON: {error}.") from None


async def _content(request: Request, most: int) -> bytes:
    content, size = bytearray(), int(request.headers.get("content-length") or 0)
    if size <= most * _HEARD_OUT:
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size <= most:
                content += chunk
            elif size > most * _HEARD_OUT:
                break
    if size > most:
        raise Problem(
            HTTPStatus(413),
            f"The body is larger than the {most} bytes that this server takes. Make several "
            "requests.",
        )
    return bytes(content)


def fields(what: str, given: Any, known: Sequence[str]) -> Mapping[str, Any]:
    """The fields of a body that is one object.

    Raises:
        ToolError: It is no object, or has a field that nobody would read.
    """
    if not isinstance(given, Mapping):
        have = "nothing" if given is None else shown(given)
        raise ToolError(
            f"{what} takes a JSON object with {' or '.join(known)}, not {have}.", kind="bad_value"
        )
    unknown(what, list(given), known)
    return given
