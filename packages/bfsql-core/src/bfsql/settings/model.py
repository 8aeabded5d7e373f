"""What a backend derives its settings from."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


@dataclass(frozen=True, slots=True)
class Env:
    """Names an environment variable that a setting is read from.

    dsn: Annotated[SecretStr, Env("DATABASE_URL")]
    """

    name: str


class BackendSettings(BaseModel):
    """Base of every backend's settings: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
