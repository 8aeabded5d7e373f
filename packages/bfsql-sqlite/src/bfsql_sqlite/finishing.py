"""The second half of a load: what describes one thing is made one, and indexed.

Everything streams: a group of records of one thing is in memory at a time, and
SQLite's own sorters, which spill to disk, do the rest.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any
from uuid import uuid4

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.models.json_values import as_text, decode, encode
from bfsql.models.merge import (
    UNTYPED,
    evidence_items,
    merge_edges,
    merge_node_records,
    with_evidence,
)
from bfsql.models.records import LoadReport, NodeRecord
from bfsql_sqlite.folding import fold, type_code
from bfsql_sqlite.layout import INDEX_IN, INDEX_OUT
from bfsql_sqlite.staging import BATCH

NAMED_TYPES = 10
"""Types that `next_steps` counts."""
EXAMPLES = 5
"""Dangling ids that the report names."""

_PASSAGES = """
CREATE TABLE scratch.passage AS
SELECT a.n AS s, predicate.p AS p, b.n AS o, item
FROM scratch.evidence
LEFT JOIN node AS a ON a.id = subject
LEFT JOIN predicate ON predicate.name = evidence.predicate
LEFT JOIN node AS b ON b.id = object
"""

_UNFINISHED = """
CREATE TABLE scratch.unfinished AS
SELECT s, p, o FROM edge GROUP BY s, p, o HAVING count(*) > 1 OR min(items) < 0
UNION SELECT s, p, o FROM scratch.passage WHERE s + p + o IS NOT NULL
"""

_GROUPS = """
SELECT s, p, o, 0 AS passage, e AS place, metadata AS text
FROM scratch.unfinished CROSS JOIN edge USING (s, p, o)
UNION ALL SELECT s, p, o, 1, rowid, item FROM scratch.passage
ORDER BY 1, 2, 3, 4, 5
"""

_MERGED = """
CREATE TABLE scratch.merged (e INTEGER PRIMARY KEY, items INTEGER, metadata TEXT);
CREATE TABLE scratch.surplus (e INTEGER PRIMARY KEY);
CREATE TABLE scratch.supplied (document TEXT, e INTEGER, items INTEGER);
"""

_APPLY_MERGED = """
UPDATE edge SET items = merged.items, metadata = merged.metadata
FROM scratch.merged WHERE edge.e = merged.e;
DELETE FROM edge WHERE e IN (SELECT e FROM scratch.surplus);
INSERT INTO supplied SELECT n, e, items FROM scratch.supplied JOIN node ON id = document;
"""

_LABELS = """
CREATE TABLE scratch.named (n INTEGER, t INTEGER, name TEXT, folded TEXT, others TEXT);
CREATE TABLE scratch.label (n INTEGER, kind INTEGER, text TEXT);
"""

_SEARCH = """
INSERT INTO entry (n, t, name, folded, others)
SELECT n, named.t, name, folded, others FROM scratch.named JOIN node USING (n)
ORDER BY length(folded), id;
CREATE UNIQUE INDEX entry_n ON entry (n, r, t);
INSERT INTO label SELECT text, kind, r, t FROM scratch.label JOIN entry USING (n) ORDER BY 1, 2, 3;
INSERT INTO words (rowid, name, others, type)
SELECT r, folded, others, type_code(t) FROM entry ORDER BY r;
INSERT INTO grams (rowid, label, type)
SELECT r, ' ' || folded || ' ' || replace(char(10) || others, char(10), ' ' || char(10) || ' ')
    || ' ', type_code(t) FROM entry ORDER BY r;
INSERT INTO words (words) VALUES ('optimize');
INSERT INTO grams (grams) VALUES ('optimize');
CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, grams, col);
INSERT INTO gram SELECT term, doc FROM vocabulary WHERE col = 'label' ORDER BY 1;
DROP TABLE temp.vocabulary;
"""


def finish(connection: sqlite3.Connection, report: LoadReport) -> None:
    """Merge, count, index, and fill in the report."""
    connection.create_function("type_code", 1, type_code, deterministic=True)
    _finish_nodes(connection, report)
    _finish_edges(connection, report)
    connection.executescript(_SEARCH)
    _count(connection, report)
    meta = {"next_steps": _next_steps(connection), "load": uuid4().hex}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())


# --- edges ------------------------------------------------------------------


def _finish_edges(connection: sqlite3.Connection, report: LoadReport) -> None:
    connection.execute(INDEX_OUT)
    for statement in (_PASSAGES, _UNFINISHED):
        connection.execute(statement)
    connection.executescript(_MERGED)
    for batch in _batches(_edge_groups(connection.execute(_GROUPS), report)):
        connection.executemany(
            "INSERT INTO scratch.merged VALUES (?, ?, ?)", [row for row, _, _ in batch]
        )
        connection.executemany(
            "INSERT INTO scratch.surplus VALUES (?)", [(e,) for _, more, _ in batch for e in more]
        )
        connection.executemany(
            "INSERT INTO scratch.supplied VALUES (?, ?, ?)",
            [
                (document, row[0], n)
                for row, _, documents in batch
                for document, n in documents.items()
            ],
        )
    connection.executescript(_APPLY_MERGED)
    connection.execute(INDEX_IN)


def _edge_groups(
    rows: Iterable[tuple[Any, ...]], report: LoadReport
) -> Iterator[tuple[tuple[int, int, str], list[int], Counter[str]]]:
    """One edge after another: its row, the rows it makes superfluous, passages by document."""
    for _, group in groupby(rows, itemgetter(0, 1, 2)):
        numbers: list[int] = []
        records: list[dict[str, Any]] = []
        passages: list[dict[str, Any]] = []
        for _, _, _, is_passage, place, text in group:
            if is_passage:
                passages.append(decode(text))
            else:
                numbers.append(place)
                records.append(decode(text))
        if not records:
            report.unattached_evidence += len(passages)
            continue
        metadata = with_evidence(merge_edges(records), passages)
        items = evidence_items(("", "", ""), metadata)
        documents = Counter(d for item in items if isinstance(d := item["document_id"], str))
        report.duplicate_edges += len(numbers) - 1
        report.evidence += len(items)
        yield (numbers[0], len(items), encode(metadata)), numbers[1:], documents


# --- nodes ------------------------------------------------------------------


def _finish_nodes(connection: sqlite3.Connection, report: LoadReport) -> None:
    connection.executescript(_LABELS)
    types: dict[str, int] = {}
    rows = connection.execute(
        "SELECT n, id, type, metadata FROM scratch.described JOIN node USING (n) "
        "ORDER BY n, described.rowid"
    )
    for batch in _batches(_nodes(rows, report)):
        named, labels = [], []
        for n, entity_id, entity_type, _, metadata in batch:
            t = types.setdefault(entity_type, len(types) + 1)
            name, texts = _texts(entity_id, metadata)
            named.append((n, t, name, texts[0], "\n".join(texts[1:])))
            labels += [(n, int(place > 0), text) for place, text in enumerate(texts)]
        connection.executemany(
            "INSERT INTO detail VALUES (?, ?)", [(n, text) for n, _, _, text, _ in batch]
        )
        connection.executemany(
            "UPDATE node SET t = ? WHERE n = ?", [(row[1], row[0]) for row in named]
        )
        connection.executemany("INSERT INTO scratch.named VALUES (?, ?, ?, ?, ?)", named)
        connection.executemany("INSERT INTO scratch.label VALUES (?, ?, ?)", labels)
    connection.executemany(
        "INSERT INTO type VALUES (?, ?)", [(t, name) for name, t in types.items()]
    )


def _nodes(
    rows: Iterable[tuple[int, str, str, str]], report: LoadReport
) -> Iterator[tuple[int, str, str, str, dict[str, Any]]]:
    for (n, entity_id), group in groupby(rows, itemgetter(0, 1)):
        (_, _, first_type, text), *more = group
        metadata = decode(text)
        entity_type = first_type or UNTYPED
        if more:
            records = [NodeRecord(entity_id, first_type, metadata)]
            records += [NodeRecord(entity_id, row[2], decode(row[3])) for row in more]
            entity_type, metadata = merge_node_records(records)
            text = encode(metadata)
            report.duplicate_nodes += len(more)
        yield n, entity_id, entity_type, text, metadata


def _texts(entity_id: str, metadata: dict[str, Any]) -> tuple[str | None, list[str]]:
    """The display name, and the folded texts to search: the name first, the id last."""
    given, synonyms = metadata.get("name"), metadata.get("synonyms")
    name = as_text(given) if isinstance(given, str) else None
    aliases = synonyms if isinstance(synonyms, list) else [synonyms]
    folded = [fold(text) for text in (*aliases, entity_id) if isinstance(text, str)]
    first = fold(name or "") or folded[-1]
    return name, list(dict.fromkeys([first, *(text for text in folded if text)]))


# --- figures ----------------------------------------------------------------


def _count(connection: sqlite3.Connection, report: LoadReport) -> None:
    def number(query: str) -> int:
        return int(connection.execute(query).fetchone()[0])

    report.nodes = number("SELECT count(*) FROM detail")
    report.edges = number("SELECT count(*) FROM edge")
    connection.execute(
        "CREATE TABLE scratch.missing AS SELECT n, id FROM node WHERE t IS NULL AND ("
        "EXISTS (SELECT 1 FROM edge WHERE s = n) OR EXISTS (SELECT 1 FROM edge WHERE o = n))"
    )
    report.dangling_edges = number(
        "SELECT count(*) FROM (SELECT e FROM edge JOIN scratch.missing ON s = n "
        "UNION SELECT e FROM edge JOIN scratch.missing ON o = n)"
    )
    examples = connection.execute("SELECT id FROM scratch.missing ORDER BY id LIMIT ?", (EXAMPLES,))
    report.dangling_examples = [entity_id for (entity_id,) in examples]


def _next_steps(connection: sqlite3.Connection) -> str:
    counts = connection.execute(
        "SELECT type.name, count(*) FROM entry JOIN type USING (t) GROUP BY t "
        "ORDER BY count(*) DESC, type.name LIMIT ?",
        (NAMED_TYPES,),
    )
    by_type = ", ".join(f"{entity_type} {n}" for entity_type, n in counts)
    return f"{DEFAULT_NEXT_STEPS} Nodes by type: {by_type}."


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    waiting = iter(rows)
    while batch := list(islice(waiting, BATCH)):
        yield batch
