"""Contexts that documents name by URL: fetched within bounds, read once.

Files given in the settings stand for their URLs. All others come from hosts
that are allowed, without credentials unless it is the API's own, are bounded
in size and number, and stay for an hour.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_jsonld.replies import Request, joined, short
from bfsql_jsonld.session import Session
from bfsql_jsonld.settings import JsonLdSettings

LIFETIME = 3_600.0
"""Seconds for which a fetched context is used."""

_ACCEPT = "application/ld+json, application/json;q=0.9"
_KEPT = 64  # contexts


class Contexts:
    """Context documents by URL.

    Args:
        session: Fetches them.
        settings: Files, hosts and bounds.
    """

    def __init__(self, session: Session, settings: JsonLdSettings) -> None:
        self._session = session
        self._settings = settings
        self._files = {_plain(url): path for url, path in settings.context_files.items()}
        self._kept: dict[str, tuple[float, str, Any]] = {}

    async def get(self, url: str) -> tuple[str, Any]:
        """Where the context came from, redirects followed, and what it is.

        Raises:
            StoreError: It may not be fetched, or is none.
            StoreUnavailable: Its host does not answer.
        """
        kept = self._kept.get(url)
        if kept is None or time.monotonic() >= kept[0]:
            path = self._files.get(_plain(url))
            found = self._from_file(url, path) if path else await self._fetched(url)
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            kept = self._kept[url] = (time.monotonic() + LIFETIME, *found)
        return kept[1], kept[2]

    async def _fetched(self, url: str) -> tuple[str, Any]:
        if not url.lower().startswith(("http://", "https://")):
            raise StoreError(
                f"A document names the context {short(url)!r}, which is nothing to fetch. Give a "
                "file for it in context_files."
            )
        request = Request(
            url,
            accept=_ACCEPT,
            hosts=self._settings.context_hosts,
            most=self._settings.max_context_bytes,
        )
        cure = "It is the context of a document; context_files can put a file in its place."
        try:
            reply = await self._session.ask(request)
            alternate = next(
                (to for to, told in reply.links("alternate") if told.get("type") == _LD), None
            )
            if alternate is not None and not reply.content_type.endswith("json"):
                reply = await self._session.ask(_at(request, joined(reply.url, alternate)))
            found = reply.json()
        except StoreUnavailable as error:
            raise StoreUnavailable(f"{error} {cure}") from None
        except StoreError as error:
            raise StoreError(f"{error} {cure}") from None
        return reply.url, _checked(url, found)

    def _from_file(self, url: str, path: str) -> tuple[str, Any]:
        try:
            found = json.loads(Path(path).expanduser().read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(
                f"The setting context_files names {path} for {short(url)}, which cannot be read as "
                f"JSON: {error}."
            ) from None
        return url, _checked(url, found)


_LD = "application/ld+json"


def _at(request: Request, url: str) -> Request:
    return Request(url, accept=request.accept, hosts=request.hosts, most=request.most)


def _checked(url: str, found: Any) -> Any:
    if not isinstance(found, dict):
        raise StoreError(f"The context {short(url)} is no JSON object, so it is no context.")
    return found


def _plain(url: str) -> str:
    return url.rstrip("/").removeprefix("https://").removeprefix("http://")
