"""Settings of the embedded store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from bfsql.settings import BackendSettings, Env, FoundFile


class SqliteSettings(BackendSettings):
    """Where the graph is, and what reading it may cost."""

    found_file = FoundFile("path connections cache_mb")

    path: Annotated[Path, Env("BFSQL_SQLITE_PATH")] = Path("graph.db")
    """The graph's file; `bfsql load` creates it. Files of RDF and of tables are loaded first."""
    connections: Annotated[int, Env("BFSQL_SQLITE_CONNECTIONS")] = Field(default=4, ge=1, le=64)
    """Number of threads that read the file, each with its own connection."""
    cache_mb: Annotated[int, Env("BFSQL_SQLITE_CACHE_MB")] = Field(default=32, ge=1, le=65_536)
    """Megabytes of the file that each connection may keep in memory."""
