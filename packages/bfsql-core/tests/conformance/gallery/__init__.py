"""Backends that are each wrong in one way that real authors get wrong."""

from conformance.gallery import (
    edges,
    ids,
    isolation,
    metadata,
    nodes,
    search,
    stores,
    values,
)
from conformance.gallery.bases import GALLERY, Eight, Store, Wrong, trial

__all__ = [
    "GALLERY",
    "Eight",
    "Store",
    "Wrong",
    "edges",
    "ids",
    "isolation",
    "metadata",
    "nodes",
    "search",
    "stores",
    "trial",
    "values",
]
