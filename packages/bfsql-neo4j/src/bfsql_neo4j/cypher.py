"""Parts of Cypher statements: quoted names, the nodes with some ids, and what is read of a node.

Every statement about known nodes begins with index seeks for each requested value, by every
property that may hold an id, in all labels that have an index for it. Measured on 100,000 nodes and
500,000 relationships: a match without a label reads all nodes, once for every id; a label without
an index, all of its nodes. Labels without an index are therefore read once, for all ids together,
and nodes without a label have their element id as their id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from bfsql_neo4j.schema import GraphSchema
from bfsql_neo4j.values import ELEMENT, candidates

Statement = tuple[str, dict[str, Any]]
"""Query text and its parameters."""


class NodeFilter(NamedTuple):
    """A condition on `n` in Cypher."""

    clauses: str
    """Binds values for `verdict`, and leaves out nodes that cannot meet the condition."""
    verdict: str = "true"
    """True, false, or null where the server cannot decide."""
    parameters: Mapping[str, Any] = {}


def quoted(name: str) -> str:
    r"""A label, type, property or index name between backticks; Cypher takes no parameter for it.

    Cypher reads a backslash, a `u` and four digits as a character everywhere, even
    inside backticks, so that a name could close them by \u0060. Every backslash is therefore
    written that way.

    Raises:
        ValueError: The name is empty or contains U+0000.
    """
    if not name or "\0" in name:
        raise ValueError(
            f"{name!r} is not a valid name in Neo4j: a name is not empty and does "
            "not contain U+0000"
        )
    return "`" + name.replace("\\", "\\u005c").replace("`", "``") + "`"


def any_of(names: Iterable[str]) -> str:
    """Alternative names, one of which matches."""
    return "|".join(map(quoted, names))


# --- the nodes with some ids ----------------------------------------------------


def _bind_nodes(schema: GraphSchema, *, elements: bool) -> str:
    """Binds `n` to the nodes whose id may be one of `$values`, or of `$elements`."""
    each = "UNWIND $values AS value MATCH (n:{labels} {{{name}: value}}) RETURN n"
    once = "MATCH (n:{labels}) WHERE n.{name} IN $values RETURN n"
    branches = [
        text.format(labels=any_of(labels), name=quoted(name))
        for text, by_property in ((each, schema.seeks), (once, schema.scans))
        for name, labels in by_property.items()
        if name not in schema.templates
    ]
    for place, text in enumerate(schema.templates):
        branches += _bind_template(schema, place, text)
    if elements or not branches:
        element, given = schema.dialect.element, schema.dialect.element_id("e")
        asked = "$elements" if given == "e" else f"[e IN $elements | {given}]"
        branches.append(f"MATCH (n) WHERE {element}(n) IN {asked} RETURN n")
    if len(branches) == 1:
        # Without the list, the planner returns the requested value for the property's: 42.0 for 42.
        found = branches[0].removesuffix(" RETURN n")
        together = f"{found} WITH collect(DISTINCT n) AS found UNWIND found AS n"
    else:
        scope = "()" if schema.dialect.scoped else ""
        together = f"CALL {scope} {{ {' UNION '.join(branches)} }}"
    excluded = is_node(schema, "n")
    return together if excluded == "true" else f"{together} WITH n WHERE {excluded}"


def _bind_template(schema: GraphSchema, place: int, text: str) -> Iterator[str]:
    """The branches that bind `n` to nodes with the values of `$keys[place]`."""
    names = [quoted(name) for name in schema.templates[text].names]
    keys = f"$keys[{place}]"
    if labels := schema.seeks.get(text):
        values = ", ".join(f"{name}: key[{i}]" for i, name in enumerate(names))
        yield f"UNWIND {keys} AS key MATCH (n:{any_of(labels)} {{{values}}}) RETURN n"
    if labels := schema.scans.get(text):
        values = ", ".join(f"n.{name}" for name in names)
        yield f"MATCH (n:{any_of(labels)}) WHERE [{values}] IN {keys} RETURN n"


def about(schema: GraphSchema, ids: Collection[str], rest: str) -> Statement:
    """A statement about the nodes with these ids."""
    elements = [i.removeprefix(ELEMENT) for i in ids if i.startswith(ELEMENT)]
    values = [value for entity_id in ids for value in candidates(entity_id)]
    parameters = {"values": values, "elements": elements} | schema.parameters
    if schema.templates:
        parameters["keys"] = [
            [key for entity_id in ids for key in template.keys(entity_id)]
            for template in schema.templates.values()
        ]
    return f"{_bind_nodes(schema, elements=bool(elements))} {rest}", parameters


# --- what is read of a node -----------------------------------------------------


def followed_types(schema: GraphSchema) -> str:
    """The relationship types of a pattern, to follow after its variable; empty for all."""
    return f":{any_of(schema.followed)}" if schema.followed else ""


def id_of(schema: GraphSchema, variable: str) -> str:
    """The text of the id, or the element id with its prefix."""
    value = _id_value(schema, variable)
    if schema.aliased:
        value = f"CASE WHEN NOT {element_of(schema, variable)} IN $aliased THEN {value} END"
    return f"coalesce({schema.dialect.text}({value}), '{ELEMENT}' + {element_of(schema, variable)})"


def element_of(schema: GraphSchema, variable: str) -> str:
    """The server's own identifier of a node, as text."""
    return f"toString({schema.dialect.element}({variable}))"


def is_node(schema: GraphSchema, variable: str) -> str:
    """Condition that it has no excluded label."""
    if not schema.excluded:
        return "true"
    return f"NOT {variable}:{any_of(schema.excluded)}"


def _id_value(schema: GraphSchema, variable: str) -> str:
    """The value of the first id property that a node has; null if it has none, or no label."""
    value = _by_label(schema, variable, schema.label_ids, schema.common_ids)
    return (
        f"CASE WHEN size(labels({variable})) > 0 THEN {value} END" if schema.unlabelled else value
    )


def name_of(schema: GraphSchema) -> str:
    """The value of the first name property that `n` has; null if it has none."""
    return _by_label(schema, "n", schema.label_names, schema.names)


def _by_label(
    schema: GraphSchema, variable: str, by_label: Mapping[str, Sequence[str]], common: Sequence[str]
) -> str:
    """The first value of a node's properties: those of a label, or else those for all nodes."""
    value = _first(schema, variable, common)
    if not by_label:
        return value
    cases = " ".join(
        f"WHEN {variable}:{quoted(label)} THEN {_first(schema, variable, names)}"
        for label, names in by_label.items()
    )
    return f"CASE {cases} ELSE {value} END"


def _first(schema: GraphSchema, variable: str, names: Iterable[str]) -> str:
    values = [_value(schema, variable, name) for name in names]
    if not values:
        return "null"
    return values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"


def _value(schema: GraphSchema, variable: str, name: str) -> str:
    """A property, or the text of a template; null if the node lacks one of its properties."""
    template = schema.templates.get(name)
    if template is None:
        return f"{variable}.{quoted(name)}"
    values = [f"{schema.dialect.text}({variable}.{quoted(one)})" for one in template.names]
    if len(values) > 1:
        values = [f"replace(replace({value}, '%', '%25'), '/', '%2F')" for value in values]
    joined = " + '/' + ".join(values)
    return f"($prefixes[{list(schema.templates).index(name)}] + {joined})"


Part: TypeAlias = Literal["all", "all as text", "small", "sizes", "fitting", "fitting as text"]
"""Which properties are shown: all, or those with at most `$most` characters, each also with times
as text; all, or null if one has more (`small`); or the number of characters of each."""


def properties_of(variable: str, keys: Collection[str] | None, part: Part = "all") -> str:
    """Properties as a map or as a list of key and value: all of them, or those in `$wanted`."""
    names = f"keys({variable})" if keys is None else "$wanted"
    size = f"size(toStringOrNull({variable}[key]))"
    small = f"coalesce({size} <= $most, true)"
    if part == "small":
        large = f"any(key IN {names} WHERE {size} > $most)"
        return f"CASE WHEN {large} THEN null ELSE {properties_of(variable, keys)} END"
    if part == "sizes":
        return f"[key IN {names} | [key, coalesce({size}, 0)]]"
    if part == "fitting":
        fits = f"{small} AND {variable}[key] IS NOT NULL"
        return f"[key IN {names} WHERE {fits} | [key, {variable}[key]]]"
    if part in ("all as text", "fitting as text"):
        return _texts(variable, names, "" if part == "all as text" else f"{small} AND ")
    if keys is None:
        return f"properties({variable})"
    value = f"{variable}[key]"
    return f"[key IN $wanted WHERE {value} IS NOT NULL | [key, {value}]]"


def _texts(variable: str, keys: str, test: str) -> str:
    """Properties that meet a test, as a list of key and value, with times as text."""
    value = f"{variable}[key]"
    return (
        f"[key IN {keys} WHERE {test}{value} IS NOT NULL | [key, CASE "
        f"WHEN valueType({value}) =~ '(DATE|LOCAL|ZONED).*' THEN toString({value}) "
        f"WHEN valueType({value}) =~ 'LIST<(DATE|LOCAL|ZONED).*' "
        f"THEN [item IN {value} | toString(item)] ELSE {value} END]]"
    )


def id_text(schema: GraphSchema, variable: str) -> str:
    """The text of the id properties alone; null for a node without them."""
    return f"{schema.dialect.text}({_id_value(schema, variable)})"
