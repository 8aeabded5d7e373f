"""The settings."""

from pathlib import Path

from pydantic import Field

from bfsql.settings import BackendSettings


class NotesSettings(BackendSettings):
    """Where the notes are."""

    path: Path = Field(description="Folder of the notes.")
