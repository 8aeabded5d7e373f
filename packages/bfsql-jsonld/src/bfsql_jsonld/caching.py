"""Answers that may be used again, as far as their headers allow (RFC 9111).

Nothing is kept against a server's will: an answer without an `ETag`, a
`Last-Modified` or a `max-age` is asked for anew, and one with `no-store` is
forgotten at once. So the graph stays as fresh as its API wants it to be.
"""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from http import HTTPStatus

from bfsql_jsonld.replies import Reply, Request

_AGE = re.compile(r"max-age\s*=\s*\"?(\d+)")


@dataclass(slots=True)
class _Kept:
    reply: Reply
    ends: float


class Replies:
    """A bounded store of answers to GET requests, the longest unused ones leave first.

    Args:
        most: Bytes of bodies that it holds.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held = 0
        self._kept: OrderedDict[tuple[str, str], _Kept] = OrderedDict()

    def fresh(self, request: Request) -> Reply | None:
        """An answer that needs no question."""
        kept = self._kept.get(_key(request))
        if kept is None or request.method != "GET" or time.monotonic() >= kept.ends:
            return None
        self._kept.move_to_end(_key(request))
        return replace(kept.reply, request=request)

    def conditions(self, request: Request) -> dict[str, str]:
        """Headers by which the server can say that nothing has changed."""
        kept = self._kept.get(_key(request))
        if kept is None or request.method != "GET":
            return {}
        headers = kept.reply.headers
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        return {asked: headers[name] for name, asked in names.items() if name in headers}

    def settled(self, reply: Reply) -> Reply:
        """The answer itself, or for 304 the one that is kept; keeps what may be kept."""
        key = _key(reply.request)
        if reply.request.method != "GET":
            return reply
        if reply.status == HTTPStatus.NOT_MODIFIED and key in self._kept:
            kept = self._kept[key].reply
            headers = {**kept.headers, **reply.headers}
            for name in ("content-type", "content-length", "link"):
                if name in kept.headers:
                    headers[name] = kept.headers[name]
            reply = replace(kept, request=reply.request, headers=headers)
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
        self._kept[key] = _Kept(reply, time.monotonic() + seconds)
        self._held += len(reply.body)
        while self._held > self._most:
            self._forget(next(iter(self._kept)))

    def _forget(self, key: tuple[str, str]) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._held -= len(kept.reply.body)


def _key(request: Request) -> tuple[str, str]:
    return request.url, request.accept
