"""What is said about a statement of RDF, as metadata of its edge (`protocol.md` 7 and 16).

Files and endpoints share these rules. Wikibase (used by Wikidata) has its own form: beside
`item wdt:P value` stands `item p:P statement`, `statement ps:P value`, and the statement has
qualifiers, a rank, and references.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeAlias

from bfsql.models.merge import merge_metadata, sorted_union
from bfsql.models.rdf import WELL_KNOWN, Literal, value_of

TYPE, SUBJECT, PREDICATE, OBJECT, REIFIES = (
    WELL_KNOWN["rdf"] + name for name in ("type", "subject", "predicate", "object", "reifies")
)
REFERENCE = WELL_KNOWN["prov"] + "wasDerivedFrom"
"""Property of a statement to its sources, in Wikibase to its references."""
DIRECT = "/prop/direct/"
"""In Wikibase, part of the predicates of edges."""
_NOT_METADATA = re.compile(r"/prop/(?:statement|qualifier|reference)/value|/prop/statement/")
"""Properties that repeat the value itself, or lead to its components."""
_SOURCES = ("/prop/reference/P248", "/prop/reference/P854")
"""Stated in; reference URL."""

Values: TypeAlias = Mapping[str, Sequence[str | Literal]]
"""Values of one statement, by property."""


def is_metadata(property_: str) -> bool:
    """Whether a property of a statement or a reference of Wikibase is metadata of the edge."""
    return property_ != TYPE and _NOT_METADATA.search(property_) is None


def statement_metadata(
    values: Values,
    short: Callable[[str], str],
    sources: Container[str] = (),
    confidences: Container[str] = (),
) -> dict[str, Any]:
    """The values of one statement, by ids of properties and the names of the protocol.

    Args:
        values: The values, each also more than once.
        short: The id of an IRI.
        sources: Properties whose values are `source_documents`.
        confidences: Properties whose values are the `confidence`.
    """
    found: dict[str, list[Any]] = defaultdict(list)
    for key, terms in values.items():
        some = [
            value_of(term) if isinstance(term, Literal) else short(term)
            for term in dict.fromkeys(terms)
        ]
        if key in sources:
            found["source_documents"].append(sorted_union(some))
        elif key in confidences:
            found["confidence"] += some
        else:
            found[short(key)] += some
    # A single value is unchanged: a list may have its own order.
    return {name: merge_metadata([{"": one} for one in some])[""] for name, some in found.items()}


def reference_item(
    values: Values, metadata: dict[str, Any], short: Callable[[str], str]
) -> dict[str, Any]:
    """A reference of Wikibase as an item of evidence: its source is the `document_id`.

    Args:
        values: What the reference says.
        metadata: The same as `statement_metadata` has it.
        short: The id of an IRI.
    """
    for source in _SOURCES:
        for key in values:
            value = metadata.get(short(key)) if key.endswith(source) else None
            if value is not None:
                return {"document_id": value if isinstance(value, str) else value[0], **metadata}
    return metadata
