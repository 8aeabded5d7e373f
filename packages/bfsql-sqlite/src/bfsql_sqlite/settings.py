"""Settings of the embedded store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from bfsql.settings import BackendSettings, Env, FoundFile


class SqliteSettings(BackendSettings):
    """Where the graph is, and what reading it may cost."""

    found_file = FoundFile(
        "path more_files connections cache_mb prefix language graph type_property type_priority "
        "label_property alias_property only_predicate exclude_predicate"
    )
    file_options: ClassVar[Mapping[str, str]] = {"prefix": "prefixes", "language": "languages"} | {
        field: field
        for field in (
            *("graph", "type_property", "type_priority", "label_property", "alias_property"),
            *("only_predicate", "exclude_predicate"),
        )
    }

    path: Annotated[Path, Env("BFSQL_SQLITE_PATH")] = Path("graph.db")
    """The graph's file; `bfsql load` creates it. Files of RDF and of tables are loaded first."""
    more_files: list[str] = Field(default=[])
    """Further files that are one graph with the first, in whose folder relative paths begin."""
    connections: Annotated[int, Env("BFSQL_SQLITE_CONNECTIONS")] = Field(default=4, ge=1, le=64)
    """Number of threads that read the file, each with its own connection."""
    cache_mb: Annotated[int, Env("BFSQL_SQLITE_CACHE_MB")] = Field(default=32, ge=1, le=65_536)
    """Megabytes of the file that each connection may keep in memory."""
    prefix: dict[str, str] = Field(default={})
    """RDF: prefixes that shorten ids, before those of the files."""
    language: list[str] = Field(default=[])
    """RDF: languages of texts to keep; by default all."""
    graph: list[str] = Field(default=[])
    """RDF: named graphs to read; by default all statements."""
    type_property: list[str] = Field(default=["rdf:type"], min_length=1)
    """RDF: properties that give a node's type."""
    type_priority: list[str] = Field(default=[])
    """RDF: types that take precedence over a node's other types."""
    label_property: list[str] = Field(default=[])
    """RDF: properties that hold the name, in order of preference; by default the usual ones."""
    alias_property: list[str] = Field(default=[])
    """RDF: properties that hold other names; by default the usual ones."""
    only_predicate: list[str] = Field(default=[])
    """RDF: predicates of edges; by default all."""
    exclude_predicate: list[str] = Field(default=[])
    """RDF: predicates that are no edges."""
