"""Settings of a SPARQL endpoint, or of a set of RDF files, and presets of known ones."""

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
from bfsql.settings import BackendSettings, Env, UnreadableFile, read_text, resolve

Statements = Literal["auto", "none", "reification", "rdf-star", "rdf-1.2", "wikibase"]
"""Where what is said of an edge is kept."""

Search = Literal[
    "auto", "contains", "virtuoso", "fuseki", "graphdb", "stardog", "qlever", "rdf4j", "wikidata"
]
"""By which means names are looked for."""


HINT = "hint"
"""Key of a preset that is no setting: advice for the model, in sentences."""
_BARRED = ("preset", "preset_file", "password", "token", "key")


class SparqlSettings(BackendSettings):
    """Where the graph is, how its triples are read as entities and edges, and how gently."""

    # --- where --------------------------------------------------------------

    endpoint: Annotated[str | None, Env("SPARQL_ENDPOINT_URL")] = Field(
        default=None, description="URL that takes queries."
    )
    data: list[str] = Field(
        default=[],
        description="RDF files to serve in process, or one folder of an oxigraph store.",
    )
    preset: str | None = Field(
        default=None,
        description="Settings for a known endpoint or server: dbpedia, wikidata, uniprot, chembl, "
        "virtuoso, fuseki, graphdb, stardog, neptune, qlever, rdf4j, oxigraph.",
    )
    preset_file: Path | None = Field(
        default=None, description="TOML file with more presets, one table each."
    )

    # --- how it is read -----------------------------------------------------

    prefix: dict[str, str] = Field(
        default={}, description="Prefixes that shorten IRIs to ids, before the usual ones."
    )
    base: str = Field(
        default="urn:bfsql:", description="Namespace of the ids that are no IRIs themselves."
    )
    graph: list[str] = Field(
        default=[],
        description="Named graphs to read as one; `all` is all of them. Otherwise whatever the "
        "store gives to a query that names none.",
    )
    type_property: list[str] = Field(
        default=["rdf:type"], min_length=1, description="Properties that tell a node's type."
    )
    type_priority: list[str] = Field(
        default=[], description="Types that count before all others of a node."
    )
    type_namespace: list[str] = Field(
        default=[], description="Types whose IRI begins so count before the others of a node."
    )
    label_property: list[str] = Field(
        default=[
            "rdfs:label",
            "skos:prefLabel",
            "schema:name",
            "https://schema.org/name",
            "foaf:name",
        ],
        description="Properties that hold the display name, best first.",
    )
    alias_property: list[str] = Field(
        default=["skos:altLabel", "schema:alternateName", "https://schema.org/alternateName"],
        description="Properties that hold further names.",
    )
    description_property: list[str] = Field(
        default=[], description="Properties whose text is the description, best first."
    )
    language: list[str] = Field(
        default=["en"],
        description="Languages of the texts to keep, best first; where a property has none of "
        "them, all of its texts stay. `all` keeps everything.",
    )
    only_predicate: list[str] = Field(
        default=[], description="Predicates that are walked; otherwise all are."
    )
    exclude_predicate: list[str] = Field(
        default=[], description="Predicates that are never walked."
    )
    predicate_namespace: list[str] = Field(
        default=[], description="Walk only predicates whose IRI begins so."
    )
    node_namespace: list[str] = Field(
        default=[], description="Keep only nodes whose IRI begins so."
    )
    ontology: bool = Field(
        default=True,
        description="Whether classes, properties and the links between them are part of the graph.",
    )
    inverse: dict[str, str] = Field(
        default={},
        description="Predicates that say the same from the other end, as inverse=predicate: edges "
        "of the first are given as edges of the second.",
    )
    statements: Statements = Field(
        default="auto", description="Where metadata of edges is kept; auto looks for it."
    )
    statement_graph: bool = Field(
        default=False, description="Tell the named graphs of an edge in its metadata."
    )
    confidence_property: list[str] = Field(
        default=[], description="Properties of statements that hold the confidence."
    )
    source_property: list[str] = Field(
        default=["prov:wasDerivedFrom"],
        description="Properties of statements that hold the source documents.",
    )

    # --- searching and looking ----------------------------------------------

    search: Search = Field(default="auto", description="How names are found; auto tries.")
    search_timeout: float = Field(
        default=10.0, gt=0, le=3_600, description="Seconds that one search may take."
    )
    distinct: bool = Field(
        default=True,
        description="Whether the endpoint can list all types and predicates with SELECT DISTINCT.",
    )
    schema_timeout: float = Field(
        default=20.0, gt=0, le=3_600, description="Seconds that each such list may take."
    )
    probe_seed: list[str] = Field(
        default=[], description="Ids around which types and predicates are sampled otherwise."
    )

    # --- requests -----------------------------------------------------------

    batch_size: int = Field(
        default=1_000, ge=1, le=100_000, description="Ids in one query; halved when refused."
    )
    page_size: int = Field(
        default=100_000,
        ge=1,
        le=10_000_000,
        description="Rows that one query asks for; more come in further ones.",
    )
    max_edges: int = Field(
        default=1_000_000,
        ge=1,
        description="Edges of one node in one direction that are read at most.",
    )
    query_timeout: float = Field(
        default=60.0,
        gt=0,
        le=86_400,
        description="Seconds that one query may take where no deadline is nearer.",
    )
    connect_timeout: float = Field(
        default=10.0, gt=0, le=600, description="Seconds to wait for a connection."
    )
    timeout_parameter: str | None = Field(
        default=None, description="Request parameter by which the endpoint takes a time limit."
    )
    timeout_unit: Literal["s", "ms", "duration"] = Field(
        default="s", description="Unit of that parameter; duration writes it behind, as in 30s."
    )
    parameter: dict[str, str] = Field(
        default={}, description="More request parameters that the endpoint wants."
    )
    max_concurrent: int = Field(
        default=4, ge=1, le=256, description="Requests under way at once at most."
    )
    request_delay: float = Field(
        default=0.0, ge=0, le=60, description="Seconds between the starts of two requests."
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="How often a query is sent again when it may pass."
    )
    max_response_bytes: int = Field(
        default=256_000_000, ge=1_000, description="Bytes of one answer at most."
    )
    contact: str | None = Field(
        default=None,
        description="Address or page of yours, told to the endpoint with each request.",
    )

    # --- access -------------------------------------------------------------

    username: Annotated[str | None, Env("SPARQL_USERNAME")] = Field(
        default=None, description="Who logs in."
    )
    password: Annotated[SecretStr | None, Env("SPARQL_PASSWORD")] = Field(
        default=None, description="The password."
    )
    authentication: Literal["basic", "digest"] = Field(
        default="basic", description="How name and password are given."
    )
    token: Annotated[SecretStr | None, Env("SPARQL_TOKEN")] = Field(
        default=None, description="A bearer token."
    )
    key_header: str = Field(default="X-API-Key", description="Header that a key is sent in.")
    key: Annotated[SecretStr | None, Env("SPARQL_KEY")] = Field(
        default=None, description="A key, sent in that header."
    )
    ca_file: Path | None = Field(
        default=None, description="Certificates (PEM) to trust in place of the system's."
    )
    client_certificate: Path | None = Field(
        default=None, description="Certificate and key (PEM) to show to the endpoint."
    )
    redirect_hosts: list[str] = Field(
        default=[], description="Hosts, beside the endpoint's own, that it may redirect to."
    )

    # --- loading ------------------------------------------------------------

    update_endpoint: Annotated[str | None, Env("SPARQL_UPDATE_URL")] = Field(
        default=None, description="Loading: URL that takes updates."
    )
    write_statements: Literal["reification", "rdf-star", "rdf-1.2", "none"] = Field(
        default="reification", description="Loading: how metadata of edges is written."
    )

    @field_validator("endpoint", "update_endpoint")
    @classmethod
    def _web_address(cls, value: str | None) -> str | None:
        if value is not None and not value.lower().startswith(("http://", "https://")):
            raise ValueError(f"{value!r} is no address that begins with http:// or https://")
        return value

    @field_validator("prefix")
    @classmethod
    def _namespaces(cls, value: dict[str, str]) -> dict[str, str]:
        for prefix, namespace in value.items():
            if not is_iri(namespace):
                raise ValueError(
                    f"{prefix}={namespace} binds a prefix to what is no IRI; it has to be like "
                    "dbr=http://dbpedia.org/resource/"
                )
        return value

    @field_validator("base")
    @classmethod
    def _base(cls, value: str) -> str:
        if not is_iri(value):
            raise ValueError(f"{value!r} is no IRI; it has to be like urn:bfsql:")
        return value


# --- presets ----------------------------------------------------------------


def with_preset(settings: SparqlSettings) -> SparqlSettings:
    """The settings, with those of their preset where they say nothing themselves.

    Mappings such as `prefix` are joined, the given entries winning.

    Args:
        settings: As they were given.

    Raises:
        ConfigurationError: No such preset, or one with a setting that cannot be used.
    """
    if settings.preset is None:
        return settings
    table = {key: value for key, value in _table(settings).items() if key != HINT}
    where, path = f"the preset {settings.preset}", settings.preset_file
    barred = sorted(key for key in table if key.replace("-", "_") in _BARRED)
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
    if settings.data and settings.endpoint is None:
        values.pop("endpoint", None)  # a part of what the preset's endpoint has, in files
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
            f"There is no preset named {settings.preset!r}; known are: {', '.join(sorted(known))}. "
            "Others can be told in a TOML file, one table each, that preset_file names."
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
