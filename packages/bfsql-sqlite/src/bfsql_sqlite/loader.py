"""Writes a graph into a file: all of it, or nothing.

A load makes a new file in a folder of its own beside the target and then puts
it in the target's place in one step. A reader that has the old file open goes
on with it, one that opens later reads the new file, and an interrupted load
changes nothing. A load that adds to a graph copies the old file's content into
the new one first. The folder is named after the target, and one load at a time can own it.

Core's staging numbers the ids and merges the records; nodes, predicates and
edges it writes into the new file itself. The rest is made here.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import uuid4

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.errors import LoadRefused, StoreError
from bfsql.loading.folders import working_folder
from bfsql.loading.intake import EXAMPLES, Worker, check_graph
from bfsql.loading.staging import Staging
from bfsql.loading.statements import PRAGMAS
from bfsql.models.json_values import as_text, decode
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord
from bfsql_sqlite.connection import APPLICATION_ID, LAYOUT, TABLES
from bfsql_sqlite.search import fold, type_code
from bfsql_sqlite.settings import SqliteSettings
from bfsql_sqlite.target import Target, explained, look, put

BATCH = 5_000
"""Nodes whose names are folded at a time."""
NAMED_TYPES = 10
"""Types that `next_steps` counts."""
FOLDERS = ".bfsql-load."
"""How the names of the folders of loads begin; the name of the file follows."""

# `graph` is the new file, `old` the one that is added to, everything else in the staging's own.

# What was merged before is merged again where new records come to it. Edges with evidence are
# counted anew, since one of its documents may only now become a node.
_OLD = """
INSERT INTO graph.node (n, id) SELECT n, id FROM old.node ORDER BY n;
INSERT INTO graph.predicate (p, name) SELECT p, name FROM old.predicate ORDER BY p;
INSERT INTO described (n, type, metadata)
SELECT n, type.name, metadata FROM old.detail JOIN old.node USING (n) JOIN old.type USING (t)
ORDER BY n;
INSERT INTO graph.edge (s, p, o, items, metadata)
SELECT s, p, o, -(items > 0), metadata FROM old.edge ORDER BY e;
"""

# What an earlier load called the nodes without a type is none where a later one says more.
_UNTYPED = """
UPDATE described SET type = ''
WHERE type = :name AND d <= :last AND n IN (SELECT n FROM described WHERE d > :last)
"""

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

_ENTRIES = """
INSERT INTO entry (n, t, name, folded, others)
SELECT n, named.t, name, folded, others FROM named JOIN node USING (n) ORDER BY length(folded), id;
CREATE UNIQUE INDEX graph.entry_n ON entry (n, r, t);
INSERT INTO label
SELECT text, kind, r, t FROM labelled JOIN entry USING (n) ORDER BY 1, 2, 3;
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
    """Make a file from records, or from the graph that is there and records.

    The work runs in a thread; cancelling the call stops it, removes what it
    wrote and leaves the old file as it was.

    Args:
        settings: `path` is the file to make. What is there and is no graph is never replaced.
        records: Nodes, edges and evidence in any order. They are read once, in
            the thread; memory does not grow with their number.
        options: What becomes of a graph that is there, and of what is missing in the new one.

    Returns:
        What was found and made.

    Raises:
        LoadRefused: A graph is there already, another load is writing the file, or the records
            make no graph.
        StoreError: The file cannot be written, or what is there is no graph.
    """
    worker = Worker()
    return await worker.run(lambda: _load(settings.path.expanduser(), records, options, worker))


def _load(
    path: Path, records: Iterable[GraphRecord], options: LoadOptions, worker: Worker
) -> LoadReport:
    with ExitStack() as stack:
        with explained(path):
            place = Path(os.path.realpath(path))  # a link stays a link
            folder = stack.enter_context(working_folder(place.parent, FOLDERS, place.name))
            target = look(place, options)
        made = folder / "graph.db"
        try:
            with closing(sqlite3.connect(made)) as connection:
                connection.executescript(f"{PRAGMAS.format(schema='main')} {TABLES}")
            with closing(Staging(folder, worker, graph=made, options=options)) as staging:
                _take(staging, target, records, options)
                staging.merge_nodes()
                staging.merge_edges()
                _finish(staging, options)
            check_graph(staging.report, options, keeps_dangling=True)
            with explained(path):
                staging.report.backup = put(made, target, options)
        except sqlite3.Error as error:
            raise StoreError(
                f"{path} cannot be written: {error}. What was there is unchanged."
            ) from error
        staging.report.place = str(path)
        return staging.report


def _take(
    staging: Staging, target: Target, records: Iterable[GraphRecord], options: LoadOptions
) -> None:
    """Take the records: of the graph that is added to, if any, then the new ones."""
    name, last = options.default_type, 0
    if options.mode is LoadMode.APPEND:
        if target.header:
            name, last = _take_old(staging, target.path)
        staging.remove()
        if staging.report.not_there and not target.header:
            raise LoadRefused(
                f"Nothing was removed: there is no graph at {target.path}. Name the graph with "
                "--path, or leave out --remove."
            )
    staging.take(records)
    if name != options.default_type:
        staging.connection.execute(_UNTYPED, {"name": name, "last": last})


def _take_old(staging: Staging, path: Path) -> tuple[str, int]:
    """What it calls nodes without a type, and the number of its last description."""
    connection = staging.connection
    try:
        connection.execute("ATTACH ? AS old", (str(path),))
        connection.executescript(_OLD)
        untyped = "SELECT value FROM old.meta WHERE key = 'default_type'"
        (name,) = connection.execute(untyped).fetchone() or (UNTYPED,)
        (last,) = connection.execute("SELECT coalesce(max(d), 0) FROM described").fetchone()
        connection.execute("DETACH old")
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise
        raise StoreError(
            f"{path} is damaged, so nothing can be added to it: {error}. Load the graph again "
            "from its sources, with --replace."
        ) from error
    staging.renumber()
    return name, last


# --- what the staging has not in the new file ---------------------------------


def _finish(staging: Staging, options: LoadOptions) -> None:
    """Write types, details, indexes and what search needs."""
    connection = staging.connection
    connection.create_function("type_code", 1, type_code, deterministic=True)
    steps: tuple[Callable[[], object], ...] = (
        lambda: connection.executescript(_FINISH),
        lambda: _fold_names(connection),
        *(partial(connection.executescript, script) for script in (_ENTRIES, _WORDS, _GRAMS)),
        lambda: _count_dangling(connection, staging.report),
    )
    for number, step in enumerate(steps):
        staging.tell("writing", number / len(steps))
        step()
    meta = {
        "next_steps": _next_steps(connection),
        "default_type": options.default_type,
        "load": uuid4().hex,
    }
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
