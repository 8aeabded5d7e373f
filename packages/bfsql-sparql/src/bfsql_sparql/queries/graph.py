"""Query text for nodes, edges and their metadata, and the parts that all queries share.

Values become query text only here (rule 7 of the architecture): `iri`, `iris`, `text`, `literal`.

A triple is given whole, with its position, because some stores would join separate values for both
ends as a product. If the parts of a statement are triples of their own, one end of the edge leads
to the statement and a filter compares the others: left to choose, stores begin with all statements
about a hub, once for each of its edges.

In all functions `mapping` is how to read triples, nodes and predicates are IRIs, `limit` is the
maximum of rows, and `after` is the last `?at` of the previous window, or nothing. The rows of that
`?at` come again, because there may be more with it.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from bfsql.models.json_values import as_text
from bfsql.models.rdf import ALL_LANGUAGES, Literal, is_iri
from bfsql.models.rdf_statements import OBJECT, PREDICATE, REIFIES, SUBJECT
from bfsql_sparql.mapping import NOT_EDGES

if TYPE_CHECKING:
    from bfsql.models import Triple
    from bfsql_sparql.mapping import RdfMapping

Direction: TypeAlias = typing.Literal["out", "in"]
"""Edges that leave a node, or those that enter it."""

End: TypeAlias = typing.Literal["s", "o", "document"]
"""Role of a node for an edge: its subject, its object, or a document that mentions it."""

Lead: TypeAlias = typing.Literal["s", "o"]
"""The end of an edge by which its statement is found."""

NAMED = 4
"""Number of predicates up to which each has a pattern of its own in the query of a ring.

The one edge of a predicate at a node with 20,000 others takes Oxigraph 0.03 ms instead of 7 ms.
With more patterns, each of which repeats the nodes, servers refuse the query for its length.
"""

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
)

# --- values -----------------------------------------------------------------


def iri(value: str) -> str:
    """An IRI between angle brackets.

    Raises:
        ValueError: The text is not an IRI by the grammar, so it could end the brackets.
    """
    if not is_iri(value):
        raise ValueError(f"{value!r} is not an IRI")
    return f"<{value}>"


def iris(values: Iterable[str]) -> str:
    """IRIs with spaces between, for VALUES and IN lists of SPARQL's own."""
    return " ".join(map(iri, values))


def text(value: str) -> str:
    """A plain literal; a lone surrogate is not valid text and becomes U+FFFD."""
    return f'"{as_text(value).translate(_ESCAPES)}"'


def literal(value: Literal) -> str:
    """A literal with its datatype, if any."""
    return text(value.text) + (f"^^{iri(value.datatype)}" if value.datatype else "")


# --- patterns ---------------------------------------------------------------


def within(mapping: RdfMapping, pattern: str, graph: str = "g") -> str:
    """A group graph pattern, matched in the graphs that are read.

    Args:
        mapping: Names these graphs.
        pattern: Without braces around it. With several graphs the whole pattern is
            matched in one of them, so triples that may be in different graphs are given one by one.
        graph: Name of the variable for the graph, unique to each pattern.
    """
    if mapping.all_graphs:
        return f"GRAPH ?{graph} {{ {pattern} }}"
    if len(mapping.graphs) > 1:
        return f"VALUES ?{graph} {{ {iris(mapping.graphs)} }} GRAPH ?{graph} {{ {pattern} }}"
    if mapping.graphs:
        return f"GRAPH {iri(mapping.graphs[0])} {{ {pattern} }}"
    return pattern


def is_node(variable: str, mapping: RdfMapping) -> str:
    """The condition that the value of a variable may be a node."""
    return conditions([f"isIRI(?{variable})", begins(variable, mapping.node_namespaces)])


def is_walked(variable: str, mapping: RdfMapping) -> str:
    """The condition that the value of a variable is a followed predicate."""
    excluded = ", ".join(map(iri, mapping.excluded))
    only = ", ".join(map(iri, mapping.only))
    return conditions(
        [
            f"?{variable} NOT IN ({excluded})" if excluded else "",
            f"?{variable} IN ({only})" if only else "",
            begins(variable, mapping.predicate_namespaces),
        ]
    )


def exists(variable: str, mapping: RdfMapping) -> str:
    """The condition that a value is a node: it has a property, or an edge enters it.

    The first triple found settles either, so a hub costs no more than other nodes.
    """
    leaving = within(mapping, f"?{variable} ?any_p ?any_o .", "any_g")
    entering = within(mapping, f"?any_s ?any_q ?{variable} .", "any_h")
    condition = f"{is_node('any_s', mapping)} && {is_walked('any_q', mapping)}"
    return (
        f"EXISTS {{ {leaving} FILTER(isIRI(?any_o) || isLiteral(?any_o)) }} "
        f"|| EXISTS {{ {entering} FILTER({condition}) }}"
    )


def edge(subject: str, predicate: str, object_: str, mapping: RdfMapping) -> str:
    """A triple that is an edge, in three variables."""
    holds = conditions(
        [is_node(subject, mapping), is_node(object_, mapping), is_walked(predicate, mapping)]
    )
    triple = within(mapping, f"?{subject} ?{predicate} ?{object_} .", f"{predicate}_graph")
    return f"{triple} FILTER({holds})"


def typed(subject: str, type_: str, mapping: RdfMapping) -> str:
    """A node and one of its types, in two variables."""
    return of_any(subject, mapping.types, type_, mapping)


def mark(type_: str, mapping: RdfMapping) -> str:
    """The nodes `?s` that are marked with their main type, and that type in a variable."""
    return within(mapping, f"?s {iri(mapping.primary)} ?{type_} .", "mark_graph")


def of_any(subject: str, properties: Iterable[str], value: str, mapping: RdfMapping) -> str:
    """A value of any of some properties of a node, in two variables."""
    properties = tuple(properties)
    if len(properties) == 1:
        return within(mapping, f"?{subject} {iri(properties[0])} ?{value} .", f"{value}_graph")
    by = f"{value}_by"
    triple = within(mapping, f"?{subject} ?{by} ?{value} .", f"{value}_graph")
    return f"VALUES ?{by} {{ {iris(properties)} }} {triple}"


def labelled(mapping: RdfMapping) -> str:
    """The names of the nodes `?s`, in `?label`."""
    return of_any("s", mapping.names, "label", mapping)


def language_terms(label: str, mapping: RdfMapping) -> tuple[str, ...]:
    """A text as a literal without a language, in each wanted language, and in `mul`."""
    plain = text(label)
    tags = (*(mapping.languages or ("en",)), ALL_LANGUAGES)
    return plain, *(f"{plain}@{tag}" for tag in dict.fromkeys(tags))


def begins(variable: str, namespaces: Iterable[str]) -> str:
    """The condition that an IRI has one of some prefixes; empty for no condition."""
    parts = [f"STRSTARTS(STR(?{variable}), {text(namespace)})" for namespace in namespaces]
    return f"({' || '.join(parts)})" if parts else ""


def conditions(parts: Iterable[str]) -> str:
    """The conjunction of some conditions, without the empty ones."""
    return " && ".join(filter(None, parts)) or "true"


def number_of(pattern: str) -> str:
    """The query for the number of rows of a pattern or a query: one row, which no limit cuts."""
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {pattern} }}"


def in_order(term: str, after: str, limit: int) -> tuple[str, str, str]:
    """Projection, filter and end of a query whose rows are read window by window.

    Rows are ordered by `?at`, the text of a term in ASCII, since one store can compare
    nothing else. The store itself computes it, so that the next window can begin there.
    """
    place = f"ENCODE_FOR_URI(STR({term}))"
    begin = f"FILTER({place} >= {text(after)})" if after else ""
    return f"({place} AS ?at)", begin, f"ORDER BY {place} LIMIT {limit}"


# --- the whole graph --------------------------------------------------------


def any_node(mapping: RdfMapping) -> str:
    """A pattern for all nodes, as `?s`; each comes several times."""
    leaving = within(mapping, "?s ?p ?o .", "leaving_graph")
    described = f"{leaving} FILTER({is_node('s', mapping)} && (isIRI(?o) || isLiteral(?o)))"
    return f"{{ {described} }} UNION {{ {edge('other', 'by', 's', mapping)} }}"


def number_of_nodes(mapping: RdfMapping) -> str:
    """The number of nodes."""
    return f"SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE {{ {any_node(mapping)} }}"


def number_of_edges(mapping: RdfMapping) -> str:
    """The number of edges."""
    return number_of(edge("s", "p", "o", mapping))


def some_nodes(mapping: RdfMapping, limit: int) -> str:
    """The first `limit` nodes that the store returns."""
    return f"SELECT DISTINCT ?s WHERE {{ {any_node(mapping)} }} LIMIT {limit}"


def some_edges(mapping: RdfMapping, limit: int) -> str:
    """The first `limit` edges that the store returns."""
    return f"SELECT ?s ?p ?o WHERE {{ {edge('s', 'p', 'o', mapping)} }} LIMIT {limit}"


# --- edges ------------------------------------------------------------------


class Side(NamedTuple):
    """The triples at one end of nodes, a part of their ring."""

    direction: Direction
    predicates: tuple[str, ...] | None = None
    """Predicates to read, all of which are followed; None for all that are."""


def ring(nodes: Iterable[str], sides: Iterable[Side], mapping: RdfMapping, limit: int) -> str:
    """Edges of nodes at some sides; those to blank nodes are included, to be counted."""
    given = iris(nodes)
    parts = (f"{{ {one} }}" for side in sides for one in _ring_parts(given, side, mapping))
    return f"SELECT ?s ?p ?o WHERE {{ {' UNION '.join(parts)} }} LIMIT {limit}"


def _ring_parts(nodes: str, side: Side, mapping: RdfMapping) -> list[str]:
    given, other = ("s", "o") if side.direction == "out" else ("o", "s")
    start = f"VALUES ?{given} {{ {nodes} }}"
    end = f"({is_node(other, mapping)} || isBlank(?{other}))"
    if side.predicates is None or len(side.predicates) > NAMED:
        triple = within(mapping, "?s ?p ?o .")
        return [f"{start} {triple} FILTER({end} && {_is_of(side, mapping)})"]
    return [  # each by itself, so that the store's index leads only to its triples
        f"{start} {within(mapping, f'?s {iri(one)} ?o .')} FILTER({end}) BIND({iri(one)} AS ?p)"
        for one in side.predicates
    ]


def ring_window(node: str, side: Side, mapping: RdfMapping, after: str, limit: int) -> str:
    """Edges of one node, in the order of their other ends: predicate, end, and its `?at`."""
    at, begin, order = in_order("?end", after, limit)
    edges = _edges_of(node, side, mapping, blank=False)
    return f"SELECT ?p ?end {at} WHERE {{ {edges} {begin} }} {order}"


def degree(node: str, side: Side, mapping: RdfMapping, *, blank: bool) -> str:
    """Number of edges of one node, or of its triples that are not edges because of a blank node."""
    edges = _edges_of(node, side, mapping, blank=blank)
    return number_of(f"SELECT DISTINCT ?p ?end WHERE {{ {edges} }}")


def _edges_of(node: str, side: Side, mapping: RdfMapping, *, blank: bool) -> str:
    triple = f"{iri(node)} ?p ?end ." if side.direction == "out" else f"?end ?p {iri(node)} ."
    end = "isBlank(?end)" if blank else is_node("end", mapping)
    return f"{within(mapping, triple)} FILTER({end} && {_is_of(side, mapping)})"


def _is_of(side: Side, mapping: RdfMapping) -> str:
    """The condition that `?p` is a predicate of one side."""
    if side.predicates is None:
        return is_walked("p", mapping)
    return f"?p IN ({', '.join(map(iri, side.predicates))})"


# --- nodes ------------------------------------------------------------------


def types(nodes: Iterable[str], mapping: RdfMapping, *, marked: bool, limit: int) -> str:
    """Nodes with the main type, if marked, and one column per type property.

    The existence of nodes without a type is a separate query: one store takes a hundred times
    as long for both at once. `marked` is whether nodes may be marked with their main type.
    """
    columns = [f"t{at}" for at in range(len(mapping.types))]
    patterns = [
        within(mapping, f"?s {iri(property_)} ?{column} .", f"{column}_graph")
        for column, property_ in zip(columns, mapping.types, strict=True)
    ]
    if len(patterns) > 1:
        patterns = [f"OPTIONAL {{ {pattern} }}" for pattern in patterns]
    if marked:
        patterns.append(f"OPTIONAL {{ {mark('mark', mapping)} }}")
    shown = " ".join(f"?{name}" for name in ("mark", *columns))
    return _of_each("?s", iris(nodes), f"?s {shown}", " ".join(patterns), limit)


def existing_nodes(nodes: Iterable[str], mapping: RdfMapping, limit: int) -> str:
    """The given nodes that exist."""
    return _of_each("?s", iris(nodes), "?s", f"FILTER({exists('s', mapping)})", limit)


Names: TypeAlias = tuple[str, ...] | None
"""Properties whose literals are read; None for all."""


def properties(nodes: Iterable[str], mapping: RdfMapping, names: Names, limit: int) -> str:
    """Literals and types of nodes: node, property and value."""
    return _of_each("?s", iris(nodes), "?s ?p ?o", _values_of("?s", mapping, names), limit)


def properties_window(node: str, mapping: RdfMapping, names: Names, after: str, limit: int) -> str:
    """Literals and types of one node, in the order of their texts: property, value, `?at`."""
    at, begin, order = in_order("?o", after, limit)
    return f"SELECT ?p ?o {at} WHERE {{ {_values_of(iri(node), mapping, names)} {begin} }} {order}"


def number_of_properties(node: str, mapping: RdfMapping, names: Names) -> str:
    """The number of literals and types of a node."""
    return number_of(f"SELECT DISTINCT ?p ?o WHERE {{ {_values_of(iri(node), mapping, names)} }}")


def _values_of(node: str, mapping: RdfMapping, names: Names) -> str:
    by = ", ".join(map(iri, (*mapping.types, mapping.primary)))
    wanted = "isLiteral(?o)"
    if names is not None:
        wanted = f"(?p IN ({', '.join(map(iri, names))}) && isLiteral(?o))" if names else "false"
    return f"{within(mapping, f'{node} ?p ?o .')} FILTER({wanted} || ?p IN ({by}))"


# --- statements about edges -------------------------------------------------

_STATEMENT = {
    "reification": (
        f"?t {iri(SUBJECT)} ?s . ?t {iri(PREDICATE)} ?p . ?t {iri(OBJECT)} ?o . ",
        "?t",
    ),
    "rdf-1.2": (f"?t {iri(REIFIES)} <<( ?s ?p ?o )>> . ", "?t"),
    "rdf-star": ("", "<< ?s ?p ?o >>"),
}
"""For each form, the pattern that finds the statement about a triple, and the term for it."""

_REIFIED: dict[Lead, str] = {
    "s": f"?t {iri(SUBJECT)} ?s . ?t {iri(OBJECT)} ?end . ?t {iri(PREDICATE)} ?by . ",
    "o": f"?t {iri(OBJECT)} ?o . ?t {iri(SUBJECT)} ?end . ?t {iri(PREDICATE)} ?by . ",
}
"""The patterns for the statements about all triples with one end, to compare with the others."""


def existing_edges(edges: Iterable[Triple], mapping: RdfMapping, limit: int) -> str:
    """The positions of the triples that are in the store."""
    return _about(edges, "?n", within(mapping, "?s ?p ?o ."), limit)


def named_graphs(edges: Iterable[Triple], limit: int) -> str:
    """The named graphs of each triple: position and graph."""
    return _about(edges, "?n ?g", "GRAPH ?g { ?s ?p ?o . }", limit)


def statements(
    form: str, edges: Iterable[Triple], mapping: RdfMapping, limit: int, lead: Lead, *, names: Names
) -> str:
    """The content of statements about each triple: position, statement, property and value.

    The form is `reification` or `rdf-1.2`; or `rdf-star`, in which each triple has one statement.
    A reified one is found by the end `lead`, the one with fewer edges. With `names`, only these
    properties are read.
    """
    known = ", ".join(map(iri, (*NOT_EDGES, mapping.document)))
    condition = f"FILTER(?k NOT IN ({known}))"
    if names is not None:
        condition += f" FILTER(?k IN ({', '.join(map(iri, names))}))" if names else " FILTER(false)"
    if form == "rdf-star":  # stores that have it look up such values, but search for such patterns
        given = " ".join(f"({at} << {iris(edge)} >>)" for at, edge in enumerate(edges))
        values = within(mapping, "?t ?k ?v .")
        return _of_each("(?n ?t)", given, "?n ?k ?v", f"{values} {condition}", limit)
    found = _REIFIED[lead] if form == "reification" else _STATEMENT[form][0]
    if form == "reification":
        condition += f" FILTER(?by = ?p && ?end = ?{'o' if lead == 's' else 's'})"
    values = within(mapping, f"{found}?t ?k ?v .")
    return _about(edges, "?n ?t ?k ?v", f"{values} {condition}", limit)


def wikibase_statements(claims: Iterable[tuple[str, ...]], mapping: RdfMapping, limit: int) -> str:
    """The content of Wikibase's statement nodes about each claim, as in `statements`.

    A claim is an item, its property to the statement node, the statement node's property to the
    value, and the value.
    """
    given = " ".join(f"({at} {iris(claim)})" for at, claim in enumerate(claims))
    values = within(mapping, "?s ?a ?t . ?t ?b ?end . ?t ?k ?v .")
    pattern = f"{values} FILTER(?end = ?o)"
    return _of_each("(?n ?s ?a ?b ?o)", given, "?n ?t ?k ?v", pattern, limit)


def all_values(resources: Iterable[str], mapping: RdfMapping, limit: int) -> str:
    """All properties of resources, such as the references of a statement."""
    values = within(mapping, "?t ?k ?v .")
    return _of_each("?t", iris(resources), "?t ?k ?v", values, limit)


def evidence(form: str, node: str, end: End, mapping: RdfMapping, limit: int) -> str:
    """The triples and the evidence of the edges of which a node is an `end`.

    The form is `reification`, `rdf-1.2` or `rdf-star`.
    """
    found, statement = _STATEMENT[form]
    value = f"{found}{statement} {iri(mapping.provenance)} ?v ."
    if end == "document":
        value = f"{statement} {iri(mapping.document)} ?document . {value}"
    there = f"FILTER EXISTS {{ {within(mapping, '?s ?p ?o .', 'there')} }}"
    pattern = f"{within(mapping, value)} {there}"
    return _of_each(f"?{end}", iri(node), "?s ?p ?o ?v", pattern, limit)


def _about(edges: Iterable[Triple], shown: str, pattern: str, limit: int) -> str:
    given = " ".join(f"({at} {iris(edge)})" for at, edge in enumerate(edges))
    return _of_each("(?n ?s ?p ?o)", given, shown, pattern, limit)


def _of_each(variables: str, values: str, shown: str, pattern: str, limit: int) -> str:
    """The rows of a pattern for each of the values of some variables."""
    return f"SELECT {shown} WHERE {{ VALUES {variables} {{ {values} }} {pattern} }} LIMIT {limit}"
