"""A store in SQL that lists its entities by pages that follow the id."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import closing

from bfsql.models import Node, PropertyCondition

PAGE = """
SELECT id, type, year FROM node
WHERE id > ?1 AND (?2 IS NULL OR year = ?2 OR typeof(year) NOT IN ('integer', 'real', 'null'))
ORDER BY id LIMIT 1000
"""


class Listed:
    """The one method of a backend that this page shows.

    Args:
        connection: To a table `node(id, type, year)`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def nodes_stream(
        self,
        *,
        entity_types: Collection[str] | None = None,
        conditions: Sequence[PropertyCondition] = (),
    ) -> AsyncGenerator[list[Node]]:
        year, last = number_of_year(conditions), ""
        while rows := await asyncio.to_thread(self._page, last, year):
            last = rows[-1][0]
            yield [Node(i, t) for i, t, _ in rows if entity_types is None or t in entity_types]

    def _page(self, last: str, year: float | None) -> list[tuple[str, str, object]]:
        return self._connection.execute(PAGE, [last, year]).fetchall()


def number_of_year(conditions: Sequence[PropertyCondition]) -> float | None:
    """The year that a condition requires; None if no condition narrows the list."""
    for one in conditions:
        if (one.key, one.operator, len(one.values)) == ("year", "=", 1):
            number = one.literals[0].number
            if number is not None and abs(number) < 2**53:
                return float(number)
    return None


async def main() -> None:
    with closing(sqlite3.connect(":memory:", check_same_thread=False)) as connection:
        connection.executescript("""
            CREATE TABLE node(id PRIMARY KEY, type, year);
            INSERT INTO node VALUES ('tea', 'Drink', 1650), ('coffee', 'Drink', '1650'),
                ('cocoa', 'Drink', 1528), ('cup', 'Vessel', 1650), ('milk', 'Drink', NULL);
        """)
        wanted = [PropertyCondition("year", "=", ("1650",))]
        stream = Listed(connection).nodes_stream(entity_types=["Drink"], conditions=wanted)
        async for nodes in stream:
            print(*nodes, sep="\n")


asyncio.run(main())
