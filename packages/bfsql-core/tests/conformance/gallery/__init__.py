"""Backends that are each wrong in one way that real authors get wrong."""

from conformance.gallery import (
    calls,
    detail,
    edges,
    ids,
    nodes,
    searching,
    stores,
    unknown,
    values,
)
from conformance.gallery.bases import Eight, Store
from conformance.gallery.wrong import GALLERY, Wrong

__all__ = [
    "GALLERY",
    "Eight",
    "Store",
    "Wrong",
    "calls",
    "detail",
    "edges",
    "ids",
    "nodes",
    "searching",
    "stores",
    "unknown",
    "values",
]
