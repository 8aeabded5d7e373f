"""Fills the tables that search reads: names, words and trigrams of all nodes.

The rows of nodes come in order of their ids, once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from itertools import islice
from typing import Any, NamedTuple

from bfsql.models.json_values import as_text, decode
from bfsql_sqlite.search import fold, type_code

BATCH = 5_000
"""Nodes whose names are folded at a time."""

_NAMES = """
CREATE TEMP TABLE named (n INTEGER PRIMARY KEY, t INTEGER, name TEXT, folded TEXT, others TEXT);
CREATE TEMP TABLE labelled (n INTEGER, kind INTEGER, text TEXT);
"""

_ENTRIES = """
INSERT INTO entry (n, t, name, folded, others)
SELECT n, named.t, name, folded, others FROM named JOIN node USING (n) ORDER BY length(folded), id;
CREATE UNIQUE INDEX {schema}.entry_n ON entry (n, r, t);
INSERT INTO label
SELECT text, kind, r, t FROM labelled JOIN entry USING (n) ORDER BY 1, 2, 3;
DROP TABLE named;
DROP TABLE labelled;
"""

_WORDS = """
INSERT INTO words (rowid, name, others, type)
SELECT r, folded, others, type_code(t) FROM entry ORDER BY r;
INSERT INTO words (words) VALUES ('optimize');
"""

_GRAMS = """
INSERT INTO grams (rowid, label, type)
SELECT r, ' ' || folded || ' ' || replace(char(10) || others, char(10), ' ' || char(10) || ' ')
    || ' ', type_code(t) FROM entry ORDER BY r;
INSERT INTO grams (grams) VALUES ('optimize');
CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab({schema}, grams, col);
INSERT INTO gram SELECT term, doc FROM vocabulary WHERE col = 'label' ORDER BY 1;
DROP TABLE temp.vocabulary;
"""


class NamedNode(NamedTuple):
    """What search needs of a node; a plain tuple will do."""

    n: int
    """Its number."""
    t: int
    """Number of its type."""
    id: str
    metadata: str
    """JSON text; `name` and `synonyms` are read."""


def index_names(
    connection: sqlite3.Connection,
    nodes: Iterable[tuple[int, int, str, str]],
    schema: str = "main",
) -> None:
    """Fill the tables of search.

    Args:
        connection: The graph that is being written, with all `TABLES`, the nodes in `node`,
            and the tables of search empty. Nothing is committed.
        nodes: The fields of `NamedNode` for every node, in order of `id` (code points). Memory
            does not grow with the length of names.
        schema: The name that the graph is attached by.
    """
    connection.create_function("type_code", 1, type_code, deterministic=True)
    connection.executescript(_NAMES)
    _fold_names(connection, nodes)
    for script in (_ENTRIES, _WORDS, _GRAMS):
        connection.executescript(script.format(schema=schema))


def _fold_names(connection: sqlite3.Connection, nodes: Iterable[tuple[int, int, str, str]]) -> None:
    """Fill `named` and `labelled` with the texts by which nodes are found."""
    rows = iter(nodes)
    for batch in iter(lambda: list(islice(rows, BATCH)), []):
        named, labels = [], []
        for n, t, entity_id, metadata in batch:
            name, texts = _texts(entity_id, decode(metadata))
            named.append((n, t, name, texts[0], "\n".join(texts[1:])))
            labels += [(n, int(place > 0), text) for place, text in enumerate(texts)]
        connection.executemany("INSERT INTO named VALUES (?, ?, ?, ?, ?)", named)
        connection.executemany("INSERT INTO labelled VALUES (?, ?, ?)", labels)


def _texts(entity_id: str, metadata: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The display name, and the folded texts to search: the name first, the id last."""
    given, synonyms = metadata.get("name"), metadata.get("synonyms")
    name = as_text(given) if isinstance(given, str) else None
    aliases = synonyms if isinstance(synonyms, list) else [synonyms]
    folded = [fold(text) for text in (*aliases, entity_id) if isinstance(text, str)]
    first = fold(name or "") or folded[-1]
    return name, list(dict.fromkeys([first, *(text for text in folded if text)]))
