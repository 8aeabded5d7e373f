"""What users can say: each field is an option, an environment variable and a line of the file."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from bfsql.settings import BackendSettings


class EarlySettings(BackendSettings):
    """Where the graph is. A password would be a `pydantic.SecretStr`, so that nothing shows it."""

    path: Path = Field(default=Path("graph.json"), description="The graph's file.")
