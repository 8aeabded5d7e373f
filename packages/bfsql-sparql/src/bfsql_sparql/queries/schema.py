"""What is asked to learn which types and predicates a store has, and what else it knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bfsql.models.rdf import WELL_KNOWN
from bfsql_sparql.queries.patterns import begins, conditions, edge, is_node, of_any, typed
from bfsql_sparql.queries.quoting import iri, iris
from bfsql_sparql.vocabulary import OBJECT, PREDICATE, REIFIES, SUBCLASS, SUBJECT

if TYPE_CHECKING:
    from bfsql_sparql.mapping import Mapping

_VOID = WELL_KNOWN["void"]


def types(mapping: Mapping, limit: int) -> str:
    """Types of anything."""
    return f"SELECT DISTINCT ?type WHERE {{ {typed('s', 'type', mapping)} }} LIMIT {limit}"


def best_types(mapping: Mapping, ranked: Sequence[str], *, marked: bool) -> str:
    """The rank of the best type of each node, each rank once.

    Args:
        mapping: How triples are read.
        ranked: All types, best first.
        marked: Whether some nodes are marked with the type that counts; they are left out.
    """
    pairs = " ".join(f"({iri(one)} {rank})" for rank, one in enumerate(ranked))
    kept = f"FILTER NOT EXISTS {{ {_marked(mapping, 'mark')} }}" if marked else ""
    return (
        "SELECT DISTINCT ?best WHERE { SELECT ?s (MIN(?rank) AS ?best) WHERE { "
        f"VALUES (?type ?rank) {{ {pairs} }} {typed('s', 'type', mapping)} "
        f"FILTER({is_node('s', mapping)}) {kept} }} GROUP BY ?s }}"
    )


def marked_types(mapping: Mapping, limit: int) -> str:
    """The types that nodes are marked with."""
    return f"SELECT DISTINCT ?type WHERE {{ {_marked(mapping)} }} LIMIT {limit}"


def untyped(mapping: Mapping) -> str:
    """Whether there is a node without a type.

    MINUS would say the same, and compares each node with each type in rdflib and RDF4J.
    """
    told = f"{is_node('s', mapping)} && (isIRI(?o) || isLiteral(?o))"
    subject = f"{mapping.within('?s ?p ?o .')} FILTER({told})"
    return (
        f"ASK {{ {{ {subject} }} UNION {{ {edge('x', 'p', 's', mapping)} }} "
        f"FILTER NOT EXISTS {{ {typed('s', 'type', mapping)} }} }}"
    )


def predicates(mapping: Mapping, limit: int) -> str:
    """Predicates of edges."""
    return f"SELECT DISTINCT ?p WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {limit}"


# --- samples ----------------------------------------------------------------


def some_types(mapping: Mapping, sample: int) -> str:
    """Types in the first statements of a type."""
    told = f"{typed('s', 'type', mapping)} FILTER({is_node('s', mapping)})"
    some = f"SELECT ?type WHERE {{ {told} }} LIMIT {sample}"
    return f"SELECT DISTINCT ?type WHERE {{ {some} }}"


def some_predicates(mapping: Mapping, sample: int) -> str:
    """Predicates of the first edges."""
    some = f"SELECT ?p WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {sample}"
    return f"SELECT DISTINCT ?p WHERE {{ {some} }}"


def most_linked(mapping: Mapping, sample: int, limit: int) -> str:
    """The nodes that most of the first edges enter."""
    some = f"SELECT ?o WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {sample}"
    return (
        f"SELECT ?o (COUNT(*) AS ?n) WHERE {{ {{ {some} }} }} "
        f"GROUP BY ?o ORDER BY DESC(?n) STR(?o) LIMIT {limit}"
    )


def types_around(mapping: Mapping, seeds: Iterable[str], sample: int) -> str:
    """Types of nodes and of their neighbours."""
    near = _near(mapping, seeds, sample)
    return f"SELECT DISTINCT ?type WHERE {{ {{ {near} }} {typed('n', 'type', mapping)} }}"


def predicates_around(mapping: Mapping, seeds: Iterable[str], sample: int) -> str:
    """Predicates of the edges that leave nodes and their neighbours, and that enter the nodes."""
    near, given = _near(mapping, seeds, sample), f"VALUES ?o {{ {iris(seeds)} }}"
    entering = f"SELECT ?p WHERE {{ {given} {edge('s', 'p', 'o', mapping)} }} LIMIT {sample}"
    return (
        f"SELECT DISTINCT ?p WHERE {{ {{ {{ {near} }} {edge('n', 'p', 'other', mapping)} }} "
        f"UNION {{ {entering} }} }}"
    )


def _near(mapping: Mapping, seeds: Iterable[str], sample: int) -> str:
    given = iris(seeds)
    return (
        f"SELECT DISTINCT ?n WHERE {{ {{ VALUES ?n {{ {given} }} }} "
        f"UNION {{ VALUES ?from {{ {given} }} {edge('from', 'q', 'n', mapping)} }} "
        f"UNION {{ VALUES ?to {{ {given} }} {edge('n', 'q', 'to', mapping)} }} }} LIMIT {sample}"
    )


def published(property_: str, limit: int) -> str:
    """What the store's own description of its data names, wherever that is kept.

    Args:
        property_: `class` or `property` of the vocabulary VoID.
        limit: Names at the most.
    """
    told = f"?part {iri(_VOID + property_)} ?name ."
    return (
        f"SELECT DISTINCT ?name WHERE {{ {{ {told} }} UNION {{ GRAPH ?kept {{ {told} }} }} }} "
        f"LIMIT {limit}"
    )


def of_edges(mapping: Mapping, names: Iterable[str]) -> str:
    """Of these predicates, those that an edge has."""
    return (
        f"SELECT ?p WHERE {{ VALUES ?p {{ {iris(names)} }} "
        f"FILTER EXISTS {{ {edge('s', 'p', 'o', mapping)} }} }}"
    )


# --- what else it has -------------------------------------------------------


def subclasses(mapping: Mapping, limit: int) -> str:
    """Pairs of a class and one above it; of the types that count first, where some do."""
    triple = mapping.within(f"?class {iri(SUBCLASS)} ?above .")
    is_type = conditions(["isIRI(?class)", begins("class", mapping.type_namespaces)])
    return (
        f"SELECT DISTINCT ?class ?above WHERE {{ {triple} "
        f"FILTER({is_type} && isIRI(?above)) }} LIMIT {limit}"
    )


def marks(mapping: Mapping) -> str:
    """Whether nodes are marked with the type that counts."""
    return f"ASK {{ {_marked(mapping)} }}"


def reification(mapping: Mapping) -> str:
    """Whether statements are described as resources."""
    triples = f"?r {iri(SUBJECT)} ?s . ?r {iri(PREDICATE)} ?p . ?r {iri(OBJECT)} ?o ."
    return f"ASK {{ {mapping.within(triples)} }}"


def reifiers(mapping: Mapping) -> str:
    """Whether there are reifiers of triple terms, as RDF 1.2 has them."""
    return f"ASK {{ {mapping.within(f'?r {iri(REIFIES)} ?t .')} }}"


def quoted_triples(mapping: Mapping) -> str:
    """Whether there are quoted triples, as RDF-star had them."""
    return f"ASK {{ {mapping.within('<< ?s ?p ?o >> ?q ?v .')} }}"


def wikibase(mapping: Mapping) -> str:
    """Whether predicates have statement nodes, as Wikibase has them."""
    triple = f"?p {iri(WELL_KNOWN['wikibase'] + 'claim')} ?claim ."
    return f"ASK {{ {mapping.within(triple)} }}"


def some_labels(mapping: Mapping, limit: int) -> str:
    """Some labels."""
    labelled = of_any("s", mapping.labels, "label", mapping)
    return f"SELECT ?label WHERE {{ {labelled} }} LIMIT {limit}"


def _marked(mapping: Mapping, type_: str = "type") -> str:
    return mapping.within(f"?s {iri(mapping.primary)} ?{type_} .", "mark_graph")
