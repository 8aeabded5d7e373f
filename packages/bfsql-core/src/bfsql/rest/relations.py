"""Relations: those of an entity in pages, one with its metadata, many at once."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

from bfsql.answers.clean import clean_metadata
from bfsql.call import within
from bfsql.errors import ToolError
from bfsql.models import Edge, Metadata, Triple
from bfsql.rest.api import Api
from bfsql.rest.asked import Asked, fields
from bfsql.rest.context import of_relation, reference
from bfsql.rest.entities import bounded, texts
from bfsql.rest.reply import Reply, replied
from bfsql.tools.validate import shown

PAGE = 1_000
"""Relations of a page where the request names no number."""
MOST_IN_PAGE = 10_000
DIRECTIONS = ("out", "in", "both")

PARTS = ("subject", "predicate", "object")
"""Of a relation, in their order."""


async def of_entity(api: Api, asked: Asked) -> Reply:
    """`GET /entities/{id}/relations`: its edges, sorted, a page of them."""
    asked.only("Relations", ("direction", "limit", "cursor"))
    direction, limit = _direction(asked), asked.whole("limit", PAGE, MOST_IN_PAGE)
    after = _position(asked.one("cursor"))
    node = await api.node(asked.path[0])
    edges = await within(_edges(api, node.id, direction))
    start = 0 if after is None else bisect_right(edges, after)
    page = edges[start : start + limit]
    document: dict[str, Any] = {
        "@context": reference("../../"),
        "id": node.id,
        "relations": [_relation(edge) for edge in page],
    }
    if start + limit >= len(edges):
        return replied(document)
    link = "?" + urlencode({"direction": direction, "limit": limit, "cursor": _cursor(page[-1])})
    return replied(document | {"next": link}, headers={"Link": f'<{link}>; rel="next"'})


async def one(api: Api, asked: Asked) -> Reply:
    """`GET /relations?subject=&predicate=&object=`: an edge with what is known of it."""
    asked.only("A relation", PARTS)
    subject, predicate, object_ = (asked.needed(part) for part in PARTS)
    edge = Edge(subject, predicate, object_)
    try:
        metadata = await within(api.db.metadata_for_edge(edge))
    except KeyError:
        raise ToolError(
            f"There is no relation {shown(predicate)} from {shown(subject)} to {shown(object_)}. "
            "Relations are exact; GET /entities/{id}/relations lists those of an entity.",
            kind="unknown_entity",
        ) from None
    return replied(
        {
            "@context": of_relation("./"),
            **_relation(edge),
            "metadata": clean_metadata(metadata),
        }
    )


async def batch(api: Api, asked: Asked) -> Reply:
    """`POST /relations/batch`: the ring around ids, or the metadata of relations."""
    given = fields("A batch of relations", asked.body, ("ids", "relations"))
    if len(given) != 1:
        raise ToolError(
            "A batch of relations takes either ids, for every relation that touches one of them, "
            "or relations, for their metadata.",
            kind="bad_value",
        )
    if "ids" in given:
        wanted = texts("ids", given["ids"])
        ring = await within(api.db.edges_batch(wanted)) if wanted else ()
        return replied({"relations": _sorted(ring)})
    triples = _triples(given["relations"])
    known: dict[Triple, Metadata] = (
        await within(api.db.metadata_for_edges_batch(triples)) if triples else {}
    )
    return replied(
        {
            "results": [
                _relation(triple) | {"metadata": clean_metadata(known[triple])}
                for triple in triples
                if triple in known
            ]
        }
    )


async def _edges(api: Api, entity_id: str, direction: str) -> list[Triple]:
    match direction:
        case "out":
            return _sorted(await api.db.edges_from(entity_id))
        case "in":
            return _sorted(await api.db.edges_to(entity_id))
        case _:
            return _sorted(await api.db.edges_batch([entity_id]))


def _sorted(edges: Iterable[Any]) -> list[Triple]:
    return sorted({(s, p, o) for s, p, o in edges})


def _relation(edge: Triple) -> dict[str, Any]:
    return dict(zip(PARTS, edge, strict=True))


def _direction(asked: Asked) -> str:
    direction = asked.one("direction") or "both"
    if direction not in DIRECTIONS:
        raise ToolError(
            f"direction must be one of {', '.join(DIRECTIONS)}, not {shown(direction)}.",
            kind="bad_value",
            argument="direction",
        )
    return direction


def _cursor(edge: Triple) -> str:
    return urlsafe_b64encode(json.dumps(edge).encode()).decode().rstrip("=")


def _position(cursor: str | None) -> Triple | None:
    """The relation that the page before ended with."""
    if cursor is None:
        return None
    try:
        subject, predicate, object_ = json.loads(
            urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        )
        if all(isinstance(part, str) for part in (subject, predicate, object_)):
            return subject, predicate, object_
    except (ValueError, TypeError, RecursionError):
        pass
    raise ToolError(
        f"cursor must be one that `next` of an earlier page gave, not {shown(cursor)}.",
        kind="bad_value",
        argument="cursor",
    )


def _triples(given: Any) -> list[Triple]:
    if not isinstance(given, list) or not all(_is_triple(item) for item in given):
        raise ToolError(
            f"relations must be a list of [subject, predicate, object], not {shown(given)}.",
            kind="bad_value",
            argument="relations",
        )
    bounded("relations", given)
    return list(dict.fromkeys((s, p, o) for s, p, o in given))


def _is_triple(item: Any) -> bool:
    return (
        isinstance(item, list)
        and len(item) == len(PARTS)
        and all(isinstance(part, str) for part in item)
    )
