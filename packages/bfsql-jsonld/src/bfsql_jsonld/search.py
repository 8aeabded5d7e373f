"""Search: the route that takes a name, and its candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from bfsql import call
from bfsql.models.records import EntityStub, Metadata
from bfsql_jsonld.documents import DocumentGraph, DocumentReader
from bfsql_jsonld.entities import Source
from bfsql_jsonld.fields import omissions
from bfsql_jsonld.replies import Request, Unreadable
from bfsql_jsonld.routes import SEARCH_LIMIT, Api

_ID = re.compile(r"\S+:\S+")


async def search(
    api: Api, documents: DocumentReader, source: Source, text: str, types: Sequence[str]
) -> list[EntityStub]:
    """Candidates, best first.

    Args:
        api: The search route, and the names of its fields.
        documents: Reads answers that have no such fields.
        source: Looks up a possible id if the route knows only names.
        text: A person's name for the entity.
        types: Types to include, even if the API does not filter them; none for all.
    """
    s = api.settings
    stubs: list[EntityStub] = []
    if (not s.search_path or s.relations == "document") and _ID.fullmatch(text.strip()):
        with suppress(KeyError):
            node = await source.node(text.strip())
            stubs.append(_stub(node.id, node.entity_type, node.metadata))
    if s.search_path:
        stubs += await _by_name(api, documents, text, types)
    return [stub for stub in stubs if not types or stub.entity_type in types][:SEARCH_LIMIT]


async def _by_name(
    api: Api, documents: DocumentReader, text: str, types: Sequence[str]
) -> list[EntityStub]:
    """The hits of the search route."""
    sent = api.settings.query_text.replace("{text}", text)
    reply = await api.session.ask(Request(api.routes.search(sent, types)))
    if reply.gone:
        raise reply.missing("search")
    document = reply.json()
    call.omitted(*omissions(document))
    hits = api.fields.hits(document)
    if not api.fields.by_fields(hits is not None and all(map(api.fields.is_entity, hits))):
        return _stubs(await documents.read(reply, document))
    with reply.read():
        if hits is None:
            named = " or ".join(api.settings.results_field)
            raise Unreadable(f"there is no list of hits in the field {named}")
        return [api.fields.stub(hit) for hit in hits]


def _stubs(graph: DocumentGraph) -> list[EntityStub]:
    """The nodes that a document describes, those at its top first."""
    order = {entity_id: at for at, entity_id in enumerate(graph.roots)}
    ids = sorted(graph.nodes, key=lambda entity_id: order.get(entity_id, len(order)))
    return [_stub(entity_id, *graph.nodes[entity_id]) for entity_id in ids]


def _stub(entity_id: str, entity_type: str, metadata: Metadata) -> EntityStub:
    name = metadata.get("name")
    return EntityStub(entity_id, entity_type, name if isinstance(name, str) else None)
