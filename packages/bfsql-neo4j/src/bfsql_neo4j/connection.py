"""Connections, read-only statements that end at the deadline, and messages for driver errors."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, TypeVar

from neo4j import (
    READ_ACCESS,
    AsyncDriver,
    AsyncGraphDatabase,
    AsyncSession,
    Query,
    Record,
    TrustCustomCAs,
)
from neo4j.exceptions import DriverError, Neo4jError, ServiceUnavailable, SessionExpired

from bfsql import call
from bfsql.errors import StoreError, StoreOutOfMemory, StoreUnavailable, network_reason
from bfsql.masking import one_line
from bfsql.places import Places
from bfsql.settings import open_regular
from bfsql_neo4j.settings import Neo4jSettings

# --- what a database is called --------------------------------------------------

_BEFORE_HOST = re.compile(r"^([\w+.-]*://)?.*@", re.DOTALL)


def place(settings: Neo4jSettings) -> str:
    """The server in words, and the database if one is named; never with a password."""
    server = f"Neo4j at {without_user(settings.uri)}"
    return f"The database {settings.database!r} of {server}" if settings.database else server


def address(settings: Neo4jSettings) -> str:
    """The database as a person names it: server, and its name if one is given; without password."""
    server = without_user(settings.uri).rstrip("/")
    return f"{server}/{settings.database}" if settings.database else server


def without_user(uri: str) -> str:
    """An address without user name and password."""
    return _BEFORE_HOST.sub(r"\1", uri)


# --- connections ------------------------------------------------------------------


def _tcp_socket(family: int) -> socket.socket:
    """A socket that sends at once: Nagle's algorithm delays each new connection by 45 ms."""
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


with suppress(ImportError):  # a private module of the driver, which has no option for it
    from neo4j._async_compat.network import _bolt_socket

    _bolt_socket.socket = _tcp_socket  # type: ignore[assignment, attr-defined]

_SCHEMES = tuple(scheme + tls for scheme in ("bolt", "neo4j") for tls in ("", "+s", "+ssc"))


def open_driver(settings: Neo4jSettings, **options: Any) -> AsyncDriver:
    """A driver, to be closed by the caller. It connects when it is first used.

    Args:
        settings: Address, credentials and limits.
        **options: Further options of the driver.

    Raises:
        StoreError: The address is malformed, or the certificates cannot be used.
    """
    uri, security = _secured(settings)
    password = settings.password
    given: dict[str, Any] = {
        "auth": (settings.username, password.get_secret_value()) if password else None,
        "max_connection_pool_size": settings.pool_size,
        "connection_timeout": settings.connect_timeout,
        # The only limit on waiting for a server that accepts a connection and then stays silent.
        "connection_acquisition_timeout": settings.connect_timeout,
    }
    try:
        return AsyncGraphDatabase.driver(uri, **given | security | options)
    except DRIVER_ERRORS as error:
        raise translate_error(error, settings) from error


def _secured(settings: Neo4jSettings) -> tuple[str, dict[str, Any]]:
    """Address and TLS options: the driver accepts certificates only with a scheme without TLS."""
    scheme, _, rest = settings.uri.partition("://")
    if scheme not in _SCHEMES:
        raise translate_error(
            ValueError("the address does not start with a Bolt scheme such as bolt:// or neo4j://"),
            settings,
        )
    if "@" in rest:  # the driver refuses it too, sometimes quoting a part of the password
        told = "the address contains a user name or a password, which have their own settings"
        raise translate_error(ValueError(told), settings)
    file = settings.ca_file
    if file is None:
        return settings.uri, {}
    plain, _, tls = scheme.partition("+")
    if tls != "s":
        what = "trusts any certificate" if tls else "is not encrypted"
        raise StoreError(
            f"{place(settings)} is addressed with {scheme}://, which {what}, so the certificates "
            f"in ca_file ({file}) would have no effect. Write {plain}+s:// in NEO4J_URI, or "
            "remove ca_file."
        )
    try:
        open_regular(file).close()  # OpenSSL would wait for a FIFO
        ssl.create_default_context(cafile=file)
    except OSError as error:
        raise StoreError(
            f"The setting ca_file ({file}), the certificates to trust, cannot be read: "
            f"{_brief(str(error))}. It has to be a file of certificates in PEM format."
        ) from error
    trusted = TrustCustomCAs(str(file))
    return f"{plain}://{rest}", {"encrypted": True, "trusted_certificates": trusted}


# --- statements that read ---------------------------------------------------------

_TIMED_OUT = "TransactionTimedOut"


class Reader:
    """Runs read-only statements on one database.

    Args:
        settings: The database, and the longest time of a statement.
        **options: Further options of the driver.

    Raises:
        StoreError: The address is malformed, or the certificates cannot be used.

    Attributes:
        large: Turns of clients with statements about many nodes or edges, which occupy the server's
            cores: an eighth of the connections.
        lists: Turns with lists of nodes: half, since their readers may need another connection.
    """

    def __init__(self, settings: Neo4jSettings, **options: Any) -> None:
        # Notifications cost the server time; only the tests read them.
        options = {"notifications_min_severity": "OFF"} | options
        self._driver = open_driver(settings, **options)
        self._settings = settings
        self._sessions = 0
        self._closed = False
        large, lists = (max(1, settings.pool_size // share) for share in (8, 2))
        self.large = Places(lambda: (large, large))
        self.lists = Places(lambda: (lists, lists))

    async def close(self) -> None:
        """Close all connections; closing twice does nothing."""
        if not self._closed:
            self._closed = True
            await self._driver.close()

    async def ping(self) -> None:
        """Query the server for a constant, by another connection while slow calls have all."""
        if self._closed or self._sessions < self._settings.pool_size:
            await self.one("RETURN 1")
            return
        other = Reader(self._settings)
        try:
            await other.one("RETURN 1")
        finally:
            await other.close()

    async def agent(self) -> str:
        """The server's name and version, as in `Neo4j/5.26.0`.

        Raises:
            StoreError: The server refuses the login, or has no such database.
            StoreUnavailable: The server does not answer.
        """
        try:
            async with asyncio.timeout(self._seconds()), self._session() as session:
                summary = await (await session.run("RETURN 1")).consume()
        except TimeoutError:
            raise
        except DRIVER_ERRORS as error:
            raise self._translated(error) from error
        return str(summary.server.agent)

    async def one(self, text: str, **parameters: Any) -> Any:
        """The only value of the only record."""
        [[value]] = await self.records(text, **parameters)
        return value

    async def rows(self, text: str, **parameters: Any) -> list[list[Any]]:
        """The values of all records."""
        return [record.values() for record in await self.records(text, **parameters)]

    async def records(self, text: str, **parameters: Any) -> list[Record]:
        """All records of a statement; raises as `stream`."""
        async with aclosing(self.stream(text, **parameters)) as found:
            return [record async for record in found]

    async def stream(self, text: str, **parameters: Any) -> AsyncGenerator[Record]:
        """The records of a statement as they arrive.

        A call that is cancelled, or a stream that is closed before its end, closes the
        connection: the server ends the statement, and the pool opens a new connection.

        Args:
            text: Cypher, from `queries`.
            **parameters: Its values.

        Raises:
            TimeoutError: The deadline of the call or `query_timeout` passed.
            StoreUnavailable: The connection broke twice in a row, or the reader is closed.
            StoreError: The server refuses the statement.
        """
        if self._closed:
            raise self._was_closed()
        ends = asyncio.get_running_loop().time() + self._seconds()
        try:
            for last in (False, True):  # replaces a connection that broke while it was idle
                begun = last
                try:
                    async with aclosing(self._sent(text, parameters, ends)) as found:
                        async for record in found:
                            begun = True
                            yield record
                except (DriverError, Neo4jError) as error:
                    if begun or not error.is_retryable() or self._closed:
                        raise
                else:
                    return
        except TimeoutError:
            raise
        except DRIVER_ERRORS as error:
            raise self._translated(error) from error

    async def long_stream(self, text: str, **parameters: Any) -> AsyncGenerator[Record]:
        """The records as from `stream`; other tasks run after each, which may have many values.

        Buffered records would otherwise arrive, and be decoded, without a turn of the event loop.
        """
        async with aclosing(self.stream(text, **parameters)) as records:
            async for record in records:
                yield record
                await asyncio.sleep(0)

    async def _sent(
        self, text: str, parameters: dict[str, Any], ends: float
    ) -> AsyncGenerator[Record]:
        # No explicit transaction: its BEGIN would be another round trip, and the server refuses
        # writes in this session anyway.
        query: Any = text  # the driver's types want literal texts
        async with self._session() as session:
            self._sessions += 1
            try:
                async with asyncio.timeout_at(ends):
                    asked = Query(query, timeout=_seconds_left(ends), metadata=_metadata())
                    result = await session.run(asked, parameters)
                    found = await result.fetch(1)
                while found:
                    yield found[0]
                    async with asyncio.timeout_at(ends):
                        found = await result.fetch(1)
            except (asyncio.CancelledError, GeneratorExit, TimeoutError):
                session.cancel()  # otherwise it would read all remaining records
                raise
            finally:
                self._sessions -= 1

    def _session(self) -> AsyncSession:
        return self._driver.session(
            database=self._settings.database,
            impersonated_user=self._settings.impersonate,
            default_access_mode=READ_ACCESS,
            fetch_size=-1,
        )

    def _seconds(self) -> float:
        return call.seconds_left(self._settings.query_timeout)

    def _translated(self, error: Exception) -> Exception:
        if isinstance(error, Neo4jError) and _TIMED_OUT in (error.code or ""):
            return TimeoutError(f"{place(self._settings)} stopped a query that took too long.")
        return self._was_closed() if self._closed else translate_error(error, self._settings)

    def _was_closed(self) -> StoreUnavailable:
        return StoreUnavailable(f"{place(self._settings)} is closed; open it again.")


def _metadata() -> dict[str, str]:
    """Metadata that `SHOW TRANSACTIONS` and the server's query log show beside a statement."""
    request_id = call.current_request_id()
    return {"app": "bfsql", "request_id": request_id} if request_id else {"app": "bfsql"}


def _seconds_left(ends: float) -> float:
    # Zero would mean no limit to the server.
    return max(0.001, ends - asyncio.get_running_loop().time())


# --- errors ---------------------------------------------------------------------

DRIVER_ERRORS = (DriverError, Neo4jError, OSError, ValueError)
"""Exceptions of the driver, for `translate_error`."""

_SENTENCES = {
    "Security.AuthenticationRateLimit": "{place} temporarily refuses {user} after several wrong "
    "passwords. Correct NEO4J_PASSWORD, wait half a minute "
    "and try again.",
    "Security.Unauthorized": "{place} rejected the login of {user}: the name or the password is "
    "wrong or not set. Set NEO4J_USERNAME and NEO4J_PASSWORD.",
    "Security.CredentialsExpired": "{place} requires {user} to choose a new password first. Log "
    "in once with cypher-shell or Neo4j Browser.",
    "Security.Forbidden": "{place} does not permit this for {user}: {why}. Ask its administrator "
    "for the privilege.",
    "Database.DatabaseNotFound": "{place} does not exist: {why}. Correct NEO4J_DATABASE; SHOW "
    "DATABASES lists the databases.",
    "OutOfMemory": "{place} does not have enough memory for this: {why}. Raise "
    "server.memory.heap.max_size or dbms.memory.transaction.total.max in its "
    "neo4j.conf.",
    "Cluster.NotALeader": "{place} is a replica that does not accept writes. Give the cluster's "
    "address with neo4j:// instead of bolt://, so that the driver finds "
    "the leader.",
    "ReadOnly": "{place} does not accept writes: {why}. Choose a database that does, or turn off "
    "its read-only mode.",
    "ConstraintValidationFailed": "{place} has a constraint that this graph violates: {why}. "
    "SHOW CONSTRAINTS lists them; DROP CONSTRAINT removes one.",
    "TransactionTimedOut": "{place} stopped a transaction that took too long: {why}. Raise "
    "db.transaction.timeout in its neo4j.conf.",
}
"""Sentence by part of the server's error code; the first match applies."""
_TRANSIENT = ("Security.AuthenticationRateLimit", "TransactionTimedOut")
_POOL_EXHAUSTED = "obtain a connection from the pool"  # drivers 5 and 6 have no common class for it
_USER_INFO = re.compile("//.*@")

Failure = TypeVar("Failure", bound=BaseException)


def translate_error(  # noqa: PLR0911 - one sentence a kind
    error: Exception, settings: Neo4jSettings
) -> StoreError:
    """The error to raise for one of `DRIVER_ERRORS`; `StoreUnavailable` if a retry may work."""
    where = place(settings)
    if _POOL_EXHAUSTED in str(error):
        return StoreUnavailable(
            f"{where} was not queried: none of {settings.pool_size} connections was free within "
            f"{settings.connect_timeout:g} s. Try again later, or raise --pool-size."
        )
    user = repr(settings.username) if settings.password else "users without a password"
    if settings.impersonate and "mpersonat" in str(error):
        why = _brief(getattr(error, "message", None) or str(error)).rstrip(".")
        return StoreError(
            f"{where} does not let {user} act as {settings.impersonate!r}: {why}. The setting "
            "impersonate needs the Enterprise edition, and the privilege IMPERSONATE."
        )
    if isinstance(error, Neo4jError):
        code, why = error.code or "", _brief(error.message or "")
        transient = any(part in code for part in _TRANSIENT) or "TransientError" in code
        for part, words in _SENTENCES.items():
            if part in code:
                kind = StoreUnavailable if transient else StoreError
                kind = StoreOutOfMemory if part == "OutOfMemory" else kind
                return kind(words.format(place=where, user=user, why=why))
        kind = StoreUnavailable if transient else StoreError
        return kind(f"{where} refused: {why} ({code}).")
    if (wrong := _caused_by(error, ssl.SSLError)) is not None:
        return _not_trusted(wrong, settings)
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):
        routed = settings.uri.startswith("neo4j")
        why = " With bolt:// instead of neo4j://, the error is more specific." if routed else ""
        reason = network_reason(_caused_by(error, OSError))  # the driver's texts are internal
        because = f" ({reason})" if reason else ""
        return StoreUnavailable(
            f"{where} does not answer{because}. Start it, or correct NEO4J_URI.{why}"
        )
    return StoreError(
        f"{where} cannot be used: {_brief(str(error))}. NEO4J_URI has to look like "
        "bolt://localhost:7687, neo4j://host for a cluster, or neo4j+s://host with TLS; "
        "credentials belong in NEO4J_USERNAME and NEO4J_PASSWORD."
    )


def _not_trusted(error: ssl.SSLError, settings: Neo4jSettings) -> StoreError:
    where, why = place(settings), error.reason or str(error)
    if not isinstance(error, ssl.SSLCertVerificationError):
        return StoreError(
            f"{where} and this computer could not agree on TLS: {_brief(why)}. Check "
            "server.bolt.tls_level and dbms.ssl.policy.bolt in its neo4j.conf, or remove +s from "
            "NEO4J_URI."
        )
    fault = "this computer does not trust"
    if settings.ca_file is not None:
        fault = f"cannot be verified with {settings.ca_file}"
    return StoreError(
        f"{where} presents a certificate that {fault}: {_brief(error.verify_message)}. Name a file "
        "with the certificates to trust with --ca-file, and address the server by a name in its "
        "certificate."
    )


def _caused_by(error: BaseException | None, kind: type[Failure]) -> Failure | None:
    """The first instance of that class among an error and its causes."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error


def _brief(text: str) -> str:
    return one_line(_USER_INFO.sub("//", " ".join(text.split())))
