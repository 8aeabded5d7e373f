"""Connections to a server, and sentences for what it and the driver say no to."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from neo4j import AsyncDriver, AsyncGraphDatabase, TrustCustomCAs
from neo4j.exceptions import DriverError, Neo4jError, ServiceUnavailable, SessionExpired

from bfsql.errors import StoreError, StoreUnavailable
from bfsql_neo4j.settings import Neo4jSettings

DRIVER_SAYS_NO = (DriverError, Neo4jError, OSError, ValueError)
"""What the driver raises, for `explained`."""

_WORDS = {
    "Security.AuthenticationRateLimit": "{place} refuses {user} for a while, after several wrong "
    "passwords. Correct NEO4J_PASSWORD, wait half a minute and try again.",
    "Security.Unauthorized": "{place} does not let {user} in: the name or the password is wrong, "
    "or none is set. Set NEO4J_USERNAME and NEO4J_PASSWORD.",
    "Security.CredentialsExpired": "{place} wants {user} to choose a new password first. Log in "
    "once with cypher-shell or the browser.",
    "Security.Forbidden": "{place} does not allow this to {user}: {why}. Ask its administrator "
    "for the right.",
    "Database.DatabaseNotFound": "{place} is not there: {why}. Correct NEO4J_DATABASE; SHOW "
    "DATABASES lists those that are.",
    "OutOfMemory": "{place} has too little memory for this: {why}. Raise "
    "server.memory.heap.max_size or dbms.memory.transaction.total.max in its neo4j.conf.",
    "Cluster.NotALeader": "{place} is a replica that takes no writes. Give the cluster's address "
    "with neo4j:// in place of bolt://, so that the driver finds its leader.",
    "ReadOnly": "{place} takes no writes: {why}. Choose a database that does, or end its read-only "
    "mode.",
    "ConstraintValidationFailed": "{place} has a constraint that this graph does not meet: {why}. "
    "SHOW CONSTRAINTS lists them; DROP CONSTRAINT removes one.",
    "TransactionTimedOut": "{place} ended a transaction that took too long: {why}. Raise "
    "db.transaction.timeout in its neo4j.conf.",
}
"""Sentences by a part of the server's code; the first that fits."""
_PASSING = ("Security.AuthenticationRateLimit", "TransactionTimedOut")
_SCHEMES = tuple(scheme + tls for scheme in ("bolt", "neo4j") for tls in ("", "+s", "+ssc"))
_SHOWN = 300
_USER_INFO = re.compile("//.*@")


@asynccontextmanager
async def connected(settings: Neo4jSettings, **options: Any) -> AsyncIterator[AsyncDriver]:
    """A driver with these settings, closed at the end. It connects when it is first used.

    Args:
        settings: Where the server is, and who asks.
        **options: More of the driver's own.

    Raises:
        StoreError: The address is none.
    """
    if settings.uri.partition("://")[0] not in _SCHEMES:
        raise explained(ValueError("the address begins with no scheme of Bolt"), settings)
    password = settings.password
    given: dict[str, Any] = {
        "auth": (settings.username, password.get_secret_value()) if password else None,
        "max_connection_pool_size": settings.pool_size,
        "connection_timeout": settings.connect_timeout,
    }
    if settings.ca_file is not None:
        given["trusted_certificates"] = TrustCustomCAs(str(settings.ca_file))
    try:
        driver = AsyncGraphDatabase.driver(settings.uri, **given | options)
    except DRIVER_SAYS_NO as error:
        raise explained(error, settings) from error
    async with driver:
        yield driver


def place(settings: Neo4jSettings) -> str:
    """The server, and the database where one is named; never with a password."""
    server = f"Neo4j at {_USER_INFO.sub('//', settings.uri)}"
    return f"The database {settings.database!r} of {server}" if settings.database else server


def explained(error: Exception, settings: Neo4jSettings) -> StoreError:
    """The sentence for what the server or the driver said.

    Args:
        error: One of `DRIVER_SAYS_NO`.
        settings: Where it was said.

    Returns:
        `StoreUnavailable` where the same may work later.
    """
    where = place(settings)
    user = repr(settings.username) if settings.password else "anybody without a password"
    if isinstance(error, Neo4jError):
        code, why = error.code or "", _brief(error.message or "")
        passing = any(part in code for part in _PASSING) or "TransientError" in code
        for part, words in _WORDS.items():
            if part in code and not ("OutOfMemory" in part and "Security" in code):
                kind = StoreUnavailable if passing and part != "OutOfMemory" else StoreError
                return kind(words.format(place=where, user=user, why=why))
        kind = StoreUnavailable if passing else StoreError
        return kind(f"{where} refused: {why} ({code}).")
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        return StoreUnavailable(
            f"{where} does not answer: {_brief(str(error))}. Start it, or correct NEO4J_URI."
        )
    return StoreError(
        f"{where} cannot be used: {_brief(str(error))}. NEO4J_URI is like bolt://localhost:7687, "
        "neo4j://host for a cluster, neo4j+s://host with TLS, and NEO4J_USERNAME and "
        "NEO4J_PASSWORD hold what is secret."
    )


def _brief(text: str) -> str:
    line = _USER_INFO.sub("//", " ".join(text.split())).rstrip(".")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
