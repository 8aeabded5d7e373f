"""A graph with hubs like those of real graphs, as two CSV tables of any size.

The objects of its edges follow Zipf's law: of ten million edges, the largest hub has a quarter.

    python large_graph.py FOLDER EDGES
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

NODES, EDGES = "nodes.csv", "edges.csv"
"""File names of the tables."""
EXPONENT = 1.35
TYPES, PREDICATES = 23, 17
CHUNK = 1_000_000
"""Rows generated at once."""

Numbers = npt.NDArray[np.int64]


def write_tables(folder: Path, edges: int, seed: int = 7) -> None:
    """Write the tables, unless both already exist.

    Args:
        folder: The destination, which must exist.
        edges: Rows of the edges' table, a few of which are duplicates. There are a tenth as
            many nodes.
        seed: The same number gives the same graph.
    """
    if (folder / NODES).exists() and (folder / EDGES).exists():
        return
    nodes = edges // 10
    with (folder / NODES).open("w", encoding="utf-8") as table:
        table.write("id,type,name\n")
        for start in range(0, nodes, CHUNK):
            rows = range(start, min(start + CHUNK, nodes))
            table.write("".join(f"Q{i},T{i % TYPES},name {i:x}\n" for i in rows))
    with (folder / EDGES).open("w", encoding="utf-8") as table:
        table.write("subject,predicate,object\n")
        for subjects, predicates, objects in _edges(nodes, edges, np.random.default_rng(seed)):
            columns = (subjects.tolist(), predicates.tolist(), objects.tolist())
            table.write("".join(f"Q{s},P{p},Q{o}\n" for s, p, o in zip(*columns, strict=True)))


def _edges(
    nodes: int, edges: int, chance: np.random.Generator
) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    order = chance.permutation(nodes)  # so that a hub may have any number
    for start in range(0, edges, CHUNK):
        size = min(CHUNK, edges - start)
        subjects, predicates = chance.integers(0, nodes, size), chance.integers(0, PREDICATES, size)
        yield subjects, predicates, order[_ranks(nodes, size, chance)]


def _ranks(nodes: int, size: int, chance: np.random.Generator) -> Numbers:
    """Random numbers from 0 to `nodes` - 1 that follow Zipf's law."""
    ranks = np.empty(0, np.int64)
    while len(ranks) < size:
        drawn = chance.zipf(EXPONENT, size)
        ranks = np.concatenate([ranks, drawn[drawn <= nodes] - 1])
    return ranks[:size]


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]), int(sys.argv[2]))
