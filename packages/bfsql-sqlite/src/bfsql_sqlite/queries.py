"""All query text of the store.

Ids travel as bound parameters, `CHUNK` at a time: as fast as one JSON array
and `json_each` (a ring of 3,000 ids in 46 ms either way, a hub of 60,000 edges
in 55 ms), and unlike that array they keep a NUL character. The last chunk is
filled up to one of a few sizes, so that SQLite prepares few statements.
"""
# ruff: noqa: S608 - what is put into these texts are question marks and parts of this module

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Generator, Sequence
from functools import cache
from itertools import chain
from typing import Any

from pydantic_core import from_json

from bfsql.models.name_keys import NameKeys
from bfsql.models.valid_time import TimeKeys

CHUNK = 512
"""Most keys in one statement."""
_SIZES = (1, 4, 8, 16, 32, 64, 128, CHUNK)


def rows_for(
    reader: sqlite3.Connection, query: Callable[[int], str], keys: Sequence[Any], *first: Any
) -> Generator[Any, None, None]:
    """The rows for all keys, one at a time; close it if its reader may stop before the last.

    Args:
        reader: A connection to the file.
        query: Returns the statement for a number of keys.
        keys: The keys to look up, of which the last is repeated as padding.
        first: Values that each statement takes before the keys.
    """
    for start in range(0, len(keys), CHUNK):
        chunk = keys[start : start + CHUNK]
        size = _SIZES[bisect_left(_SIZES, len(chunk))]
        padding = [chunk[-1]] * (size - len(chunk))
        # A generator that ends early would close the cursor itself, which fails if the file is
        # closed by then; through `chain` the cursor is only let go.
        yield from chain(reader.execute(query(size), (*first, *chunk, *padding)))


def _marks(size: int) -> str:
    return ", ".join("?" * size)


# --- nodes --------------------------------------------------------------------


@cache
def nodes(size: int) -> str:
    """Id, handle and type number of the nodes that exist."""
    return f"SELECT id, n, t FROM node WHERE id IN ({_marks(size)}) AND t IS NOT NULL"


@cache
def handles(size: int) -> str:
    """Id and handle of all ids that occur, nodes or not."""
    return f"SELECT id, n FROM node WHERE id IN ({_marks(size)})"


@cache
def ids(size: int) -> str:
    """Handle and id."""
    return f"SELECT n, id FROM node WHERE n IN ({_marks(size)})"


# --- metadata ---------------------------------------------------------------


def _bounded(most: str = "?") -> str:
    """Metadata, or the number of its bytes if it has more characters than `most`."""
    size = "length(CAST(metadata AS BLOB))"
    return f"CASE WHEN length(metadata) > {most} THEN {size} ELSE coalesce(metadata, '{{}}') END"


@cache
def node_metadata(size: int) -> str:
    """Id and metadata of the nodes that exist, or its size."""
    return f"""
        SELECT id, {_bounded()} FROM node LEFT JOIN detail USING (n)
        WHERE id IN ({_marks(size)}) AND t IS NOT NULL
    """


@cache
def edge_metadata(size: int) -> str:
    """Number and metadata of the edges that have any, or its size."""
    return f"SELECT e, {_bounded()} FROM edge WHERE e IN ({_marks(size)})"


EVIDENCE = f"""
    SELECT e, s, touching, sum(items) OVER () AS total, {_bounded(":most")}
    FROM evidence JOIN edge USING (e)
    WHERE evidence.n = (SELECT n FROM node WHERE id = :id) ORDER BY e LIMIT max(:limit, 1)
"""
"""The first edges with evidence, and the number of all items: those of the edges that touch
the node, and those that it supplied as a document to other edges.
"""


@cache
def details(size: int) -> str:
    """Handle and metadata of the nodes that have any, or its size."""
    return f"SELECT n, {_bounded()} FROM detail WHERE n IN ({_marks(size)})"


# --- properties ---------------------------------------------------------------

PROPERTIES = "SELECT k, key, size FROM property"
ALL_PROPERTIES = "SELECT 1 FROM meta WHERE key = 'properties' AND value = 'all'"
PROPERTY_ORDER = "SELECT codes FROM property_order WHERE at >= ? AND at < ? ORDER BY at"
PROPERTY_CODES = "SELECT nodes, codes FROM property_code WHERE at = ?"


def property_values(what: str) -> str:
    """Columns of consecutive rows of dictionaries."""
    return f"SELECT {what} FROM property_value WHERE at >= ? AND at < ? ORDER BY at"


COUNTS = "SELECT (SELECT value FROM meta WHERE key = ?), (SELECT value FROM meta WHERE key = ?)"

# --- schema -----------------------------------------------------------------

TYPES = "SELECT t, name FROM type ORDER BY t"
PREDICATES = "SELECT p, name FROM predicate ORDER BY p"
_NAME_KEYS = "SELECT value FROM meta WHERE key = 'name_keys'"


def name_keys(reader: sqlite3.Connection) -> list[list[tuple[str, str]]]:
    """The two arguments of `NameKeys`, as `bulk.write_graph` writes them."""
    (text,) = reader.execute(_NAME_KEYS).fetchone() or ("[[], []]",)
    return NameKeys.pairs(text)


def tables(reader: sqlite3.Connection) -> list[tuple[str, ...]]:
    """How a load read tables by their keys, as `Outline.tables`."""
    (text,) = reader.execute("SELECT value FROM meta WHERE key = 'tables'").fetchone() or ("[]",)
    return [tuple(map(str, row)) for row in json.loads(text)]


def title_and_description(reader: sqlite3.Connection) -> tuple[str, str]:
    """What a load says of the graph, each empty if it says nothing."""
    (text,) = reader.execute("SELECT value FROM meta WHERE key = 'about'").fetchone() or ("[]",)
    title, description = from_json(text) or ("", "")
    return str(title), str(description)


def time_keys(reader: sqlite3.Connection) -> TimeKeys:
    """The properties that say when facts hold, as `bulk.write_graph` writes them."""
    found = reader.execute("SELECT value FROM meta WHERE key = 'time_keys'").fetchone()
    valid_from, valid_until, included = from_json(found[0]) if found else ((), (), False)
    return TimeKeys([*map(str, valid_from)], [*map(str, valid_until)], bool(included))


def periods(reader: sqlite3.Connection) -> list[list[str]]:
    """What the numbers of periods mean; empty without a mapping."""
    found = reader.execute("SELECT value FROM meta WHERE key = 'periods'").fetchone()
    return [list(map(str, texts)) for texts in from_json(found[0])] if found else []


# A longer one than any outline, which only another program can have written, is not read.
OUTLINE = "SELECT max(value) FROM meta WHERE key = 'outline' AND length(value) < 100000000"

# --- search -----------------------------------------------------------------

FOLDED = "iif(folded = char(10), lower(name), folded)"
ENTRY = "SELECT n, node.t FROM node JOIN entry USING (n) WHERE id = ?"
BLOCKS = "SELECT b, length(nodes) FROM block ORDER BY b"
BLOCK = "SELECT nodes FROM block WHERE b = ?"


@cache
def postings(size: int) -> str:
    """The places in a block of the entries that have a term, by term."""
    return f"SELECT term, places FROM posting WHERE b = ? AND term IN ({_marks(size)})"


POSTINGS_FROM = """
SELECT term, places FROM posting WHERE b = ? AND term >= ? AND term < ? || char(1114111)
"""


@cache
def labels(size: int) -> str:
    """The folded texts of entries."""
    return f"SELECT n, {FOLDED}, others FROM entry WHERE n IN ({_marks(size)})"


@cache
def stubs(size: int) -> str:
    """The data of entries for search results."""
    return f"SELECT n, id, node.t, name FROM entry JOIN node USING (n) WHERE n IN ({_marks(size)})"
