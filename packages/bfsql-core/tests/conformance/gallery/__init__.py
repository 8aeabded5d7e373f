"""Backends that are each wrong in one way that real authors get wrong."""

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
