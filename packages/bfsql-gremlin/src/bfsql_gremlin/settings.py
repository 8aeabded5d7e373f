"""The settings: location of the servers, properties used as ids, types and names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator

from bfsql.settings import BackendSettings, Env, FoundFile

OWN_ID, LABEL = "~id", "~label"
"""Names of the engine's own id and of the label, as in Neptune's CSV files."""


class GremlinSettings(BackendSettings):
    """Where the graph is, and how its vertices and edges are read as entities and edges."""

    found_file = FoundFile(
        "uri traversal_source username password ca_file serializer id_property type_property "
        "name_property alias_property search pool_size connect_timeout query_timeout "
        "schema_timeout",
        credentials=dict.fromkeys(("password", "aws_region"), "uri ca_file"),
    )

    uri: Annotated[list[str], Env("GREMLIN_URI")] = Field(
        default=["ws://localhost:8182/gremlin"], min_length=1
    )
    """The server: ws:// or, with TLS, wss://. Several are replicas that serve the same graph."""
    traversal_source: Annotated[str, Env("GREMLIN_TRAVERSAL_SOURCE")] = "g"
    """Name of the traversal source on the server."""
    username: Annotated[str, Env("GREMLIN_USERNAME")] = ""
    """User name, used if there is a password."""
    password: Annotated[SecretStr | None, Env("GREMLIN_PASSWORD")] = None
    """The password; if not set, no login is attempted."""
    aws_region: Annotated[str | None, Env("GREMLIN_AWS_REGION")] = None
    """Sign in to Amazon Neptune in this region (Signature Version 4); credentials are found as
    botocore finds them.
    """
    ca_file: Path | None = None
    """Certificates (PEM) to trust instead of the system's, with wss://."""
    serializer: Literal["graphbinary", "graphson"] = "graphbinary"
    """Format of requests and answers: GraphBinary 1, or GraphSON 3 for servers without it."""
    id_property: Annotated[str, Env("GREMLIN_ID_PROPERTY")] = Field(
        default="entity_id", min_length=1
    )
    """Property that holds the canonical id of a vertex; ~id for the engine's own id."""
    type_property: str = Field(default=LABEL, min_length=1)
    """Property that holds the type of a vertex; ~label for its label."""
    name_property: list[str] = Field(default=["name", "title"])
    """Properties that hold the display name, in order of preference."""
    alias_property: list[str] = Field(default=["synonyms", "aliases"])
    """Properties that hold additional names."""
    search: Literal["index", "contains", "exact"] = "index"
    """How to find names: by a mixed index of JanusGraph or else as contains, which compares every
    name; exact compares only whole names and their beginnings.
    """
    pool_size: int = Field(default=16, ge=1, le=1_000)
    """Maximum number of connections to the servers."""
    connect_timeout: float = Field(default=10.0, gt=0, le=600)
    """Seconds to connect, or to wait for a free connection."""
    query_timeout: float = Field(default=120.0, gt=0, le=86_400)
    """Seconds that one query may take, if no deadline is earlier."""
    schema_timeout: float = Field(default=20.0, gt=0, le=600)
    """Seconds that counting a large graph may take; after that its schema comes from a sample."""

    max_message_bytes: int = Field(default=100_000_000, ge=1_000)
    """Largest message of an answer, which has up to 2,000 results."""

    @field_validator("uri")
    @classmethod
    def _addresses(cls, value: list[str]) -> list[str]:
        for uri in value:
            scheme, _, rest = uri.partition("://")
            if scheme not in ("ws", "wss") or not rest.strip("/"):
                raise ValueError(
                    "the address of a server looks like ws://localhost:8182/gremlin, or wss:// "
                    "with TLS"
                )
            if "@" in rest.partition("/")[0]:
                raise ValueError(
                    "the address contains a user name or a password, which have their own settings"
                )
        return value
