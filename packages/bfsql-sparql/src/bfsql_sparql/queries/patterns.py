"""Parts that queries share: what a node is, what an edge is, what a type is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bfsql_sparql.queries.quoting import iri, iris, text

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping


def is_node(variable: str, mapping: Mapping) -> str:
    """The condition that a variable holds what may be a node."""
    return conditions([f"isIRI(?{variable})", begins(variable, mapping.node_namespaces)])


def is_walked(variable: str, mapping: Mapping) -> str:
    """The condition that a variable holds a predicate that is walked."""
    excluded = ", ".join(map(iri, mapping.excluded))
    only = ", ".join(map(iri, mapping.only))
    return conditions(
        [
            f"?{variable} NOT IN ({excluded})" if excluded else "",
            f"?{variable} IN ({only})" if only else "",
            begins(variable, mapping.predicate_namespaces),
        ]
    )


def edge(subject: str, predicate: str, object_: str, mapping: Mapping) -> str:
    """A triple that is an edge, in three variables."""
    holds = conditions(
        [
            is_node(subject, mapping),
            is_node(object_, mapping),
            is_walked(predicate, mapping),
        ]
    )
    triple = mapping.within(f"?{subject} ?{predicate} ?{object_} .", f"{predicate}_graph")
    return f"{triple} FILTER({holds})"


def typed(subject: str, type_: str, mapping: Mapping) -> str:
    """A node and one of its types, in two variables."""
    return of_any(subject, mapping.types, type_, mapping)


def of_any(subject: str, properties: Iterable[str], value: str, mapping: Mapping) -> str:
    """A value that a node has of one of some properties, in two variables."""
    properties = tuple(properties)
    if len(properties) == 1:
        return mapping.within(f"?{subject} {iri(properties[0])} ?{value} .", f"{value}_graph")
    by = f"{value}_by"
    triple = mapping.within(f"?{subject} ?{by} ?{value} .", f"{value}_graph")
    return f"VALUES ?{by} {{ {iris(properties)} }} {triple}"


def begins(variable: str, namespaces: Iterable[str]) -> str:
    """The condition that an IRI begins in one of some ways; empty for no condition."""
    parts = [f"STRSTARTS(STR(?{variable}), {text(namespace)})" for namespace in namespaces]
    return f"({' || '.join(parts)})" if parts else ""


def conditions(parts: Iterable[str]) -> str:
    """All of some conditions at once, without the empty ones."""
    return " && ".join(filter(None, parts)) or "true"


def number_of(query: str) -> str:
    """The query for the number of rows that another one has: one row, which no limit can cut."""
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {query} }}"


def in_order(term: str, after: str, limit: int) -> tuple[str, str, str]:
    """Projection, filter and end of a query whose rows are read window by window.

    Rows are ordered by `?at`, the text of a term in ASCII, since one store compares nothing
    else. It is what the store itself makes of the text, so that the next window can begin there.

    Args:
        term: The variable, with its question mark.
        after: The last `?at`, whose rows come again; or nothing.
        limit: Rows at the most.
    """
    place = f"ENCODE_FOR_URI(STR({term}))"
    begin = f"FILTER({place} >= {text(after)})" if after else ""
    return f"({place} AS ?at)", begin, f"ORDER BY {place} LIMIT {limit}"
