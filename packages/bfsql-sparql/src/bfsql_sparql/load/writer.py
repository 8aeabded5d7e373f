"""A graph as statements of RDF, in lines of N-Triples, and the updates that write them.

Reading the statements returns the same graph.

| in the graph | statements |
|---|---|
| a node's type | `rdf:type`; each of several, and the main one as `<base>/entityType` |
| `name`, `synonyms` | `rdfs:label`, `skos:altLabel`; odd ones also under `<base>name`, ... |
| other metadata | literals under the id of the key |
| an edge | one statement between IRIs |
| an edge's metadata | as set by `write_statements`; `<base>/document` leads to its documents |

The properties for types and names are the first ones of the settings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from bfsql.loading import StagedEdge, StagedNode
from bfsql.models import EdgeRecord, GraphRecord
from bfsql.models.json_values import as_text
from bfsql.models.merge import sorted_union
from bfsql.models.rdf import JSON, WELL_KNOWN, Literal, is_iri
from bfsql.models.rdf_statements import OBJECT, PREDICATE, REIFIES, SUBJECT, TYPE
from bfsql.models.rdf_types import UNTYPED
from bfsql_sparql.mapping import NOT_EDGES, RdfMapping
from bfsql_sparql.queries.graph import iri, literal

if TYPE_CHECKING:
    from bfsql_sparql.settings import SparqlSettings

_XSD = WELL_KNOWN["xsd"]


class StatementWriter:
    """Makes statements of merged nodes and edges, as the mapping will read them."""

    def __init__(self, mapping: RdfMapping, settings: SparqlSettings) -> None:
        self._mapping = mapping
        self._form = settings.write_statements
        self._numbers = count(1)

    def check(self, record: GraphRecord) -> None:
        """Refuse records that would be read back differently.

        Raises:
            ValueError: The record cannot be written; the text is the reason.
        """
        if not isinstance(record, EdgeRecord):
            return
        mapping = self._mapping
        reserved = {*NOT_EDGES, *mapping.types, mapping.primary, mapping.document}
        if mapping.ids.iri(record.predicate) in reserved:  # None if it is not text
            raise ValueError(
                f"its predicate {record.predicate} denotes types or statements in RDF, so it "
                "would not be an edge; write it as the node's type, or rename it"
            )

    def node(self, node: StagedNode) -> list[str]:
        """The lines of a node, at least one."""
        subject = iri(self._iri(node.id))
        metadata = {key: value for key, value in node.metadata.items() if value is not None}
        return [f"{subject} {said} .\n" for said in self._said_of_node(node, metadata)]

    def edge(self, edge: StagedEdge) -> list[str]:
        """The lines of an edge; names of blank nodes apply only to these lines."""
        ends = (iri(self._iri(name)) for name in edge[:3])
        triple = " ".join(ends)
        lines = [f"{triple} .\n"]
        said = [one for key, value in edge.metadata.items() for one in self._literals(key, value)]
        documents = map(self._iri, _documents(edge.metadata.get("provenance")))
        said += [f"{iri(self._mapping.document)} {iri(document)}" for document in documents]
        if said and self._form != "none":
            about, more = self._statement(triple)
            lines += [f"{about} {one} .\n" for one in (*more, *said)]
        return lines

    def _iri(self, id_: str) -> str:
        found = self._mapping.ids.iri(id_)
        assert found is not None  # the staging refused invalid text
        return found

    def _said_of_node(self, node: StagedNode, metadata: dict[str, Any]) -> Iterator[str]:
        mapping = self._mapping
        others = metadata.pop("other_types", None)
        further = _texts(others)
        for name in dict.fromkeys((node.entity_type, *further)):
            yield f"{iri(mapping.types[0])} {iri(self._iri(name))}"
        if further:
            yield f"{iri(mapping.primary)} {iri(self._iri(node.entity_type))}"
        if not _is_several(further) or further != others or node.entity_type in further:
            yield from self._literals("other_types", others)
        name = metadata.pop("name", None)
        if _is_plain(name) and mapping.labels:
            yield f"{iri(mapping.labels[0])} {literal(_literals_of(name)[0])}"
        else:
            yield from self._literals("name", name)
        synonyms = metadata.pop("synonyms", None)
        found = [one for one in _texts(synonyms) if _is_plain(one)] if mapping.aliases else []
        for one in dict.fromkeys(found):
            yield f"{iri(mapping.aliases[0])} {literal(_literals_of(one)[0])}"
        if not _is_several(found) or found != synonyms:
            yield from self._literals("synonyms", synonyms)
        for key, value in metadata.items():
            yield from self._literals(key, value)

    def _literals(self, key: str, value: Any) -> Iterator[str]:
        if value is not None:
            for one in _literals_of(value):
                yield f"{iri(self._iri(key))} {literal(one)}"

    def _statement(self, triple: str) -> tuple[str, list[str]]:
        """The term for a statement, and the predicates and objects that define it."""
        if self._form == "rdf-star":
            return f"<< {triple} >>", []
        blank = f"_:s{next(self._numbers)}"
        if self._form == "rdf-1.2":
            return blank, [f"{iri(REIFIES)} <<( {triple} )>>"]
        subject, predicate, object_ = triple.split(" ")
        return blank, [
            f"{iri(SUBJECT)} {subject}",
            f"{iri(PREDICATE)} {predicate}",
            f"{iri(OBJECT)} {object_}",
        ]


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _documents(provenance: Any) -> Iterable[str]:
    """Ids of the documents that evidence is from, each once."""
    items = provenance if isinstance(provenance, list) else []
    found = (item.get("document_id") for item in items if isinstance(item, dict))
    return dict.fromkeys(one for one in found if isinstance(one, str))


# --- values -----------------------------------------------------------------
#
# Stores rewrite literals: Oxigraph writes numbers in its own way, Virtuoso shows six digits of a
# double, makes decimals of integers beyond 32 bits and takes no U+0000. So only what passes
# through all of them is a literal of its own type; anything else is a JSON text with the datatype
# `rdf:JSON`. `bfsql.models.rdf.value_of` reads them.


def _literals_of(value: Any) -> list[Literal]:
    """The literals that a value is written as.

    A list becomes several where nothing is lost by it: a set of values has no order, no
    duplicates, no length below two and, since stores convert, not two types of numbers.
    """
    if isinstance(value, list) and _is_several(value) and len(set(map(type, value)) - {str}) <= 1:
        several = [_scalar(item) for item in value]
        if len(several) > 1 and None not in several:
            return [one for one in several if one is not None]
    return [_scalar(value) or _json(value)]


def _is_several(values: list[Any]) -> bool:
    """Whether the list is as values of one property come back: some, sorted, each once."""
    return bool(values) and sorted_union(values) == values


def _is_plain(value: Any) -> bool:
    """Whether the value is a text that can stand as a literal."""
    return isinstance(value, str) and "\0" not in value


def _scalar(value: Any) -> Literal | None:
    """The literal of its own type; None where some store would change it."""
    match value:
        case bool():
            return Literal(str(value).lower(), None, f"{_XSD}boolean")
        case int() if -(2**31) <= value < 2**31:
            return Literal(str(value), None, f"{_XSD}integer")
        case float() if float(f"{value:g}") == value:
            return Literal(repr(value), None, f"{_XSD}double")
        case str() if _is_plain(value):
            # Virtuoso makes an IRI of a bare text that is one in the same update.
            return Literal(as_text(value), None, f"{_XSD}string" if is_iri(value) else None)
    return None


def _json(value: Any) -> Literal:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Literal(as_text(written), None, JSON)


# --- updates: the only texts that change a store ------------------------------

DEFAULT = "DEFAULT"
"""What updates call the graph without a name."""


def named(graph: str) -> str:
    """What updates call a named graph."""
    return f"GRAPH {iri(graph)}"


def insert(graph: str, statements: Iterable[str], *, as_data: bool) -> str:
    """Adds statements, as lines of N-Triples, to a named graph.

    Most stores read data several times faster than a template, in which all of them take blank
    nodes.
    """
    added = f"{{ {named(graph)} {{\n{''.join(statements)}}} }}"
    return f"INSERT DATA {added}" if as_data else f"INSERT {added} WHERE {{}}"


def try_data(graph: str) -> str:
    """Adds a blank node as data to a graph that is not there, and deletes it again."""
    statement = f"_:b {iri(TYPE)} {iri(UNTYPED)} .\n"
    return f"{insert(graph, [statement], as_data=True)} ;\n{drop(graph)}"


def insert_mark(graph: str) -> str:
    """Adds a statement about a named graph to that graph."""
    return insert(graph, [f"{iri(graph)} {iri(TYPE)} {iri(UNTYPED)} .\n"], as_data=True)


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
    """Adds the statements of a named graph to another."""
    return f"ADD {named(graph)} TO {target}"


def add_nothing(graph: str, target: str) -> str:
    """Changes nothing, as long as there is no such graph; fails where `add` would."""
    return f"ADD SILENT {named(graph)} TO {target}"
