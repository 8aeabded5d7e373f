"""Routes: URLs of an API as the settings name them, and short ids for the IRIs of JSON-LD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlencode

from bfsql.models.json_values import is_text
from bfsql.models.rdf import WELL_KNOWN, Prefixes
from bfsql_jsonld.fields import Fields
from bfsql_jsonld.session import Session
from bfsql_jsonld.settings import JsonLdSettings

SEARCHED = 20
"""Number of hits requested (chapter 12: "at most 10-20 candidates")."""

_DOTS = {".": "%2E", "..": "%2E%2E"}


def segment(text: str) -> str:
    """A text as one segment of a path, whatever its characters.

    `.` and `..` would be taken for steps of the path, so they are escaped too.
    """
    return _DOTS.get(text) or quote(text, safe="")


class Routes:
    """URLs of an API.

    Args:
        settings: The paths and the names of the parameters.
        names: Converts ids to IRIs.
    """

    def __init__(self, settings: JsonLdSettings, names: Names) -> None:
        self._settings = settings
        self._names = names

    def entity(self, entity_id: str) -> str | None:
        """The document of an entity; None if the id means no IRI and the route requires one."""
        return self._of(self._settings.entity_path, entity_id)

    def relations(self, entity_id: str, direction: str) -> str | None:
        """The relations that leave (`out`) or enter (`in`) an entity."""
        s = self._settings
        url = self._of(s.relations_path, entity_id)
        value = s.direction_out if direction == "out" else s.direction_in
        parameters = [(s.direction_param, value)] if s.direction_param else []
        return None if url is None else with_query(url, parameters)

    def provenance(self, entity_id: str, limit: int) -> str | None:
        """The evidence that touches an entity."""
        s = self._settings
        url = self._of(s.provenance_path, entity_id) if s.provenance_path else None
        return None if url is None else with_query(url, [(s.limit_param, str(limit))])

    def edge(self, triple: tuple[str, str, str]) -> str:
        """One relation."""
        s = self._settings
        names = (s.subject_param, s.predicate_param, s.object_param)
        return with_query(self.at(s.edge_path), list(zip(names, triple, strict=True)))

    def search(self, text: str, types: Sequence[str]) -> str:
        """Entities by name.

        Args:
            text: The text in the parameter's form.
            types: The chapter's form is one value with commas; types that contain one
                are sent separately.
        """
        s = self._settings
        parameters = [(s.query_param, text), (s.limit_param, str(SEARCHED))]
        several = list(types) if any("," in name for name in types) else [",".join(types)]
        parameters += [(s.types_param, value) for value in several if types]
        return with_query(self.at(s.search_path), parameters)

    def incoming(self, text: str) -> str:
        """Entities whose documents point to one."""
        return with_query(
            self.at(self._settings.incoming_path), [(self._settings.query_param, text)]
        )

    def attribute(self, name: str) -> str | None:
        """The route of a predicate's description."""
        return self._of(self._settings.attribute_path, name)

    def at(self, path: str) -> str:
        """A path of the API, or a URL unchanged."""
        if path.startswith(("http://", "https://")):
            return path
        return f"{self._settings.base_url}/{path.lstrip('/')}"

    def _of(self, path: str, entity_id: str) -> str | None:
        iri = self._names.full(entity_id) if "{iri}" in path or "{url}" in path else None
        if iri is None and ("{iri}" in path or "{url}" in path):
            return None
        if path == "{url}":
            return (
                iri.partition("#")[0] if iri and iri.startswith(("http://", "https://")) else None
            )
        filled = path.replace("{id}", segment(entity_id))
        return self.at(filled.replace("{iri}", segment(iri or "")))


def with_query(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """A URL with further parameters; parameters without a name are left out."""
    query = urlencode([(name, value) for name, value in parameters if name], quote_via=quote)
    if not query:
        return url
    return f"{url}{'&' if '?' in url else '?'}{query}"


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
        settings: Include the prefixes that take precedence over the well-known ones.
    """

    def __init__(self, settings: JsonLdSettings) -> None:
        self._prefixes = Prefixes(settings.prefixes)

    def short(self, iri: str) -> str:
        """The id of an IRI."""
        return str(self._prefixes.short(iri))

    def full(self, entity_id: str) -> str | None:
        """The IRI that an id means, or None."""
        return self._prefixes.full(entity_id) if is_text(entity_id) else None


@dataclass(frozen=True, slots=True)
class Api:
    """The objects that every request to an API needs."""

    settings: JsonLdSettings
    session: Session
    names: Names
    routes: Routes
    fields: Fields

    @classmethod
    def of(cls, settings: JsonLdSettings) -> Self:
        """The API of the settings; sends nothing.

        Raises:
            ConfigurationError: Certificates or secrets that cannot be used.
        """
        names = Names(settings)
        return cls(settings, Session(settings), names, Routes(settings, names), Fields(settings))
