"""What is asked to learn which nodes exist, and of what types they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql_sparql.queries.patterns import is_node, is_walked
from bfsql_sparql.queries.quoting import iri, iris

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping


def types(nodes: Iterable[str], mapping: Mapping, *, marked: bool, limit: int) -> str:
    """The nodes that exist, with the type that counts, if told, and one column a type property.

    Args:
        nodes: IRIs.
        mapping: How triples are read.
        marked: Whether nodes may be marked with the type that counts.
        limit: Rows at the most.
    """
    mark = mapping.within(f"?s {iri(mapping.primary)} ?mark .", "mark_graph")
    columns = [f"t{at}" for at in range(len(mapping.types))]
    optional = [f"OPTIONAL {{ {mark} }}"] if marked else []
    for column, property_ in zip(columns, mapping.types, strict=True):
        triple = mapping.within(f"?s {iri(property_)} ?{column} .", f"{column}_graph")
        optional.append(f"OPTIONAL {{ {triple} FILTER(isIRI(?{column})) }}")
    typed = " || ".join(f"BOUND(?{column})" for column in columns)
    shown = " ".join(f"?{name}" for name in ("mark", *columns))
    return (
        f"SELECT ?s {shown} WHERE {{ VALUES ?s {{ {iris(nodes)} }} {' '.join(optional)} "
        f"FILTER({typed} || {exists('s', mapping)}) }} LIMIT {limit}"
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
