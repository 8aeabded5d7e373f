"""A store in two tables that says what its graph is made of."""

import asyncio
import json
import sqlite3
from contextlib import closing

from bfsql.models import Outline, outline_of

TYPES = "SELECT type, count(*) FROM node GROUP BY type"
RELATIONS = """
SELECT s.type, e.p, o.type, count(*)
FROM edge e JOIN node s ON s.id = e.s JOIN node o ON o.id = e.o GROUP BY s.type, e.p, o.type
"""
SAMPLE = "SELECT type, metadata FROM node LIMIT 10000"


class Outlined:
    """The one method of a backend that this page shows.

    Args:
        connection: To tables `node(id, type, metadata)` and `edge(s, p, o)`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def outline(self) -> Outline:
        ask = self._connection.execute
        return outline_of(
            dict(ask(TYPES).fetchall()),
            {(s, p, o): edges for s, p, o, edges in ask(RELATIONS)},
            ((of_type, json.loads(metadata)) for of_type, metadata in ask(SAMPLE)),
        )


async def main() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            """
            CREATE TABLE node (id, type, metadata);
            CREATE TABLE edge (s, p, o);
            INSERT INTO node VALUES ('t1', 'Trial', '{"phase": 2}'),
                ('t2', 'Trial', '{"phase": 3}'), ('d', 'Disease', '{"name": "Gout"}');
            INSERT INTO edge VALUES ('t1', 'studies', 'd'), ('t2', 'studies', 'd');
            """
        )
        outline = await Outlined(connection).outline()
    print(outline.relations[0])
    print(outline.node_properties["Trial"][0])


asyncio.run(main())
