"""What is asked for the properties of nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql_sparql.queries.patterns import in_order
from bfsql_sparql.queries.quoting import iri, iris

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping


def properties(nodes: Iterable[str], mapping: Mapping, limit: int) -> str:
    """Literals and types of nodes.

    Args:
        nodes: IRIs.
        mapping: How triples are read.
        limit: Rows at the most.
    """
    return (
        f"SELECT ?s ?p ?o WHERE {{ VALUES ?s {{ {iris(nodes)} }} "
        f"{_values('?s', mapping)} }} LIMIT {limit}"
    )


def window(node: str, mapping: Mapping, after: str, limit: int) -> str:
    """Literals and types of one node, in the order of their texts: property, value, `?at`.

    Args:
        node: An IRI.
        mapping: How triples are read.
        after: The last `?at`, whose rows come again, for there may be more; or nothing.
        limit: Rows at the most.
    """
    at, begin, order = in_order("?o", after, limit)
    return f"SELECT ?p ?o {at} WHERE {{ {_values(iri(node), mapping)} {begin} }} {order}"


def number(node: str, mapping: Mapping) -> str:
    """How many literals and types a node has."""
    return (
        "SELECT (COUNT(*) AS ?n) WHERE { SELECT DISTINCT ?p ?o WHERE "
        f"{{ {_values(iri(node), mapping)} }} }}"
    )


def _values(node: str, mapping: Mapping) -> str:
    told = ", ".join(map(iri, (*mapping.types, mapping.primary)))
    return f"{mapping.within(f'{node} ?p ?o .')} FILTER(isLiteral(?o) || ?p IN ({told}))"
