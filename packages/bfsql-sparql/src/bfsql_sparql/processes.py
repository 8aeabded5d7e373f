"""Processes that evaluate queries on RDF files, each of which can be ended at any moment.

A query of Oxigraph has no time limit and can take any amount of memory. So it runs in a process of
its own, which ends when its connection is closed. The first process loads the files. It then forks
for each query that has to run beside others: all share the memory of one graph, and a new process
takes milliseconds. On Windows, which has no fork, each process loads the files itself. So does each
with the folder of a store, which is opened and not read.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import BinaryIO, NamedTuple

FILE, CHUNK, FOLDER, LOADED, QUERY = b"f", b"c", b"d", b"l", b"q"
"""The kinds of requests: a file, its bytes, a folder; the end of the graph; a query."""
OK, REFUSED, TOO_LARGE = b"+", b"-", b"!"
"""The kinds of replies."""
EMPTY = b"empty"
"""The body of the reply to the end of a graph without statements."""

_HEAD = struct.Struct(">cQ")


class LoadedGraph(NamedTuple):
    """What is known of a graph after it was loaded."""

    prefixes: dict[str, str]
    """The prefixes that the files declare, those of the first file first."""
    is_empty: bool


class Channel:
    """Messages over two streams: a kind, a length and a body each.

    Args:
        reader: Gives the messages of the other side.
        writer: Takes those of this side.
    """

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer

    def send(self, kind: bytes, body: bytes | bytearray) -> None:
        """Send a message.

        Raises:
            OSError: The other side is closed.
        """
        self._writer.write(_HEAD.pack(kind, len(body)))
        self._writer.write(body)
        self._writer.flush()

    def receive(self) -> tuple[bytes, bytes]:
        """The kind and the body of the next message.

        Raises:
            EOFError: The other side is closed.
        """
        kind, size = _HEAD.unpack(self._exactly(_HEAD.size))
        return kind, self._exactly(size)

    def fileno(self) -> int:
        """The descriptor from which the messages of the other side are read."""
        return self._reader.fileno()

    def close(self) -> None:
        """Close both streams."""
        for stream in (self._writer, self._reader):
            with suppress(OSError):  # the rest of a message to a process that has ended
                stream.close()

    def _exactly(self, size: int) -> bytes:
        data = self._reader.read(size)
        if len(data) < size:
            raise EOFError
        return data


class QueryProcess:
    """A process that evaluates one query at a time. Its methods block, except for `end`.

    Args:
        channel: Leads to it.
        end: Ends it at once, from any thread.
        release: Waits until it has ended, and releases what the system holds for it.
        load: Gives it the graph, over the channel, before the first query; None if it has one.
    """

    def __init__(
        self,
        channel: Channel,
        end: Callable[[], object],
        release: Callable[[], object],
        load: Callable[[Channel], LoadedGraph] | None = None,
    ) -> None:
        self._channel = channel
        self._end = end
        self._release = release
        self._load = load
        self._lock = threading.Lock()

    def load(self) -> LoadedGraph | None:
        """Give it the graph, and return what the function says that does so.

        Raises:
            EOFError: The process has ended.
            StoreError: The graph cannot be loaded.
        """
        with self._lock:
            load, self._load = self._load, None
            return load and load(self._channel)

    def ask(self, query: str) -> tuple[bytes, bytes]:
        """The kind and the body of the reply to a query.

        Raises:
            EOFError: The process has ended.
            StoreError: The graph cannot be loaded.
        """
        self.load()
        with self._lock:
            try:
                self._channel.send(QUERY, query.encode())
                return self._channel.receive()
            except (OSError, ValueError) as error:  # ValueError: it was closed here
                raise EOFError from error

    def end(self) -> None:
        """End it at once; a waiting `ask` or `load` raises EOFError. `close` is still needed."""
        with suppress(OSError):
            self._end()

    def close(self) -> None:
        """End it, and release what belongs to it."""
        self.end()
        with self._lock:
            self._channel.close()
            self._release()


class GraphProcesses:
    """The processes that evaluate queries on one graph.

    Args:
        load: Gives a process the graph, over a channel to it.
        share: Whether the graph is loaded only once; the system has to have fork for that.

    Attributes:
        hold_graph: Whether the graph is still held by a process, as far as is known.
    """

    def __init__(self, load: Callable[[Channel], LoadedGraph], *, share: bool) -> None:
        self._load = load
        self._control = control = None
        if share:
            self._control, control = socket.socketpair()
        self._first = self._spawned(control)
        self._unused = [] if self._control else [self._first]
        self.hold_graph = True

    def load(self) -> LoadedGraph | None:
        """Load the graph; as `QueryProcess.load`."""
        return self._first.load()

    def start(self) -> QueryProcess:
        """A process for queries; this does not block.

        Raises:
            OSError: There can be no further process, or the one that holds the graph has ended.
        """
        if self._control is None:
            return self._unused.pop() if self._unused else self._spawned()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._control, [b"f"], [theirs.fileno()])
            except OSError:
                ours.close()
                self.hold_graph = False
                raise
        channel = Channel(ours.makefile("rb"), ours.makefile("wb"))
        return QueryProcess(channel, partial(ours.shutdown, socket.SHUT_RDWR), ours.close)

    def end(self) -> None:
        """End the first process at once; a waiting `load` raises EOFError."""
        self._first.end()

    def close(self) -> None:
        """Release the first process; others are closed by those who started them."""
        self._first.close()
        if self._control is not None:
            self._control.close()

    def _spawned(self, control: socket.socket | None = None) -> QueryProcess:
        """A process that loads the graph itself, and forks if it has a socket for that."""
        # With -P no file in the working directory takes the place of a module.
        command = [sys.executable, "-P", "-m", "bfsql_sparql.oxigraph_process"]
        inherited = [] if control is None else [control.fileno()]
        process = subprocess.Popen(  # noqa: S603 - this Python, and a module of this package
            [*command, *map(str, inherited)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=inherited,
        )
        if control is not None:
            control.close()
        channel = Channel(process.stdout, process.stdin)  # type: ignore[arg-type]
        return QueryProcess(channel, process.kill, process.wait, self._load)
