"""The films server in memory, as a process on stdio, and as a process over HTTP."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, NodeRecord

SCRIPT = Path(__file__).parent / "films_server.py"


@dataclass
class Running:
    """A server process over HTTP."""

    process: subprocess.Popen[str]
    url: str

    def stop(self, number: int) -> tuple[int, str, str]:
        """Send a signal; return exit code, standard output and the rest of standard error."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def records() -> list[NodeRecord | EdgeRecord]:
    """Two films, three people."""
    people = {"person:1": "Tom Hanks", "person:2": "Meg Ryan", "person:3": "Nora Ephron"}
    films = {"film:1": "Sleepless in Seattle", "film:2": "You've Got Mail"}
    cast = [("person:1", "film:1"), ("person:1", "film:2"), ("person:2", "film:1")]
    return [
        *(NodeRecord(i, "Film", {"name": name}) for i, name in films.items()),
        *(NodeRecord(i, "Person", {"name": name}) for i, name in people.items()),
        *(EdgeRecord(person, "ACTED_IN", film) for person, film in cast),
        EdgeRecord("person:3", "DIRECTED", "film:1"),
    ]


@pytest.fixture
def films(records: list[NodeRecord | EdgeRecord]) -> MemoryBackend:
    """A backend over the records."""
    return MemoryBackend(records)


@pytest.fixture
def stdio(programs: Path) -> Callable[..., StdioServerParameters]:
    """Parameters with which a client starts the films server; settings by keyword."""

    def parameters(**settings: Any) -> StdioServerParameters:
        command, *given = arguments(settings, programs / "python")
        return StdioServerParameters(command=command, args=given)

    return parameters


@pytest.fixture
def over_http(programs: Path) -> Iterator[Callable[..., Running]]:
    """Starts the films server over HTTP on a free port; settings by keyword."""
    with ExitStack() as stack:

        def start(**settings: Any) -> Running:
            command = arguments({"transport": "http", "port": 0, **settings}, programs / "python")
            process = stack.enter_context(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            stack.callback(process.kill)
            assert process.stderr
            for line in process.stderr:
                if found := re.search(r"http://\S+", line):
                    return Running(process, found[0])
            raise AssertionError(f"the server ended with {process.wait()}")

        yield start


@pytest.fixture
def refused(programs: Path) -> Callable[..., str]:
    """Starts the films server with settings that it refuses; returns its last line of output."""

    def start(**settings: Any) -> str:
        ended = subprocess.run(
            arguments(settings, programs / "python"),
            check=False,
            capture_output=True,
            text=True,
            timeout=20,
            stdin=subprocess.DEVNULL,
        )
        assert ended.returncode != 0
        assert ended.stdout == ""
        return ended.stderr.splitlines()[-1]

    return start


def arguments(settings: dict[str, Any], python: Path) -> list[str]:
    return [str(python), str(SCRIPT), json.dumps(settings)]
