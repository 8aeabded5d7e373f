"""Connections to the servers of one graph: requests over WebSockets, replicas, errors.

gremlinpython's own transport runs an event loop inside the caller's. Here its serializers are used
over aiohttp, one request at a time on each connection, with a time limit of the client's own: a
server that hangs answers nothing, not even a ping.
"""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from typing import Any
from uuid import UUID, uuid4

import aiohttp
from aiohttp import ClientWebSocketResponse, WSCloseCode, WSMsgType
from gremlin_python.driver.request import RequestMessage
from gremlin_python.process.traversal import Traverser

from bfsql import call
from bfsql.errors import StoreError, StoreUnavailable
from bfsql.http import server_of
from bfsql.masking import one_line
from bfsql.places import Places
from bfsql.settings import open_regular
from bfsql_gremlin.serialization import serializer
from bfsql_gremlin.settings import GremlinSettings

SILENCE = 6.0
"""Seconds after which a server that sends nothing is pinged."""
PONG = 4.0
"""Seconds that it then has to answer."""
ROWS = 2_000
"""Results in one message of an answer."""

_OK, _EMPTY, _PARTIAL = 200, 204, 206
_UNAUTHORIZED, _AUTHENTICATE, _TIMEOUT, _UNSENDABLE, _SERVER_ERROR = 401, 407, 598, 599, 500
_NO_ID = str(UUID(int=0))
_STORAGE = ("backend exception", "Could not call index")  # JanusGraph without a quorum


class Unreachable(Exception):
    """A server cannot be reached, hangs, or answers as one that is stopping."""


class Unread(StoreError):
    """An answer contains a value that the server cannot send, or the driver not read."""


class Connection:
    """One WebSocket, which carries one request at a time.

    Args:
        socket: The open WebSocket.
        replica: Number of its server.
        where: The servers in words, for errors.
    """

    def __init__(self, socket: ClientWebSocketResponse, replica: int, where: str) -> None:
        self.socket, self.replica, self._where = socket, replica, where
        self.used = False
        """Whether it has carried a request before."""

    async def send(self, data: bytes) -> None:
        """Send one message."""
        await _transfer(self.socket.send_bytes(data))

    async def close(self) -> None:
        """Close it, within a second also while the server goes on sending."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                await self.socket.close()

    async def receive(self, ends: float) -> bytes | str:
        """The next message, while the server answers pings.

        Args:
            ends: The time of the event loop at which to give up.

        Raises:
            Unreachable: The connection is closed, or the server hangs.
            Unread: The message is larger than allowed.
            TimeoutError: The time is up.
        """
        clock, pinged = asyncio.get_running_loop().time, False
        while True:
            if clock() > ends:  # also where messages come so fast that nothing waits for them
                raise TimeoutError
            patience = clock() + (PONG if pinged else SILENCE)
            try:
                async with asyncio.timeout_at(min(ends, patience)):
                    message = await self.socket.receive()
            except TimeoutError:
                if patience > ends:
                    raise
                if pinged:
                    raise Unreachable(f"it has sent nothing for {SILENCE + PONG:g} s") from None
                await _transfer(self.socket.ping())
                pinged = True
                continue
            pinged = False
            if message.type in (WSMsgType.BINARY, WSMsgType.TEXT):
                data: bytes | str = message.data
                return data
            if getattr(message.data, "code", None) == WSCloseCode.MESSAGE_TOO_BIG:
                raise Unread(
                    f"{self._where} sent a message that is too large: "
                    f"{one_line(str(message.data))}. Raise --max-message-bytes, or shorten what "
                    "the graph stores in properties."
                )
            if message.type is WSMsgType.PING:
                await self.socket.pong(message.data)
            elif message.type is not WSMsgType.PONG:
                raise Unreachable(_why_closed(self.socket, message))


async def _transfer(sent: Awaitable[None]) -> None:
    try:
        await sent
    except (ConnectionError, aiohttp.ClientError) as error:
        raise Unreachable("it closed the connection") from error


def _why_closed(socket: ClientWebSocketResponse, message: aiohttp.WSMessage) -> str:
    if message.type is WSMsgType.ERROR:
        return one_line(str(message.data)) or "the connection broke"
    why = f" ({one_line(str(message.extra))})" if message.extra else ""
    return f"it closed the connection with code {socket.close_code}{why}"


class Client:
    """Sends requests to the servers of one graph, to the next one if one fails.

    Args:
        settings: The servers, credentials and limits.
    """

    def __init__(self, settings: GremlinSettings) -> None:
        self.settings = settings
        self.requests = 0
        """Number of requests so far."""
        self._serializer = serializer(settings.serializer)
        self._ssl = _tls(settings)
        self._session: aiohttp.ClientSession | None = None
        self._idle: list[Connection] = []
        self._places = Places(lambda: (settings.pool_size, settings.pool_size))
        self._replica = 0
        self._closing: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def close(self) -> None:
        """Close all connections; closing twice does nothing."""
        self._closed = True
        while self._idle:
            self._discard(self._idle.pop())
        await asyncio.gather(*self._closing, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
            await asyncio.sleep(0)  # sockets are closed by the next iteration of the loop

    @asynccontextmanager
    async def unoccupied(self) -> AsyncIterator[Client]:
        """This client, or one with connections of its own while slow calls have all of these."""
        if self._closed or self._places.is_free(call.current_usage().client):
            yield self
            return
        other = Client(self.settings)
        try:
            yield other
        finally:
            await other.close()

    async def rows(self, traversal: Any, *, again: bool = True) -> list[Any]:
        """All results of a traversal; raises as `stream`.

        Args:
            traversal: As for `stream`.
            again: Whether it may be sent again if no answer comes.
        """
        rows: list[Any] = []
        async with aclosing(self.stream(traversal, again=again, collected=True)) as parts:
            async for part in parts:
                rows = [*rows, *part] if rows else part
        return rows

    async def rows_unless_refused(self, traversal: Any) -> list[Any] | None:
        """All results of a traversal; None if the engine lacks its steps, or forbids them."""
        try:
            return await self.rows(traversal)
        except StoreUnavailable:
            raise
        except StoreError:
            return None

    async def script(self, text: str, **bindings: Any) -> list[Any]:
        """All results of a Groovy script; raises as `stream`, as its server may refuse scripts."""
        args = {"gremlin": text, "bindings": bindings, "language": "gremlin-groovy"}
        rows: list[Any] = []
        async with aclosing(self._answer(RequestMessage("", "eval", args))) as parts:
            async for part in parts:
                rows += part
        return rows

    async def stream(
        self, traversal: Any, *, again: bool = True, collected: bool = False
    ) -> AsyncGenerator[list[Any]]:
        """The results of a traversal as they arrive.

        If a server fails in the middle, the next one begins again: a result may come twice.

        Args:
            traversal: Built by the steps of gremlinpython.
            again: Whether it may be sent again if no answer comes.
            collected: Whether the caller collects all results, which are counted as the call's
                memory until the last one.

        Raises:
            CallMemoryMet: The answer takes more memory than the call may.
            TimeoutError: The deadline of the call or `query_timeout` passed.
            StoreUnavailable: No server answers, or the client is closed.
            StoreError: The servers refuse the traversal, or their answer cannot be read.
        """
        args = {"gremlin": traversal.bytecode}
        request = RequestMessage("traversal", "bytecode", args)
        async with aclosing(self._answer(request, again=again, collected=collected)) as parts:
            async for part in parts:
                count = self._count(part)
                with call.holding(8 * (count - len(part))):
                    yield [one.object for one in part for _ in range(one.bulk)]

    def _count(self, part: list[Any]) -> int:
        """The number of results, of which the server sends equal ones once with their number."""
        if not all(isinstance(one, Traverser) and one.bulk > 0 for one in part):
            raise Unread(f"{place(self.settings)} sent an answer that is not a list of results.")
        count: int = sum(one.bulk for one in part)
        if count > call.MAX_EDGES_IN_COLUMNS:
            raise Unread(
                f"{place(self.settings)} sent a message with {count:,} results, more than the "
                f"{call.MAX_EDGES_IN_COLUMNS:,} that are read."
            )
        return count

    async def _answer(
        self, request: RequestMessage, *, again: bool = True, collected: bool = True
    ) -> AsyncGenerator[list[Any]]:
        ends = asyncio.get_running_loop().time() + call.seconds_left(self.settings.query_timeout)
        failures: list[Exception] = []
        while True:
            if self._closed:
                raise StoreUnavailable(f"{place(self.settings)} is closed; open it again.")
            try:
                async with aclosing(self._sent(request, ends, collected=collected)) as parts:
                    async for part in parts:
                        yield part
            except (Unreachable, _Refused) as error:
                failures.append(error)
                most = len(self.settings.uri)
                if isinstance(error, Unreachable):
                    most = max(2, most)  # a single server may be back already
                if len(failures) >= most or not again:
                    raise self._failure(failures) from error
            else:
                return

    async def _sent(
        self, request: RequestMessage, ends: float, *, collected: bool
    ) -> AsyncGenerator[list[Any]]:
        """The parts of an answer, from the present replica, which is changed if it fails."""
        client = call.current_usage().client
        await self._wait_for_turn(client, ends)
        connection: Connection | None = None
        try:
            while True:
                connection = self._idle.pop() if self._idle else await self._connect(ends)
                reused, connection.used = connection.used, True
                try:
                    parts = self._exchange(connection, request, ends, collected=collected)
                    async for part in parts:
                        reused = False
                        yield part
                except Unreachable:
                    self._discard(connection)
                    if not reused:
                        self._change_replica(connection.replica)
                        raise
                else:
                    break  # otherwise the connection broke while it was idle
            if connection.replica == self._replica and not self._closed:
                self._idle.append(connection)
            else:
                self._discard(connection)
            connection = None
        except _Refused:
            self._change_replica(connection.replica if connection else self._replica)
            raise
        finally:
            if connection is not None:
                self._discard(connection)
            self._places.leave(client)

    async def _exchange(
        self, connection: Connection, request: RequestMessage, ends: float, *, collected: bool
    ) -> AsyncGenerator[list[Any]]:
        """Send a request, and yield the parts of its answer."""
        left = ends - asyncio.get_running_loop().time()
        request_id = str(uuid4())
        agent = f"bfsql {call.current_request_id()}".rstrip()
        args = request.args | {
            "aliases": {"g": self.settings.traversal_source},
            "evaluationTimeout": max(1, int(left * 1000)),
            "batchSize": ROWS,
            "userAgent": agent,
        }
        self.requests += 1
        sent = self._serializer.serialize_message(request_id, request._replace(args=args))
        await connection.send(sent)
        with ExitStack() as whole:
            code = _PARTIAL
            while code in (_PARTIAL, _AUTHENTICATE):
                with ExitStack() as part:
                    message = await connection.receive(ends)
                    # Reading takes up to eleven times the bytes of a message; its objects then take
                    # two to six times as many, in the worst case ten.
                    with call.holding(12 * len(message)):
                        code, data = self._read(message, request_id)
                    counted = call.holding(6 * len(message))
                    (whole if collected else part).enter_context(counted)
                    if code == _AUTHENTICATE:
                        await connection.send(self._login(request_id))
                    elif data:
                        yield data

    def _read(self, message: bytes | str, request_id: str) -> tuple[int, Any]:
        """The status of a part of an answer, and its results."""
        try:
            answer: dict[str, Any] = self._serializer.deserialize_message(message)
            status, data, sent = answer["status"], answer["result"]["data"], answer["requestId"]
            data = list(data or ())
            code, text = status["code"], str(status["message"] or "")
        except Exception as error:  # of whatever kind the driver's reader raises
            raise Unread(
                f"{place(self.settings)} sent an answer that cannot be read "
                f"({one_line(str(error)) or type(error).__name__}). If it contains a value of a "
                "rare type, --serializer graphson may read it."
            ) from error
        done = code in (_OK, _EMPTY, _PARTIAL, _AUTHENTICATE)
        # A server that cannot read a request may refuse it without its id.
        if str(sent) != request_id and (done or str(sent or _NO_ID) != _NO_ID):
            raise Unreachable("it sent an answer to another request")
        if not done:
            raise self._refusal(code, text)
        return code, data

    def _login(self, request_id: str) -> bytes:
        password = self.settings.password
        if password is None:
            raise StoreError(
                f"{place(self.settings)} requires a login. Set GREMLIN_USERNAME and "
                "GREMLIN_PASSWORD."
            )
        plain = f"\0{self.settings.username}\0{password.get_secret_value()}".encode()
        args = {"sasl": base64.b64encode(plain).decode(), "saslMechanism": "PLAIN"}
        message = RequestMessage("traversal", "authentication", args)
        data: bytes = self._serializer.serialize_message(request_id, message)
        return data

    # --- connections --------------------------------------------------------

    async def _wait_for_turn(self, client: str, ends: float) -> None:
        limit = asyncio.get_running_loop().time() + self.settings.connect_timeout
        try:
            async with asyncio.timeout_at(min(ends, limit)):
                await self._places.enter(client)
        except TimeoutError:
            if ends <= limit:
                raise
            raise StoreUnavailable(
                f"{place(self.settings)} was not queried: none of {self.settings.pool_size} "
                f"connections was free within {self.settings.connect_timeout:g} s. Try again "
                "later, or raise --pool-size."
            ) from None

    async def _connect(self, ends: float) -> Connection:
        """A new connection to the present replica."""
        settings, replica = self.settings, self._replica
        if self._session is None:
            trace = aiohttp.TraceConfig()
            trace.on_request_redirect.append(_refuse_redirect)
            self._session = aiohttp.ClientSession(trace_configs=[trace])
        uri = settings.uri[replica]
        limit = asyncio.get_running_loop().time() + settings.connect_timeout
        try:
            async with asyncio.timeout_at(min(ends, limit)):
                socket = await self._session.ws_connect(
                    uri,
                    headers=await self._signature(uri),
                    ssl=self._ssl,
                    autoping=False,
                    max_msg_size=settings.max_message_bytes,
                    timeout=aiohttp.ClientWSTimeout(ws_close=1.0),
                )
        except TimeoutError:
            self._change_replica(replica)
            if ends <= limit:
                raise
            why = f"no connection within {settings.connect_timeout:g} s"
            raise Unreachable(why) from None
        except aiohttp.WSServerHandshakeError as error:
            self._change_replica(replica)
            raise _handshake(error, uri, settings) from error
        except (ssl.SSLError, aiohttp.ClientSSLError) as error:
            raise _not_trusted(error, settings) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            self._change_replica(replica)
            raise Unreachable(one_line(str(error)) or type(error).__name__) from error
        return Connection(socket, replica, place(settings))

    async def _signature(self, uri: str) -> dict[str, str]:
        if self.settings.aws_region is None:
            return {}
        from bfsql_gremlin.sigv4 import signed_headers

        return await asyncio.to_thread(signed_headers, uri, self.settings.aws_region)

    def _change_replica(self, failed: int) -> None:
        """Use the next replica, unless another request has changed it already."""
        if self._replica == failed:
            self._replica = (failed + 1) % len(self.settings.uri)
            while self._idle and len(self.settings.uri) > 1:
                self._discard(self._idle.pop())

    def _discard(self, connection: Connection) -> None:
        """Close a connection without waiting for the server, which may hang."""
        task = asyncio.ensure_future(connection.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    # --- errors ---------------------------------------------------------------

    def _refusal(self, code: int, text: str) -> Exception:
        settings, why = self.settings, one_line(text)
        where = place(settings)
        if code == _TIMEOUT:
            return TimeoutError(f"{where} stopped a query that took too long.")
        if code == _UNAUTHORIZED:
            return StoreError(
                f"{where} rejected the login of {settings.username!r}: the name or the password "
                "is wrong. Set GREMLIN_USERNAME and GREMLIN_PASSWORD."
            )
        if "is not configured on the server" in text or "Could not alias" in text:
            return StoreError(
                f"{where} has no traversal source {settings.traversal_source!r}: {why}. Correct "
                "--traversal-source; it is a name that the server's start script defines, often g."
            )
        if "Could not locate method" in text:
            return StoreError(
                f"{where} lacks a step of Gremlin ({why}). BFS-QL needs a server of TinkerPop 3.7."
            )
        if code == _UNSENDABLE:
            return Unread(f"{where} cannot send a value of a rare type: {why}.")
        # A server that is stopping answers with 500, too.
        refused = StoreError(f"{where} refused: {why} ({code}).")
        return _Refused(why) if code == _SERVER_ERROR else refused

    def _failure(self, failures: list[Exception]) -> StoreError:
        """The error for the operator after the last server failed."""
        last = failures[-1]
        if isinstance(last, _Refused):
            where = place(self.settings)
            if any(words in str(last) for words in _STORAGE):
                return StoreUnavailable(
                    f"{where} cannot reach its storage: {last}. Check that enough members of the "
                    "cluster run; the same call works again once they do."
                )
            if len(failures) > 1:
                return StoreUnavailable(f"{where} could not answer: {last}.")
            return StoreError(f"{where} refused: {last} ({_SERVER_ERROR}).")
        several = len(self.settings.uri) > 1
        return StoreUnavailable(
            f"{place(self.settings)} does not answer: {last}. "
            + ("Start one of them" if several else "Start it")
            + ", or correct GREMLIN_URI."
        )


class _Refused(Exception):
    """An answer with the error 500, in the server's words."""


def place(settings: GremlinSettings) -> str:
    """The servers in words."""
    first, *others = settings.uri
    return f"The Gremlin server at {first}" + (f" and {len(others)} more" if others else "")


def _tls(settings: GremlinSettings) -> ssl.SSLContext | bool:
    file = settings.ca_file
    if file is None:
        return True
    if not all(uri.startswith("wss://") for uri in settings.uri):
        raise StoreError(
            f"{place(settings)} is addressed with ws://, which is not encrypted, so the "
            f"certificates in ca_file ({file}) would have no effect. Write wss:// in GREMLIN_URI, "
            "or remove ca_file."
        )
    try:
        open_regular(file).close()  # OpenSSL would wait for a FIFO
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise StoreError(
            f"The setting ca_file ({file}), the certificates to trust, cannot be read: "
            f"{one_line(str(error))}. It has to be a file of certificates in PEM format."
        ) from error


async def _refuse_redirect(_session: Any, _context: Any, redirect: Any) -> None:
    """End a handshake that is redirected: the login would be sent to where the server says."""
    reply: aiohttp.ClientResponse = redirect.response
    reply.close()
    raise aiohttp.WSServerHandshakeError(
        reply.request_info, reply.history, status=reply.status, headers=reply.headers
    )


def _handshake(
    error: aiohttp.WSServerHandshakeError, uri: str, settings: GremlinSettings
) -> Exception:
    """The error for a server that speaks HTTP and no WebSocket."""
    if error.status in (401, 403):
        return StoreError(
            f"{place(settings)} rejected the login with the HTTP status {error.status}. Check the "
            "credentials; for Amazon Neptune with IAM, set --aws-region."
        )
    if error.status >= _SERVER_ERROR:
        return Unreachable(f"it answered with the HTTP status {error.status}")
    if error.headers and (to := error.headers.get("Location")):
        other = one_line(server_of(to) if "://" in to else to)
        return StoreError(
            f"{place(settings)} redirects to {other}, to which nothing is "
            "sent. If that is the server, set GREMLIN_URI to its address."
        )
    return StoreError(
        f"{place(settings)} is not a Gremlin server: {uri} answered with the HTTP status "
        f"{error.status} instead of opening a WebSocket. Correct GREMLIN_URI; its path is usually "
        "/gremlin."
    )


def _not_trusted(error: Exception, settings: GremlinSettings) -> StoreError:
    return StoreError(
        f"{place(settings)} and this computer could not agree on TLS: {one_line(str(error))}. Name "
        "a file with the certificates to trust with --ca-file, and address the server by a name in "
        "its certificate; a server without TLS is addressed with ws://."
    )
