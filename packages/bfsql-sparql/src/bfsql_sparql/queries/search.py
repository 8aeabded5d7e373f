"""Query text of searches: patterns that find nodes, and their descriptions.

In all functions `mapping` is how to read triples, `types` are the types to include (none for all),
`limit` is the maximum of nodes, and `marked` is whether nodes may be marked with their main type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bfsql.models.rdf import ALL_LANGUAGES
from bfsql.models.rdf_types import UNTYPED
from bfsql_sparql.queries.graph import (
    exists,
    iris,
    is_node,
    labelled,
    language_terms,
    text,
    typed,
    within,
)

if TYPE_CHECKING:
    from bfsql_sparql.mapping import RdfMapping

_NO_LANGUAGE = text("")


def described(found: str, mapping: RdfMapping, *, marked: bool) -> str:
    """Names and types of the nodes that a pattern binds to `?s`, as node, property and value."""
    values = f"OPTIONAL {{ {_values(mapping, marked=marked)} }}"
    return f"SELECT DISTINCT ?s ?property ?value WHERE {{ {found} {values} }}"


def with_ids(
    exact: Iterable[str], others: Iterable[str], mapping: RdfMapping, *, marked: bool
) -> str:
    """Names and types of nodes by their IRIs, like `described`.

    The `exact` nodes need neither: a row with only a node means that it exists. The others count
    if they have a name or a type.
    """
    exact = tuple(exact)
    given = f"VALUES ?s {{ {iris(dict.fromkeys((*exact, *others)))} }}"
    there = f"VALUES ?s {{ {iris(exact)} }} FILTER({exists('s', mapping)})"
    values = _values(mapping, marked=marked)
    return (
        f"SELECT DISTINCT ?s ?property ?value WHERE {{ {{ {given} {values} }} "
        f"UNION {{ {there} }} FILTER({is_node('s', mapping)}) }}"
    )


def named(labels: Iterable[str], types: Sequence[str], mapping: RdfMapping, limit: int) -> str:
    """A pattern for the nodes with exactly one of some labels or aliases."""
    terms = [term for label in labels for term in language_terms(label, mapping)]
    return (
        f"{{ SELECT DISTINCT ?s WHERE {{ VALUES ?label {{ {' '.join(terms)} }} "
        f"{labelled(mapping)} FILTER({is_node('s', mapping)}) {of_types(types, mapping)} }} "
        f"ORDER BY STR(?s) LIMIT {limit} }}"
    )


def containing(query: str, types: Sequence[str], mapping: RdfMapping, limit: int) -> str:
    """A pattern for the best nodes whose label or alias contains a text in lower case."""
    lower = "LCASE(STR(?label))"
    begins = f"STRSTARTS({lower}, {text(query)})"
    found = f"{labelled(mapping)} FILTER(CONTAINS({lower}, {text(query)}))"
    # A label that begins with the text comes before all others.
    order = f"IF({begins}, 0, 1000000) + STRLEN(STR(?label))"
    return _best(found, order, types, mapping, limit)


def alike(expression: str, types: Sequence[str], mapping: RdfMapping, limit: int) -> str:
    """A pattern for the best nodes with a label or alias that matches a regular expression."""
    found = f'{labelled(mapping)} FILTER(REGEX(STR(?label), {text(expression)}, "i"))'
    return _best(found, "STRLEN(STR(?label))", types, mapping, limit)


def with_parts(
    parts: Iterable[str], types: Sequence[str], mapping: RdfMapping, limit: int, *, length: int
) -> str:
    """A pattern for nodes whose label or alias contains one of some texts in lower case.

    `length` is that of the sought label; the nearest in length come first.
    """
    label = "LCASE(STR(?label))"
    tests = " || ".join(f"CONTAINS({label}, {text(part)})" for part in parts)
    order = f"ABS(STRLEN(STR(?label)) - {length})"
    return _best(f"{labelled(mapping)} FILTER({tests})", order, types, mapping, limit)


def with_words(words: Iterable[str], types: Sequence[str], mapping: RdfMapping, limit: int) -> str:
    """A pattern for nodes whose label or alias contains one of some words, so many of each."""
    return " UNION ".join(
        f"{{ SELECT DISTINCT ?s WHERE {{ {labelled(mapping)} "
        f"FILTER(CONTAINS(LCASE(STR(?label)), {text(word)}) && {is_node('s', mapping)}) "
        f"{of_types(types, mapping)} }} LIMIT {limit} }}"
        for word in words
    )


def by_words(found: str, types: Sequence[str], mapping: RdfMapping, limit: int) -> str:
    """A pattern for the hits of a full-text search, which binds `?s` and perhaps `?score`."""
    return (
        f"{{ SELECT ?s (MAX(?score) AS ?best) WHERE {{ {found} FILTER({is_node('s', mapping)}) "
        f"{of_types(types, mapping)} }} GROUP BY ?s ORDER BY DESC(?best) STR(?s) LIMIT {limit} }}"
    )


def with_id(
    parts: Iterable[str], types: Sequence[str], mapping: RdfMapping, limit: int, *, only_typed: bool
) -> str:
    """A pattern for the nodes whose IRI contains one of some texts in lower case.

    `only_typed` looks only at the nodes with a type, which are fewer triples.
    """
    tests = " || ".join(f"CONTAINS(LCASE(STR(?s)), {text(part)})" for part in parts)
    triple = within(mapping, "?s ?p ?o .", "id_g")
    among = typed("s", "any_type", mapping) if only_typed else triple
    return (
        f"{{ SELECT DISTINCT ?s WHERE {{ {among} FILTER({is_node('s', mapping)} && ({tests})) "
        f"{of_types(types, mapping)} }} ORDER BY STRLEN(STR(?s)) STR(?s) LIMIT {limit} }}"
    )


def of_types(types: Sequence[str], mapping: RdfMapping) -> str:
    """The condition that a node has one of some types; no condition if there are none."""
    if not types:
        return ""
    has = f"VALUES ?wanted {{ {iris(types)} }} {typed('s', 'wanted', mapping)}"
    if UNTYPED not in types:
        return has
    none = f"NOT EXISTS {{ {typed('s', 'any', mapping)} }}"
    return f"FILTER(EXISTS {{ {has} }} || {none})"


def _values(mapping: RdfMapping, *, marked: bool) -> str:
    """The pattern for the names and types of a node."""
    marks = (mapping.primary,) if marked else ()
    properties = dict.fromkeys((*mapping.names, *mapping.types, *marks))
    triple = within(mapping, "?s ?property ?value .", "value_graph")
    return f"VALUES ?property {{ {iris(properties)} }} {triple} {_in_languages(mapping)}"


def _best(found: str, order: str, types: Sequence[str], mapping: RdfMapping, limit: int) -> str:
    return (
        f"{{ SELECT ?s (MIN({order}) AS ?best) WHERE {{ {found} "
        f"FILTER({is_node('s', mapping)}) {of_types(types, mapping)} }} "
        f"GROUP BY ?s ORDER BY ?best STR(?s) LIMIT {limit} }}"
    )


def _in_languages(mapping: RdfMapping) -> str:
    """A filter for texts of other languages, if the property has one in a wanted language."""
    if not mapping.languages:
        return ""
    other = within(mapping, "?s ?property ?other .", "other_graph")
    return (
        f"FILTER(!isLiteral(?value) || {_type_filter('value', mapping)} || "
        f"NOT EXISTS {{ {other} FILTER(isLiteral(?other) && {_type_filter('other', mapping)}) }})"
    )


def _type_filter(variable: str, mapping: RdfMapping) -> str:
    language = f"LANG(?{variable})"
    tests = [f"LANGMATCHES({language}, {text(tag)})" for tag in (*mapping.languages, ALL_LANGUAGES)]
    return f"({' || '.join([f'{language} = {_NO_LANGUAGE}', *tests])})"
