"""The tables of the demo's graph: films, people, genres, and who did what.

Nodes are `Person`, `Movie` and `Genre`, with ids such as `Person:TomHanks` and
`Movie:Big1988`. Edges go from a person to a movie (`ACTED_IN`, with the `role`
where it is known, `DIRECTED`, `WROTE`, `COMPOSED_FOR`) and from a movie to its
genres (`HAS_GENRE`). Casts and crews are a selection.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.resources import as_file, files
from pathlib import Path

NODE_TABLES = ("genres.csv", "movies.csv", "people.csv")
"""Columns: id, type, name; movies also aliases, released; people also aliases, born."""

EDGE_TABLES = ("roles.csv",)
"""Columns: subject, predicate, object, role."""


@contextmanager
def films_paths() -> Iterator[tuple[Path, ...]]:
    """Paths of the tables, nodes before edges, for as long as the context lasts.

    They are the installed files where those are files, and temporary copies
    where the package is imported from an archive.

    Yields:
        One path a table, in the order of `NODE_TABLES`, then `EDGE_TABLES`.
    """
    folder = files("bfsql") / "films"
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(as_file(folder / name)) for name in (*NODE_TABLES, *EDGE_TABLES)
        )
