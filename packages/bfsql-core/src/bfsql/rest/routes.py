"""Everything that the API answers, in one table; the OpenAPI document describes the same."""

from __future__ import annotations

from bfsql.rest import description, entities, relations, tools, vocabulary
from bfsql.rest.routing import Route

ROUTES = (
    Route("GET", "/schema", vocabulary.schema),
    Route("GET", "/context", vocabulary.terms),
    Route("GET", "/entities", entities.search),
    Route("POST", "/entities/batch", entities.batch),
    Route("GET", "/entities/{id}", entities.entity),
    Route("GET", "/entities/{id}/relations", relations.of_entity),
    Route("GET", "/entities/{id}/provenance", entities.provenance),
    Route("GET", "/relations", relations.one),
    Route("POST", "/relations/batch", relations.batch),
    Route("POST", "/tools/{name}", tools.run),
    Route("GET", "/openapi.json", description.document),
    Route("GET", "/docs", description.page),
)
