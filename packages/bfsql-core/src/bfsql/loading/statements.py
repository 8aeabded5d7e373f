"""The tables of a staging, and the statements that merge what is in them."""

from __future__ import annotations

import unicodedata

from bfsql.models.matching import LONGEST

BATCH = 5_000
"""Rows written to the file at a time."""

PRAGMAS = """
PRAGMA main.journal_mode = OFF;
PRAGMA main.synchronous = OFF;
PRAGMA main.locking_mode = EXCLUSIVE;
PRAGMA main.cache_size = -65536;
"""

# Columns of one letter hold numbers: n of a node, p of a predicate, e of a row of `edge`, d of a
# description (a row of `described`); s and o are those of the nodes at the two ends of an edge.
TABLES = """
CREATE TABLE node (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE predicate (p INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE edge (
    e INTEGER PRIMARY KEY, s INTEGER NOT NULL, p INTEGER NOT NULL, o INTEGER NOT NULL,
    items INTEGER NOT NULL, metadata NOT NULL
);
CREATE TABLE described (
    d INTEGER PRIMARY KEY, n INTEGER NOT NULL, type TEXT NOT NULL, metadata NOT NULL
);
-- By name: what only evidence names is neither a node nor a predicate.
CREATE TABLE evidence (
    subject TEXT NOT NULL, predicate TEXT NOT NULL, object TEXT NOT NULL, item NOT NULL
);
-- What becomes of the first of records that are merged; the others are deleted.
CREATE TABLE merged_node (d INTEGER PRIMARY KEY, type TEXT, metadata);
CREATE TABLE merged_edge (e INTEGER PRIMARY KEY, items INTEGER, metadata);
"""

NODE_GROUPS = """
SELECT n, id, d, type, metadata
FROM (SELECT n FROM described GROUP BY n HAVING count(*) > 1)
CROSS JOIN described USING (n) CROSS JOIN node USING (n) ORDER BY n, d
"""

APPLY_NODES = """
UPDATE described SET type = merged.type, metadata = merged.metadata
FROM merged_node AS merged WHERE described.d = merged.d;
DELETE FROM described WHERE n IN (SELECT n FROM described WHERE d IN (SELECT d FROM merged_node))
AND d NOT IN (SELECT d FROM merged_node);
"""

PASSAGES = """
CREATE TABLE passage AS
SELECT a.n AS s, predicate.p AS p, b.n AS o, item
FROM evidence
CROSS JOIN node AS a ON a.id = subject
CROSS JOIN predicate ON predicate.name = evidence.predicate
CROSS JOIN node AS b ON b.id = object
"""

UNFINISHED = """
CREATE TABLE unfinished AS
SELECT s, p, o FROM edge GROUP BY s, p, o HAVING count(*) > 1 OR min(items) < 0
UNION SELECT s, p, o FROM passage
"""

EDGE_GROUPS = """
SELECT s, p, o, 0 AS passage, e AS place, metadata AS data
FROM unfinished CROSS JOIN edge USING (s, p, o)
UNION ALL SELECT s, p, o, 1, rowid, item FROM passage
ORDER BY 1, 2, 3, 4, 5
"""
IS_PASSAGE, PLACE, DATA = 3, 4, 5
"""Places of columns in the rows of this query, and of any other that `edge_groups` runs."""

APPLY_EDGES = """
UPDATE edge SET items = merged.items, metadata = merged.metadata
FROM merged_edge AS merged WHERE edge.e = merged.e;
DELETE FROM edge WHERE e IN (SELECT e FROM unfinished CROSS JOIN edge USING (s, p, o))
AND e NOT IN (SELECT e FROM merged_edge);
"""

# With +n the edges are looked through only where a node lacks a description.
UNDESCRIBED_ENDS = """
CREATE TABLE created AS SELECT n, id FROM node LEFT JOIN described USING (n)
WHERE d IS NULL AND (+n IN (SELECT s FROM edge) OR +n IN (SELECT o FROM edge))
ORDER BY id
"""

DESCRIBED_ENDS = """
SELECT count(*) FROM described WHERE n IN (SELECT s FROM edge UNION ALL SELECT o FROM edge)
"""

SAMPLE = "SELECT id FROM created WHERE (rowid - 1) % ? = 0 ORDER BY rowid"
IS_NODE = "SELECT 1 FROM node JOIN described USING (n) WHERE id = ?"

MOST_COMPARED = 1_000_000
"""Up to this number of ids are compared for spellings that are easily mistaken."""
SIMILAR_IDS = """
SELECT count(*) OVER (), one, other FROM (
    SELECT min(id) AS one, max(id) AS other FROM {ids}
    GROUP BY lower(replace(CASE WHEN length(id) > 256 THEN id ELSE nfc_normalize(
        CASE WHEN id GLOB '[0-9]*.0' THEN substr(id, 1, length(id) - 2) ELSE id END
    ) END, ' ', '')) HAVING count(*) > 1
) AS pair ORDER BY one LIMIT 3
"""
"""For SQLite and for DuckDB: the number of groups of ids that differ only in case, blanks, Unicode
form or a final .0, and two ids of some of them. DuckDB has `nfc_normalize`, which takes the square
of a run of marks and cannot be interrupted: longer ids than `LONGEST` are left as they are."""


def nfc_normalize(text: str) -> str:
    """A text in the composed form of Unicode, for SQLite, which lacks the function."""
    if text.isascii() or len(text) > LONGEST:  # it takes the square of a run of marks
        return text
    return unicodedata.normalize("NFC", text)


DANGLING = """
SELECT DISTINCT a.id AS subject, name AS predicate, b.id AS object,
    s IN (SELECT n FROM undescribed), o IN (SELECT n FROM undescribed)
FROM edge JOIN node AS a ON a.n = s JOIN predicate USING (p) JOIN node AS b ON b.n = o
WHERE s IN (SELECT n FROM undescribed) OR o IN (SELECT n FROM undescribed)
"""
