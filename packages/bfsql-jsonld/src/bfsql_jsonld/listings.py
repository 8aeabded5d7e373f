"""Lists: pages that are followed to their end, and batches of many ids.

Pages continue by links, cursors or offsets, up to a limit that becomes an omission.
Batches use the routes that an API announces for many ids in one request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar, Unpack
from urllib.parse import quote

from pydantic_core import from_json, to_json

from bfsql import call
from bfsql.abc import chunks
from bfsql.errors import StoreError, ToolError
from bfsql.models.condition import PropertyCondition
from bfsql.models.json_values import is_text
from bfsql.models.parts import EdgeFilter, part_of
from bfsql.models.records import Metadata, Node, Triple
from bfsql.query.properties import property_condition
from bfsql_jsonld.fields import omissions, triple_of
from bfsql_jsonld.replies import Reply, Request, Unreadable, joined, short
from bfsql_jsonld.routes import Api, with_query
from bfsql_jsonld.schema import Schema

PAGE = 10_000
"""Entities in a page of a list."""
TYPES = 50
"""Types in one request for a list, since they are a part of its URL."""
WHERE = 4_000
"""Most bytes of the conditions in a URL; servers usually accept 8,000 in all."""


@dataclass(slots=True)
class Listing:
    """All pages of a list."""

    pages: list[tuple[Reply, Any]] = field(default_factory=list)
    """Each page with its JSON."""
    cut: bool = False
    """Whether there are more than may be read."""


async def read_pages(api: Api, url: str) -> Listing | None:
    """Every page of a list from this one on, or None if there is no such list."""
    s = api.settings
    first = with_query(url, [(s.limit_param, str(s.page_size))]) if s.page_size else url
    at: str | None = first
    listing, seen, count = Listing(), {at}, 0
    while at is not None:
        if len(listing.pages) == s.max_pages:
            listing.cut = True
            break
        reply = await api.session.ask(Request(at))
        if reply.gone and not listing.pages:
            return None
        document = reply.json()
        if s.offset_param and listing.pages and listing.pages[-1][0].body == reply.body:
            raise _circle(at)
        listing.pages.append((reply, document))
        entries = api.fields.relations(document)
        size = len(entries or ())
        count += size
        at = _next_page(api, reply, document, first=first, size=size, count=count)
        if at is not None and at in seen:
            raise _circle(at)
        seen.add(at)
    return listing


def _next_page(
    api: Api, reply: Reply, document: Any, *, first: str, size: int, count: int
) -> str | None:
    """The URL of the next page, if there is one; `count` entries are in the pages until now."""
    s = api.settings
    following = api.fields.next_page(document)
    is_cursor = isinstance(following, str | int) and not isinstance(following, bool)
    if s.cursor_param and is_cursor and following != "":
        return with_query(first, [(s.cursor_param, str(following))])
    if isinstance(following, str) and following:
        return joined(reply.url, following)
    for target, _ in reply.links("next"):
        return joined(reply.url, target)
    if s.offset_param:
        is_last = not size or (s.page_size is not None and size < s.page_size)
        return None if is_last else with_query(first, [(s.offset_param, str(count))])
    if following:
        raise StoreError(
            f"{reply.label} gives {short(repr(following))} as the next page, which is not a URL. "
            "If it is a cursor, set cursor_param to the parameter that takes it."
        )
    return None


def _circle(url: str) -> StoreError:
    return StoreError(
        f"The pages of a list form a loop: after the last page, the API refers to {short(url)}, "
        "which has been read already. The API has to be corrected."
    )


Key = TypeVar("Key", str, Triple)


class _Batch(NamedTuple):
    """A route that takes many ids or relations."""

    route: str | None
    keys: str
    """The field of the ids or relations in a request."""
    results: str
    """The field of the list in an answer."""


async def fetch_nodes(
    api: Api,
    schema: Schema,
    ids: Sequence[str],
    *,
    metadata: bool,
    keys: Collection[str] | None = None,
) -> list[Node]:
    """The entities that exist, with all or some of their metadata if requested."""
    found: list[Node] = []
    more = {"metadata": metadata, **_filter(schema, "keys", keys)}
    batch = _Batch(schema.entities_batch, "ids", "results")
    async for _, reply, entries in _answers(api, schema, batch, ids, more):
        with reply.read():
            found += [api.fields.node(entry) for entry in entries]
    return found


async def read_nodes(
    api: Api, schema: Schema, types: Sequence[str] | None, conditions: Sequence[PropertyCondition]
) -> AsyncGenerator[list[Node]]:
    """The entities of some types that meet conditions, in pages that follow the id.

    Args:
        api: The requests.
        schema: Names the route.
        types: Types that the API lists; None for all.
        conditions: Conditions that a URL can contain.

    Raises:
        StoreError: The pages do not follow the id.
    """
    assert schema.entities is not None
    where = [("where", one.property_text) for one in conditions]
    for some in [[]] if types is None else chunks(types, TYPES):
        of = [*(("type", name) for name in some), *where]
        limit, after = PAGE, ""
        while True:
            position = [("after", after)] if after else []
            parameters = [*of, ("limit", str(limit)), *position]
            reply = await api.session.ask(
                Request(with_query(api.routes.at(schema.entities), parameters))
            )
            if limit > 1 and _is_too_large(reply):
                limit //= 2
                continue
            document = reply.json()
            with reply.read():
                nodes = [api.fields.node(entry) for entry in api.fields.hits(document) or ()]
            call.omitted(*omissions(document))
            yield [Node(node.id, node.entity_type) for node in nodes]
            if not nodes or "next" not in document:
                break
            if nodes[-1].id <= after:
                raise _circle(reply.url)
            after = nodes[-1].id


def in_a_url(
    conditions: Sequence[PropertyCondition],
) -> tuple[list[PropertyCondition], list[PropertyCondition]]:
    """The conditions that a URL can contain and the API can read, and the others."""
    sent: list[PropertyCondition] = []
    others: list[PropertyCondition] = []
    size = 0
    # A condition with `unlike` has no text, but another one leaves out what cannot meet it.
    present = [PropertyCondition(one.key, "has") for one in conditions if one.operator == "unlike"]
    for one in (*conditions, *present):
        size += len(quote(one.property_text, errors="replace"))
        (sent if size <= WHERE and _is_readable(one) else others).append(one)
    return sent, others


def _is_readable(condition: PropertyCondition) -> bool:
    """Whether the text of a condition is read as the same condition."""
    text = condition.property_text
    try:
        return is_text(text) and property_condition(text, "where") == condition
    except ToolError:
        return False


async def fetch_ring(
    api: Api, schema: Schema, ids: Sequence[str], **part: Unpack[EdgeFilter]
) -> list[Triple]:
    """Every relation that touches one of the ids, or a part of them."""
    found: list[Triple] = []
    more, direction = _filter(schema, "predicates", part.get("predicates")), part.get("direction")
    if direction is not None and schema.parts:
        more["direction"] = direction
    batch = _Batch(schema.relations_batch, "ids", "relations")
    async for chunk, reply, entries in _answers(api, schema, batch, ids, more):
        asked = frozenset(chunk)
        with reply.read():
            for row in entries:
                triple = triple_of(row)
                if triple[0] not in asked and triple[2] not in asked:
                    raise Unreadable(
                        f"it holds the relation {short(' '.join(triple))}, which is not a "
                        "relation of the requested entities"
                    )
                found.append(triple)
    return part_of(found, ids, **part)


async def fetch_edges(
    api: Api, schema: Schema, edges: Sequence[Triple], keys: Collection[str] | None = None
) -> dict[Triple, Metadata]:
    """Metadata of the relations that exist, or some keys of it."""
    found: dict[Triple, Metadata] = {}
    more = _filter(schema, "keys", keys)
    batch = _Batch(schema.relations_batch, "relations", "results")
    async for _, reply, entries in _answers(api, schema, batch, edges, more):
        with reply.read():
            for entry in entries:
                triple = api.fields.triple(entry, "", "")
                found[triple] = api.fields.edge_metadata(entry)
    return found


async def _answers(
    api: Api, schema: Schema, batch: _Batch, keys: Sequence[Key], more: Mapping[str, Any]
) -> AsyncIterator[tuple[list[Key], Reply, list[Any]]]:
    """The keys of each request, its answer, and the answer's entries.

    Every request has the fields `more`; one whose answer would be too large is halved.
    """
    assert batch.route is not None
    headers = {"Content-Type": "application/json"}
    waiting = deque(_chunks(keys, schema, more))
    while waiting:
        chunk = waiting.popleft()
        body = to_json({batch.keys: chunk, **more})
        reply = await api.session.ask(Request(api.routes.at(batch.route), "POST", body, headers))
        if len(chunk) > 1 and _is_too_large(reply):
            half = len(chunk) // 2
            waiting.extendleft((chunk[half:], chunk[:half]))
            continue
        document = reply.json()
        with reply.read():
            entries = document.get(batch.results) if isinstance(document, dict) else None
            if not isinstance(entries, list):
                raise Unreadable(f"there is no list in the field {batch.results}")
        call.omitted(*omissions(document))
        yield chunk, reply, entries


def _is_too_large(reply: Reply) -> bool:
    """Whether an API refuses to return as much at once (`too_large` of `bfsql serve --rest`)."""
    if reply.status != HTTPStatus.BAD_REQUEST:
        return False
    try:
        document = from_json(reply.body)
    except ValueError:
        return False
    return isinstance(document, dict) and document.get("kind") == "too_large"


def _filter(schema: Schema, field: str, names: Collection[str] | None) -> dict[str, Any]:
    """The field of a request that names predicates or keys, if the API accepts it."""
    if names is None or not schema.parts:
        return {}
    return {field: sorted(filter(is_text, set(names)))}


def _chunks(keys: Sequence[Key], schema: Schema, more: Mapping[str, Any]) -> Iterator[list[Key]]:
    """Distinct keys that JSON can express, in groups that fit a request with the other fields."""
    chunk: list[Key] = []
    envelope = size = 100 + len(to_json(more))
    for key in dict.fromkeys(keys):
        if not is_text("".join(key)):
            continue
        own = len(to_json(key)) + 1
        if chunk and (len(chunk) == schema.limit or size + own > schema.most_bytes):
            yield chunk
            chunk, size = [], envelope
        chunk.append(key)
        size += own
    if chunk:
        yield chunk
