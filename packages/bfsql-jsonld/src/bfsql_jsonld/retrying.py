"""When to ask again: after what passes, and not before the server wants it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from bfsql.errors import StoreUnavailable
from bfsql_jsonld.replies import Reply

_FIRST = 0.1
_BUSY = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
_PASSING = (*_BUSY, HTTPStatus.BAD_GATEWAY, HTTPStatus.GATEWAY_TIMEOUT)


class Passing(StoreUnavailable):
    """No answer this time; the same question may be asked again."""


def pause(attempt: int) -> float:
    """Seconds to wait after an attempt, counted from 0, where nobody says how long."""
    return float(_FIRST * 2**attempt)


def wait(reply: Reply, attempt: int) -> float | None:
    """Seconds to wait before the same question is asked again; None where it was answered."""
    if reply.status not in _PASSING:
        return None
    told = _retry_after(reply.headers.get("retry-after")) if reply.status in _BUSY else None
    return pause(attempt) if told is None else told


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return None if math.isnan(seconds) else max(0.0, seconds)
