"""Faulty backends, each with one mistake that real authors make."""

from conformance.gallery import (
    columns,
    edges,
    ids,
    isolation,
    metadata,
    nodes,
    operating,
    outlines,
    search,
    stores,
    streams,
    values,
)
from conformance.gallery.bases import GALLERY, Eight, Store, Wrong, trial

__all__ = [
    "GALLERY",
    "Eight",
    "Store",
    "Wrong",
    "columns",
    "edges",
    "ids",
    "isolation",
    "metadata",
    "nodes",
    "operating",
    "outlines",
    "search",
    "stores",
    "streams",
    "trial",
    "values",
]
