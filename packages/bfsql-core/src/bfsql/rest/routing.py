"""Which handler answers a path, read as it was sent.

An id is one segment of a path, whatever it holds: `a%2Fb` is the id `a/b`. So
the raw path is taken apart before anything in it is decoded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

from bfsql.answers.clean import clean_text
from bfsql.rest.problem import Problem

if TYPE_CHECKING:
    from bfsql.rest.api import Api
    from bfsql.rest.asked import Asked
    from bfsql.rest.reply import Reply

Handler: TypeAlias = "Callable[[Api, Asked], Awaitable[Reply]]"

_SHOWN = 200
"""Characters of an unknown path that a sentence repeats."""


@dataclass(frozen=True, slots=True)
class Route:
    """What answers one verb of a path."""

    method: str
    """`GET`, which is `HEAD` too, or `POST`."""
    path: str
    """`/entities/{id}/relations`: a segment in braces is a parameter."""
    handler: Handler

    def values(self, segments: Sequence[str]) -> tuple[str, ...] | None:
        """The parameters' values where the path is this one's, otherwise None."""
        pattern = self.path.split("/")[1:]
        if len(pattern) != len(segments):
            return None
        pairs = list(zip(pattern, segments, strict=True))
        if any(part != segment for part, segment in pairs if not part.startswith("{")):
            return None
        return tuple(segment for part, segment in pairs if part.startswith("{"))


def found(routes: Sequence[Route], scope: Mapping[str, Any]) -> tuple[Route, tuple[str, ...]]:
    """Who answers a request, and the values of its path.

    Args:
        routes: All that there are; the first that fits is taken.
        scope: Of an ASGI request.

    Raises:
        Problem: There is nothing at the path, or not for this verb.
    """
    segments = _segments(scope)
    there = [(r, values) for r in routes if (values := r.values(segments)) is not None]
    if not there:
        path = clean_text("/" + "/".join(segments))
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"There is nothing at {path[:_SHOWN]}. GET /docs lists what there is; ids in a path "
            "are percent-encoded, a slash in them as %2F.",
        )
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    for route, values in there:
        if route.method == method:
            return route, values
    allowed = sorted({r.method for r, _ in there} | {"HEAD" for r, _ in there if r.method == "GET"})
    raise Problem(
        HTTPStatus.METHOD_NOT_ALLOWED,
        f"{scope['method'][:_SHOWN]} is not for this path, which takes {' and '.join(allowed)}. "
        "The graph can be read and not changed.",
        headers={"Allow": ", ".join(allowed)},
    )


def _segments(scope: Mapping[str, Any]) -> list[str]:
    raw = (scope.get("raw_path") or scope["path"].encode()).partition(b"?")[0]
    raw = raw.removeprefix(scope.get("root_path", "").encode())
    try:
        return [unquote(part, errors="strict") for part in raw.decode("ascii").split("/")[1:]]
    except UnicodeDecodeError:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "The path cannot be read: ids in it have to be UTF-8 text, percent-encoded.",
        ) from None
