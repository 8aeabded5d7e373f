"""What is written of a call."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from bfsql.call import Caller
from bfsql.plugins import CallOutcome

_MADE_UP = ("unknown_tool", "unknown_argument")
"""Errors after which a name may be the client's own invention, and so a value."""


def line(
    tool: str,
    arguments: Mapping[str, Any],
    caller: Caller | None,
    outcome: CallOutcome,
    seconds: float,
    *,
    values: bool = False,
) -> str:
    """One JSON object on one line, ASCII.

    Args:
        tool: The tool's name.
        arguments: By name.
        caller: Who asked.
        outcome: What became of it.
        seconds: How long it took.
        values: Whether the arguments' values are written.
    """
    named = values or outcome.error not in _MADE_UP
    known = {
        "time": dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds"),
        "caller": asdict(caller) if caller else None,
        "tool": tool if named else None,
        "sizes": {name: len(_json(value)) for name, value in arguments.items()} if named else {},
        "outcome": outcome.error or "ok",
        "seconds": round(seconds, 6),
        "bytes": outcome.size,
        "rows": dict(outcome.rows),
    }
    return _json(known | ({"arguments": dict(arguments)} if values else {}))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), default=str, skipkeys=True)
