"""Connections over HTTP: how many there may be, and how long they may wait for their clients.

uvicorn limits neither: its keep-alive timeout begins after an answer, so silent clients, incomplete
requests and unread answers hold a connection forever. Here its protocol class is guarded:

    connections = Connections(settings)
    uvicorn.Config(app, http=connections.protocol, backlog=connections.backlog)

When the limit is reached, an idle connection is closed in favour of a new one: the one that has
been idle longest, of the address with most connections. So clients that only hold connections
cannot lock out those that send requests. A call in progress is never cut off for another.

`/metrics` reads the attributes of `Connections`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from bfsql.serving.logs import OnceAMinute
from bfsql.serving.requests import request_of

if TYPE_CHECKING:
    from bfsql.settings import ServeSettings

MAX_CONNECTIONS = 1_000
"""Concurrent connections, if the process may open enough files."""

_WITHOUT_LINGERING = struct.pack("ii", 1, 0)

_logger = logging.getLogger(__name__)


def _plain_answer(status: str, sentence: str, *headers: str) -> bytes:
    body = sentence.encode("ascii")
    lines = [
        f"HTTP/1.1 {status}",
        *headers,
        "Connection: close",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


_BUSY = _plain_answer(
    "503 Service Unavailable",
    "This server has reached its limit of connections. Try again in a second.",
    "Retry-After: 1",
)
_TOO_SLOW = _plain_answer(
    "408 Request Timeout", "The request did not arrive in time. Send it again without pauses."
)


def most_connections(setting: int | None) -> int:
    """The number of connections that are allowed at once, for a value of the setting.

    It is at most what the limit of open files (RLIMIT_NOFILE) leaves beside the store.
    """
    room = _room_for_connections()
    if room is None:
        return setting or MAX_CONNECTIONS
    if setting is not None and setting > room:
        _logger.warning(
            "max_connections is %d, but the limit of open files leaves room for %d connections. "
            "Raise the limit (ulimit -n, LimitNOFILE), or lower max_connections.",
            setting,
            room,
        )
    return min(setting or MAX_CONNECTIONS, room)


def _room_for_connections() -> int | None:
    """Files that the process may open, less those of the store; None if there is no limit."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return None
    quarter = max(1, files // 4)
    # The store, the logs and connections that are about to be closed need files, too.
    return max(files - max(64, quarter), quarter)


class Connections:
    """The connections of one server.

    Attributes:
        ended: Those that the server ended, by reason: `refused` with 503, because all others had a
            call in progress; `evicted` while they waited, to make room for others; `timed_out`,
            because the client sent nothing, or too slowly; `unread`, as its answer was.
        limit: Most connections at once.
    """

    backlog = 128
    """Connections that wait in the system's queue to be accepted."""

    sweep_seconds = 0.5
    """Seconds between two checks of all connections; a timeout is late by this at most."""

    max_unread_bytes = 64_000_000
    """Total bytes of unread answers; beyond this, clients that do not read are disconnected."""

    stalled_seconds = 2.0
    """Seconds without reading after which a client is disconnected when that total is exceeded."""

    max_of_admin_port = 32
    """Connections of the admin port at once; `most_connections` leaves files for them."""

    max_refusals = 8
    """Refused connections that stay open at once, so that their clients can read the refusal."""

    def __init__(self, settings: ServeSettings, *, of_admin_port: bool = False) -> None:
        own = max(1, most_connections(settings.max_connections) // settings.workers)
        self.limit = self.max_of_admin_port if of_admin_port else own
        self._limit_is = "that of the admin port" if of_admin_port else "max_connections"
        self.ended = Counter(refused=0, evicted=0, timed_out=0, unread=0)
        self._settings = settings
        self._open: dict[GuardedProtocol, None] = {}
        self._waiting: dict[str, dict[GuardedProtocol, None]] = {}
        self._refusals = 0
        self._sweeping: asyncio.TimerHandle | None = None
        self._may_log = OnceAMinute()

    @property
    def open(self) -> int:
        """Connections at this moment."""
        return len(self._open)

    @property
    def protocol(self) -> type[GuardedProtocol]:
        """The class for uvicorn's `http=`; its instances are counted here."""
        return type("GuardedProtocol", (GuardedProtocol,), {"guard": self})

    def admit(self, protocol: GuardedProtocol) -> bool:
        """Count a new connection; False, uncounted, if no other one can be closed for it."""
        if len(self._open) >= self.limit and not self._make_room():
            self.ended["refused"] += 1
            return False
        self._open[protocol] = None
        self.wait(protocol)
        if self._sweeping is None:
            self._sweeping = protocol.loop.call_later(
                self.sweep_seconds, self._sweep, protocol.loop
            )
        return True

    def lose(self, protocol: GuardedProtocol) -> None:
        """Stop counting a connection."""
        self._open.pop(protocol, None)
        self.work(protocol)

    def wait(self, protocol: GuardedProtocol) -> None:
        """Note that a connection is idle from now on."""
        if protocol in self._open:
            protocol.waiting_since = protocol.loop.time()
            self._waiting.setdefault(protocol.address, {})[protocol] = None

    def work(self, protocol: GuardedProtocol) -> None:
        """Note that a connection has a request in progress."""
        of_address = self._waiting.get(protocol.address)
        if of_address is not None:
            of_address.pop(protocol, None)
            if not of_address:
                del self._waiting[protocol.address]

    def refuse(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        """Answer 503 and close, with a short delay if the client's request is still arriving."""
        transport.write(_BUSY)
        if self._refusals >= self.max_refusals or not transport.can_write_eof():
            transport.close()
            return
        self._refusals += 1
        transport.set_protocol(asyncio.Protocol())  # reads, and ignores what it reads
        transport.write_eof()
        loop.call_later(1.0, self._end_refusal, transport)

    def _end_refusal(self, transport: asyncio.Transport) -> None:
        self._refusals -= 1
        transport.abort()

    def abort(self) -> None:
        """Abort all connections."""
        for protocol in tuple(self._open):
            protocol.transport.abort()

    def _make_room(self) -> bool:
        """Close an idle connection; return whether there was one."""
        victim = self._longest_waiting() or self._idle_stream()
        if self._may_log():
            _logger.warning(
                "All %d connections are in use: %s. The limit is %s.",
                self.limit,
                "new ones are refused"
                if victim is None
                else "idle ones are closed in favour of new ones",
                self._limit_is,
            )
        if victim is None:
            return False
        self.ended["evicted"] += 1
        self.lose(victim)
        victim.transport.abort()
        return True

    def _longest_waiting(self) -> GuardedProtocol | None:
        if not self._waiting:
            return None
        of_address = max(self._waiting.values(), key=len)
        nothing_unread = (p for p in of_address if not p.transport.get_write_buffer_size())
        return next(nothing_unread, None) or next(iter(of_address))

    def _idle_stream(self) -> GuardedProtocol | None:
        """The oldest idle event stream, of the address with most connections."""
        streams = [protocol for protocol in self._open if protocol.is_idle_stream()]
        if not streams:
            return None
        [(address, _)] = Counter(protocol.address for protocol in streams).most_common(1)
        return next(protocol for protocol in streams if protocol.address == address)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Check every connection, and close those whose client keeps the server waiting."""
        self._sweeping = None
        if not self._open:
            return
        self._sweeping = loop.call_later(self.sweep_seconds, self._sweep, loop)
        now, unread = loop.time(), 0
        for protocol in list(self._open):
            unread += protocol.note_unread(now)
            if protocol.stalled(now) > self._settings.write_timeout:
                self._cut(protocol)
            elif protocol.keeps_waiting(now, self._settings):
                self.ended["timed_out"] += 1
                protocol.give_up()
        if unread > self.max_unread_bytes:
            self._cut_stalled(now, unread)

    def _cut_stalled(self, now: float, unread: int) -> None:
        """Disconnect clients that do not read, largest answers first, until the limit is met."""
        stalled = [p for p in self._open if p.stalled(now) >= self.stalled_seconds]
        for protocol in sorted(stalled, key=lambda p: p.unread, reverse=True):
            if unread <= self.max_unread_bytes:
                break
            unread -= protocol.unread
            self._cut(protocol)

    def _cut(self, protocol: GuardedProtocol) -> None:
        """Abort a connection and discard its unsent data."""
        self.ended["unread"] += 1
        self.lose(protocol)
        end: socket.socket = protocol.transport.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _WITHOUT_LINGERING)
        protocol.transport.abort()


class GuardedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol, which reports to `Connections` when it waits for its client."""

    guard: ClassVar[Connections]

    address = ""
    """The client's address, without the port."""
    waiting_since = 0.0
    """When the last request ended, or the connection began."""
    unread = 0
    """Bytes of answers that were unread at the last check."""
    bytes_a_second = 1_000
    """Bytes per second: a body that is slower than this, after `read_timeout`, is abandoned."""

    _working = False
    _began: float | None = None
    _received = 0
    _stalled_since = 0.0

    def connection_made(  # type: ignore[override]  # uvicorn's own deviation
        self, transport: asyncio.Transport
    ) -> None:
        """Begin a connection, or refuse it."""
        peer: Any = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple) else ""
        if self.guard.admit(self):
            super().connection_made(transport)
        else:
            self.guard.refuse(transport, self.loop)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self.guard.lose(self)
        if self.transport is not None:  # it was not refused
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what a client sends."""
        super().data_received(data)
        self._received += len(data)
        self._settle()

    def on_response_complete(self) -> None:
        """Go on with the next request."""
        super().on_response_complete()
        self._settle()

    def _settle(self) -> None:
        """Update what the connection waits for, after anything that may have changed it."""
        theirs: Any = self.conn.their_state
        if theirs is h11.SEND_BODY or (theirs is h11.IDLE and self.conn.trailing_data[0]):
            if self._began is None:
                self._began = self.loop.time()
        else:
            self._began, self._received = None, 0
        answering = self.conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY)
        working = answering and theirs is not h11.SEND_BODY
        if working is not self._working:
            self._working = working
            (self.guard.work if working else self.guard.wait)(self)

    def is_idle_stream(self) -> bool:
        """Whether the client holds an idle event stream open."""
        request = request_of(self.scope) if self._working else None
        return (
            request is not None and request.listens and not self.transport.get_write_buffer_size()
        )

    def note_unread(self, now: float) -> int:
        """Measure how many bytes of its answers the client has not read."""
        before, self.unread = self.unread, self.transport.get_write_buffer_size()
        if not before or self.unread < before:
            self._stalled_since = now
        return self.unread

    def stalled(self, now: float) -> float:
        """Seconds during which the client has read nothing of a waiting answer."""
        return now - self._stalled_since if self.unread else 0.0

    def keeps_waiting(self, now: float, settings: ServeSettings) -> bool:
        """Whether the client's time to send a request is over."""
        if self.unread or self._working or self.transport.is_closing():
            return False
        if self._began is None:
            return now - self.waiting_since > settings.idle_timeout
        if self.flow.read_paused:  # the application is slow, not the client
            self._began = now
        return now - self._began > settings.read_timeout + self._received / self.bytes_a_second

    def give_up(self) -> None:
        """Close the connection; a request that is incomplete is answered first."""
        not_answered = self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE)
        if self._began is not None and not_answered:
            self.transport.write(_TOO_SLOW)
        self.transport.close()
