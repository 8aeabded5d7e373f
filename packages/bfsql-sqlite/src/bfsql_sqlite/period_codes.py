"""Periods of edges as numbers beside their entries, so that a ring is judged without records."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from bfsql.integers import Numbering
from bfsql.models.json_values import decode, encode
from bfsql.models.valid_time import TimeKeys
from bfsql_sqlite.adjacency import Adjacency
from bfsql_sqlite.edge_tables import ENTRIES, rows_of

MOST = 1 << 24
"""Most pairs of a period and a predicate: they are one integer of 32 bits, and the periods are read
when the file is opened. With more, a view reads the records of edges."""


def write_codes(graph: sqlite3.Connection, time_keys: TimeKeys, predicates: Sequence[str]) -> None:
    """Write the table `period`, in whose rows each entry has a number, and what the numbers mean.

    It takes 40 bytes of memory for each edge.

    Args:
        graph: A new file whose edges and their metadata are there.
        time_keys: The properties that say when facts hold.
        predicates: The names of the predicates.
    """
    edges, texts = Adjacency.of(graph), Numbering()
    every = edges.read(graph, edges.leaving(graph))
    leaving = np.full(edges.edges, texts["[]"], np.int32)
    for e, text in graph.execute("SELECT e, metadata FROM edge"):
        owner = predicates[every.predicates[e]]
        leaving[e] = texts[encode(time_keys.texts(owner, decode(text)))]
    if len(texts) * len(predicates) > MOST:
        return
    entering = leaving[np.lexsort(every)]  # by object, predicate and subject
    for first, codes in ((0, leaving), (rows_of(len(leaving), ENTRIES), entering)):
        rows = np.pad(codes, (0, -len(codes) % ENTRIES)).reshape(-1, ENTRIES)
        numbered = ((k, row.tobytes()) for k, row in enumerate(rows, first))
        graph.executemany("INSERT INTO period VALUES (?, ?)", numbered)
    graph.execute("INSERT INTO meta VALUES ('periods', ?)", (f"[{','.join(texts.names)}]",))
