"""The database's address, and the server in words, without anything that could be secret."""

from __future__ import annotations

import os
import re
from urllib.parse import unquote, urlsplit

from bfsql.errors import ConfigurationError
from bfsql_postgres.settings import PostgresSettings
from bfsql_postgres.sql import storable

UNREADABLE = (
    "The database's URL cannot be read. Write it as postgresql://user:password@host:port/name, "
    "with @, / and : in user and password as %40, %2F and %3A."
)

_DRIVER = re.compile(r"^(postgres(?:ql)?)\+\w+://")
_VARIABLES = ("PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER", "PGSERVICE")


def address(settings: PostgresSettings) -> str | None:
    """The URL to connect to; None if libpq's variables name the database.

    SQLAlchemy's URLs (`postgresql+asyncpg://`) are accepted as well.

    Raises:
        ConfigurationError: Nothing names the database, or the URL is malformed.
    """
    if settings.dsn is not None and (given := settings.dsn.get_secret_value().strip()):
        url = _DRIVER.sub(r"\1://", given)
        # The driver raises errors of its own for values that no server could receive.
        if not url.startswith(("postgresql://", "postgres://")) or not storable((unquote(url),)):
            raise ConfigurationError(UNREADABLE)
        return url
    if any(os.environ.get(name) for name in _VARIABLES):
        return None
    raise ConfigurationError(
        "No database is named. Set its URL, postgresql://user:password@host:port/name, in the "
        "environment variable DATABASE_URL or in a file with --dsn-file; or set PGHOST, "
        "PGDATABASE and PGUSER."
    )


def place(url: str | None) -> str:
    """The server in words: host, port and database, without anything that could be secret."""
    where, database = server_and_database(url)
    at = f" at {where}" if where else ""
    return f"the Postgres server{at}" + (f", database {database}" if database else "")


def server_and_database(url: str | None) -> tuple[str, str]:
    """Host with port, and the database; both empty if they cannot be determined reliably."""
    if url is None:
        named = os.environ.get("PGHOST") or "localhost"
        return f"{named}:{os.environ.get('PGPORT') or 5432}", os.environ.get("PGDATABASE", "")
    try:
        parts = urlsplit(url)
        host, port, database = parts.hostname, parts.port, parts.path.strip("/")
    except ValueError:
        return "", ""
    # Unescaped characters in a password end the host early, so that part of it looks like a port.
    if not host or "@" in f"{parts.path}{parts.query}{parts.fragment}":
        return "", ""
    return f"{host}:{port or 5432}", database
