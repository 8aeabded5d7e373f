"""A store in SQL that reads a large ring by a cursor, with the types of its ends."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing

from bfsql.models.parts import TypedTriple

RING = """
SELECT e.s, e.p, e.o, s.type, o.type
FROM edge e LEFT JOIN node s ON s.id = e.s LEFT JOIN node o ON o.id = e.o
WHERE (s.id IS NOT NULL AND e.s IN (SELECT value FROM json_each(?1)))
   OR (o.id IS NOT NULL AND e.o IN (SELECT value FROM json_each(?1)))
"""


class Table:
    """The one method of a backend that this page shows.

    Args:
        connection: To tables `node(id, type)` and `edge(s, p, o)`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def edges_stream(self, ids: Sequence[str]) -> AsyncGenerator[list[TypedTriple]]:
        with closing(self._connection.cursor()) as cursor:
            await asyncio.to_thread(cursor.execute, RING, [json.dumps(list(ids))])
            while rows := await asyncio.to_thread(cursor.fetchmany, 10_000):
                yield rows


async def main() -> None:
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.executescript("""
            CREATE TABLE node(id, type); CREATE TABLE edge(s, p, o);
            INSERT INTO node VALUES ('tea', 'Drink'), ('water', 'Ingredient');
            INSERT INTO edge VALUES ('tea', 'needs', 'water'), ('tea', 'needs', 'time');
        """)
        async for rows in Table(connection).edges_stream(["tea", "time"]):
            print(*rows, sep="\n")


asyncio.run(main())
