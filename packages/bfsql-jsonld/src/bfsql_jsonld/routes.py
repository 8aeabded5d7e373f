"""Routes: URLs of an API as the settings name them, and short ids for the IRIs of JSON-LD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, urlencode

from bfsql.models.rdf import Prefixes
from bfsql_jsonld.fields import Fields
from bfsql_jsonld.replies import Reply, Request
from bfsql_jsonld.session import Session
from bfsql_jsonld.settings import JsonLdSettings

SEARCH_LIMIT = 20
"""Number of hits requested (`backend-contract.md`)."""

_DOTS = {".": "%2E", "..": "%2E%2E"}


def segment(text: str) -> str:
    """A text as one segment of a path, whatever its characters.

    `.` and `..` would be taken for steps of the path, so they are escaped too.
    """
    return _DOTS.get(text) or quote(text, safe="")


class Routes:
    """URLs of an API, made of the paths and the names of parameters in the settings."""

    def __init__(self, settings: JsonLdSettings, prefixes: Prefixes) -> None:
        self._settings = settings
        self._prefixes = prefixes

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

        Types are one value with commas, or several if one of them has a comma.
        """
        s = self._settings
        parameters = [(s.query_param, text), (s.limit_param, str(SEARCH_LIMIT))]
        several = list(types) if any("," in name for name in types) else [",".join(types)]
        parameters += [(s.types_param, value) for value in several if types]
        return with_query(self.at(s.search_path), parameters)

    def at(self, path: str) -> str:
        """A path of the API, or a URL unchanged."""
        if path.startswith(("http://", "https://")):
            return path
        return f"{self._settings.base_url}/{path.lstrip('/')}"

    def _of(self, path: str, entity_id: str) -> str | None:
        """The route of an entity; None if it requires an IRI and the id means none."""
        filled = path.replace("{id}", segment(entity_id))
        if "{iri}" not in path and "{url}" not in path:
            return self.at(filled)
        iri = self._prefixes.full(entity_id)
        if iri is None or (path == "{url}" and not iri.startswith(("http://", "https://"))):
            return None
        if path == "{url}":
            return iri.partition("#")[0]
        return self.at(filled.replace("{iri}", segment(iri)))


def with_query(url: str, parameters: Sequence[tuple[str, str]]) -> str:
    """A URL with further parameters; parameters without a name are left out."""
    query = urlencode([(name, value) for name, value in parameters if name], quote_via=quote)
    if not query:
        return url
    return f"{url}{'&' if '?' in url else '?'}{query}"


@dataclass(frozen=True, slots=True)
class Api:
    """The objects that every request to an API needs."""

    settings: JsonLdSettings
    session: Session
    prefixes: Prefixes
    """Short ids for IRIs."""
    routes: Routes
    fields: Fields

    @classmethod
    def of(cls, settings: JsonLdSettings) -> Self:
        """The API of the settings; sends nothing."""
        prefixes = Prefixes(settings.prefixes)
        routes = Routes(settings, prefixes)
        return cls(settings, Session(settings), prefixes, routes, Fields(settings))

    async def get(self, url: str | None) -> Reply | None:
        """The reply to a GET request; None without a URL, or if the API has no such thing."""
        reply = None if url is None else await self.session.ask(Request(url))
        return None if reply is None or reply.gone else reply

    def canonical(self, entity_id: str) -> str:
        """The id that documents have for the IRI that an id means; the id itself without one."""
        iri = self.prefixes.full(entity_id)
        return entity_id if iri is None else self.prefixes.short(iri)
