"""The handlers of the web API: the vocabulary, entities, relations, batches, and the six tools.

`bfsql.rest.routes` assigns them to paths. The first line of a handler's docstring is published as
the summary of its route.
"""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import urlencode

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.abc.delegating import edges_up_to
from bfsql.answers import encode, evidence_item
from bfsql.answers.clean import clean_metadata, clean_text
from bfsql.call import MAX_EDGES, within
from bfsql.errors import BoundMet, ToolError
from bfsql.models import Edge, Metadata, Node, Property, Triple
from bfsql.models.quotation import excerpt
from bfsql.rest.parameters import (
    DIRECTIONS,
    MAX_BATCH,
    EntityBatch,
    EntityQuery,
    EvidenceQuery,
    MetadataBatch,
    PageQuery,
    RelationQuery,
    RingBatch,
    SearchQuery,
)
from bfsql.rest.request import Api, ApiRequest, wrong_value
from bfsql.rest.response import Reply, context, context_document, relation_context, reply
from bfsql.tools.budget import refuse_if_too_large
from bfsql.tools.hits import Hit, classified_search
from bfsql.tools.namesakes import contexts, namesakes

_MOST_HITS = 100
"""Largest number of hits of a search, as in `search_entities`."""
_PARTS = ("subject", "predicate", "object")
"""The fields of a relation, in order."""

_RESERVED = re.compile(r"id|omissions|@.*|metadata\..*", re.DOTALL)
"""Metadata keys that have another meaning in a document; they get a prefix."""


# The graph


async def schema(request: ApiRequest) -> Reply:
    """What the graph contains, and where batches are accepted."""
    api = request.api
    types, predicates = await api.vocabulary()
    known, _ = await api.graph.graph_schema.sound_outline()
    return reply(
        {
            **({"node_counts": dict(known.node_counts)} if known and known.node_counts else {}),
            "description": clean_text(api.graph.description),
            "comprehensive": await within(api.db.comprehensive()),
            "entity_types": types,
            "predicates": predicates,
            "next_steps": clean_text(await within(api.db.next_steps()) or DEFAULT_NEXT_STEPS),
            "batch": {
                "entities": "/entities/batch",
                "relations": "/relations/batch",
                "limit": MAX_BATCH,
                "max_bytes": api.max_request_bytes,
                "parts": True,
            },
            "outline": "/outline",
            **({"entities": "/entities"} if api.db.lists_entities() else {}),
        }
    )


async def outline(request: ApiRequest) -> Reply:
    """What the graph is made of, in counts."""
    known, counting = await request.api.graph.graph_schema.sound_outline()
    if known is None:
        return replace(reply({"counting": counting}), transient=True)
    tables = [[*map(clean_text, row)] for row in known.tables]
    return reply(
        {
            "counting": False,
            "relations_from": known.relations_from,
            "node_counts": dict(known.node_counts),
            "relations": [one.fields() for one in known.relations],
            "relations_left_out": known.relations_left_out,
            "node_properties": _properties(known.node_properties),
            "edge_properties": _properties(known.edge_properties),
            **({"tables": tables} if tables else {}),
        }
    )


def _properties(known: Mapping[str, Sequence[Property]]) -> dict[str, Any]:
    """The properties of types or predicates, without what is unknown of them."""
    return {owner: [clean_metadata(asdict(one)) for one in of] for owner, of in known.items()}


async def json_ld_context(request: ApiRequest) -> Reply:
    """The JSON-LD context."""
    types, predicates = await request.api.vocabulary()
    return reply(context_document([*types, *predicates]))


async def tool(request: ApiRequest) -> Reply:
    """One of the six tools, with the checks and hooks of MCP: its structured content."""
    answer = await request.api.graph.call(
        request.path["name"], request.parameters, caller=request.caller
    )
    return Reply(answer.content_text.encode() if answer.is_json else encode(answer.document))


async def verify(request: ApiRequest) -> Reply:
    """Check claims: whether each is stored, and with what evidence."""
    verdicts = await request.api.graph.verify(request.parameters.text, caller=request.caller)
    return reply({"verdicts": [one.model_dump(exclude_defaults=True) for one in verdicts]})


# Entities


async def search(request: ApiRequest) -> Reply:
    """Find entities by name, or list those of some types that meet conditions."""
    query: SearchQuery = request.parameters
    if query.q is None:
        return await _listed(request, query)
    if query.type or query.where or query.after is not None:
        raise ToolError(
            "type, where and after are for a list of entities, which has no q. A search by name "
            "takes types.",
            kind="bad_value",
            argument="q",
        )
    if query.limit > _MOST_HITS:
        raise ToolError(
            f"limit must be a whole number from 1 to {_MOST_HITS} where q is given.",
            kind="bad_value",
            argument="limit",
        )
    db = request.api.db
    types = await _types(request.api, query.types)
    hits = (await classified_search(db, query.q, types, query.limit)).hits
    facts = await contexts(db, namesakes(hit.stub for hit in hits))
    results = [_hit(hit, facts.get(hit.stub.id)) for hit in hits]
    return reply({"@context": context("./"), "results": results})


async def _listed(request: ApiRequest, query: SearchQuery) -> Reply:
    """A page of the entities of some types that meet conditions, in the order of their ids."""
    types = [*query.type, *await _types(request.api, query.types)]
    page = await request.api.graph.entity_page(types, query.where, query.after, query.limit)
    document: dict[str, Any] = {
        "@context": context("./"),
        "count": page.count,
        "results": [_stub(node) for node in page.nodes],
    }
    if page.notes:
        document["notes"] = list(map(str, page.notes))
    if page.is_last:
        return reply(document)
    of = [("type", name) for name in types] + [("where", text) for text in query.where]
    link = "?" + urlencode([*of, ("limit", query.limit), ("after", page.nodes[-1].id)])
    return reply(document | {"next": link}, headers={"Link": f'<{link}>; rel="next"'})


async def _types(api: Api, values: Sequence[str]) -> list[str]:
    """The types of a search; a text that is not a type of the graph is split at its commas."""
    if not any("," in value for value in values):
        return [value for value in values if value]
    known = frozenset((await api.vocabulary())[0])
    parts = [
        part.strip()
        for value in values
        for part in ([value] if value in known else value.split(","))
    ]
    return [part for part in dict.fromkeys(parts) if part]


def _hit(found: Hit, facts: Sequence[str] | None) -> dict[str, Any]:
    stub = found.stub
    hit: dict[str, Any] = {"id": stub.id, "@type": stub.entity_type}
    if stub.name is not None:
        hit["name"] = clean_text(stub.name)
    hit["match"] = found.match.kind.value
    if stub.score is not None and math.isfinite(stub.score):
        hit["score"] = float(stub.score)
    return hit if facts is None else {**hit, "context": list(facts)}


async def entity(request: ApiRequest) -> Reply:
    """All that is known of an entity."""
    query: EntityQuery = request.parameters
    db = request.api.db
    keys = db.name_keys().metadata_keys(query.keys or ()) or None
    node = await request.api.node(request.path["id"])
    if keys is None:
        known = await within(db.metadata_for_node(node.id))
    else:
        known = (await within(db.metadata_for_nodes_batch([node.id], keys))).get(node.id, {})
    metadata = _prefixed({**node.metadata, **known}, keys)
    return reply({"@context": context("../", metadata), **_stub(node), **metadata})


async def provenance(request: ApiRequest) -> Reply:
    """The evidence that touches an entity."""
    query: EvidenceQuery = request.parameters
    node = await request.api.node(request.path["id"])
    evidence = await within(request.api.db.provenance_for_node(node.id, query.limit))
    items = [evidence_item(item) for item in evidence.get("items", ())][: query.limit]
    return reply({**evidence, "items": items})


async def entity_batch(request: ApiRequest) -> Reply:
    """Many entities at once; unknown ids are left out."""
    batch: EntityBatch = request.parameters
    db = request.api.db
    keys = None if batch.keys is None else db.name_keys().metadata_keys(batch.keys)
    nodes = list(await within(db.get_nodes_batch(batch.ids))) if batch.ids else []
    if not batch.metadata or not nodes:
        return reply({"results": [_stub(n) for n in nodes]})
    known = await within(db.metadata_for_nodes_batch([n.id for n in nodes], keys))
    results = [_stub(n) | _prefixed({**n.metadata, **known.get(n.id, {})}, keys) for n in nodes]
    return reply({"results": results})


def _stub(node: Node) -> dict[str, Any]:
    return {"id": node.id, "@type": node.entity_type}


def _prefixed(metadata: Metadata, keys: Sequence[str] | None) -> dict[str, Any]:
    """Some keys of metadata in the form in which it is placed beside an identity."""
    kept = metadata if keys is None else {k: v for k, v in metadata.items() if k in keys}
    return {
        f"metadata.{key}" if _RESERVED.fullmatch(key) else key: value
        for key, value in clean_metadata(kept).items()
    }


# Relations


async def relations(request: ApiRequest) -> Reply:
    """Relations of an entity, in pages."""
    query: PageQuery = request.parameters
    direction, predicates, limit = query.direction, query.predicates, query.limit
    after = _position(query.cursor)
    node = await request.api.node(request.path["id"])
    edges = await within(_edges(request.api, [node.id], predicates or None, direction))
    start = 0 if after is None else bisect_right(edges, after)
    page = edges[start : start + limit]
    document: dict[str, Any] = {
        "@context": context("../../"),
        "id": node.id,
        "relations": [_relation(edge) for edge in page],
    }
    if start + limit >= len(edges):
        return reply(document)
    of = [("predicates", name) for name in predicates]
    more = [("direction", direction), *of, ("limit", limit), ("cursor", _cursor(page[-1]))]
    link = "?" + urlencode(more)
    return reply(document | {"next": link}, headers={"Link": f'<{link}>; rel="next"'})


async def _edges(
    api: Api, ids: list[str], predicates: list[str] | None, direction: str
) -> list[Triple]:
    """A ring, or the requested part of it.

    Raises:
        BoundMet: The ring has more edges than a traversal may have.
    """
    most = api.graph.limits.max_edges or MAX_EDGES
    ring = api.db.edges_stream(ids, predicates=predicates, direction=DIRECTIONS[direction])
    edges = await edges_up_to(most, ring)
    if edges is None:
        raise BoundMet("edges", most)
    return sorted(edges)


def _cursor(edge: Triple) -> str:
    return urlsafe_b64encode(json.dumps(edge).encode()).decode().rstrip("=")


def _position(cursor: str | None) -> Triple | None:
    """The last relation of the page before."""
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
    raise wrong_value("cursor", "the value from `next` of an earlier page", excerpt(cursor))


async def relation(request: ApiRequest) -> Reply:
    """A relation with its metadata."""
    query: RelationQuery = request.parameters
    subject, predicate, object_ = triple = query.subject, query.predicate, query.object
    edge, db = Edge(*triple), request.api.db
    try:
        if query.keys:
            metadata = (await within(db.metadata_for_edges_batch([triple], query.keys)))[triple]
        else:
            metadata = await within(db.metadata_for_edge(edge))
    except KeyError:
        raise ToolError(
            f"There is no relation {excerpt(predicate)} from {excerpt(subject)} to "
            f"{excerpt(object_)}. "
            "Relations are exact; GET /entities/{id}/relations lists those of an entity.",
            kind="unknown_entity",
        ) from None
    known = {**_relation(edge), "metadata": clean_metadata(metadata)}
    return reply({"@context": relation_context("./"), **known})


async def relation_batch(request: ApiRequest) -> Reply:
    """Every relation that touches one of the ids, or the metadata of relations."""
    batch: RingBatch | MetadataBatch = request.parameters
    if isinstance(batch, RingBatch):
        part = (batch.predicates, batch.direction)
        ring = await within(_edges(request.api, batch.ids, *part)) if batch.ids else []
        least = sum(sum(map(len, triple)) for triple in ring)
        refuse_if_too_large(request.api.graph.limits, request.route.subject, least)
        return reply({"relations": ring})
    triples = list(dict.fromkeys((s, p, o) for s, p, o in batch.relations))
    db = request.api.db
    known = await within(db.metadata_for_edges_batch(triples, batch.keys)) if triples else {}
    results = [
        _relation(triple) | {"metadata": clean_metadata(known[triple])}
        for triple in triples
        if triple in known
    ]
    return reply({"results": results})


def _relation(edge: Triple) -> dict[str, Any]:
    return dict(zip(_PARTS, edge, strict=True))
