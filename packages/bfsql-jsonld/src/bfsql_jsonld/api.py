"""An API: its session, its routes and the names of its fields, put together in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from bfsql_jsonld.fields import Fields
from bfsql_jsonld.names import Names
from bfsql_jsonld.routes import Routes
from bfsql_jsonld.session import Session
from bfsql_jsonld.settings import JsonLdSettings


@dataclass(frozen=True, slots=True)
class Api:
    """What everything that asks an API needs."""

    settings: JsonLdSettings
    session: Session
    names: Names
    routes: Routes
    fields: Fields

    @classmethod
    def of(cls, settings: JsonLdSettings) -> Self:
        """The API that settings mean; nothing is asked.

        Raises:
            ConfigurationError: Certificates or secrets that cannot be used.
        """
        names = Names(settings)
        return cls(settings, Session(settings), names, Routes(settings, names), Fields(settings))
