"""The program `bfsql` as processes that are forked from one that has imported what they need.

The program sends its arguments, folder, environment and standard streams over a socket, and waits
for the exit code. A start from nothing takes more than a second of processor time instead.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from bfsql_test_support.servers.serve_process import FORKING, run_command

PROGRAM = """\
#!{python} -IS
import json, os, signal, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as there:
    there.connect({address!r})
    given = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)])
    socket.send_fds(there, [given.encode()], [0, 1, 2])
    pid = int(there.recv(99))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    code = int(there.recv(99))
sys.exit(code if code >= 0 else 128 - code)
"""
LONGEST = 2**20
"""Most bytes of arguments and environment."""


@contextmanager
def forked_commands(folder: Path) -> Iterator[None]:
    """Make the program `bfsql` in a folder, and run it as long as the block; for Linux."""
    program, address = folder / "bfsql", str(folder / "commands")
    program.write_text(PROGRAM.format(python=sys.executable, address=address), encoding="utf-8")
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen()
        threading.Thread(target=_accept, args=(listener,), daemon=True).start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def _accept(listener: socket.socket) -> None:
    while True:
        try:
            caller, _ = listener.accept()
        except OSError:  # the listener was shut down
            return
        threading.Thread(target=_serve, args=(caller,), daemon=True).start()


def _serve(caller: socket.socket) -> None:
    with caller:
        given, streams, *_ = socket.recv_fds(caller, LONGEST, 3)
        arguments = (*json.loads(given), [DupFd(stream) for stream in streams])
        process = FORKING.Process(target=_run, args=arguments)
        process.start()
        for stream in streams:
            os.close(stream)
        caller.send(str(process.pid).encode())
        process.join()
        caller.send(str(process.exitcode).encode())


def _run(
    arguments: Sequence[str], folder: str, environment: dict[str, str], streams: Sequence[Any]
) -> None:
    for number, stream in enumerate(streams):
        descriptor = stream.detach()
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    run_command(arguments, environment)
