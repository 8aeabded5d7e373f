"""The content to remove from a graph: found, counted, and marked for the deleting update."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice

from bfsql.loading import Staging
from bfsql.loading.intake import EXAMPLES, name_of
from bfsql.models import EdgeRecord, LoadReport, NodeRecord, Triple
from bfsql_sparql.deleting import edge_marks, node_mark
from bfsql_sparql.edge_metadata import by_lead
from bfsql_sparql.present import GraphReader
from bfsql_sparql.queries.graph import iris

CHUNK = 4_000
"""Nodes or edges that are looked up, or marked, at a time."""

# All in IRIs. `asked` is 0 for edges that are removed with a node.
_TABLES = """
CREATE TABLE gone_node (iri TEXT PRIMARY KEY, there INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE gone_edge (
    s TEXT, p TEXT, o TEXT, asked INTEGER NOT NULL, there INTEGER NOT NULL, PRIMARY KEY (s, p, o)
) WITHOUT ROWID;
"""

_ASKED_EDGES = """
SELECT DISTINCT a.id, name, b.id
FROM edge JOIN node AS a ON a.n = s JOIN predicate USING (p) JOIN node AS b ON b.n = o
"""

_NOT_THERE = """
SELECT iri, NULL, NULL FROM gone_node WHERE NOT there
UNION ALL SELECT s, p, o FROM gone_edge WHERE NOT there
"""


class Removal:
    """The nodes and edges to remove.

    Args:
        staging: The records that name them; not merged.
        reader: The reader of the graph.
    """

    def __init__(self, staging: Staging, reader: GraphReader) -> None:
        self.staging = staging
        self.reader = reader
        self._execute = staging.connection.execute
        self._many = staging.connection.executemany

    async def find(self, report: LoadReport) -> None:
        """Find them in the graph, and count them.

        Args:
            report: Receives the numbers refused, removed and not found.
        """
        await self.staging.run(self._take)
        async for nodes in self._chunks("iri", "gone_node WHERE NOT there"):
            await self._find_nodes([iri for (iri,) in nodes])
        async for edges in self._chunks("s, p, o", "gone_edge WHERE asked AND NOT there"):
            await self._find_edges(edges)
        self._count(report)

    def names_node(self, iri: str) -> bool:
        """Whether a node is to be removed."""
        found = self._execute("SELECT there FROM gone_node WHERE iri = ?", (iri,))
        return found.fetchone() is not None

    def names_edge(self, edge: Triple) -> bool:
        """Whether an edge is to be removed; its ends and predicate are IRIs."""
        found = self._execute("SELECT there FROM gone_edge WHERE s = ? AND p = ? AND o = ?", edge)
        return found.fetchone() is not None

    def marks(self) -> Iterator[list[str]]:
        """The lines that mark what goes, one thing each."""
        for (iri,) in self._execute("SELECT iri FROM gone_node WHERE there ORDER BY iri"):
            yield [node_mark(iri)]
        edges = "SELECT s, p, o FROM gone_edge WHERE {} ORDER BY s, p, o"
        forms = self.reader.forms
        yield from marks_of(self._execute(edges.format("there AND asked")), forms, "a")
        others = [form for form in forms if form != "reification"]  # the node leads there
        if others:
            yield from marks_of(self._execute(edges.format("NOT asked")), others, "n")

    def lines(self) -> Iterator[list[str]]:
        """The edges that go by themselves, as lines."""
        for edge in self._execute("SELECT s, p, o FROM gone_edge WHERE there AND asked"):
            yield [f"{iris(edge)} .\n"]

    # --- parts --------------------------------------------------------------

    def _take(self) -> None:
        iri = self.reader.iri
        self.staging.connection.executescript(_TABLES)
        nodes = self._execute("SELECT DISTINCT id FROM described JOIN node USING (n)")
        self._many(
            "INSERT OR IGNORE INTO gone_node VALUES (?, 0)", ((iri(id_),) for (id_,) in nodes)
        )
        edges = self._execute(_ASKED_EDGES)
        self._many(
            "INSERT OR IGNORE INTO gone_edge VALUES (?, ?, ?, 1, 0)",
            (tuple(map(iri, edge)) for edge in edges),
        )

    async def _chunks(self, columns: str, source: str) -> AsyncIterator[list[tuple[str, ...]]]:
        """Rows in the order of their keys, which may be changed as soon as they are given."""
        last: tuple[str, ...] = ("",) * len(columns.split(","))
        marks = ", ".join("?" * len(last))
        query = (
            f"SELECT {columns} FROM {source} AND ({columns}) > ({marks}) "  # noqa: S608
            f"ORDER BY {columns} LIMIT {CHUNK}"
        )
        while rows := await self.staging.run(partial(self._rows, query, last)):
            yield rows
            last = rows[-1]

    def _rows(self, query: str, values: tuple[str, ...]) -> list[tuple[str, ...]]:
        return self._execute(query, values).fetchall()

    async def _find_nodes(self, iris: Sequence[str]) -> None:
        there = await self.reader.nodes.types(iris)
        around = await self.reader.edges.around(list(there)) if there else []
        iri = self.reader.iri

        def keep() -> None:
            self._many("UPDATE gone_node SET there = 1 WHERE iri = ?", ((one,) for one in there))
            self._many(
                "INSERT INTO gone_edge VALUES (?, ?, ?, 0, 1) ON CONFLICT DO UPDATE SET there = 1",
                (tuple(map(iri, edge)) for edge in around),
            )

        await self.staging.run(keep)

    async def _find_edges(self, edges: Sequence[tuple[str, ...]]) -> None:
        id_, iri = self.reader.mapping.ids.id, self.reader.iri
        found = await self.reader.metadata.existing([(id_(s), id_(p), id_(o)) for s, p, o in edges])

        def keep() -> None:
            self._many(
                "UPDATE gone_edge SET there = 1 WHERE s = ? AND p = ? AND o = ?",
                (tuple(map(iri, edge)) for edge in found),
            )

        await self.staging.run(keep)

    def _count(self, report: LoadReport) -> None:
        def number(source: str) -> int:
            return int(self._execute(f"SELECT count(*) FROM {source}").fetchone()[0])  # noqa: S608

        taken = self.staging.report
        report.refused += taken.refused
        report.refusals += taken.refusals
        report.removed_nodes = number("gone_node WHERE there")
        report.removed_edges = number("gone_edge WHERE there")
        report.not_there = number(f"({_NOT_THERE})")
        id_ = self.reader.mapping.ids.id
        for row in self._execute(f"{_NOT_THERE} LIMIT ?", (EXAMPLES,)):
            one, *others = (id_(iri) for iri in row if iri is not None)
            record = EdgeRecord(one, others[0], others[1]) if others else NodeRecord(one, "")
            report.not_there_examples.append(name_of(record))


def marks_of(
    edges: Iterable[tuple[str, ...]], forms: Collection[str], prefix: str
) -> Iterator[list[str]]:
    """The lines that mark edges, one edge each.

    Args:
        edges: Each of three IRIs; those that share an end are best together.
        forms: Of the statements about them that go.
        prefix: Of the names of blank nodes.
    """
    numbers, left = count(1), iter(edges)
    while chunk := [(s, p, o) for s, p, o in islice(left, CHUNK)]:
        for lead, some in by_lead("reification", chunk).items():
            for edge in some:
                if lines := list(edge_marks(edge, f"{prefix}{next(numbers)}", forms, lead)):
                    yield lines
