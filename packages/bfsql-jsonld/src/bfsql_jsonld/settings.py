"""The settings: the location of the API, its requests, and the interpretation of its answers.

A profile is a set of values for one kind of API; explicit settings take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, SecretStr, model_validator

from bfsql.settings import BackendSettings, Env, FoundFile

Reading = Literal["auto", "fields", "json-ld"]
Relations = Literal["route", "document"]
Profile = Literal["default", "linked-data"]

PROFILES: Mapping[Profile, Mapping[str, Any]] = {
    "default": {},
    "linked-data": {
        "reading": "json-ld",
        "relations": "document",
        "entity_path": "{url}",
        "search_path": "",
        "schema_path": "",
    },
}
"""Profiles by name; `default` is for `bfsql serve --rest`, with the routes of its web API."""


def _usable_url(value: str) -> str:
    """The URL; a ValueError with the reason if no requests can be sent to it."""
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ValueError(f"it is not a URL ({error})") from None
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError("it has to start with http:// or https:// and name a host")
    if parts.query or parts.fragment:
        raise ValueError("it has to end with a path, without ? or #")
    return value


HttpUrl = Annotated[str, AfterValidator(_usable_url)]
"""A URL to which requests can be sent, without a query."""

BaseUrl = Annotated[HttpUrl, AfterValidator(lambda url: url.rstrip("/"))]
"""Such a URL without a final slash."""


class JsonLdSettings(BackendSettings):
    """Where the API is, who asks, which routes it has and what its fields are called."""

    found_file = FoundFile(
        "base_url profile token username password api_key api_key_header contact ca_file "
        "entity_path relations_path search_path edge_path schema_path provenance_path "
        "direction_param direction_out direction_in query_param query_text types_param "
        "limit_param subject_param predicate_param object_param offset_param cursor_param "
        "page_size max_pages reading relations id_field type_field name_field results_field "
        "relations_field subject_field predicate_field object_field metadata_field next_field "
        "types_field predicates_field prefixes languages context request_timeout "
        "connect_timeout retries max_concurrent",
        credentials=dict.fromkeys(
            ("token", "password", "api_key", "oauth_secret", "headers"), "base_url ca_file"
        ),
    )

    base_url: Annotated[BaseUrl, Env("JSONLD_BASE_URL")]
    """Base URL of the API's routes, such as https://host/api."""
    profile: Profile = "default"
    """Settings for a kind of API; settings that you give yourself take precedence."""

    token: Annotated[SecretStr | None, Env("JSONLD_TOKEN")] = None
    """Token to send as a bearer token."""
    username: Annotated[str | None, Env("JSONLD_USERNAME")] = None
    """User name for basic authentication."""
    password: Annotated[SecretStr | None, Env("JSONLD_PASSWORD")] = None
    """The password that goes with username."""
    api_key: Annotated[SecretStr | None, Env("JSONLD_API_KEY")] = None
    """Key to send in the header named by api_key_header."""
    api_key_header: str = "X-API-Key"
    """Header that carries api_key."""
    oauth_url: HttpUrl | None = None
    """URL at which OAuth issues tokens for client credentials."""
    oauth_client: Annotated[str | None, Env("JSONLD_OAUTH_CLIENT")] = None
    """The OAuth client id."""
    oauth_secret: Annotated[SecretStr | None, Env("JSONLD_OAUTH_SECRET")] = None
    """The OAuth client secret."""
    oauth_scope: str | None = None
    """The OAuth scope to request."""
    headers: dict[str, str] = Field(default={})
    """Additional headers for every request to the API; not for secrets."""
    contact: str | None = None
    """Your e-mail address or URL, for the User-Agent header."""
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's."""

    entity_path: str = Field(default="/entities/{id}", min_length=1)
    """Route of an entity: {id} is the id as models write it and {iri} the IRI it stands for, each
    as one path segment; {url} is the IRI as the URL itself.
    """
    relations_path: str = "/entities/{id}/relations"
    """Route of an entity's relations."""
    search_path: str = "/entities"
    """Route for searches; empty if there is none."""
    edge_path: str = "/relations"
    """Route of a single relation; empty if there is none."""
    schema_path: str = "/schema"
    """Route of the vocabulary; empty if there is none."""
    provenance_path: str = "/entities/{id}/provenance"
    """Route of an entity's evidence, if the API has one."""

    direction_param: str = "direction"
    """Parameter for the direction."""
    direction_out: str = "out"
    """Its value for outgoing edges."""
    direction_in: str = "in"
    """Its value for incoming edges."""
    query_param: str = "q"
    """Parameter for the search text."""
    query_text: str = "{text}"
    """What to send in it, where {text} is the text itself."""
    types_param: str = "types"
    """Parameter for the types to search for."""
    limit_param: str = "limit"
    """Parameter for the number of results."""
    subject_param: str = "subject"
    """Parameter for a relation's subject."""
    predicate_param: str = "predicate"
    """Parameter for its predicate."""
    object_param: str = "object"
    """Parameter for its object."""
    offset_param: str = ""
    """Parameter for the offset of a page, if the API pages by offset."""
    cursor_param: str = ""
    """Parameter that takes the value of next_field, if that value is not a URL."""
    page_size: int | None = Field(default=None, ge=1, le=100_000)
    """Relations per page; the API's own default if not set."""
    max_pages: int = Field(default=1_000, ge=1)
    """Maximum number of pages of relations to read; the rest are omitted, with a note."""

    reading: Reading = "auto"
    """fields: keys are read directly; json-ld: statements, using the context; auto: fields if they
    are present, otherwise json-ld.
    """
    relations: Relations = "route"
    """Where relations are found: at a route, or in entity documents."""
    id_field: list[str] = Field(default=["id", "@id"], min_length=1)
    """Fields that hold the id, in order of preference."""
    type_field: list[str] = Field(default=["@type", "type"], min_length=1)
    """Fields that hold the type, in order of preference."""
    name_field: list[str] = Field(default=["name"])
    """Fields that hold the display name."""
    results_field: list[str] = Field(default=["results"])
    """Fields that hold the results of a search."""
    relations_field: list[str] = Field(default=["relations"])
    """Fields that hold the list of relations."""
    subject_field: list[str] = Field(default=["subject"])
    """Fields that hold the subject."""
    predicate_field: list[str] = Field(default=["predicate"])
    """Fields that hold the predicate."""
    object_field: list[str] = Field(default=["object"])
    """Fields that hold the object."""
    metadata_field: list[str] = Field(default=["metadata"])
    """Fields that hold a relation's metadata."""
    next_field: list[str] = Field(default=["next"])
    """Fields that refer to the next page: a URL, or a cursor."""
    types_field: list[str] = Field(default=["entity_types"])
    """Fields that hold the list of types, in the schema."""
    predicates_field: list[str] = Field(default=["predicates"])
    """Fields that hold the list of predicates, in the schema."""

    prefixes: dict[str, str] = Field(default={})
    """Prefixes and their namespaces, which shorten IRIs to ids."""
    languages: list[str] = Field(default=[])
    """Languages of the texts to keep, such as en; all by default."""
    context: HttpUrl | None = None
    """URL of the context for documents that name none; it is also sent with requests."""
    context_hosts: list[str] = Field(default=["schema.org", "www.w3.org", "w3id.org", "purl.org"])
    """Hosts, besides the API's own, from which contexts may be fetched; * allows any."""
    context_files: dict[str, str] = Field(default={})
    """URLs of contexts, each with the file to read instead."""
    max_context_bytes: int = Field(default=2_000_000, ge=1)
    """Maximum size of a context, in bytes."""
    max_contexts: int = Field(default=16, ge=1, le=1_000)
    """Maximum number of contexts for one document."""
    follow_hosts: list[str] = Field(default=[])
    """Additional hosts from which documents may be fetched, without credentials; * allows any."""
    allow_private: bool = False
    """Allow contexts and documents of other hosts to come from private addresses."""

    request_timeout: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds that one request may take, including retries, if no deadline is earlier."""
    connect_timeout: float = Field(default=10.0, gt=0, le=600)
    """Seconds to wait for a connection."""
    retries: int = Field(default=2, ge=0, le=10)
    """Number of retries after a failed request."""
    max_concurrent: int = Field(default=16, ge=1, le=1_000)
    """Maximum number of concurrent requests."""
    max_response_bytes: int = Field(default=64_000_000, ge=1_000)
    """Maximum size of an answer, in bytes."""

    @model_validator(mode="before")
    @classmethod
    def _by_profile(cls, data: Any) -> Any:
        if isinstance(data, dict):
            profile = data.get("profile", "default")
            values = PROFILES[profile] if profile in [*PROFILES] else {}  # a list is not a key
            return {**values, **data}
        return data

    @model_validator(mode="after")
    def _one_login(self) -> JsonLdSettings:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password go together, but one of them is missing")
        if self.oauth_url and not (self.oauth_client and self.oauth_secret):
            raise ValueError("oauth_url also needs oauth_client and oauth_secret")
        ways = ("token", "username", "api_key", "oauth_url")
        given = [name for name in ways if getattr(self, name) is not None]
        if len(given) > 1 and given != ["token", "api_key"]:
            raise ValueError(f"several ways to log in are set; keep one: {', '.join(given)}")
        return self
