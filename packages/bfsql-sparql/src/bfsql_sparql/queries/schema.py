"""Query text for the types, the predicates and the capabilities of a store.

In all functions `mapping` is how to read triples, and `limit` is the maximum of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bfsql.models.rdf import WELL_KNOWN
from bfsql.models.rdf_statements import OBJECT, PREDICATE, REIFIES, SUBJECT
from bfsql_sparql.mapping import SUBCLASS
from bfsql_sparql.queries.graph import (
    any_node,
    begins,
    conditions,
    edge,
    iri,
    iris,
    is_node,
    mark,
    of_any,
    some_nodes,
    typed,
    within,
)

if TYPE_CHECKING:
    from bfsql_sparql.mapping import RdfMapping

_VOID = WELL_KNOWN["void"]


def types(mapping: RdfMapping, limit: int) -> str:
    """Types of anything."""
    return f"SELECT DISTINCT ?type WHERE {{ {typed('s', 'type', mapping)} }} LIMIT {limit}"


def best_types(mapping: RdfMapping, ranked: Sequence[str], *, marked: bool) -> str:
    """The rank, in a list of all types, of the best type of each node, each rank once.

    If some nodes are marked with their main type, they are left out.
    """
    pairs = " ".join(f"({iri(one)} {rank})" for rank, one in enumerate(ranked))
    kept = f"FILTER NOT EXISTS {{ {mark('mark', mapping)} }}" if marked else ""
    return (
        "SELECT DISTINCT ?best WHERE { SELECT ?s (MIN(?rank) AS ?best) WHERE { "
        f"VALUES (?type ?rank) {{ {pairs} }} {typed('s', 'type', mapping)} "
        f"FILTER({is_node('s', mapping)}) {kept} }} GROUP BY ?s }}"
    )


def marked_types(mapping: RdfMapping, limit: int) -> str:
    """The types with which nodes are marked."""
    return f"SELECT DISTINCT ?type WHERE {{ {mark('type', mapping)} }} LIMIT {limit}"


def untyped(mapping: RdfMapping, most: int | None = None) -> str:
    """Whether there is a node without a type, among the first `most` nodes if it is given.

    MINUS would be equivalent, but RDF4J compares each node with each type for it.
    """
    untyped = f"FILTER NOT EXISTS {{ {typed('s', 'type', mapping)} }}"
    nodes = f"{{ {some_nodes(mapping, most)} }}" if most else any_node(mapping)
    return f"ASK {{ {nodes} {untyped} }}"


def predicates(mapping: RdfMapping, limit: int) -> str:
    """Predicates of edges."""
    return f"SELECT DISTINCT ?p WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {limit}"


# --- counts -----------------------------------------------------------------


def number_of_untyped(mapping: RdfMapping) -> str:
    """The number of nodes without a type, by a difference."""
    has_type = f"{typed('t', 'type', mapping)} FILTER({is_node('t', mapping)} && isIRI(?type))"
    number = "COUNT(DISTINCT ?s) - COUNT(DISTINCT ?t)"
    return f"SELECT ({number} AS ?n) WHERE {{ {any_node(mapping)} UNION {{ {has_type} }} }}"


def number_by_type(mapping: RdfMapping, marks: Sequence[str], ranked: Sequence[str]) -> str:
    """The number of nodes by their main type: its place in both lists of types together.

    Args:
        mapping: How to read triples.
        marks: The types with which nodes may be marked; empty if none is.
        ranked: All types, best first.
    """
    of_nodes = _main_type("s", "a", mapping, marks, ranked)
    return f"SELECT ?a (COUNT(*) AS ?n) WHERE {{ {of_nodes} }} GROUP BY ?a"


def number_by_relation(mapping: RdfMapping, marks: Sequence[str], ranked: Sequence[str]) -> str:
    """The number of edges by main type of the subject, predicate and main type of the object.

    Arguments are those of `number_by_type`; a node without a type has no place.
    """
    edges = edge("s", "p", "o", mapping)
    if mapping.all_graphs or len(mapping.graphs) > 1:  # several may have the same triple
        edges = f"{{ SELECT DISTINCT ?s ?p ?o WHERE {{ {edges} }} }}"
    subjects, objects = (
        f"OPTIONAL {{ {_main_type(end, type_, mapping, marks, ranked)} }}"
        for end, type_ in (("s", "a"), ("o", "b"))
    )
    return (
        f"SELECT ?a ?p ?b (COUNT(*) AS ?n) WHERE {{ {edges} {subjects} {objects} }} "
        "GROUP BY ?a ?p ?b"
    )


def _main_type(
    node: str, place: str, mapping: RdfMapping, marks: Sequence[str], ranked: Sequence[str]
) -> str:
    """The place of the main type of each node that has a type, in two variables."""
    parts = [
        f"{{ VALUES (?type ?place) {{ {pairs} }} {pattern} }}"
        for pairs, pattern in (
            (_places(marks, 0), within(mapping, f"?{node} {iri(mapping.primary)} ?type .", "m")),
            (_places(ranked, len(marks)), typed(node, "type", mapping)),
        )
        if pairs
    ]
    return (
        f"{{ SELECT ?{node} (MIN(?place) AS ?{place}) WHERE {{ {' UNION '.join(parts)} "
        f"FILTER({is_node(node, mapping)}) }} GROUP BY ?{node} }}"
    )


def _places(types: Sequence[str], start: int) -> str:
    return " ".join(f"({iri(one)} {place})" for place, one in enumerate(types, start))


# --- samples ----------------------------------------------------------------


def some_types(mapping: RdfMapping, sample: int) -> str:
    """Types in the first statements of a type."""
    pattern = f"{typed('s', 'type', mapping)} FILTER({is_node('s', mapping)})"
    some = f"SELECT ?type WHERE {{ {pattern} }} LIMIT {sample}"
    return f"SELECT DISTINCT ?type WHERE {{ {some} }}"


def some_predicates(mapping: RdfMapping, sample: int) -> str:
    """Predicates of the first edges."""
    some = f"SELECT ?p WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {sample}"
    return f"SELECT DISTINCT ?p WHERE {{ {some} }}"


def most_linked(mapping: RdfMapping, sample: int, limit: int) -> str:
    """The nodes that most of the first edges enter."""
    some = f"SELECT ?o WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {sample}"
    return (
        f"SELECT ?o (COUNT(*) AS ?n) WHERE {{ {{ {some} }} }} "
        f"GROUP BY ?o ORDER BY DESC(?n) STR(?o) LIMIT {limit}"
    )


def types_around(mapping: RdfMapping, seeds: Iterable[str], sample: int) -> str:
    """Types of nodes and of their neighbours."""
    near = _near(mapping, seeds, sample)
    return f"SELECT DISTINCT ?type WHERE {{ {{ {near} }} {typed('n', 'type', mapping)} }}"


def predicates_around(mapping: RdfMapping, seeds: Iterable[str], sample: int) -> str:
    """Predicates of the edges that leave nodes and their neighbours, and that enter the nodes."""
    near, given = _near(mapping, seeds, sample), f"VALUES ?o {{ {iris(seeds)} }}"
    entering = f"SELECT ?p WHERE {{ {given} {edge('s', 'p', 'o', mapping)} }} LIMIT {sample}"
    return (
        f"SELECT DISTINCT ?p WHERE {{ {{ {{ {near} }} {edge('n', 'p', 'other', mapping)} }} "
        f"UNION {{ {entering} }} }}"
    )


def _near(mapping: RdfMapping, seeds: Iterable[str], sample: int) -> str:
    given = iris(seeds)
    return (
        f"SELECT DISTINCT ?n WHERE {{ {{ VALUES ?n {{ {given} }} }} "
        f"UNION {{ VALUES ?from {{ {given} }} {edge('from', 'q', 'n', mapping)} }} "
        f"UNION {{ VALUES ?to {{ {given} }} {edge('n', 'q', 'to', mapping)} }} }} LIMIT {sample}"
    )


def published(property_: str, limit: int) -> str:
    """The values of `class` or `property` of the vocabulary VoID, in any graph."""
    name = f"?part {iri(_VOID + property_)} ?name ."
    return (
        f"SELECT DISTINCT ?name WHERE {{ {{ {name} }} UNION {{ GRAPH ?kept {{ {name} }} }} }} "
        f"LIMIT {limit}"
    )


def of_edges(mapping: RdfMapping, names: Iterable[str]) -> str:
    """The given predicates that an edge has."""
    return (
        f"SELECT ?p WHERE {{ VALUES ?p {{ {iris(names)} }} "
        f"FILTER EXISTS {{ {edge('s', 'p', 'o', mapping)} }} }}"
    )


# --- what else it has -------------------------------------------------------


def subclasses(mapping: RdfMapping, limit: int) -> str:
    """Pairs of a class and its superclass; only of the preferred types, if there are any."""
    triple = within(mapping, f"?class {iri(SUBCLASS)} ?above .")
    is_type = conditions(["isIRI(?class)", begins("class", mapping.type_namespaces)])
    return (
        f"SELECT DISTINCT ?class ?above WHERE {{ {triple} "
        f"FILTER({is_type} && isIRI(?above)) }} LIMIT {limit}"
    )


def marks(mapping: RdfMapping) -> str:
    """Whether nodes are marked with their main type."""
    return f"ASK {{ {mark('type', mapping)} }}"


def statement_forms(mapping: RdfMapping) -> dict[str, str]:
    """For each form of statements about edges, a query whether there are any."""
    patterns = {
        "reification": f"?r {iri(SUBJECT)} ?s . ?r {iri(PREDICATE)} ?p . ?r {iri(OBJECT)} ?o .",
        "rdf-star": "<< ?s ?p ?o >> ?q ?v .",
        "rdf-1.2": f"?r {iri(REIFIES)} ?t .",
        "wikibase": f"?p {iri(WELL_KNOWN['wikibase'] + 'claim')} ?claim .",
    }
    return {form: f"ASK {{ {within(mapping, one)} }}" for form, one in patterns.items()}


def some_labels(mapping: RdfMapping, limit: int) -> str:
    """Some labels, with their property if there are several."""
    labelled = of_any("s", mapping.labels, "label", mapping)
    return f"SELECT ?label ?label_by WHERE {{ {labelled} }} LIMIT {limit}"
