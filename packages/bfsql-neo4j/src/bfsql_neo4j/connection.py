"""Connections to a server, and sentences for what it and the driver say no to."""

from __future__ import annotations

import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar

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
_POOL_IS_EMPTY = "obtain a connection from the pool"  # drivers 5 and 6 have no kind in common
_SHOWN = 300
_USER_INFO = re.compile("//.*@")
_BEFORE_HOST = re.compile(r"^([\w+.-]*://)?.*@", re.DOTALL)

E = TypeVar("E", bound=BaseException)


@asynccontextmanager
async def connected(settings: Neo4jSettings, **options: Any) -> AsyncIterator[AsyncDriver]:
    """A driver with these settings, closed at the end. It connects when it is first used.

    Args:
        settings: Where the server is, and who asks.
        **options: More of the driver's own.

    Raises:
        StoreError: The address is none.
    """
    uri, security = _secured(settings)
    password = settings.password
    given: dict[str, Any] = {
        "auth": (settings.username, password.get_secret_value()) if password else None,
        "max_connection_pool_size": settings.pool_size,
        "connection_timeout": settings.connect_timeout,
        # Of a server that accepts and then says nothing, this alone gets the better.
        "connection_acquisition_timeout": settings.connect_timeout,
    }
    try:
        driver = AsyncGraphDatabase.driver(uri, **given | security | options)
    except DRIVER_SAYS_NO as error:
        raise explained(error, settings) from error
    async with driver:
        yield driver


def _secured(settings: Neo4jSettings) -> tuple[str, dict[str, Any]]:
    """The address and the options that give the security it asks for.

    The driver takes certificates to trust only with a scheme that says nothing of TLS.

    Raises:
        StoreError: The scheme is none, or has no use for certificates, or they cannot be read.
    """
    scheme, _, rest = settings.uri.partition("://")
    if scheme not in _SCHEMES:
        raise explained(ValueError("the address begins with no scheme of Bolt"), settings)
    file = settings.ca_file
    if file is None:
        return settings.uri, {}
    plain, _, tls = scheme.partition("+")
    if tls != "s":
        what = "trusts any certificate" if tls else "is not encrypted"
        raise StoreError(
            f"{place(settings)} is asked for by {scheme}://, which {what}, so the certificates in "
            f"ca_file ({file}) would be of no use. Write {plain}+s:// in NEO4J_URI, or take "
            "ca_file away."
        )
    try:
        ssl.create_default_context(cafile=file)
    except OSError as error:
        raise StoreError(
            f"The certificates to trust, ca_file ({file}), cannot be read: {_brief(str(error))}. "
            "It has to be a file with certificates in PEM."
        ) from error
    trusted = TrustCustomCAs(str(file))
    return f"{plain}://{rest}", {"encrypted": True, "trusted_certificates": trusted}


def place(settings: Neo4jSettings) -> str:
    """The server, and the database where one is named; never with a password."""
    server = f"Neo4j at {without_user(settings.uri)}"
    return f"The database {settings.database!r} of {server}" if settings.database else server


def address(settings: Neo4jSettings) -> str:
    """What the setting `replace` calls the database: server, and its name where one is given."""
    server = without_user(settings.uri).rstrip("/")
    return f"{server}/{settings.database}" if settings.database else server


def without_user(uri: str) -> str:
    """An address without the name and the password that somebody wrote into it."""
    return _BEFORE_HOST.sub(r"\1", uri)


def explained(error: Exception, settings: Neo4jSettings) -> StoreError:
    """The sentence for what the server or the driver said.

    Args:
        error: One of `DRIVER_SAYS_NO`.
        settings: Where it was said.

    Returns:
        `StoreUnavailable` where the same may work later.
    """
    where = place(settings)
    if _POOL_IS_EMPTY in str(error):
        return StoreUnavailable(
            f"{where} was not asked: none of {settings.pool_size} connections was free within "
            f"{settings.connect_timeout:g} s. Try again later, or raise --pool-size."
        )
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
    if (wrong := _caused_by(error, ssl.SSLError)) is not None:
        return _not_trusted(wrong, settings)
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        routed = settings.uri.startswith("neo4j")
        why = " With bolt in place of neo4j in it, the error says more." if routed else ""
        return StoreUnavailable(
            f"{where} does not answer: {_brief(str(error))}. Start it, or correct NEO4J_URI.{why}"
        )
    return StoreError(
        f"{where} cannot be used: {_brief(str(error))}. NEO4J_URI is like bolt://localhost:7687, "
        "neo4j://host for a cluster, neo4j+s://host with TLS, and NEO4J_USERNAME and "
        "NEO4J_PASSWORD hold what is secret."
    )


def _not_trusted(error: ssl.SSLError, settings: Neo4jSettings) -> StoreError:
    where, why = place(settings), error.reason or str(error)
    if not isinstance(error, ssl.SSLCertVerificationError):
        return StoreError(
            f"{where} and this computer agree on no TLS: {_brief(why)}. Look at server.bolt.tls_"
            "level and dbms.ssl.policy.bolt in its neo4j.conf, or ask without +s in NEO4J_URI."
        )
    whom = "this computer does not trust"
    if settings.ca_file is not None:
        whom = f"{settings.ca_file} does not vouch for"
    return StoreError(
        f"{where} shows a certificate that {whom}: {_brief(error.verify_message)}. Name a file "
        "with the certificates to trust by --ca-file, and the server by a name in its certificate."
    )


def _caused_by(error: BaseException | None, kind: type[E]) -> E | None:
    """The first of that kind among an error and what it comes from."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _brief(text: str) -> str:
    line = _USER_INFO.sub("//", " ".join(text.split())).rstrip(".")
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."
