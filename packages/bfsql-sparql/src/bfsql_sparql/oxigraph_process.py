"""The program of a process that evaluates queries with Oxigraph; `processes.py` starts it.

It imports little but pyoxigraph, so that it starts in a moment. It ends when its connection is
closed, even during a query: a thread waits for that, and pyoxigraph does not hold Python's lock
while it evaluates.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pyoxigraph

from bfsql.memory_account import available
from bfsql_sparql.processes import EMPTY, FOLDER, LOADED, OK, REFUSED, TOO_LARGE, Channel

_UNITE = "INSERT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }"
"""Update after which a query that names no graph sees the triples of all graphs, each once."""


def main() -> None:
    """Open a graph, and answer queries about it until the connection is closed."""
    # The system sends both to the whole group of processes; the server decides when to end.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    channel = Channel(sys.stdin.buffer, sys.stdout.buffer)
    try:
        graph = _Graph(channel)
        if len(sys.argv) > 1:
            channel = _forked(socket.socket(fileno=int(sys.argv[1])))
        _serve(channel, graph)
    except (EOFError, OSError):
        os._exit(0)


# --- opening ------------------------------------------------------------------


class _Graph:
    """The store, with the files that the other side sends, or of the folder that it names.

    Args:
        channel: Leads to the other side.

    Attributes:
        store: The store.
        is_union: Whether a query that names no graph is to see the triples of all graphs.
        max_bytes: Most bytes of an answer.

    Raises:
        EOFError: The other side is closed, or there is no graph, because a part was refused.
    """

    def __init__(self, channel: Channel) -> None:
        self.store = pyoxigraph.Store()
        self.is_union = False
        kind, body = channel.receive()
        while kind != LOADED:
            reply = self._open(body.decode()) if kind == FOLDER else self._load(body, channel)
            channel.send(*reply)
            if reply[0] == REFUSED:
                raise EOFError
            kind, body = channel.receive()
        if not self.is_union and list(self.store.named_graphs()):
            self.store.update(_UNITE)
        self.max_bytes = int(body)
        channel.send(OK, b"" if self.store else EMPTY)

    def _open(self, folder: str) -> tuple[bytes, bytes]:
        try:
            self.store = pyoxigraph.Store.read_only(folder)
        except (OSError, RuntimeError) as error:
            return REFUSED, str(error).encode()
        self.is_union = bool(list(self.store.named_graphs()))
        return OK, b""

    def _load(self, head: bytes, channel: Channel) -> tuple[bytes, bytes]:
        file = json.loads(head)
        source: Any = _Source(channel)
        format_ = getattr(pyoxigraph.RdfFormat, file["format"])
        fault: dict[str, Any] = {"reason": None, "line": None}
        try:
            self.store.bulk_load(source, format=format_, base_iri=file["base_iri"])
        except (SyntaxError, ValueError) as error:
            fault["reason"] = getattr(error, "msg", None) or str(error)
            fault["line"] = getattr(error, "lineno", None)
        except MemoryError:  # its limit on one term, not the end of the memory
            pass
        else:
            return OK, b""
        return REFUSED, json.dumps(fault).encode()


class _Source:
    """The bytes of a file, from messages; an empty one is the end."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._bytes = bytearray()
        self._is_whole = False

    def read(self, size: int) -> bytes:
        # As many as Oxigraph wants: it reads the beginning of a long literal again each time.
        while len(self._bytes) < size and not self._is_whole:
            _, chunk = self._channel.receive()
            self._bytes += chunk
            self._is_whole = not chunk
        piece = bytes(self._bytes[:size])
        del self._bytes[:size]
        return piece


# --- answering ----------------------------------------------------------------


def _forked(control: socket.socket) -> Channel:
    """Fork for each connection that arrives; returns in the new processes, with theirs."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that none of them remains as a zombie
    gc.freeze()
    while True:
        _, descriptors, _, _ = socket.recv_fds(control, 1, 1)
        if not descriptors:
            raise EOFError
        connection = socket.socket(fileno=descriptors[0])
        with suppress(OSError):  # if there can be no further process, the connection closes
            if os.fork() == 0:
                control.close()
                return Channel(connection.makefile("rb"), connection.makefile("wb"))
        connection.close()


def _serve(channel: Channel, graph: _Graph) -> NoReturn:
    _limit_memory()
    if hasattr(select, "poll"):  # elsewhere the end is noticed after the query
        threading.Thread(target=_end_with, args=(channel,), daemon=True).start()
    while True:
        channel.send(*_answer(graph, channel.receive()[1].decode()))


def _end_with(channel: Channel) -> None:
    """End the process as soon as the other side closes the channel."""
    closed = select.poll()
    closed.register(channel.fileno(), 0)  # errors and the end are reported in any case
    closed.poll()
    os._exit(0)


def _limit_memory() -> None:
    """End this process if a query needs more than half of the memory there is; on Linux.

    If another process needs it first, the system ends this one and not the server.
    """
    with suppress(ImportError, OSError, ValueError):
        import resource

        page = resource.getpagesize()
        in_use = int(Path("/proc/self/statm").read_text("ascii").split()[5]) * page
        most = in_use + available() // 2
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        Path("/proc/self/oom_score_adj").write_text("1000", "ascii")


def _answer(graph: _Graph, query: str) -> tuple[bytes, bytes | bytearray]:
    """The answer to a SELECT or ASK query, in the SPARQL JSON results format; or a refusal."""
    try:
        results = graph.store.query(query, use_default_graph_as_union=graph.is_union)
        if isinstance(results, pyoxigraph.QueryTriples):
            return REFUSED, b"Only SELECT and ASK queries are supported."
        sink: Any = _Sink(graph.max_bytes)
        results.serialize(sink, format=pyoxigraph.QueryResultsFormat.JSON)
    except OverflowError as error:
        return TOO_LARGE, str(error).encode()
    except MemoryError:
        os._exit(1)
    except Exception as error:  # noqa: BLE001 - it raises what its parts raise
        return REFUSED, f"Oxigraph rejected the query: {error}".encode()
    return OK, sink.body


class _Sink:
    """Receives an answer, some kilobytes at a time."""

    def __init__(self, max_bytes: int) -> None:
        self.body = bytearray()
        self._max_bytes = max_bytes

    def write(self, part: bytes) -> int:
        self.body += part
        if len(self.body) > self._max_bytes:
            raise OverflowError(
                f"The answer is larger than the {self._max_bytes} bytes that are allowed."
            )
        return len(part)

    def flush(self) -> None:
        """Do nothing, since nothing is buffered."""


if __name__ == "__main__":
    main()
