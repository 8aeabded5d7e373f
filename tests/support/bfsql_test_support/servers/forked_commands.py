"""`bfsql` and `python FILE` as processes forked from one that has imported what they need.

A program sends its arguments, folder, environment and standard streams over a socket, and waits
for the exit code; the process ends with it. A start from nothing takes more than half a second of
processor time instead.
"""

import json
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

from bfsql_test_support.servers.serve_process import FORKING, run_command, run_script

PROGRAM = """\
#!{python} -IS
import json, os, signal, socket, sys
given = sys.argv[3:] if sys.argv[1:2] == ["-W"] else sys.argv[1:]
if {name!r} == "python" and (not given or given[0].startswith("-")):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as there:
    there.connect({address!r})
    given = json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)])
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
    """Make the programs in a folder, and run them as long as the block; for Linux."""
    address = str(folder / "commands")
    for name in ("bfsql", "python"):
        text = PROGRAM.format(name=name, python=sys.executable, address=address)
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
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


def start_command(
    name: str,
    arguments: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    streams: Sequence[int],
) -> BaseProcess:
    """Start a program in a forked process.

    Args:
        name: `bfsql` or `python`.
        environment: Its environment, and nothing else.
        streams: Descriptors of its standard input, output and error.
    """
    copies = [DupFd(stream) for stream in streams]
    process = FORKING.Process(
        target=_run, args=(name, arguments, folder, dict(environment), copies)
    )
    process.start()
    return process


def _serve(caller: socket.socket) -> None:
    with caller:
        given, streams, *_ = socket.recv_fds(caller, LONGEST, 3)
        name, arguments, folder, environment = json.loads(given)
        process = start_command(name, arguments, folder, environment, streams)
        for stream in streams:
            os.close(stream)
        caller.send(str(process.pid).encode())
        if caller in connection.wait([process.sentinel, caller]):  # the program was killed
            process.kill()
        process.join()
        with suppress(OSError):
            caller.send(str(process.exitcode).encode())


def _run(
    name: str,
    arguments: Sequence[str],
    folder: str,
    environment: dict[str, str],
    streams: Sequence[Any],
) -> None:
    for number, stream in enumerate(streams):
        descriptor = stream.detach()
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing had replaced it
    os.chdir(folder)
    if name == "python":
        strict = arguments[0] == "-W"
        run_script(arguments[2 * strict :], environment, strict=strict)
    else:
        run_command(arguments, environment)
