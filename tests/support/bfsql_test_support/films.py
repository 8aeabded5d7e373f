"""The demo's films as a file of Cypher, for a Neo4j as its users have them.

`python -m bfsql_test_support.films > docs/how-to/films.cypher` writes the file.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

from bfsql.cli.demo import films_paths

NAMES = {"Person": "name", "Movie": "title", "Genre": "name"}
"""The property that names the nodes of a label, and has a unique constraint."""


def tables() -> dict[str, list[dict[str, str]]]:
    """The rows of the demo's tables by the name of the file: `people`, `movies`, ..."""
    with films_paths() as paths:
        return {
            path.stem: list(csv.DictReader(path.read_text("utf-8").splitlines())) for path in paths
        }


def cypher() -> Iterator[str]:
    """The lines of the file: constraints, a statement for each label, one for each type."""
    rows = tables()
    yield "// The films of `bfsql demo`, for Neo4j: paste it into Neo4j Browser, or run it with"
    yield "// cypher-shell --file films.cypher."
    nodes = [row for name in ("people", "movies", "genres") for row in rows[name]]
    of = {row["id"]: row for row in nodes}
    for label, name in NAMES.items():
        yield f"CREATE CONSTRAINT {label.lower()}_{name} IF NOT EXISTS"
        yield f"FOR (n:{label}) REQUIRE n.{name} IS UNIQUE;"
    for label, name in NAMES.items():
        yield "UNWIND ["
        yield from _items(_properties(row, name) for row in nodes if row["type"] == label)
        yield f"] AS row CREATE (n:{label}) SET n = row;"
    for predicate in sorted({row["predicate"] for row in rows["roles"]}):
        edges = [row for row in rows["roles"] if row["predicate"] == predicate]
        ends = [(of[row["subject"]], of[row["object"]], row["role"]) for row in edges]
        subject, obj = ends[0][0]["type"], ends[0][1]["type"]
        yield "UNWIND ["
        yield from _items([s["name"], o["name"], *([role] if role else [])] for s, o, role in ends)
        yield f"] AS row MATCH (a:{subject} {{{NAMES[subject]}: row[0]}})"
        yield f"MATCH (b:{obj} {{{NAMES[obj]}: row[1]}})"
        yield f"CREATE (a)-[r:{predicate}]->(b) SET r.role = row[2];"


def _properties(row: dict[str, str], name: str) -> dict[str, Any]:
    found: dict[str, Any] = {name: row["name"]}
    if row.get("aliases"):
        found["aliases"] = row["aliases"].split("|")
    return found | {key: int(row[key]) for key in ("born", "released") if row.get(key)}


def _items(values: Iterator[Any]) -> Iterator[str]:
    """Cypher literals, a line each: JSON, with the keys of maps unquoted."""
    lines = [_literal(value) for value in values]
    yield from (f"{line}," for line in lines[:-1])
    yield lines[-1]


def _literal(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {_literal(item)}' for key, item in value.items())}}}"
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    for line in cypher():
        print(line)  # noqa: T201 - the file
