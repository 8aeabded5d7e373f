"""Updates: the only texts that change a store, sent by the loader alone."""

from __future__ import annotations

from collections.abc import Iterable

from bfsql_sparql.queries.quoting import iri
from bfsql_sparql.vocabulary import TYPE, UNTYPED

DEFAULT = "DEFAULT"
"""What updates call the graph without a name."""


def named(graph: str) -> str:
    """What updates call a named graph."""
    return f"GRAPH {iri(graph)}"


def insert(graph: str, statements: Iterable[str], *, as_data: bool) -> str:
    """Adds statements to a named graph.

    Args:
        graph: Its IRI.
        statements: Lines of N-Triples; a blank node is one within this update.
        as_data: Whether as data, which most stores read several times faster, or as a
            template, in which all of them take blank nodes.
    """
    added = f"{{ {named(graph)} {{\n{''.join(statements)}}} }}"
    return f"INSERT DATA {added}" if as_data else f"INSERT {added} WHERE {{}}"


def try_data(graph: str) -> str:
    """Adds a blank node as data to a graph that is not there, and deletes it again."""
    statement = f"_:b {iri(TYPE)} {iri(UNTYPED)} .\n"
    return f"{insert(graph, [statement], as_data=True)} ;\n{drop(graph)}"


def drop(graph: str) -> str:
    """Deletes a named graph, whether it is there or not."""
    return f"DROP SILENT {named(graph)}"


def clear(target: str) -> str:
    """Deletes what is in a graph, whether it is there or not."""
    return f"CLEAR SILENT {target}"


def move(graph: str, target: str) -> str:
    """Puts a named graph in the place of another, whose statements go."""
    return f"MOVE {named(graph)} TO {target}"


def add(graph: str, target: str) -> str:
    """Adds the statements of a named graph to another, and deletes the first."""
    return f"ADD {named(graph)} TO {target} ;\n{drop(graph)}"


def add_nothing(graph: str, target: str) -> str:
    """Changes nothing, as long as there is no such graph; fails where `add` would."""
    return f"ADD SILENT {named(graph)} TO {target}"
