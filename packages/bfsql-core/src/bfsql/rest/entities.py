"""Entities: one, by name, many at once, and the evidence that touches one."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bfsql.answers import evidence_item
from bfsql.answers.clean import clean_metadata, clean_text
from bfsql.call import within
from bfsql.errors import ToolError
from bfsql.models import EntityStub, Metadata
from bfsql.rest.api import MOST_IN_BATCH, Api
from bfsql.rest.asked import Asked, fields
from bfsql.rest.context import reference
from bfsql.rest.reply import Reply, replied
from bfsql.tools.validate import shown

HITS = 20
"""Hits of a search where the request names no number, and as many as backends give."""
MOST_HITS = 100
EVIDENCE = 20
"""Items of evidence where the request names no number."""
MOST_EVIDENCE = 1_000

_RESERVED = re.compile(r"id|omissions|@.*|metadata\..*", re.DOTALL)
"""Metadata keys that would mean something else in a document; they get a prefix."""


async def entity(api: Api, asked: Asked) -> Reply:
    """`GET /entities/{id}`: all that is known of one."""
    asked.only("An entity", ())
    node = await api.node(asked.path[0])
    metadata = {**node.metadata, **await within(api.db.metadata_for_node(node.id))}
    document = entity_document(node.id, node.entity_type, metadata)
    return replied({"@context": reference("../", _beside(document)), **document})


async def search(api: Api, asked: Asked) -> Reply:
    """`GET /entities?q=&types=&limit=`: names to ids."""
    asked.only("A search", ("q", "types", "limit"))
    text, limit = asked.needed("q"), asked.whole("limit", HITS, MOST_HITS)
    types = await _types(api, asked.many("types"))
    found = await within(api.db.search_entities(text, types))
    return replied({"@context": reference("./"), "results": [_hit(stub) for stub in found[:limit]]})


async def provenance(api: Api, asked: Asked) -> Reply:
    """`GET /entities/{id}/provenance?limit=`: the evidence that touches one."""
    asked.only("Provenance", ("limit",))
    limit = asked.whole("limit", EVIDENCE, MOST_EVIDENCE)
    node = await api.node(asked.path[0])
    evidence = await within(api.db.provenance_for_node(node.id, limit))
    items = [evidence_item(item) for item in evidence.get("items", ())][:limit]
    return replied({**evidence, "items": items})


async def batch(api: Api, asked: Asked) -> Reply:
    """`POST /entities/batch`: many at once, those left out that there are not."""
    given = fields("A batch of entities", asked.body, ("ids", "metadata"))
    wanted, detailed = texts("ids", given.get("ids")), given.get("metadata", False)
    if not isinstance(detailed, bool):
        raise ToolError(
            f"metadata must be true or false, not {shown(detailed)}.",
            kind="bad_value",
            argument="metadata",
        )
    nodes = list(await within(api.db.get_nodes_batch(wanted))) if wanted else []
    if not detailed:
        return replied({"results": [{"id": n.id, "@type": n.entity_type} for n in nodes]})
    known: Mapping[str, Metadata] = (
        await within(api.db.metadata_for_nodes_batch([n.id for n in nodes])) if nodes else {}
    )
    return replied(
        {
            "results": [
                entity_document(n.id, n.entity_type, {**n.metadata, **known.get(n.id, {})})
                for n in nodes
            ]
        }
    )


def entity_document(entity_id: str, entity_type: str, metadata: Metadata) -> dict[str, Any]:
    """A node of JSON-LD: metadata beside the identity."""
    return {
        "id": entity_id,
        "@type": entity_type,
        **{
            f"metadata.{key}" if _RESERVED.fullmatch(key) else key: value
            for key, value in clean_metadata(metadata).items()
        },
    }


def _beside(document: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata in a document."""
    return {key: value for key, value in document.items() if key not in {"id", "@type"}}


def texts(name: str, given: Any) -> list[str]:
    """The list of texts in a batch, each once.

    Raises:
        ToolError: It is none, or too long.
    """
    if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
        have = "nothing" if given is None else shown(given)
        raise ToolError(
            f"{name} must be a list of strings, not {have}.", kind="bad_value", argument=name
        )
    bounded(name, given)
    return list(dict.fromkeys(given))


def bounded(name: str, given: Sequence[Any]) -> None:
    """Refuse a batch that is too long.

    Raises:
        ToolError: It is.
    """
    if len(given) > MOST_IN_BATCH:
        raise ToolError(
            f"{name} holds {len(given)} values; at most {MOST_IN_BATCH} are taken. Make several "
            "requests.",
            kind="too_large",
            argument=name,
        )


async def _types(api: Api, given: Sequence[str]) -> list[str]:
    """The types of a search; a text that is no type of the graph is taken apart at its commas."""
    if not any("," in value for value in given):
        return [value for value in given if value]
    known = frozenset((await api.vocabulary())[0])
    parts = [
        part.strip()
        for value in given
        for part in ([value] if value in known else value.split(","))
    ]
    return [part for part in dict.fromkeys(parts) if part]


def _hit(stub: EntityStub) -> dict[str, Any]:
    score = stub.score if stub.score is not None and math.isfinite(stub.score) else None
    name = None if stub.name is None else clean_text(stub.name)
    hit = {"name": name, "score": None if score is None else float(score)}
    known = {key: value for key, value in hit.items() if value is not None}
    return {"id": stub.id, "@type": stub.entity_type, **known}
