"""Deletes statements from a graph, listing them first in graphs of the load's own.

An update that names all of them would be as long as the list, and stores refuse long updates. One
graph therefore holds the statements to delete one by one, another marks nodes and edges whose
statements are to be deleted, and the deleting updates are the same few whatever the number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from bfsql.models import Triple
from bfsql_sparql.edge_metadata import claim_of
from bfsql_sparql.mapping import OBJECT, PREDICATE, REIFIES, SUBJECT, TYPE, RdfMapping
from bfsql_sparql.queries.graph import Lead, iri, within

_MARK = "urn:bfsql:/going"
_NODE, _CLAIM = f"{_MARK}/node", f"{_MARK}/claim"
_BY: dict[Lead, str] = {"s": f"{_MARK}/subject", "o": f"{_MARK}/object"}
"""Classes in the graph of marks: nodes, claims of Wikibase, and edges by the end with
which the store looks up statements about them.
"""
_FIRST, _SECOND = f"{_MARK}/first", f"{_MARK}/second"
"""Of a claim: the predicate to its statement node, and the predicate from there to the value."""


def node_mark(node: str) -> str:
    """The line that marks a node, an IRI, for the deletion of all its statements."""
    return _marked(iri(node), _NODE)


def edge_marks(edge: Triple, name: str, forms: Collection[str], lead: Lead) -> Iterator[str]:
    """The lines that mark an edge for the deletion of all statements about it.

    Args:
        edge: Three IRIs.
        name: Name of a blank node, unique to this edge.
        forms: Forms of statements in the graph.
        lead: The end with fewer edges.
    """
    subject, predicate, object_ = map(iri, edge)
    blank = f"_:{name}"
    if "reification" in forms:
        yield _marked(blank, _BY[lead])
        yield from _parts(blank, {SUBJECT: subject, PREDICATE: predicate, OBJECT: object_})
    if "rdf-1.2" in forms:
        yield from _parts(blank, {REIFIES: f"<<( {subject} {predicate} {object_} )>>"})
    if "rdf-star" in forms:
        yield _marked(f"<< {subject} {predicate} {object_} >>", _NODE)
    claim = claim_of(edge) if "wikibase" in forms else None
    if claim is not None:
        _, first, second, _ = claim
        yield _marked(f"{blank}c", _CLAIM)
        parts = {SUBJECT: subject, _FIRST: iri(first), _SECOND: iri(second), OBJECT: object_}
        yield from _parts(f"{blank}c", parts)


def _marked(term: str, class_: str) -> str:
    return f"{term} {iri(TYPE)} {iri(class_)} .\n"


def _parts(term: str, parts: dict[str, str]) -> Iterator[str]:
    for predicate, object_ in parts.items():
        yield f"{term} {iri(predicate)} {object_} .\n"


@dataclass(frozen=True, slots=True)
class Deletion:
    """The updates that delete from a graph.

    Args:
        mapping: How the graph is read.
        lines: IRI of the graph of statements to delete.
        marks: IRI of the graph of marks.
        forms: Forms of statements about edges in the graph.
    """

    mapping: RdfMapping
    lines: str
    marks: str
    forms: Collection[str]

    def updates(self, marks: bool, lines: bool, nodes: bool) -> Iterator[str]:  # noqa: FBT001
        """The updates that delete everything listed.

        Args:
            marks: Whether there are marks.
            lines: Whether there are statements to delete one by one.
            nodes: Whether there are nodes among the marks.
        """
        if marks:
            yield from self._of_edges()
        if nodes:
            yield from self._of_nodes()
        if lines:
            deleted = self._there("?s ?p ?o .")
            yield f"DELETE {{ {deleted} }} WHERE {{ {_in(self.lines, '?s ?p ?o .')} }}"

    def _of_edges(self) -> Iterator[str]:
        """Delete statements about the marked edges."""
        if "reification" in self.forms:
            for lead, class_ in _BY.items():
                known, other = ("s", "o") if lead == "s" else ("o", "s")
                by, to = (SUBJECT, OBJECT) if lead == "s" else (OBJECT, SUBJECT)
                edge = (
                    f"?e {iri(TYPE)} {iri(class_)} . ?e {iri(SUBJECT)} ?s . "
                    f"?e {iri(PREDICATE)} ?p . ?e {iri(OBJECT)} ?o ."
                )
                found = (
                    f"?t {iri(by)} ?{known} . ?t {iri(to)} ?end . ?t {iri(PREDICATE)} ?by . "
                    "?t ?k ?v ."
                )
                condition = f"FILTER(?by = ?p && ?end = ?{other})"
                yield self._delete("?t ?k ?v .", edge, f"{self._there(found)} {condition}")
        if "rdf-1.2" in self.forms:
            found = self._there(f"?t {iri(REIFIES)} ?edge . ?t ?k ?v .")
            yield self._delete("?t ?k ?v .", f"?e {iri(REIFIES)} ?edge .", found)
        if "wikibase" in self.forms:
            claim = (
                f"?e {iri(TYPE)} {iri(_CLAIM)} . ?e {iri(SUBJECT)} ?s . ?e {iri(_FIRST)} ?a . "
                f"?e {iri(_SECOND)} ?b . ?e {iri(OBJECT)} ?o ."
            )
            found = self._there("?s ?a ?t . ?t ?b ?end . ?t ?k ?v .")
            yield self._delete("?s ?a ?t . ?t ?k ?v .", claim, f"{found} FILTER(?end = ?o)")
        if "rdf-star" in self.forms:
            yield self._of_marked("?n ?k ?v .")

    def _of_nodes(self) -> Iterator[str]:
        """Delete all statements of the marked nodes, and all reified ones about their edges."""
        if "reification" in self.forms:
            for end in (SUBJECT, OBJECT):
                yield self._of_marked(f"?t {iri(end)} ?n . ?t ?k ?v .", "?t ?k ?v .")
        yield self._of_marked("?n ?k ?v .")
        yield self._of_marked("?s ?k ?n .")

    def _of_marked(self, found: str, deleted: str | None = None) -> str:
        node = f"?n {iri(TYPE)} {iri(_NODE)} ."
        return self._delete(deleted or found, node, self._there(found))

    def _delete(self, deleted: str, marked: str, found: str) -> str:
        # A subquery, since otherwise one store would begin with the whole graph.
        where = f"{{ SELECT DISTINCT * WHERE {{ {_in(self.marks, marked)} }} }} {found}"
        return f"DELETE {{ {self._there(deleted)} }} WHERE {{ {where} }}"

    def _there(self, pattern: str) -> str:
        return within(self.mapping, pattern)


def _in(graph: str, pattern: str) -> str:
    return f"GRAPH {iri(graph)} {{ {pattern} }}"
