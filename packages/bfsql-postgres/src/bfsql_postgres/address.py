"""Where the database is, and how sentences call it without giving away a password."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from bfsql.errors import ConfigurationError
from bfsql_postgres.decoding import storable
from bfsql_postgres.settings import PostgresSettings

_DRIVER = re.compile(r"^(postgres(?:ql)?)\+\w+://")
_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE")


def address(settings: PostgresSettings, environment: Mapping[str, str] | None = None) -> str | None:
    """The URL to connect to; None where libpq's variables say it.

    A URL of SQLAlchemy (`postgresql+asyncpg://`) is one as well.

    Raises:
        ConfigurationError: Nothing says where the database is, or it is no URL.
    """
    if settings.dsn is not None and (given := settings.dsn.get_secret_value().strip()):
        url = _DRIVER.sub(r"\1://", given)
        # The driver fails in its own ways on what no server could be sent.
        if not url.startswith(("postgresql://", "postgres://")) or not storable((unquote(url),)):
            raise ConfigurationError(UNREADABLE)
        return url
    variables = os.environ if environment is None else environment
    if any(variables.get(name) for name in _VARIABLES):
        return None
    raise ConfigurationError(
        "No database is named. Give its URL, postgresql://user:password@host:port/name, in the "
        "environment variable DATABASE_URL or in a file with --dsn-file; or set PGHOST, "
        "PGDATABASE and PGUSER."
    )


UNREADABLE = (
    "The database's URL cannot be read. It has to be postgresql://user:password@host:port/name, "
    "with %40 for an @, %2F for a / and %3A for a : in user and password."
)


def place(url: str | None) -> str:
    """The server in words: its host, port and database, and nothing that could be secret."""
    if url is None:
        named = os.environ.get("PGHOST") or "localhost"
        return f"the Postgres server at {named}:{os.environ.get('PGPORT') or 5432}"
    try:
        parts = urlsplit(url)
        host, port, database = parts.hostname, parts.port, parts.path.strip("/")
    except ValueError:
        return "the Postgres server"
    # Signs of a password that are not escaped end the host early, and part of it then seems a port.
    if not host or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "the Postgres server"
    where = f"{host}:{port or 5432}"
    return f"the Postgres server at {where}" + (f", database {database}" if database else "")
