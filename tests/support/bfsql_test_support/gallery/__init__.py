"""Faulty backends, each with one mistake that real authors make."""

from bfsql_test_support.gallery import (
    columns,
    edges,
    health,
    ids,
    isolation,
    metadata,
    nodes,
    outlines,
    search,
    store_access,
    streams,
    values,
)
from bfsql_test_support.gallery.bases import GALLERY, Eight, Store, Wrong, trial

__all__ = [
    "GALLERY",
    "Eight",
    "Store",
    "Wrong",
    "columns",
    "edges",
    "health",
    "ids",
    "isolation",
    "metadata",
    "nodes",
    "outlines",
    "search",
    "store_access",
    "streams",
    "trial",
    "values",
]
