"""A loopback port for a server that will start shortly."""

import random
import socket

HOST = "127.0.0.1"
# Below the range from which systems take ports for outgoing connections: one of those must not
# take a server's port while the server is down for a restart.
PORTS = range(15_000, 30_000)
# hypothesis seeds the module's default generator, so tests in two processes would draw the same
# ports.
_DICE = random.SystemRandom()


def free_port() -> int:
    """A port of 127.0.0.1 without a listener."""
    while True:
        port = _DICE.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port


def answers(port: int, host: str = HOST) -> bool:
    """Whether something accepts connections on a port of this machine."""
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
