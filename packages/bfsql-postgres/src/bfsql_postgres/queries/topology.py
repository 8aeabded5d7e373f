"""Which nodes there are, and which edges."""

from __future__ import annotations

from bfsql_postgres.catalogue import Column
from bfsql_postgres.layout import Edges, Layout, Nodes
from bfsql_postgres.queries.columns import ID_TYPES, comparable, live, named, text
from bfsql_postgres.quoting import relation_name


class Topology:
    """Statements about identity alone; each takes one array of ids.

    Args:
        layout: Where the graph is.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._type = ID_TYPES[layout.key]
        arms = [self._ends(edges, side) for edges in layout.edges for side in ("out", "in")]
        self.ring = self._of_live(arms)
        """Every edge with an asked node at either end, both directions at once."""
        self.leaving = self._of_live([_MARK, *(self._ends(edges, "out") for edges in layout.edges)])
        """The edges that leave a node, after a row of nulls that says that the node is there."""
        self.entering = self._of_live([_MARK, *(self._ends(edges, "in") for edges in layout.edges)])
        """Likewise those that enter it."""
        self.nodes = "\nUNION ALL\n".join(
            f"SELECT {text('n', nodes.id)}, {text('n', nodes.type)}{rank}{self._asked(nodes)}"
            for nodes, rank in self._ranked()
        )
        """Id and type, and the rank of its table where there are several."""

    def _ranked(self) -> list[tuple[Nodes, str]]:
        several = len(self._layout.nodes) > 1
        return [
            (nodes, f", {rank}" if several else "") for rank, nodes in enumerate(self._layout.nodes)
        ]

    def _asked(self, nodes: Nodes) -> str:
        """The rows of the asked nodes, which exist."""
        return (
            f"\nFROM unnest($1::{self._type}[]) AS a (id) "
            f"JOIN {relation_name(nodes.relation)} AS n "
            f"ON {comparable('n', nodes.id, self._layout.key)} = a.id WHERE {live('n', nodes)}"
        )

    def _of_live(self, arms: list[str]) -> str:
        found = "\nUNION\n".join(f"SELECT a.id{self._asked(nodes)}" for nodes in self._layout.nodes)
        joined = "\nUNION ALL\n".join(arms)
        return f"WITH live (id) AS MATERIALIZED (\n{found}\n)\n{joined}"

    def _ends(self, edges: Edges, side: str) -> str:
        """Triples of the edges that leave, or enter, a node that is there."""
        end = edges.subject if side == "out" else edges.object
        return (
            f"SELECT {text('e', edges.subject)}, {text('e', edges.predicate)}, "
            f"{text('e', edges.object)}\n"
            f"FROM live JOIN {relation_name(edges.relation)} AS e "
            f"ON {comparable('e', end, self._layout.key)} = live.id{_whole(edges)}"
        )


def _whole(edges: Edges) -> str:
    """The condition that a row is an edge at all: views and outer joins leave gaps."""
    terms = (edges.subject, edges.predicate, edges.object)
    gaps = [term for term in terms if isinstance(term, Column) and not term.required]
    filled = " AND ".join(f"{named('e', term)} IS NOT NULL" for term in gaps)
    return f" WHERE {filled}" if filled else ""


_MARK = "SELECT NULL::text, NULL::text, NULL::text FROM live"
