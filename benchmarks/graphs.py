"""The graphs of the benchmarks: one made up, heavy-tailed with one deliberate hub; and files."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bfsql.models import EdgeRecord, GraphRecord, NodeRecord, Refusal

if TYPE_CHECKING:
    from bfsql.sources import SourceOptions

TYPES = ("gene", "drug", "disease", "paper", "author")
PREDICATES = ("CITES", "TREATS", "CAUSES", "ENCODES", "AUTHORED")
HUB = "node:hub"


def heavy_tailed(nodes: int, edges: int, hub: int, seed: int = 7) -> Iterator[GraphRecord]:
    """A graph in which few nodes have many edges, as records.

    Args:
        nodes: Number of nodes besides the hub.
        edges: Number of edges, including those of the hub.
        hub: Number of the hub's neighbours.
        seed: The same number gives the same graph.
    """
    chance = random.Random(seed)
    yield NodeRecord(HUB, "paper", {"name": "the hub"})
    for number in range(nodes):
        yield NodeRecord(
            name_of(number),
            TYPES[number % len(TYPES)],
            {
                "name": f"{word(number)} {word(number // 7)} {number}",
                "total_mentions": number % 9,
                "source": "benchmark",
                "synonyms": [f"{word(number)}-{number}"],
            },
        )
    for number in range(hub):
        yield _edge(HUB, name_of(number), number)
    for number in range(edges - hub):
        # The square of a uniform number: half of the edges touch a quarter of the nodes.
        subject = int(nodes * chance.random() ** 2)
        object_ = int(nodes * chance.random() ** 2)
        yield _edge(name_of(subject), name_of(object_), number)


def name_of(number: int) -> str:
    """The id of a node."""
    return f"node:{number:06d}"


def records_of(
    paths: Sequence[Path], options: SourceOptions | None = None
) -> Iterator[GraphRecord]:
    """The records of graph files, without what was refused."""
    from bfsql.sources import SourceOptions, read_all  # `guards` measures the start of a server

    records = read_all(paths, options or SourceOptions())
    return (one for one in records if not isinstance(one, Refusal))


def _edge(subject: str, object_: str, number: int) -> EdgeRecord:
    metadata = {
        "confidence": round(0.5 + number % 50 / 100, 2),
        "source_documents": [f"PMC{number % 1000}"],
    }
    return EdgeRecord(subject, PREDICATES[number % len(PREDICATES)], object_, metadata)


def word(number: int) -> str:
    syllables = ("ka", "lo", "mi", "ne", "pu", "ra", "so", "ti")
    return "".join(syllables[(number >> shift) % 8] for shift in (0, 3, 6, 9))
