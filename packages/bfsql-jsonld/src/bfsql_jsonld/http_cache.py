"""The optional HTTP cache: replies that may be used again, as their headers allow (RFC 9111).

A backend does not cache by itself, so this holds nothing unless the setting `replies_bytes` gives
it room. A reply without an `ETag`, a `Last-Modified` or a `max-age` is never kept, and one with
`no-store` is dropped at once.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from http import HTTPStatus

from bfsql_jsonld.replies import Reply, Request

_AGE = re.compile(r"max-age\s*=\s*\"?(\d+)")


@dataclass(frozen=True, slots=True)
class CachedReply:
    """An answer that may be used again."""

    reply: Reply
    ends: float
    """When it has to be asked for again, by the monotonic clock."""

    @property
    def is_fresh(self) -> bool:
        """Whether it needs no question."""
        return time.monotonic() < self.ends

    @property
    def conditions(self) -> dict[str, str]:
        """Headers by which the server can say that nothing has changed."""
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        headers = self.reply.headers
        return {asked: headers[name] for name, asked in names.items() if name in headers}


class HttpCache:
    """A bounded store of answers to GET requests, the longest unused ones leave first.

    Args:
        most: Bytes of bodies that it holds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._kept: OrderedDict[tuple[str, str], CachedReply] = OrderedDict()

    def get(self, request: Request) -> CachedReply | None:
        """The answer that is kept for a request, if there is one."""
        kept = self._kept.get(_key(request)) if request.method == "GET" else None
        if kept is not None:
            self._kept.move_to_end(_key(request))
        return kept

    def settled(self, reply: Reply, kept: CachedReply | None) -> Reply:
        """The answer itself, or for 304 the one that was kept; keeps what may be kept.

        Args:
            reply: What came.
            kept: What was here when it was asked for; it may have been dropped meanwhile.
        """
        if reply.request.method != "GET":
            return reply
        if reply.status == HTTPStatus.NOT_MODIFIED and kept is not None:
            reply = _renewed(kept.reply, reply)
        key = _key(reply.request)
        self._forget(key)
        if reply.status == HTTPStatus.OK:
            self._keep(key, reply)
        return reply

    def _keep(self, key: tuple[str, str], reply: Reply) -> None:
        control = reply.headers.get("cache-control", "").lower()
        if "no-store" in control or reply.headers.get("vary", "").strip() == "*":
            return
        found = _AGE.search(control)
        seconds = float(found[1]) if found and "no-cache" not in control else 0.0
        age = reply.headers.get("age", "0")
        seconds -= float(age) if age.isdecimal() else 0.0
        if seconds <= 0 and not {"etag", "last-modified"} & reply.headers.keys():
            return
        if len(reply.body) > self._most:
            return
        self._kept[key] = CachedReply(reply, time.monotonic() + seconds)
        self._held += len(reply.body)
        while self._held > self._most:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._held -= len(kept.reply.body)


def _renewed(kept: Reply, confirmed: Reply) -> Reply:
    headers = {**kept.headers, **confirmed.headers}
    for name in ("content-type", "content-length", "link"):
        if name in kept.headers:
            headers[name] = kept.headers[name]
    return replace(kept, request=confirmed.request, headers=headers)


def _key(request: Request) -> tuple[str, str]:
    return request.url, request.accept
