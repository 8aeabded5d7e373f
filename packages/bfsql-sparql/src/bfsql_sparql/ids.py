"""Canonical ids and the IRIs that they are in the store.

An id is an IRI, mostly shortened by a prefix. What is none, such as the id
`42` of a loaded graph, is percent-encoded in a namespace of its own, so that
every id has one IRI, and every IRI one id.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, unquote

from bfsql.models.json_values import is_text
from bfsql.models.rdf import Prefixes


class Ids:
    """Both ways between ids and IRIs.

    Args:
        prefixes: Prefix to namespace; they win over the usual ones.
        base: Namespace of the ids that are no IRIs.
    """

    def __init__(self, prefixes: Mapping[str, str], base: str) -> None:
        self._prefixes = Prefixes(prefixes)
        self._base = base
        self.id = lru_cache(maxsize=1 << 17)(self._id)
        self.iri = lru_cache(maxsize=1 << 17)(self._iri)

    def _iri(self, id_: str) -> str | None:
        """The IRI that an id means; None where it is no text."""
        if not is_text(id_):
            return None
        return self._prefixes.full(id_) or self._own(id_)

    def _own(self, id_: str) -> str:
        return self._base + quote(id_, safe="")

    def _id(self, iri: str) -> str:
        """The canonical id of an IRI."""
        if iri.startswith(self._base):
            id_ = unquote(iri[len(self._base) :], errors="replace")
            if self._prefixes.full(id_) is None and self._own(id_) == iri:
                return id_
        return self._prefixes.short(iri)
