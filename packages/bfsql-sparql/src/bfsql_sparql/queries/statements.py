"""What is asked for what is said of edges, in each of the forms in which it is kept.

A triple is given whole, with its position: values for both ends apart would be
joined as a product by some stores. Where the parts of a statement are triples of
their own, one end of the edge leads to the statement and the others are compared
by a filter: left to choose, stores begin with all statements about a hub, once
for each of its edges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

from bfsql_sparql.queries.quoting import iri, iris
from bfsql_sparql.vocabulary import NOT_EDGES, OBJECT, PREDICATE, REIFIES, SUBJECT

if TYPE_CHECKING:
    from bfsql.models import Triple
    from bfsql_sparql.mapping import Mapping

End: TypeAlias = Literal["s", "o", "document"]
"""What a node is to an edge: its subject, its object, or a document that it stands in."""

Lead: TypeAlias = Literal["s", "o"]
"""The end of an edge by which its statement is found."""

_STATEMENT = {
    "reification": (
        f"?t {iri(SUBJECT)} ?s . ?t {iri(PREDICATE)} ?p . ?t {iri(OBJECT)} ?o . ",
        "?t",
    ),
    "rdf-1.2": (f"?t {iri(REIFIES)} <<( ?s ?p ?o )>> . ", "?t"),
    "rdf-star": ("", "<< ?s ?p ?o >>"),
}
"""What finds the statement about a triple, and what stands for it then."""

_REIFIED: dict[Lead, str] = {
    "s": f"?t {iri(SUBJECT)} ?s . ?t {iri(OBJECT)} ?end . ?t {iri(PREDICATE)} ?by . ",
    "o": f"?t {iri(OBJECT)} ?o . ?t {iri(SUBJECT)} ?end . ?t {iri(PREDICATE)} ?by . ",
}
"""What finds the statements about all triples with one end, to be compared with the others."""


def existing(edges: Iterable[Triple], mapping: Mapping, limit: int) -> str:
    """The positions of the triples that are in the store.

    Args:
        edges: IRIs of subject, predicate and object.
        mapping: How triples are read.
        limit: Rows at the most.
    """
    return _about(edges, "?n", mapping.within("?s ?p ?o ."), limit)


def graphs(edges: Iterable[Triple], limit: int) -> str:
    """The named graphs of each triple: position and graph."""
    return _about(edges, "?n ?g", "GRAPH ?g { ?s ?p ?o . }", limit)


def said(form: str, edges: Iterable[Triple], mapping: Mapping, limit: int, lead: Lead = "s") -> str:
    """What is said of each triple: position, statement, property and value.

    Args:
        form: `reification` or `rdf-1.2`; or `rdf-star`, where each triple has one statement.
        edges: IRIs of subject, predicate and object.
        mapping: How triples are read.
        limit: Rows at the most.
        lead: The end by which a reified statement is found, the one with fewer edges.
    """
    known = ", ".join(map(iri, (*NOT_EDGES, mapping.document)))
    condition = f"FILTER(?k NOT IN ({known}))"
    if form == "rdf-star":  # stores that have it look up such values, and search for such patterns
        given = " ".join(f"({at} << {iris(edge)} >>)" for at, edge in enumerate(edges))
        told = mapping.within("?t ?k ?v .")
        return (
            f"SELECT ?n ?k ?v WHERE {{ VALUES (?n ?t) {{ {given} }} {told} {condition} }} "
            f"LIMIT {limit}"
        )
    found = _REIFIED[lead] if form == "reification" else _STATEMENT[form][0]
    if form == "reification":
        condition += f" FILTER(?by = ?p && ?end = ?{'o' if lead == 's' else 's'})"
    told = mapping.within(f"{found}?t ?k ?v .")
    return _about(edges, "?n ?t ?k ?v", f"{told} {condition}", limit)


def wikibase(claims: Iterable[tuple[str, ...]], mapping: Mapping, limit: int) -> str:
    """What Wikibase's statement nodes say of each claim: as `said`.

    Args:
        claims: IRIs: the item, its property to the statement node, the statement node's
            property to the value, the value.
        mapping: How triples are read.
        limit: Rows at the most.
    """
    given = " ".join(f"({at} {iris(claim)})" for at, claim in enumerate(claims))
    told = mapping.within("?s ?a ?t . ?t ?b ?end . ?t ?k ?v .")
    return (
        f"SELECT ?n ?t ?k ?v WHERE {{ VALUES (?n ?s ?a ?b ?o) {{ {given} }} {told} "
        f"FILTER(?end = ?o) }} LIMIT {limit}"
    )


def properties(resources: Iterable[str], mapping: Mapping, limit: int) -> str:
    """Everything that is said of resources, such as the references of a statement."""
    told = mapping.within("?t ?k ?v .")
    return f"SELECT ?t ?k ?v WHERE {{ VALUES ?t {{ {iris(resources)} }} {told} }} LIMIT {limit}"


def evidence(form: str, node: str, end: End, mapping: Mapping, limit: int) -> str:
    """The evidence of the edges that a node has to do with: their triples, and it.

    Args:
        form: `reification`, `rdf-1.2` or `rdf-star`.
        node: An IRI.
        end: What the node is to the edges.
        mapping: How triples are read.
        limit: Rows at the most.
    """
    found, statement = _STATEMENT[form]
    told = f"{found}{statement} {iri(mapping.provenance)} ?v ."
    given = f"VALUES ?{end} {{ {iri(node)} }}"
    if end == "document":
        told = f"{statement} {iri(mapping.document)} ?document . {told}"
    return (
        f"SELECT ?s ?p ?o ?v WHERE {{ {given} {mapping.within(told)} "
        f"FILTER EXISTS {{ {mapping.within('?s ?p ?o .', 'there')} }} }} LIMIT {limit}"
    )


def _about(edges: Iterable[Triple], shown: str, pattern: str, limit: int) -> str:
    given = " ".join(f"({at} {iris(edge)})" for at, edge in enumerate(edges))
    return f"SELECT {shown} WHERE {{ VALUES (?n ?s ?p ?o) {{ {given} }} {pattern} }} LIMIT {limit}"
