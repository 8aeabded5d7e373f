"""Short ids for the IRIs of JSON-LD, and what their statements are called in metadata."""

from __future__ import annotations

from bfsql.models.json_values import is_text
from bfsql.models.rdf import WELL_KNOWN, Prefixes
from bfsql_jsonld.settings import JsonLdSettings

NAMES = frozenset(
    {
        WELL_KNOWN["rdfs"] + "label",
        WELL_KNOWN["skos"] + "prefLabel",
        WELL_KNOWN["schema"] + "name",
        "https://schema.org/name",
        WELL_KNOWN["foaf"] + "name",
    }
)
"""Predicates whose texts are the `name`."""

SYNONYMS = frozenset(
    {
        WELL_KNOWN["skos"] + "altLabel",
        WELL_KNOWN["schema"] + "alternateName",
        "https://schema.org/alternateName",
    }
)
"""Predicates whose texts are `synonyms`."""


class Names:
    """Ids for IRIs and back.

    Args:
        settings: With the prefixes that hold before the well-known ones.
    """

    def __init__(self, settings: JsonLdSettings) -> None:
        self._prefixes = Prefixes(settings.prefixes)

    def short(self, iri: str) -> str:
        """The id of an IRI."""
        return str(self._prefixes.short(iri))

    def full(self, entity_id: str) -> str | None:
        """The IRI that an id means, or None."""
        return self._prefixes.full(entity_id) if is_text(entity_id) else None
