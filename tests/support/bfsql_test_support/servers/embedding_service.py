"""A small HTTP server that imitates an OpenAI-compatible embedding service."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bfsql_test_support.servers import stub
from bfsql_test_support.servers.stub import Said, answering


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    connection: tuple[str, int]


class PlayedService:
    """Sends the given responses in turn, and then repeats the last one."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.was_asked = threading.Event()
        self.answers = [vector(0.6, 0.8)]
        self.url = ""

    def says(self, *answers: Said) -> None:
        self.answers = list(answers)

    def respond(self, asked: stub.Asked) -> Said:
        body = json.loads(asked.body)
        self.asked.append(Asked(asked.path, asked.headers, body, asked.connection))
        self.was_asked.set()
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def vector(*numbers: float) -> Said:
    """A response with a vector."""
    return json_body(200, {"object": "list", "data": [{"index": 0, "embedding": numbers}]})


def json_body(status: int, value: Any, **headers: str) -> Said:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Said(status, json.dumps(value).encode(), {"Content-Type": "application/json", **named})


@contextmanager
def playing() -> Iterator[PlayedService]:
    """Run the service."""
    played = PlayedService()
    with answering(played.respond) as url:
        played.url = f"{url}/v1"
        yield played
