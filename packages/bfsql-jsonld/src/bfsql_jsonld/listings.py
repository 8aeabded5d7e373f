"""Lists: pages that are followed to their end, and batches of many ids.

Pages continue by links, cursors or offsets, up to a limit that becomes an omission.
Batches use the routes that an API announces for many ids in one request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic_core import from_json, to_json

from bfsql import call
from bfsql.errors import StoreError
from bfsql.models.json_values import is_text
from bfsql.models.parts import part_of
from bfsql.models.records import EdgeDirection, Metadata, Node, Triple
from bfsql_jsonld.fields import omissions, triple_of
from bfsql_jsonld.replies import Reply, Request, Unreadable, joined, short
from bfsql_jsonld.routes import Api, with_query
from bfsql_jsonld.schema import Schema


@dataclass(slots=True)
class Listing:
    """All pages of a list."""

    pages: list[tuple[Reply, Any]] = field(default_factory=list)
    """Each page with its JSON."""
    cut: bool = False
    """Whether there are more than may be read."""


class Pages:
    """Reads lists page by page.

    Args:
        api: Requests the pages, and determines how they are counted.
    """

    def __init__(self, api: Api) -> None:
        self._session = api.session
        self._fields = api.fields
        self._settings = api.settings

    async def all(self, url: str) -> Listing | None:
        """Every page from this one on, or None if there is no such list.

        Raises:
            StoreError: The pages form a cycle, or one cannot be read.
            StoreUnavailable: A page was not received.
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
                f"{reply.request.label} gives {short(repr(told))} as the next page, which is not "
                "a URL. If it is a cursor, set cursor_param to the parameter that takes it."
            )
        return None

    def _entries(self, document: Any) -> int:
        listed = self._fields.relations(document)
        if listed is None:
            listed = self._fields.hits(document)
        return len(listed or ())


def _circle(url: str) -> StoreError:
    return StoreError(
        f"The pages of a list form a loop: after the last page, the API refers to {short(url)}, "
        "which has been read already. The API has to be corrected."
    )


_NOTHING: Mapping[str, Any] = {}

# The field of a batch's keys, and the field of its answer's list.
_ENTITIES, _RING, _METADATA = ("ids", "results"), ("ids", "relations"), ("relations", "results")

Key = TypeVar("Key", str, Triple)


class Batches:
    """Requests the batch routes.

    Args:
        api: The routes, and the names of fields.
    """

    def __init__(self, api: Api) -> None:
        self._session = api.session
        self._routes = api.routes
        self._fields = api.fields

    async def nodes(
        self,
        schema: Schema,
        ids: Sequence[str],
        *,
        metadata: bool,
        keys: Collection[str] | None = None,
    ) -> list[Node]:
        """The entities that exist, with all or some of their metadata if requested."""
        found: list[Node] = []
        more = _listed(schema, "keys", keys)
        question = {"metadata": metadata, **more}
        chunks = _chunks(ids, schema, more)
        async for _, results in self._each(schema.entities_batch, _ENTITIES, chunks, question):
            with results.reply.read():
                found += [self._fields.node(entry) for entry in results.entries]
        return found

    async def ring(
        self,
        schema: Schema,
        ids: Sequence[str],
        predicates: Collection[str] | None = None,
        direction: EdgeDirection | None = None,
    ) -> list[Triple]:
        """Every relation that touches one of the ids, or a part of them."""
        found: list[Triple] = []
        more = _listed(schema, "predicates", predicates)
        if direction is not None and schema.parts:
            more["direction"] = direction
        chunks = _chunks(ids, schema, more)
        async for chunk, results in self._each(schema.relations_batch, _RING, chunks, more):
            asked = frozenset(chunk)
            with results.reply.read():
                for row in results.entries:
                    triple = triple_of(row)
                    if triple[0] not in asked and triple[2] not in asked:
                        raise Unreadable(
                            f"it holds the relation {short(' '.join(triple))}, which is not a "
                            "relation of the requested entities"
                        )
                    found.append(triple)
        return part_of(found, ids, predicates, direction)

    async def edges(
        self, schema: Schema, edges: Sequence[Triple], keys: Collection[str] | None = None
    ) -> dict[Triple, Metadata]:
        """Metadata of the relations that exist, or some keys of it."""
        found: dict[Triple, Metadata] = {}
        more = _listed(schema, "keys", keys)
        chunks = _chunks(edges, schema, more)
        async for _, results in self._each(schema.relations_batch, _METADATA, chunks, more):
            with results.reply.read():
                for entry in results.entries:
                    triple = self._fields.triple(entry, "", "")
                    found[triple] = self._fields.edge_metadata(entry)
        return found

    async def _each(
        self,
        route: str | None,
        fields: tuple[str, str],
        chunks: Iterable[list[Key]],
        more: Mapping[str, Any],
    ) -> AsyncIterator[tuple[list[Key], _Results]]:
        """The keys and the answer of each request; requests with too large answers are halved.

        Args:
            route: The batch route.
            fields: The field of the keys, and the field of the answer's list.
            chunks: The keys of each request.
            more: Other fields of every request.
        """
        assert route is not None
        url, (keys, listed) = self._routes.at(route), fields
        waiting = deque(chunks)
        while waiting:
            chunk = waiting.popleft()
            reply = await self._session.ask(Request(url, "POST", to_json({keys: chunk, **more})))
            if len(chunk) > 1 and _is_too_large(reply):
                half = len(chunk) // 2
                waiting.extendleft((chunk[half:], chunk[:half]))
            else:
                yield chunk, self._results(reply, listed)

    def _results(self, reply: Reply, field: str) -> _Results:
        document = reply.json()
        with reply.read():
            entries = document.get(field) if isinstance(document, dict) else None
            if not isinstance(entries, list):
                raise Unreadable(f"there is no list in the field {field}")
        call.omitted(*omissions(document))
        return _Results(reply, entries)


def _is_too_large(reply: Reply) -> bool:
    """Whether an API refuses to return as much at once (`too_large` of `bfsql serve --rest`)."""
    if reply.status != HTTPStatus.BAD_REQUEST:
        return False
    try:
        document = from_json(reply.body)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("kind") == "too_large"


class _Results:
    """The entries of an answer."""

    __slots__ = ("entries", "reply")

    def __init__(self, reply: Any, entries: list[Any]) -> None:
        self.reply = reply
        self.entries = entries


def _listed(schema: Schema, field: str, names: Collection[str] | None) -> dict[str, Any]:
    """The field of a request that names predicates or keys, if the API accepts it."""
    if names is None or not schema.parts:
        return {}
    return {field: sorted(filter(is_text, set(names)))}


def _chunks(
    keys: Sequence[Key], schema: Schema, more: Mapping[str, Any] = _NOTHING
) -> Iterator[list[Key]]:
    """Distinct keys that JSON can express, in groups that fit a request with the other fields."""
    chunk: list[Key] = []
    # A request has some 100 bytes besides its keys.
    envelope = held = 100 + (len(to_json(more)) if more else 0)
    for key in dict.fromkeys(keys):
        if not is_text("".join(key)):
            continue
        size = len(to_json(key)) + 1
        if chunk and (len(chunk) == schema.limit or held + size > schema.most_bytes):
            yield chunk
            chunk, held = [], envelope
        chunk.append(key)
        held += size
    if chunk:
        yield chunk
