"""Writes a graph into a file: all of it, or nothing.

A load makes a new file in a folder of its own beside the target and then puts
it in the target's place in one step. A reader that has the old file open goes
on with it, one that opens later reads the new file, and an interrupted load
changes nothing.

Core's staging numbers the ids and merges the records; nodes, predicates and
edges it writes into the new file itself. The rest is made here.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.errors import StoreError
from bfsql.loading.intake import Worker
from bfsql.loading.staging import Staging
from bfsql.models.json_values import as_text, decode
from bfsql.models.load import REPLACING, LoadOptions, LoadReport
from bfsql.models.records import GraphRecord
from bfsql_sqlite.connection import APPLICATION_ID, LAYOUT, TABLES, read_header
from bfsql_sqlite.search import fold, type_code
from bfsql_sqlite.settings import SqliteSettings

BATCH = 5_000
"""Nodes whose names are folded at a time."""
NAMED_TYPES = 10
"""Types that `next_steps` counts."""
EXAMPLES = 5
"""Dangling ids that the report names."""

# `graph` is the new file, everything else in the staging's own.

_FINISH = """
INSERT INTO type (name) SELECT DISTINCT type FROM described;
UPDATE node SET t = type.t FROM described JOIN type ON name = described.type
WHERE node.n = described.n;
INSERT INTO detail SELECT n, metadata FROM described ORDER BY n;
INSERT INTO supplied SELECT n, e, items FROM document JOIN node USING (id);
CREATE INDEX graph.edge_in ON edge (o, s, p, items);
CREATE TABLE named (n INTEGER, t INTEGER, name TEXT, folded TEXT, others TEXT);
CREATE TABLE labelled (n INTEGER, kind INTEGER, text TEXT);
"""

_SEARCH = """
INSERT INTO entry (n, t, name, folded, others)
SELECT n, named.t, name, folded, others FROM named JOIN node USING (n) ORDER BY length(folded), id;
CREATE UNIQUE INDEX graph.entry_n ON entry (n, r, t);
INSERT INTO label
SELECT text, kind, r, t FROM labelled JOIN entry USING (n) ORDER BY 1, 2, 3;
INSERT INTO words (rowid, name, others, type)
SELECT r, folded, others, type_code(t) FROM entry ORDER BY r;
INSERT INTO grams (rowid, label, type)
SELECT r, ' ' || folded || ' ' || replace(char(10) || others, char(10), ' ' || char(10) || ' ')
    || ' ', type_code(t) FROM entry ORDER BY r;
INSERT INTO words (words) VALUES ('optimize');
INSERT INTO grams (grams) VALUES ('optimize');
CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(graph, grams, col);
INSERT INTO gram SELECT term, doc FROM vocabulary WHERE col = 'label' ORDER BY 1;
DROP TABLE temp.vocabulary;
"""

_MISSING = """
CREATE TABLE missing AS SELECT n, id FROM node WHERE t IS NULL AND (
    EXISTS (SELECT 1 FROM edge WHERE s = n) OR EXISTS (SELECT 1 FROM edge WHERE o = n)
)
"""


async def load_graph(
    settings: SqliteSettings, records: Iterable[GraphRecord], options: LoadOptions = REPLACING
) -> LoadReport:
    """Make a file from records, in place of the one that may be there.

    The work runs in a thread; cancelling the call stops it, removes what it
    wrote and leaves the old file as it was.

    Args:
        settings: `path` is the file to make. A graph that is there is replaced;
            any other file is refused.
        records: Nodes, edges and evidence in any order. They are read once, in
            the thread; memory does not grow with their number.
        options: What becomes of a graph that is there, and of what is missing in the new one.

    Returns:
        What was found and made.

    Raises:
        StoreError: The file cannot be written, or what is there is no graph.
    """
    worker = Worker()
    return await worker.run(lambda: _load(settings.path.expanduser(), records, options, worker))


def _load(
    path: Path, records: Iterable[GraphRecord], options: LoadOptions, worker: Worker
) -> LoadReport:
    with _explained(path):
        target = Path(os.path.realpath(path))  # a link stays a link
        mode = _check_target(target)
        folder = Path(tempfile.mkdtemp(prefix=".bfsql-load.", dir=target.parent))
    try:
        made = folder / "graph.db"
        with closing(sqlite3.connect(made)) as connection:
            connection.executescript(TABLES)
        with closing(Staging(folder, worker, graph=made, options=options)) as staging:
            staging.take(records)
            staging.merge_nodes()
            staging.merge_edges()
            _finish(staging.connection, staging.report)
        with _explained(path):
            _put(made, target, mode)
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} cannot be written: {error}. What was there is unchanged."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return staging.report


# --- what the staging has not in the new file ---------------------------------


def _finish(connection: sqlite3.Connection, report: LoadReport) -> None:
    """Write types, details, indexes and what search needs."""
    connection.create_function("type_code", 1, type_code, deterministic=True)
    connection.executescript(_FINISH)
    _fold_names(connection)
    connection.executescript(_SEARCH)
    _count_dangling(connection, report)
    meta = {"next_steps": _next_steps(connection), "load": uuid4().hex}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute(f"PRAGMA graph.application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA graph.user_version = {LAYOUT}")
    connection.commit()


def _fold_names(connection: sqlite3.Connection) -> None:
    """Fill `named` and `labelled` with the texts by which nodes are found."""
    rows = connection.execute(
        "SELECT n, t, id, metadata FROM described JOIN node USING (n) ORDER BY n"
    )
    while batch := list(islice(rows, BATCH)):
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


def _count_dangling(connection: sqlite3.Connection, report: LoadReport) -> None:
    connection.execute(_MISSING)
    (report.dangling_edges,) = connection.execute(
        "SELECT count(*) FROM (SELECT e FROM edge JOIN missing ON s = n "
        "UNION SELECT e FROM edge JOIN missing ON o = n)"
    ).fetchone()
    examples = connection.execute("SELECT id FROM missing ORDER BY id LIMIT ?", (EXAMPLES,))
    report.dangling_examples = [entity_id for (entity_id,) in examples]


def _next_steps(connection: sqlite3.Connection) -> str:
    counts = connection.execute(
        "SELECT type.name, count(*) FROM entry JOIN type USING (t) GROUP BY t "
        "ORDER BY count(*) DESC, type.name LIMIT ?",
        (NAMED_TYPES,),
    )
    by_type = ", ".join(f"{entity_type} {n}" for entity_type, n in counts)
    return f"{DEFAULT_NEXT_STEPS} Nodes by type: {by_type}."


# --- putting it in its place --------------------------------------------------


def _check_target(target: Path) -> int | None:
    """The mode of the graph file that is there, None where there is none.

    Raises:
        StoreError: What is there is not a graph, so it is not replaced.
    """
    try:
        header, status = read_header(target), target.stat()
    except FileNotFoundError:
        return None
    if status.st_size and (header is None or header.application_id != APPLICATION_ID):
        raise StoreError(
            f"{target} is there and holds no BFS-QL graph, so it is not replaced. "
            "Name another file with --path, or remove this one first."
        )
    return status.st_mode & 0o777


def _put(made: Path, target: Path, mode: int | None) -> None:
    """Put the finished file in its place, so that a crash leaves the old one or the new one."""
    if mode is not None:
        made.chmod(mode)
    _sync(made)
    made.replace(target)
    if os.name == "posix":
        _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() or os.name == "posix" else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Sentences for what the system and SQLite say no to."""
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(
            f"{path} cannot be written: there is no folder {path.parent}. Make it first, or "
            "name another file with --path."
        ) from error
    except IsADirectoryError as error:
        raise StoreError(
            f"{path} is a folder. Name a file in it: --path {path / 'graph.db'}"
        ) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(
            f"{path} cannot be written: {why}. Give this user the right to write in its folder, "
            "or name another file with --path."
        ) from error
