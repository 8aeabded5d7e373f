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
from pathlib import Path
from uuid import uuid4

from bfsql.abc import DEFAULT_NEXT_STEPS
from bfsql.errors import LoadRefused, StoreError
from bfsql.loading.folders import working_folder
from bfsql.loading.intake import EXAMPLES, Worker, check_graph
from bfsql.loading.staging import Staging
from bfsql.loading.statements import PRAGMAS
from bfsql.models.load import REPLACING, LoadMode, LoadOptions, LoadReport
from bfsql.models.merge import UNTYPED
from bfsql.models.records import GraphRecord
from bfsql_sqlite.connection import APPLICATION_ID, LAYOUT, TABLES
from bfsql_sqlite.search_index import index_names
from bfsql_sqlite.settings import SqliteSettings
from bfsql_sqlite.target import Target, explained, look, put

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
"""

_NAMED = "SELECT n, t, id, metadata FROM node CROSS JOIN described USING (n) ORDER BY id"

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
    steps: tuple[Callable[[], object], ...] = (
        lambda: connection.executescript(_FINISH),
        lambda: index_names(connection, connection.execute(_NAMED), "graph"),
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
