"""The settings: where the API is, how it is asked, and how its answers are read.

A profile is values of settings for one kind of API; settings that are given besides win.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from bfsql.settings import BackendSettings, Env

Reading = Literal["auto", "fields", "json-ld", "attributes"]
Relations = Literal["route", "document"]


Profile = Literal["default", "ngsi-ld", "linked-data"]

PROFILES: Mapping[Profile, Mapping[str, Any]] = {
    "default": {},
    "ngsi-ld": {
        "reading": "attributes",
        "relations": "document",
        "entity_path": "/ngsi-ld/v1/entities/{id}",
        "search_path": "/ngsi-ld/v1/entities",
        "query_param": "q",
        "query_text": 'name~="{pattern}"',
        "types_param": "type",
        "incoming_path": "/ngsi-ld/v1/entities",
        "incoming_text": '{predicate}=="{id}"',
        "schema_path": "/ngsi-ld/v1/types",
        "types_field": ["typeList"],
        "attributes_path": "/ngsi-ld/v1/attributes",
        "predicates_field": ["attributeList"],
        "attribute_path": "/ngsi-ld/v1/attributes/{id}",
        "offset_param": "offset",
        "page_size": 100,
        "id_field": ["id", "@id"],
        "type_field": ["type", "@type"],
    },
    "linked-data": {
        "reading": "json-ld",
        "relations": "document",
        "entity_path": "{url}",
        "search_path": "",
        "schema_path": "",
    },
}
"""By name; `default` is what `bfsql serve --rest` offers, the routes of chapter 12."""


class JsonLdSettings(BackendSettings):
    """Where the API is, who asks, which routes it has and what its fields are called."""

    base_url: Annotated[str, Env("JSONLD_BASE_URL")] = Field(
        description="Where the API's routes begin, as in https://host/api."
    )
    profile: Profile = Field(
        default="default",
        description="Settings for a kind of API; those that are given besides win.",
    )

    token: Annotated[SecretStr | None, Env("JSONLD_TOKEN")] = Field(
        default=None, description="Sent as a bearer token."
    )
    username: Annotated[str | None, Env("JSONLD_USERNAME")] = Field(
        default=None, description="Who logs in, by basic authentication."
    )
    password: Annotated[SecretStr | None, Env("JSONLD_PASSWORD")] = Field(
        default=None, description="The password that goes with username."
    )
    api_key: Annotated[SecretStr | None, Env("JSONLD_API_KEY")] = Field(
        default=None, description="Sent in the header that api_key_header names."
    )
    api_key_header: str = Field(default="X-API-Key", description="Header that carries api_key.")
    oauth_url: str | None = Field(
        default=None, description="Where OAuth gives tokens for client credentials."
    )
    oauth_client: Annotated[str | None, Env("JSONLD_OAUTH_CLIENT")] = Field(
        default=None, description="The client's id there."
    )
    oauth_secret: Annotated[SecretStr | None, Env("JSONLD_OAUTH_SECRET")] = Field(
        default=None, description="The client's secret there."
    )
    oauth_scope: str | None = Field(default=None, description="The scope to ask for.")
    headers: dict[str, str] = Field(
        default={}, description="Further headers of every request to the API, no secrets."
    )
    contact: str | None = Field(
        default=None, description="An address or URL of yours, for the User-Agent."
    )
    ca_file: Path | None = Field(
        default=None, description="Certificates (PEM) to trust in place of the system's."
    )

    entity_path: str = Field(
        default="/entities/{id}",
        min_length=1,
        description="Route of an entity: {id} as models write it, {iri} the IRI that it means, "
        "both as one segment; {url} is the IRI as the URL itself.",
    )
    relations_path: str = Field(
        default="/entities/{id}/relations", description="Route of an entity's relations."
    )
    search_path: str = Field(
        default="/entities", description="Route of the search; empty where there is none."
    )
    edge_path: str = Field(
        default="/relations", description="Route of one relation; empty where there is none."
    )
    schema_path: str = Field(
        default="/schema", description="Route of the vocabulary; empty where there is none."
    )
    provenance_path: str = Field(
        default="/entities/{id}/provenance",
        description="Route of an entity's evidence; an API may lack it.",
    )
    incoming_path: str = Field(
        default="",
        description="Route that finds the entities that point to one, where its relations stand "
        "in their documents.",
    )
    incoming_text: str = Field(
        default='{predicate}=="{id}"', description="What that route is asked, for each predicate."
    )
    attributes_path: str = Field(
        default="", description="Route of the predicates, where that of the schema has types alone."
    )
    attribute_path: str = Field(
        default="", description="Route of one of them, which tells whether it is a relationship."
    )

    direction_param: str = Field(default="direction", description="Parameter of the direction.")
    direction_out: str = Field(default="out", description="Its value for edges that leave.")
    direction_in: str = Field(default="in", description="Its value for edges that enter.")
    query_param: str = Field(default="q", description="Parameter of the text to search for.")
    query_text: str = Field(
        default="{text}",
        description="What is sent in it: {text} as it is, {pattern} as a regular expression.",
    )
    types_param: str = Field(default="types", description="Parameter of the types to search for.")
    limit_param: str = Field(default="limit", description="Parameter of how many to give.")
    subject_param: str = Field(default="subject", description="Parameter of a relation's subject.")
    predicate_param: str = Field(default="predicate", description="Parameter of its predicate.")
    object_param: str = Field(default="object", description="Parameter of its object.")
    offset_param: str = Field(
        default="", description="Parameter of a page's beginning, where pages are counted so."
    )
    cursor_param: str = Field(
        default="", description="Parameter that takes what next_field holds, if that is no URL."
    )
    page_size: int | None = Field(
        default=None, ge=1, le=100_000, description="Relations of a page; the API's by default."
    )
    max_pages: int = Field(
        default=1_000, ge=1, description="Pages after which relations are left out, with a note."
    )

    reading: Reading = Field(
        default="auto",
        description="fields: keys as they are; json-ld: statements, by the context; attributes: "
        "NGSI-LD; auto: fields where they are there, otherwise json-ld.",
    )
    relations: Relations = Field(
        default="route", description="Where relations stand: in a route, or in entity documents."
    )
    id_field: list[str] = Field(
        default=["id", "@id"], min_length=1, description="Fields of the id, best first."
    )
    type_field: list[str] = Field(
        default=["@type", "type"], min_length=1, description="Fields of the type, best first."
    )
    name_field: list[str] = Field(default=["name"], description="Fields of the display name.")
    results_field: list[str] = Field(
        default=["results"], description="Fields of the list that a search gives."
    )
    relations_field: list[str] = Field(
        default=["relations"], description="Fields of the list of relations."
    )
    subject_field: list[str] = Field(default=["subject"], description="Fields of the subject.")
    predicate_field: list[str] = Field(
        default=["predicate"], description="Fields of the predicate."
    )
    object_field: list[str] = Field(default=["object"], description="Fields of the object.")
    metadata_field: list[str] = Field(
        default=["metadata"], description="Fields of a relation's metadata."
    )
    next_field: list[str] = Field(
        default=["next"], description="Fields of the next page: a URL, or a cursor."
    )
    types_field: list[str] = Field(
        default=["entity_types"], description="Fields of the list of types, in the schema."
    )
    predicates_field: list[str] = Field(
        default=["predicates"], description="Fields of the list of predicates, in the schema."
    )

    prefixes: dict[str, str] = Field(
        default={}, description="Prefix to namespace, for short ids of IRIs."
    )
    languages: list[str] = Field(
        default=[], description="Languages of the texts to keep, as en; all by default."
    )
    context: str | None = Field(
        default=None,
        description="URL of the context of documents that name none; requests name it, too.",
    )
    context_hosts: list[str] = Field(
        default=["schema.org", "www.w3.org", "w3id.org", "purl.org", "uri.etsi.org"],
        description="Hosts that contexts are fetched from, beside the API's own; * is any.",
    )
    context_files: dict[str, str] = Field(
        default={}, description="URL of a context to the file that is read in its place."
    )
    max_context_bytes: int = Field(
        default=2_000_000, ge=1, description="Bytes of the largest context."
    )
    max_contexts: int = Field(
        default=16, ge=1, le=1_000, description="Contexts that one document may need."
    )
    follow_hosts: list[str] = Field(
        default=[],
        description="Further hosts that documents are fetched from, without credentials; * is any.",
    )
    allow_private: bool = Field(
        default=False,
        description="Let contexts and documents of further hosts come from private addresses.",
    )

    request_timeout: float = Field(
        default=60.0,
        gt=0,
        le=86_400,
        description="Seconds that one question may take where no deadline is nearer.",
    )
    connect_timeout: float = Field(
        default=10.0, gt=0, le=600, description="Seconds to wait for a connection."
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="Times that a question is asked again if it failed."
    )
    max_concurrent: int = Field(
        default=16, ge=1, le=1_000, description="Requests that are under way at once."
    )
    max_response_bytes: int = Field(
        default=64_000_000, ge=1_000, description="Bytes of the largest answer."
    )
    replies_bytes: int = Field(
        default=0,
        ge=0,
        description="Bytes of answers that are kept as their Cache-Control and ETag allow; 0 keeps "
        "none.",
    )

    @model_validator(mode="before")
    @classmethod
    def _by_profile(cls, given: Any) -> Any:
        if isinstance(given, dict):
            return {**PROFILES.get(given.get("profile", "default"), {}), **given}
        return given

    @field_validator("base_url")
    @classmethod
    def _usable(cls, value: str) -> str:
        return http_url(value).rstrip("/")

    @field_validator("oauth_url", "context")
    @classmethod
    def _usable_too(cls, value: str | None) -> str | None:
        return None if value is None else http_url(value)

    @model_validator(mode="after")
    def _one_login(self) -> JsonLdSettings:
        ways = {
            "token": self.token is not None,
            "username": self.username is not None,
            "api_key": self.api_key is not None,
            "oauth_url": self.oauth_url is not None,
        }
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together, and one of them is missing")
        if self.oauth_url and not (self.oauth_client and self.oauth_secret):
            raise ValueError("oauth_url needs oauth_client and oauth_secret besides")
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1 and given != ["token", "api_key"]:
            raise ValueError(f"there are several ways to log in, give one: {', '.join(given)}")
        return self


def http_url(value: str) -> str:
    """The URL, where it is one that can be asked.

    Raises:
        ValueError: Why it cannot.
    """
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"it is no URL ({error})") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("it has to begin with http:// or https:// and name a host")
    if parts.query or parts.fragment:
        raise ValueError("it has to end with a path, without ? and #")
    return value
