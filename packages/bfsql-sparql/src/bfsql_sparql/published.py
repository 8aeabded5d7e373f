"""What an endpoint publishes of itself: its service description, which may hold one of its data.

The standard has it at the endpoint's own address, for a GET without a query; the vocabulary
VoID names the classes and properties there. Much else in it is of no use here.
"""

from __future__ import annotations

import asyncio
from typing import Literal

from bfsql.models.rdf import WELL_KNOWN, is_iri
from bfsql_sparql.dataset import Dataset

LARGEST = 4_000_000
"""Bytes of a description that is read; rdflib takes seconds for as many."""

Partition = Literal["class", "property"]
"""What VoID divides a dataset by."""


async def published(dataset: Dataset, partition: Partition, seconds: float) -> frozenset[str]:
    """The classes or properties that a store's service description names; none without one.

    Args:
        dataset: The store.
        partition: Which of the two.
        seconds: How long the description may take to come.
    """
    document = await dataset.description(seconds) if seconds > 0 else None
    if document is None or len(document) > LARGEST:
        return frozenset()
    return await asyncio.to_thread(_objects, document, WELL_KNOWN["void"] + partition)


def _objects(document: bytes, property_: str) -> frozenset[str]:
    import rdflib  # half as long as all else takes to start, and few stores are sampled

    graph = rdflib.Graph(bind_namespaces="none")
    try:
        graph.parse(data=document, format="turtle")
    except Exception:  # noqa: BLE001 - rdflib raises what its parts raise, and nobody has to publish
        return frozenset()
    found = map(str, graph.objects(None, rdflib.URIRef(property_)))
    return frozenset(filter(is_iri, found))
