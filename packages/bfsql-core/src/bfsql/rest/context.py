"""The JSON-LD context of the API, generated from the graph's schema.

Every key that is nothing else is a property in one namespace, types and
predicates are terms in it, and a relation is an `rdf:Statement` in all but type,
since a predicate that is an arbitrary text could not be a property.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

VOCABULARY = "urn:bfsql:vocabulary:"
"""Namespace of types, predicates and metadata keys; the same wherever the server stands."""

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PLAIN = re.compile(r"[^@:/][^:/]*")
"""Names that can be terms: with a colon or slash they are IRIs already, with `@` keywords."""

_STATEMENT: dict[str, Any] = {
    "subject": {"@id": f"{_RDF}subject", "@type": "@id"},
    "predicate": {"@id": f"{_RDF}predicate", "@type": "@vocab"},
    "object": {"@id": f"{_RDF}object", "@type": "@id"},
}
"""Terms of a relation; elsewhere these names are keys of metadata like any other."""

_OWN: dict[str, Any] = {
    "id": "@id",
    "omissions": {"@id": f"{VOCABULARY}omissions", "@type": "@json"},
    "relations": {
        "@id": f"{VOCABULARY}relations",
        "@context": _STATEMENT,
    },
}


def context(names: Iterable[str]) -> dict[str, Any]:
    """The document at `/context`.

    Args:
        names: Entity types and predicates of the graph.
    """
    plain = sorted({name for name in names if _PLAIN.fullmatch(name)})
    terms = {name: VOCABULARY + quote(name, safe="") for name in plain}
    return {"@context": {"@version": 1.1, "@vocab": VOCABULARY, **terms, **_OWN}}


def reference(root: str, metadata: Mapping[str, Any] = MappingProxyType({})) -> list[Any]:
    """The value of `@context` for a document.

    Ids that are no IRIs are relative to one place, whichever document they stand
    in; only a document itself can say so, since `@base` of a fetched context counts
    for nothing.

    Args:
        root: Where the API's routes begin, relative to the document.
        metadata: Keys beside the document's own; values that JSON-LD would take for nodes or
            keywords of its own are declared to be plain JSON.
    """
    opaque = {
        key: {"@type": "@json"}
        for key, value in metadata.items()
        if key in _OWN or _misleading(value)
    }
    return [f"{root}context", {"@base": f"{root}entities/", **opaque}]


def of_relation(root: str) -> list[Any]:
    """The same for a document that is one relation; its metadata is plain JSON, whatever it holds.

    Args:
        root: As for `reference`.
    """
    address, own = reference(root)
    return [address, {**own, **_STATEMENT, "metadata": {"@type": "@json"}}]


def _misleading(value: Any) -> bool:
    if isinstance(value, dict):
        return any(key == "id" or key.startswith("@") for key in value) or any(
            map(_misleading, value.values())
        )
    return isinstance(value, list) and any(map(_misleading, value))
