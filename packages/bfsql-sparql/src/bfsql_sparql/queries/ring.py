"""What is asked for the edges of a ring: one query a direction, and windows for a hub."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from bfsql_sparql.queries.patterns import in_order, is_node, is_walked
from bfsql_sparql.queries.quoting import iri, iris

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping

Direction: TypeAlias = Literal["out", "in"]
"""Edges that leave a node, or those that enter it."""


def ring(nodes: Iterable[str], direction: Direction, mapping: Mapping, limit: int) -> str:
    """Edges in one direction, blank nodes at their other ends included, to be counted.

    Args:
        nodes: IRIs.
        direction: Which of their edges.
        mapping: How triples are read.
        limit: Rows at the most.
    """
    given, other = ("s", "o") if direction == "out" else ("o", "s")
    triple = mapping.within("?s ?p ?o .")
    condition = f"({is_node(other, mapping)} || isBlank(?{other})) && {is_walked('p', mapping)}"
    return (
        f"SELECT ?s ?p ?o WHERE {{ VALUES ?{given} {{ {iris(nodes)} }} {triple} "
        f"FILTER({condition}) }} LIMIT {limit}"
    )


def window(node: str, direction: Direction, mapping: Mapping, after: str, limit: int) -> str:
    """Edges of one node, in the order of their other ends: predicate, end, and its `?at`.

    Args:
        node: An IRI.
        direction: Which of its edges.
        mapping: How triples are read.
        after: The last `?at`, whose rows come again, for there may be more; or nothing.
        limit: Rows at the most.
    """
    at, begin, order = in_order("?end", after, limit)
    edges = _of(node, direction, mapping, blank=False)
    return f"SELECT ?p ?end {at} WHERE {{ {edges} {begin} }} {order}"


def degree(node: str, direction: Direction, mapping: Mapping, *, blank: bool) -> str:
    """Number of edges of one node, or of its triples that are none because of a blank node."""
    return (
        "SELECT (COUNT(*) AS ?n) WHERE { SELECT DISTINCT ?p ?end WHERE "
        f"{{ {_of(node, direction, mapping, blank=blank)} }} }}"
    )


def _of(node: str, direction: Direction, mapping: Mapping, *, blank: bool) -> str:
    triple = f"{iri(node)} ?p ?end ." if direction == "out" else f"?end ?p {iri(node)} ."
    end = "isBlank(?end)" if blank else is_node("end", mapping)
    return f"{mapping.within(triple)} FILTER({end} && {is_walked('p', mapping)})"
