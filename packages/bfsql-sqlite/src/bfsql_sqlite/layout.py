"""The file: what is in it, and whether a file is one.

Integers stand for ids, types and predicates, which is as fast as text and a
third of the size. Nothing is ever changed in a file: a load writes a new one.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from bfsql.errors import StoreError

APPLICATION_ID = 0x42_46_53_51
"""`PRAGMA application_id` of a graph: "BFSQ"."""
LAYOUT = 1
"""`PRAGMA user_version`: number of the layout below."""

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE type (t INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE predicate (p INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- t is null where the id is only an end of an edge, with no record of its own.
CREATE TABLE node (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, t INTEGER);
CREATE TABLE detail (n INTEGER PRIMARY KEY, metadata TEXT NOT NULL);

-- items: how many passages the edge's provenance holds.
CREATE TABLE edge (
    e INTEGER PRIMARY KEY, s INTEGER NOT NULL, p INTEGER NOT NULL, o INTEGER NOT NULL,
    items INTEGER NOT NULL, metadata TEXT NOT NULL
);
-- The passages that the document n supplied to the edge e.
CREATE TABLE supplied (
    n INTEGER NOT NULL, e INTEGER NOT NULL, items INTEGER NOT NULL, PRIMARY KEY (n, e)
) WITHOUT ROWID;

-- Search: r counts nodes by length of their folded name, then by id, which is the order of
-- equal matches; so an index that is read in order of r gives the best first and may stop.
CREATE TABLE entry (
    r INTEGER PRIMARY KEY, n INTEGER NOT NULL, t INTEGER NOT NULL,
    name TEXT, folded TEXT NOT NULL, others TEXT NOT NULL
);
CREATE TABLE label (
    text TEXT NOT NULL, kind INTEGER NOT NULL, r INTEGER NOT NULL, t INTEGER NOT NULL,
    PRIMARY KEY (text, kind, r)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
    name, others, type, content='', tokenize='unicode61 remove_diacritics 0'
);
CREATE VIRTUAL TABLE grams USING fts5(
    label, type, content='', tokenize='trigram case_sensitive 1'
);
-- How many entries hold a trigram: a misspelt name is looked for by its rarest ones.
CREATE TABLE gram (text TEXT PRIMARY KEY, entries INTEGER NOT NULL) WITHOUT ROWID;
"""

INDEX_OUT = "CREATE INDEX edge_out ON edge (s, p, o, items)"
INDEX_IN = "CREATE INDEX edge_in ON edge (o, s, p, items)"

_MAGIC = b"SQLite format 3\0"


class Header(NamedTuple):
    """What the first hundred bytes of an SQLite file say."""

    application_id: int
    layout: int
    size: int
    """Bytes that the file should have."""


def read_header(path: Path) -> Header | None:
    """The header of an SQLite file, or None for any other file.

    Raises:
        OSError: It is missing, a folder, or cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(100)
    if len(head) < 100 or not head.startswith(_MAGIC):  # noqa: PLR2004 - the format's
        return None
    page = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    return Header(
        int.from_bytes(head[68:72], "big"),
        int.from_bytes(head[60:64], "big"),
        pages * (65_536 if page == 1 else page),
    )


def check(path: Path) -> None:
    """Make sure that the file can be a graph of this layout, at the cost of one small read.

    Raises:
        StoreError: It cannot; the sentence says why, and what to do.
    """
    cure = f"Make one with: bfsql load SOURCE --path {path}"
    again = f"Load it again: bfsql load SOURCE --path {path}"
    try:
        header = read_header(path)
        size = path.stat().st_size
    except FileNotFoundError:
        raise StoreError(f"There is no graph at {path}. {cure}") from None
    except IsADirectoryError:
        raise StoreError(f"{path} is a folder, not a graph file. {cure}/graph.db") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(
            f"{path} cannot be read: {why}. Give this user the right to read it, or name "
            "another file with --path."
        ) from error
    if header is None:
        found = "is empty" if size == 0 else "is not an SQLite file"
        raise StoreError(f"{path} {found}, so it holds no graph. Name another file. {cure}")
    if header.application_id != APPLICATION_ID:
        raise StoreError(
            f"{path} is an SQLite file without a BFS-QL graph in it. Name another file. {cure}"
        )
    if header.layout > LAYOUT:
        raise StoreError(
            f"{path} has layout {header.layout}, which is newer than {LAYOUT}, the newest that "
            f"this version reads. Upgrade it with: pip install --upgrade bfsql-sqlite. Or, "
            f"to go on with this version: bfsql load SOURCE --path {path}"
        )
    if header.layout < LAYOUT:
        raise StoreError(f"{path} has the unknown layout {header.layout}. {again}")
    if size < header.size:
        raise StoreError(
            f"{path} is only half there: {size} bytes of {header.size}, so a copy was "
            f"interrupted. Copy it again. {again}"
        )
