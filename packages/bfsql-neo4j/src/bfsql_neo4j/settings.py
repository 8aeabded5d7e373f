"""The settings: location of the server, properties used as ids and names, parts to leave out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator

from bfsql.embedding import EmbeddingSettings
from bfsql.settings import Env, FoundFile
from bfsql_neo4j.id_templates import id_template


class Neo4jSettings(EmbeddingSettings):
    """Where the graph is, and how its nodes and relationships are read as entities and edges."""

    found_file = EmbeddingSettings.found_file | FoundFile(
        "uri username password database ca_file id_property name_property alias_property "
        "description_property type_priority preserve_case exclude_labels exclude_types search "
        "fulltext_index vector_index vector_property pool_size connect_timeout query_timeout "
        "schema_timeout",
        credentials={"password": "uri ca_file"},
    )
    of_caller = frozenset({"impersonate"})

    uri: Annotated[str, Env("NEO4J_URI")] = "bolt://localhost:7687"
    """The server: bolt:// for a single server, neo4j:// for a cluster, +s for TLS."""
    username: Annotated[str, Env("NEO4J_USERNAME")] = "neo4j"
    """User name, used if there is a password."""
    password: Annotated[SecretStr | None, Env("NEO4J_PASSWORD")] = None
    """The password; if not set, no login is attempted, for servers without authentication."""
    database: Annotated[str | None, Env("NEO4J_DATABASE")] = None
    """The database; by default the user's home database."""
    impersonate: Annotated[str | None, Field(min_length=1)] = None
    """User whose privileges apply to each query (Enterprise edition)."""
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's, with +s."""
    id_property: Annotated[list[str], Env("NEO4J_ID_PROPERTY")] = Field(
        default=["entity_id"], min_length=1
    )
    """Properties that hold the canonical id, in order of preference, also written as
    entity_id|name; Label=property applies to one label only, and Label=text:{a}/{b} makes an id
    from text and properties. If not set, constraints and indexes determine them, where there is no
    entity_id.
    """
    name_property: list[str] = Field(default=["name", "title", "label"])
    """Properties that hold the display name, in order of preference; Label=property applies to one
    label only. If not set, other text is the name where these do not tell nodes apart.
    """
    alias_property: list[str] = Field(default=["synonyms", "aliases"])
    """Properties that hold additional names."""
    description_property: list[str] = Field(default=["description"])
    """Text properties that `bfsql index` includes in the full-text index."""
    type_priority: list[str] = Field(default=[])
    """Labels that take precedence as a node's type; otherwise the rarest label does."""
    preserve_case: bool = False
    """Keep relationship types as they are, instead of in lower case."""
    exclude_labels: list[str] = Field(default=[])
    """Labels whose nodes are left out, with their edges."""
    exclude_types: list[str] = Field(default=[])
    """Relationship types that are never followed."""
    search: Literal["index", "contains"] = "index"
    """How to find names: by a full-text index, or by comparing every name, which is slow."""
    fulltext_index: str = "entity_names"
    """Name of the full-text index to search."""
    vector_index: str | None = None
    """Name of the vector index; found automatically if there is exactly one."""
    vector_property: str | None = None
    """Property that holds the vectors, on which `bfsql index` creates a vector index."""
    pool_size: int = Field(default=16, ge=1, le=1_000)
    """Maximum number of connections to the server."""
    connect_timeout: float = Field(default=10.0, gt=0, le=600)
    """Seconds to connect, or to wait for a free connection."""
    query_timeout: float = Field(default=120.0, gt=0, le=86_400)
    """Seconds that one query may take, if no deadline is earlier."""
    schema_timeout: float = Field(default=20.0, gt=0, le=600)
    """Seconds that counting a large graph's relations for describe_schema may take; after that they
    come from a sample.
    """

    @field_validator("id_property", "name_property", mode="before")
    @classmethod
    def _one_list(cls, value: Any) -> Any:
        """A list from a mapping of labels to properties, or from texts with | or , in them."""
        if isinstance(value, str):
            value = [item.strip() for item in value.split(",") if item.strip()]
        if isinstance(value, Mapping):
            value = [f"{label}={name}" for label, name in value.items()]
        if not isinstance(value, list | tuple):
            return value
        return [part for item in value for part in _alternatives(item)]

    @field_validator("id_property", "name_property")
    @classmethod
    def _named(cls, value: list[str]) -> list[str]:
        for item in value:
            label, equals, name = item.rpartition("=")
            if not name or (equals and not label):
                raise ValueError(
                    f"{item!r} is neither the name of a property nor Label=property, as in "
                    "Person=name"
                )
            if "{" in name and "}" in name and id_template(name).is_property:
                raise ValueError(
                    f"{item!r} is not a template of an id: that is text, then properties in "
                    "braces with a slash between them, as in Line:{order}/{product}"
                )
        return value

    @property
    def name_properties(self) -> list[str]:
        """The properties that hold the name of some node."""
        return list(dict.fromkeys(item.rpartition("=")[2] for item in self.name_property))


def for_all(items: Iterable[str]) -> list[str]:
    """The properties of `id_property` or `name_property` for any node, best first."""
    return [item for item in items if "=" not in item]


def for_labels(items: Iterable[str]) -> dict[str, list[str]]:
    """For some labels, the properties of their nodes, best first."""
    by_label: dict[str, list[str]] = {}
    for item in items:
        label, equals, name = item.rpartition("=")
        if equals:
            by_label.setdefault(label, []).append(name)
    return by_label


def _alternatives(item: Any) -> list[Any]:
    """`Label=a|b` as `Label=a` and `Label=b`, and `a|b` as `a` and `b`."""
    if not isinstance(item, str) or "|" not in item:
        return [item]
    label, equals, names = item.rpartition("=")
    return [f"{label}{equals}{name.strip()}" for name in names.split("|")]
