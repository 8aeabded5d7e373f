"""What is asked to learn which nodes exist, and of what types they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql_sparql.queries.patterns import is_node, is_walked
from bfsql_sparql.queries.quoting import iri, iris

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping


def types(nodes: Iterable[str], mapping: Mapping, *, marked: bool, limit: int) -> str:
    """Nodes with the type that counts, if told, and one column a type property.

    Whether a node exists that has none is asked apart: one store needs a hundred times as long
    for both at once.

    Args:
        nodes: IRIs.
        mapping: How triples are read.
        marked: Whether nodes may be marked with the type that counts.
        limit: Rows at the most.
    """
    columns = [f"t{at}" for at in range(len(mapping.types))]
    patterns = [
        mapping.within(f"?s {iri(property_)} ?{column} .", f"{column}_graph")
        for column, property_ in zip(columns, mapping.types, strict=True)
    ]
    if len(patterns) > 1:
        patterns = [f"OPTIONAL {{ {pattern} }}" for pattern in patterns]
    if marked:
        mark = mapping.within(f"?s {iri(mapping.primary)} ?mark .", "mark_graph")
        patterns.append(f"OPTIONAL {{ {mark} }}")
    shown = " ".join(f"?{name}" for name in ("mark", *columns))
    return (
        f"SELECT ?s {shown} WHERE {{ VALUES ?s {{ {iris(nodes)} }} {' '.join(patterns)} }} "
        f"LIMIT {limit}"
    )


def existing(nodes: Iterable[str], mapping: Mapping, limit: int) -> str:
    """Those of the nodes that exist.

    Args:
        nodes: IRIs.
        mapping: How triples are read.
        limit: Rows at the most.
    """
    return (
        f"SELECT ?s WHERE {{ VALUES ?s {{ {iris(nodes)} }} FILTER({exists('s', mapping)}) }} "
        f"LIMIT {limit}"
    )


def exists(variable: str, mapping: Mapping) -> str:
    """The condition that something is a node: it has a property, or an edge enters it.

    Either is true at the first triple found, so that a hub costs no more than others.
    """
    leaving = mapping.within(f"?{variable} ?any_p ?any_o .", "any_g")
    entering = mapping.within(f"?any_s ?any_q ?{variable} .", "any_h")
    edge = f"{is_node('any_s', mapping)} && {is_walked('any_q', mapping)}"
    return (
        f"EXISTS {{ {leaving} FILTER(isIRI(?any_o) || isLiteral(?any_o)) }} "
        f"|| EXISTS {{ {entering} FILTER({edge}) }}"
    )
