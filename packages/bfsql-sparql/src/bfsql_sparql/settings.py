"""Settings of a SPARQL endpoint, and presets of known ones."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator

from bfsql.errors import ConfigurationError
from bfsql.models.rdf import is_iri
from bfsql.models.rdf_names import ALIAS_PROPERTIES, NAME_PROPERTIES
from bfsql.settings import BackendSettings, Env, FoundFile, UnreadableFile, read_text, resolve

Statements = Literal["auto", "none", "reification", "rdf-star", "rdf-1.2", "wikibase"]
"""Place of the statements about an edge."""

Search = Literal[
    "auto", "contains", "virtuoso", "fuseki", "graphdb", "stardog", "qlever", "rdf4j", "wikidata"
]
"""Method of searching names."""


HINT = "hint"
"""Key of a preset that is not a setting: advice for the model, in sentences."""
_NOT_IN_PRESETS = ("preset", "preset_file", "password", "token", "key")


class SparqlSettings(BackendSettings):
    """Where the graph is, how its triples are read as entities and edges, and how gently."""

    found_file = FoundFile(
        "endpoint data preset prefix base graph type_property type_priority type_namespace "
        "label_property alias_property description_property language only_predicate "
        "exclude_predicate predicate_namespace node_namespace ontology inverse statements "
        "statement_graph confidence_property source_property search search_timeout distinct "
        "schema_timeout probe_seed batch_size page_size max_edges query_timeout connect_timeout "
        "timeout_parameter timeout_unit max_concurrent request_delay retries contact username "
        "password authentication token key_header key ca_file write_statements",
        credentials=dict.fromkeys(
            ("password", "token", "key", "client_certificate", "parameter"),
            "endpoint|preset authentication ca_file",
        ),
    )

    # --- where --------------------------------------------------------------

    endpoint: Annotated[str | None, Env("SPARQL_ENDPOINT_URL")] = None
    """URL that accepts queries."""
    data: list[str] = Field(default=[])
    """Not used any more: RDF files are served by `bfsql serve FILE...`."""
    preset: str | None = None
    """Settings for a known endpoint or server: dbpedia, wikidata, uniprot, chembl, virtuoso,
    fuseki, graphdb, stardog, neptune, qlever, rdf4j, oxigraph.
    """
    preset_file: Path | None = None
    """TOML file with additional presets, one table for each."""

    # --- how it is read -----------------------------------------------------

    prefix: dict[str, str] = Field(default={})
    """Prefixes that shorten IRIs to ids, in addition to the usual ones, over which they take
    precedence.
    """
    base: str = "urn:bfsql:"
    """Namespace of ids that are not IRIs themselves."""
    graph: list[str] = Field(default=[])
    """Named graphs to read as one; `all` for all of them. By default, the graph that the store uses
    for a query that names none.
    """
    type_property: list[str] = Field(default=["rdf:type"], min_length=1)
    """Properties that give a node's type."""
    type_priority: list[str] = Field(default=[])
    """Types that take precedence over a node's other types."""
    type_namespace: list[str] = Field(default=[])
    """Namespaces whose types take precedence over a node's other types."""
    label_property: list[str] = Field(default=[*NAME_PROPERTIES])
    """Properties that hold the display name, in order of preference."""
    alias_property: list[str] = Field(default=[*ALIAS_PROPERTIES])
    """Properties that hold additional names."""
    description_property: list[str] = Field(default=[])
    """Properties that hold the description, in order of preference."""
    language: list[str] = Field(default=["en"])
    """Languages of the texts to keep, in order of preference; if a property has none of them, all
    of its texts are kept. `all` keeps everything.
    """
    only_predicate: list[str] = Field(default=[])
    """Predicates to follow; by default all."""
    exclude_predicate: list[str] = Field(default=[])
    """Predicates that are never followed."""
    predicate_namespace: list[str] = Field(default=[])
    """Follow only predicates whose IRI begins with one of these."""
    node_namespace: list[str] = Field(default=[])
    """Keep only nodes whose IRI begins with one of these."""
    ontology: bool = True
    """Whether classes, properties and the links between them are part of the graph."""
    inverse: dict[str, str] = Field(default={})
    """Predicates that state the inverse of another, as inverse=predicate: edges of the first are
    returned as edges of the second.
    """
    statements: Statements = "auto"
    """Where metadata of edges is stored; auto detects it."""
    statement_graph: bool = False
    """Include the named graphs of an edge in its metadata."""
    confidence_property: list[str] = Field(default=[])
    """Properties of statements that hold the confidence."""
    source_property: list[str] = Field(default=["prov:wasDerivedFrom"])
    """Properties of statements that hold the source documents."""

    # --- searching and looking ----------------------------------------------

    search: Search = "auto"
    """How names are found; auto detects it."""
    search_timeout: float = Field(default=10.0, gt=0, le=3_600)
    """Seconds that one search may take."""
    distinct: bool = True
    """Whether the endpoint can list all types and predicates with SELECT DISTINCT."""
    schema_timeout: float = Field(default=20.0, gt=0, le=3_600)
    """Seconds that each of these lists may take, and counting the relations; after that they come
    from a sample.
    """
    probe_seed: list[str] = Field(default=[])
    """Ids around which types and predicates are sampled if they cannot be listed."""

    # --- requests -----------------------------------------------------------

    batch_size: int = Field(default=1_000, ge=1, le=100_000)
    """Ids per query; halved when a query is refused."""
    page_size: int = Field(default=100_000, ge=1, le=10_000_000)
    """Rows requested by one query; further queries request the rest."""
    max_edges: int = Field(default=1_000_000, ge=1)
    """Maximum number of edges read for one node in one direction."""
    query_timeout: float = Field(default=60.0, gt=0, le=86_400)
    """Seconds that one query may take, if no deadline is earlier."""
    connect_timeout: float = Field(default=10.0, gt=0, le=600)
    """Seconds to wait for a connection."""
    timeout_parameter: str | None = None
    """Request parameter in which the endpoint accepts a time limit."""
    timeout_unit: Literal["s", "ms", "duration"] = "s"
    """Unit of that parameter; duration appends the unit, as in 30s."""
    parameter: dict[str, str] = Field(default={})
    """Additional request parameters for the endpoint."""
    max_concurrent: int = Field(default=4, ge=1, le=256)
    """Maximum number of concurrent requests."""
    request_delay: float = Field(default=0.0, ge=0, le=60)
    """Seconds between the starts of two requests."""
    retries: int = Field(default=2, ge=0, le=10)
    """Number of retries after a failure that may be temporary."""
    max_response_bytes: int = Field(default=256_000_000, ge=1_000)
    """Maximum size of one answer, in bytes."""
    contact: str | None = None
    """Your e-mail address or web page, sent to the endpoint with each request."""

    # --- access -------------------------------------------------------------

    username: Annotated[str | None, Env("SPARQL_USERNAME")] = None
    """User name."""
    password: Annotated[SecretStr | None, Env("SPARQL_PASSWORD")] = None
    """The password."""
    authentication: Literal["basic", "digest"] = "basic"
    """How the user name and password are sent."""
    token: Annotated[SecretStr | None, Env("SPARQL_TOKEN")] = None
    """A bearer token."""
    key_header: str = "X-API-Key"
    """Header in which the key is sent."""
    key: Annotated[SecretStr | None, Env("SPARQL_KEY")] = None
    """A key, sent in that header."""
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's."""
    client_certificate: Path | None = None
    """Certificate and key (PEM) to present to the endpoint."""
    redirect_hosts: list[str] = Field(default=[])
    """Hosts, besides the endpoint's own, to which it may redirect."""

    # --- loading ------------------------------------------------------------

    update_endpoint: Annotated[str | None, Env("SPARQL_UPDATE_URL")] = None
    """Loading: URL that accepts updates."""
    write_statements: Literal["reification", "rdf-star", "rdf-1.2", "none"] = "reification"
    """Loading: how metadata of edges is written."""

    @field_validator("endpoint", "update_endpoint")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is not None and not value.lower().startswith(("http://", "https://")):
            raise ValueError(f"{value!r} is not an address that starts with http:// or https://")
        return value

    @field_validator("data")
    @classmethod
    def _files(cls, value: list[str]) -> list[str]:
        if value:
            raise ValueError(
                "RDF files are loaded to be served, and not by this backend. Leave out --backend "
                f"sparql: bfsql serve {' '.join(value)}"
            )
        return value

    @field_validator("prefix")
    @classmethod
    def _namespaces(cls, value: dict[str, str]) -> dict[str, str]:
        for prefix, namespace in value.items():
            if not is_iri(namespace):
                raise ValueError(
                    f"{prefix}={namespace} binds a prefix to something that is not an IRI; write "
                    "it like dbr=http://dbpedia.org/resource/"
                )
        return value

    @field_validator("base")
    @classmethod
    def _base(cls, value: str) -> str:
        if not is_iri(value):
            raise ValueError(f"{value!r} is not an IRI; write it like urn:bfsql:")
        return value


# --- presets ----------------------------------------------------------------


def with_preset(settings: SparqlSettings) -> SparqlSettings:
    """The settings, completed by those of their preset.

    Mappings such as `prefix` are merged; given entries take precedence.

    Args:
        settings: The settings as given.

    Raises:
        ConfigurationError: No such preset, or one with a setting that cannot be used.
    """
    if settings.preset is None:
        return settings
    table = {key: value for key, value in _table(settings).items() if key != HINT}
    where, path = f"the preset {settings.preset}", settings.preset_file
    barred = sorted(key for key in table if key.replace("-", "_") in _NOT_IN_PRESETS)
    if barred:
        raise ConfigurationError(f"{where} sets {', '.join(barred)}, which no preset may set")
    preset = resolve(
        SparqlSettings, table=table, place=where, base=None if path is None else path.parent
    ).settings
    values = {name: getattr(preset, name) for name in preset.model_fields_set}
    for name in settings.model_fields_set:
        given = getattr(settings, name)
        both = isinstance(given, dict) and isinstance(values.get(name), dict)
        values[name] = values[name] | given if both else given
    return SparqlSettings.model_validate(values)


def hint(settings: SparqlSettings) -> str | None:
    """The advice of the preset for the model.

    Raises:
        ConfigurationError: No such preset.
    """
    if settings.preset is None:
        return None
    found = _table(settings).get(HINT)
    return found if isinstance(found, str) else None


def _table(settings: SparqlSettings) -> Mapping[str, Any]:
    known = {**_built_in(), **_own(settings.preset_file)}
    table = known.get(settings.preset or "")
    if not isinstance(table, dict):
        raise ConfigurationError(
            f"There is no preset named {settings.preset!r}; the presets are: "
            f"{', '.join(sorted(known))}. To add others, set preset_file to a TOML file with one "
            "table for each."
        )
    return table


@cache
def _built_in() -> dict[str, Any]:
    text = files("bfsql_sparql").joinpath("presets.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _own(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(read_text(path))
    except (UnreadableFile, ValueError) as error:
        raise ConfigurationError(
            f"The file of presets {path} cannot be read: {error}. It has to be TOML with one "
            "table for each preset."
        ) from None
