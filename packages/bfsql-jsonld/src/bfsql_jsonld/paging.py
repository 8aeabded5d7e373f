"""Pages: followed to the end by links, cursors or offsets, or to a bound that is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bfsql.errors import StoreError
from bfsql_jsonld.replies import Reply, Request, joined, short
from bfsql_jsonld.routes import Api, with_query


@dataclass(slots=True)
class Listing:
    """All pages of a list."""

    pages: list[tuple[Reply, Any]] = field(default_factory=list)
    """Each with its JSON."""
    cut: bool = False
    """Whether there are more than may be read."""


class Pages:
    """Reads lists page by page.

    Args:
        api: Asks for them, and knows how pages are counted.
    """

    def __init__(self, api: Api) -> None:
        self._session = api.session
        self._fields = api.fields
        self._settings = api.settings

    async def all(self, url: str) -> Listing | None:
        """Every page from this one on, or None where there is no such list.

        Raises:
            StoreError: The pages go round in a circle, or one cannot be read.
            StoreUnavailable: One did not come.
        """
        s = self._settings
        first = with_query(url, [(s.limit_param, str(s.page_size))]) if s.page_size else url
        at: str | None = first
        listing, seen, count = Listing(), {first}, 0
        while at is not None:
            if len(listing.pages) == s.max_pages:
                listing.cut = True
                break
            reply = await self._session.ask(Request(at))
            if reply.gone and not listing.pages:
                return None
            document = reply.json()
            if s.offset_param and listing.pages and listing.pages[-1][0].body == reply.body:
                raise _circle(at)
            listing.pages.append((reply, document))
            entries = self._entries(document)
            count += entries
            at = self._after(reply, document, first, entries, count)
            if at is not None and at in seen:
                raise _circle(at)
            seen.add(at or "")
        return listing

    def _after(
        self, reply: Reply, document: Any, first: str, entries: int, count: int
    ) -> str | None:
        """The URL of the next page, if there is one."""
        s = self._settings
        told = self._fields.next_page(document)
        is_cursor = isinstance(told, str | int) and not isinstance(told, bool) and told != ""
        if s.cursor_param and is_cursor:
            return with_query(first, [(s.cursor_param, str(told))])
        if isinstance(told, str) and told:
            return joined(reply.url, told)
        for target, _ in reply.links("next"):
            return joined(reply.url, target)
        if s.offset_param:
            is_last = not entries or (s.page_size is not None and entries < s.page_size)
            return None if is_last else with_query(first, [(s.offset_param, str(count))])
        if told:
            raise StoreError(
                f"{reply.request.shown} says that the next page is {short(repr(told))}, which is "
                "no URL. If it is a cursor, give the parameter that takes it in cursor_param."
            )
        return None

    def _entries(self, document: Any) -> int:
        listed = self._fields.relations(document)
        if listed is None:
            listed = self._fields.hits(document)
        return len(listed or ())


def _circle(url: str) -> StoreError:
    return StoreError(
        f"The pages of a list go round in a circle: the one after the last that was read is "
        f"{short(url)}, which was read before. The API has to end its lists."
    )
