"""Recorded tool calls as the page gets them: `GET /recorded`."""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json

from bfsql.answers import encode
from bfsql.errors import ConfigurationError, ToolError, system_reason
from bfsql.rest.request import ApiRequest, ApiRoute
from bfsql.rest.response import Reply
from bfsql.settings import open_regular

MAX_BYTES = 8_000_000
"""Bytes of a file that are read: those at its end."""

MAX_CALLS = 20_000
"""Calls that are shown: the last ones. A call of a short line is larger in the answer."""


class RecordedCall(BaseModel):
    """A tool call as it was recorded; what is not known of it is null."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    time: str | None = Field(description="When it began, ISO 8601.")
    request_id: str | None
    session: str | None = Field(description="Calls of one client that belong together.")
    client: str | None = Field(description="The name that the client gave.")
    graph: str | None = Field(description="The graph of several that was asked.")
    tool: str
    arguments: dict[str, Any] = Field(description="As the client sent them.")
    answer: str | None = Field(
        description="The text that the client received; of an error, its message."
    )
    content: dict[str, Any] | None = Field(
        description="The answer as structured content, if the text is not JSON."
    )
    error: str | None = Field(description="Kind of the error; null where there was none.")
    ms: float | None = Field(description="Milliseconds that the call took.")
    tokens: float | None = Field(description="Tokens of the answer, as the server counted them.")


_KINDS: dict[str, Any] = {
    **dict.fromkeys(RecordedCall.model_fields, str),
    **dict.fromkeys(("arguments", "content"), dict),
    **dict.fromkeys(("ms", "tokens"), int | float),
}
"""The types of the fields of a call where they are not null."""


class Recording(BaseModel):
    """The recorded calls, in their order."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    calls: list[RecordedCall]
    broken_lines: int = Field(description="Lines that are not recorded calls.")
    note: str | None = Field(default=None, description="What is missing; absent where nothing is.")


def route(file: Path, graph: str = "") -> ApiRoute:
    """The route that answers with what `read` finds in a file at that moment.

    Raises:
        ConfigurationError: The file cannot be read.
    """
    try:
        with open_regular(file):
            pass
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"The recorded calls in {file} cannot be read: {system_reason(error)}. Name a file "
            "that `bfsql serve --record FILE` has written."
        ) from None

    async def recorded(_: ApiRequest) -> Reply:
        """Recorded tool calls."""
        try:
            return Reply(encode(await asyncio.to_thread(read, file, graph)), transient=True)
        except OSError as error:
            raise ToolError(
                f"The recorded calls in {file.name} cannot be read: {system_reason(error)}.",
                kind="store",
            ) from None

    return ApiRoute("GET", "/recorded", recorded, "The recording", Recording)


def read(file: Path, graph: str = "") -> dict[str, Any]:
    """The recorded calls in a file, and how many of its lines are not recorded calls.

    Args:
        file: Written by a `Recorder`, or by the audit hook of the examples with its values.
        graph: The graph of several whose calls are wanted; empty for all calls.

    Raises:
        OSError: It cannot be read.
    """
    with open_regular(file) as lines:
        size = lines.seek(0, os.SEEK_END)
        lines.seek(max(0, size - MAX_BYTES - 1))
        content = lines.read(MAX_BYTES + 1)
    note = ""
    if size > MAX_BYTES:
        content = content.partition(b"\n")[2]  # the first line is whole or is left out
        note = f"The file has {size:,} bytes, of which the last {MAX_BYTES:,} are shown"
    calls: deque[dict[str, Any]] = deque(maxlen=MAX_CALLS)
    number = broken = 0
    for line in filter(bytes.strip, content.split(b"\n")):
        call = _call(line)
        if call is None:
            broken += 1
        elif graph in ("", call["graph"]):
            calls.append(call)
            number += 1
    if number > MAX_CALLS:
        note = f"{note or 'The file is long'}: the last {MAX_CALLS:,} calls of {number:,}"
    notes = {"note": f"{note}; earlier calls are left out."} if note else {}
    return {"calls": [*calls], "broken_lines": broken, **notes}


def _call(line: bytes) -> dict[str, Any] | None:
    """The call of a line; None where it has none."""
    try:
        fields = from_json(line, allow_inf_nan=False)
    except ValueError:
        return None
    if not isinstance(fields, dict):
        return None
    caller = fields.get("caller")
    known = {**_audited(fields, caller if isinstance(caller, dict) else {}), **fields}
    found = {name: _of(kind, known.get(name)) for name, kind in _KINDS.items()}
    return None if found["tool"] is None or found["arguments"] is None else found


def _audited(line: Mapping[str, Any], caller: Mapping[str, Any]) -> dict[str, Any]:
    """What a line of the audit hook has under other names."""
    outcome, seconds = line.get("outcome"), line.get("seconds")
    return {
        "session": caller.get("session") or caller.get("subject") or caller.get("address"),
        "client": caller.get("client"),
        "error": None if outcome == "ok" else outcome,
        "ms": seconds * 1_000 if isinstance(seconds, int | float) else None,
    }


def _of(kind: Any, value: Any) -> Any:
    return value if isinstance(value, kind) and not isinstance(value, bool) else None
