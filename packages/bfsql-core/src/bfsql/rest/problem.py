"""What went wrong, as a problem document (RFC 9457): the model's sentence is its `detail`."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from bfsql.answers import encode
from bfsql.errors import StoreUnavailable, ToolError

MEDIA_TYPE = "application/problem+json"

RETRY_SECONDS = 5
"""What `Retry-After` says where the store did not answer."""

_STATUSES = {
    "unknown_entity": HTTPStatus.NOT_FOUND,
    "unknown_tool": HTTPStatus.NOT_FOUND,
    "refused": HTTPStatus.FORBIDDEN,
    "deadline": HTTPStatus.GATEWAY_TIMEOUT,
    "store": HTTPStatus.BAD_GATEWAY,
    "internal": HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""By kind of `ToolError`; all others are mistakes in the request."""


class Problem(Exception):
    """A request that is not answered as it was made.

    Args:
        status: The status code.
        detail: The sentence: what happened, and what would be right.
        headers: Of the answer.
        members: Of the document, beside those of the RFC.
    """

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = dict(members or {})

    @property
    def document(self) -> dict[str, Any]:
        """The problem document."""
        return {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "detail": self.detail,
            **self.members,
        }

    def response(self) -> Response:
        """The answer, which nobody may keep."""
        headers = {"Cache-Control": "no-store", **self.headers}
        return Response(encode(self.document), self.status.value, headers, MEDIA_TYPE)


def problem_of(error: ToolError) -> Problem:
    """The same sentence over HTTP; `kind` and `argument` go along, for programs."""
    status, headers = _STATUSES.get(error.kind, HTTPStatus.BAD_REQUEST), {}
    if isinstance(error.__cause__, StoreUnavailable):
        status = HTTPStatus.SERVICE_UNAVAILABLE
        headers["Retry-After"] = str(RETRY_SECONDS)
    members = {"kind": error.kind} | ({"argument": error.argument} if error.argument else {})
    return Problem(status, str(error), headers=headers, members=members)
