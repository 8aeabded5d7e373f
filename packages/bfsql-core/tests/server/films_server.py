"""A server of two films and three people, run by the tests as a separate process.

    python films_server.py '{"transport": "http", "port": 0}'

Its backend writes to standard output in every possible way, as drivers do.
"""

import json
import os
import subprocess
import sys
from typing import Any

from bfsql.memory import MemoryBackend
from bfsql.models import EdgeRecord, GraphRecord, NodeRecord

RECORDS: list[GraphRecord] = [
    NodeRecord("film:1", "Film", {"name": "Sleepless in Seattle", "year": 1993}),
    NodeRecord("film:2", "Film", {"name": "You've Got Mail", "synonyms": ["e-m@il für Dich"]}),
    NodeRecord("person:1", "Person", {"name": "Tom Hanks", "total_mentions": 5}),
    NodeRecord("person:2", "Person", {"name": "Meg Ryan"}),
    NodeRecord("person:3", "Person", {"name": "Nora Ephron"}),
    EdgeRecord("person:1", "ACTED_IN", "film:1", {"confidence": 0.9}),
    EdgeRecord("person:1", "ACTED_IN", "film:2"),
    EdgeRecord("person:2", "ACTED_IN", "film:1"),
    EdgeRecord("person:2", "ACTED_IN", "film:2"),
    EdgeRecord("person:3", "DIRECTED", "film:1"),
]


def babble(word: str) -> None:
    """Write to standard output from Python, by file descriptor, and from a child process."""
    print(f"print: {word}", flush=True)  # noqa: T201 - this is tested
    os.write(1, f"write: {word}\n".encode())
    subprocess.run(["echo", f"child: {word}"], check=True)


class Films(MemoryBackend):
    """The films, from a backend that writes to standard output."""

    def __init__(self) -> None:
        babble("opened")
        super().__init__(RECORDS)

    async def search_entities(self, query, node_types=None):
        babble("searched")
        return await super().search_entities(query, node_types)

    async def close(self) -> None:
        babble("closed")


def main(settings: dict[str, Any]) -> None:
    from bfsql.cli.serve import run
    from bfsql.graph import open_graph
    from bfsql.serving.live import LiveConfiguration
    from bfsql.settings import ServeSettings

    served = ServeSettings(**settings)
    films = LiveConfiguration(lambda: open_graph(Films, graph_description="Films"), served)
    run({"": films}, served)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
