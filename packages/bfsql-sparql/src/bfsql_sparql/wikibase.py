"""How Wikibase (Wikidata, for one) keeps what it says of an edge.

Beside `item wdt:P value` stands `item p:P statement`, `statement ps:P value`,
and the statement has qualifiers, a rank, and references.
"""

from __future__ import annotations

import re
from typing import Any

from bfsql.models import Triple
from bfsql.models.rdf import WELL_KNOWN
from bfsql_sparql.mapping import Mapping
from bfsql_sparql.vocabulary import TYPE

REFERENCE = WELL_KNOWN["prov"] + "wasDerivedFrom"
"""Property of a statement node to its references."""

_DIRECT = "/prop/direct/"
_NOT_SAID = re.compile(r"/prop/(?:statement|qualifier|reference)/value|/prop/statement/")
"""Properties that repeat the value itself, or lead to the parts that it is made of."""
_SOURCES = ("/prop/reference/P248", "/prop/reference/P854")
"""Stated in; reference URL."""


def claim(triple: Triple) -> tuple[str, ...] | None:
    """Item, property to the statement node, property to the value, value; None where none are."""
    item, predicate, value = triple
    if _DIRECT not in predicate:
        return None
    before, _, name = predicate.rpartition(_DIRECT)
    return item, f"{before}/prop/{name}", f"{before}/prop/statement/{name}", value


def is_said(property_: str) -> bool:
    """Whether a property of a statement or a reference tells something of the edge."""
    return property_ != TYPE and _NOT_SAID.search(property_) is None


def reference(said: dict[str, Any], mapping: Mapping) -> dict[str, Any]:
    """A reference as an item of evidence: where it is stated is the `document_id`."""
    for key in [
        name for source in _SOURCES for name in said if _full(name, mapping).endswith(source)
    ]:
        value = said[key]
        return {"document_id": value if isinstance(value, str) else value[0], **said}
    return said


def _full(name: str, mapping: Mapping) -> str:
    return mapping.ids.iri(name) or ""
